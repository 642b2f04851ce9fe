"""A schedule as a program for every tile."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from tilewright.codegen.emit.addresses import buffer_addresses
from tilewright.codegen.emit.code import TileCode
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.memory import CODE_LIMIT, place_buffers
from tilewright.codegen.emit.work import CallWork, PhaseWork, RepeatWork, Work, Worker
from tilewright.codegen.low import TileSchedule
from tilewright.codegen.mid.orders import Indices
from tilewright.device.kernels import KERNELS
from tilewright.device.runtime import ADVANCE, RUNTIME
from tilewright.elf.arenas import ENTRY_STUB_SIZE, Arena
from tilewright.elf.assembler import assemble_file
from tilewright.elf.image import Image
from tilewright.elf.linker import Linker
from tilewright.elf.object import ObjectFile
from tilewright.target.geometry import LOADER_FRAME_END, TILES
from tilewright.target.topology import physical_tiles

_ARENA = Arena("program", LOADER_FRAME_END + ENTRY_STUB_SIZE, CODE_LIMIT, is_executable=True)


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """What tiles hold before they start.

    All tiles hold `kernels`; logical tile t also `code[t]`, from `entry` on, where it starts.
    `addresses` are those of the schedule's buffers, on all tiles of theirs; a source's content is
    to be loaded there.
    """

    schedule: TileSchedule
    addresses: Indices
    kernels: Image
    entry: int
    code: tuple[bytes, ...]


def emit(schedule: TileSchedule) -> Program:
    """The program of a schedule, for all tiles of the chip.

    Tiles beyond those of the schedule only let phases pass. Raises `EmissionError` for what has no
    kernel or no room, `PlacementError` for buffers that do not fit.
    """
    addresses = place_buffers(schedule)
    work = Worker(schedule, buffer_addresses(schedule, addresses)).work(schedule.steps)
    kernels = _linked(set(_symbols(work)))
    physical = physical_tiles(np.arange(TILES)).tolist()
    writer = _Writer(kernels, _end(kernels))
    code = tuple(writer.code(work, tile, physical[tile]) for tile in range(TILES))
    return Program(schedule, addresses, kernels, writer.entry, code)


def _symbols(work: Sequence[Work]) -> Iterator[str]:
    """The functions that work calls."""
    for each in work:
        match each:
            case CallWork():
                yield from (call.symbol for calls in each.calls for call in calls)
            case RepeatWork():
                yield from _symbols(each.body)


def _linked(symbols: set[str]) -> Image:
    """Kernels with these symbols, and the runtime's functions, as one image."""
    paths = {each.source for each in KERNELS.values() if each.symbol in symbols}
    objects = [_assembled(path) for path in (RUNTIME, *sorted(paths))]
    return Linker(objects, arenas=(_ARENA,)).link(entries=(ADVANCE, *sorted(symbols)))


@lru_cache(maxsize=64)
def _assembled(path: Path) -> ObjectFile:
    return assemble_file(path).object


def _end(kernels: Image) -> int:
    """Where programs start: behind the kernels."""
    return -(-max(segment.end for segment in kernels.segments) // 8) * 8


class _Writer:
    """Writes the code of tiles from `entry` on."""

    def __init__(self, kernels: Image, entry: int) -> None:
        self._entries = kernels.entries
        self.entry = entry

    def code(self, work: Sequence[Work], tile: int, physical: int) -> bytes:
        """Of the logical tile `tile`. Raises `EmissionError` if it has no room."""
        code = TileCode(self.entry, self._entries[ADVANCE])
        code.start()
        self._write(code, work, tile, physical)
        code.end()
        content = bytes(code)
        end = self.entry + len(content)
        if end > CODE_LIMIT:
            raise EmissionError(
                f"tile {tile}: {len(content):,} bytes of program behind the kernels would end at "
                f"{end:#x}; code has room up to {CODE_LIMIT:#x}"
            )
        return content

    def _write(self, code: TileCode, work: Sequence[Work], tile: int, physical: int) -> None:
        for each in work:
            match each:
                case CallWork(calls=calls):
                    for call in calls[tile] if tile < len(calls) else ():
                        code.call(self._entries[call.symbol], call.values)
                case PhaseWork(rows=rows):
                    row = rows.row(physical).astype("<u4").tobytes()
                    code.exchange(row, list(_moving(each, physical)))
                case RepeatWork(count=count):
                    with code.repeat(count, each.sequences):
                        self._write(code, each.body, tile, physical)


def _moving(phase: PhaseWork, tile: int) -> Iterator[tuple[int, int, int]]:
    """Words of a tile's row that move: sequence, word, step."""
    for sequence, patches in phase.moving:
        first, last = np.searchsorted(patches.tile, [tile, tile + 1])
        for word, step in zip(
            patches.word[first:last].tolist(), patches.step[first:last].tolist(), strict=True
        ):
            yield sequence, word, step
