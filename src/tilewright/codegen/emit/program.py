"""A schedule as a program for every tile."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from tilewright.codegen.emit.addresses import buffer_addresses
from tilewright.codegen.emit.code import NO_ORIGIN, TileCode, TileText
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.linking import Library, Toolchain, assembled, regions_behind
from tilewright.codegen.emit.memory import FIRST_DATA, DataMemory, data_start, place_buffers
from tilewright.codegen.emit.work import CallWork, PhaseWork, RepeatWork, Work, Worker
from tilewright.codegen.low import TileSchedule
from tilewright.codegen.mid import WorkProvenance
from tilewright.codegen.mid.orders import Indices
from tilewright.device.runtime import ADVANCE, FINISH, RENDEZVOUS, RUNTIME, SAMPLE, START_UP
from tilewright.elf.image import Image, Segment
from tilewright.target.geometry import EXECUTABLE_END, LOADER_FRAME_END, TILES
from tilewright.target.topology import physical_tiles
from tilewright.tracing import span

_ALWAYS = (START_UP, FINISH, RENDEZVOUS, ADVANCE)
_MOST_PASSES = 8
_MOST_NAMED = 4
"""Parts of a program that a message lists."""


class Frame(Protocol):
    """What programs do around the graph, and where what they exchange with the host lies."""

    def functions(self, tile: int) -> Iterable[str]:
        """What a (physical) tile calls, beside start-up and end, by symbol."""

    def write(self, code: TileCode, tile: int, graph: Callable[[], None]) -> None:
        """Write a (physical) tile's program between start-up and end; `graph` writes the graph."""


class FrameMaker(Protocol):
    """Makes the frame of a program whose data lie where `memory` says."""

    def __call__(self, memory: DataMemory) -> Frame: ...


class RunOnce:
    """Run the graph once, with nothing around."""

    def functions(self, tile: int) -> Iterable[str]:
        return ()

    def write(self, code: TileCode, tile: int, graph: Callable[[], None]) -> None:
        graph()


@dataclass(frozen=True, slots=True)
class Environment:
    """What code is made with."""

    runtime: Path = RUNTIME
    toolchain: Toolchain = assembled


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """What tiles hold before they start.

    Logical tile t holds `images[image_of[t]]`, kernels and runtime, and `texts[t]`; it starts at
    `LOADER_FRAME_END`, where `entry_code` leads to its text. `memory` has the addresses of the
    schedule's buffers, on all tiles of theirs; a source's content is to be loaded there. Texts
    name origins by number.
    """

    schedule: TileSchedule
    memory: DataMemory
    work: tuple[Work, ...]
    images: tuple[Image, ...]
    image_of: tuple[int, ...]
    texts: tuple[TileText, ...]
    origins: tuple[WorkProvenance, ...]

    @property
    def addresses(self) -> Indices:
        """Of the schedule's buffers."""
        return self.memory.addresses

    def code(self, tile: int) -> list[Segment]:
        """All code of a logical tile, with the runtime's memory, by address."""
        image, text = self.images[self.image_of[tile]], self.texts[tile]
        pieces = (*image.segments, entry_code(text), *text.pieces)
        return sorted(pieces, key=lambda piece: piece.address)


def entry_code(text: TileText) -> Segment:
    """Where the loader starts a tile: a branch to its program."""
    code = TileCode([(LOADER_FRAME_END, EXECUTABLE_END)], {})
    code.add("bri t19", text.entry)
    return code.finished().pieces[0]


def emit(
    schedule: TileSchedule,
    *,
    frame: FrameMaker | None = None,
    environment: Environment | None = None,
    inputs: Sequence[int] = (),
    samples: int = 0,
    samples_steps: bool = False,
    seed: int = 0,
) -> Program:
    """The program of a schedule, for all tiles of the chip.

    `frame` makes what stands around the graph; without it, tiles run the graph once and stop.
    `inputs` are buffers that the frame fills before each run. A place for so many cycle `samples`
    is set aside; with `samples_steps` one is taken behind each step, others by the frame.
    `seed` is that of the memory policy.

    Data begin behind the longest program; if that is longer than thought, it is written again with
    data further up. Tiles beyond those of the schedule only let phases pass. Raises
    `EmissionError` for what has no kernel or no room, `PlacementError` for buffers that do not fit.
    """
    environment = environment or Environment()
    start = FIRST_DATA
    for _ in range(_MOST_PASSES):
        memory = place_buffers(schedule, start, inputs=inputs, samples=samples, seed=seed)
        made = frame(memory) if frame is not None else RunOnce()
        program = _written(schedule, memory, made, environment, samples_steps)
        needed = data_start(max(text.end for text in program.texts))
        if needed <= start:
            return program
        start = needed
    raise EmissionError(f"programs grow beyond {start:#x} each time data make room for them")


def _written(
    schedule: TileSchedule,
    memory: DataMemory,
    frame: Frame,
    environment: Environment,
    is_sampled: bool,
) -> Program:
    work = Worker(schedule, buffer_addresses(schedule, memory.addresses)).work(schedule.steps)
    tiles = physical_tiles(np.arange(TILES)).tolist()
    framing = [frozenset(frame.functions(tile)) for tile in tiles]
    symbols = frozenset(_symbols(work)).union(*framing)
    with span("codegen.emit.assemble"):
        library = Library(symbols, environment.runtime, environment.toolchain)
    always = {*_ALWAYS, *([SAMPLE] if is_sampled else ())}
    images: dict[Image, int] = {}
    image_of, texts = [], []
    origins: dict[WorkProvenance, int] = {}
    with span("codegen.emit.write") as this:
        for tile, physical in enumerate(tiles):
            image = library.image({*always, *framing[tile], *_symbols(work, tile)})
            image_of.append(images.setdefault(image, len(images)))
            writer = _Writer(image, origins, is_sampled)
            try:
                texts.append(writer.text(work, frame, tile, physical))
            except EmissionError as fault:
                raise EmissionError(f"tile {tile}: {fault}{writer.largest_parts()}") from fault
        this.set(images=len(images), code_bytes=max(text.size for text in texts))
    return Program(
        schedule, memory, work, tuple(images), tuple(image_of), tuple(texts), tuple(origins)
    )


def _symbols(work: Sequence[Work], tile: int | None = None) -> Iterator[str]:
    """The kernels that work calls, on any tile or on one."""
    for each in work:
        match each:
            case CallWork(calls=calls):
                chosen = calls if tile is None else calls[tile : tile + 1]
                yield from (call.symbol for of_tile in chosen for call in of_tile)
            case RepeatWork():
                yield from _symbols(each.body, tile)


class _Writer:
    """Writes the text of a tile behind its image."""

    def __init__(self, image: Image, origins: dict[WorkProvenance, int], is_sampled: bool) -> None:
        self._entries = image.entries
        self._origins = origins
        self._is_sampled = is_sampled
        self._code = TileCode(regions_behind(image), image.entries)

    def text(self, work: Sequence[Work], frame: Frame, tile: int, physical: int) -> TileText:
        """Of the logical tile `tile`. Raises `EmissionError` if it has no room."""
        code = self._code
        code.call(START_UP)

        def graph() -> None:
            self._write(work, tile, physical)
            code.begin(NO_ORIGIN)

        frame.write(code, physical, graph)
        code.call(FINISH)
        return code.finished()

    def largest_parts(self) -> str:
        """What most of the code is for that is written so far."""
        provenances = list(self._origins)
        largest = sorted(self._code.sizes().items(), key=lambda each: -each[1])[:_MOST_NAMED]
        lines = [
            f"\n  {size / 1024:.1f} KiB: {provenances[origin].operation}, "
            f"{provenances[origin].reason}"
            for origin, size in largest
        ]
        return "".join(["; most of it so far is for", *lines]) if lines else ""

    def _write(
        self, work: Sequence[Work], tile: int, physical: int, samples_last: bool = True
    ) -> None:
        """Work, with a sample behind each step, but perhaps the last."""
        code = self._code
        for place, each in enumerate(work):
            code.begin(self._origins.setdefault(each.provenance, len(self._origins)))
            match each:
                case CallWork(calls=calls):
                    for call in calls[tile] if tile < len(calls) else ():
                        code.call(self._entries[call.symbol], call.values)
                case PhaseWork(rows=rows):
                    row = rows.row(physical).astype("<u4").tobytes()
                    code.exchange(row, list(_moving(each, physical)))
                case RepeatWork(count=count, body=body):
                    ending = SAMPLE if self._is_sampled and body[-1].ends_step else None
                    with code.repeat(count, each.sequences, ending):
                        self._write(body, tile, physical, samples_last=ending is None)
            is_last = place == len(work) - 1
            if self._is_sampled and each.ends_step and (samples_last or not is_last):
                code.call(SAMPLE)


def _moving(phase: PhaseWork, tile: int) -> Iterator[tuple[int, int, int]]:
    """Words of a tile's row that move: sequence, word, step."""
    for sequence, patches in phase.moving:
        first, last = np.searchsorted(patches.tile, [tile, tile + 1])
        for word, step in zip(
            patches.word[first:last].tolist(), patches.step[first:last].tolist(), strict=True
        ):
            yield sequence, word, step
