"""`tilewright emulate IMAGE…`: executables on the emulated chip, until every tile stops."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.device import executable_image
from tilewright.elf.reader import read_object_file
from tilewright.emulator.chip import Chip, End, Outcome
from tilewright.emulator.engines import Engine
from tilewright.emulator.images import TileImage
from tilewright.emulator.inspection import Inspector, Traced
from tilewright.errors import TilewrightError
from tilewright.target.geometry import MEMORY_BASE, MEMORY_END, TILES, WORKERS
from tilewright.target.topology import MEMBERS, SIDES

_CELL = MEMBERS * SIDES
_DEFAULT_LIMIT = 1_000_000_000
_DUMP_FORM = "PLACE:BYTES[@TILE]"
_BYTES_PER_LINE = 16


def emulate(
    images: Annotated[
        list[str],
        typer.Argument(
            metavar="IMAGE[@TILES]...",
            help="Executables, each for tile 0 or the physical tiles given: file@3, file@0-7.",
        ),
    ],
    tiles: Annotated[
        int | None,
        typer.Option(help="Tiles of the chip; as many as are used if left out. Others are idle."),
    ] = None,
    entry: Annotated[
        str | None, typer.Option(help="Symbol to start at, instead of the images' entries.")
    ] = None,
    dump: Annotated[
        list[str] | None,
        typer.Option(
            metavar=_DUMP_FORM,
            help="Memory to print at the end; PLACE is a symbol or an address, TILE 0 if left out.",
        ),
    ] = None,
    engine: Annotated[Engine, typer.Option(help="What runs worker code.")] = Engine.LLVM,
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads to run tiles in; one per processor if left out."),
    ] = None,
    trace: Annotated[
        int | None,
        typer.Option(
            metavar="TILE", help="Tile whose instructions to print, with what they wrote."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(help="Cycles after which to give up.")] = _DEFAULT_LIMIT,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Run executables on the emulated chip until every tile has stopped at a trap.

    The exit status is 1 if a tile faulted, waits in vain or was still running at the limit.
    """
    loads = [load for text in images for load in _parse_image(text, entry)]
    dumps = [_parse_dump(text, loads) for text in dump or ()]
    chip = Chip(_chip_size(tiles, loads), engine=engine, threads=threads)
    for load in loads:
        chip.load(load.tile, load.image)
    traced = [] if trace is None else _observe(chip, trace).trace
    outcome = chip.run(limit)
    contents = [(each, chip.memory.read(each.tile, each.address, each.size)) for each in dumps]
    if as_json:
        print(json.dumps(_as_json(outcome, contents, traced), indent=2))
    else:
        for line in traced:
            print(line)
        print(outcome)
        for each, content in contents:
            print("\n".join(_dump_lines(each, content)))
    if not _all_trapped(outcome):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Load:
    tile: int
    image: TileImage


@dataclass(frozen=True, slots=True)
class _Dump:
    text: str
    tile: int
    address: int
    size: int


def _parse_image(text: str, entry: str | None) -> Iterable[_Load]:
    path, _, where = text.partition("@")
    image = executable_image(read_object_file(Path(path)))
    if entry is not None:
        if entry not in image.symbols:
            raise TilewrightError(f"{path} has no symbol {entry}")
        image = replace(image, entry=image.symbols[entry])
    return [_Load(tile, image) for tile in _parse_tiles(where or "0", text)]


def _parse_tiles(text: str, argument: str) -> range:
    first, _, last = text.partition("-")
    try:
        tiles = range(int(first), int(last or first) + 1)
    except ValueError:
        raise TilewrightError(f"{argument}: expected FILE@TILE or FILE@FIRST-LAST") from None
    if not tiles or tiles[-1] >= TILES:
        raise TilewrightError(f"{argument}: tiles run from 0 to {TILES - 1}, first to last")
    return tiles


def _chip_size(tiles: int | None, loads: list[_Load]) -> int:
    used = 1 + max(load.tile for load in loads)
    if tiles is not None and tiles < used:
        raise TilewrightError(f"--tiles {tiles}, but an image is for tile {used - 1}")
    wanted = used if tiles is None else tiles
    return -(-wanted // _CELL) * _CELL


def _parse_dump(text: str, loads: list[_Load]) -> _Dump:
    body, _, tile_text = text.partition("@")
    place, colon, size_text = body.rpartition(":")
    try:
        tile, size = int(tile_text or "0"), int(size_text, 0)
    except ValueError:
        raise TilewrightError(f"--dump {text}: expected {_DUMP_FORM}") from None
    if not colon:
        raise TilewrightError(f"--dump {text}: expected {_DUMP_FORM}")
    images = [load.image for load in loads if load.tile == tile]
    if not images:
        raise TilewrightError(f"--dump {text}: tile {tile} has no image")
    symbols = {name: value for image in images for name, value in image.symbols.items()}
    address = symbols.get(place)
    if address is None:
        try:
            address = int(place, 0)
        except ValueError:
            raise TilewrightError(f"--dump {text}: the image has no symbol {place}") from None
    if size < 0 or not MEMORY_BASE <= address <= MEMORY_END - size:
        raise TilewrightError(
            f"--dump {text}: {size} bytes at {address:#x} do not lie in tile memory, "
            f"{MEMORY_BASE:#x} to {MEMORY_END:#x}"
        )
    return _Dump(text, tile, address, size)


def _observe(chip: Chip, tile: int) -> Inspector:
    inspector = Inspector(tile, traced=range(WORKERS + 1))
    chip.observe(tile, inspector)
    return inspector


def _all_trapped(outcome: Outcome) -> bool:
    faults = [stopped.fault for stopped in outcome.stopped.values()]
    return outcome.end is End.STOPPED and all(fault and fault.is_debug for fault in faults)


def _as_json(
    outcome: Outcome, contents: list[tuple[_Dump, bytes]], traced: Iterable[Traced]
) -> dict[str, Any]:
    return {
        "end": outcome.end.name.lower(),
        "cycle": outcome.cycle,
        "stopped": [
            {
                "tile": tile,
                "cycle": stopped.cycle,
                "context": stopped.context,
                "pc": stopped.pc,
                "exception": stopped.fault.name if stopped.fault else None,
                "cause": stopped.fault.cause if stopped.fault else None,
                "description": outcome.descriptions[tile],
            }
            for tile, stopped in outcome.stopped.items()
        ],
        "waiting": [
            {"tile": each.tile, "zone": each.zone, "pc": each.pc, "cycle": each.cycle}
            for each in outcome.waiting
        ],
        "memory": [
            {"tile": each.tile, "address": each.address, "bytes": content.hex()}
            for each, content in contents
        ],
        "trace": [
            {
                "cycle": each.cycle,
                "tile": each.tile,
                "context": each.context,
                "pc": each.pc,
                "text": each.text,
                "registers": dict(each.registers),
            }
            for each in traced
        ],
    }


def _dump_lines(dump: _Dump, content: bytes) -> list[str]:
    lines = [f"{dump.text}:"]
    for start in range(0, len(content), _BYTES_PER_LINE):
        row = content[start : start + _BYTES_PER_LINE]
        words = " ".join(row[place : place + 4].hex() for place in range(0, len(row), 4))
        lines.append(f"  {dump.address + start:08x}  {words}")
    return lines
