"""Attention's dispatch, run tile by tile, gives attention."""

import numpy as np
import pytest

from tests.codegen.mid.executing import TileRun
from tilewright.codegen.mid import PipelineConfig, Precision
from tilewright.codegen.mid.candidates import Operand
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.operators.attention import attention_candidates
from tilewright.graph.operators import Attention


@pytest.mark.parametrize("tiles", [1, 6, 50])
@pytest.mark.parametrize(
    ("q", "k", "v"),
    [
        ((3, 20, 16), (3, 20, 16), (3, 20, 16)),
        ((2, 3, 9, 32), (2, 3, 14, 32), (2, 3, 14, 18)),
        ((1, 1, 33, 5), (1, 1, 33, 5), (1, 1, 33, 5)),
    ],
)
@pytest.mark.parametrize("scale", [0.3, -0.3])
def test_every_tile_has_what_it_needs(
    q: Shape, k: Shape, v: Shape, tiles: int, scale: float
) -> None:
    operands = tuple(Operand(shape, Precision.F16, 0, None, False) for shape in (q, k, v))
    result = (*q[:-1], v[-1])
    found = attention_candidates(
        operands, result, Precision.F16, scale, False, PipelineConfig(tiles=tiles), 400_000
    )
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in (q, k, v)]
    expected = Attention(scale).evaluate(arrays)
    assert found
    for candidate in found:
        homes = tuple(spec.home for spec in candidate.operands)
        dispatch = candidate.recipe.dispatch(homes, candidate.result)
        assert set(dispatch.kernels()) <= set(candidate.kernels)
        run = TileRun(dispatch, arrays, (False, True))
        np.testing.assert_allclose(run.result(), expected, rtol=1e-9, atol=1e-12)
