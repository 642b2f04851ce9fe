"""What a build is for, and how it plans: shared by planning, lowering and packaging."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from tilewright.codegen.mid.cost import EMULATED, CostModel
from tilewright.codegen.mid.faults import PlanError
from tilewright.codegen.mid.formats import TensorFormat
from tilewright.codegen.mid.kernels import CATALOGUE, KernelPolicy, KernelSpec, KernelStatus
from tilewright.target.geometry import (
    EXCHANGE_WINDOW,
    MEMORY_BASE,
    MEMORY_END,
    MEMORY_SIZE,
    REGION1_BASE,
    RUNTIME_STATE,
    TILES,
)

SLACK = 0.06
"""Share of a tile's memory that packing may lose: 5 to 8 % were seen in simulations."""
CODE_BYTES = EXCHANGE_WINDOW[0] - MEMORY_BASE
"""Below the exchange window: start-up code and kernels of a first size."""


class Profiling(Enum):
    """Which cycles a program samples. Plans do not depend on it; the program's emission will."""

    NONE = "none"
    OVERALL = "overall"
    STEPS = "steps"


def tile_budget() -> int:
    """Bytes of a tile that tensors and rows may take."""
    window = EXCHANGE_WINDOW[1] - EXCHANGE_WINDOW[0]
    state = RUNTIME_STATE[1] - RUNTIME_STATE[0]
    return int((MEMORY_SIZE - CODE_BYTES - window - state) * (1 - SLACK))


def interleaved_budget() -> int:
    """Bytes of a tile's interleaved memory that tensors may take."""
    return int((MEMORY_END - REGION1_BASE) * (1 - SLACK))


@dataclass(frozen=True, slots=True)
class PipelineConfig:
    """Target, planning policy and formats of inputs.

    `most_copies` caps the copies of each weight; 0 leaves it to the budget. `inputs` fixes formats
    of the graph's sources by name; others are the planner's choice.
    """

    tiles: int = TILES
    model: CostModel = EMULATED
    kernels: Mapping[str, KernelSpec] = field(default_factory=lambda: CATALOGUE)
    """Says which kernels exist; what they cost and need is `CATALOGUE`'s to say."""
    policy: KernelPolicy = KernelPolicy.PREDICT
    inputs: Mapping[str, TensorFormat] = field(default_factory=dict)
    profiling: Profiling = Profiling.NONE
    most_copies: int = 0
    placement_seed: int = 0
    """Of the memory policy (`codegen.place.MemoryPolicy`); plans do not depend on it."""
    tile_bytes: int = field(default_factory=tile_budget)
    """Memory of a tile that plans may fill."""
    interleaved_bytes: int = field(default_factory=interleaved_budget)
    """Of it, what may be interleaved."""

    def __post_init__(self) -> None:
        if not 1 <= self.tiles <= TILES:
            raise PlanError(f"a chip has {TILES} tiles; a plan for {self.tiles} is not possible")
        if self.most_copies < 0 or self.tile_bytes < 1:
            raise PlanError("the cap of copies and the memory of a tile cannot be negative")
        for name, kind in (("policy", KernelPolicy), ("profiling", Profiling)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                listed = ", ".join(f"{kind.__name__}.{each.name}" for each in kind)
                raise PlanError(f"{name} is {value!r}; expected one of {listed}")

    def allows(self, kernel: str) -> bool:
        """Whether plans may call a kernel."""
        spec = self.kernels.get(kernel)
        if spec is None:
            return False
        return self.policy is KernelPolicy.PREDICT or spec.status is KernelStatus.IMPLEMENTED
