"""Where code comes from: symbols, source lines, and the work of the graph that it does."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.package.blobs import Content
from tilewright.package.checks.rows import check_ordered, check_references, check_strings
from tilewright.package.faults import FaultList, PackageError
from tilewright.package.message import (
    MAX_STRINGS,
    decoding,
    encode,
    put_table,
    schema,
    tables_message,
)
from tilewright.package.tables import NONE, U32, Column, Table, rows_of

_WHAT = "the debug table"
_NAMES = (
    ("symbols", "name", False),
    ("lines", "file", False),
    ("origins", "operation", False),
    ("origins", "value", True),
    ("origins", "reason", False),
    ("origins", "source", True),
)
"""Columns that name strings, and whether there may be none."""


@dataclass(frozen=True, eq=False)
class CodeOfTiles(Table):
    """Which code image and which text each tile runs, by rising physical id; tiles share both.

    The image says which symbols and lines a tile has, the text which ranges.
    """

    tile: Column[np.uint16] = Column(np.uint16)
    tile_code: Column[np.uint32] = Column(np.uint32)
    tile_text: Column[np.uint32] = Column(np.uint32)


@dataclass(frozen=True, eq=False)
class Symbols(Table):
    """Names of addresses, ordered by `code` image, then `address`; `size` 0 means unknown."""

    code: Column[np.uint32] = Column(np.uint32)
    address: Column[np.uint32] = Column(np.uint32)
    size: Column[np.uint32] = Column(np.uint32)
    name: Column[np.uint32] = Column(np.uint32)


@dataclass(frozen=True, eq=False)
class Lines(Table):
    """Source lines, ordered by `code`, then `address`, each good up to the next; 0 for no line."""

    code: Column[np.uint32] = Column(np.uint32)
    address: Column[np.uint32] = Column(np.uint32)
    file: Column[np.uint32] = Column(np.uint32)
    line: Column[np.uint32] = Column(np.uint32)


@dataclass(frozen=True, eq=False)
class Ranges(Table):
    """Which code does which work, ordered by `text`, then `address`; `origin` is a row."""

    text: Column[np.uint32] = Column(np.uint32)
    address: Column[np.uint32] = Column(np.uint32)
    size: Column[np.uint32] = Column(np.uint32)
    origin: Column[np.uint32] = Column(np.uint32)


@dataclass(frozen=True, eq=False)
class Origins(Table):
    """Why there is a piece of work, as strings; `value` and `source` may be `NONE`."""

    operation: Column[np.uint32] = Column(np.uint32)
    value: Column[np.uint32] = Column(np.uint32)
    reason: Column[np.uint32] = Column(np.uint32)
    source: Column[np.uint32] = Column(np.uint32)


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of an address; None for what is not."""

    symbol: str | None
    offset: int
    """Bytes from the symbol."""
    line: str | None
    """`file:line`."""
    operation: str | None
    value: str | None
    reason: str | None
    source: str | None

    def __str__(self) -> str:
        symbol = f"{self.symbol}+{self.offset:#x}" if self.offset else self.symbol
        work = self.operation and f"{self.operation} ({self.reason})" if self.reason else None
        return ", ".join(each for each in (symbol, self.line, work, self.source) if each)


@dataclass(frozen=True, slots=True)
class Debug:
    """Tables of all code; strings are named by number."""

    strings: tuple[str, ...] = ()
    tiles: CodeOfTiles = field(default_factory=CodeOfTiles)
    symbols: Symbols = field(default_factory=Symbols)
    lines: Lines = field(default_factory=Lines)
    ranges: Ranges = field(default_factory=Ranges)
    origins: Origins = field(default_factory=Origins)

    def code_of(self, tile: int) -> int | None:
        """The code image of a tile, if it has one."""
        return self._of_tile(tile, self.tiles.tile_code)

    def text_of(self, tile: int) -> int | None:
        """The text of a tile, if it has one."""
        return self._of_tile(tile, self.tiles.tile_text)

    def symbols_of(self, tile: int) -> Symbols:
        """The symbols of a tile's code, by address."""
        code = self.code_of(tile)
        if code is None:
            return Symbols()
        rows = rows_of(self.symbols.code, code)
        return self.symbols[rows.start : rows.stop]

    def place(self, tile: int, address: int) -> Place:
        """What is known of an address in a tile's code."""
        code, text = self.code_of(tile), self.text_of(tile)
        symbol = _at_or_before(self.symbols.code, self.symbols.address, code, address)
        line = _at_or_before(self.lines.code, self.lines.address, code, address)
        work = _at_or_before(self.ranges.text, self.ranges.address, text, address)
        offset = address - int(self.symbols.address[symbol]) if symbol is not None else 0
        if symbol is not None and 0 < int(self.symbols.size[symbol]) <= offset:
            symbol, offset = None, 0
        if line is not None and not self.lines.line[line]:
            line = None
        if work is not None and address - int(self.ranges.address[work]) >= self.ranges.size[work]:
            work = None
        origin = None if work is None else int(self.ranges.origin[work])
        return Place(
            symbol=None if symbol is None else self.strings[self.symbols.name[symbol]],
            offset=offset,
            line=None if line is None else self._line(line),
            operation=self._origin(self.origins.operation, origin),
            value=self._origin(self.origins.value, origin),
            reason=self._origin(self.origins.reason, origin),
            source=self._origin(self.origins.source, origin),
        )

    def _of_tile(self, tile: int, column: U32) -> int | None:
        rows = rows_of(self.tiles.tile, tile)
        return int(column[rows.start]) if rows else None

    def _line(self, row: int) -> str:
        return f"{self.strings[self.lines.file[row]]}:{self.lines.line[row]}"

    def _origin(self, names: U32, origin: int | None) -> str | None:
        name = NONE if origin is None else int(names[origin])
        return None if name == NONE else self.strings[name]


def _at_or_before(owners: U32, addresses: U32, owner: int | None, address: int) -> int | None:
    """The last row of an owner that starts no later than `address`."""
    if owner is None:
        return None
    rows = rows_of(owners, owner)
    after = addresses[rows.start : rows.stop].searchsorted(np.uint32(address), "right")
    return rows.start + int(after) - 1 if after else None


def write_debug(debug: Debug) -> bytes:
    """The tables as the content of a blob. Raises `PackageError` for tables with faults."""
    _raise(check_debug(debug))

    def fill(root: Any) -> None:
        root.strings = list(debug.strings)
        put_table(root, debug.tiles)
        for name in ("symbols", "lines", "ranges", "origins"):
            put_table(getattr(root, name), getattr(debug, name))

    return tables_message(encode(schema("debug").Debug, fill), _WHAT)


def read_debug(content: Content) -> Debug:
    """The tables in a blob. Raises `PackageError`."""
    faults = FaultList()
    message = tables_message(content, _WHAT)
    with decoding(schema("debug").Debug, message, _WHAT, faults) as root:
        debug = Debug(
            strings=root.texts("strings", MAX_STRINGS),
            tiles=root.table(CodeOfTiles),
            symbols=root.table(Symbols, "symbols"),
            lines=root.table(Lines, "lines"),
            ranges=root.table(Ranges, "ranges"),
            origins=root.table(Origins, "origins"),
        )
    _raise(faults or check_debug(debug))
    return debug


def check_debug(debug: Debug) -> FaultList:
    """What is wrong with the tables."""
    faults = FaultList()
    check_strings(faults, "strings", debug.strings)
    check_ordered(faults, "tiles", debug.tiles, "tile", is_strict=True)
    for name in ("symbols", "lines"):
        check_ordered(faults, name, getattr(debug, name), "code", "address")
    check_ordered(faults, "ranges", debug.ranges, "text", "address")
    strings, origins = len(debug.strings), len(debug.origins)
    for name, column_name, is_optional in _NAMES:
        check_references(faults, name, getattr(debug, name), column_name, strings, is_optional)
    check_references(faults, "ranges", debug.ranges, "origin", origins)
    return faults


def _raise(faults: FaultList) -> None:
    if faults:
        raise PackageError(f"{_WHAT} cannot be used", faults.faults)
