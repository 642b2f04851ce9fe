"""A tile's supervisor code, as bytes.

Rows of the exchange stand in the code, where they run: behind the barrier that starts their time,
at even words. Code of a repeat stands once. What changes from one iteration to the next are words
of it: addresses that registers are given, and those in rows. A table lists them with what is added
to each; tables and other literals lie behind the code.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from tilewright.codegen.emit.addresses import Address, Literal, Value
from tilewright.isa import FORM_BY_NAME, encode
from tilewright.target.csr import CSRS
from tilewright.target.geometry import RUNTIME_STATE, STACK_TOP, WORKER_SCRATCH_SIZE, WORKERS
from tilewright.target.topology import NEUTRAL_MUX

WORD = 4
_LOW = (1 << 20) - 1
_SCRATCH, _OTHER, _LINK, _STACK, _ZERO = 0, 1, 10, 11, 15
_FIRST_ARGUMENT = 2
_COUNTERS = RUNTIME_STATE[0] + 0x40
"""Words that count iterations, one for each level of nesting."""
_INTERNAL, _INTERNAL_ACKNOWLEDGED = 3, 1
"""Barriers of all tiles: as one that takes part, and as one that has acknowledged already."""
_START = {"FP_ICTL": 0, "INCOMING_MUX": NEUTRAL_MUX, "INCOMING_BASE": 0, "OUTGOING_BASE": 0}
"""Registers that rows and kernels count on."""


@dataclass(slots=True)
class _Repeat:
    """A repeat that is being written: the words that move along its sequences, with steps."""

    sequences: Sequence[int]
    words: list[tuple[int, int]] = field(default_factory=list)


class TileCode:
    """Code that grows instruction by instruction, from `address` (a multiple of 8 bytes) on.

    `advance` is the address of the function that adds to the words of a table.
    """

    def __init__(self, address: int, advance: int) -> None:
        self._address = address
        self._advance = advance
        self._code = bytearray()
        self._repeats: list[_Repeat] = []
        self._literals: dict[bytes, list[tuple[int, int]]] = {}
        """By content, the registers that are given its address, and where."""

    def start(self) -> None:
        """Registers as everything behind expects them."""
        for register, value in _START.items():
            self._put(register, value)
        for worker in range(WORKERS):
            self._put(f"WORKER{worker}_BASE", STACK_TOP + worker * WORKER_SCRATCH_SIZE)
        self._set(_STACK, STACK_TOP)

    def call(self, target: int, values: Sequence[Value]) -> None:
        """Call a function with values in `$m2`, `$m3`, …"""
        for number, value in enumerate(values):
            if isinstance(value, Address):
                self._moves(value.sequence, value.step)
                value = value.base
            elif isinstance(value, Literal):
                uses = self._literals.setdefault(value.content, [])
                uses.append((len(self._code), _FIRST_ARGUMENT + number))
                value = 0
            self._set(_FIRST_ARGUMENT + number, value)
        self._add("call m,t20", _LINK, target)

    def exchange(self, row: bytes, moving: Sequence[tuple[int, int, int]]) -> None:
        """Take part in a phase with a row; without one, let it pass.

        `moving` are (sequence, word of the row, step).
        """
        if not row:
            self._add("sans u19", 0)
            self._add("sync u4", _INTERNAL_ACKNOWLEDGED)
            return
        self._put("INCOMING_DCOUNT", 1)
        if self._here % (2 * WORD) == 0:
            self._set(_SCRATCH, 1)
        self._add("sync u4", _INTERNAL)
        for sequence, word, step in moving:
            self._moves(sequence, step, word)
        self._code += row

    @contextmanager
    def repeat(self, count: int, sequences: Sequence[int]) -> Iterator[None]:
        """What is written in the meantime runs `count` (at least 1) times."""
        counter = _COUNTERS + WORD * len(self._repeats)
        self._set(_SCRATCH, count - 1)
        self._set(_OTHER, counter)
        self._add("st32 m,m,m,u12", _SCRATCH, _OTHER, _ZERO, 0)
        head = self._here
        self._repeats.append(_Repeat(sequences))
        yield
        words = self._repeats.pop().words
        self._advance_words(words, 1)
        self._set(_OTHER, counter)
        self._add("ld32 m,m,m,u12", _SCRATCH, _OTHER, _ZERO, 0)
        self._add("add m,m,s16", _FIRST_ARGUMENT, _SCRATCH, -1)
        self._add("st32 m,m,m,u12", _FIRST_ARGUMENT, _OTHER, _ZERO, 0)
        self._add("brnz m,t19", _SCRATCH, head)
        self._advance_words(words, -count)

    def end(self) -> None:
        """Stop. Literals follow."""
        self._add("trap u4", 0)
        for content, uses in self._literals.items():
            self._code += bytes(-self._here % (2 * WORD))
            for place, register in uses:
                self._code[place : place + WORD] = _word("setzi m,x20", register, self._here)
            self._code += content

    def __bytes__(self) -> bytes:
        return bytes(self._code)

    @property
    def _here(self) -> int:
        return self._address + len(self._code)

    def _moves(self, sequence: int | None, step: int, word: int = 0) -> None:
        """A word from here on moves along a sequence."""
        for repeat in self._repeats:
            if sequence in repeat.sequences and step:
                repeat.words.append((self._here + WORD * word, step))

    def _advance_words(self, words: Sequence[tuple[int, int]], times: int) -> None:
        """Add so many steps to words, which are (address, step)."""
        if words:
            table = np.array(words, dtype="<i8").astype("<u4").tobytes()
            self.call(self._advance, (Literal(table), len(words) - 1, times))

    def _put(self, register: str, value: int) -> None:
        self._set(_SCRATCH, value)
        self._add("put c8,m", CSRS[register].index, _SCRATCH)

    def _set(self, register: int, value: int) -> None:
        """Give a register a value of 32 bits."""
        value &= 0xFFFF_FFFF
        self._add("setzi m,x20", register, value & _LOW)
        if value & ~_LOW:
            self._add("or m,m,u12<<20", register, register, value & ~_LOW)

    def _add(self, form: str, *values: int) -> None:
        self._code += _word(form, *values)


@lru_cache(maxsize=65536)
def _word(form: str, *values: int) -> bytes:
    return encode(FORM_BY_NAME[form], values).to_bytes(WORD, "little")
