"""Which axes of one array the axes of another are, where views lead from one to the other.

Views that reorder (reshape, transpose, splitting and merging heads) cut axes into *factors* and
put them together again. Both arrays' axes are written as products of the same factors. A slice
from the start of an axis leaves it as it is: what lies beyond counts as padding.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from tilewright.graph import Formula, operators

Shape = tuple[int, ...]
Factors = tuple[int, ...]
"""Numbers of the factors of an axis, outermost first."""


class Inexpressible(Exception):
    """Views that are more than a change of order."""


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes of a `first` and a `last` array.

    `extents` are those of the factors, by number, in the array that has more.
    """

    extents: tuple[int, ...]
    first: tuple[Factors, ...]
    last: tuple[Factors, ...]


def relate(shape: Shape, views: Sequence[Formula]) -> Axes:
    """The axes of an array of `shape` and of what views make of it. Raises `Inexpressible`."""
    relation = _Relation(shape)
    for view in views:
        relation.view(view)
    return relation.axes()


class _Relation:
    def __init__(self, shape: Shape) -> None:
        self.extents = list(shape)
        self.first = [[axis] for axis in range(len(shape))]
        self.last = [[axis] for axis in range(len(shape))]
        self.sliced: set[int] = set()

    def axes(self) -> Axes:
        first, last = (
            tuple(tuple(factors) for factors in side) for side in (self.first, self.last)
        )
        return Axes(tuple(self.extents), first, last)

    def shape(self) -> Shape:
        """Of the last array."""
        return tuple(prod(self.extents[each] for each in factors) for factors in self.last)

    def view(self, view: Formula) -> None:
        """Look at the last array in another way."""
        match view:
            case operators.Reshape():
                self.reshape(view.shape)
            case operators.Transpose():
                self.transpose(view.order)
            case operators.Slice():
                self.slice(view.starts, view.stops)
            case operators.SplitHeads():
                *leading, tokens, width = self.shape()
                self.reshape((*leading, tokens, view.heads, width // view.heads))
                self.transpose(_heads_first(len(leading)))
            case operators.MergeHeads():
                *leading, heads, tokens, size = self.shape()
                self.transpose(_heads_first(len(leading)))
                self.reshape((*leading, tokens, heads * size))
            case _:
                raise Inexpressible

    def reshape(self, shape: Shape) -> None:
        """Cut and join axes, the last fastest."""
        if self.sliced and shape != self.shape():
            raise Inexpressible
        ones = [factor for factors in self.last for factor in factors if self.extents[factor] == 1]
        rest = [factor for factors in self.last for factor in factors if self.extents[factor] > 1]
        axes: list[list[int]] = []
        for extent in shape:
            axis: list[int] = []
            while extent > 1:
                if not rest:
                    raise Inexpressible
                factor = rest.pop(0)
                outer = self.extents[factor]
                if extent % outer:
                    outer = gcd(outer, extent)
                    if outer != extent:
                        raise Inexpressible
                    rest.insert(0, self._cut(factor, outer))
                axis.append(factor)
                extent //= outer
            axes.append(axis)
        for axis in axes:  # an axis of one element stays one where it can: it may have padding
            if ones and not axis:
                axis.append(ones.pop(0))
        self.last = axes

    def transpose(self, order: Sequence[int]) -> None:
        """Axis i becomes what axis `order[i]` was."""
        self.last = [self.last[axis] for axis in order]

    def slice(self, starts: Shape, stops: Shape) -> None:
        """Leave axes of which the start is taken; the rest is padding."""
        for factors, start, stop, extent in zip(
            self.last, starts, stops, self.shape(), strict=True
        ):
            if stop - start == extent:
                continue
            if start or len(factors) != 1:
                raise Inexpressible
            self.sliced.add(factors[0])

    def _cut(self, factor: int, outer: int) -> int:
        """Cut a factor; it keeps the outer part, and the number of the inner one is returned."""
        if factor in self.sliced:
            raise Inexpressible
        inner = len(self.extents)
        self.extents.append(self.extents[factor] // outer)
        self.extents[factor] = outer
        for axes in (self.first, self.last):
            for factors in axes:
                if factor in factors:
                    factors.insert(factors.index(factor) + 1, inner)
        return inner


def _heads_first(leading: int) -> tuple[int, ...]:
    """The order that swaps two axes of three behind so many."""
    return (*range(leading), leading + 1, leading, leading + 2)
