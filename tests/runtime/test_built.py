"""Graphs to packages to files to runs: what comes back is what NumPy says."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from tilewright.codegen.build import PackageConfig, build_package
from tilewright.codegen.mid import KernelPolicy, PipelineConfig
from tilewright.driver import Debugger, ExceptionType
from tilewright.driver.emulated import LOADER, EmulatedTransport
from tilewright.driver.failure import ContextReport
from tilewright.graph import ComputeGraph, evaluate
from tilewright.package import Application, write_package
from tilewright.runtime import Limits, RunResult, TileError, open_device
from tilewright.runtime.device import Device

DOCS = Path(__file__).parents[2] / "docs" / "runtime.md"
CONFIG = PackageConfig(PipelineConfig(tiles=16, policy=KernelPolicy.BUILD))


def perceptron() -> ComputeGraph:
    graph = ComputeGraph("perceptron")
    x, up = graph.input("x", (24, 64)), graph.parameter("up", (64, 96))
    down = graph.parameter("down", (96, 32))
    graph.output("y", graph.softmax(graph.relu(x @ up) @ down))
    return graph


@pytest.fixture(scope="module")
def parameters() -> dict[str, NDArray[np.float32]]:
    random = np.random.default_rng(3)
    return {
        name: (random.normal(size=shape) / 8).astype(np.float32)
        for name, shape in {"up": (64, 96), "down": (96, 32)}.items()
    }


@pytest.fixture(scope="module")
def package(parameters: dict[str, NDArray[np.float32]]) -> Application:
    return build_package(perceptron(), CONFIG, parameters)


def runs(path: Path, x: NDArray[np.float32], file: Path | None = None) -> list[RunResult]:
    with open_device() as device, device.load(path, file) as session:
        return [session.run({"x": x}) for _ in range(2)]


def test_parameters_within_and_from_a_file(
    tmp_path: Path, package: Application, parameters: dict[str, NDArray[np.float32]]
) -> None:
    """Either way, the same numbers come back each time, near those of NumPy."""
    graph = perceptron()
    x = np.random.default_rng(4).normal(size=(24, 64)).astype(np.float32)
    whole, hollow, file = (tmp_path / name for name in ("a.ipuexe", "b.ipuexe", "w.safetensors"))
    write_package(package, whole)
    write_package(build_package(graph, CONFIG), hollow)
    save_file(parameters, file)
    results = [*runs(whole, x), *runs(hollow, x, file)]
    assert len({each.outputs["y"].tobytes() for each in results}) == 1
    cycles = [each.cycles for each in results]
    assert max(cycles) - min(cycles) < 100, "where workers' turns begin differs"
    expected = evaluate(graph, {"x": x}, parameters)["y"]
    np.testing.assert_allclose(results[0].outputs["y"], expected, rtol=0.02, atol=0.002)


def test_results_in_the_place_of_inputs_run_after_run() -> None:
    """Each takes over the memory of the one before, the first that of the input."""
    graph = ComputeGraph("chain")
    x, y = graph.input("x", (40, 24)), graph.input("y", (40, 24))
    graph.output("z", graph.softmax(graph.gelu(x) + y))
    package = build_package(graph, PackageConfig(PipelineConfig(tiles=3)))
    places = {
        name: package.shards[package.shards.tensor == number].address.tolist()
        for number, name in enumerate(each.name for each in package.tensors)
    }
    assert places["z"] in (places["x"], places["y"])
    random = np.random.default_rng(5)
    with open_device() as device, device.load(package) as session:
        for _ in range(3):
            given = {each: random.normal(size=(40, 24)).astype(np.float32) for each in "xy"}
            expected = evaluate(graph, given, {})["z"]
            found = session.run(given).outputs["z"]
            np.testing.assert_allclose(found, expected, rtol=0.02, atol=0.002)


def excepted(package: Application, symbol: str) -> tuple[ContextReport, int]:
    """What is told of tile 0 when a function of its first words does not exist, and where."""
    transport = EmulatedTransport(package.tiles)
    debug = package.debug
    assert debug is not None
    symbols = debug.symbols_of(0)
    names = [debug.strings[name] for name in symbols.name.tolist()]
    address = int(symbols.address[names.index(symbol)])
    with Device(lambda _: transport, LOADER) as device:
        session = device.load(package)
        Debugger(transport, Limits()).write_words(0, 1, address, [0, 0])
        with pytest.raises(TileError) as raised:
            session.run({"x": np.ones((24, 64), np.float32)})
    assert raised.value.context is not None
    return raised.value.context, address


@pytest.mark.parametrize("symbol", ["softmax_few_f16", "softmax_few_f16_worker"])
def test_a_kernel_that_excepts_is_told_with_its_operation(
    package: Application, symbol: str
) -> None:
    """Kernels are shared by operations: who has called one tells which it was for."""
    context, address = excepted(package, symbol)
    assert context.pc == address
    assert context.exception is ExceptionType.INVALID_INSTRUCTION
    assert context.changed[:1] == (address,)
    assert context.place is not None
    assert context.place.symbol == symbol
    assert context.place.line is not None
    assert context.operation is not None
    assert context.operation.startswith("softmax")


def test_what_excepts_for_no_operation_is_told_with_its_caller(package: Application) -> None:
    """Inputs are put in place before the graph begins."""
    context, _ = excepted(package, "copy_apart_worker")
    assert context.operation is None
    assert re.search(r"copy_apart_worker, \S+, called by program\+0x", context.heading)


def test_the_example_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = ComputeGraph("one")
    graph.output("y", graph.relu(graph.input("x", (4, 8))))
    monkeypatch.chdir(tmp_path)
    write_package(build_package(graph, CONFIG), Path("model.ipuexe"))
    [block] = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    names: dict[str, RunResult] = {}
    exec(block, names)
    assert names["result"].outputs["y"].tolist() == [[1] * 8] * 4
