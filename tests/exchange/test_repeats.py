"""Patched rows are those of the moved phase; rows of equal shape differ in addresses alone."""

from dataclasses import replace

import numpy as np
import pytest

from tests.exchange.random_phases import random_phase
from tilewright.exchange import (
    ExchangePhase,
    PhaseError,
    Rows,
    Transfer,
    encode,
    find_faults,
    patches,
    row_shapes,
    schedule,
)

FROM, TO = 0x5C000, 0x80000


def patched(rows: Rows, source_steps: object, receiver_steps: object, times: int) -> Rows:
    found = patches(rows, np.asarray(source_steps), np.asarray(receiver_steps))
    words = rows.words.astype(np.int64)
    words[rows.start[found.tile] + found.word] += times * found.step
    return replace(rows, words=words.astype(np.uint32))


@pytest.mark.parametrize("seed", range(8))
def test_patched_rows_are_those_of_the_moved_phase(seed: int) -> None:
    """Sources move by 16 bytes, destinations of every third receiver by 64, twice."""
    phase = random_phase(seed, 16, 12)
    source_steps = 16 * (np.arange(phase.transfers) % 2)
    receiver_steps = 64 * (np.arange(len(phase.receiver_tile)) % 3 == 0)
    rows = encode(schedule(phase), receiver_steps=receiver_steps)
    again = patched(rows, source_steps, receiver_steps, times=2)
    moved = object.__new__(ExchangePhase)  # destinations may overlap now: only rows are compared
    for name, values in vars(phase).items():
        object.__setattr__(moved, name, values)
    object.__setattr__(moved, "source_address", phase.source_address + 2 * source_steps)
    object.__setattr__(moved, "receiver_address", phase.receiver_address + 2 * receiver_steps)
    causes = {fault.cause for fault in find_faults(replace(again, phase=moved))}
    assert not {cause for cause in causes if "sent" in cause and "words" in cause}


def test_a_pointer_that_moves_otherwise_than_its_neighbour_is_not_left_out() -> None:
    phase = ExchangePhase.of(
        [Transfer(0, FROM, 60, [(64, TO)]), Transfer(0, FROM + 240, 60, [(64, TO + 240)])]
    )
    found = schedule(phase)
    alike, apart = encode(found), encode(found, receiver_steps=[0, 256])
    assert (alike.writes >= 0).sum() == 1
    assert (apart.writes >= 0).sum() == 2


def test_how_often_addresses_can_move() -> None:
    phase = ExchangePhase.of([Transfer(0, FROM, 4, [(64, TO)])])
    rows = encode(schedule(phase), incoming_base=TO, outgoing_base=FROM)
    found = patches(rows, 0, 4)
    assert found.last_repeats == 2**18 - 1
    assert (found.tile.tolist(), found.step.tolist()) == ([64], [1])
    assert patches(rows, -4, 0).last_repeats == 0
    assert len(patches(rows).tile) == 0


@pytest.mark.parametrize(("source", "receiver", "reason"), [(4, 0, "an item"), (0, 2, "a word")])
def test_steps_that_no_instruction_can_make(source: int, receiver: int, reason: str) -> None:
    wide = ExchangePhase.of([Transfer(0, FROM, 160, [(64, TO), (66, TO)])])
    rows = encode(schedule(wide))
    with pytest.raises(PhaseError, match=reason):
        patches(rows, source, receiver)


def test_rows_of_equal_shape() -> None:
    def phase(address: int, words: int) -> Rows:
        transfers = [
            Transfer(0, address, words, [(64, TO + address % 64)]),
            Transfer(2, FROM, words, [(66, TO)]),
        ]
        return encode(schedule(ExchangePhase.of(transfers)))

    same, moved, longer = row_shapes(phase(FROM, 8), phase(FROM + 4, 8), phase(FROM, 9))
    assert same.tolist() == moved.tolist()
    assert same[0] != longer[0]
    assert (same >= 0).sum() == 4
