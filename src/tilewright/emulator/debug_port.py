"""The debug port: what the host sees of tiles and their contexts without their help.

It works while the chip stands still, between two calls of `Chip.run`: a context that was running
then is `ACTIVE`, and breaks as soon as that is asked for. Instructions are injected into contexts
that have stopped, or into workers that are idle, and executed as the reference engine does it.
"""

from typing import Any

import numpy as np

from tilewright.emulator.chip import Chip
from tilewright.emulator.faults import InstructionFault, TileFault
from tilewright.emulator.reference.engine import Context
from tilewright.emulator.reference.registers import SupervisorRegisters, WorkerRegisters
from tilewright.errors import TilewrightError
from tilewright.target.csr import CSRS
from tilewright.target.debug import (
    BREAK_ON_SYNC,
    CONTEXT_STATUS_BITS,
    CONTEXTS,
    DEBUG_EXCEPTIONS,
    DOUBLE,
    EXCHANGE_ERROR,
    EXCHANGE_EXCEPTION,
    INVALID,
    NOT_QUIESCENT,
    RECEIVE_ERROR_MASK,
    RECEIVE_ERROR_SHIFT,
    RETIREMENT_BREAK_IDLE,
    VERTEX_MATCH,
    ContextStatus,
    DebugRegister,
)

_WORD = 0xFFFF_FFFF
_ALL_CONTEXTS = (1 << CONTEXTS) - 1
_SUPERVISOR = 0
_DATA, _COUNT, _EXCHANGE, _CONTEXT_STATUS = (
    CSRS[name].index for name in ("DBG_DATA", "INCOMING_DCOUNT", "EXCHANGE_CTL", "CTXT_STS")
)
_EXCHANGE_BITS = 0b11111
_STORED = np.dtype(
    [(name, np.uint32) for name in ("breaks", "vertex", "context", "exceptions", "status")]
    + [("control", np.uint32)]
)


class DebugPortError(TilewrightError):
    """A debug register that does not exist, or a use of one that is not modelled."""


_PLACES = {
    DebugRegister.RETIREMENT_BREAK: "breaks",
    DebugRegister.RETIREMENT_BREAK_VERTEX: "vertex",
    DebugRegister.INJECTION_CONTEXT: "context",
    DebugRegister.EXCEPTION_CONTROL: "exceptions",
    DebugRegister.CONTROL: "control",
}
"""Registers that hold what is written, and where."""


class DebugPort:
    """The debug registers of all tiles of a chip."""

    def __init__(self, chip: Chip) -> None:
        self._memory = chip.memory
        self._contexts = chip.contexts
        self._stored = np.zeros(len(chip.memory.bytes), _STORED)
        self._stored["breaks"] = RETIREMENT_BREAK_IDLE

    def read(self, tile: int, register: int) -> int:
        """A register of a tile; what can only be written reads as 0.

        Raises `DebugPortError` for a register or tile that does not exist.
        """
        record = self._tile(tile)
        csr = record["supervisor"]["csr"]
        match _known(register):
            case DebugRegister.CONTEXT_STATUS:
                return self._context_status(tile)
            case DebugRegister.DATA:
                return int(csr[_DATA])
            case DebugRegister.STATUS:
                return int(self._stored[tile]["status"]) | self._not_quiescent(tile)
            case DebugRegister.INCOMING_COUNT:
                return int(csr[_COUNT])
            case DebugRegister.EXCHANGE_CONTROL:
                return int(csr[_EXCHANGE])
            case known if known in _PLACES:
                return int(self._stored[tile][_PLACES[known]])
            case _:
                return 0

    def write(self, tile: int, register: int, value: int) -> None:
        """Write a register of a tile; what can only be read ignores it.

        Raises `DebugPortError` for a register or tile that does not exist, a value of more than a
        word, and what is not modelled; `ContextError` for a step by a break that stays set.
        """
        record = self._tile(tile)
        if not 0 <= value <= _WORD:
            raise DebugPortError(f"{value:#x} is no word")
        known = _known(register)
        _check_modelled(known, value)
        if known in _PLACES:
            self._stored[tile][_PLACES[known]] = value
        csr = record["supervisor"]["csr"]
        match known:
            case DebugRegister.RETIREMENT_BREAK:
                self._contexts.set_breaks(tile, value & _ALL_CONTEXTS)
            case DebugRegister.INJECTED_INSTRUCTION:
                self._stored[tile]["status"] |= self._inject(tile, value)
            case DebugRegister.EXCEPTION_CLEAR:
                self._clear_exceptions(tile, value)
            case DebugRegister.DATA:
                csr[_DATA] = value
            case DebugRegister.STATUS_CLEAR:
                self._stored[tile]["status"] &= ~value & _WORD
            case DebugRegister.EXCHANGE_CONTROL:
                csr[_EXCHANGE] = value & _EXCHANGE_BITS

    def _tile(self, tile: int) -> Any:
        if not 0 <= tile < len(self._stored):
            raise DebugPortError(f"there is no tile {tile} of this chip")
        return self._contexts.tile(tile)

    # -- contexts -----------------------------------------------------------------------------

    def _context_status(self, tile: int) -> int:
        csr = self._contexts.tile(tile)["supervisor"]["csr"]
        receive_error = int(csr[_CONTEXT_STATUS]) >> RECEIVE_ERROR_SHIFT & RECEIVE_ERROR_MASK
        status = receive_error << RECEIVE_ERROR_SHIFT
        if self._contexts.exception(tile, _SUPERVISOR) == EXCHANGE_EXCEPTION:
            status |= EXCHANGE_ERROR
        for context in range(CONTEXTS):
            status |= self._status_of(tile, context) << CONTEXT_STATUS_BITS * context
        return status

    def _status_of(self, tile: int, context: int) -> ContextStatus:
        exception = self._contexts.exception(tile, context)
        if exception:
            is_debug = exception in DEBUG_EXCEPTIONS
            return ContextStatus.DEBUG_EXCEPTED if is_debug else ContextStatus.EXCEPTED
        is_active = self._contexts.is_active(tile, context)
        return ContextStatus.ACTIVE if is_active else ContextStatus.IDLE

    def _clear_exceptions(self, tile: int, contexts: int) -> None:
        """That of a supervisor goes with the receive error, if there is one (`error-clear`)."""
        self._contexts.clear_exceptions(tile, contexts & _ALL_CONTEXTS)
        if contexts & 1:
            self._contexts.tile(tile)["supervisor"]["csr"][_CONTEXT_STATUS] = 0

    # -- injection ----------------------------------------------------------------------------

    def _not_quiescent(self, tile: int) -> int:
        """The bit for a context that no instruction can be injected into, the chosen one."""
        context = int(self._stored[tile]["context"])
        status = self._status_of(tile, context)
        is_quiescent = status in (ContextStatus.DEBUG_EXCEPTED, ContextStatus.EXCEPTED) or (
            status is ContextStatus.IDLE and context != _SUPERVISOR
        )
        return 0 if is_quiescent else NOT_QUIESCENT

    def _inject(self, tile: int, word: int) -> int:
        """Execute an instruction in the chosen context; returns bits of STATUS that say why not
        (`injection`)."""
        if self._not_quiescent(tile):
            return 0  # it shows by itself
        record = self._contexts.tile(tile)
        context = int(self._stored[tile]["context"])
        registers = (
            WorkerRegisters(record, context - 1) if context else SupervisorRegisters(record, tile)
        )
        try:
            Context(registers, record, self._memory, tile).inject(word)
        except InstructionFault:
            return INVALID
        except TileFault:
            return DOUBLE
        return 0


def _known(register: int) -> DebugRegister:
    try:
        return DebugRegister(register)
    except ValueError:
        last = max(DebugRegister)
        raise DebugPortError(
            f"there is no debug register {register}; they are 0 to {last}"
        ) from None


def _check_modelled(register: DebugRegister, value: int) -> None:
    if register is DebugRegister.RETIREMENT_BREAK and value & VERTEX_MATCH:
        raise DebugPortError("breaks at a vertex are not modelled")
    if register is DebugRegister.EXCEPTION_CONTROL and value & BREAK_ON_SYNC:
        raise DebugPortError("breaks at barriers are not modelled")
    if register is DebugRegister.INJECTION_CONTEXT and value >= CONTEXTS:
        raise DebugPortError(f"there is no context {value}; they are 0 to {CONTEXTS - 1}")
