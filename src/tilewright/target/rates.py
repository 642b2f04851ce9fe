"""Rates for planning: what work on a tile costs per element or block, each with its evidence.

Cycles of the tile clock. Kernels of ours state what they cost themselves; rates of kernels are for
those that plans may name and nobody wrote, and estimates of others: of the vendor's estimators, or
fitted to runs of a third party's stack on a C600.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tilewright.target.row_events import WIDE_ITEMS
from tilewright.target.timing import Cost, CostEvidence, Unit

_ESTIMATED, _MEASURED = CostEvidence.ESTIMATED, CostEvidence.MEASURED
_ASSUMED = CostEvidence.ASSUMED
_CYCLES = Unit.CYCLES


@dataclass(frozen=True, slots=True)
class Rate:
    """Cycles per element of the result (or what `per` says) on one tile, all workers together."""

    name: str
    cycles: float
    evidence: CostEvidence
    span: tuple[float, float] | None = None
    per: str = "element"


# Matrix products

AMP_ROW_F16 = Cost("row of a 16 x 16 f16 block", 4, _CYCLES, _ESTIMATED)
AMP_ROW_F32 = Cost("row of an 8 x 16 f32 block", 8, _CYCLES, _ESTIMATED)
"""Follow from the peak rates of 64 and 16 multiply-adds per cycle and tile."""

GEMM_CALL = Cost("call of a matrix kernel", 294, _CYCLES, _MEASURED)
COPY_CALL = Cost("call of a local copy", 288, _CYCLES, _MEASURED)

MACS_F16 = Cost("f16 multiply-adds per cycle and tile", 64, _CYCLES, _ESTIMATED)
MACS_F32 = Cost("f32 multiply-adds per cycle and tile", 16, _CYCLES, _ESTIMATED)

# Calls of other kernels

VECTOR_CALL = Cost("call of a vector kernel", 150, _CYCLES, _ESTIMATED, span=(122, 218))
REDUCE_CALL = Cost("call of a reduction of partials", 100, _CYCLES, _ESTIMATED)

# Reductions of partial sums, per element of a partial

REDUCE_F32 = Rate("add an f32 partial", 0.5, _ESTIMATED, (0.25, 0.75), "partial element")
REDUCE_F16 = Rate("add an f16 partial", 0.25, _ESTIMATED, (0.125, 0.375), "partial element")

# Memory

CAST_BYTES_PER_CYCLE = 8
"""Of bytes read and bytes written together; an estimate."""

# Exchange

EXCHANGE_BYTES_PER_CYCLE = 4
"""Received, and sent, by each tile with 32-bit messages."""
PAIRED_BYTES_PER_CYCLE = 8
"""Received by each of two adjacent tiles that take the same 64-bit message, and the most that a
pair of tiles sends together."""
LEAST_PAIRED_BYTES = 8 * WIDE_ITEMS.start
"""Of such a message."""
EXCHANGE_LATENCY = Cost("row of a phase beside its words", 115, _CYCLES, _ESTIMATED, span=(97, 171))
"""The way of a word, computed from the routes' timing for phases that move one word: shifts,
permutations, reversals and pairwise reductions. The value fits the phases of encoders best."""
MESSAGE_RECEIVED = Cost("message received, beside its words", 2, _CYCLES, _ESTIMATED, span=(1, 4))
MESSAGE_SENT = Cost("message sent, beside its words", 2, _CYCLES, _ESTIMATED, span=(1, 3))
"""Fitted, as events of the busiest tile, to schedules of the phases of two encoders."""
ROW_WORDS_PER_MESSAGE = 9
"""Instruction words that a message adds to the rows of a phase; an estimate of a third party."""


def _rates(*rates: Rate) -> Mapping[str, Rate]:
    return MappingProxyType({rate.name: rate for rate in rates})


POINTWISE_F16 = _rates(
    Rate("add", 1.25, _ESTIMATED, (0.0625, 1.25)),
    Rate("sub", 1.25, _ESTIMATED),
    Rate("mul", 1.25, _ESTIMATED),
    Rate("div", 5.25, _ESTIMATED),
    Rate("relu", 0.75, _ESTIMATED),
    Rate("exp", 1.0, _ESTIMATED),
    Rate("tanh", 1.0, _ESTIMATED),
    Rate("sigmoid", 1.5, _ESTIMATED),
    Rate("sqrt", 5.75, _ESTIMATED),
    Rate("gelu", 10.0, _ESTIMATED, (4.0, 16.0)),
    Rate("gelu_tanh", 6.0, _ESTIMATED, (5.0, 10.0)),
    Rate("silu", 3.0, _ASSUMED),
    Rate("softmax", 6.0, _ESTIMATED, (5.0, 6.0)),
    Rate("layer_norm", 6.0, _ESTIMATED, (4.0, 6.0)),
    Rate("row_statistics", 2.0, _ASSUMED),
    Rate("row_apply", 3.0, _ASSUMED),
    Rate("softmax_statistics", 3.0, _ASSUMED),
    Rate("softmax_apply", 3.0, _ASSUMED),
    Rate("row_reduce", 1.0, _ESTIMATED),
)
"""By operation. `gelu` is the exact form: the vendor's estimator has 16, a polynomial of the error
function should take 4 to 6 by count of instructions."""

F32_FACTOR = 2.0
"""An f32 operation against its f16 form: half as many elements in a vector."""

REPACK = _rates(
    Rate("panel", 4.0, _ESTIMATED),
    Rate("transpose", 3.0, _ESTIMATED),
    Rate("unpack", 10.0, _ESTIMATED),
)
"""A local change of element order: into panels, to a transposed order, and element by element."""
