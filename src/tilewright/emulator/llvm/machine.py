"""The abstract machine as a builder of LLVM IR: one instruction or bundle of a worker.

Meanings read registers and memory as they were before the instruction; what they write is collected
and committed together. Whatever may fault branches away before anything has been written.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from tilewright.emulator.faults import (
    AddressFault,
    Break0Fault,
    Break1Fault,
    ConflictFault,
    FloatFault,
    OperandFault,
    TileFault,
)
from tilewright.emulator.llvm import dots
from tilewright.emulator.llvm.access import are_apart, is_accessible, offset_in_memory
from tilewright.emulator.llvm.control import FloatControl
from tilewright.emulator.llvm.dots import PendingDot, WeightEntry
from tilewright.emulator.llvm.effects import Effects, Jump, Repeat
from tilewright.emulator.llvm.frame import ACCUMULATOR_SLOTS, Frame, accumulator_slot
from tilewright.emulator.llvm.halves import Halves
from tilewright.emulator.llvm.host import Host
from tilewright.emulator.llvm.integers import IntegerOperations
from tilewright.emulator.llvm.lanes import LONG, WORD, Emitted, gather, pick
from tilewright.emulator.llvm.layout import WEIGHTS_OFFSET
from tilewright.emulator.llvm.library import Library
from tilewright.emulator.llvm.quarters import Quarters
from tilewright.emulator.llvm.registers import ENDS_TRANSLATION, Registers, next_random
from tilewright.emulator.llvm.singles import Singles, is_special_operand
from tilewright.emulator.llvm.weights import ENTRY_SIZE
from tilewright.emulator.reference.registers import WORKER_FIELDS, worker_csr
from tilewright.isa.meaning import Bound

_LIKELY = [1 << 20, 1]
_UNITS = 8


class CertainFault(Exception):
    """An instruction that faults whatever the values; the machine's user emits the fault."""

    def __init__(self, fault: type[TileFault]) -> None:
        self.fault = fault
        super().__init__(fault.name)


class Requirements:
    """What a translation needs from outside, by name: `tilewright.emulator.llvm.support`."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def place(self, name: str) -> int:
        """Where the address of `name` will be found."""
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)


class LlvmMachine(IntegerOperations):
    """Implements `tilewright.isa.meaning.Machine` for one instruction or bundle at `pc`.

    Emits to `builder`, whose block changes. `following` is the address after the instruction.
    """

    def __init__(
        self,
        frame: Frame,
        library: Library,
        control: FloatControl,
        requirements: Requirements,
        host: Host,
        builder: ir.IRBuilder,
        pc: int,
        following: int,
        in_repeat: bool,
    ) -> None:
        self.frame = frame
        self.library = library
        self.control = control
        self.host = host
        self.builder = builder
        self.in_repeat = in_repeat
        self.effects = Effects()
        self._requirements = requirements
        self._registers = Registers(frame)
        self._pc = pc
        self._following = following
        self._fault_blocks: dict[int, Any] = {}
        self._lanes: dict[int, tuple[Emitted, Emitted, int]] = {}
        self._sources: dict[str, Emitted] = {}
        self._results: dict[PendingDot, Emitted] = {}
        self.f32 = Singles(self)
        self.f16 = Halves(self)
        self.f8 = Quarters(self)

    # -- operands -----------------------------------------------------------------------------

    def get(self, operand: Bound) -> Emitted:
        described = operand.operand
        if not described.is_register:
            return self.const(operand.value)
        value = self._group(described.file, operand.value, described.count)
        if not described.broadcast:
            return value
        lanes = self.split(value, 32 if described.broadcast == ":B" else 16)
        lane = lanes[1] if described.broadcast == ":BU" else lanes[0]
        return self.join([lane] * (operand.lanes_width // lane.type.width))

    def _group(self, file: str, first: int, count: int) -> Emitted:
        if file == "a" and count > 1:
            numbers = range(first, first + count, 2)
            return self.join([self._registers.pair(self.builder, number) for number in numbers])
        numbers = range(first, first + count)
        return self.join([self._registers.word(self.builder, file, each) for each in numbers])

    def set(self, operand: Bound, value: Emitted) -> None:
        assert value.type.width == 32 * operand.operand.count, "a value as wide as its group"
        self.effects.registers.append((operand.operand.file, operand.value, value))

    def immediate(self, operand: Bound) -> int:
        return operand.value

    def second_word(self) -> int:
        raise AssertionError("workers have no instruction of two words")

    def split(self, a: Any, width: int) -> list[Emitted]:
        if isinstance(a, WeightEntry):
            a = self._loaded(a)
        return super().split(a, width)

    # -- memory -------------------------------------------------------------------------------

    def load(self, address: Emitted, width: int) -> Emitted:
        size = width // 8
        self._check(is_accessible(self.builder, address, size), AddressFault)
        return self.builder.load(self._place(address), typ=ir.IntType(width), align=size)

    def store(self, address: Emitted, value: Emitted) -> None:
        self._check(is_accessible(self.builder, address, value.type.width // 8), AddressFault)
        self.effects.stores.append((address, value))

    def check_conflict(self, addresses: Sequence[Emitted]) -> None:
        for place, one in enumerate(addresses):
            for other in addresses[:place]:
                self._check(are_apart(self.builder, one, other), ConflictFault)

    def _place(self, address: Emitted) -> Emitted:
        offset = offset_in_memory(self.builder, address)
        wide = self.builder.zext(offset, LONG)
        return self.builder.gep(self.frame.memory, [wide], source_etype=ir.IntType(8))

    # -- control ------------------------------------------------------------------------------

    def next_pc(self) -> Emitted:
        return self.const(self._following)

    def jump(self, target: Emitted) -> None:
        self.effects.jump = Jump(target)

    def jump_if(self, condition: Emitted, target: Emitted) -> None:
        self.effects.jump = Jump(target, condition)

    def repeat(self, count: Emitted, bundles: int) -> None:
        self.effects.repeat = Repeat(count, bundles)

    def exit(self, status: Emitted) -> None:
        self.effects.exit_status = status

    def trap(self, number: int) -> None:
        raise CertainFault(Break1Fault if number & 1 else Break0Fault)

    def invalid_operands(self, cause: str) -> None:
        raise CertainFault(OperandFault)

    # -- control and status registers ---------------------------------------------------------

    def read_csr(self, index: int, upper: bool = False) -> Emitted:
        return self._registers.read_csr(self.builder, self._csr_name(index, upper), self._pc)

    def write_csr(self, index: int, value: Emitted, upper: bool = False) -> None:
        self.effects.csrs.append((self._csr_name(index, upper), value))

    def _csr_name(self, index: int, upper: bool) -> str:
        try:
            return worker_csr(index, upper).name
        except OperandFault:
            raise CertainFault(OperandFault) from None

    # -- accumulators and weights -------------------------------------------------------------

    def accumulator(self, index: int) -> Emitted:
        slot, lane = accumulator_slot(index)
        return self._lane(self._accumulators(slot), lane)

    def set_accumulator(self, index: int, value: Any) -> None:
        self.effects.accumulators.append((index, value))

    def weight(self, index: int) -> WeightEntry:
        return WeightEntry(index)

    def weights_at(self, index: int, builder: ir.IRBuilder | None = None) -> Emitted:
        """The address of an entry of the weight store."""
        offset = WORD(WEIGHTS_OFFSET + ENTRY_SIZE * index)
        return (builder or self.builder).gep(self.frame.tile, [offset], source_etype=ir.IntType(8))

    def pending_dot(self, kind: str, accumulator: Emitted, x: Emitted, y: Any) -> PendingDot:
        """accumulator + Σ x · y, which only an accumulator can take up."""
        return PendingDot(kind, accumulator, x, y)

    def gathered(self, words: Sequence[Emitted]) -> Emitted:
        """A vector of words; those that are lanes of vectors are moved together."""
        builder = self.builder
        known = [self._lanes.get(id(word)) for word in words]
        first = next((each for each in known if each is not None), None)
        if first is None:
            return gather(builder, words)
        source = first[1]
        places = [each[2] if each is not None and each[1] is source else 0 for each in known]
        result = (
            source
            if places == list(range(source.type.count)) and all(known)
            else pick(builder, source, places)
        )
        for place, (word, each) in enumerate(zip(words, known, strict=True)):
            if each is None or each[1] is not source:
                result = builder.insert_element(result, word, WORD(place))
        return result

    def _lane(self, source: Emitted, lane: int) -> Emitted:
        word = self.builder.extract_element(source, WORD(lane))
        self._lanes[id(word)] = (word, source, lane)
        return word

    def _accumulators(self, slot: str) -> Emitted:
        if slot not in self._sources:
            self._sources[slot] = self.frame.read(self.builder, slot)
        return self._sources[slot]

    def _loaded(self, entry: WeightEntry) -> Emitted:
        place = self.weights_at(entry.index)
        return self.builder.load(place, typ=LONG, align=ENTRY_SIZE)

    # -- random numbers -----------------------------------------------------------------------

    def random(self) -> Emitted:
        state = self.effects.random or self._registers.random_state(self.builder)
        output, self.effects.random = next_random(self.builder, state)
        return output

    def gaussian(self, width: int) -> Emitted:
        return self.f32.normal_pair() if width == 32 else self.f16.normal_pair()

    # -- for the floating-point units ---------------------------------------------------------

    def call_rounding(
        self,
        name: str,
        body: Any,
        result: Any,
        operands: Sequence[Emitted],
        attributes: Sequence[str] = (),
    ) -> Emitted:
        """Call a support function; gives the pattern of its result, and keeps the flags."""
        both = self.library.call(self.builder, name, body, result, operands, attributes)
        self.raise_flags(self.builder.extract_value(both, 1))
        return self.builder.extract_value(both, 0)

    def raise_flags(self, flags: Emitted) -> None:
        self.effects.flags.append(flags)

    def shorten_division(self, a: Emitted, b: Emitted) -> None:
        """Take note of operands that make a division short."""
        special = [is_special_operand(self.builder, each) for each in (a, b)]
        self.effects.short_division = self.builder.or_(*special)

    def support(self, name: str) -> Emitted:
        """The address of something outside translated code."""
        return self.frame.support_pointer(self._requirements.place(name))

    def support_word(self, name: str) -> Emitted:
        """The same, as a number."""
        return self.frame.support_word(self._requirements.place(name))

    # -- the end of the instruction -----------------------------------------------------------

    def commit(self) -> None:
        """Check floating-point exceptions, then let all writes land, in the reference's order."""
        self._compute_dots()
        self._check_flags()
        for file, first, value in self.effects.registers:
            self._write_group(file, first, value)
        self._write_accumulators()
        if self.effects.random is not None:
            self._registers.set_random_state(self.builder, self.effects.random)
        for name, word in self.effects.csrs:
            self._registers.write_csr(self.builder, name, word)
        for address, value in self.effects.stores:
            size = value.type.width // 8
            self.builder.store(value, self._place(address), align=size)

    @property
    def ends_translation(self) -> bool:
        """Whether a register was written on which the translation depends."""
        written = {WORKER_FIELDS.get(name) for name, _ in self.effects.csrs}
        return bool(written & ENDS_TRANSLATION)

    def _compute_dots(self) -> None:
        pending = [value for _, value in self.effects.accumulators if isinstance(value, PendingDot)]
        done = 0
        for results in dots.compute(self, pending):
            for lane in range(results.type.count):
                self._results[pending[done]] = self._lane(results, lane)
                done += 1

    def _check_flags(self) -> None:
        if not self.effects.flags:
            return
        flags = WORD(0)
        for each in self.effects.flags:
            flags = self.builder.or_(flags, each)
        self._registers.raise_flags(self.builder, flags)
        if self.control.enabled:
            raised = self.builder.and_(flags, WORD(self.control.enabled))
            self._check(self.builder.icmp_unsigned("==", raised, WORD(0)), FloatFault)

    def _write_group(self, file: str, first: int, value: Emitted) -> None:
        if file == "a" and value.type.width > 32:
            for place, pair in enumerate(self.split(value, 64)):
                self._registers.set_pair(self.builder, first + 2 * place, pair)
            return
        for place, word in enumerate(self.split(value, 32)):
            self._registers.set_word(self.builder, file, first + place, word)

    def _write_accumulators(self) -> None:
        written: dict[str, dict[int, Emitted]] = {}
        for index, value in self.effects.accumulators:
            slot, lane = accumulator_slot(index)
            word = self._results[value] if isinstance(value, PendingDot) else value
            written.setdefault(slot, {})[lane] = word
        for slot in ACCUMULATOR_SLOTS:
            if slot in written:
                words = [
                    written[slot][lane]
                    if lane in written[slot]
                    else self._lane(self._accumulators(slot), lane)
                    for lane in range(_UNITS)
                ]
                self.frame.write(self.builder, slot, self.gathered(words))

    def _check(self, holds: Emitted, fault: type[TileFault]) -> None:
        """Go on only if a condition holds."""
        onward = self.frame.block()
        branch = self.builder.cbranch(holds, onward, self._fault_block(fault))
        branch.set_weights(_LIKELY)
        self.builder.position_at_end(onward)

    def _fault_block(self, fault: type[TileFault]) -> Any:
        if fault.number not in self._fault_blocks:
            block = self.frame.block()
            self.frame.fault(ir.IRBuilder(block), self._pc, fault)
            self._fault_blocks[fault.number] = block
        return self._fault_blocks[fault.number]
