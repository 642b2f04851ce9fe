"""Sections while they grow: bytes, instructions, values that wait for the end of the file."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tilewright.elf.asm.diagnostics import Fault, Place
from tilewright.elf.asm.expressions import Node, Value
from tilewright.elf.asm.source import Line
from tilewright.elf.object import Section, SectionFlag, SectionType, Symbol, SymbolType
from tilewright.elf.relocations import RelocationType
from tilewright.isa import FORM_BY_NAME, Form, Spelling, encode

NOP = encode(FORM_BY_NAME["setzi m,x20"], (14, 0)).to_bytes(4, "little")
"""Alignment padding in code."""

_CODE = SectionFlag.ALLOC | SectionFlag.EXECINSTR
_DATA = SectionFlag.ALLOC | SectionFlag.WRITE

_CODE_ALIGNMENT = 4
_TWO_WORD_ALIGNMENT = 8


@dataclass(frozen=True, slots=True)
class OperandFixup:
    """An instruction of which some operands wait: `values` holds numbers and trees.

    The first of `spellings` that can hold the values is encoded. `subtracts`: the last value with
    the other sign.
    """

    offset: int
    spellings: tuple[Spelling, ...]
    values: tuple[int | Node, ...]
    places: tuple[Place, ...]
    coissue: bool
    allow_overlong: bool
    subtracts: bool


@dataclass(frozen=True, slots=True)
class DataFixup:
    """Bytes whose value was not known: written or relocated as `type` says."""

    offset: int
    node: Node
    place: Place
    type: RelocationType


@dataclass(frozen=True, slots=True)
class Placed:
    """An instruction word at `offset`; `form` is None where a faulty instruction stands."""

    offset: int
    form: Form | None
    coissue: bool
    line: Line


@dataclass(frozen=True, slots=True)
class Repeat:
    """An `rpt` whose body of `size` bundles minus one starts at `body`."""

    body: int
    size: Node
    is_bundled: bool
    place: Place


@dataclass(slots=True)
class SectionBuilder:
    """A section, its symbol, and what is known about its content."""

    section: Section
    symbol: Symbol
    data: bytearray = field(default_factory=bytearray)
    reserved: int = 0
    fixups: list[OperandFixup | DataFixup] = field(default_factory=list)
    instructions: list[Placed] = field(default_factory=list)
    repeats: list[Repeat] = field(default_factory=list)

    @property
    def is_code(self) -> bool:
        return self.section.is_executable

    @property
    def holds_no_bytes(self) -> bool:
        return self.section.type == SectionType.NOBITS

    @property
    def size(self) -> int:
        """Bytes so far: the location counter."""
        return self.reserved if self.holds_no_bytes else len(self.data)

    def here(self, offset: int = 0) -> Value:
        """The location counter, or `offset` bytes past it."""
        return Value(self.size + offset, self.symbol)

    def append(self, content: bytes) -> None:
        """Add bytes of data.

        Raises `Fault` if the section can hold only zeros and they are not, and if they complete an
        instruction of two words that is misaligned.
        """
        if self.instructions:
            self._check_second_word()
        if self.holds_no_bytes:
            if any(content):
                raise Fault(f"section {self.section.name} holds no bytes, only zeroed space")
            self.reserved += len(content)
        else:
            self.data += content

    def _check_second_word(self) -> None:
        last = self.instructions[-1]
        if last.form is None or last.form.words == 1 or self.size != last.offset + 4:
            return
        self.require_alignment(_TWO_WORD_ALIGNMENT)
        if last.offset % _TWO_WORD_ALIGNMENT:
            raise Fault(
                f"'{last.form.mnemonic}' and its data word must start at a multiple of "
                f"{_TWO_WORD_ALIGNMENT} bytes; the section is at {last.offset:#x}"
            )

    def align(self, alignment: int, fill: bytes | None = None, limit: int | None = None) -> None:
        """Pad to a multiple of `alignment` bytes, unless that takes more than `limit`.

        Code is padded with nops, after zero bytes up to a word boundary; other sections with zeros,
        or with `fill` repeated.
        """
        gap = -self.size % alignment
        if limit is not None and gap > limit:
            return
        self.require_alignment(alignment)
        if fill is not None:
            self.append((fill * gap)[:gap])
        elif self.is_code:
            self.append(bytes(gap % 4) + NOP * (gap // 4))
        else:
            self.append(bytes(gap))

    def require_alignment(self, alignment: int) -> None:
        """Make the section start at a multiple of `alignment` bytes."""
        self.section.alignment = max(self.section.alignment, alignment)


class Sections:
    """All sections of one object in order of appearance, and the current one."""

    def __init__(self) -> None:
        self._by_name: dict[str, SectionBuilder] = {}
        self._stack: list[tuple[SectionBuilder, SectionBuilder]] = []
        self.current = self.previous = self._open(".text", None, None)

    def __iter__(self) -> Iterator[SectionBuilder]:
        return iter(self._by_name.values())

    def find(self, name: str) -> SectionBuilder | None:
        """The section of that name, if there is one."""
        return self._by_name.get(name)

    def switch(self, name: str, flags: int | None = None, kind: int | None = None) -> None:
        """Make `name` current, creating it if it is new.

        Flags (`SectionFlag`) and kind (`SectionType`) default to what the name implies. Raises
        `Fault` if they contradict what the section was given before.
        """
        self.previous, self.current = self.current, self._open(name, flags, kind)

    def push(self) -> None:
        """Remember the current section."""
        self._stack.append((self.current, self.previous))

    def pop(self) -> None:
        """Go back to the section remembered last. Raises `Fault` if there is none."""
        if not self._stack:
            raise Fault("there is no .pushsection to go back to")
        self.current, self.previous = self._stack.pop()

    def back(self) -> None:
        """Go back to the section before the last switch."""
        self.current, self.previous = self.previous, self.current

    def _open(self, name: str, flags: int | None, kind: int | None) -> SectionBuilder:
        known = self._by_name.get(name)
        if known is None:
            return self._by_name.setdefault(name, _new_section(name, flags, kind))
        if flags is not None and _all_flags(name, flags) != known.section.flags:
            raise Fault(f"section {name} had other flags before")
        if kind is not None and kind != known.section.type:
            raise Fault(f"section {name} was of another type before")
        return known


def _new_section(name: str, flags: int | None, kind: int | None) -> SectionBuilder:
    section = Section(
        name,
        type=_implied_type(name) if kind is None else kind,
        flags=_implied_flags(name) if flags is None else _all_flags(name, flags),
    )
    if section.is_executable:
        section.alignment = _CODE_ALIGNMENT
    return SectionBuilder(section, Symbol("", section, type=SymbolType.SECTION))


def _all_flags(name: str, flags: int) -> int:
    """Code sections are code even where the directive does not say so."""
    return flags | (_CODE if name.startswith(".text") else 0)


def _implied_flags(name: str) -> int:
    if name.startswith(".text"):
        return _CODE
    if _has_stem(name, ".data", ".bss") or name.startswith(".interleave_"):
        return _DATA
    if _has_stem(name, ".rodata"):
        return SectionFlag.ALLOC
    return SectionFlag.NONE


def _implied_type(name: str) -> int:
    return SectionType.NOBITS if _has_stem(name, ".bss") else SectionType.PROGBITS


def _has_stem(name: str, *stems: str) -> bool:
    return any(name == stem or name.startswith(stem + ".") for stem in stems)
