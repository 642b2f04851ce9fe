"""The scan of grids: its formulas, and that it misses nothing."""

from itertools import product as every

import numpy as np
import pytest

from tilewright.codegen.mid import CONSERVATIVE, MEASURED, Precision
from tilewright.codegen.mid.operators.gemm_scan import GemmProblem, Variants, front, scan

F16 = Precision.F16
LIMIT = 480 << 10


def _problem(rows: int, inner: int, columns: int, weight_left: bool = False) -> GemmProblem:
    left, right = (F16, None) if weight_left else (None, F16)
    return GemmProblem((), rows, inner, columns, F16, left, right, F16, 0.0)


def _least(variants: Variants, most_copies: int) -> float:
    allowed = variants.fields["copies"] <= most_copies
    return float(np.min(variants.cycles[allowed]))


def _best(rows: int, inner: int, columns: int, copies: int) -> float:
    """Of both orientations, under conservative constants."""
    return min(
        _least(scan(_problem(rows, inner, columns), 1472, CONSERVATIVE, LIMIT, copies), copies),
        _least(
            scan(_problem(columns, inner, rows, True), 1472, CONSERVATIVE, LIMIT, copies), copies
        ),
    )


def test_a_grid_costs_what_the_formula_says() -> None:
    """One AMP block of 16 × 16 takes 4 cycles a row and 235; a call 294; 4 bytes move per cycle."""
    variants = scan(_problem(196, 768, 3072), 1472, CONSERVATIVE, LIMIT, 2)
    f = variants.fields
    (index,) = np.flatnonzero(
        (f["row_parts"] == 2)
        & (f["column_parts"] == 96)
        & (f["inner_parts"] == 7)
        & (f["copies"] == 2)
        & f["partial"]
        & f["columns_fast"]
        & (f["steps"] == 1)
    )[:1]
    grid = variants.grid(int(index))
    assert grid.compute == 7 * 2 * (4 * 98 + 235) + 294
    assert grid.sync == 2 * 600
    gathered, partials = 98 * 112 * 2, 6 * 14 * 32 * 4
    assert grid.exchange == (gathered + partials) / 4
    assert grid.reduction == 0.5 * 98 * 32 + 100
    assert grid.resident == 7 * 16 * 32 * 2


@pytest.mark.parametrize(
    ("rows", "rows_fast", "is_paired"), [(256, False, True), (240, False, False), (64, True, True)]
)
def test_pairs_that_take_the_same_operand_receive_it_at_twice_the_speed(
    rows: int, rows_fast: bool, is_paired: bool
) -> None:
    """If messages have 512 bytes: 16 rows of a panel of 16 halves, or a block of 16 × 16."""
    problem = GemmProblem((), rows, 64, 64, F16, None, None, F16, 0.0)
    found = {}
    for model in (MEASURED, CONSERVATIVE):
        f = scan(problem, 16, model, LIMIT, 0).fields
        chosen = (f["row_parts"] == 4) & (f["column_parts"] == 4) & (f["inner_parts"] == 1)
        chosen &= (f["columns_fast"] != rows_fast) & (f["steps"] == 1)
        found[model.name] = float(f["exchange"][chosen][0])
    left, right = rows // 4 * 64 * 2, 16 * 64 * 2
    shared = right if rows_fast else left
    assert found["conservative"] == (left + right) / 4
    assert found["measured"] == (left + right) / 4 - (shared / 8 if is_paired else 0)


def test_the_scan_finds_the_best_of_all_grids() -> None:
    """Against a plain loop over every grid, with copies on all tiles and f32 terms."""
    rows, inner, columns, tiles = 50, 96, 80, 30
    blocks_k, blocks_n = 6, 5
    least = np.inf
    for r, c, p in every(range(1, rows + 1), range(1, blocks_n + 1), range(1, blocks_k + 1)):
        if r * c * p > tiles:
            continue
        m, n, k = -(-rows // r), -(-blocks_n // c), -(-blocks_k // p)
        cycles = k * n * (4 * m + 235) + 294 + m * k * 16 * 2 / 4 + 600
        if p > 1:
            owned = -(-m // p) * n * 16
            cycles += (p - 1) * owned * 4 / 4 + 0.5 * p * owned + 100 + 600
        least = min(least, cycles)
    variants = scan(_problem(rows, inner, columns), tiles, CONSERVATIVE, LIMIT, 0)
    wide = variants.fields["partial"] & (variants.fields["inner_parts"] >= 1)
    assert np.min(variants.cycles[wide]) == least


@pytest.mark.parametrize(
    ("sizes", "copies", "estimate"),
    [
        ((196, 768, 3072), 1, 21_012),
        ((196, 768, 3072), 3, 19_600),
        ((196, 768, 3072), 1472, 13_430),
        ((196, 3072, 768), 3, 19_916),
        ((256, 768, 3072), 1, 23_906),
        ((256, 768, 3072), 3, 22_298),
        ((256, 768, 3072), 1472, 15_062),
        ((1568, 768, 3072), 3, 94_379),
        ((1568, 768, 3072), 1472, 57_678),
        ((2048, 768, 3072), 3, 116_393),
        ((2048, 768, 3072), 1472, 72_078),
    ],
)
def test_predictions_do_not_exceed_published_estimates(
    sizes: tuple[int, int, int], copies: int, estimate: int
) -> None:
    """Of exhaustive scans with the same constants, but f32 terms only."""
    assert _best(*sizes, copies=copies) <= estimate


def test_the_front_is_small_and_undominated() -> None:
    variants = scan(_problem(196, 768, 3072), 1472, MEASURED, LIMIT, 0)
    chosen = front(variants, 3205.0, LIMIT)
    assert 2 <= len(chosen) <= 12
    points = [
        (variants.cycles[i], variants.fields["resident"][i], variants.fields["transient"][i])
        for i in chosen
    ]
    for a, b in every(points, points):
        assert a is b or not all(x <= y for x, y in zip(a, b, strict=True))
    assert min(points)[0] == np.min(variants.cycles)
