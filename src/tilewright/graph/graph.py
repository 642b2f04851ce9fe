"""The graph: its sources, its operations in order, its outputs; built by calling its methods."""

from collections.abc import Iterable, Sequence
from typing import NoReturn

from tilewright.graph.builder import Builder
from tilewright.graph.faults import GraphError
from tilewright.graph.operator import Formula, Operator
from tilewright.graph.repeats import RepeatBuilder
from tilewright.graph.scopes import Scope
from tilewright.graph.structure import (
    Operation,
    Output,
    Region,
    Source,
    SourceKind,
    checked_result_types,
)
from tilewright.graph.tensor import Tensor
from tilewright.graph.types import DType, NumberFormat, ValueType, as_format
from tilewright.graph.values import Location, Value, misuse, quoted, user_location
from tilewright.graph.verify import check
from tilewright.graph.walk import values_of


class ComputeGraph(Builder):
    """A model as shaped, structured SSA.

    Start with a name and call methods; or give all parts, which `verify` then judges. Graphs are
    equal if names, ids, types, attributes and order are; places in the user's code do not count.
    """

    def __init__(
        self,
        name: str,
        sources: Iterable[Source] = (),
        operations: Iterable[Operation] = (),
        outputs: Iterable[Output] = (),
    ) -> None:
        self.name = name
        self._sources = list(sources)
        self._outputs = list(outputs)
        self._scope = Scope(self._new_value)
        self._scope.operations.extend(operations)
        self._next_id = 1 + max((value.id for value in values_of(self)), default=-1)
        for value in (
            *(source.value for source in self._sources),
            *(result for operation in self._scope.operations for result in operation.results),
        ):
            self._scope.define(value)

    # What it holds

    @property
    def sources(self) -> tuple[Source, ...]:
        """Inputs, host inputs and parameters, in the order in which they were made."""
        return tuple(self._sources)

    @property
    def inputs(self) -> tuple[Source, ...]:
        return self._of_kind(SourceKind.INPUT)

    @property
    def host_inputs(self) -> tuple[Source, ...]:
        return self._of_kind(SourceKind.HOST_INPUT)

    @property
    def parameters(self) -> tuple[Source, ...]:
        return self._of_kind(SourceKind.PARAMETER)

    @property
    def operations(self) -> tuple[Operation, ...]:
        """In order; operands come before use. Bodies of repeats are inside their operators."""
        return tuple(self._root.operations)

    @property
    def outputs(self) -> tuple[Output, ...]:
        return tuple(self._outputs)

    @property
    def region(self) -> Region:
        """The graph as a region: its arguments are the sources, its results the outputs."""
        return Region(
            tuple(source.value for source in self._sources),
            self.operations,
            tuple(output.value for output in self._outputs),
        )

    def tensor(self, value: Value) -> Tensor:
        """A handle on one of the graph's values, to go on building with."""
        return Tensor(self, value)

    def verify(self) -> None:
        """Raise `VerificationError`, which lists every broken rule (docs/graph.md)."""
        check(self)

    # Building

    def input(
        self, name: str, shape: Sequence[int], format: DType | NumberFormat = DType.F16
    ) -> Tensor:
        """A value that differs from run to run, in the chip's memory when a run starts."""
        return self._source(SourceKind.INPUT, name, shape, format)

    def host_input(
        self, name: str, shape: Sequence[int], format: DType | NumberFormat = DType.F16
    ) -> Tensor:
        """A value that differs from run to run, fetched from the host as the program runs."""
        return self._source(SourceKind.HOST_INPUT, name, shape, format)

    def parameter(
        self, name: str, shape: Sequence[int], format: DType | NumberFormat = DType.F16
    ) -> Tensor:
        """A value that is the same in all runs."""
        return self._source(SourceKind.PARAMETER, name, shape, format)

    def output(self, name: str, value: Tensor) -> None:
        """Give `value` as `name`; the same value may go by several names."""
        if any(output.name == name for output in self._outputs):
            raise misuse(f"the graph has an output {quoted(name)} already")
        resolved = self.resolve(value, self._root)
        self._outputs.append(Output(_named(name), resolved, user_location()))

    def repeat(self, count: int, name: str = "") -> RepeatBuilder:
        """Open a body that runs `count` times: `with graph.repeat(12) as layer:`."""
        return RepeatBuilder(self, count, name)

    def apply(self, operator: Formula, *operands: Tensor, name: str = "") -> Tensor:
        values = tuple(self.resolve(operand) for operand in operands)
        (result,) = self.append(operator, values, [name], user_location())
        return Tensor(self, result)

    # For builders of regions

    def append(
        self,
        operator: Operator,
        operands: tuple[Value, ...],
        names: Sequence[str],
        location: Location | None,
    ) -> tuple[Value, ...]:
        """Add an operation to the open region; `operands` are values that it sees."""
        types = checked_result_types(operator, operands, location)
        results = tuple(
            self._scope.new(type, name) for type, name in zip(types, names, strict=True)
        )
        self._scope.operations.append(Operation(operator, operands, results, location))
        return results

    def resolve(self, tensor: Tensor, scope: Scope | None = None) -> Value:
        """What `scope`, by default the open one, calls the tensor. Raises `OperatorError`."""
        if not isinstance(tensor, Tensor):
            raise misuse(f"expected a tensor of the graph, found {tensor!r}")
        if tensor.graph is not self:
            raise misuse(f"{tensor.value} belongs to another graph than {quoted(self.name)}")
        value = (scope or self._scope).resolve(tensor.value)
        if value is None:
            raise misuse(
                f"{tensor.value} belongs to the body of a repeat; outside of it, use the repeat's "
                "results"
            )
        return value

    def open_scope(self) -> Scope:
        self._scope = Scope(self._new_value, self._scope)
        return self._scope

    def close_scope(self, scope: Scope) -> None:
        assert scope is self._scope
        assert scope.parent is not None
        self._scope = scope.parent

    def is_innermost(self, scope: Scope) -> bool:
        return scope is self._scope

    # Comparison

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ComputeGraph):
            return NotImplemented
        return self._parts() == other._parts()

    def __hash__(self) -> NoReturn:
        raise TypeError("a graph can change, so it has no hash")

    def __str__(self) -> str:
        from tilewright.graph.text import print_graph  # which needs this module

        return print_graph(self)

    def __repr__(self) -> str:
        return f"<ComputeGraph {quoted(self.name)}, {len(self.operations)} operations>"

    def _parts(self) -> tuple[object, ...]:
        return self.name, self._sources, self._root.operations, self._outputs

    @property
    def _root(self) -> Scope:
        scope = self._scope
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def _of_kind(self, kind: SourceKind) -> tuple[Source, ...]:
        return tuple(source for source in self._sources if source.kind is kind)

    def _new_value(self, type: ValueType, name: str) -> Value:
        value = Value(self._next_id, type, name)
        self._next_id += 1
        return value

    def _source(
        self, kind: SourceKind, name: str, shape: Sequence[int], format: DType | NumberFormat
    ) -> Tensor:
        location = user_location()
        if any(source.name == name for source in self._sources):
            raise misuse(f"the graph has an input or parameter {quoted(name)} already")
        try:
            type = ValueType(as_format(format), tuple(shape))
        except GraphError as fault:
            raise misuse(f"{kind.value} {quoted(name)}: {fault}") from fault
        value = self._new_value(type, _named(name))
        self._sources.append(Source(kind, value, location))
        self._root.define(value)
        return Tensor(self, value)


def _named(name: str) -> str:
    if not name:
        raise misuse("inputs, parameters and outputs need a name")
    return name
