"""Random formats that suit a shape."""

from hypothesis import strategies as st

from tilewright.codegen.mid import (
    AxisTiling,
    Digit,
    ElementOrder,
    Indivisible,
    Precision,
    TensorFormat,
)
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.orders import granule

shapes = st.lists(st.integers(1, 40), min_size=0, max_size=3).map(tuple)


@st.composite
def formats(draw: st.DrawFn, shape: Shape) -> TensorFormat:
    """Any order, blocks, and grid of up to 60 tiles, with axes divided by several digits."""
    precision = draw(st.sampled_from(Precision))
    orders = list(ElementOrder) if len(shape) >= 2 else [ElementOrder.ROW_MAJOR]
    order = draw(st.sampled_from(orders))
    block = granule(order, precision)
    blocks = [draw(st.integers(1, 3)) for _ in shape]
    if len(shape) >= 2:
        blocks[-2] *= block.rows
        blocks[-1] *= block.columns
    axes = tuple(AxisTiling(each, Indivisible.ZERO_PAD) for each in blocks)
    return TensorFormat(precision, order, axes, draw(grids(len(shape))))


@st.composite
def grids(draw: st.DrawFn, rank: int, most_tiles: int = 60) -> tuple[Digit, ...]:
    """Digits in any order; the weights number each axis's parts without gaps."""
    places = [None, *range(rank)]
    digits: list[Digit] = []
    weights = dict.fromkeys(range(rank), 1)
    tiles = 1
    for _ in range(draw(st.integers(0, 4))):
        size = draw(st.integers(1, 5))
        if tiles * size > most_tiles:
            break
        tiles *= size
        axis = draw(st.sampled_from(places))
        digits.append(Digit(axis, size, 1 if axis is None else weights[axis]))
        if axis is not None:
            weights[axis] *= size
    return tuple(draw(st.permutations(digits)))
