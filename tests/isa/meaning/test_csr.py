"""Control and status registers: which there are, which bits they have, what writing them does."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tilewright.emulator.faults import OperandFault

if TYPE_CHECKING:
    from tests.isa.meaning.conftest import Bench

WORD = 1 << 32
ALL = WORD - 1
TILE, NUMBER = 1234, 3
"""Of the contexts that the fixtures make."""

COMMON = {0x00, 0x70, 0x71}
WORKER = COMMON | {1, 2, 3, 4, 5, 6, 0x60, 0x61}
UPPER = set(range(11))
SUPERVISOR = COMMON | {
    *(1, 2, 3, 0x20, *range(0x21, 0x27), 0x31, 0x33, 0x50, 0x60, 0x61, 0x72, 0x73, 0x74, 0x75),
    *(0x80, 0x81, 0x82, 0x90, 0x91, 0x92, *range(0xA0, 0xAC)),
}


@pytest.mark.parametrize("index", range(256))
def test_which_registers_there_are(worker: "Bench", supervisor: "Bench", index: int) -> None:
    for bench, exists, texts in (
        (worker, index in WORKER, (f"get $m0, {index}", f"put {index}, $m0")),
        (worker, index in UPPER, (f"uget $a0, {index}", f"uput {index}, $a0")),
        (supervisor, index in SUPERVISOR, (f"get $m0, {index}", f"put {index}, $m0")),
    ):
        for text in texts:
            if exists:
                bench.issue(text)
            else:
                bench.check_fault(OperandFault, "no ", text)


# Registers that keep what is written, and the bits that they have.
STORED_UPPER = {
    "FP_STS": 0b111,
    "FP_CTL": 0b111 | 0b1_1111 << 16,
    "PRNG_0_0": ALL,
    "PRNG_0_1": ALL,
    "PRNG_1_0": ALL,
    "PRNG_1_1": ALL,
    "TAS": ALL,
    "FP_NFMT": 0b11,
    "FP_SCL": 0x3F,
}
STORED_SUPERVISOR = {
    "FP_ICTL": 0b111 | 0b1_1111 << 16,
    "WORKER0_BASE": ALL,
    "WORKER5_BASE": ALL,
    "FP_INFMT": 0b11,
    "FP_ISCL": 0x3F,
    "INCOMING_FORMAT": 0b11,
    "DBG_DATA": ALL,
}


@pytest.mark.parametrize("name", STORED_UPPER)
def test_bits_of_worker_registers(worker: "Bench", name: str) -> None:
    for pattern in (ALL, 0x5A5A5A5A, 0, 0xA5A5A5A5):
        worker.issue(f"uput ${name}, $a0", a0=pattern)
        worker.issue(f"uget $a1, ${name}", a1=0)
        assert worker.a[1] == pattern & STORED_UPPER[name]


@pytest.mark.parametrize("name", STORED_SUPERVISOR)
def test_bits_of_supervisor_registers(supervisor: "Bench", name: str) -> None:
    for pattern in (ALL, 0x5A5A5A5A, 0, 0xA5A5A5A5):
        supervisor.issue(f"put ${name}, $m0", m0=pattern)
        supervisor.issue(f"get $m1, ${name}", m1=0)
        assert supervisor.m[1] == pattern & STORED_SUPERVISOR[name]


def test_repeat_registers_of_a_worker(worker: "Bench") -> None:
    """The count has 16 bits."""
    worker.issue("put $REPEAT_COUNT, $m0", m0=0x12345678)
    worker.issue("get $m1, $REPEAT_COUNT")
    assert worker.m[1] == 0x5678


@pytest.mark.parametrize("name", ["PC", "WSR", "VERTEX_BASE", "WORKER_BASE", "COUNT_L", "COUNT_U"])
def test_what_a_worker_cannot_write(worker: "Bench", name: str) -> None:
    worker.issue(f"put ${name}, $m0", m0=ALL)
    worker.state["pc"] = 0
    assert not np.any(worker.state["exception"])
    worker.issue(f"get $m1, ${name}", m1=77)
    assert worker.m[1] == {"PC": 0x4C100, "WSR": NUMBER}.get(name, 0)


@pytest.mark.parametrize("name", ["PC", "TILE_ID", "SCOUNT_L", "SCOUNT_U", "SSR"])
def test_what_a_supervisor_cannot_write(supervisor: "Bench", name: str) -> None:
    supervisor.issue(f"put ${name}, $m0", m0=ALL)
    assert supervisor.pc == 0x4C104
    supervisor.issue(f"get $m1, ${name}", m1=77)
    assert supervisor.m[1] == {"PC": 0x4C100, "TILE_ID": TILE}.get(name, 0)


def test_identity_and_bases_of_a_worker(worker: "Bench") -> None:
    worker.state["vertex_base"], worker.state["worker_base"] = 0x61000, 0x5B000
    worker.issue("get $m0, $WSR")
    worker.issue("get $m1, $VERTEX_BASE")
    worker.issue("get $m2, $WORKER_BASE")
    assert worker.m[:3] == [NUMBER, 0x61000, 0x5B000]


def test_the_last_exception_shows_in_the_status(worker: "Bench", supervisor: "Bench") -> None:
    worker.state["exception"] = supervisor.state["exception"] = 8
    worker.issue("get $m0, $WSR")
    supervisor.issue("get $m0, $SSR")
    assert (worker.m[0], supervisor.m[0]) == (8 << 4 | NUMBER, 8 << 4)


def test_cycle_counter(worker: "Bench", supervisor: "Bench") -> None:
    for bench, names in (
        (worker, ("COUNT_L", "COUNT_U")),
        (supervisor, ("SCOUNT_L", "SCOUNT_U")),
    ):
        bench.tile["cycle"] = 0x12345_9ABCDEF0
        for place, name in enumerate(names):
            bench.issue(f"get $m{place}, ${name}")
        assert bench.m[:2] == [0x9ABCDEF0, 0x12345]


def test_debug_word_is_shared(worker: "Bench") -> None:
    worker.issue("put $DBG_DATA, $m0", m0=0xCAFE)
    assert int(worker.tile["supervisor"]["csr"][0x70]) == 0xCAFE
    worker.issue("get $m1, $DBG_DATA")
    assert worker.m[1] == 0xCAFE


# -- clearing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cleared", range(8))
def test_flags_are_cleared_by_writing_ones(worker: "Bench", cleared: int) -> None:
    worker.state["accumulators"] = 5
    worker.issue("uput $FP_STS, $a0", a0=0b111)
    worker.issue("uput $FP_CLR, $a0", a0=cleared | ALL << 4 & ALL)
    worker.issue("uget $a1, $FP_STS")
    worker.issue("uget $a2, $FP_CLR", a2=99)
    assert worker.a[1:3] == [0b111 & ~cleared, 0]
    assert (worker.state["accumulators"] == 5).all()


def test_accumulators_are_cleared_alone(worker: "Bench") -> None:
    worker.state["accumulators"] = np.arange(1, 33)
    worker.state["float_status"] = 0b101
    worker.issue("uput $FP_CLR, $a0", a0=1 << 3)
    assert not worker.state["accumulators"].any()
    assert int(worker.state["float_status"]) == 0b101


def test_clearing_works_beside_a_load(worker: "Bench") -> None:
    worker.state["accumulators"] = 7
    worker.write(0x60000, 1234, 4)
    worker.issue("{ ld32 $a1, $m1, $mzero, 0 ; uput $FP_CLR, $a0 }", m1=0x60000, a0=8)
    assert worker.a[1] == 1234
    assert not worker.state["accumulators"].any()


@pytest.mark.parametrize(
    ("action", "before", "after"),
    [(0b01, 1, 0), (0b10, 0, 1), (0b00, 1, 1), (0b00, 0, 0), (0b10, 1, 1), (0b01, 0, 0)],
)
def test_local_consensus_is_preset(
    supervisor: "Bench", action: int, before: int, after: int
) -> None:
    supervisor.state["csr"][1] = before
    supervisor.issue("put $CR, $m0", m0=action)
    supervisor.issue("get $m1, $SSR")
    supervisor.issue("get $m2, $CR", m2=99)
    assert supervisor.m[1:3] == [after, 0]


def test_clearing_the_weights(supervisor: "Bench") -> None:
    supervisor.tile["weights"] = np.arange(1, 65)
    supervisor.issue("put $CR, $m0", m0=0b011)
    assert supervisor.tile["weights"].all()
    supervisor.issue("put $CR, $m0", m0=0b100)
    assert not supervisor.tile["weights"].any()


# -- random numbers ---------------------------------------------------------------------------

# seed: word 0, word 1, the first three outputs
SEEDED = {
    0x00000000: (
        *(0xFFFFFFFF00000000, 0xFFFFE00000001FFF),
        *(0xFFFFDFFF00001FFC, 0x07811FF0F879DFEF, 0x17D022EEE81BDEEC),
    ),
    0x00000001: (
        *(0xFFFFFFFE00000001, 0xFFFFC00000003FFF),
        *(0xFFFFBFFE00003FF9, 0x0F023FE1F0F3BFDE, 0x2FA045DDD037BDD8),
    ),
    0x12345678: (
        *(0xEDCBA98712345678, 0x7530E2468ACF1DB9),
        *(0x46F88BDD94E33330, 0xE53244053136CDC3, 0xB56BAA1B5705EF1A),
    ),
}


@pytest.mark.parametrize("seed", SEEDED)
def test_seed_and_first_random_numbers(worker: "Bench", seed: int) -> None:
    word0, word1, *outputs = SEEDED[seed]
    worker.issue("uput $PRNG_SEED, $a0", a0=seed)
    for place, name in enumerate(("PRNG_0_0", "PRNG_0_1", "PRNG_1_0", "PRNG_1_1")):
        worker.issue(f"uget $a{place}, ${name}")
    assert (worker.group(0, 2), worker.group(2, 2)) == (word0, word1)
    worker.issue("uget $a0, $PRNG_SEED")
    assert worker.a[0] == 0
    drawn = []
    for _ in outputs:
        worker.issue("urand64 $a4:5")
        drawn.append(worker.group(4, 2))
    assert drawn == outputs


def test_32_random_bits_are_the_lower_ones(worker: "Bench") -> None:
    worker.issue("uput $PRNG_SEED, $a0", a0=0x12345678)
    worker.issue("urand32 $a1")
    worker.issue("urand32 $a2")
    assert worker.a[1:3] == [0x94E33330, 0x3136CDC3]


def test_state_of_the_generator_can_be_saved_and_restored(worker: "Bench") -> None:
    worker.issue("uput $PRNG_SEED, $a0", a0=99)
    names = ("PRNG_0_0", "PRNG_0_1", "PRNG_1_0", "PRNG_1_1")
    for place, name in enumerate(names):
        worker.issue(f"uget $a{place}, ${name}")
    worker.issue("urand64 $a4:5")
    for place, name in enumerate(names):
        worker.issue(f"uput ${name}, $a{place}")
    worker.issue("urand64 $a6:7")
    assert worker.a[4:6] == worker.a[6:8]
    assert worker.group(4, 2) != 0


def test_reading_a_register_beside_writing_another(worker: "Bench") -> None:
    """Both halves of the bundle reach control registers."""
    worker.state["tas"] = 11
    worker.issue("{ get $m0, $WSR ; uput $TAS, $a0 }", a0=22)
    assert worker.m[0] == NUMBER
    worker.issue("{ put $DBG_DATA, $m1 ; uget $a1, $TAS }", m1=33)
    assert worker.a[1] == 22
    assert int(worker.tile["supervisor"]["csr"][0x70]) == 33
