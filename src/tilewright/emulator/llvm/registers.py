"""A worker's registers as translated code sees them: views, zeros, CSRs, random numbers."""

from llvmlite import ir

from tilewright.emulator.llvm.control import FLAG_BITS, SPECIALISED_FIELDS
from tilewright.emulator.llvm.frame import ACCUMULATOR_SLOTS, Frame, pair_slot
from tilewright.emulator.llvm.lanes import (
    LONG,
    WORD,
    Emitted,
    gather,
    packed,
    same_type_intrinsic,
    splat,
    unpacked,
)
from tilewright.emulator.llvm.layout import DEBUG_DATA_OFFSET
from tilewright.emulator.reference.registers import (
    CLEAR_ACCUMULATORS,
    READ_ONLY,
    WORKER_FIELDS,
    WRITABLE_BITS,
)
from tilewright.emulator.state import A_REGISTERS, M_REGISTERS
from tilewright.target.timing import WORKER_STEP

_VIEWS = {12: "worker_base", 13: "vertex_base"}
"""$m registers that show a CSR."""
_ETYPE_SHIFT = 4
_REPEAT_FIELDS = frozenset({"repeat_count", "repeat_first", "repeat_end"})
ENDS_TRANSLATION = SPECIALISED_FIELDS | _REPEAT_FIELDS
"""Fields that a translation takes for granted, so that it ends where they are written."""
_UNITS = 8


class Registers:
    """Reads and writes of the registers in `frame`."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    # -- register files -----------------------------------------------------------------------

    def word(self, builder: ir.IRBuilder, file: str, number: int) -> Emitted:
        if file == "a":
            return builder.extract_element(self._pair(builder, number), WORD(number & 1))
        if number in _VIEWS:
            return self._frame.read(builder, _VIEWS[number])
        return self._frame.read(builder, f"m{number}") if number < M_REGISTERS else WORD(0)

    def pair(self, builder: ir.IRBuilder, number: int) -> Emitted:
        """The pair of $a registers that holds register `number`, as one integer."""
        return packed(builder, self._pair(builder, number))

    def set_word(self, builder: ir.IRBuilder, file: str, number: int, word: Emitted) -> None:
        if number >= (A_REGISTERS if file == "a" else M_REGISTERS):
            return
        if file == "m":
            self._frame.write(builder, f"m{number}", word)
            return
        changed = builder.insert_element(self._pair(builder, number), word, WORD(number & 1))
        self._frame.write(builder, pair_slot(number), changed)

    def set_pair(self, builder: ir.IRBuilder, number: int, value: Emitted) -> None:
        if number < A_REGISTERS:
            self._frame.write(builder, pair_slot(number), unpacked(builder, value, 32))

    def _pair(self, builder: ir.IRBuilder, number: int) -> Emitted:
        if number >= A_REGISTERS:
            return splat(WORD, 2, 0)
        return self._frame.read(builder, pair_slot(number))

    # -- control and status -------------------------------------------------------------------

    def read_csr(self, builder: ir.IRBuilder, name: str, pc: int) -> Emitted:
        frame = self._frame
        match name:
            case "PC":
                return WORD(pc)
            case "WSR":
                exception = frame.read(builder, "exception")
                return builder.or_(frame.worker, builder.shl(exception, WORD(_ETYPE_SHIFT)))
            case "COUNT_L":
                return builder.trunc(self._cycle(builder), WORD)
            case "COUNT_U":
                return builder.trunc(builder.lshr(self._cycle(builder), LONG(32)), WORD)
            case "PRNG_0_0" | "PRNG_0_1" | "PRNG_1_0" | "PRNG_1_1":
                return _half(builder, frame.read(builder, f"random{name[5]}"), int(name[7]))
            case "DBG_DATA":
                return builder.load(self._debug_data(builder), typ=WORD, align=4)
        if name in WORKER_FIELDS:
            return frame.read(builder, WORKER_FIELDS[name])
        return WORD(0)

    def write_csr(self, builder: ir.IRBuilder, name: str, word: Emitted) -> None:
        frame = self._frame
        if name in READ_ONLY or name == "DBG_BRK_ID":
            return
        match name:
            case "FP_CLR":
                self._clear(builder, word)
            case "PRNG_SEED":
                self._seed(builder, word)
            case "PRNG_0_0" | "PRNG_0_1" | "PRNG_1_0" | "PRNG_1_1":
                slot = f"random{name[5]}"
                changed = _with_half(builder, frame.read(builder, slot), int(name[7]), word)
                frame.write(builder, slot, changed)
            case "DBG_DATA":
                builder.store(word, self._debug_data(builder), align=4)
            case _:
                if name in WRITABLE_BITS:
                    word = builder.and_(word, WORD(WRITABLE_BITS[name]))
                frame.write(builder, WORKER_FIELDS[name], word)

    def raise_flags(self, builder: ir.IRBuilder, flags: Emitted) -> None:
        """They stay set until cleared."""
        raised = builder.icmp_unsigned("!=", flags, WORD(0))
        with builder.if_then(raised, likely=False):
            old = self._frame.read(builder, "float_status")
            self._frame.write(builder, "float_status", builder.or_(old, flags))

    # -- random numbers -----------------------------------------------------------------------

    def random_state(self, builder: ir.IRBuilder) -> tuple[Emitted, Emitted]:
        return self._frame.read(builder, "random0"), self._frame.read(builder, "random1")

    def set_random_state(self, builder: ir.IRBuilder, state: tuple[Emitted, Emitted]) -> None:
        for number, word in enumerate(state):
            self._frame.write(builder, f"random{number}", word)

    def _seed(self, builder: ir.IRBuilder, word: Emitted) -> None:
        """As `tilewright.emulator.reference.registers`."""
        inverse = builder.not_(word)
        low = same_type_intrinsic(builder, "fshl", word, inverse, WORD(13))
        high = same_type_intrinsic(builder, "fshl", inverse, word, WORD(13))
        state = _joined(builder, word, inverse), _joined(builder, low, high)
        self.set_random_state(builder, state)

    # -- inside -------------------------------------------------------------------------------

    def _cycle(self, builder: ir.IRBuilder) -> Emitted:
        taken = builder.mul(self._frame.steps(builder), LONG(WORKER_STEP.value))
        return builder.add(self._frame.start_cycle, taken)

    def _clear(self, builder: ir.IRBuilder, word: Emitted) -> None:
        frame = self._frame
        kept = builder.not_(builder.and_(word, WORD(FLAG_BITS)))
        status = builder.and_(frame.read(builder, "float_status"), kept)
        frame.write(builder, "float_status", status)
        flag = builder.and_(word, WORD(CLEAR_ACCUMULATORS))
        clears = builder.icmp_unsigned("!=", flag, WORD(0))
        for name in ACCUMULATOR_SLOTS:
            old = frame.read(builder, name)
            frame.write(builder, name, builder.select(clears, splat(WORD, _UNITS, 0), old))

    def _debug_data(self, builder: ir.IRBuilder) -> Emitted:
        return builder.gep(self._frame.tile, [WORD(DEBUG_DATA_OFFSET)], source_etype=ir.IntType(8))


def next_random(
    builder: ir.IRBuilder, state: tuple[Emitted, Emitted]
) -> tuple[Emitted, tuple[Emitted, Emitted]]:
    """One output of xoroshiro128aox and its next state, as the reference engine has it."""
    s0, s1 = state
    both, either = builder.and_(s0, s1), builder.xor(s0, s1)
    spread = builder.or_(_rotated(builder, both, 1), _rotated(builder, both, 2))
    output = builder.xor(either, spread)
    mixed = builder.xor(_rotated(builder, s0, 55), either)
    first = builder.xor(mixed, builder.shl(either, LONG(14)))
    return output, (first, _rotated(builder, either, 36))


def _rotated(builder: ir.IRBuilder, word: Emitted, places: int) -> Emitted:
    return same_type_intrinsic(builder, "fshl", word, word, LONG(places))


# Halves of longs are lanes of vectors here, for the same reason as in `frame.pair_slot`.


def _half(builder: ir.IRBuilder, pair: Emitted, half: int) -> Emitted:
    return builder.extract_element(unpacked(builder, pair, 32), WORD(half))


def _joined(builder: ir.IRBuilder, low: Emitted, high: Emitted) -> Emitted:
    return packed(builder, gather(builder, [low, high]))


def _with_half(builder: ir.IRBuilder, pair: Emitted, half: int, word: Emitted) -> Emitted:
    changed = builder.insert_element(unpacked(builder, pair, 32), word, WORD(half))
    return packed(builder, changed)
