"""Softmax and norms of rows as calls, tile by tile."""

from collections.abc import Iterator

import numpy as np

from tilewright.codegen.emit.addresses import Literal
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.operands import Call, Operands, find_kernel, kernel_call
from tilewright.codegen.low import KernelStep
from tilewright.codegen.low.schedule import ATOM
from tilewright.codegen.mid import Precision
from tilewright.codegen.mid.orders import OUTPUT_GROUP
from tilewright.device.kernels import KERNELS

_VECTORS = ("gain", "bias")
_WHOLE = ("softmax", "layer_norm", "rms_norm")
ROW_KERNELS = (*_WHOLE, "row_statistics", "row_apply")
"""What plans call them, without the precision."""


def row_calls(operands: Operands, step: KernelStep, tile: int) -> Iterator[Call]:
    """What a tile with a part of the result calls for a step of one of `ROW_KERNELS`.

    Raises `EmissionError` for what no kernel does.
    """
    kind = step.kernel.rpartition("_")[0]
    if kind in _WHOLE:
        yield _whole_rows(operands, step, tile)
    elif kind == "row_statistics":
        yield _statistics(operands, step, tile)
    else:
        yield from _applied(operands, step, tile)


def _whole_rows(operands: Operands, step: KernelStep, tile: int) -> Call:
    """Softmax or a norm of rows that lie whole on the tile."""
    if step.fused:
        raise EmissionError(f"no kernel of ours does {step.kernel} with a mask")
    x, *vectors = step.operands
    rows, _ = _rows_of(operands, step, tile)
    places = {"z": step.result, "x": x, **dict(zip(_VECTORS, vectors, strict=False))}
    kernel = find_kernel(step.kernel)
    if {array.name for array in kernel.arrays} != set(places):
        raise EmissionError(f"{kernel.name} takes a gain, and layer norms a bias")
    sizes = {"rows": rows, "n": operands.layout(x).shape[-1]}
    call = kernel_call(
        kernel, sizes, {name: operands.at(buffer) for name, buffer in places.items()}
    )
    if not step.numbers:
        return call
    (epsilon,) = step.numbers
    bits = int(np.float32(epsilon).view(np.uint32))
    return Call(call.kernel, (*call.values[:-1], bits))


def _rows_of(operands: Operands, step: KernelStep, tile: int) -> tuple[int, int]:
    """How many rows of how many columns a tile has of a step's first operand."""
    x = step.operands[0]
    *outer, columns = operands.extents(x, tile)
    width = columns * operands.precision(x).bytes
    is_panel = step.mode == "output" and columns == OUTPUT_GROUP
    if (step.mode != "row" and not is_panel) or width % ATOM:
        raise EmissionError(f"{operands.name(x)} does not have rows of whole atoms")
    return int(np.prod(outer)), columns


def _statistics(operands: Operands, step: KernelStep, tile: int) -> Call:
    """Figures of parts of rows."""
    rows, columns = _rows_of(operands, step, tile)
    places = {"sums": operands.at(step.result), "x": operands.at(step.operands[0])}
    return kernel_call(find_kernel(step.kernel), {"rows": rows, "n": columns}, places)


def _applied(operands: Operands, step: KernelStep, tile: int) -> Iterator[Call]:
    """The figures of all parts are added up where they are, then applied."""
    x, *vectors, figures = step.operands
    rows, columns = _rows_of(operands, step, tile)
    *_, parts, numbers = operands.extents(figures, tile)
    kernel = find_kernel(step.kernel)
    if len(vectors) != len(_VECTORS) or len(step.numbers) != 1:
        raise EmissionError(f"{kernel.name} takes a gain, a bias and an epsilon")
    at = operands.at(figures)
    size = numbers * Precision.F32.bytes
    for row in range(rows if parts > 1 else 0):
        places = {"z": at + row * size, "x": at + row * parts * size}
        yield kernel_call(KERNELS["sum_f32"], {"n": numbers, "blocks": parts}, places)
    constants = [1 / operands.layout(x).shape[-1], *step.numbers]
    yield kernel_call(
        kernel,
        {"rows": rows, "n": columns},
        {
            "z": operands.at(step.result),
            "x": operands.at(x),
            **dict(zip(_VECTORS, map(operands.at, vectors), strict=True)),
            "sums": at,
            "constants": Literal(np.array(constants, "<f4").tobytes()),
        },
    )
