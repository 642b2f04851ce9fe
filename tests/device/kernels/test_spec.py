"""What a specification checks, where arrays of a trial lie, and what a trial finds wrong."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from tilewright.device.kernels import (
    KERNELS,
    Accuracy,
    KernelFault,
    Memory,
    find_kernel,
    place_arrays,
    try_kernel,
)
from tilewright.target.geometry import ELEMENT_SIZE, MEMORY_END, REGION1_BASE

GEMM = KERNELS["gemm_f16.bias"]
SIZES = {"rows": 37, "inner": 3, "columns": 2}


def elements(address: int, size: int) -> set[int]:
    """The memory elements of region 0 that an array touches, or the pairs of region 1."""
    grain = ELEMENT_SIZE if address < REGION1_BASE else 2 * ELEMENT_SIZE
    return set(range(address // grain * grain, address + size, grain))


@pytest.mark.parametrize("memory", list(Memory))
def test_arrays_lie_apart_in_the_memory_they_want(memory: Memory) -> None:
    places = place_arrays(GEMM, SIZES, memory=memory)
    extents = {array.name: (places[array.name], array.bytes(SIZES)) for array in GEMM.arrays}
    for one, other in combinations(extents.values(), 2):
        assert one[0] + one[1] <= other[0] or other[0] + other[1] <= one[0]
    for one_name, other_name in GEMM.apart:
        assert not elements(*extents[one_name]) & elements(*extents[other_name])
    assert places["c"] >= REGION1_BASE
    assert (places["a"] >= REGION1_BASE) == (memory is Memory.INTERLEAVED)


@pytest.mark.parametrize("last", ["c", "a", "b", "row"])
def test_the_last_array_ends_with_memory(last: str) -> None:
    places = place_arrays(GEMM, SIZES, last=last)
    assert places[last] + GEMM.array(last).bytes(SIZES) == MEMORY_END


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(KernelFault, match=r"gemm_f16\.bias: a does not fit into one tile"):
        place_arrays(GEMM, SIZES | {"rows": 3_000})


@pytest.mark.parametrize(
    ("name", "sizes", "message"),
    [
        ("add_f16", {"n": 0}, "n=0, but n is 1 to 262144"),
        ("add_f16", {"m": 1}, "add_f16 takes the sizes n, not m"),
        ("add_row_f16", {"rows": 1, "width": 6, "panels": 1}, "multiples of 4"),
        ("gemm_f16_rows.zero", SIZES | {"columns": 22}, "columns=22, but columns is 1 to 21"),
    ],
)
def test_sizes_are_checked(name: str, sizes: dict[str, int], message: str) -> None:
    with pytest.raises(KernelFault, match=message):
        try_kernel(KERNELS[name], sizes)


def test_names_are_told_apart() -> None:
    assert find_kernel("zero") is KERNELS["zero"]
    with pytest.raises(KernelFault, match="no kernel nothing"):
        find_kernel("nothing")


def test_a_trial_holds_results_against_the_reference() -> None:
    kernel = KERNELS["add_f16"]
    ulp = np.float16(2**-10)
    off = replace(
        kernel, reference=lambda sizes, inputs: {"z": inputs["x"] + inputs["y"] + 8 * ulp}
    )
    assert "z: 5 of 5 elements are wrong" in try_kernel(off, {"n": 5}).faults[0]
    assert not try_kernel(replace(off, accuracy=Accuracy(absolute=2**-6)), {"n": 5}).faults
    assert try_kernel(replace(off, accuracy=Accuracy(absolute=2**-10)), {"n": 5}).faults


def test_signed_zeros_are_different_results() -> None:
    negated = replace(
        KERNELS["zero"], reference=lambda sizes, inputs: {"z": np.full(3, 1 << 31, np.uint32)}
    )
    assert try_kernel(negated, {"n": 3}).faults
