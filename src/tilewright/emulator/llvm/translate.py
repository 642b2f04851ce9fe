"""From a worker's code to one function of LLVM IR: its control flow, its steps, its faults.

Each instruction or bundle begins a block of its own, made when something first goes there. Direct
branches are branches, repeats are loops, and a branch to a register goes to one of the blocks after
calls, or leaves the function.
"""

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from tilewright.emulator.faults import TileFault
from tilewright.emulator.llvm.control import FloatControl
from tilewright.emulator.llvm.frame import Frame, Reason
from tilewright.emulator.llvm.host import Host
from tilewright.emulator.llvm.lanes import LONG, WORD, Emitted
from tilewright.emulator.llvm.library import Library
from tilewright.emulator.llvm.machine import CertainFault, LlvmMachine, Requirements
from tilewright.emulator.reference.fetch import (
    BUNDLE,
    Fetched,
    check_code_address,
    check_repeat_member,
    fetch,
)
from tilewright.isa import Mode
from tilewright.isa.meaning import MEANINGS
from tilewright.target import timing

INSTRUCTION_LIMIT = 2000
"""Instructions and bundles of one translation; what lies beyond is another one's."""
_COUNT_MASK = 0xFFFF
_WORD = 4

ReadWord = Callable[[int], int]
"""The word of a tile's memory at an address."""


@dataclass(frozen=True, slots=True)
class Translation:
    """The module, the names of what it needs from outside, and the words that it depends on."""

    module: ir.Module
    requirements: tuple[str, ...]
    words: dict[int, int]
    """Address → word."""


def translate(entry: int, read_word: ReadWord, control: FloatControl, host: Host) -> Translation:
    """Translate the worker code that can be reached from `entry`."""
    return _Translator(read_word, control, host).run(entry)


class _Translator:
    def __init__(self, read_word: ReadWord, control: FloatControl, host: Host) -> None:
        self._module = ir.Module(name="worker")
        self._frame = Frame(self._module)
        self._library = Library(self._module)
        self._requirements = Requirements()
        self._control = control
        self._host = host
        self._read_word = read_word
        self._words: dict[int, int] = {}
        self._blocks: dict[int, ir.Block] = {}
        self._waiting: list[int] = []
        self._returns: set[int] = set()
        self._dispatch: ir.Block | None = None
        self._count = 0

    def run(self, entry: int) -> Translation:
        start = self._block(entry)
        while self._waiting:
            pc = self._waiting.pop()
            builder = ir.IRBuilder(self._blocks[pc])
            if self._count >= INSTRUCTION_LIMIT:
                self._frame.leave(builder, WORD(pc), Reason.CONTINUE)
            else:
                self._emit_issue(builder, pc)
        self._emit_dispatch()
        self._frame.finish(start)
        return Translation(self._module, tuple(self._requirements.names), self._words)

    # -- code ---------------------------------------------------------------------------------

    def _block(self, pc: int) -> ir.Block:
        if pc not in self._blocks:
            self._blocks[pc] = self._frame.block(f"at_{pc:x}")
            self._waiting.append(pc)
        return self._blocks[pc]

    def _word(self, address: int) -> int:
        if address not in self._words:
            self._words[address] = self._read_word(address)
        return self._words[address]

    def _fetch(self, pc: int, in_repeat: bool) -> Fetched:
        check_code_address(pc)
        first = self._word(pc)
        fetched = fetch(first, self._word(pc + _WORD) if first >> 31 else 0, Mode.WORKER)
        if fetched.is_bundle:
            check_code_address(pc + _WORD)
        if in_repeat:
            check_repeat_member(fetched, pc)
        return fetched

    # -- one issue ----------------------------------------------------------------------------

    def _emit_issue(self, builder: ir.IRBuilder, pc: int) -> None:
        done = self._emit_effects(builder, pc, in_repeat=False)
        if done is None:
            return
        machine, following = done
        self._emit_next(machine, pc, following)

    def _emit_effects(
        self, builder: ir.IRBuilder, pc: int, in_repeat: bool
    ) -> tuple[LlvmMachine, int] | None:
        """Everything but where the worker goes next; None if it certainly faults."""
        self._count += 1
        try:
            fetched = self._fetch(pc, in_repeat)
        except TileFault as fault:
            self._frame.fault(builder, pc, type(fault))
            return None
        following = pc + fetched.size
        machine = LlvmMachine(
            self._frame,
            self._library,
            self._control,
            self._requirements,
            self._host,
            builder,
            pc,
            following,
            in_repeat,
        )
        try:
            for member in fetched.members:
                MEANINGS[member.form.mnemonic](machine, *member.operands)
        except CertainFault as certain:
            self._frame.fault(builder, pc, certain.fault)
            return None
        machine.commit()
        self._frame.take_steps(builder, self._steps(machine, fetched))
        if any(member.form.mnemonic == "call" for member in fetched.members):
            self._returns.add(following)
        return machine, following

    def _steps(self, machine: LlvmMachine, fetched: Fetched) -> Emitted:
        mnemonics = [member.form.mnemonic for member in fetched.members]
        usual = max(timing.worker_steps(mnemonic) for mnemonic in mnemonics)
        special = machine.effects.short_division
        if special is None:
            return LONG(usual)
        short = max(timing.worker_steps(mnemonic, special_operand=True) for mnemonic in mnemonics)
        return machine.builder.select(special, LONG(short), LONG(usual))

    # -- where it goes next -------------------------------------------------------------------

    def _emit_next(self, machine: LlvmMachine, pc: int, following: int) -> None:
        builder, effects = machine.builder, machine.effects
        if effects.exit_status is not None:
            status = builder.zext(effects.exit_status, WORD)
            self._frame.leave(builder, WORD(following), status)
            return
        if effects.repeat is not None:
            self._emit_repeat(machine, pc, following)
            return
        if machine.ends_translation:
            self._frame.leave(builder, self._next_pc(machine, following), Reason.CONTINUE)
            return
        jump = effects.jump
        if jump is None:
            builder.branch(self._block(following))
            return
        if jump.condition is None:
            self._go(builder, pc, jump.target)
            return
        taken = self._frame.block()
        builder.cbranch(jump.condition, taken, self._block(following))
        self._go(ir.IRBuilder(taken), pc, jump.target)

    def _next_pc(self, machine: LlvmMachine, following: int) -> Emitted:
        jump = machine.effects.jump
        if jump is None:
            return WORD(following)
        if jump.condition is None:
            return jump.target
        return machine.builder.select(jump.condition, jump.target, WORD(following))

    def _go(self, builder: ir.IRBuilder, pc: int, target: Emitted) -> None:
        """Branch to an address; going back, the step limit is looked at."""
        if not isinstance(target, ir.Constant):
            builder.store(target, self._frame.target)
            builder.branch(self._dispatch_block())
            return
        address = int(target.constant)
        if address > pc:
            builder.branch(self._block(address))
            return
        beyond = self._frame.block()
        steps = self._frame.steps(builder)
        goes_on = builder.icmp_unsigned("<", steps, self._frame.step_limit)
        builder.cbranch(goes_on, self._block(address), beyond)
        self._frame.leave(ir.IRBuilder(beyond), WORD(address), Reason.LIMIT)

    # -- branches to registers ----------------------------------------------------------------

    def _dispatch_block(self) -> ir.Block:
        if self._dispatch is None:
            self._dispatch = self._frame.block("dispatch")
        return self._dispatch

    def _emit_dispatch(self) -> None:
        if self._dispatch is None:
            return
        builder = ir.IRBuilder(self._dispatch)
        target = builder.load(self._frame.target, typ=WORD)
        elsewhere, inside, beyond = (self._frame.block() for _ in range(3))
        steps = self._frame.steps(builder)
        goes_on = builder.icmp_unsigned("<", steps, self._frame.step_limit)
        builder.cbranch(goes_on, inside, beyond)
        self._frame.leave(ir.IRBuilder(beyond), target, Reason.LIMIT)
        self._frame.leave(ir.IRBuilder(elsewhere), target, Reason.CONTINUE)
        switch = ir.IRBuilder(inside).switch(target, elsewhere)
        for address in sorted(self._returns & self._blocks.keys()):
            switch.add_case(WORD(address), self._blocks[address])

    # -- repeats ------------------------------------------------------------------------------

    def _emit_repeat(self, machine: LlvmMachine, pc: int, following: int) -> None:
        """The loop. Its registers are kept as the chip has them, so that a fault shows them."""
        builder, frame = machine.builder, self._frame
        repeat = machine.effects.repeat
        assert repeat is not None
        end = following + BUNDLE * repeat.bundles
        times = builder.and_(repeat.times, WORD(_COUNT_MASK))
        setup, body, skipped = (frame.block() for _ in range(3))
        builder.cbranch(builder.icmp_unsigned("==", times, WORD(0)), skipped, setup)
        leaves = machine.ends_translation
        self._arrive(ir.IRBuilder(skipped), end, leaves)
        builder.position_at_end(setup)
        frame.write(builder, "repeat_count", times)
        frame.write(builder, "repeat_first", WORD(following))
        frame.write(builder, "repeat_end", WORD(end))
        if leaves:
            frame.leave(builder, WORD(following), Reason.CONTINUE)
            ir.IRBuilder(body).unreachable()
            return
        builder.branch(body)
        builder.position_at_end(body)
        for place in range(following, end, BUNDLE):
            if self._emit_effects(builder, place, in_repeat=True) is None:
                return
        left = builder.sub(frame.read(builder, "repeat_count"), WORD(1))
        frame.write(builder, "repeat_count", left)
        done = frame.block()
        builder.cbranch(builder.icmp_unsigned("!=", left, WORD(0)), body, done)
        self._arrive(ir.IRBuilder(done), end, leaves=False)

    def _arrive(self, builder: ir.IRBuilder, address: int, leaves: bool) -> None:
        if leaves:
            self._frame.leave(builder, WORD(address), Reason.CONTINUE)
        else:
            builder.branch(self._block(address))
