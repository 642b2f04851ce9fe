"""The abstract machine on which the meaning of every instruction is stated.

A meaning is a function of a machine `m` and the instruction's operands in text order. It never
looks inside a value: the reference engine runs it with plain numbers, the LLVM engine with an IR
builder. So there is no Python `if` on a value; `select`, `jump_if` and checks take its place.
Immediates are known when a meaning runs: `m.immediate(operand)` is an int, on which Python may
branch.

What belongs to every instruction is the engine's: reads see the registers and memory as they were
before the instruction (or bundle), writes land together at its end, and a fault leaves everything
as it was.

Values are bit vectors. Integer operations work on 32 bits unless said otherwise; floating-point
operations work on all lanes of the vectors they are given, lane 0 in the lowest bits. Booleans are
vectors of one bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tilewright.isa.forms import Operand

Value = Any
"""A bit vector of the engine; meanings pass it on and never look inside."""


@dataclass(frozen=True, slots=True)
class Bound:
    """An operand with what the word says of it: first register, or immediate.

    `lanes_width` is the width in bits to which a broadcast register is spread.
    """

    operand: Operand
    value: int
    lanes_width: int = 32


class Floats(Protocol):
    """Arithmetic of one format, lane by lane, with rounding, flags and exceptions of the chip."""

    def add(self, a: Value, b: Value) -> Value: ...

    def sub(self, a: Value, b: Value) -> Value: ...

    def mul(self, a: Value, b: Value) -> Value: ...

    def absadd(self, a: Value, b: Value) -> Value:
        """abs(a) + abs(b)"""

    def max(self, a: Value, b: Value) -> Value: ...

    def min(self, a: Value, b: Value) -> Value: ...

    def absmax(self, a: Value, b: Value) -> Value:
        """max(abs(a), abs(b))"""

    def clamp(self, a: Value, low: Value, high: Value) -> Value:
        """min(max(a, low), high)"""

    def compare(self, relation: str, a: Value, b: Value) -> Value:
        """All ones in lanes where `relation` (eq ne gt ge lt le) holds, else zero."""

    def classify(self, a: Value) -> Value:
        """The class code of each lane, in a lane as wide."""

    def unary(self, function: str, a: Value) -> Value:
        """exp exp2 ln log2 tanh sigm; of singles also sqrt oox oorx."""

    def uniform(self, a: Value) -> Value:
        """From unsigned integer lanes of N bits: (2u + 1 - 2**N) / 2**(N + 1)."""


class Singles(Floats, Protocol):
    """f32."""

    def div(self, a: Value, b: Value) -> Value: ...

    def round(self, a: Value, mode: int) -> Value:
        """To an integral value."""

    def from_int(self, a: Value, is_signed: bool) -> Value: ...

    def to_int(self, a: Value, is_signed: bool) -> Value: ...

    def to_half(self, a: Value) -> Value:
        """Singles to halves; stochastic where the context asks for it. Half as wide."""

    def dot(self, accumulator: Value, x: Value, y: Value) -> Value:
        """accumulator + the sum of x * y over the lanes of x and y, rounded once."""


class Halves(Floats, Protocol):
    """f16."""

    def to_single(self, a: Value) -> Value:
        """Halves to singles, exactly. Twice as wide."""

    def sum_pairs(self, a: Value) -> Value:
        """The sums of lanes 0 and 1, 2 and 3, … as singles, each rounded once. As wide."""

    def dot(self, accumulator: Value, x: Value, y: Value) -> Value:
        """accumulator (single) + the sum of x * y over the lanes of x and y, rounded once."""

    def to_quarter(self, a: Value) -> Value:
        """Halves to quarters in the context's format and scale. Half as wide."""


class Quarters(Protocol):
    """f8, in the formats and scale that the context's CSRs name."""

    def to_half(self, a: Value) -> Value:
        """Quarters to halves, scaled. Twice as wide."""

    def classify(self, a: Value) -> Value:
        """The class code of each lane, in a lane as wide."""

    def dot(self, accumulator: Value, x: Value, weights: Value) -> Value:
        """accumulator (single) + the scaled sum of x * weights over the lanes, rounded once."""


class Machine(Protocol):
    """What meanings may do. See the module's docstring."""

    f32: Singles
    f16: Halves
    f8: Quarters

    # -- operands -----------------------------------------------------------------------------

    def get(self, operand: Bound) -> Value:
        """The value of a register or group, broadcasts spread; an immediate as 32 bits."""

    def set(self, operand: Bound, value: Value) -> None:
        """Write a register or group."""

    def immediate(self, operand: Bound) -> int:
        """The number that an immediate holds.

        In instructions that supervisors may execute it may be a stand-in for a number that is only
        known later: meanings use `+ - * & % >> <` on it, ask whether the result is 0, and no more.
        """

    # -- integers -----------------------------------------------------------------------------

    def const(self, number: int, width: int = 32) -> Value:
        """A constant; negative numbers in two's complement."""

    def add(self, a: Value, b: Value) -> Value: ...

    def sub(self, a: Value, b: Value) -> Value: ...

    def mul(self, a: Value, b: Value) -> Value: ...

    def and_(self, a: Value, b: Value) -> Value: ...

    def or_(self, a: Value, b: Value) -> Value: ...

    def xor(self, a: Value, b: Value) -> Value: ...

    def not_(self, a: Value) -> Value: ...

    def shl(self, a: Value, b: Value) -> Value:
        """Shift left; 0 where the amount is the width or more."""

    def shr(self, a: Value, b: Value) -> Value:
        """Logical shift right; 0 where the amount is the width or more."""

    def sar(self, a: Value, b: Value) -> Value:
        """Arithmetic shift right; all sign bits where the amount is the width or more."""

    def eq(self, a: Value, b: Value) -> Value: ...

    def ult(self, a: Value, b: Value) -> Value: ...

    def slt(self, a: Value, b: Value) -> Value: ...

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """a where the condition holds, else b."""

    def leading_zeros(self, a: Value) -> Value: ...

    def population(self, a: Value) -> Value:
        """The number of ones."""

    def reverse_bits(self, a: Value) -> Value: ...

    def zero_extend(self, a: Value, width: int) -> Value: ...

    def sign_extend(self, a: Value, width: int) -> Value: ...

    def split(self, a: Value, width: int) -> list[Value]:
        """The lanes of `width` bits, lowest first."""

    def join(self, lanes: Sequence[Value]) -> Value:
        """One vector of lanes, lowest first."""

    # -- memory -------------------------------------------------------------------------------

    def load(self, address: Value, width: int) -> Value:
        """`width` bits; faults if misaligned, out of range or, at 128, not in region 1."""

    def store(self, address: Value, value: Value) -> None:
        """Write a value of 32 or 64 bits. Faults as `load`."""

    def check_conflict(self, addresses: Sequence[Value]) -> None:
        """CONFLICT if two of the accesses fall into one memory element."""

    # -- control ------------------------------------------------------------------------------

    def next_pc(self) -> Value:
        """The address of what follows this instruction, or its bundle."""

    def jump(self, target: Value) -> None: ...

    def jump_if(self, condition: Value, target: Value) -> None: ...

    def repeat(self, count: Value, bundles: int) -> None:
        """Run the `bundles` bundles that follow `count` times."""

    def exit(self, status: Value) -> None:
        """End this worker with a Boolean."""

    def trap(self, number: int) -> None:
        """A break exception: PBRK1 for odd numbers, PBRK0 for even ones."""

    def invalid_operands(self, cause: str) -> None:
        """INVALID_OP, whatever the values."""

    def launch(self, entry: Value, vertex_base: Value) -> None:
        """Start one worker."""

    def launch_all(self, entry: Value, vertex_base: Value, stride: int) -> None:
        """Start all workers; worker n's vertex base is n times `stride` bytes further on."""

    # -- control and status registers ---------------------------------------------------------

    def read_csr(self, index: int, upper: bool = False) -> Value: ...

    def write_csr(self, index: int, value: Value, upper: bool = False) -> None: ...

    # -- accumulators, weights, random numbers ------------------------------------------------

    def accumulator(self, index: int) -> Value:
        """AACC register `index`, an f32."""

    def set_accumulator(self, index: int, value: Value) -> None: ...

    def weight(self, index: int) -> Value:
        """Entry `index` of the weight store, 64 bits."""

    def set_weight(self, index: int, value: Value) -> None: ...

    def random(self) -> Value:
        """The next 64 bits of this worker's generator."""

    def gaussian(self, width: int) -> Value:
        """Two approximately normal samples in lanes of `width` bits (assumed, `grand`)."""

    # -- synchronisation and exchange ---------------------------------------------------------

    def sync(self, zone: int) -> None: ...

    def sans(self, count: int) -> None: ...

    def delay(self, events: int) -> None:
        """Let `events` events of the exchange pass."""

    def second_word(self) -> int:
        """The data word of an instruction of two words."""

    def send(self, items: int, address: int | None, control: int | None, advance: int = 0) -> None:
        """Send `items` items, one per event.

        From `address` (in items), or None to go on `advance` items past the last one sent.
        `control` is the direction mask and item size; None repeats the last.
        """

    def receive_pointer(self, selector: int, value: int, at_last: bool) -> None:
        """Set the incoming pointer (0) or format (1) at the first or last event of this."""

    def receive_source(self, selector: int, value: int, at_last: bool) -> None:
        """Set the own (0) or the paired (1) incoming source at the first or last event of this."""
