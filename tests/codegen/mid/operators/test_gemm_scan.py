"""The scan of grids: its formulas, and that it misses nothing."""

from itertools import product as every

import numpy as np
import pytest

from tilewright.codegen.mid import CONSERVATIVE, MEASURED, Precision
from tilewright.codegen.mid.operators.gemm_scan import GemmProblem, front, scan
from tilewright.device.kernels import KERNELS
from tilewright.target.geometry import REGION1_BASE

F16 = Precision.F16
LIMIT = 480 << 10


def _problem(rows: int, inner: int, columns: int, weight_left: bool = False) -> GemmProblem:
    left, right = (F16, None) if weight_left else (None, F16)
    return GemmProblem((), rows, inner, columns, F16, left, right, F16)


def _call(kernel: str, **sizes: int) -> float:
    """Of a call, as the kernel has it, with 7 cycles of the supervisor before it."""
    places = dict.fromkeys((array.name for array in KERNELS[kernel].arrays), REGION1_BASE)
    return KERNELS[kernel].cycles(sizes, places) + 7


def test_a_grid_costs_what_its_kernels_and_words_do() -> None:
    """4 bytes move per cycle, and a message takes two more."""
    variants = scan(_problem(196, 768, 3072), 1472, CONSERVATIVE, LIMIT, 2)
    f = variants.fields
    (index,) = np.flatnonzero(
        (f["row_parts"] == 2)
        & (f["column_parts"] == 96)
        & (f["inner_parts"] == 7)
        & (f["copies"] == 2)
        & f["columns_fast"]
        & (f["steps"] == 1)
    )[:1]
    grid = variants.grid(int(index))
    assert grid.compute == _call("gemm_f16.zero", rows=98, inner=7, columns=2)
    assert grid.sync == 2 * 600
    # as many terms as arrive, and waiting for one more
    gathered, partials = 98 * 112 * 2, (6 + 1) * 14 * 32 * 2
    # 48 panels over 1,472 tiles: 196 rows of each are cut in 30.7 pieces
    assert grid.left_messages == 7 * 16
    assert grid.exchange == (gathered + partials) / 4 + 2 * (7 * 16 + 6 * 2)
    terms = _call("add_terms_f16.plain", rows=14, panels=2, blocks=6, more=84)
    assert grid.reduction == pytest.approx(terms, abs=6)
    assert grid.resident == 7 * 16 * 32 * 2


@pytest.mark.parametrize(
    ("rows", "rows_fast", "is_paired"), [(256, False, True), (240, False, False), (64, True, True)]
)
def test_pairs_that_take_the_same_operand_receive_it_at_twice_the_speed(
    rows: int, rows_fast: bool, is_paired: bool
) -> None:
    """If messages have 512 bytes: 16 rows of a panel of 16 halves, or a block of 16 × 16."""
    problem = GemmProblem((), rows, 64, 64, F16, None, None, F16)
    found = {}
    for model in (MEASURED, CONSERVATIVE):
        f = scan(problem, 16, model, LIMIT, 0).fields
        chosen = (f["row_parts"] == 4) & (f["column_parts"] == 4) & (f["inner_parts"] == 1)
        chosen &= (f["columns_fast"] != rows_fast) & (f["steps"] == 1)
        found[model.name] = float(f["exchange"][chosen][0])
    left, right = rows // 4 * 64 * 2, 16 * 64 * 2
    shared = right if rows_fast else left
    messages = found["conservative"] - (left + right) / 4
    assert found["measured"] - messages == (left + right) / 4 - (shared / 8 if is_paired else 0)


def test_the_scan_finds_the_best_of_all_grids() -> None:
    """Against a plain loop over every grid, with copies on all tiles."""
    rows, inner, columns, tiles = 50, 96, 80, 30
    blocks_k, blocks_n = 6, 5
    least = np.inf
    for r, c, p in every(range(1, rows + 1), range(1, blocks_n + 1), range(1, blocks_k + 1)):
        if r * c * p > tiles:
            continue
        m, n, k = -(-rows // r), -(-blocks_n // c), -(-blocks_k // p)
        cycles = _call("gemm_f16.zero", rows=m, inner=k, columns=n)
        # 5 pieces of a panel of 50 rows
        cycles += m * k * 16 * 2 / 4 + 2 * k * np.ceil(m * tiles * 16 / inner / rows) + 600
        if p > 1:
            owned = -(-m // p)
            cycles += (p - 1) * (owned * n * 16 * 2 / 4 + 2 * n) + 600
            terms = {"rows": owned, "panels": n, "blocks": p - 1, "more": m - owned}
            cycles += _call("add_terms_f16.plain", **terms)
        least = min(least, cycles)
    variants = scan(_problem(rows, inner, columns), tiles, CONSERVATIVE, LIMIT, 0)
    assert np.min(variants.cycles) == pytest.approx(least, rel=0.01)


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
