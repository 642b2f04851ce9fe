"""Candidates of attention, materialised: scores, softmax on whole rows, context.

Both products are planned like any other, with heads and batch as batch axes. In between, scores are
gathered so that each tile has whole rows, unless they lie so already.
"""

from dataclasses import dataclass, replace
from itertools import product as pairs
from math import prod

from tilewright.codegen.mid.candidates import (
    Operand,
    OperandSpec,
    OperatorCandidate,
    Recipe,
)
from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.cost import OperatorBytes, OperatorCost
from tilewright.codegen.mid.dispatch import (
    Gather,
    KernelCall,
    Loop,
    OperatorDispatch,
    Scatter,
    Slot,
    Step,
)
from tilewright.codegen.mid.distributions import ATOM, rows_format, words_format
from tilewright.codegen.mid.formats import Digit, TensorFormat
from tilewright.codegen.mid.kernels import CATALOGUE
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.operators.gemm import product_of, recipes
from tilewright.codegen.mid.operators.gemm_recipe import GemmRecipe
from tilewright.codegen.mid.operators.rows import are_contiguous
from tilewright.codegen.mid.orders import Precision
from tilewright.codegen.mid.prices import own_words_cycles, row_cycles
from tilewright.codegen.mid.rows import received_runs
from tilewright.codegen.mid.storage import Storage

CAUSAL = "causal"
"""Of softmax: a row sees as many elements as its place in its matrix says."""
MOST_TRIED = 4
"""Grids of each product that are combined."""


@dataclass(frozen=True, slots=True)
class AttentionRecipe(Recipe):
    scores: GemmRecipe
    context: GemmRecipe
    rows: Storage
    """Probabilities, on whole rows."""
    kernel: str
    scale: float
    causal: bool

    @property
    def _scores(self) -> Storage:
        return self.scores.stored(self.rows.shape)

    def dispatch(self, operands: tuple[Storage, ...], result: Storage) -> OperatorDispatch:
        q, k, v, *counts = operands
        first = self.scores.dispatch((q, k), self._scores)
        second = self.context.dispatch((self.rows, v), result)
        slots = [Slot(f"operand {index}", storage) for index, storage in enumerate(operands)]
        slots.append(Slot("result", result))
        given = {"operand 0": "operand 0", "operand 1": "operand 1", "result": "scores"}
        steps = _renamed(first, given, "scores ", slots)
        in_softmax = softmax_scales(self.scale)
        if not in_softmax:
            steps = _scaled(steps, self.scale, self.scores.result)
        source = "scores"
        gathered = self._scores != self.rows
        slots.append(Slot("scores", self._scores))
        if gathered:
            slots.append(Slot("rows", self.rows))
            steps.append(Gather((("scores", "rows"),)))
            source = "rows"
        names = tuple(f"operand {3 + index}" for index in range(len(counts)))
        fused = (CAUSAL,) if self.causal else ()
        numbers = (self.scale,) if in_softmax else ()
        steps.append(KernelCall(self.kernel, ("row",), (source, *names), source, fused, numbers))
        given = {"operand 0": source, "operand 1": "operand 2", "result": "result"}
        steps += _renamed(second, given, "context ", slots)
        return OperatorDispatch(tuple(slots), tuple(steps))


def softmax_scales(scale: float) -> bool:
    """Whether softmax multiplies by the scale, after it took off the largest score: in f32, and
    before anything is rounded. A negative scale would make the least score the largest one, so
    scores are scaled before they are stored.
    """
    return scale >= 0


def _scaled(steps: list[Step], scale: float, precision: Precision) -> list[Step]:
    """Scores are scaled before they are stored, or once they are complete."""
    fused, numbers = ("scale",), (scale,)
    found: list[Step] = []
    for step in steps:
        if isinstance(step, KernelCall) and step.result == "scores":
            step = replace(step, fused=(*step.fused, *fused), numbers=(*step.numbers, *numbers))
        found.append(step)
        if isinstance(step, Loop) and any(
            isinstance(each, KernelCall) and each.result == "scores" for each in step.body
        ):
            kernel = f"epilogue_{precision.value}"
            call = KernelCall(kernel, ("fused",), ("scores",), "scores", fused, numbers)
            found.append(call)
    return found


def _renamed(
    dispatch: OperatorDispatch, given: dict[str, str], prefix: str, slots: list[Slot]
) -> list[Step]:
    """The steps with slots named as in `given`, others with a prefix, which `slots` gains."""

    def name(old: str) -> str:
        return given.get(old, prefix + old)

    def renamed(step: Step) -> Step:
        if isinstance(step, Loop):
            return Loop(step.count, tuple(map(renamed, step.body)))
        if isinstance(step, Gather):
            moves = tuple((name(a), name(b)) for a, b in step.moves)
            return Gather(moves, tuple(map(name, step.paired)))
        if isinstance(step, Scatter):
            extra = tuple((name(a), name(b)) for a, b in step.extra)
            return Scatter(name(step.source), name(step.arriving), extra)
        operands = tuple(map(name, step.operands))
        return replace(step, operands=operands, result=name(step.result))

    for slot in dispatch.slots:
        if slot.name not in given:
            slots.append(Slot(name(slot.name), slot.storage, slot.steps, slot.terms))
    return [renamed(step) for step in dispatch.steps]


def attention_candidates(
    operands: tuple[Operand, ...],
    shape: Shape,
    precision: Precision,
    scale: float,
    causal: bool,
    config: PipelineConfig,
    limit: int,
) -> list[OperatorCandidate]:
    """Pairs of grids for the two products."""
    q, k, v = (replace(operand, weight=False) for operand in operands[:3])
    table: Shape = (*q.shape[:-1], k.shape[-2])
    scores_product = product_of((q, k), (False, True), table, precision)
    rows = Storage(rows_format(table, precision, config.tiles, ATOM), table)
    probabilities = Operand(table, precision, 0, rows, weight=False)
    context_product = product_of((probabilities, v), (False, False), shape, precision)
    # swapped scores would have neighbouring keys apart, which softmax and the next product want
    first = recipes(scores_product, config, limit, (False,))
    second = recipes(context_product, config, limit)
    return [
        _candidate(operands, scores, context, rows, shape, scale, causal, config)
        for scores, context in pairs(_some(first), _some(second))
    ]


def _some(found: tuple[GemmRecipe, ...]) -> tuple[GemmRecipe, ...]:
    """The fastest, and the one with the least working memory."""
    if len(found) <= MOST_TRIED:
        return found
    smallest = min(found, key=lambda recipe: recipe.grid.transient)
    return (*found[: MOST_TRIED - 1], smallest)


def _candidate(
    operands: tuple[Operand, ...],
    scores: GemmRecipe,
    context: GemmRecipe,
    rows: Storage,
    shape: Shape,
    scale: float,
    causal: bool,
    config: PipelineConfig,
) -> OperatorCandidate:
    precision = scores.result
    table = scores.stored(rows.shape)
    whole = _are_whole_rows(table)
    on_rows = table if whole else rows
    kernel = CATALOGUE[f"softmax_{precision.value}"]
    cost = _grid_cost(scores) + _grid_cost(context)
    layout = on_rows.layout
    columns = layout.largest_shard[-1]
    softmax = row_cycles(kernel.name, layout.shard_elements // columns, columns)
    cost += OperatorCost(compute=softmax)
    if not whole:
        moved = config.model.receive_cycles(
            layout.shard_bytes, messages=received_runs(table, on_rows)
        )
        own = own_words_cycles()
        cost += OperatorCost(exchange=moved, sync=config.model.phase, conversion=own)
    table_bytes, row_bytes = table.layout.shard_bytes, on_rows.layout.shard_bytes
    transient = max(
        scores.grid.transient + table_bytes,
        table_bytes + (0 if whole else row_bytes),
        context.grid.transient + row_bytes,
    )
    result = context.stored(shape)
    q, k, v = (operand.precision for operand in operands[:3])
    names = (
        *scores.kernels((q, k)),
        kernel.name,
        *context.kernels((precision, v)),
    )
    return OperatorCandidate(
        f"{_parts(scores)}, {'whole' if whole else 'gathered'} rows, {_parts(context)}",
        tuple(_specs(operands, config)),
        result,
        scores.compute,
        cost,
        OperatorBytes(0, transient, result.layout.shard_bytes),
        AttentionRecipe(scores, context, on_rows, kernel.name, scale, causal),
        names,
        facts=(
            ("scores_partial", scores.grid.partial.value),
            ("scores_parts", scores.grid.inner_parts),
            ("context_partial", context.grid.partial.value),
            ("context_parts", context.grid.inner_parts),
        ),
    )


def _are_whole_rows(scores: Storage) -> bool:
    """Whether softmax can run where the scores are, and finds their batch axes there."""
    last = len(scores.base) - 1
    return scores.view is None and scores.format.partitions(last) == 1 and are_contiguous(scores)


def _grid_cost(recipe: GemmRecipe) -> OperatorCost:
    grid = recipe.grid
    return OperatorCost(grid.compute, grid.exchange, grid.sync, grid.reduction, grid.conversion)


def _parts(recipe: GemmRecipe) -> str:
    grid = recipe.grid
    batch = prod(grid.batch_parts)
    parts = f"{batch}·{grid.row_parts}×{grid.column_parts}×{grid.inner_parts}"
    return f"swapped {parts}" if recipe.swapped else parts


def _specs(operands: tuple[Operand, ...], config: PipelineConfig) -> list[OperandSpec]:
    alignment = CATALOGUE["gemm_f16"].alignment
    specs = []
    # q and k are multiplied along the size of heads, v along tokens
    for operand, along in zip(operands, (-1, -1, -2), strict=False):
        format = words_format(operand.shape, operand.precision, along, config.tiles)
        home = Storage(format.with_precision(operand.precision, operand.scale), operand.shape)
        specs.append(OperandSpec(operand.precision, None, home, along, alignment))
    for counts in operands[3:]:
        everywhere = TensorFormat(
            counts.precision,
            rows_format(counts.shape, counts.precision, 1).order,
            rows_format(counts.shape, counts.precision, 1).axes,
            (Digit(None, config.tiles),),
        )
        there = Storage(everywhere, counts.shape)
        specs.append(OperandSpec(counts.precision, there, there))
    return specs
