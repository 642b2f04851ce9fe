"""`tilewright objdump FILE [--json]`: what an object, executable or archive holds."""

import json
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.elf.archive import is_archive, read_members
from tilewright.elf.disassembler import CodeEntry, code_entries
from tilewright.elf.headers import read_headers
from tilewright.elf.listing import object_as_json, object_lines, printable
from tilewright.elf.object import ObjectFile
from tilewright.elf.reader import read_object
from tilewright.files import read_bytes


def objdump(
    file: Annotated[Path, typer.Argument(help="An object, an executable or an archive.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the same as JSON.")] = False,
) -> None:
    """Print headers, sections, symbols, relocations and code of object files."""
    data = read_bytes(file)
    name = str(file)
    if not is_archive(data):
        print(json.dumps(_as_json(name, data), indent=2) if as_json else _text(name, data))
        return
    members = read_members(data, name)
    if as_json:
        described = [_as_json(member.path, member.data) for member in members]
        print(json.dumps({"file": name, "members": described}, indent=2))
    else:
        print("\n\n".join(_text(member.path, member.data) for member in members))


def _as_json(name: str, data: bytes) -> dict[str, Any]:
    obj = read_object(data, name)
    code = [entry.as_json() for entry in code_entries(obj)]
    return {**object_as_json(read_headers(data, name), obj), "code": code}


def _text(name: str, data: bytes) -> str:
    obj = read_object(data, name)
    lines = object_lines(read_headers(data, name), obj)
    code = _code_lines(obj)
    return "\n".join([*lines, "", *code] if code else lines)


def _code_lines(obj: ObjectFile) -> list[str]:
    """The code of each executable section under headings, with address, bytes and symbol."""
    lines: list[str] = []
    for section, entries in groupby(code_entries(obj), key=lambda entry: entry.section):
        lines += [""] * bool(lines)
        lines.append(f"Code of {printable(section)}:")
        symbol = None
        for entry in entries:
            if entry.symbol is not None and entry.symbol != symbol and "+" not in entry.symbol:
                symbol = entry.symbol
                lines.append(f"{printable(symbol)}:")
            lines.append(_code_line(entry))
    return lines


def _code_line(entry: CodeEntry) -> str:
    value = f"{entry.value:0{2 * entry.size}x}"
    target = f"  <{printable(entry.target)}>" if entry.target else ""
    return f"  {entry.address:08x}  {value:<8}  {entry.text}{target}"
