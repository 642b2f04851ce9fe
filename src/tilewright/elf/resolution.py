"""Which definition each name takes, and which library sections a section leads to.

A *library* is the part that many links share: objects that always take part and archive members
that take part when one of their names is needed. The objects of one link are its *own* objects.
What a library name means depends on the own objects only through the names that both mention, so
a `Resolution` is keyed by those and by the archive members taken, and is shared between links.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tilewright.elf.faults import LinkError
from tilewright.elf.inputs import Definition, InputFile, InputSection
from tilewright.elf.object import Binding, ObjectFile, Symbol

CALLER = "the caller of the linker"

SharedNames = tuple[tuple[str, bool], ...]
"""Names that own objects define and the library mentions, sorted, with whether weakly."""

_KEPT_RESOLUTIONS = 64


class Library:
    """The shared objects of many links, with their sections numbered in order of placement."""

    def __init__(
        self,
        objects: Sequence[ObjectFile],
        members: Sequence[ObjectFile],
        absolutes: Mapping[str, int],
    ) -> None:
        """Prepare `objects`, then archive `members`. `absolutes` override every definition."""
        self.files: list[InputFile] = []
        self.sections: list[InputSection] = []
        for file in (*objects, *members):
            prepared = InputFile(file, first_number=len(self.sections))
            self.files.append(prepared)
            self.sections += prepared.sections
        self.absolutes = {name: _absolute(name, value) for name, value in absolutes.items()}
        self.objects_mask = (1 << len(objects)) - 1
        self.definitions: dict[str, list[tuple[int, Definition]]] = {}
        for number, prepared in enumerate(self.files):
            for definition in prepared.definitions:
                places = self.definitions.setdefault(definition.symbol.name, [])
                places.append((number, definition))
        self.repeated = [name for name, places in self.definitions.items() if len(places) > 1]
        self._mentioned = self.definitions.keys() | {
            reference.name for section in self.sections for reference in section.references
        }
        self.resolution = lru_cache(_KEPT_RESOLUTIONS)(self._resolution)

    def shared_names(self, own: Mapping[str, Definition]) -> SharedNames:
        """The key part of a resolution that own definitions make."""
        shared = [(name, own[name].is_weak) for name in own if name in self._mentioned]
        return tuple(sorted(shared))

    def members_taken(self, own: Mapping[str, Definition], needs: Iterable[str]) -> int:
        """A bit for each file that takes part: all objects, and the members that `needs` lead to.

        A member is taken when it is the first to define a needed name that nothing else that
        takes part defines. What it needs itself counts from then on.
        """
        taken = self.objects_mask
        if len(self.files) == taken.bit_length():
            return taken
        pending = list(needs)
        for number in bits(taken):
            pending += self.files[number].needs
        for name in pending:  # grows while members are taken
            places = self.definitions.get(name)
            if places is None or name in own or name in self.absolutes:
                continue
            if any(taken >> number & 1 for number, _ in places):
                continue
            first = places[0][0]
            taken |= 1 << first
            pending += self.files[first].needs
        return taken

    def taken_files(self, taken: int) -> Iterator[InputFile]:
        return (self.files[number] for number in bits(taken))

    def kept_sections(self, mask: int) -> list[InputSection]:
        """The sections whose bits are set, in order of placement."""
        return [self.sections[number] for number in bits(mask)]

    def _resolution(self, shared: SharedNames, taken: int) -> "Resolution":
        return Resolution(self, shared, taken)


@dataclass(frozen=True, slots=True)
class Reached:
    """Library sections, as a bit mask, and names in them that the library leaves open.

    A name comes with whether it must be defined (a weak reference need not be).
    """

    mask: int
    names: tuple[tuple[str, bool], ...]


class Resolution:
    """The meaning of the library's names for links with the same shared names and members."""

    def __init__(self, library: Library, shared: SharedNames, taken: int) -> None:
        self._library = library
        self._shared = dict(shared)
        self._taken = taken
        self._bound: dict[str, Definition | None] = {}
        self._reached: dict[InputSection, Reached] = {}
        self.may_have_duplicates = any(
            self._strong_definitions(name) > 1 for name in (*library.repeated, *self._shared)
        )

    def definition(self, name: str) -> Definition | None:
        """The library's definition that `name` takes, `None` if it is left to own objects."""
        if name not in self._bound:
            self._bound[name] = self._bind(name)
        return self._bound[name]

    def reached(self, section: InputSection) -> Reached:
        """What is kept when the library's `section` is."""
        found = self._reached.get(section)
        if found is None:
            found = self._reached[section] = self._follow(section)
        return found

    def _bind(self, name: str) -> Definition | None:
        """Strong before weak; among equals, library objects, own objects, archive members."""
        absolute = self._library.absolutes.get(name)
        if absolute is not None:
            return absolute
        candidates: list[Definition | None] = []
        objects, members = self._places(name)
        candidates += objects
        if name in self._shared:
            candidates.append(None)
        candidates += members
        for candidate in candidates:
            is_weak = self._shared[name] if candidate is None else candidate.is_weak
            if not is_weak:
                return candidate
        return candidates[0] if candidates else None

    def _places(self, name: str) -> tuple[list[Definition], list[Definition]]:
        """The definitions of a name in library objects and in archive members taken."""
        objects_count = self._library.objects_mask.bit_length()
        objects, members = [], []
        for number, definition in self._library.definitions.get(name, ()):
            if number < objects_count:
                objects.append(definition)
            elif self._taken >> number & 1:
                members.append(definition)
        return objects, members

    def _strong_definitions(self, name: str) -> int:
        objects, members = self._places(name)
        own = name in self._shared and not self._shared[name]
        return own + sum(not definition.is_weak for definition in (*objects, *members))

    def _follow(self, start: InputSection) -> Reached:
        mask = 0
        names: dict[str, bool] = {}
        pending = [start]
        while pending:
            section = pending.pop()
            if mask >> section.number & 1 or not section.section.is_allocated:
                continue
            mask |= 1 << section.number
            for reference in section.references:
                if not reference.name:
                    target = reference.section
                else:
                    definition = self.definition(reference.name)
                    if definition is None:
                        needed = names.get(reference.name, False) or reference.is_needed
                        names[reference.name] = needed
                        continue
                    target = definition.section
                if target is not None:
                    pending.append(target)
        return Reached(mask, tuple(names.items()))


def bits(mask: int) -> Iterator[int]:
    """The numbers of the bits set in `mask`, ascending."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _absolute(name: str, value: int) -> Definition:
    if value < 0:
        raise LinkError(f"the value given for {name} is negative: {value}")
    symbol = Symbol(name, value=value, binding=Binding.GLOBAL, is_absolute=True)
    return Definition(CALLER, symbol, None)
