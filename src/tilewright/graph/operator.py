"""What every operator offers: a name, roles of its operands, a shape rule, a meaning in NumPy."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import Field
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from tilewright.graph.faults import OperatorError
from tilewright.graph.types import NumberFormat, ValueType, computed_format

Array = NDArray[Any]
"""Numbers of the precision that an evaluation computes in; whole numbers for an I32 value."""


class Operator(ABC):
    """A kind of operation with its attributes.

    Subclasses are frozen dataclasses; their fields are the attributes. The text form prints and
    reads the fields as they are annotated (`bool`, `int`, `float`, a tuple of `int` or `float`, an
    `Enum` of strings, `NumberFormat`).
    """

    __slots__ = ()

    mnemonic: ClassVar[str]
    """Its name in the text form and in messages."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    """So that type checkers know subclasses for what they are."""

    @abstractmethod
    def role(self, index: int) -> str:
        """What messages call the operand at `index`."""

    @abstractmethod
    def result_types(self, operands: Sequence[ValueType]) -> tuple[ValueType, ...]:
        """The types of the results. Raises `OperatorError` for operands it does not take."""


class Formula(Operator):
    """An operator with one result that NumPy can state.

    `roles` names the operands. The last `optional` of them may be left out, or, if `variadic`, the
    last may come more than once.
    """

    __slots__ = ()

    roles: ClassVar[tuple[str, ...]]
    optional: ClassVar[int] = 0
    variadic: ClassVar[bool] = False

    @abstractmethod
    def infer(self, operands: Sequence[ValueType]) -> ValueType:
        """The shape rule. The number of operands has been checked."""

    @abstractmethod
    def evaluate(self, operands: Sequence[Array]) -> Array:
        """The meaning. Raises `EvaluationError` for numbers at which there is none."""

    def role(self, index: int) -> str:
        last = len(self.roles) - 1
        return f"{self.roles[last]}{index - last}" if self.variadic else self.roles[index]

    def result_types(self, operands: Sequence[ValueType]) -> tuple[ValueType, ...]:
        self._check_count(len(operands))
        return (self.infer(operands),)

    def _check_count(self, count: int) -> None:
        most = len(self.roles)
        least = most - self.optional
        if count >= least and (count <= most or self.variadic):
            return
        expected = str(least) if least == most else f"{least} to {most}"
        raise OperatorError(
            f"expected {'at least ' if self.variadic else ''}{expected} operands "
            f"({', '.join(self.roles)}), found {count}"
        )


REGISTRY: dict[str, type[Operator]] = {}
"""Every operator by its mnemonic."""

_Class = TypeVar("_Class", bound=type[Operator])


def register(operator: _Class) -> _Class:
    """Class decorator: makes the operator known to the text form."""
    if operator.mnemonic in REGISTRY:
        raise ValueError(f"there is an operator {operator.mnemonic} already")
    REGISTRY[operator.mnemonic] = operator
    return operator


def float_format(*operands: ValueType) -> NumberFormat:
    """The format of a result computed from `operands`. Raises `OperatorError` for I32 operands."""
    if not all(each.dtype.is_float for each in operands):
        raise OperatorError("it takes no I32 operands; cast them to F16 or F32 first")
    return computed_format(operands)


def require_rank(operand: ValueType, role: str, least: int) -> None:
    if operand.rank < least:
        raise OperatorError(f"{role} needs {least} axes or more, found {operand.rank}")


def softmax(scores: Array) -> Array:
    """Along the last axis, with the greatest score subtracted first."""
    exponentials = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return np.asarray(exponentials / np.sum(exponentials, axis=-1, keepdims=True))
