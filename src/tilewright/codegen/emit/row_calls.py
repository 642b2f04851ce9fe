"""Softmax and norms of rows as calls, tile by tile."""

from collections.abc import Iterator
from itertools import zip_longest
from math import prod
from types import MappingProxyType

import numpy as np

from tilewright.codegen.emit.addresses import Literal, Value
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.operands import Call, Operands, find_kernel, kernel_call
from tilewright.codegen.low import KernelStep
from tilewright.codegen.low.schedule import ATOM
from tilewright.codegen.mid import Precision
from tilewright.codegen.mid.operators.attention import CAUSAL
from tilewright.codegen.mid.operators.rows import CENTRED
from tilewright.codegen.mid.orders import OUTPUT_GROUP
from tilewright.device.kernels import KERNELS
from tilewright.device.kernels.norms_split import apply_constants
from tilewright.device.kernels.softmax import FEW_ROWS

_NORMS = ("layer_norm", "rms_norm")
_WITHOUT = MappingProxyType({"gain": 1.0, "bias": 0.0})
"""What elements of a vector are that a norm lacks."""
_DTYPES = MappingProxyType({Precision.F16: "<f2", Precision.F32: "<f4"})
_STATISTICS = MappingProxyType({"row_statistics": "sums", "softmax_statistics": "figures"})
"""By kernel, what it calls its result."""
ROW_KERNELS = ("softmax", *_NORMS, *_STATISTICS, "row_apply", "softmax_apply")
"""What plans call them, without the precision."""


def row_calls(operands: Operands, step: KernelStep, tile: int) -> Iterator[Call]:
    """What a tile with a part of the result calls for a step of one of `ROW_KERNELS`.

    Raises `EmissionError` for what no kernel does.
    """
    kind = step.kernel.rpartition("_")[0]
    if kind == "softmax":
        yield from _softmax(operands, step, tile)
    elif kind in _NORMS:
        yield from _norm(operands, step, tile)
        yield from _padding(operands, step, tile)
    elif kind in _STATISTICS:
        yield _statistics(operands, step, tile, _STATISTICS[kind])
    else:
        applied = _normalised if kind == "row_apply" else _shared_out
        yield applied(operands, step, tile)
        yield from _padding(operands, step, tile)


def _softmax(operands: Operands, step: KernelStep, tile: int) -> Iterator[Call]:
    """Rows that see as much as counts say, one for each entry of a batch, and, if causal, as their
    place among the queries says: a call for all rows of an entry, or of a matrix.
    """
    x, *counts = step.operands
    causal = CAUSAL in step.fused
    _, columns = _rows_of(operands, step, tile)
    *outer, queries, _ = operands.extents(x, tile)
    *_, first_query, _ = operands.starts(x, tile)
    entries = outer if causal else outer[: len(outer) - 1]
    rows = queries if causal else queries * prod(outer[len(entries) :])
    kernel = find_kernel(_softmax_kernel(step.kernel, rows))
    (scale,) = step.numbers or (1.0,)
    sizes = {"rows": rows, "n": columns, "first": first_query if causal else columns}
    pitch = rows * columns * operands.precision(x).bytes
    for number, entry in enumerate(np.ndindex(*entries)):
        places: dict[str, Value] = {
            "z": operands.at(step.result) + number * pitch,
            "x": operands.at(x) + number * pitch,
            "scale": bits(scale),
            "count": _count(operands, x, counts, tile, entry),
        }
        yield kernel_call(kernel, sizes, places)


def _softmax_kernel(name: str, rows: int) -> str:
    """One that shares the rows among workers, if there are so few and it exists."""
    few = name.replace("softmax", "softmax_few")
    return few if few in KERNELS and rows <= FEW_ROWS.maximum else name


def _count(
    operands: Operands, x: int, counts: list[int], tile: int, entry: tuple[int, ...]
) -> Value:
    """The address of how many elements the rows of an entry of the tile's shard may see."""
    if not counts:
        return Literal(np.array([operands.layout(x).shape[-1]], "<i4").tobytes())
    (of_entries,) = counts
    shape = operands.layout(of_entries).shape
    place = tuple(
        start + coordinate
        for start, coordinate in zip(operands.starts(x, tile), entry[: len(shape)], strict=False)
    )
    number = int(np.ravel_multi_index(place, shape)) if shape else 0
    return operands.at(of_entries) + number * Precision.I32.bytes


def bits(number: float) -> int:
    """Of a single."""
    return int(np.float32(number).view(np.uint32))


def _norm(operands: Operands, step: KernelStep, tile: int) -> Iterator[Call]:
    """A norm of rows that lie whole on the tile; a bias that the kernel does not take is added."""
    x, *given = step.operands
    part = _part(operands, step, tile)
    kernel = find_kernel(step.kernel)
    (epsilon,) = step.numbers
    z = operands.at(step.result)
    vectors = _vectors(operands, step, given, part["n"])
    places = {"z": z, "x": operands.at(x), **vectors, "epsilon": bits(epsilon)}
    yield kernel_call(kernel, part, places)
    taken = {array.name for array in kernel.arrays}
    if len(given) == len(vectors) and not taken.issuperset(vectors):
        atoms = _atoms(operands, x, part["n"])
        width = atoms * ATOM // operands.precision(x).bytes
        adding = find_kernel(step.kernel.replace("rms_norm", "add_row"))
        sizes = {"rows": part["rows"], "width": width, "panels": 1}
        yield kernel_call(adding, sizes, {"z": z, "x": z, "v": vectors["bias"]})


def _vectors(
    operands: Operands, step: KernelStep, given: list[int], columns: int
) -> dict[str, Value]:
    """Gain and bias of rows of so many columns."""
    dtype = _DTYPES[operands.precision(step.result)]
    return {
        name: Literal(np.full(columns, without, dtype).tobytes())
        if buffer is None
        else operands.at(buffer)
        for (name, without), buffer in zip_longest(_WITHOUT.items(), given)
    }


def _statistics(operands: Operands, step: KernelStep, tile: int, result: str) -> Call:
    """Figures of parts of rows."""
    part = _part(operands, step, tile)
    places = {result: operands.at(step.result), "x": operands.at(step.operands[0])}
    return kernel_call(find_kernel(step.kernel), part, places)


def _normalised(operands: Operands, step: KernelStep, tile: int) -> Call:
    """A norm of parts of rows, from the figures of all parts."""
    x, *vectors, figures = step.operands
    part = _part(operands, step, tile)
    *_, parts, _ = operands.extents(figures, tile)
    (epsilon,) = step.numbers
    constants = apply_constants(
        operands.layout(x).shape[-1], epsilon, parts, centred=CENTRED in step.fused
    )
    return kernel_call(
        find_kernel(step.kernel),
        {**part, "parts": parts},
        {
            "z": operands.at(step.result),
            "x": operands.at(x),
            **_vectors(operands, step, vectors, part["n"]),
            "sums": operands.at(figures),
            "constants": Literal(constants.tobytes()),
        },
    )


def _shared_out(operands: Operands, step: KernelStep, tile: int) -> Call:
    """Softmax of parts of rows, from the figures of all parts."""
    x, figures = step.operands
    *_, parts, _ = operands.extents(figures, tile)
    places = {
        "z": operands.at(step.result),
        "x": operands.at(x),
        "figures": operands.at(figures),
    }
    kernel = find_kernel(step.kernel)
    return kernel_call(kernel, {**_part(operands, step, tile), "parts": parts}, places)


def _part(operands: Operands, step: KernelStep, tile: int) -> dict[str, int]:
    """Sizes of what a tile has of rows, without padding."""
    x = step.operands[0]
    rows, stored = _rows_of(operands, step, tile)
    columns = min(stored, operands.layout(x).shape[-1] - operands.starts(x, tile)[-1])
    if rows > 1 and stored != _atoms(operands, x, columns) * ATOM // operands.precision(x).bytes:
        raise EmissionError(f"rows of {operands.name(x)} are further apart than their atoms")
    return {"rows": rows, "n": columns}


def _padding(operands: Operands, step: KernelStep, tile: int) -> Iterator[Call]:
    """Zeros for atoms of padding, which only single rows have."""
    x = step.operands[0]
    atoms = _atoms(operands, x, _part(operands, step, tile)["n"])
    stored = _atoms(operands, x, operands.extents(x, tile)[-1])
    if stored > atoms:
        yield Call("zero", (operands.at(step.result) + atoms * ATOM, stored - atoms))


def _atoms(operands: Operands, buffer: int, elements: int) -> int:
    return -(-elements * operands.precision(buffer).bytes // ATOM)


def _rows_of(operands: Operands, step: KernelStep, tile: int) -> tuple[int, int]:
    """How many rows of how many columns a tile has of a step's first operand, as they are stored.

    Panel after panel, single rows and those of a single panel are rows like others.
    """
    x = step.operands[0]
    *outer, columns = operands.extents(x, tile)
    rows = prod(outer)
    is_one = step.mode == "row" or (
        step.mode == "output" and (columns == OUTPUT_GROUP or rows == 1)
    )
    if not is_one or columns * operands.precision(x).bytes % ATOM:
        raise EmissionError(f"{operands.name(x)} does not have rows of whole atoms")
    return rows, columns
