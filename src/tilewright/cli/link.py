"""`tilewright link FILE… -o IMAGE`: objects and archives to an executable for one tile."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tilewright.elf.archive import is_archive, read_archive
from tilewright.elf.arenas import DEFAULT_ARENAS, Arena
from tilewright.elf.image import Image
from tilewright.elf.linker import Linker
from tilewright.elf.linkmap import map_text
from tilewright.elf.object import ObjectFile
from tilewright.elf.reader import read_object
from tilewright.elf.writer import write_object
from tilewright.errors import TilewrightError
from tilewright.files import read_bytes, write_atomically
from tilewright.target.geometry import REGION1_BASE

_ARENA_FORM = "NAME=START:END[:x][:i1|:i2]"


def link(
    inputs: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Objects and archives of objects.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The executable to write.")],
    map_file: Annotated[
        Path | None, typer.Option("--map", help="Also write what lies where, as text.")
    ] = None,
    entry: Annotated[
        list[str] | None,
        typer.Option(help="Entry symbol; _start if none is given. Execution starts at the first."),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="Symbol to keep, although nothing refers to it.")
    ] = None,
    define: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Give a symbol a value, whoever defines it."),
    ] = None,
    arena: Annotated[
        list[str] | None,
        typer.Option(
            metavar=_ARENA_FORM,
            help="Memory to place sections in, instead of the usual; x: executable, "
            "i1 or i2: interleave factor (as that of START if left out).",
        ),
    ] = None,
) -> None:
    """Link objects into an executable for one tile, keeping only what the entries lead to.

    Archive members take part when a name that they define is needed. When there is an error,
    nothing is written.
    """
    if map_file is not None and map_file.resolve() == output.resolve():
        raise TilewrightError(f"{output} cannot be both executable and map")
    objects, members = _read(inputs)
    linker = Linker(
        archives=members,
        arenas=[_parse_arena(text) for text in arena] if arena else DEFAULT_ARENAS,
        absolutes=dict(_parse_define(text) for text in define or ()),
    )
    image = linker.link(objects, entries=entry or ["_start"], keep=keep or ())
    content = write_object(image.to_object(output.name))
    text = map_text(image)
    if map_file is not None:
        write_atomically(map_file, text)
    write_atomically(output, content)
    print(_summary(output, image))


def _read(paths: Sequence[Path]) -> tuple[list[ObjectFile], list[ObjectFile]]:
    """The objects, and the members of the archives."""
    objects: list[ObjectFile] = []
    members: list[ObjectFile] = []
    for path in paths:
        data = read_bytes(path)
        if is_archive(data):
            members += read_archive(data, str(path))
        else:
            objects.append(read_object(data, str(path)))
    return objects, members


def _parse_define(text: str) -> tuple[str, int]:
    name, separator, value = text.partition("=")
    if not name or not separator:
        raise TilewrightError(f"--define {text}: expected NAME=VALUE")
    return name, _parse_number(value, f"--define {text}")


def _parse_arena(text: str) -> Arena:
    name, separator, rest = text.partition("=")
    start_text, *others = rest.split(":")
    if not name or not separator or not others:
        raise TilewrightError(f"--arena {text}: expected {_ARENA_FORM}")
    end_text, *marks = others
    unknown = [mark for mark in marks if mark not in ("x", "i1", "i2")]
    if unknown or {"i1", "i2"} <= set(marks):
        raise TilewrightError(f"--arena {text}: expected {_ARENA_FORM}")
    start = _parse_number(start_text, f"--arena {text}")
    end = _parse_number(end_text, f"--arena {text}")
    interleave = 1 if start < REGION1_BASE else 2
    if "i1" in marks or "i2" in marks:
        interleave = 1 if "i1" in marks else 2
    return Arena(name, start, end, "x" in marks, interleave)


def _parse_number(text: str, option: str) -> int:
    try:
        return int(text, 0)
    except ValueError as error:
        raise TilewrightError(f"{option}: '{text}' is not a number") from error


def _summary(output: Path, image: Image) -> str:
    size = sum(len(segment.data) for segment in image.segments)
    entries = ", ".join(f"{name} at {address:#x}" for name, address in image.entries.items())
    return f"{output}: {size} bytes in {len(image.segments)} segments; {entries}"
