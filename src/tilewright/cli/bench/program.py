"""A whole encoder as machine code: time to make it, to run it, its cycles and its accuracy."""

from time import perf_counter

import numpy as np

from tilewright.cli.bench.figure import Figure
from tilewright.cli.examples import EXAMPLES
from tilewright.codegen.emit import Program, emit, read_outputs, source_contents
from tilewright.codegen.low import lower
from tilewright.codegen.mid import MidGraph, PipelineConfig, evaluate_mid, forget, plan, report
from tilewright.emulator.chip import Chip, End
from tilewright.emulator.images import Piece, TileImage
from tilewright.errors import TilewrightError
from tilewright.target.geometry import LOADER_FRAME_END, TILES
from tilewright.target.topology import physical_tiles

_NAME = "minilm"


def program_figures() -> list[Figure]:
    """Of the layers of MiniLM on all tiles, with seeded weights; each step once."""
    config = PipelineConfig()
    graph = EXAMPLES[_NAME]()
    forget()
    start = perf_counter()
    planned = plan(graph, config)
    program = emit(lower(planned.graph))
    made = perf_counter()
    arrays = _arrays(planned.graph)
    chip = _loaded(planned.graph, program, arrays)
    ready = perf_counter()
    outcome = chip.run()
    ended = perf_counter()
    if outcome.end is not End.STOPPED:
        raise TilewrightError(f"the program of {_NAME} does not end: {outcome}")
    found = read_outputs(planned.graph, program, chip.memory.read)
    expected = evaluate_mid(planned.graph, arrays, {})
    return [
        Figure(f"program.{_NAME}.compile_seconds", made - start, "s"),
        Figure(f"program.{_NAME}.run_seconds", ended - ready, "s"),
        Figure(f"program.{_NAME}.cycles", outcome.cycle, "cycles"),
        Figure(f"program.{_NAME}.predicted", round(report(planned, config).total), "cycles"),
        Figure(f"program.{_NAME}.code_bytes", program.code_bytes, "bytes"),
        *(
            Figure(f"program.{_NAME}.cosine", _least_cosine(found[name], expected[name]), "ratio")
            for name in expected
        ),
    ]


def _arrays(graph: MidGraph) -> dict[str, np.ndarray]:
    """Normally distributed values, matrices scaled so that products keep their size."""
    random = np.random.default_rng(0)
    arrays = {}
    for source in graph.sources:
        shape = source.value.storage.shape
        scale = shape[-2] ** -0.5 if len(shape) > 1 and source.name != "x" else 1.0
        arrays[source.name] = random.normal(size=shape) * scale
    return arrays


def _loaded(graph: MidGraph, program: Program, arrays: dict[str, np.ndarray]) -> Chip:
    chip = Chip()
    for tile, physical in enumerate(physical_tiles(np.arange(TILES)).tolist()):
        pieces = tuple(Piece(each.address, each.data) for each in program.code(tile))
        chip.load(physical, TileImage(pieces, LOADER_FRAME_END))
    for tile, address, content in source_contents(graph, program, arrays):
        chip.memory.write(tile, address, content)
    return chip


def _least_cosine(found: np.ndarray, expected: np.ndarray) -> float:
    """Of the rows of an output and what they should be, the least."""
    products = (found * expected).sum(-1)
    return float(
        np.min(products / np.linalg.norm(found, axis=-1) / np.linalg.norm(expected, axis=-1))
    )
