"""What each tile does in a phase, by event: its sends, and the controls of what it receives."""

from dataclasses import dataclass, fields

import numpy as np

from tilewright.exchange.messages import EARLY, LATE, NARROW, WIDE_SIZE, Flags
from tilewright.exchange.phase import WORD_SIZE, Ints
from tilewright.exchange.schedule import Schedule
from tilewright.exchange.timeline import NOTHING
from tilewright.target.routes import Direction
from tilewright.target.row_events import FORMAT_BEFORE_POINTER
from tilewright.target.topology import NEUTRAL_MUX, paired_muxes

SOURCE, PAIRED_SOURCE, POINTER, FORMAT = 0, 1, 2, 3
"""Kinds of controls, as `sendpic` selects them."""

NARROW_FORMAT = 0
_BOTH_DIRECTIONS = Direction.EAST | Direction.WEST
_WIDE_CONTROL = 0b100


@dataclass(frozen=True, eq=False)
class TileSends:
    """Sends sorted by tile and event: `control` as the instruction has it, `address` in bytes."""

    tile: Ints
    event: Ints
    items: Ints
    address: Ints
    size: Ints
    control: Ints
    message: Ints


@dataclass(frozen=True, eq=False)
class TileControls:
    """Controls sorted by tile and event: a mux number, an address in bytes, or a format.

    `receiver` is the receiver that the control is for, `NOTHING` for a neutral mux or format.
    """

    tile: Ints
    event: Ints
    kind: Ints
    value: Ints
    receiver: Ints


@dataclass(frozen=True, eq=False)
class TileReceives:
    """Receives sorted by tile and slot, with where and when their items take addresses."""

    tile: Ints
    point: Ints
    items: Ints
    address: Ints
    size: Ints
    receiver: Ints

    @property
    def end(self) -> Ints:
        """The address after the last item."""
        return self.address + self.items * self.size


def tile_sends(schedule: Schedule) -> TileSends:
    """One send for each message."""
    messages = schedule.messages
    order = np.lexsort((schedule.first, messages.source))
    return TileSends(
        tile=messages.source[order],
        event=schedule.first[order],
        items=messages.items[order],
        address=messages.address[order],
        size=messages.item_size[order],
        control=_send_controls(schedule)[order],
        message=order,
    )


def _send_controls(schedule: Schedule) -> Ints:
    """Directions and width. One receiver, or pair, is sent to in its own direction; more in both.

    Evidence: rows of the vendor's compiler and of a third party drive both, even if all receivers
    lie in one direction.
    """
    messages = schedule.messages
    start = messages.receiver_start[:-1]
    receivers = np.diff(messages.receiver_start)
    is_single = receivers == np.where(messages.wide, 2, 1)
    directions: Ints = np.where(is_single, messages.direction[start], _BOTH_DIRECTIONS)
    width: Ints = np.where(messages.wide, _WIDE_CONTROL, 0)
    return directions | width


def tile_receives(schedule: Schedule) -> TileReceives:
    """One receive for each receiver of a message."""
    messages = schedule.messages
    order = np.lexsort((schedule.slot, messages.tile))
    return TileReceives(
        tile=messages.tile[order],
        point=schedule.point[order],
        items=messages.items[messages.message][order],
        address=messages.destination[order],
        size=np.where(messages.kind == NARROW, WORD_SIZE, WIDE_SIZE)[order],
        receiver=order,
    )


def tile_controls(schedule: Schedule, receives: TileReceives, steps: Ints) -> TileControls:
    """The controls that the receives need, none of them twice.

    A pointer is left out if the cursor is there already, and will be in every repeat: `steps` are
    bytes by which each receiver's destination moves from one repeat to the next.
    """
    messages, order = schedule.messages, receives.receiver
    kind, source = messages.kind[order], messages.source[messages.message][order]
    direction, slot = messages.direction[order], schedule.slot[order]
    tile, point, end = receives.tile, receives.point, slot + receives.items
    is_next = np.concatenate([[False], tile[1:] == tile[:-1]])
    follows = is_next & (slot == np.roll(end, 1))
    keeps_format = follows & (kind == np.roll(kind, 1)) & (direction == np.roll(direction, 1))
    goes_on = is_next & (receives.address == np.roll(receives.end, 1))
    goes_on &= steps[order] == np.roll(steps[order], 1)
    sets_pair = kind == EARLY
    mux_kind = np.where(sets_pair, PAIRED_SOURCE, SOURCE)
    mux = np.where(sets_pair, paired_muxes(source, tile), source)
    listens, is_wide = kind != LATE, kind != NARROW
    formats = point - FORMAT_BEFORE_POINTER
    parts = [
        _part(listens, tile, slot, mux_kind, mux, order),
        _part(listens & ~_after(follows), tile, end, mux_kind, NEUTRAL_MUX, NOTHING),
        _part(~goes_on, tile, point, POINTER, receives.address, order),
        _part(is_wide & ~keeps_format, tile, formats, FORMAT, direction, order),
        _part(
            is_wide & ~_after(keeps_format),
            tile,
            formats + receives.items,
            FORMAT,
            NARROW_FORMAT,
            NOTHING,
        ),
    ]
    return _sorted(parts)


def _after(flags: Flags) -> Flags:
    """Per entry: the flag of the next; False for the last."""
    return np.append(flags[1:], False)


def _part(
    chosen: Flags,
    tile: Ints,
    event: Ints,
    kind: Ints | int,
    value: Ints | int,
    receiver: Ints | int,
) -> TileControls:
    """Controls for the chosen receives."""
    columns = np.broadcast_arrays(tile, event, kind, value, receiver)
    return TileControls(*(np.asarray(column)[chosen] for column in columns))


def _sorted(parts: list[TileControls]) -> TileControls:
    joined = {
        field.name: np.concatenate([getattr(part, field.name) for part in parts])
        for field in fields(TileControls)
    }
    order = np.lexsort((joined["kind"], joined["event"], joined["tile"]))
    return TileControls(**{name: column[order] for name, column in joined.items()})
