"""Access to control and status registers."""

from tilewright.isa.meaning.machine import Bound, Machine
from tilewright.isa.meaning.registry import meaning


@meaning("get")
def get(m: Machine, d: Bound, index: Bound) -> None:
    m.set(d, m.read_csr(m.immediate(index)))


@meaning("put")
def put(m: Machine, index: Bound, a: Bound) -> None:
    m.write_csr(m.immediate(index), m.get(a))


@meaning("uget")
def get_upper(m: Machine, d: Bound, index: Bound) -> None:
    m.set(d, m.read_csr(m.immediate(index), upper=True))


@meaning("uput")
def put_upper(m: Machine, index: Bound, a: Bound) -> None:
    m.write_csr(m.immediate(index), m.get(a), upper=True)
