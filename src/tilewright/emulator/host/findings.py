"""What is wrong with packets: noted as numbers by compiled code, told as faults afterwards."""

from enum import IntEnum
from typing import NamedTuple

from tilewright.emulator import faults
from tilewright.emulator.fabric.findings import UNKNOWN, Findings
from tilewright.emulator.faults import ExchangeFault
from tilewright.target.geometry import MEMORY_BASE
from tilewright.target.host import HOST_PAGE, HOST_SPACE, PACKET_WINDOW
from tilewright.target.host_packets import PAYLOAD_INTERVAL, REQUEST_BITS


class Finding(IntEnum):
    """What can be wrong; `_TOLD` says which fault it is, and how the numbers are told."""

    DIRECTION = 0
    WRONG_MUX = 1
    CHANGED_MUX = 2
    CONTROL = 3
    SEND_OUTSIDE = 4
    SEND_FROM_CODE = 5
    WORDS_FOR_CODE = 6
    FORMAT = 7
    SPARE_BITS = 8
    OTHER_TILE = 9
    STREAM_BITS = 10
    EMPTY_WRITE = 11
    TRUNCATED = 12
    BEYOND_SPACE = 13
    CROSSING = 14
    OUTSIDE_WINDOW = 15
    INTERVAL = 16
    AFTER_END = 17
    NOT_ATTACHED = 18
    RACE = 19
    NO_OWNER = 20
    NO_MASTER = 21
    SECOND_REQUEST = 22
    REQUEST_BITS = 23
    UNCOVERED = 24
    NO_REQUEST = 25
    NO_END = 26
    NO_STREAM = 27


class _Told(NamedTuple):
    fault: type[ExchangeFault]
    text: str


_LOW, _HIGH = PACKET_WINDOW
_TOLD = {
    Finding.DIRECTION: _Told(
        faults.PacketDirectionFault, "sends with control {0} in a phase with the host; it takes 3"
    ),
    Finding.WRONG_MUX: _Told(
        faults.HostMuxFault,
        "sends to the host while INCOMING_MUX is {0:#x}; set it to {1:#x} before the barrier",
    ),
    Finding.CHANGED_MUX: _Told(
        faults.HostMuxFault,
        "INCOMING_MUX becomes {0:#x} before all words of the host have arrived; wait for them with "
        "sync 0",
    ),
    Finding.CONTROL: _Told(
        faults.HostControlFault,
        "sets a source, a pointer or a format in a phase with the host, where headers of packets "
        "say where words go",
    ),
    Finding.SEND_OUTSIDE: _Told(
        faults.SendAddressFault,
        "sends {0} words from {1:#x}, which is misaligned or not all in tile memory",
    ),
    Finding.SEND_FROM_CODE: _Told(
        faults.SendConflictFault, "sends from {0:#x}, in a memory element that holds the row"
    ),
    Finding.WORDS_FOR_CODE: _Told(
        faults.ReceiveFetchClashFault,
        "{0} bytes of the host for {1:#x}, in a memory element that holds the row",
    ),
    Finding.FORMAT: _Told(
        faults.PacketFault, "{0:#010x} has format {1}, of which tiles send no packets"
    ),
    Finding.SPARE_BITS: _Told(
        faults.PacketFault, "the header {0:#010x} {1:#010x} has bits set that are always 0"
    ),
    Finding.OTHER_TILE: _Told(
        faults.PacketFault, "the header {0:#010x} {1:#010x} names another tile than the sender"
    ),
    Finding.STREAM_BITS: _Told(
        faults.PacketFault,
        "the header {0:#010x} {1:#010x} has one of the two bits that end a stream",
    ),
    Finding.EMPTY_WRITE: _Told(faults.PacketFault, "the header {0:#010x} {1:#010x} writes nothing"),
    Finding.TRUNCATED: _Told(
        faults.PacketFault, "the row ends within a packet, of which {0} words are missing"
    ),
    Finding.BEYOND_SPACE: _Told(
        faults.PageFault, f"{{0}} bytes at {{1:#x}}: the host is reached below {HOST_SPACE:#x}"
    ),
    Finding.CROSSING: _Told(
        faults.PageCrossingFault,
        f"{{0}} bytes at {{1:#x}} cross the end of a page; split them at multiples of {HOST_PAGE}",
    ),
    Finding.OUTSIDE_WINDOW: _Told(
        faults.PacketWindowFault,
        f"{{0}} bytes of the host for {{1:#x}}; they can go to {_LOW:#x} to {_HIGH:#x}",
    ),
    Finding.INTERVAL: _Told(
        faults.PayloadIntervalFault,
        f"the next packet starts {{0}} events after the payload at pc {{1:#x}}; {PAYLOAD_INTERVAL} "
        "are needed, a delay can fill them",
    ),
    Finding.AFTER_END: _Told(
        faults.StreamEndFault, "a packet after the one that has ended the stream"
    ),
    Finding.NOT_ATTACHED: _Told(
        faults.PageFault, "{0} bytes at {1:#x} of the host, where no memory is attached"
    ),
    Finding.RACE: _Told(
        faults.HostRaceFault,
        "{0} bytes at {1:#x} of the host are those of another packet, too, and one of them writes",
    ),
    Finding.NO_OWNER: _Told(
        faults.UnexpectedRequestFault, "a request of a tile that owns none; those of tile {0} do"
    ),
    Finding.NO_MASTER: _Told(
        faults.UnexpectedRequestFault,
        "a request of a tile that came to the barrier as a follower; use sync 15 (or 13)",
    ),
    Finding.SECOND_REQUEST: _Told(
        faults.UnexpectedRequestFault, "a second request in one phase; one names all tiles"
    ),
    Finding.REQUEST_BITS: _Told(
        faults.PacketFault,
        "the request {0:#010x} {1:#010x} names no tile, or has bits beyond the "
        f"{REQUEST_BITS[0]} and {REQUEST_BITS[1]} that do",
    ),
    Finding.UNCOVERED: _Told(
        faults.MissingRequestFault,
        "packets of a tile for which no request was sent; tile {0} must name it",
    ),
    Finding.NO_REQUEST: _Told(
        faults.MissingRequestFault,
        "has come to the barrier as an owner, but has sent no request since",
    ),
    Finding.NO_END: _Told(
        faults.StreamEndFault,
        "the phase is over, but the last packet was no read with the bits that end a stream",
    ),
    Finding.NO_STREAM: _Told(
        faults.StreamEndFault,
        "the phase is over, but it has sent no packets, though the request of tile {0} names it",
    ),
}

assert _TOLD.keys() == set(Finding)
assert MEMORY_BASE <= _LOW


def raise_first(found: Findings) -> None:
    """Raise the first finding as an `ExchangeFault` with the others, if there is any."""
    faults = [_fault(row) for row in found[1 : 1 + int(found[0, 0])].tolist()]
    if faults:
        faults[0].others = tuple(faults[1:])
        raise faults[0]


def _fault(row: list[int]) -> ExchangeFault:
    finding, tile, event, pc, *numbers = row
    told = _TOLD[Finding(finding)]
    return told.fault(
        told.text.format(*numbers),
        tile=tile,
        event=None if event == UNKNOWN else event,
        pc=None if pc == UNKNOWN else pc,
    )
