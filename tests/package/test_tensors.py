"""Orders of elements, against loops written out."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.package import ElementType, Role, Tensor


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    """Splits of up to three axes in any order, with padding."""
    rank = draw(st.integers(0, 3))
    loops = [
        (axis, extent)
        for axis in range(rank)
        for extent in draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    ]
    loops = draw(st.permutations(loops))
    full = [
        int(np.prod([extent for each, extent in loops if each == axis])) for axis in range(rank)
    ]
    shape = tuple(draw(st.integers(1, size)) for size in full)
    element = draw(st.sampled_from(list(ElementType)))
    return Tensor("t", Role.INPUT, element, shape, tuple(loops))


def _written_out(tensor: Tensor, array: "np.ndarray") -> list[object]:
    """Every element by the definition of loops: the index of an axis is a number whose digits are
    the positions of its loops."""
    found = []
    for position in itertools.product(*(range(extent) for _, extent in tensor.order)):
        index = [0] * len(tensor.shape)
        for digit, (axis, extent) in zip(position, tensor.order, strict=True):
            index[axis] = index[axis] * extent + digit
        is_inside = all(i < size for i, size in zip(index, tensor.shape, strict=True))
        found.append(array[tuple(index)] if is_inside else 0)
    return found


@given(tensors(), st.integers(0, 2**32 - 1))
def test_streams(tensor: Tensor, seed: int) -> None:
    rng = np.random.default_rng(seed)
    array = rng.integers(1, 100, tensor.shape).astype(tensor.element.dtype)
    stream = tensor.to_stream(array)
    assert stream.size == tensor.stream_bytes
    assert stream.size % 4 == 0
    expected = np.array(_written_out(tensor, array), tensor.element.dtype)
    assert stream[: expected.nbytes].tobytes() == expected.tobytes()
    assert not stream[expected.nbytes :].any()
    assert np.array_equal(tensor.from_stream(stream), array)


def test_blocks() -> None:
    tensor = Tensor("t", Role.INPUT, ElementType.U8, (4, 4), ((0, 2), (1, 2), (0, 2), (1, 2)))
    stream = tensor.to_stream(np.arange(16, dtype=np.uint8).reshape(4, 4))
    assert stream.tolist() == [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]


def test_row_major_is_the_default() -> None:
    tensor = Tensor("t", Role.INPUT, ElementType.F16, (3, 5))
    assert (tensor.order, tensor.padded_shape) == (((0, 3), (1, 5)), (3, 5))
    assert tensor.stream_bytes == 32  # 30, in whole words


def test_wrong_arrays() -> None:
    tensor = Tensor("t", Role.INPUT, ElementType.F16, (3, 5))
    with pytest.raises(ValueError, match="'t' is float16 of shape"):
        tensor.to_stream(np.zeros((3, 5), np.float32))
    with pytest.raises(ValueError, match="has 32 bytes, not 30"):
        tensor.from_stream(np.zeros(30, np.uint8))
