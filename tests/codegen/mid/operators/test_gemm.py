"""Products: their dispatch multiplies right, and costs what the layouts say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codegen.mid.executing import TileRun
from tests.examples import examples
from tilewright.codegen.mid import ElementOrder, PipelineConfig, Precision, Storage
from tilewright.codegen.mid.candidates import Operand, OperatorCandidate
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.operators.gemm import gemm_candidates, product_of, recipes
from tilewright.codegen.mid.operators.gemm_recipe import GemmRecipe

F16, F32, F8 = Precision.F16, Precision.F32, Precision.F8F143
LIMIT = 400_000


def _operand(shape: Shape, precision: Precision, weight: bool) -> Operand:
    return Operand(shape, precision, 0, None, weight)


def _candidates(
    shapes: tuple[Shape, Shape],
    weights: tuple[bool, bool],
    tiles: int,
    precision: Precision = F16,
    stored: Precision | None = None,
    transposed: tuple[bool, bool] = (False, False),
    limit: int = LIMIT,
) -> tuple[tuple[Operand, ...], tuple[OperatorCandidate, ...]]:
    a, b = (
        _operand(shape, (stored or precision) if weight else precision, weight)
        for shape, weight in zip(shapes, weights, strict=True)
    )
    config = PipelineConfig(tiles=tiles)
    rows = a.shape[-1] if transposed[0] else a.shape[-2]
    columns = b.shape[-2] if transposed[1] else b.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, rows, columns)
    product = product_of((a, b), transposed, shape, precision)
    return (a, b), gemm_candidates(product, (a, b), shape, config, limit)


problems = st.tuples(st.integers(1, 40), st.integers(1, 90), st.integers(1, 50))


@examples(40)
@given(
    problems,
    st.tuples(st.booleans(), st.booleans()),
    st.sampled_from([(False, False), (False, True), (True, False)]),
    st.sampled_from([F16, F32]),
    st.sampled_from([1, 2, 7, 24]),
    st.sampled_from([LIMIT, 3000]),
    st.integers(0, 2**16),
)
def test_every_tile_has_what_it_multiplies(
    sizes: tuple[int, int, int],
    transposed: tuple[bool, bool],
    weights: tuple[bool, bool],
    precision: Precision,
    tiles: int,
    limit: int,
    seed: int,
) -> None:
    rows, inner, columns = sizes
    a_shape = (inner, rows) if transposed[0] else (rows, inner)
    b_shape = (columns, inner) if transposed[1] else (inner, columns)
    _, found = _candidates((a_shape, b_shape), weights, tiles, precision, None, transposed, limit)
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=a_shape), rng.normal(size=b_shape)
    expected = (a.T if transposed[0] else a) @ (b.T if transposed[1] else b)
    for candidate in found:
        homes = tuple(spec.home for spec in candidate.operands)
        dispatch = candidate.recipe.dispatch(homes, candidate.result)
        assert set(dispatch.kernels()) <= set(candidate.kernels)
        run = TileRun(dispatch, [a, b], transposed)
        np.testing.assert_allclose(run.result(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shapes", [((2, 3, 9, 20), (2, 3, 20, 17)), ((3, 9, 20), (20, 17))])
def test_batches_are_divided_or_become_rows(shapes: tuple[Shape, Shape]) -> None:
    _, found = _candidates(shapes, (False, False), 12)
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=shape) for shape in shapes)
    assert found
    for candidate in found:
        homes = tuple(spec.home for spec in candidate.operands)
        dispatch = candidate.recipe.dispatch(homes, candidate.result)
        np.testing.assert_allclose(TileRun(dispatch, [a, b], (False, False)).result(), a @ b)


def _recipe(candidate: OperatorCandidate) -> GemmRecipe:
    assert isinstance(candidate.recipe, GemmRecipe)
    return candidate.recipe


@pytest.mark.parametrize("stored", [F16, F8])
@pytest.mark.parametrize("tiles", [7, 64, 1472])
@pytest.mark.parametrize("limit", [LIMIT, 60_000])
def test_bytes_are_those_of_the_layouts(stored: Precision, tiles: int, limit: int) -> None:
    """Uneven splits cost as their largest tile, in the price as in the formats."""
    shapes = ((196, 768), (768, 3072))
    operands, found = _candidates(shapes, (False, True), tiles, F16, stored, limit=limit)
    for candidate in found:
        recipe = _recipe(candidate)
        weight = candidate.operands[1].home
        assert weight.layout.shard_bytes == candidate.bytes.resident
        assert candidate.result.layout.shard_bytes == recipe.grid.result_bytes
        elsewhere = Storage(
            candidate.operands[0].home.format.with_order(ElementOrder.ROW_MAJOR), (196, 768)
        )
        dispatch = recipe.dispatch((elsewhere, weight), candidate.result)
        slots = {slot.name: slot.tile_bytes for slot in dispatch.slots}
        staged = sum(slots.get(name, 0) for name in ("left", "right", "left cast", "right cast"))
        arriving = slots.get("arriving", 0)
        sums = slots.get("sums", 0)
        assert candidate.bytes.transient == pytest.approx(sums + max(staged, arriving), rel=0.02)
    assert len(operands) == 2


def test_weights_in_8_bits_take_half_the_memory_and_a_cast() -> None:
    shapes = ((196, 768), (768, 3072))
    _, wide = _candidates(shapes, (False, True), 1472)
    _, narrow = _candidates(shapes, (False, True), 1472, F16, F8)
    assert min(c.bytes.resident for c in narrow) < 0.6 * min(c.bytes.resident for c in wide)
    for candidate in narrow:
        dispatch = candidate.recipe.dispatch(
            tuple(spec.home for spec in candidate.operands), candidate.result
        )
        assert "cast_f8_f16" in dispatch.kernels()
        assert candidate.cost.conversion > 0


def test_operands_of_the_matrix_engine_are_aligned_and_may_be_read_past() -> None:
    """32-byte alignment; a tail of 16 bytes behind an f16 left operand."""
    _, found = _candidates(((196, 768), (768, 3072)), (False, True), 1472)
    for candidate in found:
        recipe = _recipe(candidate)
        left = candidate.operands[recipe.left.operand]
        assert {spec.alignment for spec in candidate.operands} == {32}
        assert left.access_tail == 16
        assert candidate.result.format.memory.value == "interleaved"


def test_little_memory_makes_steps() -> None:
    config = PipelineConfig(tiles=16)
    a, b = _operand((512, 2048), F16, False), _operand((2048, 512), F16, False)
    product = product_of((a, b), (False, False), (512, 512), F16)
    for recipe in recipes(product, config, 120_000):
        assert recipe.grid.transient <= 120_000
        assert recipe.grid.steps > 1
    assert recipes(product, config, 1000) == ()
