"""Loads and stores of single items, in all addressing forms, and loads of the weight store."""

from collections.abc import Callable

from tilewright.isa.meaning.machine import Bound, Machine, Value
from tilewright.isa.meaning.registry import Meaning, meaning, register_family
from tilewright.target.csr import CSRS

_WEIGHT_ADDRESS = CSRS["CCCSLOAD"].index


def _scaled(m: Machine, offset: Bound, width: int) -> Value:
    """An offset in items of `width` bits, as bytes."""
    return m.mul(m.get(offset), m.const(width // 8))


# -- how an item becomes a register's value ---------------------------------------------------


def _whole(m: Machine, item: Value) -> Value:
    return item


def _zero_extended(m: Machine, item: Value) -> Value:
    return m.zero_extend(item, 32)


def _sign_extended(m: Machine, item: Value) -> Value:
    return m.sign_extend(item, 32)


def _broadcast(width: int) -> Callable[[Machine, Value], Value]:
    return lambda m, item: m.join([item] * (32 // width))


_LOADS: dict[str, tuple[int, Callable[[Machine, Value], Value]]] = {
    "lds8": (8, _sign_extended),
    "ldz8": (8, _zero_extended),
    "lds16": (16, _sign_extended),
    "ldz16": (16, _zero_extended),
    "ldb8": (8, _broadcast(8)),
    "ldb16": (16, _broadcast(16)),
    "ld32": (32, _whole),
    "ld64": (64, _whole),
    "ld128": (128, _whole),
}


def _load(width: int, convert: Callable[[Machine, Value], Value]) -> Meaning:
    def load(m: Machine, d: Bound, base: Bound, delta: Bound, offset: Bound) -> None:
        address = m.add(m.add(m.get(base), m.get(delta)), _scaled(m, offset, width))
        m.set(d, convert(m, m.load(address, width)))

    return load


def _load_step(width: int, convert: Callable[[Machine, Value], Value]) -> Meaning:
    """The access uses the old delta. The loaded value wins over it (assumed, `dst-eq-delta`)."""

    def load_step(m: Machine, d: Bound, base: Bound, delta: Bound, step: Bound) -> None:
        old = m.get(delta)
        m.set(delta, m.add(old, _scaled(m, step, width)))
        m.set(d, convert(m, m.load(m.add(m.get(base), old), width)))

    return load_step


register_family(_LOADS, _load)
register_family({f"{name}step": how for name, how in _LOADS.items()}, _load_step)


def _store(width: int) -> Meaning:
    def store(m: Machine, a: Bound, base: Bound, delta: Bound, offset: Bound) -> None:
        address = m.add(m.add(m.get(base), m.get(delta)), _scaled(m, offset, width))
        m.store(address, m.get(a))

    return store


def _store_step(width: int) -> Meaning:
    def store_step(m: Machine, a: Bound, base: Bound, delta: Bound, step: Bound) -> None:
        old = m.get(delta)
        m.store(m.add(m.get(base), old), m.get(a))
        m.set(delta, m.add(old, _scaled(m, step, width)))

    return store_step


register_family({"st32": (32,), "st64": (64,)}, _store)
register_family({"st32step": (32,), "st64step": (64,)}, _store_step)


@meaning("stm32")
def store_m(m: Machine, a: Bound, base: Bound, offset: Bound) -> None:
    m.store(m.add(m.get(base), _scaled(m, offset, 32)), m.get(a))


@meaning("stm32step")
def store_m_step(m: Machine, a: Bound, base: Bound, stride: Bound) -> None:
    address = m.get(base)
    m.store(address, m.get(a))
    m.set(base, m.add(address, _scaled(m, stride, 32)))


def _load_weights(entries: int) -> Meaning:
    """From the address in $CCCSLOAD, which goes on past what was read."""

    def load_weights(m: Machine, index: Bound) -> None:
        address = m.read_csr(_WEIGHT_ADDRESS)
        first = m.immediate(index)
        if first % entries:
            m.invalid_operands("misaligned putcs index")
            return
        items = m.split(m.load(address, 64 * entries), 64)
        for place, item in enumerate(items):
            m.set_weight(first + place, item)
        m.write_csr(_WEIGHT_ADDRESS, m.add(address, m.const(8 * entries)))

    return load_weights


register_family({"ld64putcs": (1,), "ld128putcs": (2,)}, _load_weights)
