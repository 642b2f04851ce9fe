"""The stages of a build held against each other, to find the first that goes wrong.

>>> deviation = find_deviation(graph, arrays, PipelineConfig(tiles=8))

Each stage is judged by something that its pass does not use: a plan by the graph's own evaluation,
moves by the numbers of the elements that they bring, addresses by when buffers are alive, and the
chip's outputs by NumPy's of the plan.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tilewright.codegen.emit import Program, emit, read_outputs, source_contents
from tilewright.codegen.low import TileSchedule, lifetimes, lower, taken_over
from tilewright.codegen.low.check import misplaced
from tilewright.codegen.mid import MidGraph, PipelineConfig, evaluate_mid, plan
from tilewright.codegen.mid.midgraph import MidOperation, MidRepeat, MidValue
from tilewright.codegen.mid.unrolling import unrolled
from tilewright.codegen.mid.verify import find_faults
from tilewright.emulator.chip import Chip, End
from tilewright.emulator.images import Piece, TileImage
from tilewright.graph import ComputeGraph, Precision, Value, evaluate
from tilewright.target.geometry import LOADER_FRAME_END, TILES
from tilewright.target.topology import physical_tiles

Arrays = Mapping[str, ArrayLike]


class Stage(Enum):
    """In the order in which they are judged."""

    PLAN = "plan"
    LOWERING = "lowering"
    PLACEMENT = "placement"
    CHIP = "chip"
    """Emission, kernels, the exchange, and the emulated chip itself."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """The first stage that deviates, in which operation, and how."""

    stage: Stage
    operation: str
    detail: str

    def __str__(self) -> str:
        return f"{self.stage.value} of {self.operation}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """|error| ≤ absolute + relative · |expected|; what is expected to be no finite number may be
    anything."""

    absolute: float = 1e-2
    relative: float = 1e-2

    def worst(self, found: NDArray[np.float64], expected: NDArray[np.float64]) -> str:
        """The first element beyond it, "" if there is none."""
        with np.errstate(invalid="ignore"):
            error = np.abs(found - expected)
            close = error <= self.absolute + self.relative * np.abs(expected)
        wrong = np.argwhere(~close & np.isfinite(expected))
        if not len(wrong):
            return ""
        at = tuple(wrong[0].tolist())
        return f"{len(wrong)} elements differ, {list(at)} is {found[at]} and not {expected[at]}"


EXACT = Tolerance(1e-9, 1e-6)
"""For what nothing rounds."""


@dataclass(frozen=True, slots=True)
class Passes:
    """What makes a program of a graph."""

    plan: Callable[[ComputeGraph, PipelineConfig], MidGraph] = lambda graph, config: (
        plan(graph, config).graph
    )
    lower: Callable[[MidGraph], TileSchedule] = lower
    emit: Callable[[TileSchedule], Program] = emit


def find_deviation(
    graph: ComputeGraph,
    arrays: Arrays,
    config: PipelineConfig,
    passes: Passes = Passes(),
    tolerance: Tolerance = Tolerance(),
) -> Deviation | None:
    """The first stage of a build that is not as the one before, and the operation; None if all are.

    `arrays` has inputs, host inputs and parameters by name. Raises what passes raise.
    """
    planned = passes.plan(graph, config)
    if (in_plan := next(_in_plan(graph, planned, arrays), None)) is not None:
        return in_plan
    schedule = passes.lower(planned)
    for line in misplaced(schedule):
        operation, _, detail = line.partition(": ")
        return Deviation(Stage.LOWERING, operation, detail)
    program = passes.emit(schedule)
    if (in_placement := next(_in_placement(program), None)) is not None:
        return in_placement
    expected = evaluate_mid(planned, arrays, {})
    wrong = _in_outputs(_run(planned, program, arrays), expected, tolerance)
    if not wrong:
        return None
    where = _first_on_chip(planned, arrays, passes, tolerance)
    return Deviation(Stage.CHIP, where or "the whole program", wrong)


# the plan


def _in_plan(graph: ComputeGraph, planned: MidGraph, arrays: Arrays) -> Iterator[Deviation]:
    for fault in find_faults(planned):
        yield Deviation(Stage.PLAN, planned.name, fault)
    known: dict[tuple[int, tuple[int, ...]], NDArray[np.float64]] = {}

    def remember(value: Value, iterations: tuple[int, ...], array: NDArray[np.float64]) -> None:
        known[value.id, iterations] = array

    of_runs = {each.name for each in (*graph.inputs, *graph.host_inputs)}
    inputs = {name: array for name, array in arrays.items() if name in of_runs}
    parameters = {name: array for name, array in arrays.items() if name not in of_runs}
    evaluate(graph, inputs, parameters, Precision.F64, remember)
    found: list[Deviation] = []

    def judge(step: MidOperation, iterations: tuple[int, ...], array: NDArray[np.float64]) -> None:
        expected = known.get((step.result.origin, iterations))
        if found or expected is None or expected.shape != array.shape:
            return
        wrong = EXACT.worst(array, expected)
        if wrong:
            found.append(Deviation(Stage.PLAN, step.provenance.operation, wrong))

    evaluate_mid(planned, arrays, {}, rounding=False, watch=judge)
    yield from found


# addresses


def _in_placement(program: Program) -> Iterator[Deviation]:
    """Buffers that share memory while both are alive, other than results in an operand's place."""
    buffers, life = program.schedule.buffers, lifetimes(program.schedule)
    over = {frozenset(pair) for pair in taken_over(program.schedule, life)}
    placed = [buffer for buffer in buffers if program.addresses[buffer.id] >= 0]
    if not placed:
        return
    ids = np.array([buffer.id for buffer in placed])
    start = program.addresses[ids]
    end = start + np.array([buffer.bytes for buffer in placed])
    first, last = life.first[ids], life.last[ids]
    together = (first[:, None] <= last) & (first <= last[:, None])
    share = (start[:, None] < end) & (start < end[:, None]) & together
    for one, other in np.argwhere(np.triu(share, 1)).tolist():
        if start[one] == start[other] and frozenset((placed[one].id, placed[other].id)) in over:
            continue
        detail = f"it lies at {start[one]:#x}, {placed[other].name} at {start[other]:#x}"
        yield Deviation(Stage.PLACEMENT, placed[one].name, detail)


# the chip


def _run(planned: MidGraph, program: Program, arrays: Arrays) -> dict[str, NDArray[np.float64]]:
    """The outputs of a program on the emulated chip; none of one that does not come to its end."""
    chip = Chip()
    for tile, physical in enumerate(physical_tiles(np.arange(TILES)).tolist()):
        pieces = tuple(Piece(each.address, each.data) for each in program.code(tile))
        chip.load(physical, TileImage(pieces, LOADER_FRAME_END))
    for tile, address, content in source_contents(planned, program, arrays):
        chip.memory.write(tile, address, content)
    outcome = chip.run()
    at_end = all("trap 0" in each for each in outcome.descriptions.values())
    if outcome.end is not End.STOPPED or not at_end:
        return {}
    return read_outputs(planned, program, chip.memory.read)


def _in_outputs(
    found: Mapping[str, NDArray[np.float64]],
    expected: Mapping[str, NDArray[np.float64]],
    tolerance: Tolerance,
) -> str:
    if not found:
        return "the program does not come to its end"
    for name, array in expected.items():
        if wrong := tolerance.worst(found[name], array):
            return f'output "{name}": {wrong}'
    return ""


def _first_on_chip(
    planned: MidGraph, arrays: Arrays, passes: Passes, tolerance: Tolerance
) -> str | None:
    """The first operation whose result deviates, by programs that end behind one each.

    That of an iteration, if the repeat that deviates does without its loop as well.
    """

    def first(graph: MidGraph, low: int) -> int | None:
        """The number of a step, from `low` on."""
        high = len(graph.steps) - 1
        if high < low or not _deviates(graph, high + 1, arrays, passes, tolerance):
            return None
        while low < high:
            middle = (low + high) // 2
            if _deviates(graph, middle + 1, arrays, passes, tolerance):
                high = middle
            else:
                low = middle + 1
        return low

    found = first(planned, 0)
    if found is None:
        return None
    step = planned.steps[found]
    if isinstance(step, MidRepeat):
        before, through = (
            unrolled(replace(planned, steps=planned.steps[:end], outputs=()))
            for end in (found, found + 1)
        )
        inside = first(through, len(before.steps))
        if inside is not None:
            step = through.steps[inside]
    return step.provenance.operation


def _deviates(
    planned: MidGraph, end: int, arrays: Arrays, passes: Passes, tolerance: Tolerance
) -> bool:
    """Whether a result of the first operations does."""
    steps = planned.steps[:end]
    values = [value for step in steps for value in _results(step)]
    outputs = tuple((f"{number}", value) for number, value in enumerate(values))
    part = replace(planned, steps=steps, outputs=outputs)
    program = passes.emit(passes.lower(part))
    found = _run(part, program, arrays)
    return bool(_in_outputs(found, evaluate_mid(part, arrays, {}), tolerance))


def _results(step: MidOperation | MidRepeat) -> Iterator[MidValue]:
    if isinstance(step, MidRepeat):
        yield from (carried.result for carried in step.carried)
    else:
        yield step.result
