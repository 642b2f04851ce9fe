"""The planned graph: every value with its storage, every operation with its plan.

Structured as the compute graph is: operations in order, repeats with one body. Casts and
rearrangements that planning inserted are operations of their own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tilewright.codegen.mid.cost import OperatorBytes, OperatorCost
from tilewright.codegen.mid.dispatch import OperatorDispatch
from tilewright.codegen.mid.operators.epilogues import Epilogue
from tilewright.codegen.mid.orders import Precision
from tilewright.codegen.mid.storage import Storage
from tilewright.graph import Formula, SourceKind

CAST, REARRANGE, VIEW = "CastPrecision", "Rearrange", "view"


@dataclass(frozen=True, slots=True)
class WorkProvenance:
    """What a piece of work is for."""

    operation: str
    """The graph operation's label, or its operators and result."""
    value: int
    """Id of the graph value that it makes or converts."""
    reason: str
    """`compute`, or `operand 1 of …` for what planning inserted."""


@dataclass(frozen=True, slots=True)
class MidValue:
    """A stored value. `id` is unique in the mid graph; `origin` is the graph value's id."""

    id: int
    name: str
    storage: Storage
    origin: int

    def __str__(self) -> str:
        return f"%{self.id}"


@dataclass(frozen=True, slots=True)
class MidSource:
    """A value from outside. `prepared` are views that the host applies before it loads it."""

    kind: SourceKind | None
    """None for a constant of the graph, whose operator is `constant`."""
    name: str
    value: MidValue
    prepared: tuple[Formula, ...] = ()
    constant: Formula | None = None


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    """How one operation runs."""

    candidate: str
    compute: Precision
    cost: OperatorCost
    bytes: OperatorBytes
    dispatch: OperatorDispatch
    kernels: tuple[str, ...] = ()
    aliases: tuple[int, ...] = ()
    """Operands whose memory the result may take, if nobody needs them any more."""
    apart: tuple[tuple[str, str], ...] = ()
    """Slots that must lie in different memory elements."""
    alignments: tuple[int, ...] = ()
    """Bytes, of each operand."""
    access_tails: tuple[int, ...] = ()
    """Bytes that may be read behind each operand's shard."""
    facts: tuple[tuple[str, int | str], ...] = ()

    def fact(self, name: str) -> int | str | None:
        return dict(self.facts).get(name)


@dataclass(frozen=True, slots=True)
class MidOperation:
    """`operator` is the graph's; None for CastPrecision and Rearrange. A view has no plan."""

    kind: str
    operator: Formula | None
    operands: tuple[MidValue, ...]
    result: MidValue
    provenance: WorkProvenance
    plan: OperatorPlan | None = None
    epilogues: tuple[Epilogue, ...] = ()


@dataclass(frozen=True, slots=True)
class Carried:
    """A value that each iteration hands to the next; all four lie alike."""

    initial: MidValue
    argument: MidValue
    yielded: MidValue
    result: MidValue


@dataclass(frozen=True, slots=True)
class Iterated:
    """One value per iteration, all in one format."""

    values: tuple[MidValue, ...]
    argument: MidValue


@dataclass(frozen=True, slots=True)
class MidRepeat:
    """A body that runs `count` times."""

    count: int
    carried: tuple[Carried, ...]
    invariants: tuple[tuple[MidValue, MidValue], ...]
    """(value outside, the body's argument)."""
    sequences: tuple[Iterated, ...]
    body: "tuple[MidStep, ...]"
    provenance: WorkProvenance


MidStep: TypeAlias = MidOperation | MidRepeat


@dataclass(frozen=True, slots=True)
class MidGraph:
    """A planned graph for `tiles` tiles."""

    name: str
    tiles: int
    sources: tuple[MidSource, ...]
    steps: tuple[MidStep, ...]
    outputs: tuple[tuple[str, MidValue], ...]

    @property
    def cost(self) -> OperatorCost:
        """Of one run, repeats counted."""
        return _cost(self.steps)

    def __str__(self) -> str:
        from tilewright.codegen.mid.text import print_mid  # which needs this module

        return print_mid(self)


def _cost(steps: tuple[MidStep, ...]) -> OperatorCost:
    cost = OperatorCost()
    for step in steps:
        if isinstance(step, MidRepeat):
            cost += _cost(step.body).times(step.count)
        elif step.plan is not None:
            cost += step.plan.cost
    return cost


def walk_steps(steps: tuple[MidStep, ...], times: int = 1) -> Iterator[tuple[MidStep, int]]:
    """Every step in order with how often it runs; a repeat comes before its body."""
    for step in steps:
        yield step, times
        if isinstance(step, MidRepeat):
            yield from walk_steps(step.body, times * step.count)
