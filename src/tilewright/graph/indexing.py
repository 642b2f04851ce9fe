"""Python's `x[…]` as starts and stops of every axis."""

import operator
from types import EllipsisType
from typing import SupportsIndex

from tilewright.graph.tensor import Part
from tilewright.graph.types import Shape, show_shape
from tilewright.graph.values import misuse


def read_index(shape: Shape, parts: tuple[Part, ...]) -> tuple[Shape, Shape, Shape]:
    """The starts and stops that `parts` select, and the shape without the axes of whole numbers.

    Raises `OperatorError` for a step other than 1, a place outside of `shape`, and an empty result.
    """
    starts, stops, kept = [], [], []
    for axis, (extent, part) in enumerate(zip(shape, _spelled_out(shape, parts), strict=True)):
        start, stop = _bounds(axis, extent, part)
        starts.append(start)
        stops.append(stop)
        if isinstance(part, slice):
            kept.append(stop - start)
    return tuple(starts), tuple(stops), tuple(kept)


def _spelled_out(shape: Shape, parts: tuple[Part, ...]) -> list[Part]:
    """One part for each axis: an ellipsis, or the end of the parts, stands for whole axes."""
    ellipses = sum(isinstance(part, EllipsisType) for part in parts)
    missing = len(shape) - (len(parts) - ellipses)
    if ellipses > 1 or missing < 0:
        raise misuse(f"an index of {len(parts)} parts does not fit {show_shape(shape)}")
    whole: list[Part] = [slice(None)] * missing
    if not ellipses:
        return [*parts, *whole]
    place = next(at for at, part in enumerate(parts) if isinstance(part, EllipsisType))
    return [*parts[:place], *whole, *parts[place + 1 :]]


def _bounds(axis: int, extent: int, part: Part) -> tuple[int, int]:
    if isinstance(part, slice):
        start, stop, step = part.indices(extent)
        if step != 1:
            raise misuse(f"axis {axis}: a step of {step}; slices have steps of 1 only")
        if start >= stop:
            raise misuse(f"axis {axis}: nothing is left of {extent} elements")
        return start, stop
    if isinstance(part, bool) or not isinstance(part, SupportsIndex):
        raise misuse(
            f"axis {axis}: an index is whole numbers, slices and one ellipsis, not {part!r}"
        )
    place = operator.index(part)
    if not -extent <= place < extent:
        raise misuse(f"axis {axis}: no element {place} among {extent}")
    place %= extent
    return place, place + 1
