"""Packed addresses, PACE accesses that post-increment them, and indexed loads.

A pair of $m registers packs three byte addresses of 21 bits: A0 and A1 in the low bits of the two
registers, A2 in what is left. A stride register packs three signed strides of 10 bits, in units of
64-bit atoms. A selector of 2 bits picks an increment: 0 is one atom, 1 to 3 is a stride.
"""

from tilewright.isa.meaning.machine import Bound, Machine, Value
from tilewright.isa.meaning.registry import Meaning, meaning, register_family
from tilewright.target.geometry import ADDRESS_BITS

_ADDRESS_MASK = (1 << ADDRESS_BITS) - 1
_LOW_BITS = 32 - ADDRESS_BITS
"""Bits of A2 in the first register; the rest is in the second."""
_STRIDE_BITS = 10
_ATOM = 8


def _unpack(m: Machine, packed: Bound) -> list[Value]:
    low, high = m.split(m.get(packed), 32)
    mask, shift = m.const(_ADDRESS_MASK), m.const(ADDRESS_BITS)
    upper = m.shl(m.shr(high, shift), m.const(_LOW_BITS))
    third = m.and_(m.or_(m.shr(low, shift), upper), mask)
    return [m.and_(low, mask), m.and_(high, mask), third]


def _pack(m: Machine, addresses: list[Value]) -> Value:
    first, second, third = (m.and_(each, m.const(_ADDRESS_MASK)) for each in addresses)
    shift = m.const(ADDRESS_BITS)
    low = m.or_(first, m.shl(third, shift))
    high = m.or_(second, m.shl(m.shr(third, m.const(_LOW_BITS)), shift))
    return m.join([low, high])


@meaning("tapack")
def pack_addresses(m: Machine, d: Bound, a0: Bound, a1: Bound, a2: Bound) -> None:
    m.set(d, _pack(m, [m.get(a0), m.get(a1), m.get(a2)]))


def _increment(m: Machine, stride: Bound, selector: int, unit: int) -> Value:
    """The bytes that a selector adds to its address."""
    if selector == 0:
        return m.const(unit)
    place = m.const(32 - _STRIDE_BITS * selector)
    field = m.sar(m.shl(m.get(stride), place), m.const(32 - _STRIDE_BITS))
    return m.mul(field, m.const(unit))


def _advanced(
    m: Machine,
    addresses: list[Value],
    stride: Bound,
    selectors: int,
    uses: tuple[int, ...],
    units: tuple[int, ...] = (_ATOM,) * 3,
) -> Value:
    """The packed addresses after the access: selector i moves address `uses[i]`."""
    moved = list(addresses)
    for place, (use, unit) in enumerate(zip(uses, units, strict=False)):
        selector = selectors >> (2 * place) & 3
        moved[use] = m.add(moved[use], _increment(m, stride, selector, unit))
    return _pack(m, moved)


def _same_destination(m: Machine, one: Bound, other: Bound) -> bool:
    if one.value != other.value:
        return False
    m.invalid_operands("both loads have the same destination")
    return True


@meaning("ld2x64pace")
def load_two(
    m: Machine, d0: Bound, d1: Bound, packed: Bound, stride: Bound, selectors: Bound
) -> None:
    if _same_destination(m, d0, d1):
        return
    addresses = _unpack(m, packed)
    m.check_conflict(addresses[:2])
    m.set(d0, m.load(addresses[0], 64))
    m.set(d1, m.load(addresses[1], 64))
    m.set(packed, _advanced(m, addresses, stride, m.immediate(selectors), (0, 1)))


@meaning("ldst64pace")
def load_and_store(
    m: Machine, d: Bound, a: Bound, packed: Bound, stride: Bound, selectors: Bound
) -> None:
    addresses = _unpack(m, packed)
    m.check_conflict([addresses[0], addresses[2]])
    m.set(d, m.load(addresses[0], 64))
    m.store(addresses[2], m.get(a))
    m.set(packed, _advanced(m, addresses, stride, m.immediate(selectors), (0, 2)))


@meaning("st64pace")
def store_one(m: Machine, a: Bound, packed: Bound, stride: Bound, selectors: Bound) -> None:
    addresses = _unpack(m, packed)
    m.store(addresses[2], m.get(a))
    m.set(packed, _advanced(m, addresses, stride, m.immediate(selectors), (2,)))


@meaning("ld2xst64pace")
def load_two_and_store(
    m: Machine, d: Bound, a: Bound, packed: Bound, stride: Bound, selectors: Bound
) -> None:
    addresses = _unpack(m, packed)
    m.check_conflict(addresses)
    m.set(d, m.join([m.load(addresses[0], 64), m.load(addresses[1], 64)]))
    m.store(addresses[2], m.get(a))
    m.set(packed, _advanced(m, addresses, stride, m.immediate(selectors), (0, 1, 2)))


def _load_mixed(width: int) -> Meaning:
    """64 bits and a smaller item, whose address counts in its own size (assumed, `pace-mixed`)."""

    def load_mixed(
        m: Machine, d0: Bound, d1: Bound, packed: Bound, stride: Bound, selectors: Bound
    ) -> None:
        if d1.value in (d0.value, d0.value + 1):
            m.invalid_operands("both loads have the same destination")
            return
        addresses = _unpack(m, packed)
        m.check_conflict(addresses[:2])
        m.set(d0, m.load(addresses[0], 64))
        m.set(d1, m.join([m.load(addresses[1], width)] * (32 // width)))
        units = (_ATOM, width // 8)
        m.set(packed, _advanced(m, addresses, stride, m.immediate(selectors), (0, 1), units))

    return load_mixed


register_family({"ld64a32pace": (32,), "ld64b16pace": (16,)}, _load_mixed)


def _indexed(width: int) -> Meaning:
    """One item at the offset fetched before, and the next 16-bit offset."""

    def load(m: Machine, d: Bound, pointer: Bound, base: Bound, delta: Bound) -> None:
        at, place = m.get(pointer), m.add(m.get(base), m.get(delta))
        m.check_conflict([place, at])
        item = m.load(place, width)
        m.set(d, m.join([item, item]) if width == 16 else item)
        m.set(delta, m.zero_extend(m.load(at, 16), 32))
        m.set(pointer, m.add(at, m.const(2)))

    return load


register_family({"ldd16b16": (16,), "ldd16a32": (32,), "ldd16a64": (64,)}, _indexed)


@meaning("ldd16v2a32")
def load_by_upper_offset(m: Machine, d: Bound, pointer: Bound, base: Bound, delta: Bound) -> None:
    """The item at the upper offset, and the next two offsets."""
    at = m.get(pointer)
    place = m.add(m.get(base), m.shr(m.get(delta), m.const(16)))
    m.check_conflict([place, at])
    m.set(d, m.load(place, 32))
    m.set(delta, m.load(at, 32))
    m.set(pointer, m.add(at, m.const(4)))


@meaning("ld64a32")
def load_by_lower_offset(m: Machine, d: Bound, pointer: Bound, base: Bound, delta: Bound) -> None:
    """64 bits in sequence and the item at the lower offset; the quad's first register stays."""
    at = m.get(pointer)
    place = m.add(m.get(base), m.and_(m.get(delta), m.const(0xFFFF)))
    m.check_conflict([place, at])
    first = m.split(m.get(d), 32)[0]
    m.set(d, m.join([first, m.load(place, 32), *m.split(m.load(at, 64), 32)]))
    m.set(pointer, m.add(at, m.const(8)))


@meaning("ldb16b16")
def load_two_halves(m: Machine, d: Bound, base: Bound, deltas: Bound, minis: Bound) -> None:
    """Two broadcast halves at two offsets; which offset moves by what is assumed (`ldb16b16`)."""
    low, high = m.split(m.get(deltas), 16)
    offsets = [m.zero_extend(low, 32), m.zero_extend(high, 32)]
    places = [m.add(m.get(base), offset) for offset in offsets]
    m.check_conflict(places)
    items = [m.load(place, 16) for place in places]
    m.set(d, m.join([items[0], items[0], items[1], items[1]]))
    mini = m.get(minis)
    step = m.shl(m.and_(mini, m.const(0xF)), m.const(1))
    moved = [m.add(offsets[0], m.const(2)), m.add(offsets[1], step)]
    m.set(deltas, m.join([m.split(each, 16)[0] for each in moved]))
    m.set(minis, m.shr(mini, m.const(4)))
