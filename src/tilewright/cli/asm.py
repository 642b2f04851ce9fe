"""`tilewright asm FILE -o OBJECT`: assembly to a Colossus object."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from tilewright.elf.assembler import assemble_file
from tilewright.elf.popc import compile_with_popc
from tilewright.elf.writer import write_object
from tilewright.errors import TilewrightError
from tilewright.files import write_atomically
from tilewright.isa import Mode

_COMPILED = (".cpp", ".cc", ".cxx")
"""C++, which only the vendor's compiler turns into objects."""


def asm(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Assembly; .S is preprocessed, .s is not. C++ needs popc."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The object to write; FILE's name in .o if left out."),
    ] = None,
    include: Annotated[
        list[Path] | None, typer.Option("-I", metavar="DIR", help="A folder for #include.")
    ] = None,
    define: Annotated[
        list[str] | None,
        typer.Option("-D", metavar="NAME[=VALUE]", help="Define a preprocessor macro (1)."),
    ] = None,
    supervisor: Annotated[
        bool, typer.Option("--supervisor", help="Start in supervisor mode instead of worker mode.")
    ] = False,
    word_targets: Annotated[
        bool,
        typer.Option(
            "--word-targets",
            help="Numbers as branch targets count words, as in the vendor's assembler, not bytes.",
        ),
    ] = False,
) -> None:
    """Assemble a file into a Colossus object. With an error, nothing is written."""
    target = output or Path(source.stem + ".o")
    defines = dict(_parse_defines(define or ()))
    if source.suffix in _COMPILED:
        if supervisor or word_targets:
            raise TilewrightError(f"{source}: --supervisor and --word-targets are for assembly")
        compiled = compile_with_popc(source, defines=defines, include_dirs=include or ())
        write_atomically(target, write_object(compiled))
        return
    assembled = assemble_file(
        source,
        include_folders=include or (),
        defines=defines,
        mode=Mode.SUPERVISOR if supervisor else Mode.WORKER,
        word_targets=word_targets,
    )
    for warning in assembled.warnings:
        print(warning, file=sys.stderr)
    write_atomically(target, write_object(assembled.object))


def _parse_defines(texts: Iterable[str]) -> Iterable[tuple[str, str]]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise TilewrightError(f"-D {text}: expected NAME or NAME=VALUE")
        yield name, value if equals else "1"
