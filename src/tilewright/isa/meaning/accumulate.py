"""The accumulators: multiply-accumulate, sums, get-and-initialise, and transposition.

Accumulators of set k, unit j: E = AACC[16k + 2j] sums up, O = AACC[16k + 2j + 1] passes on.
"""

from collections.abc import Callable, Sequence

from tilewright.isa.meaning.machine import Bound, Machine, Value
from tilewright.isa.meaning.registry import Meaning, meaning, register_family
from tilewright.target.csr import CSRS

_TAS = CSRS["TAS"].index
_HALF_ONE, _SINGLE_ONE = 0x3C00, 0x3F80_0000
_NEGATIVE_ZERO = 0x8000_0000
"""What changes no sum that it is added to, not even the sign of one that is zero."""


def _add_to(m: Machine, index: int, dot: Callable[..., Value], x: Value, y: Value) -> None:
    m.set_accumulator(index, dot(m.accumulator(index), x, y))


@meaning("f16v2cmac", "f16v4cmac")
def multiply_accumulate_halves(m: Machine, a: Bound, b: Bound) -> None:
    """Lanes 0 and 1 into AACC0, lanes 2 and 3 into AACC2."""
    for place, (x, y) in enumerate(zip(m.split(m.get(a), 32), m.split(m.get(b), 32), strict=True)):
        _add_to(m, 2 * place, m.f16.dot, x, y)


@meaning("f32mac", "f32v2mac")
def multiply_accumulate_singles(m: Machine, a: Bound, b: Bound) -> None:
    for place, (x, y) in enumerate(zip(m.split(m.get(a), 32), m.split(m.get(b), 32), strict=True)):
        _add_to(m, 2 * place, m.f32.dot, x, y)


def _plain(m: Machine, lane: Value, width: int) -> tuple[Value, Value]:
    return lane, m.const(_HALF_ONE if width == 16 else _SINGLE_ONE, width)


def _absolute(m: Machine, lane: Value, width: int) -> tuple[Value, Value]:
    magnitude = m.and_(lane, m.const((1 << (width - 1)) - 1, width))
    return _plain(m, magnitude, width)


def _squared(m: Machine, lane: Value, width: int) -> tuple[Value, Value]:
    return lane, lane


def _accumulate(
    width: int, factors: Callable[[Machine, Value, int], tuple[Value, Value]]
) -> Meaning:
    """AACC[2i] += lane i, its magnitude, or its square."""

    def accumulate(m: Machine, a: Bound) -> None:
        dot = m.f16.dot if width == 16 else m.f32.dot
        for place, lane in enumerate(m.split(m.get(a), width)):
            _add_to(m, 2 * place, dot, *factors(m, lane, width))

    return accumulate


register_family(
    {
        "f16v4acc": (16, _plain),
        "f16v8acc": (16, _plain),
        "f32v4acc": (32, _plain),
        "f16v4absacc": (16, _absolute),
        "f16v8absacc": (16, _absolute),
        "f32v4absacc": (32, _absolute),
        "f16v8sqacc": (16, _squared),
        "f32v4sqacc": (32, _squared),
    },
    _accumulate,
)


@meaning("f32v2axpy")
def scale_and_add(m: Machine, d: Bound, x: Bound, y: Bound) -> None:
    """Give the last result, and start TAS * x + y."""
    scale = m.read_csr(_TAS, upper=True)
    m.set(d, m.join([m.accumulator(0), m.accumulator(2)]))
    lanes = zip(m.split(m.get(x), 32), m.split(m.get(y), 32), strict=True)
    for place, (one, other) in enumerate(lanes):
        m.set_accumulator(2 * place, m.f32.dot(other, scale, one))


def _half_results(m: Machine) -> Value:
    return m.f32.to_half(m.join([m.accumulator(index) for index in (0, 2, 4, 6)]))


@meaning("f16v4mix")
def mix(m: Machine, d: Bound, x: Bound, y: Bound) -> None:
    """Give the last result, and start a * x + b * y with a, b = TAS (order assumed, `mix`)."""
    scales = m.read_csr(_TAS, upper=True)
    m.set(d, _half_results(m))
    lanes = zip(m.split(m.get(x), 16), m.split(m.get(y), 16), strict=True)
    for place, (one, other) in enumerate(lanes):
        total = m.f16.dot(m.const(_NEGATIVE_ZERO), m.join([one, other]), scales)
        m.set_accumulator(2 * place, total)


@meaning("f16v4gacc")
def get_accumulators(m: Machine, d: Bound) -> None:
    m.set(d, _half_results(m))


@meaning("f32v2aop")
def outer_product(m: Machine, a: Bound, b: Bound, flags: Bound) -> None:
    """AACC0, 2, 4, 6 += a0*b0, a0*b1, a1*b0, a1*b1, whatever the flags (assumed, `aop`)."""
    pairs = [(x, y) for x in m.split(m.get(a), 32) for y in m.split(m.get(b), 32)]
    for place, (x, y) in enumerate(pairs):
        _add_to(m, 2 * place, m.f32.dot, x, y)


# -- get and initialise -----------------------------------------------------------------------


_COLUMN_LENGTH = 8


def _column(m: Machine, column: int) -> list[int] | None:
    """The accumulators of a column of the array: even or odd ones of set 0 or 1."""
    if column > 3:
        m.invalid_operands("there are four accumulator columns")
        return None
    first = 16 * (column >> 1) + (column & 1)
    return [first + 2 * place for place in range(_COLUMN_LENGTH)]


def _shift_in(m: Machine, column: Sequence[int], incoming: Sequence[Value]) -> None:
    """Move a column two places to the front, and append two values."""
    values = [m.accumulator(index) for index in column[2:]] + list(incoming)
    for index, value in zip(column, values, strict=True):
        m.set_accumulator(index, value)


@meaning("f32v2gina")
def get_and_initialise_singles(m: Machine, d: Bound, a: Bound, column: Bound) -> None:
    indices = _column(m, m.immediate(column))
    if indices is not None:
        m.set(d, m.join([m.accumulator(index) for index in indices[:2]]))
        _shift_in(m, indices, m.split(m.get(a), 32))


@meaning("f16v2gina")
def get_and_initialise_halves(m: Machine, d: Bound, a: Bound, column: Bound) -> None:
    indices = _column(m, m.immediate(column))
    if indices is not None:
        m.set(d, m.f32.to_half(m.join([m.accumulator(index) for index in indices[:2]])))
        _shift_in(m, indices, m.split(m.f16.to_single(m.get(a)), 32))


# -- transposition ----------------------------------------------------------------------------


def _transpose_output(m: Machine, d: Bound, chain: list[Value]) -> list[Value]:
    """Give the first two words of the chain, and move it two places to the front."""
    m.set(d, m.join(chain[:2]))
    return chain[2:] + chain[-2:]


def _chain(m: Machine) -> list[Value]:
    return [m.accumulator(2 * unit + 1) for unit in range(_COLUMN_LENGTH)]


def _set_chain(m: Machine, chain: Sequence[Value]) -> None:
    for unit, value in enumerate(chain):
        m.set_accumulator(2 * unit + 1, value)


@meaning("f16v4stacc")
def store_accumulators(m: Machine, d: Bound, flags: Bound) -> None:
    """A column of a 4x4 block of halves; flag 0 starts a block (layout assumed, `stacc`)."""
    phase = m.immediate(flags)
    if phase > 1:
        m.invalid_operands("unknown flags")
        return
    chain = [m.accumulator(2 * unit) for unit in range(_COLUMN_LENGTH)] if phase == 0 else _chain(m)
    _set_chain(m, _transpose_output(m, d, chain))


@meaning("f16v4istacc")
def store_and_load_accumulators(m: Machine, d: Bound, a: Bound, b: Bound, flags: Bound) -> None:
    """A column of the last block, while two rows of the next are loaded."""
    phase = m.immediate(flags)
    if phase > 1:
        m.invalid_operands("unknown flags")
        return
    _set_chain(m, _transpose_output(m, d, _chain(m)))
    rows = zip(m.split(m.get(a), 16), m.split(m.get(b), 16), strict=True)
    for place, (upper_row, lower_row) in enumerate(rows):
        m.set_accumulator(2 * (2 * place + phase), m.join([upper_row, lower_row]))
