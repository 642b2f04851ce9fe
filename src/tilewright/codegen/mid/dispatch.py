"""A whole-device recipe: what is moved and which kernels are called, in order.

All of it is data, symbolic in tiles. A *slot* names a stored tensor: an operand, the result, or a
work buffer that lives while the recipe runs. Lowering derives transfers from two slots' layouts and
kernel arguments from shard extents; a kernel call runs on every tile of its result's group, on the
one shard of each slot that the tile holds.
"""

from dataclasses import dataclass
from typing import TypeAlias

from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.storage import Storage


@dataclass(frozen=True, slots=True)
class Slot:
    """A stored tensor. Digits of its grid that copy it hold `terms` of a sum instead, if above 1.

    With `steps` above 1 the slowest digit of its grid counts steps in time, not tiles: in step t a
    tile holds the shard of tile number t × group + tile.
    """

    name: str
    storage: Storage
    steps: int = 1
    terms: int = 1

    @property
    def shape(self) -> Shape:
        return self.storage.shape

    @property
    def tiles(self) -> int:
        return self.storage.format.tiles // self.steps

    @property
    def tile_bytes(self) -> int:
        return self.storage.layout.shard_bytes


@dataclass(frozen=True, slots=True)
class Gather:
    """One exchange phase: each slot of `moves` is filled from the other; copies by multicast.

    `paired`: names of targets of which two adjacent tiles take the same data, in 64-bit messages.
    Inside a loop, the current step's shards.
    """

    moves: tuple[tuple[str, str], ...]
    """(source, target)."""
    paired: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scatter:
    """One exchange phase: every term of `source` sends each tile of `target` its part.

    `arriving` is the slot where the terms lie one after another; `extra` are further moves.
    """

    source: str
    arriving: str
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class KernelCall:
    """One call on each tile.

    In a loop the first iteration uses the first mode, the others the last.
    """

    kernel: str
    modes: tuple[str, ...]
    operands: tuple[str, ...]
    result: str
    fused: tuple[str, ...] = ()
    """Operators applied to each element before it is stored."""
    numbers: tuple[float, ...] = ()
    """What the kernel is told beside its operands: the epsilon of a norm, the scale of scores."""


@dataclass(frozen=True, slots=True)
class Loop:
    """The body, `count` times; the same code each time."""

    count: int
    body: "tuple[Step, ...]"


Step: TypeAlias = Gather | Scatter | KernelCall | Loop


@dataclass(frozen=True, slots=True)
class OperatorDispatch:
    """Slots and steps. Operands are slots `operand 0` …, the result is `result`."""

    slots: tuple[Slot, ...]
    steps: tuple[Step, ...]

    def slot(self, name: str) -> Slot:
        return next(slot for slot in self.slots if slot.name == name)

    def work_slots(self) -> tuple[Slot, ...]:
        """Slots that live only while the recipe runs."""
        return tuple(
            slot
            for slot in self.slots
            if slot.name != "result" and not slot.name.startswith("operand ")
        )

    def calls(self) -> tuple[KernelCall, ...]:
        """Every kernel call, in order; a loop's once."""
        return tuple(_calls(self.steps))

    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels called, each once, in order."""
        return tuple(dict.fromkeys(call.kernel for call in _calls(self.steps)))

    def phases(self) -> int:
        """Exchange phases that run."""
        return _phases(self.steps)


def _calls(steps: tuple[Step, ...]) -> list[KernelCall]:
    found = []
    for step in steps:
        if isinstance(step, Loop):
            found += _calls(step.body)
        elif isinstance(step, KernelCall):
            found.append(step)
    return found


def _phases(steps: tuple[Step, ...]) -> int:
    count = 0
    for step in steps:
        if isinstance(step, Loop):
            count += step.count * _phases(step.body)
        elif isinstance(step, Gather | Scatter):
            count += 1
    return count
