"""Packets on their way: when each is served, and the words that move.

All packets follow each other over one link, in order of the cycles in which they have left their
tiles, at `HOST_BANDWIDTH`; each is served no earlier than `HOST_LATENCY` after it has left
(`host-time`). What a packet reads or writes is what memory holds when its turn comes.
"""

from math import gcd

import numpy as np
from numpy.typing import NDArray

from tilewright.compiled import compiled
from tilewright.emulator.fabric.findings import no_findings, note
from tilewright.emulator.host.findings import Finding, raise_first
from tilewright.emulator.host.packets import Array
from tilewright.emulator.host.phase import Ready
from tilewright.emulator.host.space import NO_BUFFER, DeviceSpace
from tilewright.emulator.memory import UNWRITTEN_WORD, TileMemory
from tilewright.target.geometry import MEMORY_BASE
from tilewright.target.host import HOST_WORD
from tilewright.target.host_packets import ZERO_READ_WORDS
from tilewright.target.timing import CLOCK, HOST_BANDWIDTH, HOST_LATENCY

_COMMON = gcd(CLOCK.value, HOST_BANDWIDTH.value)
_PER_BYTE, _PER_CYCLE = CLOCK.value // _COMMON, HOST_BANDWIDTH.value // _COMMON
"""The link's unit of time is such that a byte and a cycle take whole numbers of them."""


class Link:
    """What the packets of one phase go over; `busy_until` says until which cycle words are on their
    way to each tile."""

    def __init__(self, tiles: int) -> None:
        self.busy_until = np.zeros(tiles, np.int64)
        self._is_free = 0

    def carry(self, ready: Ready, space: DeviceSpace, memory: TileMemory) -> NDArray[np.int64]:
        """Serve packets in the order in which they have left, those of one cycle by tile; returns
        how many words that count have gone to each tile.

        Raises `ExchangeFault` for packets to host memory that is not attached, or that others
        concern.
        """
        words = np.zeros_like(self.busy_until)
        if not len(ready.packets):
            return words
        packets = ready.packets[np.argsort(ready.packets["cycle"], kind="stable")]
        buffers = _buffers_of(packets, space)
        _check_races(packets[packets["size"] != 0])
        arrived = self._serve(packets)
        is_read = packets["is_read"] != 0
        read = packets[is_read]
        np.add.at(words, read["tile"], np.maximum(read["size"] // HOST_WORD, ZERO_READ_WORDS))
        np.maximum.at(self.busy_until, read["tile"], arrived[is_read])
        _move_all(packets, buffers, ready.payloads, space, memory)
        return words

    def _serve(self, packets: Array) -> NDArray[np.int64]:
        """The cycles in which packets have arrived that leave in this order."""
        earliest = (packets["cycle"] + HOST_LATENCY.value) * _PER_CYCLE
        earliest[0] = max(int(earliest[0]), self._is_free)
        ends = np.cumsum(packets["size"] * _PER_BYTE)
        starts = ends - packets["size"] * _PER_BYTE
        # Each starts as soon as it may and the one before has ended.
        ends += np.maximum.accumulate(earliest - starts)
        self._is_free = int(ends[-1])
        return -(-ends // _PER_CYCLE)


def _check_races(packets: Array) -> None:
    """No two packets concern the same host memory, unless both read it."""
    packets = packets[np.argsort(packets["offset"], kind="stable")]
    is_write, ends = packets["is_read"] == 0, packets["offset"] + packets["size"]
    meets_write = _last_end_before(np.where(is_write, ends, 0)) > packets["offset"]
    write_meets = is_write & (_last_end_before(ends) > packets["offset"])
    _raise_for(packets[meets_write | write_meets], Finding.RACE)


def _last_end_before(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The greatest of all that precede each."""
    return np.concatenate([[0], np.maximum.accumulate(ends)])[:-1]


def _buffers_of(packets: Array, space: DeviceSpace) -> NDArray[np.int64]:
    """Which of the space's buffers each packet concerns; reads of no bytes concern none."""
    buffers = space.find(packets["offset"], packets["size"])
    buffers[packets["size"] == 0] = NO_BUFFER
    _raise_for(packets[(buffers == NO_BUFFER) & (packets["size"] != 0)], Finding.NOT_ATTACHED)
    return buffers


def _raise_for(packets: Array, finding: Finding) -> None:
    found = no_findings()
    for packet in packets:
        tile, event, pc, size, offset = (
            int(packet[name]) for name in ("tile", "event", "pc", "size", "offset")
        )
        found = note(found, finding, tile, event, pc, size, offset)
    raise_first(found)


def _move_all(
    packets: Array,
    buffers: NDArray[np.int64],
    payloads: NDArray[np.uint32],
    space: DeviceSpace,
    memory: TileMemory,
) -> None:
    """Move the words of packets in order; those of different buffers do not concern each other."""
    tiles = memory.bytes.view(np.uint32)
    by_buffer = np.argsort(buffers, kind="stable")
    numbers, firsts = np.unique(buffers[by_buffer], return_index=True)
    for number, chosen in zip(numbers.tolist(), np.split(by_buffer, firsts[1:]), strict=True):
        if number != NO_BUFFER:
            buffer = space.buffers[number]
            move_words(packets[chosen], buffer.offset, buffer.words, payloads, tiles)
    _answer_nothing(packets[packets["size"] == 0], tiles)


@compiled
def move_words(
    packets: Array,
    offset: int,
    buffer: NDArray[np.uint32],
    payloads: NDArray[np.uint32],
    tiles: NDArray[np.uint32],
) -> None:
    """Move those of packets from or to a buffer of the host, which lies from `offset` on."""
    for number in range(len(packets)):
        packet = packets[number]
        start = (packet.offset - offset) // HOST_WORD
        if packet.is_read:
            place = (packet.place - MEMORY_BASE) // HOST_WORD
            for word in range(packet.size // HOST_WORD):
                tiles[packet.tile, place + word] = buffer[start + word]
        else:
            for word in range(packet.size // HOST_WORD):
                buffer[start + word] = payloads[packet.place + word]


def _answer_nothing(packets: Array, tiles: NDArray[np.uint32]) -> None:
    """The answer to a read of no bytes is a word of which nothing is known (`zero-read`)."""
    words = (packets["place"] - MEMORY_BASE) // HOST_WORD
    tiles[packets["tile"], words] = UNWRITTEN_WORD
