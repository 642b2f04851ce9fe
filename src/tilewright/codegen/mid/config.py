"""What a build is for, and how it plans: shared by planning, lowering and packaging."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from typing import Any

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


_LEAST = {
    "tiles": None,
    "most_copies": 0,
    "placement_seed": None,
    "tile_bytes": 1,
    "interleaved_bytes": 1,
}
"""Whole numbers of a configuration, and the least that they can be; the tiles have rules of their
own."""
_KINDS = {
    "model": CostModel,
    "kernels": Mapping,
    "policy": KernelPolicy,
    "inputs": Mapping,
    "profiling": Profiling,
}


def _one_of(kind: type) -> str:
    """What is to be given where something of this kind is wanted."""
    if issubclass(kind, Enum):
        return "one of " + ", ".join(map(str, kind))
    return f"a {kind.__name__}"


def _whole(name: str, value: object) -> int:
    try:
        found = int(operator.index(value))  # type: ignore[arg-type] # that is asked here
    except TypeError:
        raise PlanError(f"{name} of a configuration is a whole number, not {value!r}") from None
    least = _LEAST[name]
    if least is not None and found < least:
        raise PlanError(f"{name} of a configuration is at least {least}, not {found}")
    return found


def _short_kernels(kernels: Mapping[str, KernelSpec]) -> str:
    missing = sum(spec.status is not KernelStatus.IMPLEMENTED for spec in kernels.values())
    return f"<{len(kernels)} kernels, {missing} of them not written>"


def _short_formats(formats: Mapping[str, TensorFormat]) -> str:
    return "{" + ", ".join(f"{name!r}: {format}" for name, format in formats.items()) + "}"


_SHORT: Mapping[str, Callable[[Any], str]] = {
    "model": lambda model: f"<{model.name}>",
    "kernels": _short_kernels,
    "policy": str,
    "profiling": str,
    "inputs": _short_formats,
}


@dataclass(frozen=True, slots=True, repr=False)
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
        """Raises PlanError for what is no configuration, or none of this chip."""
        for name in _LEAST:
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        for name, kind in _KINDS.items():
            found = getattr(self, name)
            if not isinstance(found, kind):
                raise PlanError(f"{name} of a configuration is {_one_of(kind)}, not {found!r}")
        for source, format in self.inputs.items():
            if not isinstance(format, TensorFormat):
                raise PlanError(f'the format of "{source}" is a TensorFormat, not {format!r}')
        if not 1 <= self.tiles <= TILES:
            raise PlanError(f"a chip has {TILES} tiles; a plan for {self.tiles} is not possible")
        if max(self.tile_bytes, self.interleaved_bytes) > MEMORY_SIZE:
            raise PlanError(f"a tile has {MEMORY_SIZE:,} bytes; a plan cannot fill more")

    def __repr__(self) -> str:
        """What differs from the usual, in short."""
        shown = [f"tiles={self.tiles}"]
        for each in fields(self)[1:]:
            value = getattr(self, each.name)
            usual = each.default if each.default_factory is MISSING else each.default_factory()
            if value is not usual and value != usual:
                shown.append(f"{each.name}={_SHORT.get(each.name, repr)(value)}")
        return f"PipelineConfig({', '.join(shown)})"

    def allows(self, kernel: str) -> bool:
        """Whether plans may call a kernel."""
        spec = self.kernels.get(kernel)
        if spec is None:
            return False
        return self.policy is KernelPolicy.PREDICT or spec.status is KernelStatus.IMPLEMENTED
