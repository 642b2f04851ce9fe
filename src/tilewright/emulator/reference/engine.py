"""One issue of one context: fetch, run the meanings, commit, and go on to the next address."""

from dataclasses import dataclass
from typing import Any

from tilewright.emulator.faults import (
    FloatFault,
    InstructionFault,
    ProgramCounterFault,
    TileFault,
)
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.effects import Effects
from tilewright.emulator.reference.fetch import (
    WORD,
    Fetched,
    check_code_address,
    check_repeat_member,
    fetch,
)
from tilewright.emulator.reference.machine import ReferenceMachine
from tilewright.emulator.reference.registers import FLAG_MASK, ContextRegisters
from tilewright.isa import Mode
from tilewright.isa.meaning import MEANINGS
from tilewright.target.geometry import MEMORY_END


@dataclass(frozen=True, slots=True)
class Issued:
    """What was executed, and the effects that are committed already, except those on others."""

    fetched: Fetched
    effects: Effects


class Context:
    """A supervisor or worker that can issue instructions."""

    def __init__(
        self, registers: ContextRegisters, tile: Any, memory: TileMemory, tile_number: int
    ) -> None:
        self.registers = registers
        self._tile = tile
        self._memory = memory
        self._tile_number = tile_number

    @property
    def pc(self) -> int:
        """The address of the next instruction."""
        return int(self.registers.state["pc"])

    def fetched(self) -> Fetched:
        """What the context executes next. Raises `TileFault`."""
        address = self.pc
        check_code_address(address)
        fetched = fetch(self._word(address), self._word(address + 4), self.registers.mode)
        if address % (WORD * fetched.members[0].form.words):
            raise ProgramCounterFault(
                f"an instruction of two words at {address:#x}, no multiple of 8"
            )
        if fetched.size > WORD:
            check_code_address(address + WORD)
        if self._is_repeating(address):
            check_repeat_member(fetched, address)
        return fetched

    def issue(self) -> Issued:
        """Execute one instruction or bundle. Raises `TileFault`; then nothing has changed, but
        ETYPE, the sticky flags of a floating-point exception, and RAERR of `runall`."""
        try:
            fetched = self.fetched()
            effects = self._run(fetched)
            self._check_flags(effects)
        except TileFault as fault:
            self.registers.state["exception"] = fault.number
            raise
        self._commit(effects)
        self._advance(self.pc + fetched.size, effects)
        return Issued(fetched, effects)

    def inject(self, word: int) -> None:
        """Execute an instruction that a debugger gives; the next address stays what it is.

        Raises `TileFault`; then nothing has changed, nor does ETYPE show it. An `InstructionFault`
        is of an instruction that cannot be injected: a half of a bundle, one of two words, or one
        that does more than read and write registers and memory.
        """
        fetched = fetch(word, 0, self.registers.mode)
        if fetched.size > WORD:
            raise InstructionFault(f"{word:#010x} is more than one word")
        effects = self._run(fetched)
        if effects.events or effects.launches or effects.repeat or effects.exit_status is not None:
            mnemonic = fetched.members[0].form.mnemonic
            raise InstructionFault(f"'{mnemonic}' cannot be injected")
        self._commit(effects)

    def _run(self, fetched: Fetched) -> Effects:
        effects = Effects()
        address = self.pc
        following = address + fetched.size
        machine = ReferenceMachine(
            self.registers,
            self._tile,
            self._memory,
            self._tile_number,
            following,
            self._word(address + 4),
            effects,
        )
        for member in fetched.members:
            MEANINGS[member.form.mnemonic](machine, *member.operands)
        return effects

    def _check_flags(self, effects: Effects) -> None:
        if not effects.float_flags:
            return
        state = self.registers.state
        state["float_status"] |= effects.float_flags
        raised = effects.float_flags & int(state["float_control"]) & FLAG_MASK
        if raised:
            names = ", ".join(
                name for bit, name in enumerate(("INV", "DIV0", "OFLO")) if raised >> bit & 1
            )
            raise FloatFault(names)

    def _commit(self, effects: Effects) -> None:
        for file, number, word in effects.registers:
            self.registers.write(file, number, word)
        for index, word in effects.accumulators:
            self.registers.state["accumulators"][index] = word
        if effects.random is not None:
            self.registers.state["random"] = effects.random
        for upper, index, word in effects.csrs:
            self.registers.write_csr(index, upper, word)
        for index, word in effects.weights:
            self._tile["weights"][index] = word
        for address, content in effects.stores:
            self._memory.write(self._tile_number, address, content)

    def _advance(self, following: int, effects: Effects) -> None:
        state = self.registers.state
        target = following if effects.jump is None else effects.jump
        if effects.repeat is not None:
            state["repeat_count"], state["repeat_first"], state["repeat_end"] = effects.repeat
        elif self._is_repeating(following - 8) and following == int(state["repeat_end"]):
            state["repeat_count"] -= 1
            if int(state["repeat_count"]):
                target = int(state["repeat_first"])
        state["pc"] = target

    def _is_repeating(self, address: int) -> bool:
        if self.registers.mode is not Mode.WORKER or not int(self.registers.state["repeat_count"]):
            return False
        state = self.registers.state
        return int(state["repeat_first"]) <= address < int(state["repeat_end"])

    def _word(self, address: int) -> int:
        if address > MEMORY_END - 4:
            return 0
        return int.from_bytes(self._memory.read(self._tile_number, address, 4), "little")
