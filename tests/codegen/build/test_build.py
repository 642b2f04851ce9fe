"""Packages of graphs, on the emulated device, give what NumPy computes."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from safetensors.numpy import save_file

from tests.codegen.build.examples import edges, expected, layers, numbers, product, split, viewed
from tests.examples import examples
from tests.graph.strategies import graphs, random_arrays
from tilewright.codegen.build import BuildError, PackageConfig, Toolchain, build_package
from tilewright.codegen.emit import EmissionError, linking, memory
from tilewright.codegen.mid import KernelPolicy, PipelineConfig, Profiling, evaluate_mid, plan
from tilewright.device.runtime import SAMPLE_CYCLES
from tilewright.graph import ComputeGraph
from tilewright.package import (
    Application,
    ElementType,
    Role,
    SegmentKind,
    Source,
    StepKind,
    validate,
    write_package,
)
from tilewright.profile import analyse
from tilewright.runtime import open_device
from tilewright.target.host import PACKET_WINDOW
from tilewright.target.topology import physical_tile


def config(tiles: int, profiling: Profiling = Profiling.NONE) -> PackageConfig:
    return PackageConfig(
        PipelineConfig(tiles=tiles, policy=KernelPolicy.BUILD, profiling=profiling)
    )


def built(graph: ComputeGraph, tiles: int, profiling: Profiling = Profiling.NONE) -> Application:
    _, parameters = split(graph, numbers(graph))
    return build_package(graph, config(tiles, profiling), parameters)


def check_runs(graph: ComputeGraph, application: Application) -> None:
    """Two runs in one session, with other inputs each time."""
    assert validate(application, hashes=True) == ()
    arrays = numbers(graph)
    with open_device() as device, device.load(application) as session:
        for seed in (1, 2):
            inputs, _ = split(graph, numbers(graph, seed))
            found = session.run(inputs).outputs
            for name, array in expected(graph, {**arrays, **inputs}).items():
                np.testing.assert_array_equal(found[name], array, err_msg=name)


@pytest.mark.parametrize(
    ("build", "tiles"), [(layers, 1), (product, 24), (viewed, 24), (edges, 24)]
)
def test_runs(build: Callable[[], ComputeGraph], tiles: int) -> None:
    graph = build()
    check_runs(graph, built(graph, tiles))


@pytest.mark.parametrize("tiles", [1, 24])
@pytest.mark.parametrize("is_given", [True, False])
def test_sources_that_are_seen_with_an_axis_more(is_given: bool, tiles: int) -> None:
    """A product stores its operand without the axis of one that broadcasting adds."""
    graph = ComputeGraph("broadcast")
    source = graph.input if is_given else graph.parameter
    wide = graph.broadcast(source("a", (59, 4)), (1, 59, 4))
    graph.output("p", graph.gemm(wide, graph.input("b", (1, 32, 4)), transpose_b=True))
    graph.output("q", graph.relu(wide))
    check_runs(graph, built(graph, tiles))


@pytest.mark.parametrize("shape", [(40, 1), (40, 7)])
def test_starts_of_parameters(shape: tuple[int, int]) -> None:
    """What the host gives has more than what is stored."""
    graph = ComputeGraph("starts")
    start = graph.slice(graph.parameter("w", shape), (0, 0), (14, shape[1]))
    graph.output("product", graph.gemm(start, graph.input("x", (14, 8)), transpose_a=True))
    graph.output("relu", graph.relu(start))
    check_runs(graph, built(graph, 3))
    (tensor,) = (each for each in build_package(graph, config(3)).tensors if each.name == "w")
    assert tensor.shape == shape


_RUN_TWICE = """
import sys
import numpy as np
from tilewright.runtime import open_device

with open_device() as device, device.load(sys.argv[1]) as session:
    for number in (0, 1):
        result = session.run({"x": np.load(sys.argv[3])})
        np.save(f"{sys.argv[2]}/y{number}.npy", result.outputs["y"])
"""
_BUILD = """
import sys
from pathlib import Path
from tests.codegen.build.examples import layers
from tests.codegen.build.test_build import built
from tilewright.package import write_package

write_package(built(layers(), 24), Path(sys.argv[1]))
"""


def test_a_file_in_another_process(tmp_path: Path) -> None:
    """It gives the same to the bit each time; and each build, with other hashes, is the same."""
    graph = layers()
    write_package(built(graph, 24), tmp_path / "here.ipuexe")
    arrays = numbers(graph)
    np.save(tmp_path / "x.npy", arrays["x"])
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    folder = Path(__file__).parents[3]

    def run(*arguments: str | Path) -> None:
        command = [sys.executable, "-c", *map(str, arguments)]
        subprocess.run(command, check=True, env=environment, cwd=folder, timeout=300)

    run(_BUILD, tmp_path / "there.ipuexe")
    assert (tmp_path / "there.ipuexe").read_bytes() == (tmp_path / "here.ipuexe").read_bytes()
    run(_RUN_TWICE, tmp_path / "there.ipuexe", tmp_path, tmp_path / "x.npy")
    first, second = (np.load(tmp_path / f"y{number}.npy") for number in (0, 1))
    assert first.tobytes() == second.tobytes()
    np.testing.assert_array_equal(first, expected(graph, arrays)["y"])


def test_parameters_from_a_file(tmp_path: Path) -> None:
    graph = product()
    arrays = numbers(graph)
    inputs, parameters = split(graph, arrays)
    application = build_package(graph, config(24))
    assert {each.source for each in application.tensors if each.role is Role.PARAMETER} == {
        Source.FILE
    }
    save_file(
        {name: array.astype(np.float32) for name, array in parameters.items()},
        tmp_path / "weights.safetensors",
    )
    weights = tmp_path / "weights.safetensors"
    with open_device() as device, device.load(application, weights) as session:
        found = session.run(inputs).outputs["y"]
    np.testing.assert_array_equal(found, expected(graph, arrays)["y"])


def test_parameters_are_stored_once() -> None:
    """However many tiles hold them: as streams that shards and segments share."""
    graph = product()
    application = built(graph, 24)
    for name in ("w", "b"):
        number = application.tensor_number(name)
        tensor, shards = application.tensors[number], application.shards_of(number)
        held = application.segments[application.segments.kind == SegmentKind.PARAMETER]
        size = tensor.stream_bytes
        blob = next(b for b in np.unique(held.blob) if application.blobs.sizes[b] == size)
        stream = tensor.from_stream(application.blobs[int(blob)])
        np.testing.assert_array_equal(stream, numbers(graph)[name].astype(np.float16))
        assert shards.size.sum() >= size


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, '"w" is missing; "b" is missing'),
        ({"w": np.zeros((50, 30)), "b": np.zeros(50)}, r'"w" has shape \[50, 30\], not \[30, 50\]'),
    ],
)
def test_parameters_that_do_not_suit(parameters: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(BuildError, match=message):
        build_package(product(), config(8), parameters)


def _program_start(application: Application) -> int:
    """Where the programs of tiles begin behind the kernels."""
    assert application.debug is not None
    symbols = application.debug.symbols_of(physical_tile(0))
    (row,) = np.flatnonzero(symbols.name == application.debug.strings.index("program"))
    return int(symbols.address[row])


def test_names_of_outputs() -> None:
    graph = ComputeGraph("names")
    graph.output("x", graph.relu(graph.input("x", (4, 4))))
    with pytest.raises(BuildError, match=r'outputs need other names .*: "x"'):
        build_package(graph, config(8))


@pytest.mark.slow
@examples(20)
@given(graphs())
def test_random_graphs(graph: ComputeGraph) -> None:
    """All are packaged, run, and give what NumPy makes of the plan."""
    assume(not {each.name for each in graph.sources} & {each.name for each in graph.outputs})
    inputs, parameters = random_arrays(graph)
    application = build_package(graph, config(8), parameters)
    assert validate(application, hashes=True) == ()
    planned = plan(graph, config(8).pipeline).graph
    with open_device() as device, device.load(application) as session:
        passed = {
            each.name: inputs[each.name].astype(
                np.int32 if each.element is ElementType.I32 else np.float64
            )
            for each in session.inputs
        }
        found = session.run(passed).outputs
    for name, array in evaluate_mid(planned, inputs, parameters).items():
        finite = np.isfinite(array)
        np.testing.assert_allclose(
            found[name][finite].astype(np.float64), array[finite], rtol=1e-2, atol=1e-2
        )


def test_long_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code goes on in further regions, and data begin behind it."""
    start = _program_start(built(layers(), 24))
    regions = ((0x4C018, start + 0x80), (0x54000, 0x54080), (0x60000, 0x80000))
    monkeypatch.setattr(memory, "CODE_REGIONS", regions)
    monkeypatch.setattr(linking, "CODE_REGIONS", regions)
    graph = layers()
    application = built(graph, 24)
    segments = application.segments_of(physical_tile(0))
    code = segments[segments.kind == SegmentKind.CODE]
    assert any(0x54000 <= each < 0x54080 for each in code.address.tolist())
    end = int((code.address + code.size).max())
    assert end > 0x60000
    held = segments[segments.kind == SegmentKind.PARAMETER]
    assert int(held.address.min()) >= -(-end // 0x4000) * 0x4000
    check_runs(graph, application)


def test_programs_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the operations that take most of it."""
    regions = ((0x4C018, _program_start(built(layers(), 24)) + 0x180),)
    monkeypatch.setattr(memory, "CODE_REGIONS", regions)
    monkeypatch.setattr(linking, "CODE_REGIONS", regions)
    with pytest.raises(EmissionError, match="tile 0: its program does not fit") as error:
        built(layers(), 24)
    assert re.search(r"\n  \d+\.\d KiB: gemm\S* %\d+, ", str(error.value))


def test_the_memory_of_tiles() -> None:
    application = built(layers(), 24)
    segments = application.segments
    low, high = PACKET_WINDOW
    is_inside = (segments.address < high) & (segments.address + segments.size > low)
    assert set(segments.kind[is_inside].tolist()) == {SegmentKind.PACKETS}
    counts = [len(application.segments_of(tile)) for tile in range(1472)]
    used, idle = counts[physical_tile(0)], counts[physical_tile(1000)]
    assert idle < used  # only the kernels that a tile calls are linked into its image


@pytest.mark.parametrize("profiling", [Profiling.OVERALL, Profiling.STEPS])
def test_profiles(profiling: Profiling) -> None:
    graph = layers()
    application = built(graph, 24, profiling)
    assert validate(application, hashes=True) == ()
    inputs, _ = split(graph, numbers(graph))
    with open_device() as device, device.load(application) as session:
        result = session.run(inputs)
        profile = session.profile()
    assert [*result.outputs] == ["y", "z"]
    steps = profile.steps
    rows = steps.steps_of(physical_tile(3))
    kinds = steps.table.kind[rows.start : rows.stop]
    assert kinds[0] == StepKind.HOST
    cycles = analyse(profile).cycles
    assert 0.5 * result.cycles < cycles < result.cycles
    if profiling is Profiling.OVERALL:
        assert len(rows) == 2
        return
    iterations = np.unique(steps.table.epoch[rows.start : rows.stop])
    assert len(iterations) >= 1 + 3
    planned = steps.table.planned[rows.start : rows.stop][kinds == StepKind.COMPUTE]
    measured = profile.cycles_of(physical_tile(3))[kinds == StepKind.COMPUTE]
    taken = analyse(profile).taken
    is_idle = (taken.planned == 0) & (steps.table.kind[taken.row] == StepKind.COMPUTE)
    assert taken.cycles[is_idle].min() == SAMPLE_CYCLES
    assert abs(int(planned.sum()) - int(measured.sum())) < 0.35 * measured.sum()


def test_where_code_comes_from() -> None:
    application = built(layers(), 24)
    debug = application.debug
    assert debug is not None
    tile = physical_tile(5)
    assert str(debug.place(tile, 0x4C018)).startswith("start_up")
    text = debug.text_of(tile)
    ranges = debug.ranges[debug.ranges.text == text]
    places = [debug.place(tile, int(address)) for address in ranges.address]
    assert all(each.symbol == "program" and each.operation and each.value for each in places)
    symbols = debug.symbols_of(tile)
    kernel = next(
        int(symbols.address[row])
        for row in range(len(symbols))
        if debug.strings[symbols.name[row]] == "gemm_f16"
    )
    assert str(debug.place(tile, kernel)).startswith("gemm_f16, gemm_supervisor.inc:")


def test_the_build_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = product()
    _, parameters = split(graph, numbers(graph))
    pipeline = config(8).pipeline
    build_package(graph, PackageConfig(pipeline, build_folder=tmp_path / "objects"), parameters)
    names = {path.name for path in (tmp_path / "objects").iterdir()}
    assert {"static_runtime.o", "gemm_f16.o"} <= names
    for name in ("TILEWRIGHT_POPC", "POPLAR_SDK_ENABLED", "POPLAR_SDK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Exception, match="the compiler popc was not found"):
        build_package(graph, PackageConfig(pipeline, Toolchain.POPC), parameters)
