"""Matrix products."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.graph.faults import OperatorError
from tilewright.graph.operator import Array, Formula, float_format, register, require_rank
from tilewright.graph.types import Shape, ValueType, broadcast_shapes


@register
@dataclass(frozen=True, slots=True)
class Gemm(Formula):
    """a · b over the last two axes; the axes before them broadcast as NumPy does.

    A flag says that the operand's last two axes are to be exchanged first.
    """

    transpose_a: bool = False
    transpose_b: bool = False

    mnemonic = "gemm"
    roles = ("a", "b")

    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        a, b = operands
        require_rank(a, "a", 2)
        require_rank(b, "b", 2)
        rows, inner = _matrix(a.shape, self.transpose_a)
        inner_b, columns = _matrix(b.shape, self.transpose_b)
        if inner != inner_b:
            raise OperatorError(
                f"the inner extents differ: a{_mark(self.transpose_a)} is {rows}×{inner}, "
                f"b{_mark(self.transpose_b)} is {inner_b}×{columns}"
            )
        batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        if batch is None:
            raise OperatorError("the batch axes (all but the last two) do not broadcast")
        return ValueType(float_format(a, b), (*batch, rows, columns))

    def evaluate(self, operands: Sequence[Array]) -> Array:
        a, b = operands
        left = np.swapaxes(a, -1, -2) if self.transpose_a else a
        right = np.swapaxes(b, -1, -2) if self.transpose_b else b
        return np.asarray(left @ right)


def _matrix(shape: Shape, transposed: bool) -> tuple[int, int]:
    rows, columns = shape[-2:]
    return (columns, rows) if transposed else (rows, columns)


def _mark(transposed: bool) -> str:
    return "ᵀ" if transposed else ""
