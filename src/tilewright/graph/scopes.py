"""While a graph is built: which values the open region sees, and what it captures from outside."""

from collections.abc import Callable

from tilewright.graph.structure import Operation
from tilewright.graph.types import ValueType
from tilewright.graph.values import Value

NewValue = Callable[[ValueType, str], Value]


class Scope:
    """An open region: the graph's own, or a repeat's body inside `parent`.

    A body that uses a value of a region around it captures it: the value becomes an invariant of
    the repeat, and of every repeat between.
    """

    def __init__(self, new_value: NewValue, parent: "Scope | None" = None) -> None:
        self.parent = parent
        self.operations: list[Operation] = []
        self.captured: list[tuple[Value, Value]] = []
        """Arguments made for values of outside, and these values as the parent sees them."""
        self._new_value = new_value
        self._here: dict[int, Value] = {}

    def define(self, value: Value) -> None:
        self._here[value.id] = value

    def new(self, type: ValueType, name: str) -> Value:
        """A fresh value of this region."""
        value = self._new_value(type, name)
        self.define(value)
        return value

    def resolve(self, value: Value) -> Value | None:
        """What this region calls `value`, or `None` if it cannot see it."""
        if value.id in self._here:
            return self._here[value.id]
        outer = self.parent.resolve(value) if self.parent else None
        if outer is None:
            return None
        argument = self.new(value.type, value.name)
        self._here[value.id] = argument
        self.captured.append((argument, outer))
        return argument
