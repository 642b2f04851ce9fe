"""Floating-point arithmetic, comparison, functions and conversions, on one to four lanes."""

from collections.abc import Callable

from tilewright.isa.meaning.machine import Bound, Floats, Machine, Value
from tilewright.isa.meaning.registry import Meaning, meaning, register_family

_Unit = Callable[[Machine], Floats]


def _singles(m: Machine) -> Floats:
    return m.f32


def _halves(m: Machine) -> Floats:
    return m.f16


_SHAPES: dict[str, tuple[_Unit, int]] = {
    "f32": (_singles, 32),
    "f32v2": (_singles, 32),
    "f16v2": (_halves, 16),
    "f16v4": (_halves, 16),
}
"""Shape → arithmetic unit and lane width; the number of lanes follows from the operands."""


def _binary(unit: _Unit, operation: str) -> Meaning:
    def binary(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
        m.set(d, getattr(unit(m), operation)(m.get(a), m.get(b)))

    return binary


def _comparison(unit: _Unit, relation: str) -> Meaning:
    def compare(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
        m.set(d, unit(m).compare(relation, m.get(a), m.get(b)))

    return compare


def _clamp(unit: _Unit, width: int) -> Meaning:
    """The first two lanes of b are the lower and upper bound of all lanes of a."""

    def clamp(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
        value = m.get(a)
        lanes = len(m.split(value, width))
        low, high = (m.join([bound] * lanes) for bound in m.split(m.get(b), width)[:2])
        m.set(d, unit(m).clamp(value, low, high))

    return clamp


def _classify(unit: Callable[[Machine], Floats], width: int) -> Meaning:
    """One code for each lane, in bytes from bit 0 up."""

    def classify(m: Machine, d: Bound, a: Bound) -> None:
        codes = m.split(unit(m).classify(m.get(a)), width)
        m.set(d, m.zero_extend(m.join([m.split(code, 8)[0] for code in codes]), 32))

    return classify


def _unary(unit: _Unit, function: str) -> Meaning:
    def unary(m: Machine, d: Bound, a: Bound) -> None:
        m.set(d, unit(m).unary(function, m.get(a)))

    return unary


def _uniform(unit: _Unit) -> Meaning:
    def uniform(m: Machine, d: Bound, a: Bound) -> None:
        m.set(d, unit(m).uniform(m.get(a)))

    return uniform


for _shape, (_unit, _width) in _SHAPES.items():
    for _operation in ("add", "sub", "mul", "absadd", "max", "min", "absmax"):
        meaning(f"{_shape}{_operation}")(_binary(_unit, _operation))
    for _relation in ("eq", "ne", "gt", "ge", "lt", "le"):
        meaning(f"{_shape}cmp{_relation}")(_comparison(_unit, _relation))
    meaning(f"{_shape}clamp")(_clamp(_unit, _width))
    meaning(f"{_shape}class")(_classify(_unit, _width))
    meaning(f"{_shape}sufromui")(_uniform(_unit))

for _function in ("exp", "exp2", "ln", "log2", "tanh", "sigm"):
    meaning(f"f32{_function}")(_unary(_singles, _function))
    meaning(f"f16v2{_function}")(_unary(_halves, _function))
for _function in ("sqrt", "oox", "oorx"):
    meaning(f"f32{_function}")(_unary(_singles, _function))


@meaning("f8v4class")
def classify_quarters(m: Machine, d: Bound, a: Bound) -> None:
    m.set(d, m.f8.classify(m.get(a)))


@meaning("f32div")
def divide(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    m.set(d, m.f32.div(m.get(a), m.get(b)))


@meaning("f32int")
def round_to_integral(m: Machine, d: Bound, a: Bound, mode: Bound) -> None:
    m.set(d, m.f32.round(m.get(a), m.immediate(mode)))


# -- within a vector --------------------------------------------------------------------------


@meaning("f16v2sum", "f16v4sum")
def sum_pairs(m: Machine, d: Bound, a: Bound) -> None:
    """The sum of each two neighbouring halves, as a single."""
    m.set(d, m.f16.sum_pairs(m.get(a)))


@meaning("f16v2maxc")
def maximum_of_two(m: Machine, d: Bound, a: Bound) -> None:
    """The larger half, in both halves (assumed, `maxc`)."""
    low, high = m.split(m.get(a), 16)
    largest = m.f16.max(low, high)
    m.set(d, m.join([largest, largest]))


@meaning("f16v4maxc")
def maxima_of_pairs(m: Machine, d: Bound, a: Bound) -> None:
    lanes = m.split(m.get(a), 16)
    m.set(d, m.join([m.f16.max(lanes[0], lanes[1]), m.f16.max(lanes[2], lanes[3])]))


# -- conversions ------------------------------------------------------------------------------


@meaning("f16tof32")
def half_to_single(m: Machine, d: Bound, a: Bound) -> None:
    """The lower half."""
    m.set(d, m.f16.to_single(m.split(m.get(a), 16)[0]))


@meaning("f16v2tof32")
def halves_to_singles(m: Machine, d: Bound, a: Bound) -> None:
    m.set(d, m.f16.to_single(m.get(a)))


@meaning("f32tof16")
def single_to_half(m: Machine, d: Bound, a: Bound) -> None:
    """In both halves."""
    half = m.f32.to_half(m.get(a))
    m.set(d, m.join([half, half]))


@meaning("f32v2tof16", "f32v4tof16")
def singles_to_halves(m: Machine, d: Bound, a: Bound) -> None:
    m.set(d, m.f32.to_half(m.get(a)))


def _from_integer(is_signed: bool) -> Meaning:
    def from_integer(m: Machine, d: Bound, a: Bound) -> None:
        m.set(d, m.f32.from_int(m.get(a), is_signed))

    return from_integer


def _to_integer(is_signed: bool) -> Meaning:
    def to_integer(m: Machine, d: Bound, a: Bound) -> None:
        m.set(d, m.f32.to_int(m.get(a), is_signed))

    return to_integer


register_family({"f32fromi32": (True,), "f32fromui32": (False,)}, _from_integer)
register_family({"f32toi32": (True,), "f32toui32": (False,)}, _to_integer)


@meaning("f8v2tof16")
def two_quarters_to_halves(m: Machine, d: Bound, a: Bound) -> None:
    """The lower two."""
    m.set(d, m.f8.to_half(m.split(m.get(a), 16)[0]))


@meaning("f8v4tof16")
def quarters_to_halves(m: Machine, d: Bound, a: Bound) -> None:
    m.set(d, m.f8.to_half(m.get(a)))


@meaning("f16v2tof8")
def two_halves_to_quarters(m: Machine, d: Bound, a: Bound) -> None:
    """In the lower and again in the upper 16 bits (assumed, `tof8-hi`)."""
    quarters = m.f16.to_quarter(m.get(a))
    m.set(d, m.join([quarters, quarters]))


@meaning("f16v8tof8")
def halves_to_quarters(m: Machine, d: Bound, a: Bound) -> None:
    m.set(d, m.f16.to_quarter(m.get(a)))


# -- random numbers ---------------------------------------------------------------------------


@meaning("urand32")
def random_word(m: Machine, d: Bound) -> None:
    m.set(d, m.split(m.random(), 32)[0])


@meaning("urand64")
def random_words(m: Machine, d: Bound) -> None:
    m.set(d, m.random())


def _gaussian(width: int) -> Meaning:
    def gaussian(m: Machine, d: Bound) -> None:
        m.set(d, m.gaussian(width))

    return gaussian


register_family({"f32v2grand": (32,), "f16v2grand": (16,)}, _gaussian)


def _random_mask(width: int) -> Meaning:
    """Keep each lane with the probability p / 2**16, else make it 0."""

    def random_mask(m: Machine, d: Bound, a: Bound, p: Bound) -> None:
        chance = m.get(p)
        keeps_all = m.eq(m.and_(chance, m.const(1 << 16)), m.const(1 << 16))
        threshold = m.and_(chance, m.const((1 << 16) - 1))
        lanes: list[Value] = []
        for lane, draw in zip(m.split(m.get(a), width), m.split(m.random(), 16), strict=False):
            is_drawn = m.ult(m.zero_extend(draw, 32), threshold)
            lanes.append(m.select(m.or_(keeps_all, is_drawn), lane, m.const(0, width)))
        m.set(d, m.join(lanes))

    return random_mask


register_family({"f16v4rmask": (16,), "f32v2rmask": (32,)}, _random_mask)
