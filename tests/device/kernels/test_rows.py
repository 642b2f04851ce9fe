"""Kernels with a row or a column: cycles to the number, and halves that are too large."""

from itertools import product

import numpy as np
import pytest

from tilewright.device import Output
from tilewright.device.kernels import KERNELS, Kernel, try_kernel
from tilewright.device.kernels.rows import WITH_COLUMN, WITH_ROW
from tilewright.device.kernels.vector import per_atom
from tilewright.device.running import run_kernel

OF_EACH_KIND = ("add_row_f16", "add_row_f32", "add_column_f16", "add_column_f32")


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_cycles_are_exact(name: str) -> None:
    kernel = KERNELS[name]
    grain = per_atom(kernel.array("x").dtype)
    for rows, atoms, panels in product((1, 2, 5, 6, 7, 12, 64), (1, 2, 4, 7), (1, 2, 6, 13)):
        trial = try_kernel(kernel, {"rows": rows, "width": grain * atoms, "panels": panels})
        assert not trial.faults
        assert trial.cycles == trial.predicted, (rows, atoms, panels)


def test_both_kinds_take_the_same_operands() -> None:
    for with_row, with_column in zip(WITH_ROW, WITH_COLUMN, strict=True):
        assert with_column.name == with_row.name.replace("row", "column")
        assert [each.name for each in with_column.operands] == [
            each.name for each in with_row.operands
        ]


@pytest.mark.parametrize("kernel", [each for each in WITH_COLUMN if "f16" in each.name])
def test_halves_saturate(kernel: Kernel) -> None:
    rows, width, panels = 7, 16, 2
    random = np.random.default_rng(0)
    x = random.choice([-65504, -256, 0, 256, 65504], rows * width * panels).astype(np.float16)
    v = random.choice([-65504, 65504], rows).astype(np.float16)
    run = run_kernel(
        [kernel.source],
        kernel.symbol,
        [Output(x.shape, x.dtype), x, v, rows, width // per_atom("f2"), panels],
    )
    sizes = {"rows": rows, "width": width, "panels": panels}
    expected = kernel.reference(sizes, {"x": x, "v": v})["z"]
    found = run.arrays[0]
    assert found is not None
    assert np.isfinite(expected).all()
    assert np.array_equal(found, expected)
