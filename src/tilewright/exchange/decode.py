"""Rows read back: what the words of each tile do in which event, whoever wrote them.

Every row is taken to start at an even word. Addresses are absolute, given the bases.
"""

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from tilewright.errors import TilewrightError
from tilewright.exchange.phase import WORD_SIZE, Ints
from tilewright.isa import (
    CONTROL_IS_PAIRED,
    CONTROL_POINTER,
    CONTROL_SOURCE,
    FORMS,
    decode_words,
)
from tilewright.target.geometry import TILES

_FIRST_EVENT_OF_ROW = 1
_WIDE, _DIRECTIONS = 0b100, 0b011
"""Bits of a send's control."""
_BOTH = "sendpicp"
_OF_ROWS = ("delay", "delaypic", "delayxpic", "send", "sendoff", "sendpic", _BOTH)
_CODES = {form.mnemonic: form.index for form in FORMS if form.mnemonic in _OF_ROWS}
_SENDS = ("send", "sendoff", "sendpic", _BOTH)
_POINTER_SELECTORS = 2
"""`sendpic` selects sources below this, pointers and formats from it on."""


class RowError(TilewrightError):
    """Words that are no row."""


@dataclass(frozen=True, eq=False)
class Sent:
    """Sends with all that goes on with them, by tile and event; addresses and sizes in bytes."""

    tile: Ints
    event: Ints
    items: Ints
    address: Ints
    size: Ints
    directions: Ints

    @property
    def end(self) -> Ints:
        """The event after the last item."""
        return self.event + self.items


@dataclass(frozen=True, eq=False)
class Controlled:
    """Controls of one kind, by tile and event: mux numbers, addresses in bytes, or formats."""

    tile: Ints
    event: Ints
    value: Ints
    is_paired: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RowEvents:
    """What the rows of all tiles do; `length` is the last event of each tile's row, or 0."""

    length: Ints
    sends: Sent
    sources: Controlled
    pointers: Controlled
    formats: Controlled


@dataclass(frozen=True, eq=False)
class _Instructions:
    """Instructions of all rows: form, first word, second word where there is one, tile, events."""

    form: Ints
    word: Ints
    second: Ints
    tile: Ints
    first: Ints
    last: Ints

    def of(self, *mnemonics: str) -> "_Instructions":
        chosen = np.isin(self.form, [_CODES[mnemonic] for mnemonic in mnemonics])
        return _Instructions(*(getattr(self, field.name)[chosen] for field in fields(self)))

    def operand(self, mnemonic: str, number: int) -> Ints:
        """An operand of instructions that are all of one mnemonic."""
        return FORMS[_CODES[mnemonic]].operands[number].field.extract(self.word)


def decode_rows(
    words: npt.NDArray[np.uint32],
    start: Ints,
    incoming_base: npt.ArrayLike = 0,
    outgoing_base: npt.ArrayLike = 0,
) -> RowEvents:
    """The events of rows: that of tile t is `words[start[t]:start[t + 1]]`; bases are in bytes.

    Raises `RowError` for a word that does not belong in a row, a misaligned `sendpicp`, and a send
    that goes on before one has started.
    """
    incoming = np.broadcast_to(np.asarray(incoming_base, dtype=np.int64), (TILES,))
    outgoing = np.broadcast_to(np.asarray(outgoing_base, dtype=np.int64), (TILES,))
    instructions = _instructions(words.astype(np.int64), start)
    length = np.zeros(TILES, dtype=np.int64)
    np.maximum.at(length, instructions.tile, instructions.last)
    pointers, formats = _pointers(instructions, incoming)
    return RowEvents(
        length, _sends(instructions, outgoing), _sources(instructions), pointers, formats
    )


def _instructions(words: Ints, start: Ints) -> _Instructions:
    forms = decode_words(words.astype(np.uint32)).astype(np.int64)
    tile = np.repeat(np.arange(len(start) - 1), np.diff(start))
    is_both = forms == _CODES[_BOTH]
    # A second word may look like a first one: of each run of them, every other is.
    run = np.arange(len(words)) - _run_start(is_both)
    is_first = ~np.concatenate([[False], (is_both & (run % 2 == 0))[:-1]])
    place = np.flatnonzero(is_first)
    form, of = forms[place], tile[place]
    unknown = place[~np.isin(form, list(_CODES.values()))]
    if len(unknown):
        at = int(unknown[0])
        raise RowError(f"tile {tile[at]}: {int(words[at]):#010x} does not belong in a row")
    both = form == _CODES[_BOTH]
    cut = place[both & (place + 1 == start[of + 1])]
    if len(cut):
        raise RowError(f"tile {tile[cut[0]]}: the row ends inside a sendpicp")
    misplaced = place[both & ((place - start[of]) % 2 == 1)]
    if len(misplaced):
        raise RowError(f"tile {tile[misplaced[0]]}: sendpicp at an odd word of its row")
    events = np.zeros(len(place), dtype=np.int64)
    for code in _CODES.values():
        chosen = form == code
        count = FORMS[code].operands[0].field
        events[chosen] = count.extract(words[place[chosen]]) + 1
    total = np.cumsum(events)
    before = np.concatenate([[0], total])[np.searchsorted(place, start)]
    last = total - before[of]
    second = np.where(both, words[np.minimum(place + 1, len(words) - 1)], 0)
    return _Instructions(form, words[place], second, of, last - events + _FIRST_EVENT_OF_ROW, last)


def _run_start(flags: npt.NDArray[np.bool_]) -> Ints:
    """Per entry: where the run of flags that it belongs to starts; its own place without one."""
    places = np.arange(len(flags))
    starts = flags & ~np.concatenate([[False], flags[:-1]])
    found: Ints = np.maximum.accumulate(np.where(starts | ~flags, places, 0))
    return found


def _sources(instructions: _Instructions) -> Controlled:
    delays = instructions.of("delayxpic")
    sends = instructions.of("sendpic")
    chosen = sends.operand("sendpic", 1)
    both = instructions.of(_BOTH)
    is_source = chosen < _POINTER_SELECTORS
    return _controls(
        (
            delays.tile,
            delays.last,
            delays.operand("delayxpic", 2),
            delays.operand("delayxpic", 1) == 1,
        ),
        (
            sends.tile[is_source],
            sends.first[is_source],
            sends.operand("sendpic", 2)[is_source],
            chosen[is_source] == 1,
        ),
        (
            both.tile,
            both.first,
            CONTROL_SOURCE.extract(both.second),
            CONTROL_IS_PAIRED.extract(both.second) == 1,
        ),
    )


def _pointers(instructions: _Instructions, base: Ints) -> tuple[Controlled, Controlled]:
    """Pointers and formats."""
    delays = instructions.of("delaypic")
    sends = instructions.of("sendpic")
    chosen = sends.operand("sendpic", 1)
    is_pointer = chosen >= _POINTER_SELECTORS
    both = instructions.of(_BOTH)
    everything = _controls(
        (
            delays.tile,
            delays.last,
            delays.operand("delaypic", 2),
            delays.operand("delaypic", 1) == 1,
        ),
        (
            sends.tile[is_pointer],
            sends.first[is_pointer],
            sends.operand("sendpic", 2)[is_pointer],
            chosen[is_pointer] == _POINTER_SELECTORS + 1,
        ),
        (
            both.tile,
            both.first,
            CONTROL_POINTER.extract(both.second),
            both.operand(_BOTH, 3) == 1,
        ),
    )
    is_format = everything.is_paired
    address = base[everything.tile] + WORD_SIZE * everything.value
    plain = np.zeros_like(is_format)
    return (
        Controlled(
            everything.tile[~is_format],
            everything.event[~is_format],
            address[~is_format],
            plain[~is_format],
        ),
        Controlled(
            everything.tile[is_format],
            everything.event[is_format],
            everything.value[is_format],
            plain[is_format],
        ),
    )


def _controls(*parts: tuple[Ints, Ints, Ints, npt.NDArray[np.bool_]]) -> Controlled:
    tile, event, value, second = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((event, tile))
    return Controlled(tile[order], event[order], value[order], second[order])


def _sends(instructions: _Instructions, base: Ints) -> Sent:
    """Sends in one piece each. What goes on takes its control from what came before."""
    all_sends = instructions.of(*_SENDS)
    form, tile = all_sends.form, all_sends.tile
    control = np.zeros(len(form), dtype=np.int64)
    place = np.full(len(form), -1, dtype=np.int64)
    for mnemonic, control_operand, place_operand in (
        ("send", 2, 1),
        ("sendoff", 2, None),
        (_BOTH, 2, 1),
    ):
        chosen = form == _CODES[mnemonic]
        operands = FORMS[_CODES[mnemonic]].operands
        control[chosen] = operands[control_operand].field.extract(all_sends.word[chosen])
        if place_operand is not None:
            place[chosen] = operands[place_operand].field.extract(all_sends.word[chosen])
    sends = (form != _CODES[_BOTH]) | (control != 0)
    return _joined(all_sends, sends, tile, place, control, base)


def _joined(
    found: _Instructions,
    sends: npt.NDArray[np.bool_],
    tile: Ints,
    place: Ints,
    control: Ints,
    base: Ints,
) -> Sent:
    offset = FORMS[_CODES["sendoff"]].operands[1].field
    rows: list[tuple[int, int, int, int, int, int]] = []
    inherits = _CODES["sendpic"]
    for each in np.flatnonzero(sends).tolist():
        at = int(tile[each])
        items = int(found.last[each] - found.first[each]) + 1
        goes_on = place[each] < 0
        last = rows[-1] if rows and rows[-1][0] == at else None
        if goes_on and last is None:
            raise RowError(f"tile {at}: a send goes on before one has started")
        if last is not None and found.form[each] == inherits:
            size, directions = last[4], last[5]
        else:
            size = WORD_SIZE * (2 if control[each] & _WIDE else 1)
            directions = int(control[each]) & _DIRECTIONS
        if goes_on and last is not None:
            advance = 0
            if found.form[each] == _CODES["sendoff"]:
                advance = int(offset.extract(int(found.word[each])))
            address = last[3] + last[2] * last[4] + advance * size
        else:
            address = int(base[at]) + int(place[each]) * size
        this = (at, int(found.first[each]), items, address, size, directions)
        if last is not None and _continues(last, this):
            rows[-1] = (at, last[1], last[2] + items, last[3], size, directions)
        else:
            rows.append(this)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    return Sent(*(np.ascontiguousarray(column) for column in columns))


def _continues(last: tuple[int, ...], this: tuple[int, ...]) -> bool:
    """In time and in memory."""
    _, event, items, address, *kind = last
    return this[1] == event + items and this[3] == address + items * kind[0] and [*this[4:]] == kind
