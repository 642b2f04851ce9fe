"""The rules that every graph keeps, all checked together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.graph.faults import OperatorError, VerificationError
from tilewright.graph.operators import Repeat
from tilewright.graph.structure import Operation, Region, checked_result_types
from tilewright.graph.values import Location, Value, quoted

if TYPE_CHECKING:
    from tilewright.graph.graph import ComputeGraph


@dataclass(frozen=True, slots=True)
class Fault:
    """A broken rule, and the place that broke it."""

    message: str
    location: Location | None = None

    def __str__(self) -> str:
        return f"{self.location}: {self.message}" if self.location else self.message


def check(graph: "ComputeGraph") -> None:
    """Raise `VerificationError` with all faults of the graph, if it has any."""
    faults = find_faults(graph)
    if faults:
        raise VerificationError(graph.name, [str(fault) for fault in faults])


def find_faults(graph: "ComputeGraph") -> list[Fault]:
    """Every broken rule: identities, names, order, types, bodies of repeats, outputs."""
    checker = _Checker()
    for source in graph.sources:
        checker.define(source.value, source.location)
    return [
        *_name_faults("input or parameter", ((each.name, each.location) for each in graph.sources)),
        *_name_faults("output", ((each.name, each.location) for each in graph.outputs)),
        *checker.faults_of_graph(graph),
    ]


def _name_faults(what: str, named: Iterable[tuple[str, Location | None]]) -> Iterator[Fault]:
    seen: set[str] = set()
    for name, location in named:
        if not name:
            yield Fault(f"an {what} has no name", location)
        elif name in seen:
            yield Fault(f"there is a second {what} {quoted(name)}", location)
        seen.add(name)


class _Checker:
    """Goes through regions in order, and knows which values are visible."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self._all: dict[int, Value] = {}
        self._visible: dict[int, Value] = {}

    def faults_of_graph(self, graph: "ComputeGraph") -> list[Fault]:
        self._operations(graph.operations)
        for output in graph.outputs:
            self._use(output.value, f"the output {quoted(output.name)}", output.location)
        if not graph.outputs:
            self.faults.append(Fault("the graph has no outputs"))
        return self.faults

    def define(self, value: Value, location: Location | None) -> None:
        if value.id in self._all:
            self.faults.append(
                Fault(f"%{value.id} names two values: {self._all[value.id]} and {value}", location)
            )
        self._all[value.id] = value
        self._visible[value.id] = value

    def _operations(self, operations: Iterable[Operation]) -> None:
        for operation in operations:
            self._operation(operation)

    def _operation(self, operation: Operation) -> None:
        for operand in dict.fromkeys(operation.operands):
            self._use(operand, operation.operator.mnemonic, operation.location)
        if isinstance(operation.operator, Repeat):
            self._body(operation.operator.body, operation.location)
        self._types(operation)
        for result in operation.results:
            self.define(result, operation.location)

    def _use(self, value: Value, user: str, location: Location | None) -> None:
        found = self._visible.get(value.id)
        if found == value:
            return
        if found is not None:
            problem = f"takes {value}, which is {found}"
        elif value.id in self._all:
            problem = f"takes {value} of another region"
        else:
            problem = f"takes {value}, which is not defined before"
        self.faults.append(Fault(f"{user} {problem}", location))

    def _body(self, body: Region, location: Location | None) -> None:
        outside, self._visible = self._visible, {}
        for argument in body.arguments:
            self.define(argument, location)
        self._operations(body.operations)
        for result in body.results:
            self._use(result, "the yield of a repeat's body", location)
        self._visible = outside

    def _types(self, operation: Operation) -> None:
        try:
            types = checked_result_types(operation.operator, operation.operands, None)
        except OperatorError as fault:
            self.faults.append(Fault(str(fault), operation.location))
            return
        found = tuple(result.type for result in operation.results)
        if found != types:
            self.faults.append(
                Fault(
                    f"{operation.operator.mnemonic} gives {_listed(types)}; its results are "
                    f"{_listed(operation.results)}",
                    operation.location,
                )
            )


def _listed(things: Iterable[object]) -> str:
    return ", ".join(map(str, things)) or "none"
