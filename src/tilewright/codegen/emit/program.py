"""A schedule as a program for every tile."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from tilewright.codegen.emit.calls import Call, Calls
from tilewright.codegen.emit.code import TileCode
from tilewright.codegen.emit.copies import copy_calls
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.memory import CODE_LIMIT, place_buffers
from tilewright.codegen.low import (
    CopyStep,
    ExchangeStep,
    KernelStep,
    LowStep,
    Placed,
    RepeatStep,
    TileSchedule,
    exchange_phase,
)
from tilewright.codegen.mid.orders import Indices
from tilewright.device.kernels import KERNELS
from tilewright.elf.arenas import ENTRY_STUB_SIZE, Arena
from tilewright.elf.assembler import assemble_file
from tilewright.elf.image import Image
from tilewright.elf.linker import Linker
from tilewright.exchange import Rows, encode
from tilewright.exchange import schedule as scheduled
from tilewright.target.geometry import LOADER_FRAME_END, TILES
from tilewright.target.topology import physical_tiles

_ARENAS = (Arena("program", LOADER_FRAME_END + ENTRY_STUB_SIZE, CODE_LIMIT, is_executable=True),)


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
    work = [_step_work(schedule, addresses, step) for step in schedule.steps]
    kernels = _linked({call.symbol for each in work for calls in each.calls for call in calls})
    entry = _end(kernels)
    code = tuple(_tile_code(kernels, entry, work, tile) for tile in range(TILES))
    return Program(schedule, addresses, kernels, entry, code)


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """What tiles do for a step: calls by logical tile, then a phase, if `rows` are given."""

    calls: tuple[tuple[Call, ...], ...]
    rows: Rows | None = None


def _step_work(schedule: TileSchedule, addresses: Indices, step: LowStep) -> _Work:
    tiles = schedule.tiles
    buffers = schedule.buffers
    match step:
        case KernelStep():
            calls = Calls(buffers, lambda buffer: int(addresses[buffer]))
            return _Work(
                tuple(
                    tuple(calls.of_step(step, tile)) if tile < step.tiles else ()
                    for tile in range(tiles)
                )
            )
        case CopyStep():
            return _Work(copy_calls(step, buffers, addresses, tiles))
        case ExchangeStep():
            phase = exchange_phase(
                [
                    Placed(moves, addresses[source], addresses[target])
                    for source, target, moves in step.moves
                ]
            )
            return _Work(_cleared(step, schedule, addresses), encode(scheduled(phase)))
        case RepeatStep():
            raise EmissionError(f"{step.provenance.operation}: repeats are not emitted yet")


def _cleared(
    step: ExchangeStep, schedule: TileSchedule, addresses: Indices
) -> tuple[tuple[Call, ...], ...]:
    """Zeros for padding that no move fills: kernels compute with it."""
    calls: list[list[Call]] = [[] for _ in range(schedule.tiles)]
    for target in {target for _, target, _ in step.moves}:
        buffer = schedule.buffers[target]
        if buffer.layout.padded_shape == buffer.layout.shape:
            continue
        call = Call("zero", (int(addresses[target]), buffer.bytes // 8))
        for tile in range(buffer.tiles):
            calls[tile].append(call)
    return tuple(map(tuple, calls))


def _linked(symbols: set[str]) -> Image:
    """Kernels with these symbols, as one image."""
    entries = sorted(symbols)
    paths = sorted({each.source for each in KERNELS.values() if each.symbol in symbols})
    if not entries:
        raise EmissionError("the schedule calls no kernel")
    return Linker([_assembled(path) for path in paths], arenas=_ARENAS).link(entries=entries)


@lru_cache(maxsize=64)
def _assembled(path: Any) -> Any:
    return assemble_file(path).object


def _end(kernels: Image) -> int:
    """Where programs start: behind the kernels."""
    return -(-max(segment.end for segment in kernels.segments) // 8) * 8


def _tile_code(kernels: Image, entry: int, work: Sequence[_Work], tile: int) -> bytes:
    code = TileCode(entry)
    code.start()
    for each in work:
        for call in each.calls[tile] if tile < len(each.calls) else ():
            code.call(kernels.entries[call.symbol], call.values)
        if each.rows is not None:
            code.exchange(each.rows.row(_physical(tile)).astype("<u4").tobytes())
    code.end()
    content = bytes(code)
    if entry + len(content) > CODE_LIMIT:
        raise EmissionError(
            f"tile {tile}: {len(content)} bytes of program behind the kernels end at "
            f"{entry + len(content):#x}, but {CODE_LIMIT:#x} is where the runtime's memory starts"
        )
    return content


@lru_cache(maxsize=1)
def _physical_tiles() -> list[int]:
    return [int(tile) for tile in physical_tiles(np.arange(TILES))]


def _physical(tile: int) -> int:
    return _physical_tiles()[tile]
