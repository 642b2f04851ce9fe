"""Every registered kernel against its reference and its cycle formula, over generated calls.

Arrays lie in region 0 or region 1, beside memory that nobody wrote, which reads as NaN; each array
also lies flush against the end of SRAM once, where any access beyond it faults.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from tilewright.device.kernels import (
    KERNELS,
    Kernel,
    KernelFault,
    Memory,
    Size,
    place_arrays,
    sample_inputs,
    try_kernel,
)
from tilewright.device.kernels.spec import Sizes
from tilewright.device.running import run_kernel
from tilewright.emulator.engines import Engine

NAMES = sorted(KERNELS)
SMALL = range(1, 71)
SOME = (1, 2, 3, 4, 5, 8, 16, 48, 70)
CORNERS = {1: (100, 1001), 2: (2, 3, 7, 16, 64), 3: (2, 3, 16), 4: (1, 3)}
"""Values to try in all combinations, by the number of sizes."""
CLOSE = 0.03
"""Of measured and predicted cycles."""


def sizes_to_try(kernel: Kernel) -> Iterator[dict[str, int]]:
    """Those of `_sizes` that fit into a tile."""
    for sizes in _sizes(kernel):
        try:
            place_arrays(kernel, sizes)
        except KernelFault:
            continue
        yield sizes


def _sizes(kernel: Kernel) -> Iterator[dict[str, int]]:
    """The first size over 1 to 70, others over some of these, beside small ones; corners; usual."""
    smallest = {size.name: size.minimum for size in kernel.sizes}
    for number, size in enumerate(kernel.sizes):
        for value in SOME[1:] if number else SMALL:
            if _is_taken(size, value):
                yield smallest | {size.name: value}
    few = [[v for v in CORNERS[len(kernel.sizes)] if _is_taken(s, v)] for s in kernel.sizes]
    for values in product(*few):
        yield {size.name: value for size, value in zip(kernel.sizes, values, strict=True)}
    yield {size.name: size.usual for size in kernel.sizes}


def _is_taken(size: Size, value: int) -> bool:
    return size.minimum <= value <= size.maximum and value % size.multiple == 0


def judge(kernel: Kernel, sizes: Sizes, places: dict[str, int]) -> None:
    trial = try_kernel(kernel, sizes, places=places)
    assert not trial.faults, f"{kernel.name} {sizes} {places}: {trial.faults}"
    assert abs(trial.cycles - trial.predicted) <= CLOSE * trial.cycles, (
        f"{kernel.name} {sizes}: {trial.cycles} cycles, {trial.predicted} predicted"
    )


@pytest.mark.parametrize("name", NAMES)
def test_results_and_cycles_in_both_regions(name: str) -> None:
    for number, sizes in enumerate(sizes_to_try(KERNELS[name])):
        judge(KERNELS[name], sizes, _places(KERNELS[name], sizes, list(Memory)[number % 2]))


def _places(kernel: Kernel, sizes: Sizes, memory: Memory) -> dict[str, int]:
    """In the memory wanted, or in the larger one."""
    try:
        return place_arrays(kernel, sizes, memory=memory)
    except KernelFault:
        return place_arrays(kernel, sizes)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_touched_beyond_the_end_of_memory(name: str) -> None:
    kernel = KERNELS[name]
    for array in kernel.arrays:
        for sizes in list(sizes_to_try(kernel))[::29]:
            try:
                places = place_arrays(kernel, sizes, last=array.name)
            except KernelFault:
                continue  # the others do not fit before it
            judge(kernel, sizes, places)


@pytest.mark.parametrize("name", NAMES)
def test_the_engines_agree(name: str) -> None:
    kernel = KERNELS[name]
    sizes = {size.name: max(size.minimum, size.multiple) for size in kernel.sizes}
    ours, theirs = (try_kernel(kernel, sizes, engine=engine) for engine in Engine)
    assert ours.cycles == theirs.cycles
    assert all(
        ours.results[each].tobytes() == theirs.results[each].tobytes() for each in ours.results
    )


IN_PLACE = [(name, *pair) for name in NAMES for pair in KERNELS[name].in_place]


@pytest.mark.parametrize(("name", "result", "operand"), IN_PLACE)
def test_in_place(name: str, result: str, operand: str) -> None:
    kernel = KERNELS[name]
    sizes = {size.name: size.usual for size in kernel.sizes}
    places = place_arrays(kernel, sizes)
    places[result] = places[operand]
    inputs = sample_inputs(kernel, sizes)
    names = [each.name for each in kernel.operands]
    operands = [
        inputs[operand if each.name == result else each.name]
        if each in kernel.arrays
        else each.value(sizes)  # type: ignore[union-attr]  # a scalar
        for each in kernel.operands
    ]
    run = run_kernel(
        [kernel.source], kernel.symbol, operands, addresses=[places.get(each) for each in names]
    )
    expected = try_kernel(kernel, sizes).results[result]
    found = run.arrays[names.index(result)]
    assert found is not None
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_specification_is_sound(name: str) -> None:
    kernel = KERNELS[name]
    names = {array.name for array in kernel.arrays}
    assert len(kernel.operands) <= 8
    assert {each for pair in (*kernel.apart, *kernel.in_place) for each in pair} <= names
    assert any(array.role.is_result for array in kernel.arrays)
    assert all(np.dtype(array.dtype).itemsize <= 4 for array in kernel.arrays)
    kernel.check_sizes({size.name: size.usual for size in kernel.sizes})


LONG = {"n": 30_001, "width": 60_000, "rows": 1, "panels": 1, "parts": 2}
MANY = {"rows": 20_000, "n": 3, "width": 4, "panels": 1}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        *((name, LONG) for name in ("softmax_f32", "softmax_few_f16", "layer_norm_f16")),
        *((name, LONG) for name in ("rms_norm_f16", "softmax_apply_f16", "add_row_f16")),
        *((name, MANY) for name in ("softmax_f16", "layer_norm_f16", "add_row_f16")),
        *((name, MANY) for name in ("rms_norm_f16", "softmax_statistics_f16", "add_column_f16")),
    ],
)
def test_rows_as_long_and_as_many_as_a_tile_holds(name: str, wanted: dict[str, int]) -> None:
    kernel = KERNELS[name]
    sizes = {size.name: wanted.get(size.name, size.maximum) for size in kernel.sizes}
    judge(kernel, sizes, place_arrays(kernel, sizes))
