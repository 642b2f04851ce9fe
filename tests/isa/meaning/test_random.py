"""Random numbers: the generator against published values, and what draws from it."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest

from tilewright.target.flags import ASSUMED_FLAGS

if TYPE_CHECKING:
    from tests.isa.meaning.conftest import Bench

Array = npt.NDArray[Any]

ESR = 1 << 19
LONG = (1 << 64) - 1

OUTPUTS = {
    0x00000000: (0xFFFFDFFF00001FFC, 0x07811FF0F879DFEF, 0x17D022EEE81BDEEC),
    0x00000001: (0xFFFFBFFE00003FF9, 0x0F023FE1F0F3BFDE, 0x2FA045DDD037BDD8),
    0x12345678: (0x46F88BDD94E33330, 0xE53244053136CDC3, 0xB56BAA1B5705EF1A),
}
"""Seed → the first outputs."""
STATES = {
    0x00000000: (0xFFFFFFFF00000000, 0xFFFFE00000001FFF),
    0x00000001: (0xFFFFFFFE00000001, 0xFFFFC00000003FFF),
    0x12345678: (0xEDCBA98712345678, 0x7530E2468ACF1DB9),
}
SEED = 0x12345678
FIRST = OUTPUTS[SEED][0]


def seeded(worker: "Bench", seed: int = SEED) -> None:
    worker.issue("uput $PRNG_SEED, $a7", a7=seed)


def rotated(word: int, places: int) -> int:
    return (word << places | word >> 64 - places) & LONG


def draws(seed: int) -> Iterator[int]:
    """xoroshiro128aox."""
    s0, s1 = STATES[seed]
    while True:
        both, differ = s0 & s1, s0 ^ s1
        yield differ ^ (rotated(both, 1) | rotated(both, 2))
        s0, s1 = rotated(s0, 55) ^ differ ^ (differ << 14 & LONG), rotated(differ, 36)


def drawn(worker: "Bench", limit: int = 40) -> int:
    """How many outputs have been drawn since `seeded`, found from the next one."""
    worker.issue("urand64 $a6:7")
    following = worker.group(6, 2)
    return list(islice(draws(SEED), limit)).index(following)


def slices(output: int) -> list[int]:
    return [output >> 16 * lane & 0xFFFF for lane in range(4)]


def load(worker: "Bench", register: int, lanes: Array) -> None:
    words = np.ascontiguousarray(lanes).view(np.uint32)
    worker.state["a"][register : register + len(words)] = words


def halves(worker: "Bench", register: int, count: int) -> list[float]:
    words: Array = worker.state["a"][register : register + -(-count // 2)].copy()
    return [float(half) for half in words.view(np.float16)[:count]]


# -- the generator ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", OUTPUTS)
def test_seed_and_first_outputs(worker: "Bench", seed: int) -> None:
    seeded(worker, seed)
    state = []
    for name in ("PRNG_0_0", "PRNG_0_1", "PRNG_1_0", "PRNG_1_1"):
        worker.issue(f"uget $a0, ${name}")
        state.append(worker.a[0])
    assert (state[1] << 32 | state[0], state[3] << 32 | state[2]) == STATES[seed]
    for output in OUTPUTS[seed]:
        worker.issue("urand64 $a0:1")
        assert worker.group(0, 2) == output
    seeded(worker, seed)
    for output in OUTPUTS[seed]:
        worker.issue("urand32 $a0")
        assert worker.a[0] == output & 0xFFFFFFFF


def test_the_state_can_be_saved_and_restored(worker: "Bench") -> None:
    seeded(worker)
    names = ("PRNG_0_0", "PRNG_0_1", "PRNG_1_0", "PRNG_1_1")
    for place, name in enumerate(names):
        worker.issue(f"uget $a{place}, ${name}")
    worker.issue("urand64 $a6:7")
    worker.issue("urand64 $a6:7")
    for place, name in enumerate(names):
        worker.issue(f"uput ${name}, $a{place}")
    worker.issue("urand64 $a6:7")
    assert worker.group(6, 2) == FIRST
    worker.issue("uget $a0, $PRNG_SEED")
    assert worker.a[0] == 0


# -- random masks -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["f16v4", "f32v2"])
@pytest.mark.parametrize("lane", range(4))
def test_a_lane_is_kept_if_its_draw_is_below_p(worker: "Bench", shape: str, lane: int) -> None:
    """Lane i draws bits 16i to 16i + 15 of one output; p = 1 + draw keeps it, p = draw does not."""
    lanes = 4 if shape == "f16v4" else 2
    width = 64 // lanes
    content = 0xFC01_7C02_BC03_3C04
    for chance in (slices(FIRST)[lane], slices(FIRST)[lane] + 1):
        seeded(worker)
        worker.set(a2=content & 0xFFFFFFFF, a3=content >> 32, a4=chance)
        worker.issue(f"{shape}rmask $a0:1, $a2:3, $a4")
        kept = [draw < chance for draw in slices(FIRST)[:lanes]]
        mask = sum(((1 << width) - 1) << width * place for place in range(lanes) if kept[place])
        assert worker.group(0, 2) == content & mask
        assert drawn(worker) == 1


@pytest.mark.parametrize("shape", ["f16v4", "f32v2"])
@pytest.mark.parametrize(
    ("chance", "keeps"), [(0, False), (0x10000, True), (0xFFFE0000, False), (0xFFFF0000, True)]
)
def test_masks_that_leave_nothing_to_chance(
    worker: "Bench", shape: str, chance: int, keeps: bool
) -> None:
    """Bit 16 keeps all, 0 nothing; bits above do not count. It draws all the same."""
    seeded(worker)
    worker.set(a2=0x7C01_3C00, a3=0x4000_FFFF, a4=chance)
    worker.issue(f"{shape}rmask $a0:1, $a2:3, $a4")
    assert worker.a[:2] == ([0x7C01_3C00, 0x4000_FFFF] if keeps else [0, 0])
    assert int(worker.state["float_status"]) == 0
    assert drawn(worker) == 1


def test_masks_keep_their_share(worker: "Bench") -> None:
    seeded(worker)
    worker.set(a2=0x3C00_3C00, a3=0x3C00_3C00, a4=0x4000)
    kept = 0
    for _ in range(500):
        worker.issue("f16v4rmask $a0:1, $a2:3, $a4")
        kept += sum(half == 1 for half in halves(worker, 0, 4))
    assert abs(kept / 2000 - 0.25) < 0.04  # four standard deviations


# -- stochastic rounding ----------------------------------------------------------------------

STEP = 2.0**-10
"""Of the halves from 1 to 2."""


def stochastic(single: float, draw: int, step: float) -> float:
    """Up, away from 0, for as many draws of 65,536 as the share of the step says."""
    steps = abs(single) / step
    share = int((steps - np.floor(steps)) * 65536)
    return float(np.copysign(step * (np.floor(steps) + (share + draw >= 65536)), single))


@pytest.mark.parametrize("share", [0.0, 2**-13, 0.25, 0.5, 0.75, 1 - 2**-13])
@pytest.mark.parametrize("sign", [1, -1])
def test_conversions_round_stochastically(worker: "Bench", share: float, sign: int) -> None:
    """Lane i takes slice i of one output."""
    worker.state["float_control"] = ESR
    quad = sign * (1 + STEP * (np.arange(4) + share))
    load(worker, 0, quad.astype(np.float32))
    for seed in OUTPUTS:
        seeded(worker, seed)
        for output in OUTPUTS[seed]:
            worker.issue("f32v4tof16 $a4:5, $a0:3")
            lanes = zip(quad, slices(output), strict=True)
            assert halves(worker, 4, 4) == [stochastic(x, draw, STEP) for x, draw in lanes]


def test_subnormal_halves_have_their_own_step(worker: "Bench") -> None:
    worker.state["float_control"] = ESR
    seeded(worker)
    quad = 2.0**-24 * np.array([0.5, 0.25, 3.75, 1023.5])
    load(worker, 0, quad.astype(np.float32))
    for output in OUTPUTS[SEED]:
        worker.issue("f32v4tof16 $a4:5, $a0:3")
        lanes = zip(quad, slices(output), strict=True)
        assert halves(worker, 4, 4) == [stochastic(x, draw, 2.0**-24) for x, draw in lanes]


def test_what_is_a_half_stays_it(worker: "Bench") -> None:
    worker.state["float_control"] = ESR
    seeded(worker)
    load(worker, 0, np.array([65504, -(2.0**-24), 0.333251953125, 0], np.float32))
    for _ in range(20):
        worker.issue("f32v4tof16 $a4:5, $a0:3")
        assert halves(worker, 4, 4) == [65504, -(2.0**-24), 0.333251953125, 0]
    assert drawn(worker) == 20


def test_overflow_is_judged_after_rounding(worker: "Bench") -> None:
    """65504 + 24 of 32 goes up in three of four cases; then it is clipped."""
    worker.state["float_control"] = ESR
    load(worker, 0, np.array([65528], np.float32))
    for seed in OUTPUTS:
        seeded(worker, seed)
        for output in OUTPUTS[seed]:
            worker.state["float_status"] = 0
            worker.issue("f32tof16 $a4, $a0")
            assert halves(worker, 4, 2) == [65504, 65504]
            goes_up = slices(output)[0] >= 0x4000
            assert int(worker.state["float_status"]) == (4 if goes_up else 0)


def test_the_mean_is_kept(worker: "Bench") -> None:
    worker.state["float_control"] = ESR
    seeded(worker)
    load(worker, 0, np.full(4, 1 + STEP / 4, np.float32))
    total = 0.0
    for _ in range(500):
        worker.issue("f32v4tof16 $a4:5, $a0:3")
        total += sum(half - 1 for half in halves(worker, 4, 4))
    assert abs(total / 2000 / STEP - 0.25) < 0.04


AMP = ASSUMED_FLAGS["TAMP_F16V4_E4_P0"]
SLIC = ASSUMED_FLAGS["TSLIC_F16V4_1x4_W0"]
STOCHASTIC = {
    "f32tof16 $a0, $a4": 2,
    "f32v2tof16 $a0, $a4:5": 2,
    "f32v4tof16 $a0:1, $a4:7": 4,
    "f16v2gina $a0, $a4, 1": 2,
    "f16v4gacc $a0:1": 4,
    "f16v4mix $a0:1, $a2:3, $a4:5": 4,
    f"f16v4hihoamp $a0, $a2:3, $a4, {AMP}": 2,
    f"f16v4sihoamp $a0, $a2:3, $a4:5, {AMP}": 2,
    f"f16v4hihov4amp $a0:1, $a2:3, $a4:5, {AMP}": 4,
    f"f8v8hihov4amp $a0:1, $a2:3, $a4:5, {AMP}": 4,
    f"f16v4hihoslic $a0, $a2:3, $a4, {SLIC}": 2,
    f"f16v4sihoslic $a0, $a2:3, $a4:5, {SLIC}": 2,
    f"f16v4hihov4slic $a0:1, $a2:3, $a4:5, {SLIC}": 4,
    f"f8v8hihov4slic $a0:1, $a2:3, $a4:5, {SLIC}": 4,
}
"""What rounds singles to halves → lanes of its result."""
NEVER_STOCHASTIC = [
    "f16v4add $a0:1, $a2:3, $a4:5",
    "f16v2mul $a0, $a2, $a4",
    "f16v2exp $a0, $a4",
    "f16v2tof8 $a0, $a4",
    "f16v2sufromui $a0, $a4",
    "f32v2mul $a0:1, $a2:3, $a4:5",
    "f16v2tof32 $a0:1, $a4",
    "f32v2gina $a0:1, $a4:5, 0",
    "f16v4cmac $a2:3, $a4:5",
    f"f16v4sisoamp $a0:1, $a2:3, $a4:5, {AMP}",
    f"f32sisov2amp $a0:1, $a2, $a4:5, {AMP}",
    f"f16v4sisoslic $a0:1, $a2:3, $a4:5, {SLIC}",
]
BETWEEN = 1 + STEP / 2


def prepare(worker: "Bench") -> None:
    """Every single that may leave lies between two halves."""
    worker.tile["weights"] = 0
    worker.state["accumulators"] = int(np.float32(BETWEEN).view(np.uint32))
    worker.state["a"] = worker.state["accumulators"][:8]
    seeded(worker)
    worker.state["a"][7] = worker.state["a"][6]


@pytest.mark.parametrize(("text", "lanes"), STOCHASTIC.items())
def test_one_output_serves_all_lanes_of_an_instruction(
    worker: "Bench", text: str, lanes: int
) -> None:
    prepare(worker)
    worker.state["float_control"] = ESR
    worker.issue(text)
    expected = [stochastic(BETWEEN, draw, STEP) for draw in slices(FIRST)[:lanes]]
    if text.startswith("f32tof16"):
        expected = expected[:1] * 2
    assert halves(worker, 0, lanes) == expected
    assert drawn(worker) == 1


@pytest.mark.parametrize(("text", "lanes"), STOCHASTIC.items())
def test_without_esr_nothing_is_drawn(worker: "Bench", text: str, lanes: int) -> None:
    prepare(worker)
    worker.issue(text)
    assert halves(worker, 0, lanes) == [1] * lanes  # to even
    assert drawn(worker) == 0


@pytest.mark.parametrize("text", NEVER_STOCHASTIC)
def test_other_instructions_never_draw(worker: "Bench", text: str) -> None:
    prepare(worker)
    worker.issue(text)
    nearest = worker.a[:2]
    prepare(worker)
    worker.state["float_control"] = ESR
    worker.issue(text)
    assert worker.a[:2] == nearest
    assert drawn(worker) == 0


# -- Gaussian numbers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"), [("f32v2grand $a0:1", np.float32), ("f16v2grand $a0", np.float16)]
)
def test_gaussian_numbers_are_sums_of_twelve_uniform_ones(
    worker: "Bench", text: str, kind: type
) -> None:
    """Less six: mean 0, variance 1. Two numbers take six outputs, lowest bits first."""
    worker.state["float_control"] = ESR
    generator = draws(SEED)
    seeded(worker)
    samples = []
    for _ in range(300):
        worker.issue(text)
        uniform = np.array([slices(next(generator)) for _ in range(6)]).reshape(2, 12) / 65536
        words: Array = worker.state["a"][: 2 if kind is np.float32 else 1].copy()
        assert words.view(kind).tolist() == (uniform.sum(axis=1) - 6).astype(kind).tolist()
        samples += words.view(kind).tolist()
    assert abs(np.mean(samples)) < 0.16
    assert abs(np.var(samples) - 1) < 0.2
    assert int(worker.state["float_status"]) == 0
    worker.issue("urand64 $a6:7")
    assert worker.group(6, 2) == next(generator)
