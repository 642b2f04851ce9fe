"""Walking a graph: all operations, all values, who makes a value and who uses it."""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tilewright.graph.operators import Repeat
from tilewright.graph.structure import Operation, Region
from tilewright.graph.values import Value

if TYPE_CHECKING:
    from tilewright.graph.graph import ComputeGraph


def walk(graph: "ComputeGraph") -> Iterator[Operation]:
    """Every operation in order; a repeat comes before the operations of its body."""
    yield from _walk(graph.operations)


def regions(graph: "ComputeGraph") -> Iterator[Region]:
    """The graph's own region, then the bodies of repeats in the order of `walk`."""
    yield graph.region
    for operation in walk(graph):
        if isinstance(operation.operator, Repeat):
            yield operation.operator.body


def values_of(graph: "ComputeGraph") -> Iterator[Value]:
    """Every value: sources, then arguments and results as `walk` meets them."""
    for source in graph.sources:
        yield source.value
    for operation in walk(graph):
        yield from operation.results
        if isinstance(operation.operator, Repeat):
            yield from operation.operator.body.arguments


class Uses:
    """Who makes and who uses each value of a graph, as it was when this was made."""

    def __init__(self, graph: "ComputeGraph") -> None:
        self._producers: dict[int, Operation] = {}
        self._users: defaultdict[int, list[Operation]] = defaultdict(list)
        for operation in walk(graph):
            for result in operation.results:
                self._producers[result.id] = operation
            for operand in dict.fromkeys(operation.operands):
                self._users[operand.id].append(operation)
        self._leaving = {value.id for region in regions(graph) for value in region.results}

    def producer(self, value: Value) -> Operation | None:
        """The operation whose result it is; `None` for sources and arguments of bodies."""
        return self._producers.get(value.id)

    def users(self, value: Value) -> tuple[Operation, ...]:
        """The operations with the value among their operands, each once, in order."""
        return tuple(self._users.get(value.id, ()))

    def leaves(self, value: Value) -> bool:
        """Whether it is an output of the graph, or what the body of a repeat yields."""
        return value.id in self._leaving


def _walk(operations: tuple[Operation, ...]) -> Iterator[Operation]:
    for operation in operations:
        yield operation
        if isinstance(operation.operator, Repeat):
            yield from _walk(operation.operator.body.operations)
