"""The link map: what lies where in an image, what was left out, and the stack it takes."""

from collections.abc import Iterable, Iterator, Sequence

from tilewright.elf.image import Image
from tilewright.elf.object import SymbolType

_TYPE_NAMES: dict[int, str] = {SymbolType.OBJECT: "object", SymbolType.FUNC: "function"}


def map_text(image: Image) -> str:
    """The map as text, the same for the same image. Raises `LinkError` for bad stack records."""
    parts = [_entries(image), _arenas(image), _sections(image), _symbols(image)]
    parts += [_discarded(image), _stack(image)]
    lines = [line.rstrip() for part in parts for line in (*part, "")]
    return "\n".join(lines[:-1]) + "\n"


def _entries(image: Image) -> Iterator[str]:
    size = sum(len(segment.data) for segment in image.segments)
    yield f"image of {size} bytes in {len(image.segments)} segments"
    for name, address in image.entries.items():
        yield f"entry {name} {address:#x}"


def _arenas(image: Image) -> Iterator[str]:
    """Used bytes count gaps for alignment."""
    rows = [
        (
            arena.name,
            f"{arena.start:#x}..{arena.end:#x}",
            "code and data" if arena.is_executable else "data",
            str(arena.interleave),
            str(cursor - arena.start),
            str(arena.end - cursor),
        )
        for arena, cursor in zip(image.arenas, image.layout.cursors, strict=True)
    ]
    return _table("arenas", ("name", "range", "holds", "interleave", "used", "free"), rows)


def _sections(image: Image) -> Iterator[str]:
    rows = [
        (f"{each.address:#x}", str(each.size), each.name, each.file_name) for each in image.sections
    ]
    return _table("sections", ("address", "size", "name", "object"), rows)


def _symbols(image: Image) -> Iterator[str]:
    rows = [
        (
            f"{each.address:#x}",
            str(each.size),
            _TYPE_NAMES.get(each.type, "label"),
            each.name,
            each.file_name or "(given)",
        )
        for each in image.symbol_list
    ]
    return _table("symbols", ("address", "size", "type", "name", "object"), rows)


def _discarded(image: Image) -> Iterator[str]:
    rows = [(str(each.size), each.name, each.file_name) for each in image.discarded if each.size]
    return _table("discarded sections", ("size", "name", "object"), rows)


def _stack(image: Image) -> Iterator[str]:
    rows = [(need.entry, str(need)) for need in image.stack_needs]
    return _table("stack", ("entry", "need"), rows)


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A title and columns that are as wide as their widest cell."""
    lines = [heads, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    yield title
    for line in lines:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
