"""Casts between f8, f16 and f32, element by element: `casts.S`."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.saturation import to_half
from tilewright.device.kernels.spec import Arrays, Kernel, Places, Role, Scalar, Size, Sizes
from tilewright.device.kernels.vector import (
    N,
    call_cycles,
    elements,
    per_atom,
    shares,
    source,
    vector,
)
from tilewright.target.formats import F143, F152, f8_to_f16, f16_to_f8

_FORMAT = Size("format", minimum=0, maximum=0xFF, usual=0x80)
"""Bit 7 chooses F143, bits 5:0 are the signed exponent of a scale."""
_F143_BIT, _SCALE_MASK, _SCALE_SIGN = 0x80, 0x3F, 0x20
_FEW = 256
"""Elements to try casts of quarters with, whose reference is exact arithmetic, one by one."""
_STORED = 3
_FORMAT_STEPS, _FORMAT_CYCLES = 3, 8
"""What a format adds: steps of a worker, and cycles of the supervisor."""


def bytes_of(random: np.random.Generator, count: int) -> NDArray[Any]:
    codes: NDArray[Any] = random.integers(0, 256, count)
    return codes


def from_quarters(codes: NDArray[Any], format: int) -> NDArray[Any]:
    """What f8 codes mean, as halves; what is too large is ±65504."""
    quarter, scale = _format(format)
    table = [f8_to_f16(code, quarter, scale, nanoo=False).bits for code in range(256)]
    halves: NDArray[Any] = np.array(table, np.uint16)[codes].view(np.float16)
    return halves


def to_quarters(values: NDArray[Any], format: int) -> NDArray[Any]:
    """The nearest f8 codes."""
    quarter, scale = _format(format)
    patterns = values.view(np.uint16).tolist()
    codes = [f16_to_f8(each, quarter, -scale, nanoo=False).bits for each in patterns]
    return np.array(codes, np.uint8)


def _format(format: int) -> tuple[Any, int]:
    scale = ((format & _SCALE_MASK) ^ _SCALE_SIGN) - _SCALE_SIGN
    return (F143 if format & _F143_BIT else F152), scale


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
        sizes=(replace(N, usual=_FEW), _FORMAT) if has_format else (N,),
        reference=reference,
        cycles=cycles,
        elements=elements,
    )


CASTS = (
    _cast("cast_f16_f32", "f2", "f4", (26, 27)),
    _cast("cast_f32_f16", "f4", "f2", (27, 28)),
    _cast("cast_f8_f16", "u1", "f2", (26, 27)),
    _cast("cast_f16_f8", "f2", "u1", (27, 28)),
)
