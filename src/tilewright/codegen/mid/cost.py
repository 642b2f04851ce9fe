"""What plans cost: cycles by part, bytes by class, and the constants that price them.

Rates of kernels are the catalogue's (`kernels`); constants of the chip come from `target`. Costs
are those of the worst tile: the chip is bulk-synchronous, so the largest shard sets the pace.
"""

from dataclasses import dataclass

from tilewright.codegen.mid.faults import PlanError
from tilewright.target import rates, timing


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """Cycles of one run of an operator, by what they are spent on."""

    compute: float = 0.0
    exchange: float = 0.0
    """Words on the move."""
    sync: float = 0.0
    """Boundaries of phases."""
    reduction: float = 0.0
    """Adding partial sums, with what is fused into it."""
    conversion: float = 0.0
    """Casts, rearrangements, repacking; their exchange and boundaries too."""

    @property
    def total(self) -> float:
        return self.compute + self.exchange + self.sync + self.reduction + self.conversion

    def __add__(self, other: "OperatorCost") -> "OperatorCost":
        return OperatorCost(
            self.compute + other.compute,
            self.exchange + other.exchange,
            self.sync + other.sync,
            self.reduction + other.reduction,
            self.conversion + other.conversion,
        )

    def times(self, count: int) -> "OperatorCost":
        return OperatorCost(
            self.compute * count,
            self.exchange * count,
            self.sync * count,
            self.reduction * count,
            self.conversion * count,
        )


@dataclass(frozen=True, slots=True)
class OperatorBytes:
    """Bytes on the fullest tile."""

    resident: int = 0
    """Parameters, where the operator wants them; of one layer if it repeats."""
    transient: int = 0
    """Working copies and partial sums, while the operator runs; inputs and results apart."""
    result: int = 0
    interleaved: int = 0
    """Of the working memory, what lies in interleaved memory."""
    rows: int = 0
    """Instruction rows of its exchange phases, estimated."""


@dataclass(frozen=True, slots=True)
class CostModel:
    """The constants with which plans are priced. `EMULATED` is the choice; see docs/planning.md."""

    name: str
    phase: int
    """Cycles of a phase beside its words."""
    paired: bool
    """Whether adjacent tiles that take the same data receive 8 bytes per cycle."""

    def receive_cycles(
        self, amount: float, shared_by_pair: bool = False, messages: float = 0.0
    ) -> float:
        """Cycles to receive `amount` bytes in so many messages on one tile."""
        paired = self.paired and shared_by_pair
        words = amount / (
            rates.PAIRED_BYTES_PER_CYCLE if paired else rates.EXCHANGE_BYTES_PER_CYCLE
        )
        return words + messages * rates.MESSAGE_RECEIVED.value

    def send_cycles(self, amount: float, messages: float = 0.0) -> float:
        """Cycles in which a tile sends `amount` bytes while its neighbour sends as much.

        The same for both widths: 64-bit messages take the send bus of the pair, at 8 bytes per
        cycle for two tiles.
        """
        words = amount / rates.EXCHANGE_BYTES_PER_CYCLE
        return words + messages * rates.MESSAGE_SENT.value


_ENTRY = 8
"""Cycles of a supervisor from its last call to the barrier, and from the barrier into its row."""

EMULATED = CostModel(
    "emulated",
    timing.INTERNAL_SYNC.value + rates.EXCHANGE_LATENCY.value + _ENTRY,
    paired=True,
)
"""The barrier as the emulated chip has it, and 64-bit messages."""

MEASURED = CostModel(
    "measured", timing.PHASE_BOUNDARY.value + rates.EXCHANGE_LATENCY.value, paired=True
)
"""The boundary as it was measured on a C600."""

CONSERVATIVE = CostModel("conservative", timing.GLOBAL_SYNC.value, paired=False)
"""The vendor's planning constant for a phase and 32-bit messages only: for comparison with
estimates that were made so."""

_MODELS = {model.name: model for model in (EMULATED, MEASURED, CONSERVATIVE)}


def cost_model(name: str) -> CostModel:
    """By name: emulated, measured or conservative. Raises PlanError for another."""
    if name not in _MODELS:
        raise PlanError(f"no cost model '{name}'; there are: {', '.join(_MODELS)}")
    return _MODELS[name]
