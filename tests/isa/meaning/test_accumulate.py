"""The accumulators: sums against exact fractions, pipelines and transposition against NumPy."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest

from tilewright.emulator.faults import OperandFault
from tilewright.target.flags import ASSUMED_FLAGS

if TYPE_CHECKING:
    from tests.isa.meaning.conftest import Bench

Array = npt.NDArray[Any]
Numbers = Sequence[Fraction]

INV, DIV0, OFLO = 1, 2, 4
NANOO = 1 << 20
INFINITE_HALF = 0x7C00


def accumulators(worker: "Bench") -> Array:
    """The 32 accumulators, to be read and written."""
    words: Array = worker.state["accumulators"]
    return words.view(np.float32)


def load(worker: "Bench", register: int, lanes: Array) -> None:
    words = np.ascontiguousarray(lanes).view(np.uint32)
    worker.state["a"][register : register + len(words)] = words


def registers(worker: "Bench", first: int, count: int, kind: type) -> Array:
    words: Array = worker.state["a"][first : first + count].copy()
    return words.view(kind)


def fractions(lanes: Array) -> list[Fraction]:
    return [Fraction(float(lane)) for lane in lanes]


def rounded(exact: Fraction) -> float:
    """To single. A double is so much finer that rounding twice does no harm here."""
    return float(np.float32(float(exact)))


def halves(seed: int, count: int) -> Array:
    return np.random.default_rng(seed).normal(0, 4, count).astype(np.float16)


def singles(seed: int, count: int) -> Array:
    return np.random.default_rng(seed).normal(0, 100, count).astype(np.float32)


# -- multiply and add -------------------------------------------------------------------------


def each(function: Callable[[Fraction], Fraction]) -> Callable[[Numbers, Numbers], Numbers]:
    """What is added to AACC0, 2, 4, … by an instruction of one operand."""
    return lambda x, _: [function(lane) for lane in x]


# Text, format, lanes of an operand, and what is added to AACC0, AACC2, …
ADDITIONS: list[tuple[str, type, int, Callable[[Numbers, Numbers], Numbers]]] = [
    ("f16v2cmac $a0, $a4", np.float16, 2, lambda x, y: [x[0] * y[0] + x[1] * y[1]]),
    (
        "f16v4cmac $a0:1, $a4:5",
        np.float16,
        4,
        lambda x, y: [x[0] * y[0] + x[1] * y[1], x[2] * y[2] + x[3] * y[3]],
    ),
    ("f32mac $a0, $a4", np.float32, 1, lambda x, y: [x[0] * y[0]]),
    ("f32v2mac $a0:1, $a4:5", np.float32, 2, lambda x, y: [x[0] * y[0], x[1] * y[1]]),
    (
        "f32v2aop $a0:1, $a4:5, 0",
        np.float32,
        2,
        lambda x, y: [x[0] * y[0], x[0] * y[1], x[1] * y[0], x[1] * y[1]],
    ),
    ("f16v4acc $a0:1", np.float16, 4, each(lambda x: x)),
    ("f16v8acc $a0:3", np.float16, 8, each(lambda x: x)),
    ("f32v4acc $a0:3", np.float32, 4, each(lambda x: x)),
    ("f16v4absacc $a0:1", np.float16, 4, each(abs)),
    ("f16v8absacc $a0:3", np.float16, 8, each(abs)),
    ("f32v4absacc $a0:3", np.float32, 4, each(abs)),
    ("f16v8sqacc $a0:3", np.float16, 8, each(lambda x: x * x)),
    ("f32v4sqacc $a0:3", np.float32, 4, each(lambda x: x * x)),
]


@pytest.mark.parametrize(
    ("text", "kind", "lanes", "increments"), ADDITIONS, ids=[row[0] for row in ADDITIONS]
)
def test_accumulation(
    worker: "Bench",
    text: str,
    kind: type,
    lanes: int,
    increments: Callable[[Numbers, Numbers], Numbers],
) -> None:
    """Each sum is rounded once; every other accumulator, and every register, stays."""
    make = halves if kind is np.float16 else singles
    for seed in range(20):
        x, y = make(2 * seed, lanes), make(2 * seed + 1, lanes)
        accumulators(worker)[:] = singles(seed + 100, 32)
        expected = accumulators(worker).tolist()
        worker.state["a"] = 0x7C00_7C00
        load(worker, 0, x)
        if "$a4" in text:
            load(worker, 4, y)
        before = worker.a
        worker.issue(text)
        for place, increment in enumerate(increments(fractions(x), fractions(y))):
            expected[2 * place] = rounded(Fraction(expected[2 * place]) + increment)
        assert accumulators(worker).tolist() == expected
        assert worker.a == before
    assert int(worker.state["float_status"]) == 0


def test_products_are_added_before_rounding(worker: "Bench") -> None:
    """1 + 2**30 - 2**30: in the order of the operands, with two roundings, this would be 0."""
    accumulators(worker)[0] = 1
    load(worker, 0, np.array([2.0**15, -(2.0**15)], np.float16))
    load(worker, 4, np.array([2.0**15, 2.0**15], np.float16))
    worker.issue("f16v2cmac $a0, $a4")
    assert accumulators(worker)[0] == 1


def test_subnormal_halves_count_and_subnormal_singles_do_not(worker: "Bench") -> None:
    worker.set(a0=0x0000_0001, a1=0, a2=1, a3=0x3F80_0000)
    worker.issue("f16v4acc $a0:1")
    worker.issue("f32v2mac $a2:3, $a2:3")
    assert accumulators(worker)[[0, 2]].tolist() == [2.0**-24, 1.0]


def test_flags_of_the_outer_product_change_nothing(worker: "Bench") -> None:
    load(worker, 0, np.array([2, 3], np.float32))
    load(worker, 4, np.array([5, 7], np.float32))
    worker.issue("f32v2aop $a0:1, $a4:5, 255")
    assert accumulators(worker)[:8].tolist() == [10, 0, 14, 0, 15, 0, 21, 0]


def test_all_accumulators_are_cleared_at_once(worker: "Bench") -> None:
    worker.state["accumulators"] = 0x3F80_0000
    worker.state["float_status"] = 0b111
    worker.issue("uput $FP_CLR, $a0", a0=1 << 3)
    assert worker.state["accumulators"].tolist() == [0] * 32
    assert int(worker.state["float_status"]) == 0b111


# -- infinities -------------------------------------------------------------------------------

# What an infinite lane 0 reaches: AACC0, or all units of a set.
HALF_SUMS = {
    "f16v2cmac $a0, $a4": 1,
    "f16v4cmac $a0:1, $a4:5": 1,
    "f16v4acc $a0:1": 1,
    "f16v8acc $a0:3": 1,
    "f16v4absacc $a0:1": 1,
    "f16v8absacc $a0:3": 1,
    "f16v8sqacc $a0:3": 1,
    "f16v4mix $a6:7, $a0:1, $a4:5": 1,
    f"f16v4hihoamp $a6, $a0:1, $a5, {ASSUMED_FLAGS['TAMP_F16V4_E4_P0']}": 8,
    f"f16v4hihoslic $a6, $a0:1, $a5, {ASSUMED_FLAGS['TSLIC_F16V4_1x4_W0']}": 8,
}


@pytest.mark.parametrize(("text", "reached"), HALF_SUMS.items())
@pytest.mark.parametrize("sign", [0, 0x8000])
def test_an_infinite_half_becomes_a_nan(
    worker: "Bench", text: str, reached: int, sign: int
) -> None:
    worker.tile["weights"] = 0x3C00_3C00_3C00_3C00
    worker.state["tas"] = 0x3C00_3C00
    worker.set(a0=INFINITE_HALF | sign, a4=0x3C00_3C00)
    worker.issue(text)
    expected = [place % 2 == 0 and place < 2 * reached for place in range(32)]
    assert np.isnan(accumulators(worker)).tolist() == expected
    assert int(worker.state["float_status"]) == INV


def test_an_infinite_single_stays_infinite(worker: "Bench") -> None:
    """So kernels that look for NaNs alone convert halves first."""
    worker.issue("f16v2tof32 $a0:1, $a4", a4=0xFC00_3C00)
    worker.issue("f32v4absacc $a0:3")
    assert accumulators(worker)[[0, 2]].tolist() == [1, np.inf]
    assert int(worker.state["float_status"]) == 0
    worker.issue("f32v4acc $a0:3")
    assert np.isnan(accumulators(worker)[2])  # infinity - infinity
    assert int(worker.state["float_status"]) == INV


# -- get and initialise -----------------------------------------------------------------------

COLUMNS = {0: range(0, 16, 2), 1: range(1, 16, 2), 2: range(16, 32, 2), 3: range(17, 32, 2)}


@pytest.mark.parametrize("column", COLUMNS)
def test_four_ginas_rotate_a_column(worker: "Bench", column: int) -> None:
    accumulators(worker)[:] = range(32)
    expected = np.arange(32, dtype=np.float32)
    found: list[float] = []
    for step in range(4):
        incoming = np.array([100 + 2 * step, 101 + 2 * step], np.float32)
        load(worker, 2, incoming)
        worker.issue(f"f32v2gina $a0:1, $a2:3, {column}")
        found += registers(worker, 0, 2, np.float32).tolist()
        places = list(COLUMNS[column])
        expected[places] = np.concatenate([expected[places][2:], incoming])
        assert accumulators(worker).tolist() == expected.tolist()
    assert found == [float(place) for place in COLUMNS[column]]
    assert expected[list(COLUMNS[column])].tolist() == [float(number) for number in range(100, 108)]


@pytest.mark.parametrize("column", COLUMNS)
def test_gina_of_halves_converts(worker: "Bench", column: int) -> None:
    accumulators(worker)[list(COLUMNS[column])] = [
        *(1.00048828125, 1.00146484375, 1e6, -1e6),
        *(2**-25, 2**-24 * 1.5, 0.1, -3),
    ]
    found = []
    for _ in range(4):
        worker.issue(f"f16v2gina $a0, $a2, {column}", a2=0x7BFF_0001)
        found += registers(worker, 0, 1, np.float16).tolist()
    assert found == [1, 1.001953125, 65504, -65504, 0, 2**-23, float(np.float16(0.1)), -3]
    assert accumulators(worker)[list(COLUMNS[column])].tolist() == [2**-24, 65504] * 4
    assert int(worker.state["float_status"]) == OFLO


def test_gina_reads_and_clears(worker: "Bench") -> None:
    accumulators(worker)[:] = range(32)
    worker.issue("f32v2gina $a0:1, $azeros, 0")
    assert registers(worker, 0, 2, np.float32).tolist() == [0, 2]
    assert accumulators(worker)[:16:2].tolist() == [4, 6, 8, 10, 12, 14, 0, 0]


@pytest.mark.parametrize("text", ["f32v2gina $a0:1, $a2:3", "f16v2gina $a0, $a2"])
@pytest.mark.parametrize("column", [4, 5, 8, 4095])
def test_there_are_four_columns(worker: "Bench", text: str, column: int) -> None:
    worker.check_fault(OperandFault, "four accumulator columns", f"{text}, {column}")


# -- pipelines --------------------------------------------------------------------------------


def test_axpy_gives_the_result_of_the_step_before(worker: "Bench") -> None:
    """TAS * X + Y, rounded once."""
    scale = np.float32(1.7)
    worker.issue("uput $TAS, $a7", a7=int(scale.view(np.uint32)))
    accumulators(worker)[:] = range(50, 82)
    expected = [50.0, 52.0]
    for step in range(20):
        x, y = singles(step, 2), singles(step + 50, 2)
        load(worker, 2, x)
        load(worker, 4, y)
        worker.issue("f32v2axpy $a0:1, $a2:3, $a4:5")
        assert registers(worker, 0, 2, np.float32).tolist() == expected
        pairs = zip(fractions(x), fractions(y), strict=True)
        expected = [rounded(Fraction(float(scale)) * one + other) for one, other in pairs]
    assert accumulators(worker)[[0, 2]].tolist() == expected
    rest = [place for place in range(32) if place not in (0, 2)]
    assert accumulators(worker)[rest].tolist() == [50.0 + place for place in rest]


def test_axpy_rounds_once(worker: "Bench") -> None:
    """(1 + 2**-23) * (1 + 2**-23) - 1 - 2**-22 is 2**-46."""
    worker.state["tas"] = 0x3F80_0001
    worker.set(a2=0x3F80_0001, a4=0xBF80_0002)
    worker.issue("f32v2axpy $a0:1, $a2:3, $a4:5")
    assert accumulators(worker)[0] == 2.0**-46


def test_mix_gives_the_result_of_the_step_before(worker: "Bench") -> None:
    """a * X + b * Y, with a in the lower half of TAS."""
    a, b = np.array([0.75, -3], np.float16)
    worker.issue("uput $TAS, $a7", a7=int(np.array([a, b]).view(np.uint32)[0]))
    accumulators(worker)[:8] = range(8)
    expected = [0.0, 2.0, 4.0, 6.0]
    for step in range(20):
        x, y = halves(step, 4), halves(step + 50, 4)
        load(worker, 2, x)
        load(worker, 4, y)
        worker.issue("f16v4mix $a0:1, $a2:3, $a4:5")
        assert registers(worker, 0, 2, np.float16).tolist() == expected
        sums = float(a) * x.astype(np.float64) + float(b) * y.astype(np.float64)
        expected = sums.astype(np.float32).astype(np.float16).tolist()
    assert accumulators(worker)[1:8:2].tolist() == [1, 3, 5, 7]


@pytest.mark.parametrize("nanoo", [False, True])
def test_gacc_reads_four_accumulators(worker: "Bench", nanoo: bool) -> None:
    worker.state["float_control"] = NANOO if nanoo else 0
    accumulators(worker)[:8] = [1.5, 9, -65520, 9, 2**-24, 9, 3.0009766, 9]
    before = worker.state["accumulators"].tolist()
    worker.issue("f16v4gacc $a0:1")
    found = registers(worker, 0, 2, np.float16)
    assert found[[0, 2, 3]].tolist() == [1.5, 2**-24, 3]
    assert np.isnan(found[1]) if nanoo else found[1] == -65504
    assert int(worker.state["float_status"]) == OFLO
    assert worker.state["accumulators"].tolist() == before


# -- transposition ----------------------------------------------------------------------------


def feed(worker: "Bench", block: Array, flag: int) -> Array:
    """Two rows of a block into the accumulators; gives a column of the block before."""
    load(worker, 4, block[2 * flag])
    load(worker, 6, block[2 * flag + 1])
    worker.issue(f"f16v4istacc $a0:1, $a4:5, $a6:7, {flag}")
    return registers(worker, 0, 2, np.uint16)


def take(worker: "Bench", flag: int) -> Array:
    worker.issue(f"f16v4stacc $a0:1, {flag}")
    return registers(worker, 0, 2, np.uint16)


def test_blocks_are_transposed_in_four_steps_each(worker: "Bench") -> None:
    """Any patterns go through unchanged; the last two columns leave while the next block comes."""
    blocks = np.random.default_rng(5).integers(0, 1 << 16, (6, 4, 4)).astype(np.uint16)
    blocks[0, 0, 0], blocks[1, 3, 2] = 0x7C01, 0x0001
    accumulators(worker)[16:] = range(16)
    worker.state["float_control"] = 0b111
    for flag in (0, 1):
        feed(worker, blocks[0], flag)
    following = [*blocks[1:], np.zeros((4, 4), np.uint16)]
    for block, next_block in zip(blocks, following, strict=True):
        columns = [take(worker, 0), take(worker, 1)]
        columns += [feed(worker, next_block, 0), feed(worker, next_block, 1)]
        assert np.array(columns).tolist() == block.T.tolist()
    assert accumulators(worker)[16:].tolist() == [float(number) for number in range(16)]
    assert int(worker.state["float_status"]) == 0


def test_a_block_of_the_sheet(worker: "Bench") -> None:
    """Rows 00 01 02 03, 10 11 … in; columns 00 10 20 30, 01 … out."""
    block = np.array([[16 * row + column for column in range(4)] for row in range(4)], np.uint16)
    feed(worker, block, 0)
    feed(worker, block, 1)
    assert take(worker, 0).tolist() == [0x00, 0x10, 0x20, 0x30]
    assert take(worker, 1).tolist() == [0x01, 0x11, 0x21, 0x31]
    assert feed(worker, block, 0).tolist() == [0x02, 0x12, 0x22, 0x32]
    assert feed(worker, block, 1).tolist() == [0x03, 0x13, 0x23, 0x33]


@pytest.mark.parametrize(
    "text",
    [f"f16v4stacc $a0:1, {flag}" for flag in (2, 3, 255)]
    + [f"f16v4istacc $a0:1, $a4:5, $a6:7, {flag}" for flag in (2, 63)],
)
def test_unknown_flags_of_transposition(worker: "Bench", text: str) -> None:
    worker.check_fault(OperandFault, "unknown flags", text, a0=1, a4=2)
