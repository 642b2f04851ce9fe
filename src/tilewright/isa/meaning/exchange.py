"""Synchronisation and exchange: barriers, timed sends, and control of what is received.

Counts are stored minus one. Evidence: a third party's encoder and measurements (docs/fidelity.md).
"""

from tilewright.isa.controls import CONTROL_IS_PAIRED, CONTROL_POINTER, CONTROL_SOURCE
from tilewright.isa.meaning.machine import Bound, Machine
from tilewright.isa.meaning.registry import meaning

_POINTER_SELECTORS = 2
"""`sendpic` selects 0, 1: source, paired source; 2, 3: pointer, format."""


@meaning("sync")
def sync(m: Machine, zone: Bound) -> None:
    m.sync(m.immediate(zone))


@meaning("sans")
def sans(m: Machine, count: Bound) -> None:
    m.sans(m.immediate(count))


@meaning("delay")
def delay(m: Machine, count: Bound) -> None:
    m.delay(m.immediate(count) + 1)


@meaning("delaypic")
def delay_and_point(m: Machine, count: Bound, selector: Bound, value: Bound) -> None:
    m.receive_pointer(m.immediate(selector), m.immediate(value), at_last=True)
    m.delay(m.immediate(count) + 1)


@meaning("delayxpic")
def delay_and_select(m: Machine, count: Bound, selector: Bound, value: Bound) -> None:
    m.receive_source(m.immediate(selector), m.immediate(value), at_last=True)
    m.delay(m.immediate(count) + 1)


@meaning("send")
def send(m: Machine, count: Bound, address: Bound, control: Bound) -> None:
    m.send(m.immediate(count) + 1, m.immediate(address), m.immediate(control))


@meaning("sendoff")
def send_on(m: Machine, count: Bound, advance: Bound, control: Bound) -> None:
    items = m.immediate(count) + 1
    m.send(items, None, m.immediate(control), advance=m.immediate(advance))


@meaning("sendpic")
def send_on_and_control(m: Machine, count: Bound, selector: Bound, value: Bound) -> None:
    which, number = m.immediate(selector), m.immediate(value)
    if which < _POINTER_SELECTORS:
        m.receive_source(which, number, at_last=False)
    else:
        m.receive_pointer(which - _POINTER_SELECTORS, number, at_last=False)
    m.send(m.immediate(count) + 1, None, None)


@meaning("sendpicp")
def send_and_control_twice(
    m: Machine, count: Bound, address: Bound, control: Bound, selector: Bound
) -> None:
    """The second word holds the values of both controls. Without a direction this only waits."""
    values = m.second_word()
    m.receive_pointer(m.immediate(selector), CONTROL_POINTER.extract(values), at_last=False)
    is_paired = CONTROL_IS_PAIRED.extract(values)
    m.receive_source(is_paired, CONTROL_SOURCE.extract(values), at_last=False)
    events = m.immediate(count) + 1
    if m.immediate(control):
        m.send(events, m.immediate(address), m.immediate(control))
    else:
        m.delay(events)
