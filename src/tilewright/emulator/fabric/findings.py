"""What is wrong in a phase: noted as numbers by compiled code, told as faults afterwards."""

from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.compiled import compiled_part
from tilewright.emulator import faults
from tilewright.emulator.faults import ExchangeFault
from tilewright.target.topology import NEUTRAL_MUX, PARTNER_BIT

Number: TypeAlias = "int | np.integer[Any]"

UNKNOWN = -(1 << 62)
"""Stands for no event, or no address of an instruction. Events before event 1 are negative."""

OF_PARTNER = 1 << 32
"""Added to the address of an instruction that the tile's partner has executed."""

Findings: TypeAlias = NDArray[np.int64]
"""Row 0 holds the count. Each further row is a finding: `Finding`, tile, event, pc, four numbers;
rows beyond the count are room for more."""

_COLUMNS, _FIRST_ROOM = 8, 16


class Finding(IntEnum):
    """What can be wrong; `_TOLD` says which fault it is, and how the numbers are told."""

    SHARED_CONTROL = 0
    FORMAT_VALUE = 1
    NO_STREAM = 2
    MUX_AT_START = 3
    FORMAT_AT_START = 4
    ROW_ORIGIN = 5
    SHORT_SENDER = 6
    SHORT_LENDER = 7
    SENDING_LENDER = 8
    EXTERNAL_SOURCE = 9
    NO_SOURCE = 10
    EARLY_SOURCE = 11
    PAIRED_CLASH = 12
    STILL_LISTENING = 13
    WRONG_LANE = 14
    NOT_PAIRED = 15
    SILENT_BUS = 16
    NOT_BOTH = 17
    FORMAT_AT_END = 18
    SHORT_RECEIVER = 19
    OVERLAP = 20
    WRONG_FORMAT = 21
    CHANGED_FORMAT = 22
    MISALIGNED_ITEMS = 23
    ITEMS_OUTSIDE = 24
    SEND_FROM_CODE = 25
    WORDS_FOR_CODE = 26
    ELEMENT_CLASH = 27
    MISALIGNED_SEND = 28
    SEND_OUTSIDE = 29
    UNSETTLED = 30


class _Told(NamedTuple):
    fault: type[ExchangeFault]
    text: str


_FORMAT_MET = "items of {0} bits meet the incoming format {1} instead of {2}"
_TOLD = {
    Finding.SHARED_CONTROL: _Told(
        faults.SharedControlFault,
        "a paired source or a format shares its event with another control; "
        "give each an event of its own",
    ),
    Finding.FORMAT_VALUE: _Told(
        faults.FormatValueFault, "incoming format {0}; there are 0, 1 and 2"
    ),
    Finding.NO_STREAM: _Told(
        faults.NoStreamFault, "goes on with a stream that no send has started"
    ),
    Finding.MUX_AT_START: _Told(
        faults.ConnectedAtStartFault,
        f"INCOMING_MUX is {{0:#x}} at the barrier; set it to {NEUTRAL_MUX:#x} before",
    ),
    Finding.FORMAT_AT_START: _Told(
        faults.ConnectedAtStartFault, "INCOMING_FORMAT is {0} at the barrier; set it to 0 before"
    ),
    Finding.ROW_ORIGIN: _Told(
        faults.RowOriginFault,
        "the row starts {0} cycles after the barrier, that of tile {1} {2}; "
        "call all rows, or none, in the same way",
    ),
    Finding.SHORT_SENDER: _Told(
        faults.ShortRowFault, "a row that sends lasts {0} events, but needs {1}"
    ),
    Finding.SHORT_LENDER: _Told(
        faults.LentLaneFault,
        "lends its lane to tile {0}, but its row lasts {1} events instead of {2}",
    ),
    Finding.SENDING_LENDER: _Told(
        faults.LentLaneFault, "sends while it lends its lane to 64-bit items of tile {0}"
    ),
    Finding.EXTERNAL_SOURCE: _Told(
        faults.ExternalMuxFault, "selects {0:#x}, the host, in a phase between tiles"
    ),
    Finding.NO_SOURCE: _Told(faults.MuxRangeFault, "selects {0:#x}, which is no source"),
    Finding.EARLY_SOURCE: _Told(
        faults.ConnectedAtStartFault, "selects a source before the first event (`first-event`)"
    ),
    Finding.PAIRED_CLASH: _Told(
        faults.PairedMuxClashFault, "sets its source while its partner, tile {0}, sets both"
    ),
    Finding.STILL_LISTENING: _Told(
        faults.ConnectedAtEndFault,
        "still listens to tile {0} when its row ends; set neutral before",
    ),
    Finding.WRONG_LANE: _Told(
        faults.ReceiveConfigurationFault,
        "takes 64-bit items of tile {0} from the wrong lane, that of tile {1}",
    ),
    Finding.NOT_PAIRED: _Told(
        faults.ReceiveConfigurationFault,
        "hears 64-bit items of tile {0}, but its pair was not set together",
    ),
    Finding.SILENT_BUS: _Told(
        faults.SilentBusFault,
        "listens to tile {0}, of which nothing is on the bus in slots {1} to {2}",
    ),
    Finding.NOT_BOTH: _Told(
        faults.PairingFault,
        "samples items {0} to {1} of a 64-bit send of tile {2}, "
        "but its partner, tile {3}, does not",
    ),
    Finding.FORMAT_AT_END: _Told(
        faults.ConnectedAtEndFault, "the row ends with the incoming format {0}; set 0 before"
    ),
    Finding.SHORT_RECEIVER: _Told(
        faults.ShortRowFault,
        "the row ends after {0} events, but its last word is in memory only after {1}; "
        "lengthen its last delay",
    ),
    Finding.OVERLAP: _Told(faults.ReceiveOverlapFault, "two items would be written in one event"),
    Finding.WRONG_FORMAT: _Told(faults.ReceiveConfigurationFault, _FORMAT_MET),
    Finding.CHANGED_FORMAT: _Told(faults.ReceiveModeFault, _FORMAT_MET),
    Finding.MISALIGNED_ITEMS: _Told(
        faults.ReceiveAddressFault, "{0:#x} is not aligned to {1} bytes"
    ),
    Finding.ITEMS_OUTSIDE: _Told(
        faults.ReceiveAddressFault, "{0} items for {1:#x} do not lie in tile memory"
    ),
    Finding.SEND_FROM_CODE: _Told(
        faults.SendConflictFault, "reads the memory element at {0:#x}, which holds the row"
    ),
    Finding.WORDS_FOR_CODE: _Told(
        faults.ReceiveFetchClashFault, "writes the memory element at {0:#x}, which holds the row"
    ),
    Finding.ELEMENT_CLASH: _Told(
        faults.ReceiveClashFault,
        "a word arrives in the memory element at {0:#x} while a send at pc {1:#x} reads it",
    ),
    Finding.MISALIGNED_SEND: _Told(
        faults.SendAddressFault, "sends from {0:#x}, which is not aligned to {1} bytes"
    ),
    Finding.SEND_OUTSIDE: _Told(
        faults.SendAddressFault, "sends {0} items from {1:#x}, not all in tile memory"
    ),
    Finding.UNSETTLED: _Told(
        faults.UnsettledReadFault,
        "sends the word at {0:#x} while it arrives; it can be read from event {1} on",
    ),
}

assert _TOLD.keys() == set(Finding)


def no_findings() -> Findings:
    """Nothing is wrong yet."""
    return np.zeros((_FIRST_ROOM, _COLUMNS), np.int64)


@compiled_part
def note(
    found: Findings,
    finding: int,
    tile: Number,
    event: Number,
    pc: Number,
    n0: Number = 0,
    n1: Number = 0,
    n2: Number = 0,
    n3: Number = 0,
) -> Findings:
    """Add a finding; returns the findings, which may have moved."""
    found = _with_one_more(found)
    row = found[found[0, 0]]
    row[0], row[1], row[2], row[3] = finding, tile, event, pc
    row[4], row[5], row[6], row[7] = n0, n1, n2, n3
    return found


@compiled_part
def _with_one_more(found: Findings) -> Findings:
    found[0, 0] += 1
    count = found[0, 0]
    if count < len(found):
        return found
    larger = np.empty((2 * count, _COLUMNS), np.int64)
    for place in range(count):
        for column in range(_COLUMNS):
            larger[place, column] = found[place, column]
    return larger


def as_faults(found: Findings) -> tuple[ExchangeFault, ...]:
    """The findings as faults, in the same order."""
    return tuple(_fault(row) for row in found[1 : 1 + int(found[0, 0])].tolist())


def _fault(row: list[int]) -> ExchangeFault:
    finding, tile, event, pc, *numbers = row
    told = _TOLD[Finding(finding)]
    fault = told.fault(
        told.text.format(*numbers),
        tile=tile,
        event=None if event == UNKNOWN else event,
        pc=None if pc == UNKNOWN else pc & ~OF_PARTNER,
    )
    if pc != UNKNOWN and pc & OF_PARTNER:
        fault.code_tile = tile ^ PARTNER_BIT
    return fault
