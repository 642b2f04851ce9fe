"""Reductions of trailing axes, as calls."""

from collections.abc import Iterator

import numpy as np

from tilewright.codegen.emit.operands import Call, Operands, find_kernel
from tilewright.codegen.low import KernelStep


def reduce_calls(operands: Operands, step: KernelStep, tile: int) -> Iterator[Call]:
    """A call that reduces the axes which the result lacks, row-major and whole on the tile."""
    (x,) = step.operands
    find_kernel(step.kernel)
    storage = operands.storage(x)
    kept = _kept_axes(storage.shape, operands.storage(step.result).shape)
    lift = len(operands.extents(x, tile)) - len(storage.shape)
    extents = operands.extents(x, tile)
    rows = int(np.prod(extents[: kept + lift]))
    size = operands.precision(x).bytes
    reduced = extents[kept + lift :]
    pitch = int(np.prod(reduced))
    columns, padded = storage.shape[-1], reduced[-1]
    # without padding between them, all that is reduced lies side by side
    blocks, width = (pitch // padded, columns) if columns != padded else (1, pitch)
    factor = tuple(int(np.float32(number).view(np.uint32)) for number in step.numbers)
    block_pitch = size * (padded if blocks > 1 else pitch)
    yield Call(
        step.kernel,
        (
            operands.at(step.result),
            operands.at(x),
            rows,
            size * pitch,
            blocks,
            block_pitch,
            width,
            *factor,
        ),
    )


def _kept_axes(shape: tuple[int, ...], result: tuple[int, ...]) -> int:
    """How many leading axes of the operand the result has; at least one is reduced."""
    kept = 0
    while kept < min(len(shape) - 1, len(result)) and shape[kept] == result[kept]:
        kept += 1
    return kept
