"""Phases as text: what is printed is read back, and faults are told with their line."""

import pytest

from tests.exchange.random_phases import random_phase
from tilewright.exchange import PhaseError, Transfer, parse_phase, print_phase
from tilewright.target.topology import physical_tile


@pytest.mark.parametrize("seed", range(5))
def test_what_is_printed_is_read_back(seed: int) -> None:
    phase = random_phase(seed, 16, 20)
    again = parse_phase(print_phase(phase))
    assert [again.transfer(n) for n in range(20)] == [phase.transfer(n) for n in range(20)]


def test_tiles_are_logical_unless_said_otherwise() -> None:
    line = "2:0x60000 0x10 -> 3:0x61000, 1471:401408  # comment"
    logical, physical = parse_phase(line), parse_phase(f"tiles physical\n\n{line}")
    assert physical.transfer(0) == Transfer(2, 0x60000, 16, ((3, 0x61000), (1471, 0x62000)))
    assert logical.transfer(0).source == physical_tile(2)
    assert [tile for tile, _ in logical.transfer(0).receivers] == [
        physical_tile(3),
        physical_tile(1471),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("0:0x60000 4 1:0x61000", "expected TILE:ADDRESS WORDS ->"),
        ("0 4 -> 1:0x61000", "expected TILE:ADDRESS, found '0'"),
        ("0:0x60000 4 -> 1:0x61000,", "expected TILE:ADDRESS, found ''"),
        ("0:0x60000 four -> 1:0x61000", "expected a number, found 'four'"),
        ("0:0x60000 4 -> 1472:0x61000", "no tile 1472"),
        ("0:0x60000 99999999999999999999 -> 1:0x61000", "out of range"),
        ("0:-4 4 -> 1:0x61000", "out of range"),
        ("tiles physical", "before the first transfer"),
    ],
)
def test_faults_are_told_with_their_line(line: str, reason: str) -> None:
    with pytest.raises(PhaseError, match=reason) as raised:
        parse_phase(f"# a phase\n5:0x60000 1 -> 6:0x61000\n{line}", "some.phase")
    assert str(raised.value).startswith("some.phase:3: ")
