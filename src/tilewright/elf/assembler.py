"""The assembler: IPU21 assembly in, Colossus object out.

`.S` files go through the C preprocessor, `.s` files and text do not. The source language is
described in docs/assembly.md; its parts live in `tilewright.elf.asm`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.elf.asm.diagnostics import (
    AssemblyError,
    Diagnostic,
    Diagnostics,
    Place,
    TooManyErrors,
    in_order_of_text,
)
from tilewright.elf.asm.instructions import Switches
from tilewright.elf.asm.preprocess import preprocess
from tilewright.elf.asm.source import Line, UnterminatedComment, blank_comments
from tilewright.elf.asm.statements import StatementReader
from tilewright.elf.object import ObjectFile
from tilewright.files import read_bytes
from tilewright.isa import Mode

__all__ = ["Assembled", "AssemblyError", "assemble", "assemble_file"]


@dataclass(frozen=True, slots=True)
class Assembled:
    """An object, and the warnings that came up on the way."""

    object: ObjectFile
    warnings: tuple[Diagnostic, ...]


def assemble_file(
    path: Path,
    *,
    include_folders: Sequence[Path] = (),
    defines: Mapping[str, str] | None = None,
    mode: Mode = Mode.WORKER,
    word_targets: bool = False,
) -> Assembled:
    """Assemble a file; `.S` is preprocessed with `include_folders` and `defines` (name → value).

    `mode` is what the file starts in. With `word_targets` a plain number as branch target counts
    words, as in the vendor's assembler, instead of bytes. Raises `AssemblyError` and `FileError`.
    """
    text = read_bytes(path).decode("utf-8", "surrogateescape")
    name = str(path)
    diagnostics = Diagnostics()
    switches = Switches(mode=mode, word_targets=word_targets)
    if path.suffix != ".S":
        return _assemble(text, name, switches, diagnostics)
    try:
        lines = preprocess(text, name, include_folders, defines or {}, diagnostics)
    except TooManyErrors:
        lines = []
    return _assemble_lines(lines, name, switches, diagnostics)


def assemble(text: str, name: str = "<input>", *, mode: Mode = Mode.WORKER) -> ObjectFile:
    """Assemble text, without a preprocessor. Raises `AssemblyError`."""
    return _assemble(text, name, Switches(mode=mode), Diagnostics()).object


def _assemble(text: str, name: str, switches: Switches, diagnostics: Diagnostics) -> Assembled:
    try:
        blanked = blank_comments(text, hash_starts_comment=True)
    except UnterminatedComment as error:
        line = Line(text.split("\n")[error.number - 1], name, error.number)
        diagnostics.error("this comment has no end (*/)", Place(line, 0, len(line.text)))
        blanked = ""
    lines = [
        Line(line, name, number)
        for number, line in enumerate(blanked.split("\n"), start=1)
        if line and not line.isspace()
    ]
    return _assemble_lines(lines, name, switches, diagnostics)


def _assemble_lines(
    lines: Sequence[Line], name: str, switches: Switches, diagnostics: Diagnostics
) -> Assembled:
    """Assemble lines, unless reading them has failed already."""
    obj = ObjectFile(name)
    if not diagnostics.errors:
        try:
            reader = StatementReader(switches, diagnostics)
            reader.read(lines)
            obj = reader.finish(name)
        except TooManyErrors:
            pass
    if diagnostics.errors:
        raise AssemblyError(in_order_of_text(diagnostics.errors))
    return Assembled(obj, tuple(in_order_of_text(diagnostics.warnings)))
