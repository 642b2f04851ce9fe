"""Numbers of users and stored elements, against the formats' own specification."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.package import ElementType, Role, Tensor
from tilewright.runtime.numbers import from_stored, to_stored
from tilewright.target.formats import F143, F152, QuarterFormat
from tilewright.target.formats.exact import Number


def tensor(element: ElementType, scale: int = 0, shape: tuple[int, ...] = (3,)) -> Tensor:
    return Tensor("x", Role.INPUT, element, shape, scale=scale)


QUARTERS = [(ElementType.F8F143, F143), (ElementType.F8F152, F152)]


@pytest.mark.parametrize(("element", "format"), QUARTERS)
def test_every_code_goes_both_ways(element: ElementType, format: QuarterFormat) -> None:
    codes = np.arange(256, dtype=np.uint8)
    described = tensor(element, -3, (256,))
    values = from_stored(described, codes)
    assert values.dtype == np.float32
    for code in range(256):
        read = format.read(code)
        if isinstance(read, Number):
            exact = Fraction(2) ** (read.exponent - 3) * read.significand
            assert Fraction(float(values[code])) == (-exact if read.negative else exact)
        else:
            assert np.isnan(values[code])
    assert np.array_equal(to_stored(described, values), codes)
    assert to_stored(described, codes) is codes


@given(st.lists(st.floats(-1000, 1000, width=32), min_size=1, max_size=50))
def test_quarters_are_the_nearest(numbers: list[float]) -> None:
    """The formats of ml_dtypes have the same codes with exponents that are one greater."""
    described = tensor(ElementType.F8F143, 0, (len(numbers),))
    values = from_stored(described, to_stored(described, np.array(numbers, np.float32)))
    clipped = np.clip(np.array(numbers, np.float64), -240, 240)
    other = clipped.astype(ml_dtypes.float8_e4m3fnuz)
    assert np.array_equal(values, other.astype(np.float32))


def test_quarters_saturate_and_keep_nan() -> None:
    given_numbers = np.array([1e9, -np.inf, np.nan])
    values = from_stored(
        tensor(ElementType.F8F143, 2), to_stored(tensor(ElementType.F8F143, 2), given_numbers)
    )
    assert values[:2].tolist() == [960, -960]
    assert np.isnan(values[2])


def test_floats_are_rounded() -> None:
    stored = to_stored(tensor(ElementType.F16), np.array([1 / 3, 65504.0, -np.inf]))
    assert stored.dtype == np.dtype("<f2")
    assert stored.tolist() == [float(np.float16(1 / 3)), 65504, -np.inf]
    assert to_stored(tensor(ElementType.F32), np.array([1, 2, 3], np.float16)).dtype == np.dtype(
        "<f4"
    )


def test_integers_are_taken_if_they_fit() -> None:
    assert to_stored(tensor(ElementType.I16), [1, -2, 32767]).tolist() == [1, -2, 32767]
    assert to_stored(tensor(ElementType.U8), np.array([0, 1, 255])).dtype == np.uint8


@pytest.mark.parametrize(
    ("element", "given_numbers", "told"),
    [
        (ElementType.F16, np.array([1.0, 1e6, 2.0]), "float16, into which 1000000.0 does not fit"),
        (ElementType.F32, np.array([1e300, 1, 2]), "float32, into which 1e.300 does not fit"),
        (ElementType.I16, np.array([1, 40000, 2]), "int16, into which 40000 does not fit"),
        (ElementType.U32, np.array([1, -1, 2]), "uint32, into which -1 does not fit"),
        (ElementType.I32, np.array([2**32, 0, 0]), "int32, into which 4294967296 does not fit"),
        (
            ElementType.I32,
            np.array([2**31, 0, 0], np.uint32),
            "int32, into which 2147483648 does not fit",
        ),
        (ElementType.F16, np.array([1, 2, 3]), "takes floats, not int64"),
        (ElementType.I32, np.array([1.0, 2, 3]), "takes integers, not float64"),
        (ElementType.F8F143, np.array([1, 2, 3]), "takes floats or codes, not int64"),
        (ElementType.F16, np.zeros((2, 3)), r"shape \(3,\), not \(2, 3\)"),
    ],
)
def test_what_does_not_fit(
    element: ElementType, given_numbers: "np.typing.NDArray[np.generic]", told: str
) -> None:
    with pytest.raises(ValueError, match=f"tensor 'x' .*{told}"):
        to_stored(tensor(element), given_numbers)


def test_narrow_floats_of_files() -> None:
    """bfloat16 is what many checkpoints hold."""
    narrow = np.array([1.5, -3e-5, np.nan], ml_dtypes.bfloat16)
    for element in (ElementType.F32, ElementType.F16):
        expected = narrow.astype(np.float32).astype(element.dtype)
        assert to_stored(tensor(element), narrow).tobytes() == expected.tobytes()
