"""Matrix products against plain NumPy on integers, which are exact, and their speed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.device import run_kernel
from tilewright.device.kernels import KERNELS, Memory, place_arrays, try_kernel
from tilewright.device.kernels.gemm import from_panels, panels
from tilewright.emulator.kernel import Operand
from tilewright.target.geometry import REGION1_BASE

PEAK = 64
"""Multiply-adds of halves per cycle: what one AMP instruction of sixteen columns does."""
SOURCE = KERNELS["gemm_f16.zero"].source


def integers(rows: int, columns: int, seed: int) -> NDArray[Any]:
    return np.random.default_rng(seed).integers(-3, 4, (rows, columns)).astype(np.float16)


def blocks(b: NDArray[Any]) -> NDArray[Any]:
    """Blocks of 16 columns × 16 inner elements, each column's inner elements together."""
    inner, columns = b.shape
    return b.reshape(inner // 16, 16, columns // 16, 16).transpose(2, 0, 3, 1).copy()


def test_a_product_is_the_left_operand_of_the_next() -> None:
    a, b1, b2 = integers(13, 32, 1), integers(32, 48, 2), integers(48, 16, 3)
    b1[np.abs(b1) > 1] = 0
    hidden = run_product(panels(a), blocks(b1), rows=13, inner=2, columns=3)
    result = run_product(hidden, blocks(b2), rows=13, inner=3, columns=1)
    expected = a.astype(np.int64) @ b1.astype(np.int64) @ b2.astype(np.int64)
    assert np.abs(expected).max() <= 2048, "halves hold these exactly"
    assert np.array_equal(from_panels(result, 13), expected)


def run_product(
    a: NDArray[Any], b: NDArray[Any], rows: int, inner: int, columns: int
) -> NDArray[Any]:
    c = np.zeros(columns * rows * 16, np.float16)
    places = [REGION1_BASE, REGION1_BASE + 0x10000, REGION1_BASE + 0x20000, *[None] * 4]
    operands: list[Operand] = [c, a.reshape(-1), b, rows, inner, columns, 0]
    run = run_kernel([Path(SOURCE)], "gemm_f16", operands, addresses=places)
    assert run.arrays[0] is not None
    return run.arrays[0]


@pytest.mark.parametrize("memory", list(Memory))
@pytest.mark.parametrize("start", ["zero", "accumulate", "bias"])
@pytest.mark.parametrize(("rows", "share"), [(64, 0.45), (256, 0.76), (2048, 0.95)])
def test_one_block_reaches_its_share_of_the_peak(
    start: str, rows: int, share: float, memory: Memory
) -> None:
    """With weights in either region; A of 2,048 rows needs region 1 too."""
    kernel = KERNELS[f"gemm_f16.{start}"]
    sizes = {"rows": rows, "inner": 1, "columns": 1}
    places = place_arrays(kernel, sizes)
    if memory is Memory.ANY:
        places["b"] = 0x60000
    trial = try_kernel(kernel, sizes, places=places)
    assert not trial.faults
    assert kernel.elements(sizes) / trial.cycles >= share * PEAK


def test_wide_loads_of_weights_save_a_cycle_for_each_pair_of_entries() -> None:
    kernel = KERNELS["gemm_f16.zero"]
    sizes = {"rows": 60, "inner": 3, "columns": 2}
    places = place_arrays(kernel, sizes)
    wide = try_kernel(kernel, sizes, places=places).cycles
    narrow = try_kernel(kernel, sizes, places=places | {"b": 0x60000}).cycles
    assert narrow - wide == 33 * 6, "32 loads and a branch in each of 6 blocks"


@pytest.mark.parametrize("name", ["gemm_f16.bias", "gemm_f16_f32.bias", "gemm_f32.bias"])
@pytest.mark.parametrize("rows", [1, 7, 13, 30])
def test_the_row_may_share_memory_elements_with_the_result(name: str, rows: int) -> None:
    """Loads and stores of one instruction are an odd number of atoms apart, so they never meet."""
    kernel, sizes = KERNELS[name], {"rows": rows, "inner": 3, "columns": 2}
    places = place_arrays(kernel, sizes)
    beside = places["c"] + kernel.array("c").bytes(sizes) + 128
    assert not try_kernel(kernel, sizes, places=places | {"row": beside // 16 * 16}).faults


def test_the_workspace_may_share_memory_elements_with_the_result() -> None:
    kernel, sizes = KERNELS["gemm_f16_rows.zero"], {"rows": 30, "inner": 3, "columns": 2}
    places = place_arrays(kernel, sizes)
    beside = places["z"] + kernel.array("z").bytes(sizes) + 128
    assert not try_kernel(kernel, sizes, places=places | {"c": beside // 16 * 16}).faults
