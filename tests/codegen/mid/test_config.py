"""What a configuration refuses, and how it reads."""

from dataclasses import replace
from typing import Any

import pytest

from tilewright.codegen.mid import (
    CATALOGUE,
    KernelPolicy,
    KernelStatus,
    PipelineConfig,
    PlanError,
    Precision,
    cost_model,
)
from tilewright.codegen.mid.distributions import rows_format


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tiles": 0}, "1472 tiles"),
        ({"tiles": 1473}, "1472 tiles"),
        ({"tiles": 1.5}, "tiles of a configuration is a whole number, not 1.5"),
        ({"most_copies": -1}, "at least 0"),
        ({"tile_bytes": 0}, "at least 1"),
        ({"tile_bytes": 700_000}, "a tile has 638,976 bytes"),
        ({"interleaved_bytes": 0}, "at least 1"),
        ({"model": "measured"}, "is a CostModel, not 'measured'"),
        ({"policy": "build"}, "is a KernelPolicy, not 'build'"),
        ({"profiling": "steps"}, "is a Profiling, not 'steps'"),
        ({"kernels": None}, "is a Mapping, not None"),
        ({"inputs": {"x": Precision.F16}}, 'the format of "x" is a TensorFormat'),
    ],
)
def test_what_is_no_configuration_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        PipelineConfig(**given)


def test_what_differs_from_the_usual_is_shown() -> None:
    assert repr(PipelineConfig()) == "PipelineConfig(tiles=1472)"
    missing = replace(CATALOGUE["gelu_f16"], status=KernelStatus.REQUIRED)
    config = PipelineConfig(
        tiles=6,
        model=cost_model("measured"),
        kernels={**CATALOGUE, "gelu_f16": missing},
        policy=KernelPolicy.BUILD,
        inputs={"x": rows_format((3, 5, 7), Precision.F32, 6)},
        most_copies=2,
    )
    assert repr(config) == (
        f"PipelineConfig(tiles=6, model=<measured>, kernels=<{len(CATALOGUE)} kernels, 1 of them "
        "not written>, policy=KernelPolicy.BUILD, "
        "inputs={'x': f32 row [3 2 1] grid (0×3 1×2) standard}, most_copies=2)"
    )
