"""Where code comes from: symbols and lines of kernels, and which work programs do."""

from collections.abc import Iterator

import numpy as np

from tilewright.codegen.emit import Program
from tilewright.codegen.emit.linking import regions_behind
from tilewright.elf.image import Image
from tilewright.elf.lines import read_lines
from tilewright.elf.object import SymbolType
from tilewright.package import NONE, CodeOfTiles, Debug, Lines, Origins, Ranges, Symbols
from tilewright.target.geometry import TILES
from tilewright.target.topology import physical_tiles

_NO_FILE = "none"
_PROGRAM = "program"
"""The symbol of what is written for the tile itself."""


class _Strings:
    """Strings by number, in the order of their first use."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, string: str) -> int:
        return self._numbers.setdefault(string, len(self._numbers))

    def all(self) -> tuple[str, ...]:
        return tuple(self._numbers)


def debug_tables(program: Program) -> Debug:
    """The tables of a program. Tiles that share kernels share their symbols and lines."""
    strings = _Strings()
    symbols = [
        row for code, image in enumerate(program.images) for row in _symbols(code, image, strings)
    ]
    lines = [
        row for code, image in enumerate(program.images) for row in _lines(code, image, strings)
    ]
    texts = {text: number for number, text in enumerate(dict.fromkeys(program.texts))}
    ranges = [(number, *each) for text, number in texts.items() for each in text.origins]
    origins = [
        (
            strings.number(each.operation),
            strings.number(f"%{each.value}"),
            strings.number(each.reason),
            NONE,
        )
        for each in program.origins
    ]
    physical = physical_tiles(np.arange(TILES))
    order = np.argsort(physical)
    return Debug(
        strings=strings.all(),
        tiles=CodeOfTiles(
            tile=physical[order],
            tile_code=np.array(program.image_of)[order],
            tile_text=np.array([texts[text] for text in program.texts])[order],
        ),
        symbols=Symbols(*_columns(symbols, 4)).sorted_by("code", "address"),
        lines=Lines(*_columns(lines, 4)).sorted_by("code", "address"),
        ranges=Ranges(*_columns(ranges, 4)),
        origins=Origins(*_columns(origins, 4)),
    )


def _symbols(code: int, image: Image, strings: _Strings) -> Iterator[tuple[int, int, int, int]]:
    for symbol in image.symbol_list:
        if symbol.file_name and symbol.type in (SymbolType.FUNC, SymbolType.OBJECT):
            yield code, symbol.address, symbol.size, strings.number(symbol.name)
    yield code, regions_behind(image)[0][0], 0, strings.number(_PROGRAM)


def _lines(code: int, image: Image, strings: _Strings) -> Iterator[tuple[int, int, int, int]]:
    """Lines of all sections; behind each, none."""
    executable = image.to_object()
    for section in executable.sections:
        if section.is_executable:
            yield code, section.address + section.size, strings.number(_NO_FILE), 0
    for row in read_lines(executable):
        name = row.file.rpartition("/")[2]
        yield code, row.section.address + row.offset, strings.number(name), row.line


def _columns(rows: list[tuple[int, int, int, int]], count: int) -> np.ndarray:
    return np.array(rows, np.int64).reshape(-1, count).T
