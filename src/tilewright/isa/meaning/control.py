"""Branches, calls, repeats, traps, and the start and end of workers."""

from tilewright.isa.meaning.machine import Bound, Machine
from tilewright.isa.meaning.registry import meaning
from tilewright.target.geometry import MEMORY_BASE

_CALL_TARGET_MASK = (1 << 21) - 1
"""`call` has a field of 20 bits, of which the hardware ignores the highest."""


@meaning("br")
def branch_register(m: Machine, target: Bound) -> None:
    m.jump(m.get(target))


@meaning("bri")
def branch(m: Machine, target: Bound) -> None:
    m.jump(m.get(target))


@meaning("brz")
def branch_if_zero(m: Machine, a: Bound, target: Bound) -> None:
    m.jump_if(m.eq(m.get(a), m.const(0)), m.get(target))


@meaning("brnz")
def branch_unless_zero(m: Machine, a: Bound, target: Bound) -> None:
    m.jump_if(m.not_(m.eq(m.get(a), m.const(0))), m.get(target))


@meaning("brneg")
def branch_if_negative(m: Machine, a: Bound, target: Bound) -> None:
    m.jump_if(m.slt(m.get(a), m.const(0)), m.get(target))


@meaning("brpos")
def branch_unless_negative(m: Machine, a: Bound, target: Bound) -> None:
    """Zero counts as positive."""
    m.jump_if(m.not_(m.slt(m.get(a), m.const(0))), m.get(target))


@meaning("brnzdec")
def branch_and_decrement(m: Machine, a: Bound, target: Bound) -> None:
    """Branch and count down unless the register is 0, which it stays."""
    value = m.get(a)
    is_zero = m.eq(value, m.const(0))
    m.set(a, m.select(is_zero, value, m.sub(value, m.const(1))))
    m.jump_if(m.not_(is_zero), m.get(target))


@meaning("call")
def call(m: Machine, link: Bound, target: Bound) -> None:
    m.set(link, m.next_pc())
    m.jump(m.const(m.immediate(target) & _CALL_TARGET_MASK))


@meaning("rpt")
def repeat(m: Machine, count: Bound, size: Bound) -> None:
    m.repeat(m.get(count), m.immediate(size) + 1)


@meaning("exitz")
def exit_if_zero(m: Machine, a: Bound) -> None:
    m.exit(m.eq(m.get(a), m.const(0)))


@meaning("exitnz")
def exit_unless_zero(m: Machine, a: Bound) -> None:
    m.exit(m.not_(m.eq(m.get(a), m.const(0))))


@meaning("exitneg")
def exit_if_negative(m: Machine, a: Bound) -> None:
    m.exit(m.slt(m.get(a), m.const(0)))


@meaning("exitpos")
def exit_unless_negative(m: Machine, a: Bound) -> None:
    """Zero counts as positive (assumed)."""
    m.exit(m.not_(m.slt(m.get(a), m.const(0))))


@meaning("trap")
def trap(m: Machine, number: Bound) -> None:
    m.trap(m.immediate(number))


@meaning("run")
def run(m: Machine, entry: Bound, base: Bound, offset: Bound) -> None:
    """One worker; its vertex base counts from the start of tile memory."""
    fixed = m.const(4 * m.immediate(offset) + MEMORY_BASE)
    m.launch(m.get(entry), m.add(m.get(base), fixed))


@meaning("runall")
def run_all(m: Machine, entry: Bound, base: Bound, stride: Bound) -> None:
    """All six workers; the vertex base is an absolute address (assumed, `runall-base`)."""
    m.launch_all(m.get(entry), m.get(base), 4 * m.immediate(stride))
