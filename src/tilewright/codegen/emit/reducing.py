"""Reductions of trailing axes, as calls."""

from collections.abc import Iterator

import numpy as np

from tilewright.codegen.emit.operands import Call, Operands, find_kernel
from tilewright.codegen.low import KernelStep


def reduce_calls(operands: Operands, step: KernelStep, tile: int) -> Iterator[Call]:
    """A call that reduces the last axes of what the tile has, row-major."""
    (x,) = step.operands
    find_kernel(step.kernel)
    axes, *factor = step.numbers
    ranges = operands.ranges(x, tile)
    extents = [extent for _, extent in ranges]
    kept, reduced = extents[: -int(axes)], extents[-int(axes) :]
    size, pitch = operands.precision(x).bytes, int(np.prod(reduced))
    first, padded = ranges[-1]
    columns = min(padded, operands.storage(x).base[-1] - first)
    # without padding between them, all that is reduced lies side by side
    blocks, width = (pitch // padded, columns) if columns != padded else (1, pitch)
    yield Call(
        step.kernel,
        (
            operands.at(step.result),
            operands.at(x),
            int(np.prod(kept)),
            size * pitch,
            blocks,
            size * padded,
            width,
            *(int(np.float32(number).view(np.uint32)) for number in factor),
        ),
    )
