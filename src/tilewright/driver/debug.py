"""Looking into tiles: what their contexts do, registers and memory of those that stand still.

The debug registers of a tile run single instructions in a context that has stopped. Stopping a
running context changes when it does what, so this is for the time after a failure.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tilewright.driver.errors import ProtocolError
from tilewright.driver.registers import tile_register
from tilewright.driver.transport import Transport
from tilewright.driver.waiting import Limits, wait_until
from tilewright.target.debug import (
    CONTEXT_STATUS_BITS,
    CONTEXTS,
    DOUBLE,
    EXCHANGE_ERROR,
    INVALID,
    NOT_QUIESCENT,
    RECEIVE_ERROR_MASK,
    RECEIVE_ERROR_SHIFT,
    ContextStatus,
    DebugRegister,
)

SUPERVISOR = 0
"""Contexts are numbered from here: the supervisor, then the workers from 1 on."""
GENERAL_REGISTERS = 12
"""$m0 to $m11, which hold what code puts there; the others are fixed."""

_GET, _GET_DATA, _PUT_DATA = 0x41000000, 0x41000070, 0x43008070
"""`get $m0, n`; `get $m0, $DBG_DATA`, for register r with r << 16; `put $DBG_DATA, $m0`, with r <<
20."""
_LOAD, _STORE = 0x01F01000, 0x4F10F000
"""`ld32 $m0, $m1, $mzero, 0` and `st32 $m0, $m1, $mzero, 0`."""
_PC, _STATUS = 0, 1
_ERRORS, _BUSY = NOT_QUIESCENT | INVALID | DOUBLE, 1 << 3
_CLEARED = INVALID | DOUBLE
_EXCEPTION_SHIFT, _EXCEPTION_MASK = 4, 0xF
_MEMORY_ERROR = 1 << 31
_STATE_MASK = (1 << CONTEXT_STATUS_BITS) - 1


class ExceptionType(IntEnum):
    """Why a context has excepted."""

    NONE = 0
    RETIREMENT_BREAK = 1
    PATCHED_BREAK_0 = 2
    PATCHED_BREAK_1 = 3
    BREAK_ON_SYNC = 4
    FLOATING_POINT = 5
    MEMORY_CONFLICT = 6
    EXCHANGE_CONFIGURATION = 7
    INVALID_ADDRESS = 8
    INVALID_OPERAND = 9
    INVALID_PC = 10
    DATA_BREAK = 11
    INVALID_INSTRUCTION = 12
    EXCHANGE_ERROR = 13
    MEMORY_ERROR = 14
    INSTRUCTION_BREAK = 15


class ReceiveError(IntEnum):
    """What was wrong with a word that a tile received."""

    NONE = 0
    CLASH_WITH_INSTRUCTION = 1
    CLASH_WITH_FETCH = 2
    ADDRESS = 3
    WORKERS_ACTIVE = 4
    DATA_BREAK = 5
    CONFIGURATION = 6
    MODIFICATION = 7


@dataclass(frozen=True, slots=True)
class TileStatus:
    """What a tile's contexts do, by number, and whether the exchange or memory are in error."""

    states: tuple[ContextStatus, ...]
    receive_error: ReceiveError
    has_exchange_error: bool
    has_memory_error: bool

    @property
    def excepted(self) -> list[int]:
        """The contexts that have excepted."""
        return [number for number, state in enumerate(self.states) if is_stopped(state)]


def is_stopped(state: ContextStatus) -> bool:
    """Whether a context that is in this state lets the debugger in."""
    return state in (ContextStatus.DEBUG_EXCEPTED, ContextStatus.EXCEPTED)


def decode_status(word: int) -> TileStatus:
    """What a tile's context status register says."""
    return TileStatus(
        tuple(
            ContextStatus(word >> CONTEXT_STATUS_BITS * context & _STATE_MASK)
            for context in range(CONTEXTS)
        ),
        ReceiveError(word >> RECEIVE_ERROR_SHIFT & RECEIVE_ERROR_MASK),
        bool(word & EXCHANGE_ERROR),
        bool(word & _MEMORY_ERROR),
    )


_ANY_STOPPED = sum(
    ContextStatus.DEBUG_EXCEPTED << CONTEXT_STATUS_BITS * context for context in range(CONTEXTS)
)
"""Set in a status if any context is in state 2 or 3."""


def has_excepted(words: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Whether a context has excepted, or exchange or memory are in error, by tiles' statuses."""
    found: NDArray[np.bool_] = words & np.uint32(_ANY_STOPPED | EXCHANGE_ERROR | _MEMORY_ERROR) != 0
    return found


class Debugger:
    """The debug registers of a device's tiles, by physical id."""

    def __init__(self, transport: Transport, limits: Limits) -> None:
        self._transport = transport
        self._limits = limits

    # -- without stopping anything --------------------------------------------------------------

    def read_register(self, tile: int, register: DebugRegister) -> int:
        return self._transport.read(tile_register(tile, register))

    def write_register(self, tile: int, register: DebugRegister, value: int) -> None:
        self._transport.write(tile_register(tile, register), value)

    def status(self, tile: int) -> TileStatus:
        return decode_status(self.read_register(tile, DebugRegister.CONTEXT_STATUS))

    def status_words(self) -> NDArray[np.uint32]:
        """The context status of every tile; `decode_status` takes one apart."""
        tiles = range(self._transport.tiles)
        words = [self.read_register(tile, DebugRegister.CONTEXT_STATUS) for tile in tiles]
        return np.array(words, np.uint32)

    def excepted_tiles(self) -> NDArray[np.intp]:
        """Tiles that have a context that has excepted, or whose exchange or memory is in error."""
        return np.flatnonzero(has_excepted(self.status_words()))

    # -- contexts that stand still --------------------------------------------------------------

    @contextmanager
    def stopped(self, tile: int, context: int) -> Iterator[None]:
        """Within the block, a context stands still. Raises `DeviceTimeout` if it will not."""
        if is_stopped(self.status(tile).states[context]):
            yield
            return
        before = self.read_register(tile, DebugRegister.RETIREMENT_BREAK)
        self.write_register(tile, DebugRegister.RETIREMENT_BREAK, before | 1 << context)
        try:
            wait_until(
                lambda: is_stopped(self.status(tile).states[context]),
                f"stopping {context_name(context)} of tile {tile}",
                self._transport.clock,
                limit=self._limits.debug,
                poll=self._limits.poll,
            )
            yield
        finally:
            self.write_register(tile, DebugRegister.RETIREMENT_BREAK, before)
            if not before >> context & 1:
                self.write_register(tile, DebugRegister.EXCEPTION_CLEAR, 1 << context)

    def inject(self, tile: int, context: int, instruction: int) -> None:
        """Run one instruction. Raises `ProtocolError` if the tile refuses, and `DeviceTimeout`."""
        self.write_register(tile, DebugRegister.STATUS_CLEAR, _CLEARED)
        self.write_register(tile, DebugRegister.INJECTION_CONTEXT, context)
        self.write_register(tile, DebugRegister.INJECTED_INSTRUCTION, instruction)
        where = f"{context_name(context)} of tile {tile}"
        wait_until(
            lambda: not self.read_register(tile, DebugRegister.STATUS) & _BUSY,
            f"running {instruction:#010x} in {where}",
            self._transport.clock,
            limit=self._limits.debug,
        )
        errors = self.read_register(tile, DebugRegister.STATUS) & _ERRORS
        if errors:
            raise ProtocolError(
                f"{where} does not run {instruction:#010x}: debug status {errors:#x}; "
                "it has to have stopped"
            )

    def general(self, tile: int, context: int, register: int) -> int:
        """What a general register, $m0 to $m11, holds."""
        self.inject(tile, context, _PUT_DATA | register << 20)
        return self.read_register(tile, DebugRegister.DATA)

    def set_general(self, tile: int, context: int, register: int, value: int) -> None:
        self.write_register(tile, DebugRegister.INJECTION_CONTEXT, context)
        self.write_register(tile, DebugRegister.DATA, value)
        self.inject(tile, context, _GET_DATA | register << 16)

    def special(self, tile: int, context: int, index: int) -> int:
        """What a control register of the context holds."""
        with self._kept(tile, context, 0):
            self.inject(tile, context, _GET | index)
            return self.general(tile, context, 0)

    def program_counter(self, tile: int, context: int) -> int:
        return self.special(tile, context, _PC)

    def exception(self, tile: int, context: int) -> ExceptionType:
        """Why a context has excepted."""
        status = self.special(tile, context, _STATUS)
        return ExceptionType(status >> _EXCEPTION_SHIFT & _EXCEPTION_MASK)

    # -- memory ---------------------------------------------------------------------------------

    def memory_context(self, tile: int) -> int:
        """A context through which memory can be read: one that has stopped, or a quiet worker.

        Raises `ProtocolError` if there is none.
        """
        states = self.status(tile).states
        for context, state in enumerate(states):
            if is_stopped(state) or (context != SUPERVISOR and state == ContextStatus.IDLE):
                return context
        raise ProtocolError(f"all contexts of tile {tile} are running")

    def read_words(self, tile: int, context: int, address: int, count: int) -> list[int]:
        """Words of a tile's memory, read by a context that stands still."""
        with self._kept(tile, context, 0, 1):
            return [
                self.read_last_word(tile, context, each)
                for each in range(address, address + 4 * count, 4)
            ]

    def read_last_word(self, tile: int, context: int, address: int) -> int:
        """A word of a tile's memory, read by a context that needs its $m0 and $m1 no more."""
        self.set_general(tile, context, 1, address)
        self.inject(tile, context, _LOAD)
        return self.general(tile, context, 0)

    def write_words(self, tile: int, context: int, address: int, words: Sequence[int]) -> None:
        """Write words to a tile's memory by a context that stands still."""
        with self._kept(tile, context, 0, 1):
            for place, word in enumerate(words):
                self.set_general(tile, context, 1, address + 4 * place)
                self.set_general(tile, context, 0, word)
                self.inject(tile, context, _STORE)

    @contextmanager
    def _kept(self, tile: int, context: int, *registers: int) -> Iterator[None]:
        """General registers that have after the block what they had before."""
        values = [self.general(tile, context, register) for register in registers]
        try:
            yield
        finally:
            for register, value in zip(registers, values, strict=True):
                self.set_general(tile, context, register, value)


def context_name(context: int) -> str:
    return "supervisor" if context == SUPERVISOR else f"worker {context - 1}"
