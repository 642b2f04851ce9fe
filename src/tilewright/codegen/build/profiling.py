"""Cycle samples: the tensor that brings them to the host, and what their intervals mean.

Tiles sample when a run begins, when inputs have come, and behind each step of the schedule; in
repeats in each iteration. The plan lists the steps in the order in which they happen, which is the
same on all tiles. Planned are, for each tile, the cycles of its row of a phase, and of kernel calls
by the kernels' formulas. Tiles for which the same is planned share a list; where that would make
too many, there is one with the most that is planned for any tile.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tilewright.codegen.build.bindings import Binding
from tilewright.codegen.build.streams import Pieces
from tilewright.codegen.emit import Program
from tilewright.codegen.emit.addresses import Address
from tilewright.codegen.emit.operands import Call
from tilewright.codegen.emit.work import CallWork, PhaseWork, RepeatWork, Work
from tilewright.codegen.low import CopyStep, ExchangeStep, KernelStep, RepeatStep, TileSchedule
from tilewright.codegen.low.schedule import LowStep
from tilewright.codegen.mid import Profiling
from tilewright.codegen.mid.orders import Indices
from tilewright.device.kernels import KERNELS
from tilewright.device.kernels.spec import Array
from tilewright.package import (
    NONE,
    ElementType,
    ListOfTiles,
    ProfilePlan,
    Role,
    StepKind,
    Steps,
    StepTable,
    Tensor,
)
from tilewright.target.topology import physical_tiles

TENSOR = "profile.cycles"
_SAMPLE_BYTES = 4
_AROUND = 2
"""Samples before the first step of the graph: when a run begins, and when inputs have come."""
_MOST_ROWS = 1 << 20
_UNKNOWN = -1
_INPUTS = "inputs"


@dataclass(frozen=True, slots=True)
class PlannedSamples:
    """`count` samples of each tile, which leave the chip as `binding` says."""

    count: int
    binding: Binding
    profiling: Profiling

    def plan(self, program: Program) -> ProfilePlan:
        """What the samples of a program mean."""
        schedule = program.schedule
        steps = [_Step(StepKind.HOST, _INPUTS)]
        if self.profiling is Profiling.OVERALL:
            steps.append(_Step(StepKind.COMPUTE, schedule.name))
        else:
            steps += _Walk(schedule.tiles).steps(schedule.steps, program.work)
        return ProfilePlan(_as_steps(steps, schedule.tiles), TENSOR)


def planned_samples(schedule: TileSchedule, profiling: Profiling) -> PlannedSamples | None:
    """The samples that tiles of a schedule take."""
    if profiling is Profiling.NONE:
        return None
    steps = 1 if profiling is Profiling.OVERALL else _count(schedule.steps)
    count, tiles = _AROUND + steps, np.arange(schedule.tiles)
    size = np.full(len(tiles), count * _SAMPLE_BYTES)
    tensor = Tensor(TENSOR, Role.OUTPUT, ElementType.U32, (len(tiles), count))
    pieces = Pieces(tiles, tiles * size, np.zeros_like(tiles), size)
    return PlannedSamples(count, Binding(tensor, pieces), profiling)


def _count(steps: Sequence[LowStep]) -> int:
    return sum(
        step.count * _count(step.body) if isinstance(step, RepeatStep) else 1 for step in steps
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """`planned` cycles are those of each logical tile, `_UNKNOWN` where that is not known."""

    kind: StepKind
    operation: str
    kernel: str | None = None
    phase: int = 0
    epoch: int = 0
    planned: Indices | int = _UNKNOWN


@dataclass(slots=True)
class _Walk:
    """Steps in the order in which they happen, with barriers and iterations counted."""

    tiles: int
    phase: int = 0
    epoch: int = 0
    _planned: dict[int, Indices] = field(default_factory=dict)
    """Of work, by its identity: bodies of repeats are walked again and again."""

    def steps(self, steps: Sequence[LowStep], work: Sequence[Work]) -> Iterator[_Step]:
        """The steps of a schedule; `work` is what is done for them, in order."""
        rest = iter(work)
        for step in steps:
            mine = list(_until_end(rest))
            if isinstance(step, RepeatStep):
                (repeat,) = mine
                assert isinstance(repeat, RepeatWork)
                phase = self.phase
                for _ in range(step.count):
                    self.phase, self.epoch = phase, self.epoch + 1
                    yield from self.steps(step.body, repeat.body)
                self.epoch += 1
                continue
            yield self._step(step, mine)

    def _step(self, step: KernelStep | CopyStep | ExchangeStep, work: Sequence[Work]) -> _Step:
        kind = StepKind.COMPUTE
        kernel: str | None = None
        match step:
            case KernelStep():
                kernel = step.kernel
            case CopyStep():
                kernel = "copy"
            case ExchangeStep():
                kind = StepKind.EXCHANGE
                self.phase += 1
        cycles = np.stack([self._cycles(each) for each in work])
        is_known = np.all(cycles != _UNKNOWN, axis=0)
        planned = np.where(is_known, cycles.sum(axis=0), _UNKNOWN)
        return _Step(kind, step.provenance.operation, kernel, self.phase, self.epoch, planned)

    def _cycles(self, work: Work) -> Indices:
        """Planned cycles of each tile."""
        key = id(work)
        if key not in self._planned:
            self._planned[key] = _planned_cycles(work, self.tiles)
        return self._planned[key]


def _until_end(work: Iterator[Work]) -> Iterator[Work]:
    """The work of one step."""
    for each in work:
        yield each
        if each.ends_step or isinstance(each, RepeatWork):
            return


def _planned_cycles(work: Work, tiles: int) -> Indices:
    match work:
        case CallWork(calls=calls):
            found = [_cycles_of(of_tile) for of_tile in calls]
            return np.array(found + [0] * (tiles - len(found)), np.int64)
        case PhaseWork(rows=rows):
            return np.asarray(rows.events[physical_tiles(np.arange(tiles))], np.int64)
        case RepeatWork():
            raise AssertionError("a repeat is no step")


_SIZES: Mapping[str, Callable[[Sequence[int]], dict[str, int]]] = {
    "zero": lambda values: {"n": 2 * values[1]},
    "copy": lambda values: {"n": 2 * values[2]},
    "copy_strided": lambda values: {"width": values[4], "rows": values[5]},
    "permute_16": lambda values: {
        "pitch": values[3], "step": values[4], "pairs": values[5], "rows": values[6]
    },
}  # fmt: skip
"""Of calls that are made without sizes, by the values in registers."""


def _cycles_of(calls: Sequence[Call]) -> int:
    """Of a tile's calls, `_UNKNOWN` if one of them has no sizes."""
    total = 0
    for call in calls:
        values = [each.base if isinstance(each, Address) else each for each in call.values]
        numbers = [each if isinstance(each, int) else 0 for each in values]
        sizes = dict(call.sizes)
        if not sizes:
            if call.kernel not in _SIZES:
                return _UNKNOWN
            sizes = _SIZES[call.kernel](numbers)
        kernel = KERNELS[call.kernel]
        places = {
            operand.name: number
            for operand, number in zip(kernel.operands, numbers, strict=False)
            if isinstance(operand, Array)
        }
        total += int(kernel.cycles(sizes, places))
    return total


def _as_steps(listed: Sequence[_Step], tiles: int) -> Steps:
    """The lists of all tiles."""
    planned = np.stack([np.broadcast_to(step.planned, tiles) for step in listed])
    lists, of_tile = np.unique(planned, axis=1, return_inverse=True)
    if lists.size > _MOST_ROWS:
        lists, of_tile = planned.max(axis=1, keepdims=True), np.zeros(tiles, np.int64)
    strings = list(dict.fromkeys(_strings(listed)))
    number = {string: place for place, string in enumerate(strings)}
    count = lists.shape[1]

    def column(values: Iterator[int]) -> Indices:
        return np.tile(np.array(list(values), np.int64), count)

    table = StepTable(
        list=np.repeat(np.arange(count), len(listed)),
        phase=column(step.phase for step in listed),
        epoch=column(step.epoch for step in listed),
        kind=column(int(step.kind) for step in listed),
        operation=column(number[step.operation] for step in listed),
        kernel=column(NONE if step.kernel is None else number[step.kernel] for step in listed),
        planned=np.where(lists == _UNKNOWN, NONE, lists).T.reshape(-1),
    )
    physical = physical_tiles(np.arange(tiles))
    order = np.argsort(physical)
    chosen = ListOfTiles(physical[order], of_tile.reshape(-1)[order])
    return Steps(tuple(strings), chosen, table)


def _strings(listed: Sequence[_Step]) -> Iterator[str]:
    for step in listed:
        yield step.operation
        if step.kernel is not None:
            yield step.kernel
