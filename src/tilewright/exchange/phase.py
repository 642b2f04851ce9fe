"""What a phase moves: words of source tiles to addresses on one or many receivers each.

A phase is a set of transfers without order. One that reads what another brings is a *relay*: it
waits for it. Tiles are given by physical ids; `target.topology.physical_tiles` makes them from
logical ones.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from tilewright.errors import TilewrightError
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END, TILES

WORD_SIZE = 4
"""Bytes; lengths and addresses are multiples of it."""

Ints: TypeAlias = npt.NDArray[np.int64]

_MOST_NAMED = 8
"""Faults of one kind that a message lists; it counts the others."""


class PhaseError(TilewrightError):
    """Transfers that no phase can carry out; the message names them."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """`words` words from `address` of tile `source`, to a tile and an address for each receiver."""

    source: int
    address: int
    words: int
    receivers: Sequence[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class ExchangePhase:
    """n transfers with r receivers in all, as arrays. Addresses are in bytes.

    `source_tile`, `source_address` and `words` have one entry per transfer. The receivers of
    transfer i are entries `receiver_start[i]` to `receiver_start[i + 1]` (exclusive) of
    `receiver_tile` and `receiver_address`. Arrays are converted to int64 and must not be changed.

    Raises `PhaseError` if a transfer is empty or lies outside memory, if a tile does not exist, or
    if destinations overlap. Cycles of relays are found when the phase is scheduled.
    """

    source_tile: Ints
    source_address: Ints
    words: Ints
    receiver_start: Ints
    receiver_tile: Ints
    receiver_address: Ints

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _integers(field.name, getattr(self, field.name)))
        self._check_lengths()
        self._check_values()
        self._check_loopbacks()
        self._check_destinations()

    @classmethod
    def of(cls, transfers: Iterable[Transfer]) -> "ExchangePhase":
        """The phase of transfers given one by one."""
        listed = list(transfers)
        receivers = [receiver for transfer in listed for receiver in transfer.receivers]
        counts = [len(transfer.receivers) for transfer in listed]
        return cls(
            source_tile=np.array([each.source for each in listed], dtype=np.int64),
            source_address=np.array([each.address for each in listed], dtype=np.int64),
            words=np.array([each.words for each in listed], dtype=np.int64),
            receiver_start=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]),
            receiver_tile=np.array([tile for tile, _ in receivers], dtype=np.int64),
            receiver_address=np.array([address for _, address in receivers], dtype=np.int64),
        )

    @property
    def transfers(self) -> int:
        """How many there are."""
        return len(self.words)

    @cached_property
    def receiver_transfer(self) -> Ints:
        """The transfer of each receiver."""
        return np.repeat(np.arange(self.transfers), np.diff(self.receiver_start))

    @property
    def receiver_words(self) -> Ints:
        """The words that each receiver gets."""
        return self.words[self.receiver_transfer]

    def transfer(self, number: int) -> Transfer:
        """One transfer as an object."""
        low, high = self.receiver_start[number : number + 2].tolist()
        tiles, addresses = self.receiver_tile[low:high], self.receiver_address[low:high]
        return Transfer(
            int(self.source_tile[number]),
            int(self.source_address[number]),
            int(self.words[number]),
            tuple(zip(tiles.tolist(), addresses.tolist(), strict=True)),
        )

    def describe(self, number: int) -> str:
        """One transfer in a line, for messages."""
        each = self.transfer(number)
        shown = ", ".join(f"{tile}:{address:#x}" for tile, address in each.receivers[:4])
        more = f" and {len(each.receivers) - 4} more" if len(each.receivers) > 4 else ""
        return (
            f"transfer {number} ({each.words} words {each.source}:{each.address:#x} "
            f"-> {shown or 'nothing'}{more})"
        )

    def refuse(self, reason: str, transfers: Ints) -> None:
        """Raise `PhaseError` that names the transfers, if there are any."""
        if not len(transfers):
            return
        named = np.unique(transfers)
        lines = [f"  {self.describe(int(number))}" for number in named[:_MOST_NAMED]]
        if len(named) > _MOST_NAMED:
            lines.append(f"  and {len(named) - _MOST_NAMED} more")
        raise PhaseError("\n".join([f"{reason}:", *lines]))

    def _check_lengths(self) -> None:
        per_transfer = {"source_tile": self.source_tile, "source_address": self.source_address}
        for name, values in per_transfer.items():
            if len(values) != len(self.words):
                raise PhaseError(f"{name} has {len(values)} entries, words has {len(self.words)}")
        starts = self.receiver_start
        if len(starts) != len(self.words) + 1 or starts[0] != 0 or np.any(np.diff(starts) < 0):
            raise PhaseError(
                "receiver_start must hold one more entry than there are transfers, "
                "begin with 0 and never fall"
            )
        for name, values in (
            ("receiver_tile", self.receiver_tile),
            ("receiver_address", self.receiver_address),
        ):
            if len(values) != starts[-1]:
                raise PhaseError(
                    f"{name} has {len(values)} entries; receiver_start says {starts[-1]}"
                )

    def _check_values(self) -> None:
        owner = self.receiver_transfer
        self.refuse("no words to move", np.flatnonzero(self.words < 1))
        self.refuse("no receiver", np.flatnonzero(np.diff(self.receiver_start) == 0))
        for tiles, transfers in (
            (self.source_tile, np.arange(self.transfers)),
            (self.receiver_tile, owner),
        ):
            wrong = (tiles < 0) | (tiles >= TILES)
            self.refuse(f"a tile that does not exist (0 to {TILES - 1})", transfers[wrong])
        for addresses, transfers, words in (
            (self.source_address, np.arange(self.transfers), self.words),
            (self.receiver_address, owner, self.receiver_words),
        ):
            self.refuse(
                f"an address that is not a multiple of {WORD_SIZE}",
                transfers[addresses % WORD_SIZE != 0],
            )
            outside = (addresses < MEMORY_BASE) | (addresses + WORD_SIZE * words > MEMORY_END)
            self.refuse(
                f"words outside tile memory ({MEMORY_BASE:#x} to {MEMORY_END:#x})",
                transfers[outside],
            )

    def _check_loopbacks(self) -> None:
        """That a tile hears itself is only known if another tile listens too (`own-route`)."""
        is_own = self.receiver_tile == self.source_tile[self.receiver_transfer]
        own = np.bincount(self.receiver_transfer[is_own], minlength=self.transfers)
        others = np.bincount(self.receiver_transfer[~is_own], minlength=self.transfers)
        advice = "copy inside the tile instead"
        self.refuse(f"the source is the only receiver; {advice}", np.flatnonzero(others == 0))
        self.refuse(f"the source receives its own words twice; {advice}", np.flatnonzero(own > 1))

    def _check_destinations(self) -> None:
        tiles, addresses = self.receiver_tile, self.receiver_address
        order = np.lexsort((addresses, tiles))
        tile, start = tiles[order], addresses[order]
        end = start + WORD_SIZE * self.receiver_words[order]
        # Inside a tile each destination must end before the next one starts.
        overlaps = np.flatnonzero((tile[1:] == tile[:-1]) & (start[1:] < end[:-1]))
        both = self.receiver_transfer[order[np.concatenate([overlaps, overlaps + 1])]]
        self.refuse("destinations that overlap", both)


def _integers(name: str, values: npt.ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1:
        raise PhaseError(f"{name} must have one axis, not {array.ndim}")
    if array.size and array.dtype.kind not in "iu":
        raise PhaseError(f"{name} must hold integers, not {array.dtype}")
    return array.astype(np.int64)
