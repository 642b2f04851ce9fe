"""Layouts are exact partitions: every element owned, padding zero, round trips."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codegen.mid.strategies import formats, shapes
from tilewright.codegen.mid import (
    AxisTiling,
    Digit,
    ElementOrder,
    FormatError,
    Precision,
    TensorFormat,
    padded,
    resolve,
)
from tilewright.codegen.mid.formats import joined
from tilewright.codegen.mid.layout import Layout


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    shape = draw(shapes)
    return resolve(draw(formats(shape)), shape)


def _numbered(layout: Layout) -> np.ndarray:
    """Every element with a number of its own, none of them zero."""
    return np.arange(1, 1 + int(np.prod(layout.shape))).reshape(layout.shape)


@given(layouts())
def test_unpacking_what_was_packed_gives_the_array(layout: Layout) -> None:
    array = _numbered(layout)
    assert np.array_equal(layout.unpack(layout.pack(array)), array)


@given(layouts())
def test_every_element_has_just_its_copies_and_the_rest_is_zero(layout: Layout) -> None:
    shards = layout.pack(_numbered(layout))
    assert shards.shape == (layout.format.tiles, layout.shard_elements)
    counts = np.bincount(shards.ravel(), minlength=int(np.prod(layout.shape)) + 1)
    assert np.all(counts[1:] == layout.format.replication)


@given(layouts())
def test_coordinates_are_the_inverse_of_locate(layout: Layout) -> None:
    array = _numbered(layout)
    shards = layout.pack(array)
    grid = np.indices(shards.shape, dtype=np.int64)
    tile, offset = grid[0], grid[1]
    coordinates, held = layout.coordinates(tile, offset)
    found = array[tuple(each[held] for each in coordinates)]  # of a scalar, a scalar
    assert np.array_equal(np.broadcast_to(found, shards[held].shape), shards[held])
    assert not shards[~held].any()


@given(layouts())
def test_a_shard_is_a_rectangle_and_the_largest_has_the_stated_size(layout: Layout) -> None:
    ranges = layout.shard(np.arange(layout.format.tiles))
    sizes = np.prod([extent for _, extent in ranges], axis=0) if ranges else np.array([1])
    assert np.max(sizes) == layout.shard_elements
    assert layout.shard_bytes == layout.shard_elements * layout.format.precision.bytes
    for axis, (start, extent) in enumerate(ranges):
        block = layout.format.axes[axis].block
        assert not np.any(start % block)
        assert not np.any(extent % block)
        assert set(extent // block) <= {np.max(extent) // block, np.max(extent) // block - 1}


@given(st.integers(1, 300), st.integers(1, 9), st.integers(1, 9))
def test_cutting_parts_again_gives_the_cuts_of_finer_parts(extent: int, p: int, q: int) -> None:
    """So terms of a sum scatter to the owners of the finer parts."""

    def starts(parts: int) -> np.ndarray:
        grid = (Digit(0, parts),)
        layout = resolve(
            TensorFormat(Precision.F16, ElementOrder.ROW_MAJOR, (AxisTiling(),), grid), (extent,)
        )
        ((start, _),) = layout.shard(np.arange(parts))
        return start

    assert np.array_equal(starts(p * q)[::q], starts(p))


def _format(**changes: object) -> TensorFormat:
    fields: dict[str, object] = {
        "precision": Precision.F16,
        "order": ElementOrder.LEFT,
        "axes": (AxisTiling(), padded(16)),
        "grid": (),
    }
    return TensorFormat(**{**fields, **changes})  # type: ignore[arg-type] # by name


def test_an_indivisible_extent_is_rejected_where_padding_was_not_asked_for() -> None:
    with pytest.raises(FormatError, match=r"axis 1 of .* is no multiple of its block of 16"):
        resolve(_format(axes=(AxisTiling(), AxisTiling(16))), (4, 20))


def test_blocks_must_be_whole_blocks_of_the_order() -> None:
    with pytest.raises(FormatError, match="multiples of 1 × 16, not 1 × 8"):
        resolve(_format(axes=(AxisTiling(), padded(8))), (4, 20))


def test_weights_of_digits_leave_no_gaps() -> None:
    with pytest.raises(FormatError, match="weight 3; 2 would number"):
        _format(grid=(Digit(0, 2), Digit(0, 2, 3)))


def test_only_f8_has_a_scale() -> None:
    with pytest.raises(FormatError, match="only f8 has a scale"):
        _format(scale=2)


def test_f8_weights_may_be_packed_as_f16_wants_them() -> None:
    """A cast on the tile then keeps every element's place."""
    wide = _format(order=ElementOrder.RIGHT, axes=(padded(16), padded(16)), grid=(Digit(0, 3),))
    narrow = wide.with_precision(Precision.F8F143)
    array = np.arange(40 * 20).reshape(40, 20)
    assert np.array_equal(
        resolve(narrow, (40, 20)).pack(array), resolve(wide, (40, 20)).pack(array)
    )
    assert resolve(narrow, (40, 20)).shard_bytes * 2 == resolve(wide, (40, 20)).shard_bytes


def test_digits_that_go_on_are_one() -> None:
    assert joined([Digit(0, 5, 12), Digit(0, 12), Digit(1, 24)]) == (Digit(0, 60), Digit(1, 24))
    assert joined([Digit(None, 3), Digit(1, 1), Digit(None, 4)]) == (Digit(None, 12),)
    apart = (Digit(0, 12), Digit(0, 5, 12))
    assert joined(apart) == apart
