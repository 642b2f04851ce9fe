"""`tilewright inspect FILE [--tiles|--bindings|--memory TILE|--symbols] [--json]`: a package."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.cli.terminal import print_lines, printable
from tilewright.errors import TilewrightError

_Rows = list[dict[str, Any]]


def inspect(
    file: Annotated[Path, typer.Argument(help="A package (.ipuexe).")],
    tiles: Annotated[bool, typer.Option("--tiles", help="What each tile holds.")] = False,
    bindings: Annotated[bool, typer.Option("--bindings", help="The tensors.")] = False,
    memory: Annotated[
        int | None, typer.Option("--memory", help="The memory of a tile, by its physical id.")
    ] = None,
    symbols: Annotated[bool, typer.Option("--symbols", help="The symbols of the code.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare all contents with their hashes first.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the same as JSON.")] = False,
) -> None:
    """Print what a package holds."""
    from tilewright.package import PackageError, open_package, summary, validate
    from tilewright.package.summary import (
        bindings_data,
        memory_data,
        package_data,
        symbols_data,
        tiles_data,
    )

    if tiles + bindings + (memory is not None) + symbols > 1:
        raise TilewrightError("give one of --tiles, --bindings, --memory and --symbols at a time")
    with open_package(file) as application:
        if verify:
            faults = validate(application, hashes=True)
            if faults:
                raise PackageError(f"{file} is damaged", faults)
        if memory is not None and not 0 <= memory < application.tiles:
            raise TilewrightError(
                f"{file} has no tile {memory}; physical ids are 0 to {application.tiles - 1}"
            )
        if tiles:
            _print(tiles_data(application), _tile_line, as_json)
        elif bindings:
            _print(bindings_data(application), _binding_line, as_json)
        elif memory is not None:
            _print(memory_data(application, memory), _memory_line, as_json)
        elif symbols:
            _print(symbols_data(application), _symbol_line, as_json)
        elif as_json:
            print(json.dumps(package_data(application), indent=2))
        else:
            print(printable(summary(application)))


def _print(rows: _Rows, line: Callable[[dict[str, Any]], str], as_json: bool) -> None:
    if as_json:
        print(json.dumps(rows, indent=2))
    elif rows:
        print_lines([line(row) for row in rows])
    else:
        print("nothing")


def _tile_line(row: dict[str, Any]) -> str:
    return (
        f"tile {row['tile']:4} (logical {row['logical']:4})  entry {row['entry']:#x}  "
        f"{row['segments']:4} segments  {row['bytes']:7,} bytes, up to {row['end']:#x}"
    )


def _binding_line(row: dict[str, Any]) -> str:
    shape = " × ".join(map(str, row["shape"])) or "scalar"
    source = f"  from {row['source']}" if row["source"] else ""
    return (
        f"{row['role']:9}  {row['name']}: {row['element']} {shape}  {row['bytes']:,} bytes in "
        f"{row['shards']:,} shards on {row['tiles']:,} tiles{source}"
    )


def _memory_line(row: dict[str, Any]) -> str:
    end = row["address"] + row["size"]
    if "offset" in row:
        what = f"  '{row['what']}' from byte {row['offset']:,} on"
    else:
        empty = "" if row["data"] == row["size"] else f" ({row['data']:,} bytes of data)"
        what = f"{row['what']}{empty}"
    return f"{row['address']:#x}–{end:#x}  {row['size']:7,}  {what}"


def _symbol_line(row: dict[str, Any]) -> str:
    return (
        f"{row['address']:#x}  {row['size']:6,}  {row['name']}  "
        f"(code {row['code']}, {row['tiles']:,} tiles)"
    )
