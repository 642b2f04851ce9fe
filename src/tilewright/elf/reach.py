"""Which sections a link keeps: those that the roots lead to through relocations of kept sections.

Only loaded (ALLOC) sections count: debug and stack size sections keep nothing alive.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tilewright.elf.inputs import Definition, InputFile, InputSection
from tilewright.elf.object import ObjectFile
from tilewright.elf.resolution import Library, Resolution


class OwnObjects:
    """The objects of one link, which no other shares."""

    def __init__(self, objects: Sequence[ObjectFile]) -> None:
        self.files: list[InputFile] = []
        self.definitions: dict[str, Definition] = {}
        self.may_have_duplicates = False
        first_number = 0
        for file in objects:
            prepared = InputFile(file, first_number)
            first_number += len(prepared.sections)
            self.files.append(prepared)
            for definition in prepared.definitions:
                self._add(definition)

    def needs(self) -> list[str]:
        return [name for file in self.files for name in file.needs]

    def _add(self, definition: Definition) -> None:
        """The first strong definition wins, else the first weak one."""
        name = definition.symbol.name
        first = self.definitions.setdefault(name, definition)
        if first is definition or definition.is_weak:
            return
        if first.is_weak:
            self.definitions[name] = definition
        else:
            self.may_have_duplicates = True


@dataclass(frozen=True, slots=True)
class Scope:
    """What each name means in one link."""

    library: Library
    resolution: Resolution
    own: OwnObjects
    files: tuple[InputFile, ...]
    """All objects that take part, in order of placement."""

    def definition(self, name: str) -> Definition | None:
        return self.resolution.definition(name) or self.own.definitions.get(name)


@dataclass(frozen=True, slots=True)
class Kept:
    """The sections kept, in order of placement: of the library as a bit mask, and own ones.

    `undefined` maps names without a definition to whether they need one.
    """

    library_mask: int
    own: list[InputSection]
    undefined: Mapping[str, bool]


def scope_of(library: Library, objects: Sequence[ObjectFile], roots: Iterable[str]) -> Scope:
    """The meaning of names when `objects` are linked with the library, starting at `roots`."""
    own = OwnObjects(objects)
    taken = library.members_taken(own.definitions, (*roots, *own.needs()))
    resolution = library.resolution(library.shared_names(own.definitions), taken)
    return Scope(library, resolution, own, (*library.taken_files(taken), *own.files))


def kept_sections(scope: Scope, roots: Iterable[str]) -> Kept:
    """Everything that the names `roots` lead to."""
    walk = _Walk(scope, roots)
    own = [section for file in scope.own.files for section in file.sections if section in walk.own]
    return Kept(walk.library_mask, own, walk.undefined)


class _Walk:
    """The walk from the roots; what it found is in its attributes once it is made."""

    def __init__(self, scope: Scope, roots: Iterable[str]) -> None:
        self.library_mask = 0
        self.own: dict[InputSection, None] = {}
        self.undefined: dict[str, bool] = {}
        self._scope = scope
        self._seen: set[str] = set()
        self._names = [(name, True) for name in roots]
        while self._names:
            self._visit_name(*self._names.pop())

    def _visit_name(self, name: str, is_needed: bool) -> None:
        if name in self._seen:
            return
        definition = self._scope.resolution.definition(name)
        if definition is not None:
            self._seen.add(name)
            self._visit_library(definition.section)
            return
        definition = self._scope.own.definitions.get(name)
        if definition is None:
            self.undefined[name] = self.undefined.get(name, False) or is_needed
            return
        self._seen.add(name)
        self._visit_own(definition.section)

    def _visit_library(self, section: InputSection | None) -> None:
        if section is None or self.library_mask >> section.number & 1:
            return
        reached = self._scope.resolution.reached(section)
        self.library_mask |= reached.mask
        self._names += reached.names

    def _visit_own(self, start: InputSection | None) -> None:
        pending = [start]
        while pending:
            section = pending.pop()
            if section is None or section in self.own or not section.section.is_allocated:
                continue
            self.own[section] = None
            for reference in section.references:
                if reference.name:
                    self._names.append((reference.name, reference.is_needed))
                else:
                    pending.append(reference.section)
