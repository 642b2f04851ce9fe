"""Streams and their pieces hold what layouts pack, element by element."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codegen.mid.strategies import formats, shapes
from tests.examples import examples
from tilewright.codegen.build.axes import Inexpressible, relate
from tilewright.codegen.build.streams import host_loops, stream_nest, stream_pieces
from tilewright.codegen.mid import (
    AxisTiling,
    Digit,
    ElementOrder,
    Layout,
    Precision,
    TensorFormat,
    padded,
    resolve,
)
from tilewright.graph import Formula, operators
from tilewright.package import ElementType, Role, Tensor


def stream_tensor(layout: Layout, shape: tuple[int, ...], views: list[Formula]) -> Tensor:
    """What the host sees as `shape`, and stores through views."""
    axes = relate(shape, views)
    loops = host_loops(stream_nest(layout), axes, stored=axes.last, seen=axes.first)
    return Tensor("x", Role.INPUT, ElementType.U32, shape, loops)


def numbered(shape: tuple[int, ...]) -> np.ndarray:
    """Elements counted from 1; 0 is padding."""
    return np.arange(1, 1 + np.prod(shape, dtype=int), dtype="<u4").reshape(shape)


def check(layout: Layout, tensor: Tensor, stored: np.ndarray, array: np.ndarray) -> None:
    """Tiles filled from the stream of `array` hold `stored` as the layout packs it."""
    stream = np.zeros(tensor.stream_bytes // 4, "<u4")
    stream[:] = tensor.to_stream(array).view("<u4")
    width = layout.format.precision.bytes
    found = np.zeros((layout.format.tiles, layout.shard_elements), "<u4")
    pieces = stream_pieces(layout)
    for tile, offset, place, size in zip(
        pieces.tile, pieces.offset, pieces.place, pieces.size, strict=True
    ):
        start, end = place // width, (place + size) // width
        assert not found[tile, start:end].any()
        found[tile, start:end] = stream[offset // width : (offset + size) // width]
    np.testing.assert_array_equal(found, layout.pack(stored))


@examples(300)
@given(shapes.flatmap(lambda shape: formats(shape).map(lambda form: resolve(form, shape))))
def test_any_layout(layout: Layout) -> None:
    array = numbered(layout.shape)
    check(layout, stream_tensor(layout, layout.shape, []), array, array)


VIEWS: dict[str, tuple[tuple[int, ...], list[Formula]]] = {
    "transposed": ((12, 20), [operators.Transpose((1, 0))]),
    "heads": ((8, 24), [operators.SplitHeads(3)]),
    "transposed heads": ((8, 24), [operators.SplitHeads(3), operators.Transpose((0, 2, 1))]),
    "merged": ((3, 8, 4), [operators.MergeHeads()]),
    "rows of a batch": ((2, 9, 16), [operators.Reshape((18, 16))]),
    "split rows": ((18, 16), [operators.Reshape((2, 9, 16))]),
    "ones": ((7,), [operators.Reshape((1, 7, 1))]),
}


@pytest.mark.parametrize("name", VIEWS)
@examples(60)
@given(data=st.data())
def test_views(name: str, data: st.DataObject) -> None:
    """Either it is said that loops cannot express it, or they do."""
    shape, views = VIEWS[name]
    array = numbered(shape)
    stored = array
    for view in views:
        stored = view.evaluate([stored])
    layout = resolve(data.draw(formats(stored.shape)), stored.shape)
    try:
        tensor = stream_tensor(layout, shape, views)
    except Inexpressible:
        return
    check(layout, tensor, stored, array)


@pytest.mark.parametrize("name", VIEWS)
def test_views_without_padding(name: str) -> None:
    shape, views = VIEWS[name]
    stored = numbered(shape)
    for view in views:
        stored = view.evaluate([stored])
    plain = TensorFormat(
        Precision.F32, ElementOrder.ROW_MAJOR, tuple(AxisTiling() for _ in stored.shape)
    )
    layout = resolve(plain, stored.shape)
    check(layout, stream_tensor(layout, shape, views), stored, numbered(shape))


def test_outputs_that_begin_a_larger_array() -> None:
    """What a slice leaves out is padding of the stream."""
    base = numbered((10, 32))
    views = [operators.Slice((0, 0), (7, 20)), operators.Transpose((1, 0))]
    axes = relate(base.shape, views)
    plain = TensorFormat(Precision.F32, ElementOrder.LEFT, (AxisTiling(), AxisTiling(8)))
    layout = resolve(plain, base.shape)
    loops = host_loops(stream_nest(layout), axes, stored=axes.first, seen=axes.last)
    tensor = Tensor("y", Role.OUTPUT, ElementType.U32, (20, 7), loops)
    stream = layout.pack(base).reshape(-1).view(np.uint8)
    np.testing.assert_array_equal(tensor.from_stream(stream), base[:7, :20].T)


def test_an_axis_of_one_row_keeps_its_padding() -> None:
    base = numbered((1, 64))
    axes = relate(base.shape, [operators.Reshape((1, 1, 64))])
    form = TensorFormat(Precision.F32, ElementOrder.LEFT, (padded(16), AxisTiling(8)))
    layout = resolve(form, base.shape)
    loops = host_loops(stream_nest(layout), axes, stored=axes.first, seen=axes.last)
    tensor = Tensor("x", Role.INPUT, ElementType.U32, (1, 1, 64), loops)
    assert tensor.stream_bytes > base.nbytes
    check(layout, tensor, base, base.reshape(1, 1, 64))


def test_padding_of_an_axis_that_the_host_lacks() -> None:
    axes = relate((2, 1, 64), [operators.Reshape((2, 64))])
    form = TensorFormat(Precision.F32, ElementOrder.LEFT, (AxisTiling(), padded(16), AxisTiling(8)))
    nest = stream_nest(resolve(form, (2, 1, 64)))
    with pytest.raises(Inexpressible):
        host_loops(nest, axes, stored=axes.first, seen=axes.last)


def test_rows_that_tiles_share_out_across_texts() -> None:
    """Three texts of 16 rows, three rows on each of 16 tiles: in order all the same."""
    form = TensorFormat(
        Precision.F32,
        ElementOrder.ROW_MAJOR,
        (AxisTiling(), AxisTiling()),
        (Digit(0, 16),),
    )
    layout = resolve(form, (48, 4))
    array = numbered((3, 16, 4))
    tensor = stream_tensor(layout, array.shape, [operators.Reshape((48, 4))])
    check(layout, tensor, array.reshape(48, 4), array)
