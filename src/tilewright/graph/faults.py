"""The errors of graphs."""

from collections.abc import Sequence

from tilewright.errors import TilewrightError


class GraphError(TilewrightError):
    """A graph, or a part of one, that cannot be made as asked."""


class OperatorError(GraphError):
    """Operands that an operator does not take: their number, shapes or formats."""


class VerificationError(GraphError):
    """A graph that breaks the rules of its form; `faults` holds one line for each."""

    def __init__(self, name: str, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join([f'graph "{name}" is not valid:', *_indented(faults)]))


class EvaluationError(GraphError):
    """Arrays that do not fit the graph, or values at which an operator has no meaning."""


class GraphTextError(GraphError):
    """Text that is not a graph. The message names each place as `file:line:column`."""


def evaluation_error(heading: str, faults: Sequence[str]) -> EvaluationError:
    """An error with one line per fault under `heading`."""
    return EvaluationError("\n".join([heading, *_indented(faults)]))


def _indented(faults: Sequence[str]) -> list[str]:
    return ["  " + fault.replace("\n", "\n  ") for fault in faults]
