"""Prices of whole arrays of shapes against the formulas of single calls."""

from itertools import product

import numpy as np
import pytest

from tilewright.codegen.mid import Precision
from tilewright.codegen.mid.prices import (
    CALL,
    panel_cycles,
    product_cycles,
    reduction_cycles,
    row_cycles,
    sum_cycles,
    vector_cycles,
)
from tilewright.device.kernels import KERNELS
from tilewright.target.geometry import REGION1_BASE


def _exact(kernel: str, **sizes: int) -> float:
    places = dict.fromkeys((array.name for array in KERNELS[kernel].arrays), REGION1_BASE)
    return KERNELS[kernel].cycles(sizes, places) + CALL


@pytest.mark.parametrize("kernel", ["gemm_f16", "gemm_f16_f32", "gemm_f32"])
def test_products(kernel: str) -> None:
    shapes = np.array(list(product((1, 5, 26, 98, 729), (1, 3, 11), (1, 2, 7)))).T
    found = product_cycles(kernel, *shapes)
    for price, (rows, inner, columns) in zip(found.tolist(), shapes.T.tolist(), strict=True):
        exact = _exact(f"{kernel}.zero", rows=rows, inner=inner, columns=columns)
        assert price == pytest.approx(exact, rel=0.005)


@pytest.mark.parametrize("form", ["plain", "row", "array", "row_array"])
def test_terms(form: str) -> None:
    shapes = np.array(list(product((1, 4, 9, 64), (1, 2, 5), (1, 7, 19)))).T
    found = reduction_cycles(form, *shapes)
    for price, (rows, panels, blocks) in zip(found.tolist(), shapes.T.tolist(), strict=True):
        exact = _exact(f"add_terms_f16.{form}", rows=rows, panels=panels, blocks=blocks, more=3)
        assert price == pytest.approx(exact, abs=8)


@pytest.mark.parametrize("kernel", ["gelu_f16", "add_f16", "mul_f32", "cast_f32_f16", "copy"])
def test_elements(kernel: str) -> None:
    for elements in (1, 24, 100, 1000, 5001):
        assert vector_cycles(kernel, elements) == pytest.approx(
            _exact(kernel, n=elements), rel=0.01, abs=10
        )


def test_sums() -> None:
    for elements, blocks in product((1, 60, 1000), (1, 4, 30)):
        exact = _exact("sum_f32", n=elements, blocks=blocks)
        assert sum_cycles("sum_f32", elements, blocks) == pytest.approx(exact, rel=0.01, abs=10)


@pytest.mark.parametrize("transposed", [False, True])
def test_rows_and_columns_that_panels_meet(transposed: bool) -> None:
    along = "column" if transposed else "row"
    for rows, panels in product((1, 9, 43), (1, 3, 7)):
        price = panel_cycles("add", Precision.F16, transposed, rows, panels)
        exact = _exact(f"add_{along}_f16", rows=rows, width=16, panels=panels)
        assert price == pytest.approx(exact, rel=0.1)


def test_few_rows_of_softmax_are_shared() -> None:
    assert row_cycles("softmax_f16", 2, 128) == _exact("softmax_few_f16", rows=2, n=128, first=128)
    assert row_cycles("softmax_f16", 9, 128) == _exact("softmax_f16", rows=9, n=128, first=128)
