"""Building a `Repeat`: the object of a `with graph.repeat(…)` block."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from tilewright.graph.faults import OperatorError
from tilewright.graph.operators import Repeat
from tilewright.graph.scopes import Scope
from tilewright.graph.structure import Region
from tilewright.graph.tensor import Tensor
from tilewright.graph.values import Value, misuse, user_location

if TYPE_CHECKING:
    from tilewright.graph.graph import ComputeGraph


class RepeatBuilder:
    """A repeat in the making.

        with graph.repeat(12, "layers") as layer:
            x = layer.carry(embedded)
            w = layer.each(weights)          # a list of 12 tensors
            layer.yields(x + x @ w)
        y = layer.result

    Operations in the block make the body. Tensors from outside may be used in it directly; they
    become invariants.
    """

    def __init__(self, graph: ComputeGraph, count: int, name: str) -> None:
        count = operator.index(count)
        if count < 1:
            raise misuse(f"a repeat needs one iteration or more, found {count}")
        self.count = count
        self.name = name
        self._graph = graph
        self._location = user_location()
        self._scope: Scope | None = None
        self._closed = False
        self._carried: list[tuple[Value, Value]] = []
        self._sequences: list[tuple[Value, tuple[Value, ...]]] = []
        self._yielded: tuple[Value, ...] | None = None
        self._results: tuple[Tensor, ...] | None = None

    def __enter__(self) -> RepeatBuilder:
        if self._scope is not None:
            raise misuse("this repeat has a body already")
        self._scope = self._graph.open_scope()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        scope = self._open()
        self._graph.close_scope(scope)
        self._closed = True
        if kind is None:
            self._finish(scope)

    def carry(self, initial: Tensor, name: str = "") -> Tensor:
        """A value that each iteration hands to the next; in the first one it is `initial`."""
        outer = self._outer(initial)
        argument = self._open().new(outer.type, name or outer.name)
        self._carried.append((argument, outer))
        return Tensor(self._graph, argument)

    def each(self, values: Sequence[Tensor], name: str = "") -> Tensor:
        """A value that is `values[i]` in iteration i. They must have one type."""
        if len(values) != self.count:
            raise misuse(
                f"a sequence needs {self.count} values, one per iteration, found {len(values)}"
            )
        outer = tuple(self._outer(value) for value in values)
        for value in outer:
            if value.type != outer[0].type:
                raise misuse(f"a sequence needs values of one type, found {outer[0]} and {value}")
        argument = self._open().new(outer[0].type, name)
        self._sequences.append((argument, outer))
        return Tensor(self._graph, argument)

    def yields(self, *values: Tensor) -> None:
        """The next value of everything carried, in the order of the calls to `carry`."""
        self._open()
        if self._yielded is not None:
            raise misuse("the body yields already")
        if len(values) != len(self._carried):
            raise misuse(f"the body carries {len(self._carried)} values and yields {len(values)}")
        yielded = tuple(self._graph.resolve(value) for value in values)
        for (argument, _), value in zip(self._carried, yielded, strict=True):
            if argument.type != value.type:
                raise misuse(
                    f"the body yields {value} for the carried value {argument}; their types must "
                    "be equal"
                )
        self._yielded = yielded

    @property
    def results(self) -> tuple[Tensor, ...]:
        """What was carried, after the last iteration. Only once the block is closed."""
        if self._results is None:
            raise misuse("a repeat has its results after its `with` block")
        return self._results

    @property
    def result(self) -> Tensor:
        """The one result of a repeat that carries one value."""
        results = self.results
        if len(results) != 1:
            raise misuse(f"the repeat has {len(results)} results; take them from `results`")
        return results[0]

    def _open(self) -> Scope:
        if self._scope is None or self._closed:
            raise misuse("a repeat is built inside its `with` block")
        if not self._graph.is_innermost(self._scope):
            raise misuse("the body of another repeat is open inside this one")
        return self._scope

    def _outer(self, tensor: Tensor) -> Value:
        parent = self._open().parent
        assert parent is not None
        return self._graph.resolve(tensor, parent)

    def _finish(self, scope: Scope) -> None:
        if self._yielded is None or not self._carried:
            raise OperatorError(
                f"{self._location}: the body of a repeat must carry one value or more, and call "
                "`yields` with the next ones"
            )
        groups = (*self._carried, *scope.captured)
        arguments = [argument for argument, _ in (*groups, *self._sequences)]
        operands = [outer for _, outer in groups]
        for _, values in self._sequences:
            operands.extend(values)
        body = Region(tuple(arguments), tuple(scope.operations), self._yielded)
        repeat = Repeat(self.count, len(scope.captured), body)
        results = self._graph.append(repeat, tuple(operands), self._names(), self._location)
        self._results = tuple(Tensor(self._graph, value) for value in results)

    def _names(self) -> list[str]:
        if len(self._carried) == 1:
            return [self.name]
        return [
            ".".join(part for part in (self.name, argument.name) if part)
            for argument, _ in self._carried
        ]
