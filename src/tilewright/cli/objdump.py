"""`tilewright objdump FILE [--json]`: what an object, executable or archive holds."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.elf.archive import is_archive, read_members
from tilewright.elf.headers import read_headers
from tilewright.elf.listing import object_as_json, object_lines, printable
from tilewright.elf.object import ObjectFile, Section
from tilewright.elf.reader import read_object
from tilewright.files import read_bytes

_WORD = 4


def objdump(
    file: Annotated[Path, typer.Argument(help="An object, an executable or an archive.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print headers and tables as JSON, without code.")
    ] = False,
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
    return object_as_json(read_headers(data, name), read_object(data, name))


def _text(name: str, data: bytes) -> str:
    obj = read_object(data, name)
    lines = object_lines(read_headers(data, name), obj)
    code = _code_lines(obj)
    return "\n".join([*lines, "", *code] if code else lines)


def _code_lines(obj: ObjectFile) -> list[str]:
    """The code of each executable section under headings, with addresses."""
    lines: list[str] = []
    for section in obj.sections:
        if section.is_executable and section.data:
            lines += [""] * bool(lines)
            lines += [f"Code of {printable(section.name)}:", *_words(section)]
    return lines


def _words(section: Section) -> list[str]:
    words = [section.data[start : start + _WORD] for start in range(0, section.size, _WORD)]
    return [
        f"  {section.address + index * _WORD:08x}  {_directive(word)}"
        for index, word in enumerate(words)
    ]


def _directive(word: bytes) -> str:
    if len(word) == _WORD:
        return f".long {int.from_bytes(word, 'little'):#010x}"
    return ".byte " + ", ".join(f"{byte:#04x}" for byte in word)
