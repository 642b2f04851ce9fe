"""A tile's supervisor code, as bytes.

Code fills one region of memory after the other; where one ends, it branches to the next. Rows of
the exchange stand in the code, where they run: behind the barrier that starts their time, at even
words. Code of a repeat stands once. What changes from one iteration to the next are words of it:
addresses that registers are given, and those in rows. A table lists them with what is added to
each; tables and other literals lie behind the code.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from tilewright.codegen.emit.addresses import Address, Literal, Value
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.memory import Region
from tilewright.device.runtime import ADVANCE, RENDEZVOUS, START_UP
from tilewright.elf.image import Segment
from tilewright.isa import FORM_BY_NAME, encode
from tilewright.target.csr import CSRS
from tilewright.target.geometry import RUNTIME_STATE, SUPERVISOR_FETCH_AHEAD

WORD = 4
ROW_ALIGNMENT = 2 * WORD
_LOW = (1 << 20) - 1
_SCRATCH, _OTHER, _LINK, _ZERO = 0, 1, 10, 15
_FIRST_ARGUMENT = 2
_COUNTERS = RUNTIME_STATE[0] + 0x40
"""Words that count iterations, one for each level of nesting."""
_INTERNAL, _INTERNAL_ACKNOWLEDGED = 3, 1
"""Barriers of all tiles: as one that takes part, and as one that has acknowledged already."""
_SETTLING = (START_UP, RENDEZVOUS)
NO_ORIGIN = -1


@dataclass(frozen=True, slots=True)
class TileText:
    """The finished code of a tile: pieces by address, and what its parts are for.

    `origins` are (address, bytes, number) of code that was written for origin `number`.
    """

    pieces: tuple[Segment, ...]
    origins: tuple[tuple[int, int, int], ...]

    @property
    def entry(self) -> int:
        """Where it starts."""
        return self.pieces[0].address

    @property
    def end(self) -> int:
        """Where it ends, with what the supervisor fetches beyond."""
        return self.pieces[-1].end + SUPERVISOR_FETCH_AHEAD

    @property
    def size(self) -> int:
        """In bytes."""
        return sum(len(piece.data) for piece in self.pieces)


@dataclass(slots=True)
class _Repeat:
    """A repeat that is being written: the words that move along its sequences, with steps."""

    sequences: Sequence[int]
    words: list[tuple[int, int]] = field(default_factory=list)


@dataclass(slots=True)
class _Run:
    """Code that grows without a gap."""

    address: int
    code: bytearray = field(default_factory=bytearray)


class TileCode:
    """Code that grows instruction by instruction, through `regions`, which start at even words.

    `functions` are addresses by name, at least of those of the runtime that are needed. Every
    method raises `EmissionError` when the regions are full.
    """

    def __init__(self, regions: Sequence[Region], functions: Mapping[str, int]) -> None:
        self._regions = list(regions)
        self._functions = functions
        self._runs: list[_Run] = []
        self._repeats: list[_Repeat] = []
        self._literals: dict[bytes, list[tuple[int, int]]] = {}
        """By content, the registers that are given its address, and where."""
        self._origins: list[tuple[int, int, int]] = []
        self._origin, self._begun = NO_ORIGIN, 0
        self._is_settled = True
        """Whether all workers have been waited for since the last phase."""
        self._open_region()

    # what it is for

    def begin(self, origin: int) -> None:
        """What follows is written for this origin."""
        self._close_origin()
        self._origin = origin

    # instructions

    @property
    def here(self) -> int:
        """The address of the next instruction, unless that needs another region."""
        return self._runs[-1].address + len(self._runs[-1].code)

    def add(self, form: str, *values: int) -> None:
        """An instruction."""
        self._reserve(WORD)
        self._runs[-1].code += _word(form, *values)

    def put(self, register: str, value: int) -> None:
        """Give a control register a value. Changes `$m0`."""
        self.set(_SCRATCH, value)
        self.add("put c8,m", CSRS[register].index, _SCRATCH)

    def set(self, register: int, value: int) -> None:
        """Give a register a value of 32 bits."""
        value &= 0xFFFF_FFFF
        self.add("setzi m,x20", register, value & _LOW)
        if value & ~_LOW:
            self.add("or m,m,u12<<20", register, register, value & ~_LOW)

    def words(self, content: bytes) -> None:
        """Instructions that must stand together."""
        self._reserve(len(content))
        self._is_settled = False
        self._runs[-1].code += content

    def call(self, target: int | str, values: Sequence[Value] = ()) -> None:
        """Call a function, by address or by name, with values in `$m2`, `$m3`, …"""
        for number, value in enumerate(values):
            if isinstance(value, Address):
                self._reserve(2 * WORD)
                self._moves(value.sequence, value.step)
                value = value.base
            elif isinstance(value, Literal):
                self._reserve(WORD)
                uses = self._literals.setdefault(value.content, [])
                uses.append((self.here, _FIRST_ARGUMENT + number))
                value = 0
            self.set(_FIRST_ARGUMENT + number, value)
        if isinstance(target, str):
            self._is_settled |= target in _SETTLING
            target = self._functions[target]
        else:
            self._is_settled = True  # kernels wait for their workers
        self.add("call m,t20", _LINK, target)

    def exchange(self, row: bytes, moving: Sequence[tuple[int, int, int]] = ()) -> None:
        """Take part in a phase with a row; without one, let it pass.

        `moving` are (sequence, word of the row, step).
        """
        if not row:
            self.add("sans u19", 0)
            self.add("sync u4", _INTERNAL_ACKNOWLEDGED)
            return
        if not self._is_settled:
            self.call(RENDEZVOUS)
        self._is_settled = False
        self.put("INCOMING_DCOUNT", 1)
        self._reserve(len(row) + 2 * WORD)
        if self.here % ROW_ALIGNMENT == 0:
            self.set(_SCRATCH, 1)
        self.add("sync u4", _INTERNAL)
        for sequence, word, step in moving:
            self._moves(sequence, step, word)
        self._runs[-1].code += row

    # control

    @contextmanager
    def repeat(
        self, count: int, sequences: Sequence[int], ending: str | None = None
    ) -> Iterator[None]:
        """What is written in the meantime runs `count` (at least 1) times.

        `ending` is a function to call at the end of each, once sequences have gone on.
        """
        counter = _COUNTERS + WORD * len(self._repeats)
        self.set(_SCRATCH, count - 1)
        self.set(_OTHER, counter)
        self.add("st32 m,m,m,u12", _SCRATCH, _OTHER, _ZERO, 0)
        self._reserve(WORD)
        head = self.here
        self._is_settled = False
        self._repeats.append(_Repeat(sequences))
        yield
        words = self._repeats.pop().words
        self.begin(NO_ORIGIN)
        self._advance_words(words, 1)
        if ending is not None:
            self.call(ending)
        self.set(_OTHER, counter)
        self.add("ld32 m,m,m,u12", _SCRATCH, _OTHER, _ZERO, 0)
        self.add("add m,m,s16", _FIRST_ARGUMENT, _SCRATCH, -1)
        self.add("st32 m,m,m,u12", _FIRST_ARGUMENT, _OTHER, _ZERO, 0)
        self.add("brnz m,t19", _SCRATCH, head)
        self._advance_words(words, -count)

    @contextmanager
    def endless(self) -> Iterator[None]:
        """What is written in the meantime runs again and again."""
        self._reserve(WORD)
        head = self.here
        self._is_settled = False
        yield
        self.add("bri t19", head)

    def leave_unless(self, address: int, value: int, function: str) -> None:
        """Go to a function, for good, unless the word at an address has this value."""
        self.set(_OTHER, address)
        self.add("ld32 m,m,m,u12", _SCRATCH, _OTHER, _ZERO, 0)
        self.add("cmpeq m,m,s16", _SCRATCH, _SCRATCH, value)
        self.add("brz m,t19", _SCRATCH, self._functions[function])

    def finished(self) -> TileText:
        """The code, with its literals behind it."""
        self._close_origin()
        for content, uses in self._literals.items():
            self._reserve(len(content) + ROW_ALIGNMENT)
            run = self._runs[-1]
            run.code += bytes(-self.here % ROW_ALIGNMENT)
            for place, register in uses:
                self._replace(place, _word("setzi m,x20", register, self.here))
            run.code += content
        pieces = tuple(Segment(run.address, bytes(run.code)) for run in self._runs)
        return TileText(pieces, tuple(self._origins))

    # places

    def _reserve(self, size: int) -> None:
        """So many bytes, and a branch behind them, lie in one region."""
        if self.here + size + WORD <= self._end:
            return
        before = self._runs[-1]
        self._close_origin()
        self._open_region(size + WORD)
        before.code += _word("bri t19", self.here)

    def _open_region(self, size: int = WORD) -> None:
        """Go on in the next region with room for so many bytes."""
        while self._regions:
            start, self._end = self._regions.pop(0)
            if start + size <= self._end:
                self._runs.append(_Run(start))
                self._begun = start
                return
        raise EmissionError("its program does not fit the executable memory")

    def sizes(self) -> dict[int, int]:
        """Bytes that are written so far, by origin."""
        self._close_origin()
        sizes: dict[int, int] = {}
        for _, size, origin in self._origins:
            sizes[origin] = sizes.get(origin, 0) + size
        return sizes

    def _replace(self, address: int, word: bytes) -> None:
        run = next(
            run for run in self._runs if run.address <= address < run.address + len(run.code)
        )
        run.code[address - run.address : address - run.address + WORD] = word

    def _close_origin(self) -> None:
        if self._origin != NO_ORIGIN and self.here > self._begun:
            self._origins.append((self._begun, self.here - self._begun, self._origin))
        self._begun = self.here

    # what moves

    def _moves(self, sequence: int | None, step: int, word: int = 0) -> None:
        """A word from here on moves along a sequence."""
        for repeat in self._repeats:
            if sequence in repeat.sequences and step:
                repeat.words.append((self.here + WORD * word, step))

    def _advance_words(self, words: Sequence[tuple[int, int]], times: int) -> None:
        """Add so many steps to words, which are (address, step)."""
        if words:
            table = np.array(words, dtype="<i8").astype("<u4").tobytes()
            self.call(ADVANCE, (Literal(table), len(words) - 1, times))


@lru_cache(maxsize=65536)
def _word(form: str, *values: int) -> bytes:
    return encode(FORM_BY_NAME[form], values).to_bytes(WORD, "little")
