"""Operators that run fused behind a matrix product: bias, scale, activation, residual."""

from dataclasses import dataclass
from enum import Enum

from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.orders import Precision
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


def epilogue_cycles(epilogues: tuple[Epilogue, ...], precision: Precision) -> float:
    """Per element of the result."""
    factor = rates.F32_FACTOR if precision is Precision.F32 else 1.0
    return factor * sum(_rate(each) for each in epilogues)


def _rate(epilogue: Epilogue) -> float:
    if epilogue.kind is EpilogueKind.ACTIVATION:
        return rates.POINTWISE_F16[epilogue.operator.mnemonic].cycles
    if epilogue.kind is EpilogueKind.RESIDUAL:
        return rates.FUSED_F16["residual"].cycles
    return rates.FUSED_F16["scale" if epilogue.operator.mnemonic == "mul" else "bias"].cycles
