"""Rows: a schedule as instruction words for each tile.

A row is written event by event. Whatever controls fall into a send are part of the instructions
that go on with it; others are part of delays. A mux and a pointer set in one event take `sendpicp`,
whose two words must start at an even place of the row: if they would not, the instruction before is
split in two; and if that lasts one event only, it becomes a `sendpicp` itself, which also sets
again what is set already.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tilewright.exchange.controls import (
    POINTER,
    TileControls,
    TileReceives,
    TileSends,
    tile_controls,
    tile_receives,
    tile_sends,
)
from tilewright.exchange.instructions import (
    LAST_POINTER,
    LAST_SEND_PLACE,
    SEND_BOTH,
    Words,
    instruction_words,
)
from tilewright.exchange.phase import WORD_SIZE, ExchangePhase, Ints
from tilewright.exchange.schedule import Schedule
from tilewright.exchange.timeline import NOTHING
from tilewright.exchange.writer import Controlling, Draft, Receiving, Sending, write_rows
from tilewright.target.geometry import TILES


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a phase: that of physical tile t is `words[start[t]:start[t + 1]]`.

    A row without words belongs to a tile that takes no part. Words hold addresses relative to the
    bases with which they were made. `events` is the last event of each row. Of each word, `reads`
    is the transfer whose source address it holds, and `writes` the receiver of the phase whose
    destination it holds, `NOTHING` if neither.
    """

    phase: ExchangePhase
    start: Ints
    words: Words
    events: Ints
    reads: Ints
    writes: Ints

    def row(self, tile: int) -> Words:
        """The words of one tile."""
        return self.words[self.start[tile] : self.start[tile + 1]]

    @cached_property
    def is_active(self) -> npt.NDArray[np.bool_]:
        """Per tile: whether it has a row."""
        active: npt.NDArray[np.bool_] = np.diff(self.start) > 0
        return active


def encode(
    schedule: Schedule,
    incoming_base: npt.ArrayLike = 0,
    outgoing_base: npt.ArrayLike = 0,
    *,
    receiver_steps: npt.ArrayLike = 0,
) -> Rows:
    """The rows of a schedule.

    Bases are in bytes, for all tiles or for each: what INCOMING_BASE and OUTGOING_BASE will hold
    (0: rows with absolute addresses). Steps are the bytes by which the destination of each receiver
    of the phase moves from one repeat to the next (see `patches`).

    Raises `PhaseError` for an address below its base or out of the reach of an instruction.
    """
    steps = np.broadcast_to(receiver_steps, schedule.phase.receiver_tile.shape)
    receives = tile_receives(schedule)
    controls = tile_controls(schedule, receives, steps[schedule.messages.receiver])
    return write(schedule, tile_sends(schedule), receives, controls, incoming_base, outgoing_base)


def write(
    schedule: Schedule,
    sends: TileSends,
    receives: TileReceives,
    controls: TileControls,
    incoming_base: npt.ArrayLike = 0,
    outgoing_base: npt.ArrayLike = 0,
) -> Rows:
    """The rows that do what is given, whether or not it is what the schedule says."""
    phase, messages = schedule.phase, schedule.messages
    bases = _Bases(phase, _per_tile(incoming_base), _per_tile(outgoing_base))
    draft, start = write_rows(
        schedule.row_ends,
        bases.sending(sends, messages.transfer),
        bases.controlling(controls, messages.transfer[messages.message]),
        bases.receiving(receives),
    )
    count = int(draft.used[0])
    draft = Draft(*(column[:count] for column in draft))
    words, first = instruction_words(*draft[:8])
    reads, writes = np.full(len(words), NOTHING), np.full(len(words), NOTHING)
    sent, received = draft.message != NOTHING, draft.receiver != NOTHING
    reads[first[sent]] = messages.transfer[draft.message[sent]]
    holder = first + (draft.operation == SEND_BOTH)
    writes[holder[received]] = messages.receiver[draft.receiver[received]]
    ends = np.append(first, len(words))
    return Rows(phase, ends[start], words, schedule.row_ends, reads, writes)


def _per_tile(base: npt.ArrayLike) -> Ints:
    return np.broadcast_to(np.asarray(base, dtype=np.int64), (TILES,))


@dataclass(frozen=True)
class _Bases:
    """Turns addresses into what instructions hold. Bases are per tile, in bytes."""

    phase: ExchangePhase
    incoming: Ints
    outgoing: Ints

    def sending(self, sends: TileSends, transfer: Ints) -> Sending:
        place = self._held(sends.address, self.outgoing[sends.tile], sends.size)
        last = place + sends.items - 1
        self._check(place, last, LAST_SEND_PLACE, transfer[sends.message], "source")
        return Sending(
            _starts(sends.tile), sends.event, sends.items, place, sends.control, sends.message
        )

    def controlling(self, controls: TileControls, transfer: Ints) -> Controlling:
        is_pointer = controls.kind == POINTER
        size = np.full_like(controls.value, WORD_SIZE)
        place = self._held(controls.value, self.incoming[controls.tile], size)
        owner = transfer[controls.receiver[is_pointer]]
        self._check(place[is_pointer], place[is_pointer], LAST_POINTER, owner, "destination")
        value = np.where(is_pointer, place, controls.value)
        return Controlling(
            _starts(controls.tile), controls.event, controls.kind, value, controls.receiver
        )

    def receiving(self, receives: TileReceives) -> Receiving:
        size = np.full_like(receives.size, WORD_SIZE)
        place = self._held(receives.address, self.incoming[receives.tile], size)
        return Receiving(
            _starts(receives.tile),
            receives.point,
            receives.items,
            place,
            receives.size // WORD_SIZE,
            receives.receiver,
        )

    @staticmethod
    def _held(address: Ints, base: Ints, size: Ints) -> Ints:
        """In units of `size`; below 0 if it cannot be held."""
        place, rest = np.divmod(address - base, size)
        return np.where(rest == 0, place, -1)

    def _check(self, first: Ints, last: Ints, most: int, owner: Ints, what: str) -> None:
        wrong = (first < 0) | (last > most)
        reason = (
            f"a {what} below the base of its tile, not whole items above it, or out of the reach "
            "of an instruction"
        )
        self.phase.refuse(reason, owner[wrong])


def _starts(tile: Ints) -> Ints:
    """Where each tile's entries start among those that are sorted by tile."""
    return np.searchsorted(tile, np.arange(TILES + 1))
