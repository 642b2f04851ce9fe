"""What is wrong in a phase, told as faults."""

import pytest

from tilewright.emulator import faults
from tilewright.emulator.fabric.findings import (
    OF_PARTNER,
    UNKNOWN,
    Finding,
    as_faults,
    no_findings,
    note,
)


@pytest.mark.parametrize("finding", Finding)
def test_every_finding_can_be_told(finding: Finding) -> None:
    found = note(no_findings(), finding, 3, 17, 0x4C100, 1, 2, 3, 4)
    (fault,) = as_faults(found)
    assert str(fault).startswith("tile 3, event 17, pc 0x4c100: ")
    assert "{" not in str(fault)


def test_numbers_are_told_where_they_belong() -> None:
    found = note(no_findings(), Finding.SILENT_BUS, 5, 10, UNKNOWN, 7, 10, 14)
    (fault,) = as_faults(found)
    assert isinstance(fault, faults.SilentBusFault)
    assert str(fault) == (
        "tile 5, event 10: SILENT: "
        "listens to tile 7, of which nothing is on the bus in slots 10 to 14"
    )


def test_what_is_not_known_is_not_told() -> None:
    (fault,) = as_faults(note(no_findings(), Finding.MUX_AT_START, 5, UNKNOWN, UNKNOWN, 3))
    assert (fault.event, fault.pc) == (None, None)


@pytest.mark.parametrize("event", [0, -1, -1000])
def test_events_before_the_first_are_known(event: int) -> None:
    (fault,) = as_faults(note(no_findings(), Finding.EARLY_SOURCE, 5, event, 0x4C100))
    assert fault.event == event


def test_there_is_room_for_many_in_their_order() -> None:
    found = no_findings()
    for number in range(1000):
        found = note(found, Finding.NO_STREAM, number, 1, 0x4C100)
    assert [fault.tile for fault in as_faults(found)] == list(range(1000))


def test_the_partners_instruction() -> None:
    (fault,) = as_faults(note(no_findings(), Finding.OVERLAP, 5, 1, 0x4C100 + OF_PARTNER))
    assert (fault.tile, fault.pc, fault.code_tile) == (5, 0x4C100, 7)
