"""`tilewright disasm FILE [--base ADDR] [--json]`: machine code as assembly text."""

import json
from pathlib import Path
from typing import Annotated

import typer

from tilewright.elf.code_lines import WORD_SIZE
from tilewright.elf.disassembler import code_entries, disassemble_object
from tilewright.elf.object import FileType, ObjectFile, Section, SectionFlag
from tilewright.elf.reader import read_object
from tilewright.errors import TilewrightError
from tilewright.files import read_bytes
from tilewright.target.geometry import MEMORY_BASE

_ELF_MAGIC = b"\x7fELF"
_ADDRESS_SPACE = 1 << 32
_BUNDLE_SIZE = 8


def disasm(
    file: Annotated[Path, typer.Argument(help="An object, an executable, or raw machine code.")],
    base: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help=f"Where raw code starts, decimal or 0x…; {MEMORY_BASE:#x} if left out.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a list with one entry per word of code.")
    ] = False,
) -> None:
    """Print machine code as text that assembles back to the same bytes."""
    data = read_bytes(file)
    obj = _object(data, str(file), base)
    if as_json:
        print(json.dumps([entry.as_json() for entry in code_entries(obj)], indent=2))
    else:
        print("\n".join(disassemble_object(obj)))


def _object(data: bytes, name: str, base: str | None) -> ObjectFile:
    if not data.startswith(_ELF_MAGIC):
        return _raw_code(data, name, MEMORY_BASE if base is None else _address(base))
    if base is not None:
        raise TilewrightError(f"--base is for raw code, but {name} is an ELF file with addresses")
    return read_object(data, name)


def _address(text: str) -> int:
    try:
        address = int(text, 16 if text.lower().startswith("0x") else 10)
    except ValueError:
        raise TilewrightError(
            f"--base: '{text}' is no address; write it in decimal or as 0x…"
        ) from None
    if address % WORD_SIZE or not 0 <= address < _ADDRESS_SPACE:
        raise TilewrightError(
            f"--base: {text} is no place for an instruction; expected a multiple of {WORD_SIZE} "
            f"from 0 to {_ADDRESS_SPACE - WORD_SIZE:#x}"
        )
    return address


def _raw_code(data: bytes, name: str, base: int) -> ObjectFile:
    """Raw code as an executable of a single section."""
    if base + len(data) > _ADDRESS_SPACE:
        raise TilewrightError(f"{name}: {len(data)} bytes from {base:#x} on pass the address space")
    section = Section(
        ".text",
        flags=SectionFlag.ALLOC | SectionFlag.EXECINSTR,
        alignment=WORD_SIZE if base % _BUNDLE_SIZE else _BUNDLE_SIZE,
        data=data,
        size=len(data),
        address=base,
    )
    return ObjectFile(name, FileType.EXECUTABLE, sections=[section])
