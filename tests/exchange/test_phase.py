"""What a phase refuses: the message names the transfers."""

from collections.abc import Sequence

import numpy as np
import pytest

from tilewright.exchange import ExchangePhase, PhaseError, Transfer, lower_bound, schedule
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END

LOW, HIGH = 0x5C000, 0x80000


def one(source: int, address: int, words: int, *receivers: tuple[int, int]) -> Transfer:
    return Transfer(source, address, words, receivers)


GOOD = one(0, LOW, 4, (1, HIGH))


@pytest.mark.parametrize(
    ("transfers", "reason", "named"),
    [
        ([GOOD, one(2, LOW, 0, (3, HIGH))], "no words", [1]),
        ([GOOD, one(2, LOW, 4)], "no receiver", [1]),
        ([GOOD, one(1472, LOW, 4, (3, HIGH))], "tile that does not exist", [1]),
        ([GOOD, one(2, LOW, 4, (3, HIGH), (-1, HIGH))], "tile that does not exist", [1]),
        ([GOOD, one(2, LOW + 2, 4, (3, HIGH))], "multiple of 4", [1]),
        ([GOOD, one(2, LOW, 4, (3, HIGH + 1))], "multiple of 4", [1]),
        ([GOOD, one(2, MEMORY_BASE - 4, 4, (3, HIGH))], "outside tile memory", [1]),
        ([GOOD, one(2, LOW, 4, (3, MEMORY_END - 12))], "outside tile memory", [1]),
        ([GOOD, one(2, LOW, 4, (1, HIGH + 12))], "overlap", [0, 1]),
        ([one(2, LOW, 4, (1, HIGH), (1, HIGH + 8)), GOOD], "overlap", [0, 1]),
        ([GOOD, one(2, LOW, 4, (2, HIGH))], "only receiver", [1]),
        ([one(2, LOW, 4, (3, HIGH), (2, HIGH), (2, HIGH + 16))], "twice", [0]),
    ],
)
def test_bad_transfers_are_named(
    transfers: Sequence[Transfer], reason: str, named: list[int]
) -> None:
    with pytest.raises(PhaseError, match=reason) as raised:
        ExchangePhase.of(transfers)
    for number in named:
        assert f"transfer {number} " in str(raised.value)


def test_a_cycle_of_relays_is_named_without_those_that_only_wait_for_it() -> None:
    phase = ExchangePhase.of(
        [
            one(5, HIGH, 4, (6, HIGH)),
            one(0, HIGH, 4, (1, HIGH)),
            one(1, HIGH + 8, 2, (2, HIGH)),
            one(2, HIGH + 4, 1, (0, HIGH + 12), (5, HIGH)),
        ]
    )
    for compute in (schedule, lower_bound):
        with pytest.raises(PhaseError, match="in a cycle") as raised:
            compute(phase)
        assert all(f"transfer {number} " in str(raised.value) for number in (1, 2, 3))
        assert "transfer 0 " not in str(raised.value)


def test_a_tile_cannot_send_and_receive_in_one_memory_element_at_once() -> None:
    phase = ExchangePhase.of([one(0, LOW, 512, (9, HIGH), (0, LOW + 0x1000))])
    with pytest.raises(PhaseError, match="another element"):
        schedule(phase)
    # In another element, or so short that the last word has left before the first arrives: fine.
    schedule(ExchangePhase.of([one(0, LOW, 512, (9, HIGH), (0, LOW + 0x4000))]))
    schedule(ExchangePhase.of([one(0, LOW, 16, (9, HIGH), (0, LOW + 0x1000))]))


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"words": np.array([1, 2])}, "source_tile has 1 entries"),
        ({"receiver_start": np.array([0, 2])}, "receiver_tile has 1 entries"),
        ({"receiver_start": np.array([1, 1])}, "begin with 0"),
        ({"source_tile": np.array([0.5])}, "must hold integers"),
        ({"words": np.array([[1]])}, "one axis"),
    ],
)
def test_arrays_that_do_not_fit_together(arrays: dict[str, np.ndarray], reason: str) -> None:
    good = {
        "source_tile": np.array([0]),
        "source_address": np.array([LOW]),
        "words": np.array([1]),
        "receiver_start": np.array([0, 1]),
        "receiver_tile": np.array([1]),
        "receiver_address": np.array([HIGH]),
    }
    ExchangePhase(**good)
    with pytest.raises(PhaseError, match=reason):
        ExchangePhase(**(good | arrays))


def test_many_faults_are_counted() -> None:
    bad = [one(2 * number, LOW, 0, (2 * number + 1, HIGH)) for number in range(30)]
    with pytest.raises(PhaseError, match="and 22 more"):
        ExchangePhase.of(bad)


def test_an_empty_phase_takes_no_time() -> None:
    found = schedule(ExchangePhase.of([]))
    assert (found.horizon, found.bound, found.chain) == (0, 0, [])
