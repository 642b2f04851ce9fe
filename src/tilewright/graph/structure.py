"""The parts of a graph: sources, outputs, and operations in the order of regions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from tilewright.graph.faults import GraphError, OperatorError
from tilewright.graph.operator import Operator
from tilewright.graph.types import ValueType
from tilewright.graph.values import Location, Value

_MOST_OPERANDS_SHOWN = 8


class SourceKind(Enum):
    """How a value comes into the graph. The value is its word in the text form."""

    INPUT = "input"
    """It differs from run to run, and lies in the chip's memory when a run starts."""
    HOST_INPUT = "host_input"
    """It differs from run to run, and the program fetches it from the host as it runs."""
    PARAMETER = "parameter"
    """It is the same in all runs."""


@dataclass(frozen=True, slots=True)
class Source:
    """A value from outside, under its unique name."""

    kind: SourceKind
    value: Value
    location: Location | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        return self.value.name


@dataclass(frozen=True, slots=True)
class Output:
    """A value that the graph gives, under its unique name."""

    name: str
    value: Value
    location: Location | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Operation:
    """One application of an operator. Its identity is that of its first result."""

    operator: Operator
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    location: Location | None = field(default=None, compare=False)

    @property
    def id(self) -> int:
        return self.results[0].id

    @property
    def result(self) -> Value:
        """The only result. Of a `Repeat`, which may have several, take `results`."""
        (result,) = self.results
        return result

    @property
    def label(self) -> str:
        """What the user called it; often empty."""
        return self.results[0].name


@dataclass(frozen=True, slots=True)
class Region:
    """Operations in order, over `arguments`. It sees nothing of what surrounds it."""

    arguments: tuple[Value, ...]
    operations: tuple[Operation, ...]
    results: tuple[Value, ...]


def checked_result_types(
    operator: Operator, operands: Sequence[Value], location: Location | None
) -> tuple[ValueType, ...]:
    """The types of the results. Raises `OperatorError` that names operator, operands and place."""
    try:
        return operator.result_types([operand.type for operand in operands])
    except GraphError as fault:
        place = f"{location}: " if location else ""
        shown = [
            f"\n    {_role(operator, index)} = {operand}"
            for index, operand in enumerate(operands[:_MOST_OPERANDS_SHOWN])
        ]
        hidden = len(operands) - len(shown)
        more = f"\n    and {hidden} more" if hidden else ""
        raise OperatorError(f"{place}{operator.mnemonic}: {fault}{''.join(shown)}{more}") from None


def _role(operator: Operator, index: int) -> str:
    try:
        return operator.role(index)
    except IndexError:
        return f"operand {index}"  # one too many
