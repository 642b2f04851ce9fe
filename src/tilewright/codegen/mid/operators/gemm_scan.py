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
from tilewright.codegen.mid.orders import OUTPUT_GROUP, Precision
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
    epilogue: float
    """Cycles per element of the result, of operators fused behind the product."""
    epilogue_bytes: float = 0.0
    """Bytes per element of the result that the epilogue's operands bring."""


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
    group = problem.compute.inner_group
    inner_blocks = _ceil(problem.inner, group)
    column_blocks = _ceil(problem.columns, OUTPUT_GROUP)
    grids = all_grids(problem.batch, problem.rows, column_blocks, inner_blocks, tiles)
    families = [
        (limit, copies, partial)
        for copies in _copy_choices(problem, most_copies)
        for partial in _partials(problem)
    ]
    # with less memory: the extremes suffice
    choices = _copy_choices(problem, most_copies)
    frugal = (choices[0], choices[-1])
    families += [
        (space, copies, _partials(problem)[0])
        for space in TRANSIENT_LIMITS
        if space < limit
        for copies in dict.fromkeys(frugal)
    ]
    found = [
        _priced(problem, grids, tiles, model, *family, columns_fast)
        for columns_fast in (True, False)
        for family in families
    ]
    names = found[0].keys()
    fields = {name: np.concatenate([each[name] for each in found]) for name in names}
    return Variants(fields, batch_splits(problem.batch, tiles))


def _partials(problem: GemmProblem) -> tuple[Precision, ...]:
    wide = problem.compute is Precision.F32 or problem.result is Precision.F32
    return (Precision.F32,) if wide else (Precision.F16, Precision.F32)


def _copy_choices(problem: GemmProblem, most: int) -> tuple[int, ...]:
    """Copies of the weight to try; 0 stands for as many as there are tiles that need it.

    `most` 0 means no cap.
    """
    if problem.left_stored is None and problem.right_stored is None:
        return (0,)
    if most == 0:
        return (1, 2, 3, 4, 6, 0)
    return tuple(range(1, most + 1)) if most <= MOST_COPIES_TRIED else (1, 2, 3, 4, 6, most)


def _priced(
    problem: GemmProblem,
    grids: _Grids,
    tiles: int,
    model: CostModel,
    space: int,
    copies: int,
    partial: Precision,
    columns_fast: bool,
) -> dict[str, Numbers]:
    """One family of variants; those without enough space or copies are left out."""
    batch_parts, inner_parts = grids.batch_parts, grids.inner
    row_parts, column_parts = _made_even(grids, tiles, columns_fast)
    group, width = problem.compute.inner_group, problem.compute.bytes
    weight_left = problem.left_stored is not None
    weight = problem.left_stored or problem.right_stored
    sharers = batch_parts * (column_parts if weight_left else row_parts)
    held = sharers if copies == 0 else np.minimum(sharers, copies)
    keep = sharers % held == 0
    shares = np.maximum(sharers // held, 1)

    elements = grids.elements
    rows = _ceil(problem.rows, row_parts)
    column_blocks = _ceil(_ceil(problem.columns, OUTPUT_GROUP), column_parts)
    inner_blocks = _ceil(_ceil(problem.inner, group), inner_parts)
    columns, inner = column_blocks * OUTPUT_GROUP, inner_blocks * group

    weight_elements = (rows if weight_left else columns) * inner
    stored = weight.bytes if weight is not None else 0
    if weight_left:
        own_most, own_least = _ceil(rows, shares) * inner, rows // shares * inner
    else:
        own_most = columns * _ceil(inner_blocks, shares) * group
        own_least = columns * (inner_blocks // shares) * group
    if weight is None:
        own_most = own_least = weight_elements = np.zeros_like(rows)
    resident = own_most * stored

    # working memory for one step, and how many steps it takes to fit
    left_moves = elements * rows * inner * width * (0 if weight_left else 1)
    right_moves = elements * columns * inner * width * (0 if problem.right_stored else 1)
    staged = np.where(shares > 1, weight_elements * stored, 0)
    unpacked = weight_elements * width if stored not in (0, width) else np.zeros_like(rows)
    per_step = left_moves + right_moves + staged + unpacked
    sum_elements = elements * rows * columns
    owned = elements * _ceil(rows, inner_parts) * columns
    # what arrives for the reduction takes the place of operands that are done
    arriving = np.where(inner_parts > 1, (inner_parts - 1) * owned * partial.bytes, 0)
    fixed_wide = sum_elements * Precision.F32.bytes
    fixed = np.where(inner_parts > 1, sum_elements * partial.bytes, 0)
    room = space - fixed
    steps = np.where(per_step <= room, 1, _ceil(per_step, np.maximum(space - fixed_wide, 1)))
    steps = np.minimum(np.maximum(steps, 1), inner_blocks)
    blocks_per_step = _ceil(inner_blocks, steps)
    steps = _ceil(inner_blocks, blocks_per_step)
    stepping = _ceil(per_step * blocks_per_step, inner_blocks)
    fixed = np.where(steps > 1, fixed_wide, fixed)
    transient = fixed + np.maximum(stepping, arriving)
    keep &= (transient <= space) & (steps <= MOST_STEPS)

    runs = np.where(shares > 1, np.minimum(shares, 3), 1) if weight is not None else 1
    row_cycles = rates.AMP_ROW_F16 if problem.compute is Precision.F16 else rates.AMP_ROW_F32
    block = row_cycles.value * rows + model.amp_block
    calls = elements * steps * runs
    compute = elements * inner_blocks * column_blocks * block + calls * model.gemm_call

    pair_left = columns_fast & (column_parts % 2 == 0)
    pair_right = (not columns_fast) & (row_parts % 2 == 0)
    speed_left = np.where(pair_left & model.paired, 8, 4)
    speed_right = np.where(pair_right & model.paired, 8, 4)
    weight_moves = np.where(shares > 1, (weight_elements - own_least) * stored, 0)
    into_left = left_moves + (weight_moves if weight_left else 0)
    into_right = right_moves + (0 if weight_left else weight_moves)
    exchange = into_left / speed_left + into_right / speed_right
    moves = (left_moves + right_moves + weight_moves) > 0
    reduces = inner_parts > 1
    exchange = exchange + owned * problem.epilogue_bytes / rates.EXCHANGE_BYTES_PER_CYCLE
    exchange = exchange + np.where(
        reduces, (inner_parts - 1) * owned * partial.bytes / rates.EXCHANGE_BYTES_PER_CYCLE, 0
    )
    sync = model.phase * (np.where(moves, steps, 0) + np.where(reduces, 1, 0))

    adding = rates.REDUCE_F32 if partial is Precision.F32 else rates.REDUCE_F16
    fused = problem.epilogue * owned
    alone = fused + (rates.VECTOR_CALL.value if problem.epilogue else 0)
    reduction = np.where(
        reduces, adding.cycles * inner_parts * owned + rates.REDUCE_CALL.value + fused, alone
    )
    conversion = np.zeros(rows.shape)
    if weight is not None and stored != width:
        conversion = (
            weight_elements * (stored + width) / rates.CAST_BYTES_PER_CYCLE
            + steps * rates.VECTOR_CALL.value
        )
    count = np.count_nonzero(keep)
    every = {
        "batch_choice": grids.batch_choice,
        "row_parts": row_parts,
        "column_parts": column_parts,
        "inner_parts": inner_parts,
        "steps": steps,
        "copies": held * (0 if weight is None else 1),
        "compute": compute,
        "exchange": exchange,
        "sync": sync,
        "reduction": reduction,
        "conversion": conversion,
        "resident": resident,
        "transient": transient,
        "result_bytes": owned * problem.result.bytes,
    }
    kept = {name: np.asarray(column)[keep] for name, column in every.items()}
    kept["partial"] = np.full(count, partial is Precision.F32)
    kept["columns_fast"] = np.full(count, columns_fast)
    return kept


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
