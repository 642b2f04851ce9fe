"""The steps of a schedule, each as what all tiles do for it: kernel calls, rows, repeats."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.codegen.emit.addresses import Address
from tilewright.codegen.emit.calls import Calls
from tilewright.codegen.emit.copies import copy_calls
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.operands import Call
from tilewright.codegen.emit.rearrange import Shard, rearranging_calls, unpacking_calls
from tilewright.codegen.low import (
    Buffer,
    CopyStep,
    ExchangeStep,
    KernelStep,
    LowStep,
    Placed,
    RepeatStep,
    TileSchedule,
    exchange_phase,
)
from tilewright.codegen.low.schedule import ATOM
from tilewright.codegen.mid import WorkProvenance
from tilewright.codegen.mid.orders import Indices
from tilewright.codegen.mid.storage import WORD
from tilewright.exchange import Patches, Rows, encode, patches
from tilewright.exchange import schedule as scheduled
from tilewright.threads import threads
from tilewright.tracing import span


@dataclass(frozen=True, slots=True)
class CallWork:
    """Calls of a step, by logical tile."""

    calls: tuple[tuple[Call, ...], ...]
    provenance: WorkProvenance
    ends_step: bool = True
    """False for what prepares memory for the step behind it."""


@dataclass(frozen=True, slots=True, eq=False)
class PhaseWork:
    """A phase; `moving` says by sequence how its rows change from one iteration to the next."""

    rows: Rows
    moving: tuple[tuple[int, Patches], ...]
    provenance: WorkProvenance
    ends_step: bool = True


@dataclass(frozen=True, slots=True)
class RepeatWork:
    """`body`, `count` times, along `sequences`."""

    count: int
    sequences: tuple[int, ...]
    body: "tuple[Work, ...]"
    provenance: WorkProvenance
    ends_step: bool = False


Work: TypeAlias = CallWork | PhaseWork | RepeatWork


class Worker:
    """Turns steps into work, for buffers at `addresses`."""

    def __init__(self, schedule: TileSchedule, addresses: Sequence[Address]) -> None:
        self._schedule = schedule
        self._addresses = addresses
        self._made: dict[int, PhaseWork] = {}
        """Phases, by the identity of their steps."""

    def work(self, steps: Sequence[LowStep]) -> tuple[Work, ...]:
        """What tiles do for these steps.

        Raises `EmissionError`, which names the operation, for what no kernel does.
        """
        with span("codegen.emit.exchange") as this:
            phases = list(_phases(steps))
            with threads() as pool:
                self._made = dict(zip(map(id, phases), pool.map(self._phase, phases), strict=True))
            this.set(
                phases=len(phases),
                row_words=sum(len(each.rows.words) for each in self._made.values()),
            )
        with span("codegen.emit.calls"):
            return tuple(self._work(steps))

    def _work(self, steps: Sequence[LowStep]) -> Iterator[Work]:
        begun: set[int] = set()
        """Targets that local copies have begun to fill."""
        for step in steps:
            yield from self._cleared(step, begun)
            if isinstance(step, RepeatStep):
                body = tuple(self._work(step.body))
                yield RepeatWork(step.count, step.sequences, body, step.provenance)
                continue
            try:
                yield self._simple(step)
            except EmissionError as fault:
                raise EmissionError(f"{step.provenance.operation}: {fault}") from fault

    def _simple(self, step: KernelStep | CopyStep | ExchangeStep) -> Work:
        match step:
            case KernelStep():
                return self._kernel(step)
            case CopyStep():
                buffers, tiles = self._schedule.buffers, self._schedule.tiles
                calls = copy_calls(step, buffers, self._addresses, tiles)
                return CallWork(calls, step.provenance)
            case ExchangeStep():
                return self._made[id(step)]

    def _cleared(self, step: LowStep, begun: set[int]) -> Iterator[Work]:
        """Zeros for padding that nothing fills: kernels compute with it."""
        filled: dict[int, Indices] = {}
        match step:
            case KernelStep() if step.kernel.startswith("repack"):
                targets = {step.result}
            case CopyStep(copies=copies, target=target) if copies is not None:
                targets = {target}
            case ExchangeStep():
                targets = {target for _, target, _ in step.moves}
                for _, target, moves in step.moves:
                    tiles = self._schedule.buffers[target].tiles
                    filled[target] = filled.get(target, 0) + moves.filled_words(tiles)
            case _:
                begun.clear()
                return
        for target in sorted(targets - begun):
            unfilled = _unfilled(self._schedule.buffers[target], step.window, filled.get(target))
            if unfilled.any():
                atoms = self._schedule.buffers[target].bytes // ATOM
                call = Call("zero", (self._addresses[target], atoms))
                calls = tuple((call,) if each else () for each in unfilled.tolist())
                yield CallWork(calls, step.provenance, ends_step=False)
        begun |= targets

    def _kernel(self, step: KernelStep) -> Work:
        calls_of = Calls(self._schedule.buffers, self._addresses, step.window)
        of_tile = self._rearranging if step.kernel.startswith("repack") else calls_of.of_step
        calls = tuple(tuple(of_tile(step, tile)) for tile in range(step.tiles))
        return CallWork(calls, step.provenance)

    def _rearranging(self, step: KernelStep, tile: int) -> Iterator[Call]:
        (source,) = step.operands
        x, z = (
            Shard(self._schedule.buffers[each].slot.storage, self._addresses[each], tile)
            for each in (source, step.result)
        )
        return unpacking_calls(step.origins, x, z) if step.origins else rearranging_calls(x, z)

    def _phase(self, step: ExchangeStep) -> PhaseWork:
        placed, sources = [], []
        for source, target, moves in step.moves:
            if self._addresses[target].sequence is not None:
                raise EmissionError(f"{step.provenance.operation}: receives into a moving block")
            placed.append(Placed(moves, self._addresses[source].base, self._addresses[target].base))
            sources += [self._addresses[source]] * len(moves.words)
        rows = encode(scheduled(exchange_phase(placed)))
        moving = []
        for sequence in sorted({each.sequence for each in sources if each.sequence is not None}):
            steps = np.array([each.step if each.sequence == sequence else 0 for each in sources])
            moving.append((sequence, patches(rows, source_steps=steps)))
        return PhaseWork(rows, tuple(moving), step.provenance)


def _phases(steps: Sequence[LowStep]) -> Iterator[ExchangeStep]:
    """All phases, those of repeats once."""
    for step in steps:
        match step:
            case ExchangeStep():
                yield step
            case RepeatStep():
                yield from _phases(step.body)


def _unfilled(buffer: Buffer, window: int, filled: Indices | None) -> NDArray[np.bool_]:
    """Tiles whose shard of a step has padding, but for those on which so many words are filled
    anyway."""
    layout = buffer.layout
    ranges = layout.shard(buffer.shard_numbers(window))
    padded = np.zeros(buffer.tiles, np.bool_)
    words = np.ones(buffer.tiles, np.int64)
    for (start, extent), whole in zip(ranges, layout.shape, strict=True):
        padded |= start + extent > whole
        words = words * extent
    if filled is not None:
        padded &= filled * WORD < words * layout.format.precision.bytes
    return padded
