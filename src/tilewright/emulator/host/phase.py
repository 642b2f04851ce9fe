"""A phase with the host: who may exchange packets, and what is still to come until it is over.

It lasts from one barrier of all tiles to the next. Owners of tiles have come to the first one as
masters, and name in one request each the tiles that exchange packets (`request-once`). The packets
of each of these are a stream, which its last read ends (`stream-end`).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.fabric.findings import UNKNOWN, Findings, no_findings, note
from tilewright.emulator.host.findings import Finding, raise_first
from tilewright.emulator.host.headers import PACKET
from tilewright.emulator.host.packets import Array, Sent
from tilewright.target.host_packets import REQUEST_BITS, owners, requested_tiles
from tilewright.target.topology import IntArray


@dataclass(frozen=True, slots=True)
class Ready:
    """Packets that can be carried, and the words that their writes have their places in."""

    packets: Array
    payloads: NDArray[np.uint32]


class HostPhase:
    """A phase of a chip of so many tiles, of which `masters` have come to the barrier as such."""

    def __init__(self, tiles: int, masters: Iterable[int]) -> None:
        self._owners = owners(np.arange(tiles))
        self._masters = frozenset(masters)
        self._requested: set[int] = set()
        self._is_covered = np.zeros(tiles, np.bool_)
        self._has_ended = np.zeros(tiles, np.bool_)
        self._last = np.full(tiles, UNKNOWN, np.int64)
        """The address of each tile's last header, `UNKNOWN` if it has sent none."""
        self._pending = np.zeros(0, PACKET)
        self._payloads = np.zeros(0, np.uint32)

    def take(self, sent: Sent) -> Ready:
        """Take account of what tiles have sent; packets wait until a request covers their tile
        (`late-request`).

        Raises `ExchangeFault` for requests that are not expected, and streams that have ended.
        """
        raise_first(self._take_streams(sent.packets, self._take_requests(sent.requests)))
        added = sent.packets.copy()
        added["place"] += np.where(added["is_read"], 0, len(self._payloads))
        payloads = np.concatenate([self._payloads, sent.payloads])
        packets = np.concatenate([self._pending, added])
        is_open = self._is_covered[packets["tile"]]
        self._pending = packets[~is_open]
        self._payloads = payloads if len(self._pending) else payloads[:0]
        return Ready(packets[is_open], payloads)

    def check_requests(self) -> None:
        """Raises `ExchangeFault` for packets that wait for a request in vain."""
        found = no_findings()
        _, firsts = np.unique(self._pending["tile"], return_index=True)
        for packet in self._pending[firsts]:
            tile = int(packet["tile"])
            owner = int(self._owners[tile])
            found = note(found, Finding.UNCOVERED, tile, packet["event"], packet["pc"], owner)
        raise_first(found)

    def check_end(self) -> None:
        """Raises `ExchangeFault` for what is missing when all have come to the next barrier."""
        self.check_requests()
        found = no_findings()
        for tile in sorted(self._masters - self._requested):
            found = note(found, Finding.NO_REQUEST, tile, UNKNOWN, UNKNOWN)
        has_sent = self._last != UNKNOWN
        for tile in np.flatnonzero(has_sent & ~self._has_ended).tolist():
            found = note(found, Finding.NO_END, tile, UNKNOWN, int(self._last[tile]))
        for tile in np.flatnonzero(self._is_covered & ~has_sent).tolist():
            owner = int(self._owners[tile])
            found = note(found, Finding.NO_STREAM, tile, UNKNOWN, UNKNOWN, owner)
        raise_first(found)

    def _take_requests(self, requests: Array) -> Findings:
        found = no_findings()
        for request in requests:
            tile, first, second = (int(request[name]) for name in ("tile", "first", "second"))
            event, pc = request["event"], request["pc"]
            owner = int(self._owners[tile])
            if tile != owner:
                found = note(found, Finding.NO_OWNER, tile, event, pc, owner)
            elif tile not in self._masters:
                found = note(found, Finding.NO_MASTER, tile, event, pc)
            elif tile in self._requested:
                found = note(found, Finding.SECOND_REQUEST, tile, event, pc)
            elif _is_wrong(first, second):
                found = note(found, Finding.REQUEST_BITS, tile, event, pc, first, second)
            else:
                self._requested.add(tile)
                self._cover(requested_tiles(tile, first, second))
        return found

    def _cover(self, tiles: IntArray) -> None:
        """A smaller chip than the whole ignores the tiles that it does not have."""
        self._is_covered[tiles[tiles < len(self._is_covered)]] = True

    def _take_streams(self, packets: Array, found: Findings) -> Findings:
        """Packets are in order of tiles and time."""
        tiles, ends = packets["tile"], packets["ends_stream"] != 0
        is_first = np.ones(len(packets), np.bool_)
        is_first[1:] = tiles[1:] != tiles[:-1]
        follows_end = np.zeros(len(packets), np.bool_)
        follows_end[1:] = ends[:-1]
        follows_end = np.where(is_first, self._has_ended[tiles], follows_end)
        for packet in packets[follows_end]:
            found = note(found, Finding.AFTER_END, packet["tile"], packet["event"], packet["pc"])
        self._has_ended[tiles] = ends  # that of each tile's last packet stays
        self._last[tiles] = packets["pc"]
        return found


def _is_wrong(first: int, second: int) -> bool:
    """Whether a request names no tile, or has bits that name none."""
    beyond = first >> REQUEST_BITS[0] | second >> REQUEST_BITS[1]
    return bool(beyond) or not first | second
