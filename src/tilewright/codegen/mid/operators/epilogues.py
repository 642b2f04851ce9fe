"""Operators that run fused behind a matrix product: bias, scale, activation, residual."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.orders import OUTPUT_GROUP, Precision
from tilewright.codegen.mid.prices import cleared_rows_cycles, panel_cycles, vector_cycles
from tilewright.graph.operator import Formula
from tilewright.target import rates

REVERSED = "reversed "


class EpilogueKind(Enum):
    ACTIVATION = "activation"
    """A function of each element."""
    ROW = "row"
    """With a number for each column, or one for all."""
    RESIDUAL = "residual"
    """With a tensor of the result's shape."""


@dataclass(frozen=True, slots=True)
class Epilogue:
    """One fused operator. `operand` is the place of its other operand among the group's, if any.

    `product_first`: whether the product is the first of the operator's two operands.
    """

    operator: Formula
    kind: EpilogueKind
    operand: int | None = None
    product_first: bool = True

    @property
    def name(self) -> str:
        """The operator's name; `reversed` if it takes the product from its other operand."""
        mnemonic = self.operator.mnemonic
        return mnemonic if self.product_first or mnemonic != "sub" else f"{REVERSED}{mnemonic}"


def epilogue_kind(operator: Formula, other: Shape | None, result: Shape) -> EpilogueKind | None:
    """How an operator can follow a product of shape `result`; None if it cannot.

    `other` is the shape of its second operand, None if it has one operand only.
    """
    if operator.mnemonic not in rates.POINTWISE_F16:
        return None
    if other is None:
        return EpilogueKind.ACTIVATION if operator.mnemonic in ACTIVATIONS else None
    if operator.mnemonic not in ("add", "sub", "mul"):
        return None
    if all(extent == 1 for extent in other):
        return EpilogueKind.ROW if len(other) <= len(result) else None
    if other == result:
        return EpilogueKind.RESIDUAL
    meaningful = other[-1] == result[-1] and all(extent == 1 for extent in other[:-1])
    return EpilogueKind.ROW if meaningful and len(other) <= len(result) else None


ACTIVATIONS = frozenset(("gelu", "gelu_tanh", "relu", "silu", "sigmoid", "tanh", "exp"))


Rest = tuple[Epilogue, ...]


def added_with_terms(epilogues: Rest, transposed: bool) -> tuple[str, Rest]:
    """The form of the call that adds up terms in halves, and the operators that it leaves.

    It takes the first two as far as they add: a row (not along transposed panels), an array.
    """
    taken: set[EpilogueKind] = set()
    while epilogues and epilogues[0].operator.mnemonic == "add":
        kind = epilogues[0].kind
        if kind in taken or (kind is EpilogueKind.ROW and transposed):
            break
        taken.add(kind)
        epilogues = epilogues[1:]
    row, array = EpilogueKind.ROW in taken, EpilogueKind.RESIDUAL in taken
    return ("row_array" if array else "row") if row else "array" if array else "plain", epilogues


def epilogue_cycles(
    epilogues: Rest,
    precision: Precision,
    transposed: bool,
    rows: Any,
    panels: Any,
    padding: int = 0,
) -> Any:
    """Of one call for each operator, on so many rows and panels of the product.

    Each row of the last panel ends with `padding` columns. What is added along transposed panels
    changes it, so that it is cleared.
    """
    cycles = 0.0 * rows
    for each in epilogues:
        operation = each.operator.mnemonic
        if each.kind is EpilogueKind.ROW:
            cycles = cycles + panel_cycles(operation, precision, transposed, rows, panels)
            if transposed and padding:
                cycles = cycles + cleared_rows_cycles(rows, padding * precision.bytes)
        else:
            elements = rows * panels * OUTPUT_GROUP
            cycles = cycles + vector_cycles(f"{operation}_{precision.value}", elements)
    return cycles
