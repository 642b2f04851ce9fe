"""From a planned group to its candidates: which rules apply to which operator."""

from tilewright.codegen.mid.candidates import Operand, OperatorCandidate, permitted
from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.faults import PlanError
from tilewright.codegen.mid.groups import Group
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.operators.assembling import concat_candidates
from tilewright.codegen.mid.operators.attention import attention_candidates
from tilewright.codegen.mid.operators.gemm import gemm_candidates, product_of
from tilewright.codegen.mid.operators.pointwise import cast_candidates, pointwise_candidates
from tilewright.codegen.mid.operators.reducing import reduce_candidates
from tilewright.codegen.mid.operators.rows import row_candidates
from tilewright.codegen.mid.orders import Precision
from tilewright.graph import DType, operators

PRECISIONS = {
    DType.F8F143: Precision.F8F143,
    DType.F16: Precision.F16,
    DType.F32: Precision.F32,
    DType.I32: Precision.I32,
}
GATHERING = (operators.Gemm, operators.Attention, operators.Concat)
"""Operators whose dispatch gathers operands from wherever they are."""


def candidates(
    group: Group, operands: tuple[Operand, ...], config: PipelineConfig, limit: int
) -> list[OperatorCandidate]:
    """All that the policy permits. Raises PlanError for an operator without a rule.

    For operators that gather, `operands` of known storage have None there and are no weights.
    """
    return permitted(_candidates(group, operands, config, limit), config)


def _candidates(
    group: Group, operands: tuple[Operand, ...], config: PipelineConfig, limit: int
) -> list[OperatorCandidate]:
    operator, type = group.first.operator, group.results[0].type
    shape: Shape = type.shape
    precision = PRECISIONS[type.dtype]
    if isinstance(operator, operators.Gemm):
        transposed = (operator.transpose_a, operator.transpose_b)
        product = product_of(operands, transposed, shape, precision, group.epilogues)
        return list(gemm_candidates(product, operands, shape, config, limit))
    if isinstance(operator, operators.Attention):
        return attention_candidates(
            operands, shape, precision, operator.scale, operator.causal, config, limit
        )
    if isinstance(operator, operators.Concat):
        return concat_candidates(operands, operator.axis, shape, config)
    if isinstance(operator, operators.Cast):
        return cast_candidates(operands[0], precision, type.format.scale, config)
    if isinstance(operator, operators.Reduce):
        return reduce_candidates(operator, operands[0], shape, precision, config)
    if isinstance(operator, operators.Softmax | operators.LayerNorm | operators.RmsNorm):
        return row_candidates(operator, operands, shape, precision, config)
    if f"{operator.mnemonic}_{precision.value}" in config.kernels:
        return pointwise_candidates(operator.mnemonic, operands, shape, precision, config)
    raise PlanError(f"{group.label}: there is no plan for the operator {operator.mnemonic}")
