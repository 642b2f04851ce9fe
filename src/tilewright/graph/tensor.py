"""What users hold while they build a graph: a value that knows its graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, SupportsIndex

from tilewright.graph.types import DType, NumberFormat, Shape, ValueType
from tilewright.graph.values import Value

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder

Scalar = float | SupportsIndex
Part = SupportsIndex | slice | EllipsisType


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A handle on a value of a graph that is being built, with Python's operators.

    A Python number beside a tensor becomes a constant of the format that the arithmetic gives.
    """

    graph: "Builder"
    value: Value

    __array_ufunc__ = None
    """So that NumPy's scalars leave arithmetic with a tensor to the tensor."""
    __iter__ = None
    """Python would otherwise index until an error comes."""

    @property
    def type(self) -> ValueType:
        return self.value.type

    @property
    def shape(self) -> Shape:
        return self.value.type.shape

    @property
    def rank(self) -> int:
        return self.value.type.rank

    @property
    def dtype(self) -> DType:
        return self.value.type.dtype

    @property
    def format(self) -> NumberFormat:
        return self.value.type.format

    @property
    def name(self) -> str:
        return self.value.name

    def __add__(self, other: "Tensor | Scalar") -> "Tensor":
        return self.graph.add(self, other)

    def __radd__(self, other: Scalar) -> "Tensor":
        return self.graph.add(other, self)

    def __sub__(self, other: "Tensor | Scalar") -> "Tensor":
        return self.graph.sub(self, other)

    def __rsub__(self, other: Scalar) -> "Tensor":
        return self.graph.sub(other, self)

    def __mul__(self, other: "Tensor | Scalar") -> "Tensor":
        return self.graph.mul(self, other)

    def __rmul__(self, other: Scalar) -> "Tensor":
        return self.graph.mul(other, self)

    def __truediv__(self, other: "Tensor | Scalar") -> "Tensor":
        return self.graph.div(self, other)

    def __rtruediv__(self, other: Scalar) -> "Tensor":
        return self.graph.div(other, self)

    def __neg__(self) -> "Tensor":
        return self.graph.mul(self, -1.0)

    def __matmul__(self, other: "Tensor") -> "Tensor":
        return self.graph.gemm(self, other)

    def __getitem__(self, parts: Part | tuple[Part, ...]) -> "Tensor":
        """As in NumPy: steps of 1 only; a whole number takes one element and drops the axis."""
        return self.graph.index(self, parts if isinstance(parts, tuple) else (parts,))

    def reshape(self, *shape: int | Sequence[int]) -> "Tensor":
        """To extents or one sequence of them; one may be −1."""
        return self.graph.reshape(self, _spread(shape))

    def transpose(self, *order: int | Sequence[int]) -> "Tensor":
        """By an order of axes; without one, the last two change places."""
        return self.graph.transpose(self, _spread(order) or None)

    def cast(self, to: DType | NumberFormat) -> "Tensor":
        return self.graph.cast(self, to)

    def __repr__(self) -> str:
        return f"<Tensor {self.value}>"


def _spread(numbers: tuple[int | Sequence[int], ...]) -> list[int]:
    """The numbers, or those of the one sequence among them."""
    return [
        number for each in numbers for number in (each if isinstance(each, Sequence) else [each])
    ]
