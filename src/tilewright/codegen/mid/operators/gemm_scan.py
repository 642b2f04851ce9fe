"""All grids of a matrix product, priced at once.

A product of `rows × inner × columns` (left operand × right operand), for each of `batch` elements,
is divided over tiles in batch × rows × columns × inner parts. A weight operand may be stored in
several copies, from one in all to one on each tile that needs it; what a tile lacks it gathers.
When a tile's operands do not fit, it gathers and multiplies in several steps along the inner axis.

The swapped orientation computes the transposed product: the caller exchanges the operands.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.codegen.mid.cost import CostModel
from tilewright.codegen.mid.operators.epilogues import (
    Epilogue,
    EpilogueKind,
    added_with_terms,
    epilogue_cycles,
)
from tilewright.codegen.mid.orders import OUTPUT_GROUP, Precision
from tilewright.codegen.mid.prices import (
    clear_cycles,
    copy_cycles,
    product_cycles,
    reduction_cycles,
    sum_cycles,
    vector_cycles,
)
from tilewright.codegen.mid.storage import WORD
from tilewright.target import rates

Numbers = NDArray[Any]

MOST_INNER_PARTS = 64
MOST_STEPS = 64
MOST_COPIES_TRIED = 8
MOST_POINTS = 12
"""Of a front."""
TRANSIENT_LIMITS = (48 << 10, 160 << 10)
"""Bytes of working memory for which step counts are tried, beside the caller's limit."""


@dataclass(frozen=True, slots=True)
class GemmProblem:
    """One orientation of a product. `*_stored`: how an operand is stored that is a weight."""

    batch: tuple[int, ...]
    """Extents of the batch axes."""
    rows: int
    inner: int
    columns: int
    compute: Precision
    """F16 or F32: what the matrix engine multiplies."""
    left_stored: Precision | None
    right_stored: Precision | None
    result: Precision
    epilogues: tuple[Epilogue, ...] = ()
    """Operators fused behind the product."""
    transposed: bool = False
    """Whether the product is that of the swapped orientation."""

    @property
    def row_block(self) -> int:
        """Rows that no tile boundary parts: of a transposed product, those that fill a word.

        So columns of what is stored can become rows without taking words apart.
        """
        return max(WORD // self.result.bytes, 1) if self.transposed else 1

    @property
    def brought_bytes(self) -> int:
        """Per element of the result: what residuals bring."""
        residuals = sum(each.kind is EpilogueKind.RESIDUAL for each in self.epilogues)
        return residuals * self.result.bytes


@dataclass(frozen=True, slots=True)
class GemmGrid:
    """One way to divide an orientation's problem, and what it costs."""

    batch_parts: tuple[int, ...]
    """Of each batch axis."""
    row_parts: int
    column_parts: int
    inner_parts: int
    steps: int
    copies: int
    """Of the weight operand; 0 without one."""
    partial: Precision
    columns_fast: bool
    """Whether neighbouring tiles differ in their columns; else in their rows."""
    left_messages: float
    """In which the left operand is gathered, if it comes from tiles all over the chip."""
    right_messages: float
    compute: float
    exchange: float
    sync: float
    reduction: float
    conversion: float
    resident: int
    transient: int
    result_bytes: int

    @property
    def cycles(self) -> float:
        return self.compute + self.exchange + self.sync + self.reduction + self.conversion


@lru_cache(maxsize=4096)
def part_counts(extent: int, limit: int) -> tuple[int, ...]:
    """The least number of parts for each size of the largest part."""
    sizes = {-(-extent // parts) for parts in range(1, min(extent, limit) + 1)}
    return tuple(sorted({-(-extent // size) for size in sizes if -(-extent // size) <= limit}))


@dataclass(frozen=True, slots=True)
class _Grids:
    """All grids that fit on the tiles, as arrays of equal length."""

    batch_choice: Numbers
    """Index into `batch_splits`."""
    batch_parts: Numbers
    elements: Numbers
    """Batch elements on the fullest tile."""
    rows: Numbers
    columns: Numbers
    inner: Numbers


@lru_cache(maxsize=512)
def batch_splits(batch: tuple[int, ...], tiles: int) -> tuple[tuple[int, ...], ...]:
    """Ways to divide the batch axes: for each size of the largest part, with fewest parts."""
    best: dict[int, tuple[int, ...]] = {}
    choices = [part_counts(extent, tiles) for extent in batch]
    for parts in product(*choices):
        if prod(parts) > tiles:
            continue
        elements = prod(-(-n // p) for n, p in zip(batch, parts, strict=True))
        if elements not in best or prod(parts) < prod(best[elements]):
            best[elements] = parts
    return tuple(sorted(best.values()))


@lru_cache(maxsize=512)
def all_grids(batch: tuple[int, ...], rows: int, columns: int, inner: int, tiles: int) -> _Grids:
    splits = batch_splits(batch, tiles)
    kept = [np.arange(len(splits))]
    parts = np.array([prod(split) for split in splits], np.int64)
    sizes = [prod(-(-n // p) for n, p in zip(batch, split, strict=True)) for split in splits]
    batch_parts, elements = parts, np.array(sizes, np.int64)
    for extent, limit in ((rows, tiles), (columns, tiles), (inner, min(MOST_INNER_PARTS, tiles))):
        axis = np.array(part_counts(extent, limit), np.int64)
        grown = parts[:, None] * axis
        keep = grown <= tiles
        kept = [np.broadcast_to(each[:, None], keep.shape)[keep] for each in kept]
        kept.append(np.broadcast_to(axis, keep.shape)[keep])
        parts = grown[keep]
    choice = kept[0]
    return _Grids(choice, batch_parts[choice], elements[choice], kept[1], kept[2], kept[3])


def _ceil(a: Any, b: Any) -> Any:
    return -(-a // b)


def _blocked(extent: Any, block: int, parts: Any) -> Any:
    """The largest of parts of whole blocks."""
    return _ceil(_ceil(extent, block), parts) * block


@dataclass(frozen=True, slots=True)
class Variants:
    """Priced grids as arrays of equal length."""

    fields: dict[str, Numbers]
    splits: tuple[tuple[int, ...], ...]

    @property
    def cycles(self) -> Numbers:
        f = self.fields
        total: Numbers = f["compute"] + f["exchange"] + f["sync"] + f["reduction"] + f["conversion"]
        return total

    def grid(self, index: int) -> GemmGrid:
        values: dict[str, Any] = {
            name: column[index].item() for name, column in self.fields.items()
        }
        values["batch_parts"] = self.splits[values.pop("batch_choice")]
        values["partial"] = Precision.F32 if values["partial"] else Precision.F16
        values["columns_fast"] = bool(values["columns_fast"])
        return GemmGrid(**values)


def scan(
    problem: GemmProblem, tiles: int, model: CostModel, limit: int, most_copies: int
) -> Variants:
    """Every grid × copies × partial precision × order of tiles that works in `limit` bytes."""
    inner_blocks = _ceil(problem.inner, problem.compute.inner_group)
    column_blocks = _ceil(problem.columns, OUTPUT_GROUP)
    row_blocks = _ceil(problem.rows, problem.row_block)
    grids = all_grids(problem.batch, row_blocks, column_blocks, inner_blocks, tiles)
    found = []
    for columns_fast in (True, False):
        division = _divided(problem, grids, tiles, columns_fast)
        for space, copies, partial in _families(problem, limit, most_copies):
            found.append(_priced(problem, division, model, space, copies, partial))
    names = found[0].keys()
    fields = {name: np.concatenate([each[name] for each in found]) for name in names}
    return Variants(fields, batch_splits(problem.batch, tiles))


def _families(
    problem: GemmProblem, limit: int, most_copies: int
) -> list[tuple[int, int, Precision]]:
    """What is tried for every grid: bytes to work in, copies, and precision of partial sums.

    That is the result's: sums of singles take the matrix engine twice the time.
    """
    choices = _copy_choices(problem, most_copies)
    partial = problem.result
    families = [(limit, copies, partial) for copies in choices]
    # with less memory the extremes suffice
    extremes = tuple(dict.fromkeys((choices[0], choices[-1])))
    families += [
        (space, copies, partial)
        for space in TRANSIENT_LIMITS
        if space < limit
        for copies in extremes
    ]
    return families


def _copy_choices(problem: GemmProblem, most: int) -> tuple[int, ...]:
    """Copies of the weight to try; 0 stands for as many as there are tiles that need it.

    `most` 0 means no cap.
    """
    if problem.left_stored is None and problem.right_stored is None:
        return (0,)
    if most == 0:
        return (1, 2, 3, 4, 6, 0)
    return tuple(range(1, most + 1)) if most <= MOST_COPIES_TRIED else (1, 2, 3, 4, 6, most)


@dataclass(frozen=True, slots=True)
class _Division:
    """Grids, and what the fullest tile has of the product; arrays of equal length."""

    batch_choice: Numbers
    row_parts: Numbers
    column_parts: Numbers
    inner_parts: Numbers
    columns_fast: bool
    sharers_of_left: Numbers
    """Tiles that read the same part of a left operand without batch axes."""
    sharers_of_right: Numbers
    elements: Numbers
    """Batch elements."""
    rows: Numbers
    column_blocks: Numbers
    inner_blocks: Numbers
    group: int
    """Inner elements of a block."""

    row_block: int
    tiles: int

    @property
    def columns(self) -> Numbers:
        return self.column_blocks * OUTPUT_GROUP

    @property
    def panels(self) -> Numbers:
        """Of all the tile's matrices."""
        return self.elements * self.column_blocks

    @property
    def inner(self) -> Numbers:
        return self.inner_blocks * self.group

    @property
    def sums(self) -> Numbers:
        """Elements of the product, or of a term of it."""
        return self.elements * self.rows * self.columns

    @property
    def owned(self) -> Numbers:
        """Elements of the result, once terms are added up."""
        owned: Numbers = self.elements * self.owned_rows * self.columns
        return owned

    @property
    def owned_rows(self) -> Numbers:
        rows: Numbers = _blocked(self.rows, self.row_block, self.inner_parts)
        return rows


def _divided(problem: GemmProblem, grids: _Grids, tiles: int, columns_fast: bool) -> _Division:
    row_parts, column_parts = _made_even(grids, tiles, columns_fast)
    group = problem.compute.inner_group
    return _Division(
        grids.batch_choice,
        row_parts,
        column_parts,
        grids.inner,
        columns_fast,
        grids.batch_parts * column_parts,
        grids.batch_parts * row_parts,
        grids.elements,
        _blocked(problem.rows, problem.row_block, row_parts),
        _ceil(_ceil(problem.columns, OUTPUT_GROUP), column_parts),
        _ceil(_ceil(problem.inner, group), grids.inner),
        group,
        problem.row_block,
        tiles,
    )


@dataclass(frozen=True, slots=True)
class _Weight:
    """A weight operand on the fullest tile: what it needs, keeps and gathers, in elements."""

    is_left: bool
    stored: Precision
    held: Numbers
    """Copies on the chip."""
    shares: Numbers
    """In how many pieces tiles share a copy of a part."""
    fits: Numbers
    """Whether the pieces are equally many for all."""
    elements: Numbers
    kept: Numbers
    gathered: Numbers


def _weight(problem: GemmProblem, division: _Division, copies: int) -> _Weight | None:
    weight = problem.left_stored or problem.right_stored
    if weight is None:
        return None
    is_left = problem.left_stored is not None
    sharers = division.sharers_of_left if is_left else division.sharers_of_right
    held = sharers if copies == 0 else np.minimum(sharers, copies)
    shares = np.maximum(sharers // held, 1)
    if is_left:
        block = division.row_block
        line, pieces = division.inner * block, _ceil(division.rows, block)
    else:
        line, pieces = division.columns * division.group, division.inner_blocks
    gathered = np.where(shares > 1, line * (pieces - pieces // shares), 0)
    return _Weight(
        is_left,
        weight,
        held,
        shares,
        sharers % held == 0,
        line * pieces,
        line * _ceil(pieces, shares),
        gathered,
    )


@dataclass(frozen=True, slots=True)
class _Working:
    """Memory beside residents, inputs and the result; bytes, and steps to work in them."""

    steps: Numbers
    transient: Numbers
    into_left: Numbers
    """Bytes gathered, in all steps."""
    into_right: Numbers


def _working(
    problem: GemmProblem,
    division: _Division,
    weight: _Weight | None,
    space: int,
    partial: Precision,
) -> _Working:
    """As few steps as fit `space`. With several terms, sums are kept apart from the result."""
    d, width = division, problem.compute.bytes
    none = np.zeros_like(d.rows)
    left = none if problem.left_stored else d.elements * d.rows * d.inner * width
    right = none if problem.right_stored else d.elements * d.columns * d.inner * width
    operands, into_left, into_right = left + right, left, right
    if weight is not None:
        stored = weight.stored.bytes
        operands = operands + np.where(weight.shares > 1, weight.elements * stored, 0)
        if weight.stored is not problem.compute:
            operands = operands + weight.elements * width
        arrives = weight.gathered * stored
        into_left, into_right = (arrives, right) if weight.is_left else (left, arrives)
    several = d.inner_parts > 1
    sums = np.where(several, d.sums * partial.bytes, 0)
    steps = np.where(operands <= space - sums, 1, _ceil(operands, np.maximum(space - sums, 1)))
    steps = np.clip(steps, 1, d.inner_blocks)
    blocks = _ceil(d.inner_blocks, steps)
    steps = _ceil(d.inner_blocks, blocks)
    # what arrives for the reduction takes the place of operands that are done
    arriving = np.where(several, (d.inner_parts - 1) * d.owned * partial.bytes, 0)
    at_once = np.maximum(_ceil(operands * blocks, d.inner_blocks), arriving)
    transient = sums + at_once
    return _Working(steps, transient, into_left, into_right)


def _priced(
    problem: GemmProblem,
    division: _Division,
    model: CostModel,
    space: int,
    copies: int,
    partial: Precision,
) -> dict[str, Numbers]:
    """One family of variants; those without enough space or copies are left out."""
    d = division
    weight = _weight(problem, d, copies)
    working = _working(problem, d, weight, space, partial)
    keep = (working.transient <= space) & (working.steps <= MOST_STEPS)
    if weight is not None:
        keep &= weight.fits
    none = np.zeros_like(d.rows)
    left_messages, right_messages = _gathered_messages(problem, d, working)
    every = {
        "batch_choice": d.batch_choice,
        "row_parts": d.row_parts,
        "column_parts": d.column_parts,
        "inner_parts": d.inner_parts,
        "steps": working.steps,
        "copies": none if weight is None else weight.held,
        "left_messages": left_messages,
        "right_messages": right_messages,
        "compute": _compute(problem, d, working),
        "exchange": _exchange(problem, d, working, model, partial, right_messages)
        + (left_messages + right_messages) * rates.MESSAGE_RECEIVED.value,
        "sync": model.phase * _phases(problem, d, working),
        "reduction": _reduction(problem, d, working, partial),
        "conversion": _conversion(problem, weight, working, d),
        "resident": none if weight is None else weight.kept * weight.stored.bytes,
        "transient": working.transient,
        "result_bytes": d.owned * problem.result.bytes,
    }
    kept = {name: column[keep] for name, column in every.items()}
    count = np.count_nonzero(keep)
    kept["partial"] = np.full(count, partial is Precision.F32)
    kept["columns_fast"] = np.full(count, d.columns_fast)
    return kept


def _compute(problem: GemmProblem, d: _Division, working: _Working) -> Numbers:
    """One call per batch element and step."""
    kernel = "gemm_f32" if problem.compute is Precision.F32 else "gemm_f16"
    blocks = _ceil(d.inner_blocks, working.steps)
    calls = d.elements * working.steps
    cycles: Numbers = calls * product_cycles(kernel, d.rows, blocks, d.column_blocks)
    return cycles


def _exchange(
    problem: GemmProblem,
    d: _Division,
    working: _Working,
    model: CostModel,
    partial: Precision,
    right_messages: Numbers,
) -> Numbers:
    """Words that the fullest tile receives: operands, residuals, terms.

    Tiles that all send terms to each other now and then wait, in all for about one term.
    """
    single = rates.EXCHANGE_BYTES_PER_CYCLE
    fast = d.column_parts if d.columns_fast else d.row_parts
    shares_pairs = (fast % 2 == 0) & model.paired
    if d.columns_fast:  # the left operand is shared, in panels of as many rows as each tile keeps
        kept = _ceil(d.rows, fast) * d.group * problem.compute.bytes
        shares_pairs &= kept >= rates.LEAST_PAIRED_BYTES
    elif problem.right_stored is None:
        shares_pairs &= working.into_right >= right_messages * rates.LEAST_PAIRED_BYTES
    pairs = np.where(shares_pairs, rates.PAIRED_BYTES_PER_CYCLE, single)
    if d.columns_fast:
        cycles = working.into_left / pairs + working.into_right / single
    else:
        cycles = working.into_left / single + working.into_right / pairs
    cycles = cycles + d.owned * problem.brought_bytes / single
    waited = d.inner_parts > 2
    terms = (d.inner_parts - 1 + waited) * d.owned * partial.bytes / single
    messages = (d.inner_parts - 1) * d.panels
    found: Numbers = cycles + terms + messages * rates.MESSAGE_RECEIVED.value
    return found


def _gathered_messages(
    problem: GemmProblem, d: _Division, working: _Working
) -> tuple[Numbers, Numbers]:
    """Of the left and the right operand: about as many as they have panels, in pieces.

    A piece is what a tile has of a panel of 16 columns, if the operand is spread over the chip.
    """
    pieces = d.tiles * d.group / max(problem.inner, 1)
    left = d.elements * d.inner_blocks * _pieces(d.rows, pieces / max(problem.rows, 1))
    right = d.elements * d.inner_blocks * _pieces(d.columns, pieces / max(problem.columns, 1))
    return left * (working.into_left > 0), right * (working.into_right > 0)


def _pieces(extent: Numbers, density: float) -> Numbers:
    """Of a range of an axis that is cut into `density` pieces per element, at most one each."""
    pieces: Numbers = np.ceil(extent * min(density, 1.0))
    return pieces


def _phases(problem: GemmProblem, d: _Division, working: _Working) -> Numbers:
    """One per step that gathers; one for terms, with residuals, or for residuals alone."""
    gathers = working.into_left + working.into_right > 0
    last = (d.inner_parts > 1) | (problem.brought_bytes > 0)
    return np.where(gathers, working.steps, 0) + last


def _reduction(
    problem: GemmProblem, d: _Division, working: _Working, partial: Precision
) -> Numbers:
    """Adding terms, and fused operators: each a call, but for those that terms are added with."""
    rows, panels = d.owned_rows, d.panels
    precision, transposed = problem.result, problem.transposed
    padding = -problem.columns % OUTPUT_GROUP
    rest = problem.epilogues
    arriving = np.maximum(d.inner_parts - 1, 1)
    if partial is Precision.F16:
        form, rest = added_with_terms(rest, transposed)
        summed = reduction_cycles(form, rows, panels, arriving)
    else:
        own = copy_cycles(d.owned * partial.bytes) + vector_cycles("add_f32", d.owned)
        summed = sum_cycles("sum_f32", d.owned, arriving) + own
    behind_terms = summed + epilogue_cycles(rest, precision, transposed, rows, panels, padding)
    alone = epilogue_cycles(problem.epilogues, precision, transposed, rows, panels, padding)
    return np.asarray(np.where(d.inner_parts > 1, behind_terms, alone))


def _conversion(
    problem: GemmProblem, weight: _Weight | None, working: _Working, d: _Division
) -> Numbers:
    """Of a shared weight, copying the tile's own piece to what it gathers; casting weights.

    What is gathered and has padding is cleared before. Only the last part of an axis has any; where
    there are several, the others' tiles are those that the chip waits for.
    """
    cycles = np.zeros(d.rows.shape)
    inner = (problem.inner % d.group > 0) & (d.inner_parts * working.steps == 1)
    columns = (problem.columns % OUTPUT_GROUP > 0) & (d.column_parts == 1)
    for gathered, is_padded in (
        (working.into_left, inner),
        (working.into_right, inner | columns),
    ):
        clears = is_padded & (gathered > 0)
        cycles = cycles + np.where(clears, clear_cycles(gathered), 0)
    if weight is None:
        return cycles
    own = np.maximum(weight.kept * weight.stored.bytes // working.steps, 1)
    cycles = cycles + np.where(weight.shares > 1, working.steps * copy_cycles(own), 0)
    if weight.stored is not problem.compute:
        kernel = f"cast_{weight.stored.value}_{problem.compute.value}"
        elements = _ceil(weight.elements, working.steps)
        cycles = cycles + working.steps * vector_cycles(kernel, elements)
    return cycles


def _made_even(grids: _Grids, tiles: int, columns_fast: bool) -> tuple[Numbers, Numbers]:
    """Row and column parts, with one more of the fastest where that fills pairs of tiles."""
    rows, columns = grids.rows, grids.columns
    fast, others = (columns, rows) if columns_fast else (rows, columns)
    more = fast + fast % 2
    fits = grids.batch_parts * others * grids.inner * more <= tiles
    fast = np.where((fast > 1) & fits, more, fast)
    return (rows, fast) if columns_fast else (fast, columns)


def front(variants: Variants, base: float, limit: int) -> list[int]:
    """Indices of good variants: the fastest for each allowance of resident and working memory.

    `base` is the least resident memory per tile, that of one copy spread evenly.
    """
    cycles, resident = variants.cycles, variants.fields["resident"]
    transient = variants.fields["transient"]
    found: dict[int, None] = {}
    if not len(cycles):
        return []
    allowances = (1.2, 2.2, 3.3, 4.4, 6.6, 13.0, 26.0, np.inf) if base else (np.inf,)
    for most_resident in allowances:
        for share in (1.0, 0.4, 0.12):
            allowed = (resident <= base * most_resident) & (transient <= limit * share)
            if allowed.any():
                found[int(np.argmin(np.where(allowed, cycles, np.inf)))] = None
    smallest = int(np.argmin(transient + resident.astype(float)))
    found[smallest] = None
    return _undominated(variants, list(found))


def _undominated(variants: Variants, indices: list[int]) -> list[int]:
    points = [
        (variants.cycles[i], variants.fields["resident"][i], variants.fields["transient"][i], i)
        for i in indices
    ]
    kept: list[tuple[float, int, int, int]] = []
    for point in sorted(points):
        if not any(all(a <= b for a, b in zip(k[:3], point[:3], strict=True)) for k in kept):
            kept.append(point)
    return [point[3] for point in kept[:MOST_POINTS]]
