"""Sums of blocks, zeros, copies and permutations: `sums.S`, `copies.S`, `permute.S`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.saturation import saturated, to_single
from tilewright.device.kernels.spec import (
    Array,
    Arrays,
    Kernel,
    Places,
    Role,
    Scalar,
    Size,
    Sizes,
    table,
)
from tilewright.device.kernels.vector import (
    N,
    atom_count,
    atoms,
    call_cycles,
    elements,
    per_atom,
    shares,
    source,
    vector,
    vector_cycles,
)

_WORD = "u4"
"""Copies move patterns: words, two to an atom."""
_BLOCKS = Size("blocks", maximum=1 << 10, usual=8)
_ROWS = Size("rows", maximum=1 << 14, usual=32)
_WIDTH = Size("width", maximum=1 << 12, usual=8)


def _patterns(random: np.random.Generator, count: int) -> NDArray[Any]:
    patterns: NDArray[Any] = random.integers(0, 1 << 32, count)
    return patterns


def _sum(name: str, summary: str, x_type: str, z_type: str, steps: tuple[int, int, int]) -> Kernel:
    """`steps` of a worker: before its first atom, for each atom, and for each block of an atom."""
    first, further, each_block = steps
    z_atoms = atoms(z_type)

    def block(sizes: Sizes) -> int:
        """Elements of a block with its padding: as many as the atoms of z have."""
        return z_atoms(sizes) * per_atom(z_type)

    def reference(sizes: Sizes, inputs: Arrays) -> Arrays:
        blocks = inputs["x"].reshape(sizes["blocks"], block(sizes))
        total = np.zeros(block(sizes), np.float32)
        for each in blocks:
            total = to_single(total.astype(np.float64) + each)
        return {"z": saturated(total.astype(np.float64), z_type)[: sizes["n"]]}

    def cycles(sizes: Sizes, places: Places) -> int:
        each = further + each_block * sizes["blocks"]
        return call_cycles(5, [first + each * share for share in shares(z_atoms(sizes))])

    return Kernel(
        name=name,
        summary=summary,
        source=source("sums.S"),
        operands=(
            vector("z", z_type, Role.RESULT),
            Array("x", x_type, Role.INPUT, lambda sizes: sizes["blocks"] * block(sizes)),
            Scalar("pitch", lambda sizes: block(sizes) // per_atom(x_type)),
            Scalar("blocks", lambda sizes: sizes["blocks"]),
            Scalar("atoms", z_atoms),
        ),
        sizes=(N, _BLOCKS),
        reference=reference,
        cycles=cycles,
        elements=lambda sizes: sizes["n"] * sizes["blocks"],
    )


_X = vector("x", _WORD, sample=_patterns)
_Z = vector("z", _WORD, Role.RESULT)


def _copy(
    name: str,
    summary: str,
    cycles: Callable[[Sizes, Places], int],
    apart: tuple[tuple[str, str], ...] = (),
) -> Kernel:
    return Kernel(
        name=name,
        summary=summary,
        source=source("copies.S"),
        operands=(_Z, _X, atom_count(_WORD)),
        sizes=(N,),
        reference=lambda sizes, inputs: {"z": inputs["x"]},
        cycles=cycles,
        elements=elements,
        apart=apart,
    )


def _strided_cycles(sizes: Sizes, places: Places) -> int:
    steps = [24 + share * (6 + 2 * sizes["width"]) for share in shares(sizes["rows"])]
    return call_cycles(6, steps)


def _pitched(extra: int, name: str, role: Role) -> Array:
    """`rows` rows of `width` atoms, with `extra` atoms between them; for a result, none."""

    def count(sizes: Sizes) -> int:
        rows, width = sizes["rows"], sizes["width"]
        return 2 * (rows * width + (rows - 1) * extra)

    return Array(name, _WORD, role, count, sample=_patterns)


_GAP = 3
"""Atoms between rows of the array that `copy_strided` is tried with."""


def _strided_reference(sizes: Sizes, inputs: Arrays) -> Arrays:
    width, pitch = 2 * sizes["width"], 2 * (sizes["width"] + _GAP)
    starts = np.arange(sizes["rows"])[:, None] * pitch
    return {"z": inputs["x"][(starts + np.arange(width)).reshape(-1)]}


_HALF = "u2"
"""Permutations move patterns, too: halves, two to a store."""
_PAIRS = Size("pairs", usual=32)
_STEP = Size("step", minimum=0, usual=64)
_PITCH = Size("pitch", minimum=0, usual=1)
"""Of x, in halves, as `step` is."""


def _permuted_halves(sizes: Sizes) -> int:
    return 2 * sizes["pairs"] * sizes["rows"]


def _permuted_span(sizes: Sizes) -> int:
    """Halves of x from the first that is read to the last."""
    to_last_row = (sizes["rows"] - 1) * sizes["pitch"]
    return to_last_row + (2 * sizes["pairs"] - 1) * sizes["step"] + 1


def _permute_reference(sizes: Sizes, inputs: Arrays) -> Arrays:
    starts = np.arange(sizes["rows"])[:, None] * sizes["pitch"]
    places = starts + np.arange(2 * sizes["pairs"]) * sizes["step"]
    return {"z": inputs["x"][places.reshape(-1)]}


def _permute_cycles(sizes: Sizes, places: Places) -> int:
    each_row = 3 + 3 * sizes["pairs"]
    return call_cycles(7, [31 + share * each_row for share in shares(sizes["rows"])])


_WORDS = Size("rows", maximum=1 << 17, usual=256)
_FAR = Size("pitch", minimum=4, maximum=1 << 10, usual=4)
"""Of x in bytes."""
_DISTANCE = Size("distance", maximum=1 << 10, usual=1)
"""From byte to byte of a word."""
_KEPT = Size("kept", maximum=4, usual=4)
"""Bytes of a word that are not masked out."""


def _gathered_places(sizes: Sizes) -> NDArray[Any]:
    """Where the bytes of each word come from; the last two the other way round."""
    inside = np.array([0, 1, 3, 2]) * sizes["distance"]
    places: NDArray[Any] = np.arange(sizes["rows"])[:, None] * sizes["pitch"] + inside
    return places


def _distance_to(byte: int) -> Scalar:
    return Scalar(f"o{byte}", lambda sizes: int(_gathered_places(sizes)[0, byte]))


def _gather_reference(sizes: Sizes, inputs: Arrays) -> Arrays:
    words = inputs["x"][_gathered_places(sizes)] * (np.arange(4) < sizes["kept"])
    return {"z": words.astype(np.uint8).reshape(-1)}


def _gather_cycles(sizes: Sizes, places: Places) -> int:
    return call_cycles(3, [26 + 12 * share if share else 12 for share in shares(sizes["rows"])])


_GATHER = Kernel(
    name="gather_8",
    summary="z = words of bytes from anywhere, evenly from word to word",
    source=source("gather.S"),
    operands=(
        Array("z", "u1", Role.RESULT, lambda sizes: 4 * sizes["rows"], alignment=4),
        Array(
            "x",
            "u1",
            Role.INPUT,
            lambda sizes: (sizes["rows"] - 1) * sizes["pitch"] + 3 * sizes["distance"] + 1,
            alignment=1,
            sample=lambda random, count: random.integers(0, 256, count),
        ),
        table(
            "table",
            (
                Scalar("z pitch", lambda sizes: 4),
                Scalar("x pitch", lambda sizes: sizes["pitch"]),
                *map(_distance_to, (1, 2, 3)),
                Scalar("mask", lambda sizes: (1 << 8 * sizes["kept"]) - 1),
                Scalar("rows", lambda sizes: sizes["rows"]),
            ),
        ),
    ),
    sizes=(_WORDS, _FAR, _DISTANCE, _KEPT),
    reference=_gather_reference,
    cycles=_gather_cycles,
    elements=lambda sizes: 4 * sizes["rows"],
)

MOVEMENT = (
    _GATHER,
    _sum("sum_f16", "z = x[0] + x[1] + …, blocks of n halves", "f2", "f2", (20, 6, 1)),
    _sum("sum_f32", "z = x[0] + x[1] + …, blocks of n singles", "f4", "f4", (19, 5, 1)),
    _sum("sum_f32_f16", "z = x[0] + x[1] + …, singles to halves", "f4", "f2", (21, 6, 2)),
    Kernel(
        name="zero",
        summary="z = 0, words",
        source=source("copies.S"),
        operands=(_Z, atom_count(_WORD)),
        sizes=(N,),
        reference=lambda sizes, inputs: {"z": np.zeros(sizes["n"], np.uint32)},
        cycles=vector_cycles(_WORD, 2, 15, 1),
        elements=elements,
    ),
    _copy("copy", "z = x, words", vector_cycles(_WORD, 3, 18, 2)),
    _copy(
        "copy_apart",
        "z = x, words in other memory elements",
        vector_cycles(_WORD, 3, 21, 1),
        (("z", "x"),),
    ),
    Kernel(
        name="copy_strided",
        summary="z = x, rows of `width` atoms from one pitch to another",
        source=source("copies.S"),
        operands=(
            _pitched(0, "z", Role.RESULT),
            _pitched(_GAP, "x", Role.INPUT),
            Scalar("z pitch", lambda sizes: sizes["width"]),
            Scalar("x pitch", lambda sizes: sizes["width"] + _GAP),
            Scalar("width", lambda sizes: sizes["width"]),
            Scalar("rows", lambda sizes: sizes["rows"]),
        ),
        sizes=(_ROWS, _WIDTH),
        reference=_strided_reference,
        cycles=_strided_cycles,
        elements=lambda sizes: 2 * sizes["rows"] * sizes["width"],
    ),
    Kernel(
        name="permute_16",
        summary="z = x, rows of halves `step` apart, `pitch` from row to row",
        source=source("permute.S"),
        operands=(
            Array("z", _HALF, Role.RESULT, _permuted_halves, alignment=4),
            Array("x", _HALF, Role.INPUT, _permuted_span, alignment=2, sample=_patterns),
            Scalar("z pitch", lambda sizes: sizes["pairs"]),
            Scalar("x pitch", lambda sizes: sizes["pitch"]),
            Scalar("x step", lambda sizes: sizes["step"]),
            Scalar("pairs", lambda sizes: sizes["pairs"]),
            Scalar("rows", lambda sizes: sizes["rows"]),
        ),
        sizes=(Size("rows", usual=64), _PAIRS, _STEP, _PITCH),
        reference=_permute_reference,
        cycles=_permute_cycles,
        elements=_permuted_halves,
    ),
)
