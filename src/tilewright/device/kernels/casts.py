"""Casts between f8, f16 and f32, element by element: `casts.S`."""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.saturation import to_half, to_single
from tilewright.device.kernels.spec import Arrays, Kernel, Places, Role, Scalar, Size, Sizes
from tilewright.device.kernels.vector import (
    N,
    atom_count,
    call_cycles,
    elements,
    per_atom,
    shares,
    source,
    vector,
    vector_cycles,
)
from tilewright.target.formats import F143, F152, f8_to_f16

_FORMAT = Size("format", minimum=0, maximum=0xFF, usual=0x80)
"""Bit 7 chooses F143, bits 5:0 are the signed exponent of a scale."""
_F143_BIT, _SCALE_MASK, _SCALE_SIGN = 0x80, 0x3F, 0x20
_SIGN = _NAN = 0x80
"""Of codes: negative zero is the only NaN."""
_STORED = 3
_FORMAT_STEPS, _FORMAT_CYCLES = 3, 8
"""What a format adds: steps of a worker, and cycles of the supervisor."""


def bytes_of(random: np.random.Generator, count: int) -> NDArray[Any]:
    codes: NDArray[Any] = random.integers(0, 256, count)
    return codes


def from_quarters(codes: NDArray[Any], format: int) -> NDArray[Any]:
    """What f8 codes mean, as halves; what is too large is ±65504."""
    values, scale = _format(format)
    return to_half(values[codes] * 2.0**scale)


def to_quarters(halves: NDArray[Any], format: int) -> NDArray[Any]:
    """The nearest f8 codes, even ones of two that are as near; what is too large is the largest."""
    values, scale = _format(format)
    magnitudes = values[:_SIGN]
    between = (magnitudes[1:] + magnitudes[:-1]) / 2
    wanted = np.abs(halves.astype(np.float64)) * 2.0**-scale
    lower, upper = (np.searchsorted(between, wanted, side) for side in ("left", "right"))
    codes = np.where(lower % 2 == 0, lower, upper)
    signed = np.where(np.signbit(halves) & (codes > 0), codes | _SIGN, codes)
    return np.where(np.isnan(halves), _NAN, signed).astype(np.uint8)


def _format(format: int) -> tuple[NDArray[np.float64], int]:
    """What codes mean without a scale, and its exponent."""
    scale = ((format & _SCALE_MASK) ^ _SCALE_SIGN) - _SCALE_SIGN
    return _values(bool(format & _F143_BIT)), scale


@cache
def _values(is_f143: bool) -> NDArray[np.float64]:
    """By code; every value is a half."""
    quarter = F143 if is_f143 else F152
    halves = [f8_to_f16(code, quarter, 0, nanoo=False).bits for code in range(256)]
    return np.array(halves, np.uint16).view(np.float16).astype(np.float64)


def _cast(name: str, source_type: str, target_type: str, first: tuple[int, int]) -> Kernel:
    """`first` are the steps of a worker with one pair of atoms of the wider type, if half of it is
    there, and if all of it is; three more steps take each further pair."""
    wider = max(source_type, target_type, key=lambda dtype: np.dtype(dtype).itemsize)
    has_format = "u1" in (source_type, target_type)

    def wide_atoms(sizes: Sizes) -> int:
        return -(-sizes["n"] // per_atom(wider))

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        x = inputs["x"]
        if source_type == "u1":
            return {"z": from_quarters(x, sizes["format"])}
        if target_type == "u1":
            return {"z": to_quarters(x, sizes["format"])}
        return {"z": to_half(x) if target_type == "f2" else x.astype(np.float32)}

    def cycles(sizes: Sizes, places: Places) -> int:
        count = wide_atoms(sizes)
        pairs = -(-count // 2)
        steps = [first[1] + 3 * (share - 1) for share in shares(pairs)]
        if count % 2:
            steps[(pairs - 1) % len(steps)] += first[0] - first[1]
        added, before = (_FORMAT_STEPS, _FORMAT_CYCLES) if has_format else (0, 0)
        return call_cycles(_STORED + before, [each + added for each in steps])

    format = (Scalar("format", lambda sizes: sizes["format"]),) if has_format else ()
    return Kernel(
        name=name,
        summary=f"z = x as {name.rpartition('_')[2]}",
        source=source("casts.S"),
        operands=(
            vector("z", target_type, Role.RESULT),
            vector("x", source_type, sample=bytes_of)
            if source_type == "u1"
            else vector("x", source_type),
            Scalar("atoms", wide_atoms),
            *format,
        ),
        sizes=(N, _FORMAT) if has_format else (N,),
        reference=reference,
        cycles=cycles,
        elements=elements,
    )


_WITHOUT_PAIRS = 16


def _wide_cast(
    name: str, source_type: str, target_type: str, before: int, first: int, further: int
) -> Kernel:
    """Between quarters and singles: cycles of the supervisor before its launch, steps of a worker
    with one pair of atoms of singles, and for each more; one less if half of it is there."""

    def atoms(sizes: Sizes) -> int:
        return -(-sizes["n"] // per_atom("f4"))

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        values, scale = _format(sizes["format"])
        if source_type == "u1":
            return {"z": to_single(values[inputs["x"]] * 2.0**scale)}
        return {"z": to_quarters(inputs["x"], sizes["format"])}

    def cycles(sizes: Sizes, places: Places) -> int:
        count = atoms(sizes)
        pairs = -(-count // 2)
        steps = [
            first + further * (share - 1) if share else _WITHOUT_PAIRS for share in shares(pairs)
        ]
        steps[(pairs - 1) % len(steps)] -= count % 2
        return call_cycles(before, steps)

    return Kernel(
        name=name,
        summary=f"z = x as {name.rpartition('_')[2]}",
        source=source("casts.S"),
        operands=(
            vector("z", target_type, Role.RESULT),
            vector("x", source_type, sample=bytes_of)
            if source_type == "u1"
            else vector("x", source_type),
            Scalar("atoms", atoms),
            Scalar("format", lambda sizes: sizes["format"]),
        ),
        sizes=(N, _FORMAT),
        reference=reference,
        cycles=cycles,
        elements=elements,
    )


_FROM_INTEGERS = Kernel(
    name="cast_i32_f32",
    summary="z = x as f32",
    source=source("casts.S"),
    operands=(
        vector("z", "f4", Role.RESULT),
        vector("x", "i4", sample=lambda random, count: random.integers(-(1 << 31), 1 << 31, count)),
        atom_count("f4"),
    ),
    sizes=(N,),
    reference=lambda sizes, inputs: {"z": inputs["x"].astype(np.float32)},
    cycles=vector_cycles("f4", 3, 21, 3),
    elements=elements,
    in_place=(("z", "x"),),
)

CASTS = (
    _wide_cast("cast_f8_f32", "u1", "f4", 10, 36, 5),
    _wide_cast("cast_f32_f8", "f4", "u1", 16, 48, 20),
    _FROM_INTEGERS,
    _cast("cast_f16_f32", "f2", "f4", (26, 27)),
    _cast("cast_f32_f16", "f4", "f2", (27, 28)),
    _cast("cast_f8_f16", "u1", "f2", (26, 27)),
    _cast("cast_f16_f8", "f2", "u1", (27, 28)),
)
