"""When supervisors issue: the rules that the reference engine and the compiled loop both follow.

An instruction issues when the one before it lets it, and what it reads is ready. Costs may depend
on values that compiled code knows at run time only; so rules take functions that compare and
choose: plain ones in the reference, ones that emit code in the compiled loop.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from tilewright.emulator.events import EventKind
from tilewright.emulator.records import READY_CSR, READY_M
from tilewright.isa import Form, Kind
from tilewright.target import timing
from tilewright.target.csr import CSRS

_BASES = (CSRS["INCOMING_BASE"].index, CSRS["OUTGOING_BASE"].index)
_WEIGHT_ADDRESS = READY_CSR + CSRS["CCCSLOAD"].index
_WEIGHT_LOADS = ("ld64putcs", "ld128putcs")
_ROW_ENDERS = ("get", "trap", "run", "runall", "sync", "sans")


def ends_row(form: Form) -> bool:
    """Whether an instruction cannot belong to a row of exchange code (`row-end`).

    These may depend on what the row has brought, so they come after it.
    """
    return form.mnemonic in _ROW_ENDERS or form.mnemonic.startswith(("ld", "st"))


class Resource(NamedTuple):
    """A place in a schedule's `ready`: `first`, plus the value of an operand if there is one."""

    first: int
    operand: int | None


def read_by(form: Form) -> Iterator[Resource]:
    """What an instruction waits for."""
    yield from _resources(form, "get", [operand.reads for operand in form.operands])
    if form.mnemonic in _WEIGHT_LOADS:
        yield Resource(_WEIGHT_ADDRESS, None)


def written_by(form: Form) -> Iterator[Resource]:
    """What can be read `SUPERVISOR_LATENCY` after an instruction."""
    yield from _resources(form, "put", [operand.writes for operand in form.operands])


def _resources(form: Form, of_csr: str, concerns: list[bool]) -> Iterator[Resource]:
    for index, operand in enumerate(form.operands):
        if operand.is_register and concerns[index]:
            for place in range(operand.count):
                yield Resource(READY_M + place, index)
        elif operand.kind is Kind.CSR and form.mnemonic == of_csr:
            yield Resource(READY_CSR, index)


@dataclass(frozen=True, slots=True)
class Done:
    """What an instruction did that its cost depends on.

    `taken` is whether it jumps, None if it never does; `put` the index of the register that it put,
    None if it is no `put`; `event` and `argument` are its last event and that one's first argument.
    """

    taken: Any = None
    put: Any = None
    launches: bool = False
    event: EventKind | None = None
    argument: Any = None


def cost(
    done: Done,
    number: Callable[[int], Any],
    is_equal: Callable[[Any, int], Any],
    choose: Callable[[Any, Any, Any], Any],
) -> Any:
    """Cycles from an instruction's issue until the next may issue, operands aside.

    `number` makes a number of the engine's kind, `is_equal` compares one with a plain one, and
    `choose(condition, a, b)` gives `a` if the condition holds, else `b`.
    """
    if done.event in (EventKind.DELAY, EventKind.SEND):
        return done.argument
    if done.event is EventKind.SYNC:
        return number(timing.SYNC.value)
    if done.launches:
        return number(timing.RUN.value)
    found = number(timing.SUPERVISOR_ISSUE.value)
    if done.taken is not None:
        found = choose(done.taken, number(timing.TAKEN_BRANCH.value), found)
    if done.put is not None:
        # Known for writes inside rows, assumed elsewhere (`base-write`).
        for base in _BASES:
            found = choose(is_equal(done.put, base), number(timing.BASE_WRITE.value), found)
    return found
