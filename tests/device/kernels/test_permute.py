"""`permute_16` as programs call it: at any half, with gaps between the rows of z, backwards."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.device.kernels import KERNELS, place_arrays, try_kernel
from tilewright.device.running import run_kernel
from tilewright.elf.assembler import assemble_file
from tilewright.emulator.memory import TileMemory
from tilewright.target.geometry import MEMORY_END, REGION1_BASE

KERNEL = KERNELS["permute_16"]
OBJECT = assemble_file(KERNEL.source).object
EVERY: NDArray[Any] = np.random.default_rng(0).permutation(1 << 16).astype(np.uint16)
"""All patterns of halves, those of NaN among them."""
Z_PLACE, X_PLACE = REGION1_BASE + 64, REGION1_BASE + 0x8000
MARGIN = 64
"""Bytes before and after z that are looked at."""


def check(
    x: NDArray[Any],
    *,
    rows: int,
    width: int,
    pitch: int,
    step: int,
    first: int = 0,
    gap: int = 0,
    z_place: int = Z_PLACE,
    x_place: int = X_PLACE,
) -> None:
    """A call that reads x[first] first: z is as defined, and memory around its rows as before."""
    z_pitch = width + gap
    scalars = [z_pitch // 2, pitch, step, width // 2, rows]
    # The last operand, which the kernel does not know, puts x into memory.
    run = run_kernel(
        [OBJECT],
        KERNEL.symbol,
        [z_place, x_place + 2 * first, *scalars, x],
        addresses=[None] * 7 + [x_place],
    )
    start = z_place - MARGIN
    size = min(2 * rows * z_pitch + 2 * MARGIN, MEMORY_END - start)
    expected = np.frombuffer(TileMemory(tiles=1).read(0, start, size), np.uint16).copy()
    row, column = np.arange(rows)[:, None], np.arange(width)
    expected[MARGIN // 2 + row * z_pitch + column] = x[first + row * pitch + column * step]
    found = np.frombuffer(run.memory.read(0, start, size), np.uint16)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(("rows", "columns"), [(2, 1), (2, 3), (16, 16), (64, 7), (30, 100)])
def test_a_step_of_all_columns_transposes(rows: int, columns: int) -> None:
    matrix = np.arange(rows * columns, dtype=np.uint16)
    check(matrix, rows=columns, width=rows, pitch=1, step=columns)


PLACES = tuple(product((0, 1, 2, 5), (0, 1, 34, 51), (0, 2, 6), (0, 1)))
"""Steps, pitches, gaps, and whether halves are odd."""
FIFTHS = [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 5))]


@pytest.mark.parametrize("fifth", FIFTHS)
@pytest.mark.parametrize("rows", [1, 5, 6, 7, 13])
@pytest.mark.parametrize("width", [2, 4, 6, 34])
def test_steps_pitches_gaps_and_places(rows: int, width: int, fifth: int) -> None:
    for step, pitch, gap, odd in PLACES[(fifth + rows + width) % 5 :: 5]:
        check(
            EVERY[:1000],
            rows=rows,
            width=width,
            pitch=pitch,
            step=step,
            first=odd,
            gap=gap,
            z_place=Z_PLACE + 4 * odd,
        )


def test_x_is_read_backwards() -> None:
    check(EVERY[:70], rows=7, width=10, pitch=-10, step=-1, first=69)


def test_every_pattern_survives() -> None:
    check(EVERY, rows=4, width=1 << 14, pitch=1 << 14, step=1, x_place=X_PLACE + (1 << 17))


def test_the_longest_row() -> None:
    check(EVERY[:1], rows=1, width=1 << 17, pitch=0, step=0, x_place=REGION1_BASE - 8)


@pytest.mark.parametrize("step", [1, 3])
def test_nothing_beyond_the_end_of_memory_is_touched(step: int) -> None:
    x = EVERY[: 6 * 11 + 5 * step + 1]
    check(x, rows=7, width=6, pitch=11, step=step, x_place=MEMORY_END - x.nbytes)
    check(x, rows=7, width=6, pitch=11, step=step, z_place=MEMORY_END - 2 * 7 * 6)


def test_a_trial_places_its_arrays_at_words_and_halves() -> None:
    sizes = {"rows": 3, "pairs": 3, "step": 2, "pitch": 6}
    places = place_arrays(KERNEL, sizes, last="x")
    assert places["x"] == MEMORY_END - 2 * 23
    assert places["x"] % 4 == 2
    trial = try_kernel(KERNEL, sizes, places=places)
    assert not trial.faults
    assert trial.cycles == trial.predicted


def test_large_calls_take_one_and_a_half_cycles_per_element() -> None:
    trial = try_kernel(KERNEL, {"rows": 192, "pairs": 128, "step": 192, "pitch": 1})
    assert trial.cycles < 1.55 * 192 * 256
