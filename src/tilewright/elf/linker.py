"""The tile linker: objects in, the image of one tile's memory out.

A `Linker` prepares its library once, and keeps what links have in common: what a library symbol
leads to, and where library sections lie and how they read, given which are kept. So the images of
1,472 tiles that share kernels cost little more than their own code.

Sections are placed in order: library objects, archive members, the link's own objects, each in
the order of its section headers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from tilewright.elf.arenas import DEFAULT_ARENAS, Arena, check_arenas
from tilewright.elf.faults import LinkError
from tilewright.elf.image import Image
from tilewright.elf.inputs import InputSection, Reference
from tilewright.elf.layout import Layout, initial_cursors, place_sections
from tilewright.elf.object import ObjectFile
from tilewright.elf.reach import Kept, Scope, kept_sections, scope_of
from tilewright.elf.relocate import Values, relocate, relocation_error
from tilewright.elf.resolution import Library, Resolution
from tilewright.elf.supplied import SUPPLIED_NAMES, supplied_values
from tilewright.elf.symbol_faults import check_architectures, symbol_error

__all__ = ["LinkError", "Linker"]

_NO_ABSOLUTES: Mapping[str, int] = MappingProxyType({})
_KEPT_LIBRARY_PARTS = 128


@dataclass(frozen=True, slots=True)
class _LibraryPart:
    """The placed library sections of an image.

    `open` are the references that depend on the rest of the link; all others are applied, and
    `faults` tells what went wrong with them.
    """

    layout: Layout
    contents: dict[InputSection, bytes]
    open: list[tuple[InputSection, list[Reference]]]
    faults: list[str]


class Linker:
    """Links objects with a library that many links share."""

    def __init__(
        self,
        library: Sequence[ObjectFile] = (),
        *,
        archives: Sequence[ObjectFile] = (),
        arenas: Sequence[Arena] = DEFAULT_ARENAS,
        absolutes: Mapping[str, int] = _NO_ABSOLUTES,
    ) -> None:
        """Prepare the objects of `library`, which always take part, and the members of `archives`,
        which take part when one of their names is needed. `absolutes` gives symbols values that
        override definitions. Arenas are filled in the order given.

        Raises `LinkError` for objects that are not well formed and for unusable arenas.
        """
        check_arenas(arenas)
        self._arenas = tuple(arenas)
        self._library = Library(library, archives, absolutes)
        self._library_part = lru_cache(_KEPT_LIBRARY_PARTS)(self._place_library)

    def link(
        self,
        objects: Sequence[ObjectFile] = (),
        *,
        entries: Sequence[str] = ("_start",),
        keep: Sequence[str] = (),
    ) -> Image:
        """The image of what `entries` and `keep` lead to. Raises `LinkError`."""
        roots = (*entries, *keep)
        scope = scope_of(self._library, objects, roots)
        architecture = check_architectures(scope.files)
        kept = kept_sections(scope, roots)
        self._check_symbols(scope, kept)
        part = self._library_part(scope.resolution, kept.library_mask)
        layout = place_sections(kept.own, self._arenas, part.layout.cursors)
        layout = Layout({**part.layout.addresses, **layout.addresses}, layout.cursors)
        supplied = supplied_values(kept.undefined, layout.addresses, self._arenas)
        values = Values(layout.addresses, scope.definition, supplied)
        return Image(
            architecture=architecture,
            entries={name: _entry_address(name, values) for name in entries},
            keep=tuple(keep),
            arenas=self._arenas,
            layout=layout,
            contents=_relocated(part, kept.own, values),
            scope=scope,
            supplied=supplied,
        )

    def _check_symbols(self, scope: Scope, kept: Kept) -> None:
        undefined = sorted(
            name
            for name, is_needed in kept.undefined.items()
            if is_needed and name not in SUPPLIED_NAMES
        )
        if not (undefined or scope.own.may_have_duplicates or scope.resolution.may_have_duplicates):
            return
        sections = [*self._library.kept_sections(kept.library_mask), *kept.own]
        error = symbol_error(scope.files, sections, undefined, self._library.absolutes)
        if error is not None:
            raise error

    def _place_library(self, resolution: Resolution, mask: int) -> _LibraryPart:
        """Place library sections, and relocate them as far as the library alone allows."""
        sections = self._library.kept_sections(mask)
        layout = place_sections(sections, self._arenas, initial_cursors(self._arenas))
        values = Values(layout.addresses, resolution.definition, {})
        part = _LibraryPart(layout, {}, [], [])
        for each in sections:
            references, left = _split(each.references, resolution)
            part.contents[each] = _content(each, references, values, part.faults)
            if left:
                part.open.append((each, left))
        return part


def _split(
    references: Iterable[Reference], resolution: Resolution
) -> tuple[list[Reference], list[Reference]]:
    """Those that the library binds, and those that it leaves open."""
    bound: list[Reference] = []
    left: list[Reference] = []
    for reference in references:
        is_bound = not reference.name or resolution.definition(reference.name) is not None
        (bound if is_bound else left).append(reference)
    return bound, left


def _relocated(
    part: _LibraryPart, own: Iterable[InputSection], values: Values
) -> dict[InputSection, bytes]:
    """The final content of all kept sections. Raises `LinkError`."""
    faults = list(part.faults)
    contents = dict(part.contents)
    for each, references in part.open:
        data = bytearray(contents[each])
        faults += relocate(each, data, references, values)
        contents[each] = bytes(data)
    for each in own:
        contents[each] = _content(each, each.references, values, faults)
    if faults:
        raise relocation_error(faults)
    return contents


def _content(
    each: InputSection, references: Sequence[Reference], values: Values, faults: list[str]
) -> bytes:
    """The section's bytes with `references` applied; zeros if it has none in its object."""
    section = each.section
    if not section.data:
        return bytes(section.size)
    if not references:
        return bytes(section.data)
    data = bytearray(section.data)
    faults += relocate(each, data, references, values)
    return bytes(data)


def _entry_address(name: str, values: Values) -> int:
    address = values.of_name(name)
    if address is None:
        raise LinkError(f"entry {name} lies in a section that is not loaded")
    return address
