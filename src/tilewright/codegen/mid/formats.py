"""How a tensor is stored: precision, order of elements, distribution over tiles, memory class.

A format says nothing of places: neither which physical tiles nor which addresses. Tiles are
numbered within their group, from 0. `layout.resolve` joins a format with a shape.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from math import prod

from tilewright.codegen.mid.faults import FormatError
from tilewright.codegen.mid.orders import ElementOrder, Precision


class MemoryClass(Enum):
    """Which kind of SRAM."""

    STANDARD = "standard"
    INTERLEAVED = "interleaved"
    """Elements in pairs: loads of 128 bits; results of the matrix engine must lie here."""


class Indivisible(Enum):
    """What to do with an extent that is no multiple of the block."""

    REJECT = "reject"
    ZERO_PAD = "pad"


@dataclass(frozen=True, slots=True)
class AxisTiling:
    """One axis in blocks that no tile boundary cuts."""

    block: int = 1
    indivisible: Indivisible = Indivisible.REJECT


def padded(block: int) -> AxisTiling:
    """Blocks of which the last is filled up with zeros."""
    return AxisTiling(block, Indivisible.ZERO_PAD)


@dataclass(frozen=True, slots=True)
class Digit:
    """One digit of a tile's number within its group, and which axis it divides.

    `axis` None: tiles that differ in this digit hold copies. Several digits may divide one axis:
    the number of a tile's part is the sum of digit × `weight`.
    """

    axis: int | None
    size: int
    weight: int = 1


def joined(digits: Iterable[Digit]) -> tuple[Digit, ...]:
    """The same numbering of tiles with as few digits as possible, so that equal ones compare equal.

    Neighbours that count on along one axis, or through copies, are one digit; digits of size 1 go.
    """
    found: list[Digit] = []
    for digit in digits:
        if digit.size == 1:
            continue
        if found and _goes_on(found[-1], digit):
            digit = Digit(digit.axis, found.pop().size * digit.size, digit.weight)
        found.append(digit)
    return tuple(found)


def _goes_on(slower: Digit, faster: Digit) -> bool:
    if slower.axis != faster.axis:
        return False
    return faster.axis is None or slower.weight == faster.size * faster.weight


_PACKED = (
    ElementOrder.LEFT,
    ElementOrder.RIGHT,
    ElementOrder.LEFT_TRANSPOSED,
    ElementOrder.RIGHT_TRANSPOSED,
)
"""Orders whose blocks depend on the precision."""


@dataclass(frozen=True, slots=True)
class TensorFormat:
    """Precision, order and distribution of a tensor.

    `axes` has one tiling per axis of the tensor. `grid` are the digits of the tile's number, the
    slowest first. An F8F143 element stands for its code's value times 2**`scale`.
    """

    precision: Precision
    order: ElementOrder
    axes: tuple[AxisTiling, ...]
    grid: tuple[Digit, ...] = ()
    memory: MemoryClass = MemoryClass.STANDARD
    scale: int = 0
    packed_for: Precision | None = None
    _hash: int = field(init=False, repr=False, compare=False)
    """Formats are looked up much more often than made."""

    def __post_init__(self) -> None:
        parts = (self.precision, self.order, self.axes, self.grid, self.memory, self.scale)
        object.__setattr__(self, "_hash", hash((*parts, self.packed_for)))
        if self.scale and self.precision is not Precision.F8F143:
            raise FormatError(f"only f8 has a scale, not {self.precision.value}")
        for axis in range(len(self.axes)):
            self._check_digits(axis)
        for digit in self.grid:
            if digit.size < 1 or (digit.axis is not None and not 0 <= digit.axis < len(self.axes)):
                raise FormatError(f"{digit} does not suit a tensor of rank {len(self.axes)}")
        if any(tiling.block < 1 for tiling in self.axes):
            raise FormatError("the block of an axis is at least 1")

    def __hash__(self) -> int:
        return self._hash

    def _check_digits(self, axis: int) -> None:
        expected = 1
        mine = (digit for digit in self.grid if digit.axis == axis)
        for digit in sorted(mine, key=lambda digit: (digit.weight, digit.size)):
            if digit.size > 1 and digit.weight != expected:
                raise FormatError(
                    f"axis {axis}: a digit has weight {digit.weight}; {expected} would number "
                    f"the parts without gaps"
                )
            expected *= digit.size

    @property
    def tiles(self) -> int:
        """Size of the tile group."""
        return prod(digit.size for digit in self.grid)

    @property
    def replication(self) -> int:
        """Copies of each element."""
        return prod(digit.size for digit in self.grid if digit.axis is None)

    def partitions(self, axis: int) -> int:
        """Parts into which the tiles of the group divide an axis."""
        return prod(digit.size for digit in self.grid if digit.axis == axis)

    @property
    def packing(self) -> Precision:
        """The precision that sets the block sizes of the order."""
        return self.packed_for or self.precision

    def with_precision(self, precision: Precision, scale: int = 0) -> "TensorFormat":
        """The same elements in the same order, stored otherwise."""
        packed = self.packing if self.order in _PACKED else precision
        return replace(
            self,
            precision=precision,
            scale=scale if precision is Precision.F8F143 else 0,
            packed_for=None if packed is precision else packed,
        )

    def with_order(self, order: ElementOrder) -> "TensorFormat":
        """The same distribution with another order inside shards."""
        packed = self.packed_for if order in _PACKED else None
        return replace(self, order=order, packed_for=packed)

    def __str__(self) -> str:
        scale = f"·2^{self.scale}" if self.scale else ""
        return (
            f"{self.precision.value}{scale} {self._order_text()} [{self._axes_text()}] "
            f"grid ({self._grid_text()}) {self.memory.value}"
        )

    def _axes_text(self) -> str:
        texts = []
        for axis, tiling in enumerate(self.axes):
            block = f":{tiling.block}" if tiling.block > 1 else ""
            pad = "+" if tiling.indivisible is Indivisible.ZERO_PAD else ""
            texts.append(f"{self.partitions(axis)}{block}{pad}")
        return " ".join(texts)

    def _order_text(self) -> str:
        packed = f"/{self.packed_for.value}" if self.packed_for else ""
        return f"{self.order.value}{packed}"

    def _grid_text(self) -> str:
        return " ".join(
            f"{'copy' if digit.axis is None else digit.axis}×{digit.size}"
            + (f"·{digit.weight}" if digit.weight > 1 else "")
            for digit in self.grid
        )
