"""A region's operations in the units that are planned: a product with what is fused behind it."""

from collections import Counter
from dataclasses import dataclass, replace

from tilewright.codegen.mid.operators.epilogues import Epilogue, EpilogueKind, epilogue_kind
from tilewright.graph import Formula, Operation, Region, Repeat, Value, operators

VIEWS = (
    operators.Reshape,
    operators.Transpose,
    operators.Slice,
    operators.SplitHeads,
    operators.MergeHeads,
    operators.Broadcast,
)
"""Operators that only look at their operand in another way."""


@dataclass(frozen=True, slots=True)
class Group:
    """Operations planned as one: the first, and operators fused behind it, if it is a product."""

    operations: tuple[Operation, ...]
    operands: tuple[Value, ...]
    epilogues: tuple[Epilogue, ...] = ()

    @property
    def first(self) -> Operation:
        return self.operations[0]

    @property
    def results(self) -> tuple[Value, ...]:
        return self.operations[-1].results

    @property
    def is_view(self) -> bool:
        """A cast to the format that the operand has is one too."""
        if isinstance(self.first.operator, operators.Cast):
            return self.operands[0].type.format == self.results[0].type.format
        return isinstance(self.first.operator, VIEWS)

    @property
    def is_constant(self) -> bool:
        return isinstance(self.first.operator, operators.Constant)

    @property
    def repeat(self) -> Repeat | None:
        operator = self.first.operator
        return operator if isinstance(operator, Repeat) else None

    @property
    def formula(self) -> Formula:
        operator = self.first.operator
        assert isinstance(operator, Formula)
        return operator

    @property
    def label(self) -> str:
        """For people: what the user called it, or the operators' names."""
        named = [operation.label for operation in self.operations if operation.label]
        if named:
            return named[-1]
        names = "+".join(operation.operator.mnemonic for operation in self.operations)
        return f"{names} %{self.results[0].id}"


def grouped(region: Region) -> tuple[Group, ...]:
    """The region's operations in order; a group stands where its last operation stood."""
    uses = Counter(value.id for operation in region.operations for value in operation.operands)
    uses.update(value.id for value in region.results)
    growing: dict[int, Group] = {}
    """Products that may grow, by their result so far."""
    placed: list[Group | None] = []
    places: dict[int, int] = {}
    for operation in region.operations:
        fused = _fused(operation, growing, uses)
        if fused is not None:
            group, previous = fused
            placed[places.pop(previous)] = None
        else:
            group = Group((operation,), operation.operands)
        result = group.results[0]
        if isinstance(group.first.operator, operators.Gemm):
            growing[result.id] = group
            places[result.id] = len(placed)
        placed.append(group)
    return tuple(group for group in placed if group is not None)


def _fused(
    operation: Operation, growing: dict[int, Group], uses: Counter[int]
) -> tuple[Group, int] | None:
    """The product's group with `operation` behind it, and the id of the result it had before."""
    if not isinstance(operation.operator, Formula):
        return None
    for index, operand in enumerate(operation.operands):
        group = growing.get(operand.id)
        if group is None or uses[operand.id] > 1:
            continue
        others = operation.operands[:index] + operation.operands[index + 1 :]
        grown = _grow(group, operation, others, index == 0)
        if grown is not None:
            del growing[operand.id]
            return grown, operand.id
    return None


def _grow(
    group: Group, operation: Operation, others: tuple[Value, ...], product_first: bool
) -> Group | None:
    product = group.first.result.type
    result = operation.result.type
    if len(others) > 1 or (result.shape, result.dtype) != (product.shape, product.dtype):
        return None
    other = others[0].type if others else None
    if other is not None and other.dtype is not result.dtype:
        return None  # kernels behind a product take one precision: a cast comes first
    assert isinstance(operation.operator, Formula)
    kind = epilogue_kind(operation.operator, None if other is None else other.shape, result.shape)
    if kind is None:
        return None
    residuals = [each for each in group.epilogues if each.kind is EpilogueKind.RESIDUAL]
    if kind is EpilogueKind.RESIDUAL and residuals:
        return None
    place = len(group.operands) if others else None
    epilogue = Epilogue(operation.operator, kind, place, product_first)
    return replace(
        group,
        operations=(*group.operations, operation),
        operands=group.operands + others,
        epilogues=(*group.epilogues, epilogue),
    )
