"""Softmax of rows that see less than all, by a count in memory and by their place."""

from functools import lru_cache

import numpy as np
import pytest

from tilewright.device.kernels import KERNELS, Array
from tilewright.device.running import tile_image
from tilewright.elf.assembler import assemble_file
from tilewright.elf.linker import Linker
from tilewright.emulator.images import TileImage
from tilewright.emulator.kernel import Operand, Output, run_kernel

DTYPES = {"softmax_f16": np.float16, "softmax_few_f16": np.float16, "softmax_f32": np.float32}


@lru_cache
def image(name: str) -> TileImage:
    kernel = KERNELS[name]
    return tile_image(Linker([assemble_file(kernel.source).object]).link(entries=[kernel.symbol]))


def on_tile(
    name: str, x: np.ndarray, scale: float, count: int, first: int, capacity: int
) -> np.ndarray:
    """What the kernel makes of rows of which `capacity` elements are stored."""
    kernel = KERNELS[name]
    rows = len(x)
    sizes = {"rows": rows, "n": capacity, "first": first}
    grain = 8 // x.dtype.itemsize
    pitch = -(-capacity // grain) * grain
    padded = np.full((rows, pitch), np.nan, x.dtype)
    padded[:, :capacity] = x
    given: dict[str, Operand] = {
        "z": Output(padded.shape, x.dtype),
        "x": padded,
        "scale": int(np.float32(scale).view(np.uint32)),
        "count": np.array([count], np.int32),
    }
    operands: list[Operand] = [
        given[each.name] if each.name in given or isinstance(each, Array) else each.value(sizes)
        for each in kernel.operands
    ]
    found = run_kernel(image(name), kernel.symbol, operands).arrays[0]
    assert found is not None
    return found


def expected(x: np.ndarray, scale: float, limits: np.ndarray) -> np.ndarray:
    rows = np.zeros(x.shape)
    for row, (values, limit) in enumerate(zip(x.astype(np.float64), limits, strict=True)):
        weights = np.exp(scale * (values[:limit] - values[:limit].max()))
        rows[row, :limit] = weights / weights.sum()
    return rows


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("n", [1, 7, 16, 39])
def test_what_a_row_does_not_see_takes_no_part(name: str, n: int) -> None:
    random = np.random.default_rng(n)
    for rows in (1, 2, 3) if "few" in name else (1, 4, 7, 13):
        x = random.normal(size=(rows, n)).astype(DTYPES[name]) * 4
        for count in {1, min(2, n), -(-n // 2), n}:
            for first in {n, 0, n // 3}:
                limits = np.minimum(count, first + 1 + np.arange(rows))
                hidden = np.where(np.arange(n) < limits[:, None], x, np.nan).astype(x.dtype)
                found = on_tile(name, hidden, 0.25, count, first, n)
                assert not found[:, n:].any()
                np.testing.assert_allclose(
                    found[:, :n], expected(x, 0.25, limits), rtol=1.6e-3, atol=1e-7
                )


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize(("count", "meant"), [(5000, 11), (0, 1), (-7, 1), (-(2**31), 1)])
def test_a_count_beyond_its_range_is_the_nearest_one_in_it(
    name: str, count: int, meant: int
) -> None:
    x = np.linspace(-3, 3, 22, dtype=DTYPES[name]).reshape(2, 11)
    found = on_tile(name, x, 1.0, count, 11, 11)
    np.testing.assert_allclose(found[:, :11], expected(x, 1.0, np.array([meant] * 2)), rtol=1.6e-3)


@pytest.mark.parametrize("name", ["softmax_f16", "softmax_few_f16"])
def test_scores_at_the_end_of_the_range_are_scaled_after_the_largest_is_taken_off(
    name: str,
) -> None:
    x = np.array([[65504, 65472, -65504, 65440]], np.float16)
    found = on_tile(name, x, 2.0**-5, 4, 4, 4)
    np.testing.assert_allclose(found, expected(x, 2.0**-5, np.array([4])), rtol=1.6e-3)


@pytest.mark.parametrize("name", DTYPES)
def test_scale_zero_shares_alike(name: str) -> None:
    x = np.array([[5, -60000, 3, 60000, 2]], DTYPES[name])
    found = on_tile(name, x, 0.0, 5, 5, 5)
    np.testing.assert_allclose(found[0, :5], 0.2, rtol=1e-3)
    assert not found[0, 5:].any()
