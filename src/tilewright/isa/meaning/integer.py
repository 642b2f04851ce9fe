"""Integer arithmetic, logic, comparison and shifts, on $m registers and on bits of $a registers."""

from tilewright.isa.meaning.machine import Bound, Machine
from tilewright.isa.meaning.registry import meaning


@meaning("add")
def add(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    m.set(d, m.add(m.get(a), m.get(b)))


@meaning("sub")
def sub(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    m.set(d, m.sub(m.get(a), m.get(b)))


@meaning("mul")
def mul(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    """The low 32 bits of the product."""
    m.set(d, m.mul(m.get(a), m.get(b)))


@meaning("abs")
def absolute(m: Machine, d: Bound, a: Bound) -> None:
    """The most negative number stays as it is (assumed)."""
    value = m.get(a)
    m.set(d, m.select(m.slt(value, m.const(0)), m.sub(m.const(0), value), value))


@meaning("max")
def maximum(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    """Signed, also for zero-extended immediates."""
    one, other = m.get(a), m.get(b)
    m.set(d, m.select(m.slt(one, other), other, one))


@meaning("min")
def minimum(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    """Signed, also for zero-extended immediates."""
    one, other = m.get(a), m.get(b)
    m.set(d, m.select(m.slt(one, other), one, other))


@meaning("cmpeq")
def compare_equal(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    m.set(d, m.zero_extend(m.eq(m.get(a), m.get(b)), 32))


@meaning("cmpne")
def compare_unequal(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    m.set(d, m.zero_extend(m.not_(m.eq(m.get(a), m.get(b))), 32))


@meaning("cmpslt")
def compare_signed(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    m.set(d, m.zero_extend(m.slt(m.get(a), m.get(b)), 32))


@meaning("cmpult")
def compare_unsigned(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    m.set(d, m.zero_extend(m.ult(m.get(a), m.get(b)), 32))


@meaning("and", "and64")
def and_(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    m.set(d, m.and_(m.get(a), m.get(b)))


@meaning("andc", "andc64")
def and_complement(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    m.set(d, m.and_(m.get(a), m.not_(m.get(b))))


@meaning("or", "or64")
def or_(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    m.set(d, m.or_(m.get(a), m.get(b)))


@meaning("xor")
def xor(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    m.set(d, m.xor(m.get(a), m.get(b)))


@meaning("xnor")
def xnor(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    m.set(d, m.not_(m.xor(m.get(a), m.get(b))))


@meaning("not", "not64")
def not_(m: Machine, d: Bound, a: Bound) -> None:
    m.set(d, m.not_(m.get(a)))


@meaning("shl")
def shift_left(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    """Amounts of 32 and more give 0 (assumed, `shift32`)."""
    m.set(d, m.shl(m.get(a), m.get(b)))


@meaning("shr")
def shift_right(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    """Amounts of 32 and more give 0 (assumed, `shift32`)."""
    m.set(d, m.shr(m.get(a), m.get(b)))


@meaning("shrs")
def shift_right_signed(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
    """Amounts of 32 and more give all sign bits (assumed, `shift32`)."""
    m.set(d, m.sar(m.get(a), m.get(b)))


@meaning("clz")
def count_leading_zeros(m: Machine, d: Bound, a: Bound) -> None:
    m.set(d, m.leading_zeros(m.get(a)))


@meaning("cms")
def count_sign_copies(m: Machine, d: Bound, a: Bound) -> None:
    """How many bits directly below bit 31 equal it."""
    value = m.get(a)
    differing = m.xor(value, m.sar(value, m.const(31)))
    m.set(d, m.sub(m.leading_zeros(differing), m.const(1)))


@meaning("popc")
def population_count(m: Machine, d: Bound, a: Bound) -> None:
    m.set(d, m.population(m.get(a)))


@meaning("bitrev8")
def reverse_bits_of_bytes(m: Machine, d: Bound, a: Bound) -> None:
    m.set(d, m.join([m.reverse_bits(byte) for byte in m.split(m.get(a), 8)]))


@meaning("movz")
def move_unless_zero(m: Machine, d: Bound, condition: Bound, source: Bound) -> None:
    """d = s if c is not 0. The name says otherwise; `movnz` is the same word, and means this."""
    is_zero = m.eq(m.get(condition), m.const(0))
    m.set(d, m.select(is_zero, m.get(d), m.get(source)))


@meaning("setzi")
def set_immediate(m: Machine, d: Bound, a: Bound) -> None:
    m.set(d, m.get(a))


@meaning("atom")
def copy_to_m(m: Machine, d: Bound, a: Bound) -> None:
    m.set(d, m.get(a))
