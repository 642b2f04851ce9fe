"""What products would take if every matrix unit of the chip worked at its peak all the time."""

from math import prod

from tilewright.codegen.mid.midgraph import MidOperation
from tilewright.codegen.mid.orders import Precision
from tilewright.graph import operators
from tilewright.target import rates


def ideal_cycles(step: MidOperation, tiles: int) -> float:
    """Cycles of a product's multiply-adds on all tiles at their peak; 0 for other work."""
    shape = step.result.storage.shape
    if isinstance(step.operator, operators.Gemm):
        a = step.operands[0].storage.shape
        inner = a[-2] if step.operator.transpose_a else a[-1]
        macs = prod(shape) * inner
    elif isinstance(step.operator, operators.Attention):
        q, k = (operand.storage.shape for operand in step.operands[:2])
        macs = prod(shape[:-1]) * k[-2] * (q[-1] + shape[-1])
    else:
        return 0.0
    assert step.plan is not None
    peak = rates.MACS_F32 if step.plan.compute is Precision.F32 else rates.MACS_F16
    return macs / (peak.value * tiles)
