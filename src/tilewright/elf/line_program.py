"""Decoding DWARF line programs, versions 2 to 5: from untrusted bytes to rows of file and line.

The whole of `.debug_line` is decoded, unit after unit. Addresses stay relative to the operand of
the `DW_LNE_set_address` that they count from, since in a relocatable object it is a relocation that
gives the operand its meaning. Time and memory are proportional to the section's size. (pyelftools
cannot be used here: a unit of a few bytes makes it build as many file entries as a number in the
unit says, and LEB128 numbers of any length make its addresses grow without bound.)
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tilewright.elf.headers import ObjectError, Source, StringTable

SET_ADDRESS_OPERAND = 4
"""Bytes of an address in DWARF for a 32-bit machine."""
PATH_ERRORS = "surrogateescape"
"""Paths need not be text; other bytes are kept as Python keeps them in file names."""

_EXTENDED_LENGTHS = 0xFFFFFFF0
"""Unit lengths from here on announce 64-bit DWARF."""
_LONGEST_LEB128 = 10
_NO_PATH_LIMIT_BELOW = 1 << 16
_PATH_SHARING = 64
"""How often the bytes of a section may be used again by paths that share a folder's name."""

_COPY, _ADVANCE_PC, _ADVANCE_LINE, _SET_FILE = 1, 2, 3, 4
_CONST_ADD_PC, _FIXED_ADVANCE_PC = 8, 9
_END_SEQUENCE, _SET_ADDRESS, _DEFINE_FILE = 1, 2, 3

_CONTENT_PATH, _CONTENT_DIRECTORY = 1, 2
_FORM_STRING, _FORM_LINE_STRP, _FORM_STRP, _FORM_UDATA = 0x08, 0x1F, 0x0E, 0x0F
_FORM_BLOCK = 0x09
_FIXED_FORMS = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16}
"""DW_FORM_data1, 2, 4, 8 and 16, and their sizes in bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Anchor:
    """What addresses count from: the operand `value` at `position` in `.debug_line`.

    `position` is None at the start of a sequence, before any `DW_LNE_set_address`.
    """

    position: int | None
    value: int


@dataclass(frozen=True, slots=True)
class ProgramRow:
    """The code from `anchor` + `advance` bytes on comes from `line` of `file`."""

    anchor: Anchor
    advance: int
    file: str
    line: int


@dataclass(frozen=True, slots=True)
class ProgramSequence:
    """Rows of ascending addresses in one piece of code, and where it ends."""

    rows: list[ProgramRow]
    end_anchor: Anchor
    end_advance: int


@dataclass(frozen=True, slots=True)
class LineStrings:
    """The sections `.debug_line_str` and `.debug_str`, where version 5 may put its strings."""

    line_strings: StringTable
    strings: StringTable


def decode_line_programs(source: Source, strings: LineStrings) -> Iterator[ProgramSequence]:
    """The sequences of all units in `source`, a `.debug_line` section. Raises `ObjectError`."""
    cursor = _Cursor(source, 0, len(source.data))
    paths = _PathAllowance(source)
    while not cursor.is_at_end:
        start = cursor.position
        length = cursor.unsigned(4)
        if length >= _EXTENDED_LENGTHS:
            raise source.fault(start, "64-bit DWARF is not supported")
        unit = cursor.part(length)
        yield from _Machine(_read_header(unit, strings), unit, paths).sequences()


class _Cursor:
    """A place in a part of the source; reading past the part's end is a fault."""

    __slots__ = ("end", "position", "source")

    def __init__(self, source: Source, position: int, end: int) -> None:
        self.source = source
        self.position = position
        self.end = end

    @property
    def is_at_end(self) -> bool:
        return self.position >= self.end

    def fault(self, reason: str) -> ObjectError:
        return self.source.fault(self.position, reason)

    def skip(self, size: int) -> int:
        """Move on by `size` bytes; returns the position before."""
        start = self.position
        if size > self.end - start:
            raise self.fault(f"{size} bytes expected, but the part ends after {self.end - start}")
        self.position = start + size
        return start

    def part(self, size: int) -> "_Cursor":
        """A cursor over the next `size` bytes, which this one leaves behind."""
        start = self.skip(size)
        return _Cursor(self.source, start, self.position)

    def unsigned(self, size: int) -> int:
        start = self.skip(size)
        return int.from_bytes(self.source.data[start : self.position], "little")

    def signed(self, size: int) -> int:
        start = self.skip(size)
        return int.from_bytes(self.source.data[start : self.position], "little", signed=True)

    def uleb(self) -> int:
        return self._leb()[0]

    def sleb(self) -> int:
        value, bits = self._leb()
        return value - (1 << bits) if value >> (bits - 1) else value

    def _leb(self) -> tuple[int, int]:
        """An LEB128 number, unsigned, and how many bits it was written with."""
        value = 0
        for index in range(_LONGEST_LEB128):
            byte = self.unsigned(1)
            value |= (byte & 0x7F) << 7 * index
            if byte < 0x80:
                return value, 7 * (index + 1)
        raise self.fault(f"LEB128 number of more than {_LONGEST_LEB128} bytes")

    def string(self) -> str:
        end = self.source.data.find(b"\0", self.position, self.end)
        if end < 0:
            raise self.fault("string without a closing zero byte")
        start, self.position = self.position, end + 1
        return self.source.data[start:end].decode("utf-8", PATH_ERRORS)


class _PathAllowance:
    """Bounds the memory of paths, which may repeat a long folder name for each file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._left = _NO_PATH_LIMIT_BELOW + _PATH_SHARING * len(source.data)

    def join(self, directory: str, name: str, position: int) -> str:
        path = f"{directory}/{name}"
        self._left -= len(path)
        if self._left < 0:
            raise self._source.fault(position, "paths of files are too long for their number")
        return path


@dataclass(slots=True)
class _Header:
    """The header of one unit. Files and folders are numbered from `first_index`."""

    minimum_length: int
    line_base: int
    line_range: int
    operand_counts: list[int]
    first_index: int
    directories: list[str] = field(default_factory=list)
    files: list[tuple[str, int]] = field(default_factory=list)

    @property
    def opcode_base(self) -> int:
        return len(self.operand_counts) + 1


def _read_header(unit: _Cursor, strings: LineStrings) -> _Header:
    """The header of a unit; moves `unit` to the start of the program."""
    version = unit.unsigned(2)
    if not 2 <= version <= 5:
        raise unit.fault(f"line table version {version}, expected 2 to 5")
    if version == 5:
        if (size := unit.unsigned(1)) != SET_ADDRESS_OPERAND:
            raise unit.fault(f"addresses of {size} bytes, expected {SET_ADDRESS_OPERAND}")
        if unit.unsigned(1):
            raise unit.fault("segment selectors are not supported")
    part = unit.part(unit.unsigned(4))
    minimum_length = part.unsigned(1)
    if version >= 4 and (operations := part.unsigned(1)) != 1:
        raise part.fault(f"{operations} operations per instruction, expected 1")
    part.skip(1)  # default_is_stmt: every row counts here, statement or not
    line_base, line_range, opcode_base = part.signed(1), part.unsigned(1), part.unsigned(1)
    if line_range == 0:
        raise part.fault("line_range is 0")
    if opcode_base == 0:
        raise part.fault("opcode_base is 0")
    counts = [part.unsigned(1) for _ in range(1, opcode_base)]
    header = _Header(minimum_length, line_base, line_range, counts, int(version < 5))
    if version == 5:
        header.directories = [path for path, _ in _read_entries(part, strings)]
        header.files = _read_entries(part, strings)
    else:
        while directory := part.string():
            header.directories.append(directory)
        while name := part.string():
            header.files.append(_read_file(part, name))
    return header


def _read_file(cursor: _Cursor, name: str) -> tuple[str, int]:
    """What follows the name of a file up to version 4: folder, time and size."""
    directory = cursor.uleb()
    cursor.uleb()
    cursor.uleb()
    return name, directory


def _read_entries(cursor: _Cursor, strings: LineStrings) -> list[tuple[str, int]]:
    """A list of folders or files of version 5, which starts with its own format."""
    formats = [(cursor.uleb(), cursor.uleb()) for _ in range(cursor.unsigned(1))]
    count = cursor.uleb()
    if count and not formats:
        raise cursor.fault(f"{count} file entries without content")
    entries = []
    for _ in range(count):  # each takes a byte at least, so the unit's end bounds their number
        path, directory = "", 0
        for content, form in formats:
            value = _read_form(cursor, form, strings)
            if content == _CONTENT_PATH and isinstance(value, str):
                path = value
            elif content == _CONTENT_DIRECTORY and isinstance(value, int):
                directory = value
        entries.append((path, directory))
    return entries


def _read_form(cursor: _Cursor, form: int, strings: LineStrings) -> str | int:
    start = cursor.position
    if form in _FIXED_FORMS:
        return cursor.unsigned(_FIXED_FORMS[form])
    if form == _FORM_UDATA:
        return cursor.uleb()
    if form == _FORM_STRING:
        return cursor.string()
    if form == _FORM_LINE_STRP:
        return strings.line_strings.get(cursor.unsigned(4), start)
    if form == _FORM_STRP:
        return strings.strings.get(cursor.unsigned(4), start)
    if form == _FORM_BLOCK:
        return cursor.skip(cursor.uleb())
    raise cursor.fault(f"form {form:#x} is not one for line tables")


class _Machine:
    """Runs the program of one unit."""

    def __init__(self, header: _Header, program: _Cursor, paths: _PathAllowance) -> None:
        self._header = header
        self._program = program
        self._paths = paths
        self._known_paths: dict[int, str] = {}
        self._standard: dict[int, Callable[[], None]] = {
            _COPY: self._add_row,
            _ADVANCE_PC: self._advance_address,
            _ADVANCE_LINE: self._advance_line,
            _SET_FILE: self._set_file,
            _CONST_ADD_PC: self._add_constant,
            _FIXED_ADVANCE_PC: self._add_fixed,
        }
        self._start_sequence()

    def sequences(self) -> Iterator[ProgramSequence]:
        program = self._program
        opcode_base = self._header.opcode_base
        while not program.is_at_end:
            opcode = program.unsigned(1)
            if opcode >= opcode_base:
                self._special(opcode)
            elif opcode:
                self._run_standard(opcode)
            elif self._run_extended():
                if self._rows:
                    yield ProgramSequence(self._rows, self._anchor, self._advance)
                self._start_sequence()
        if self._rows:
            raise program.fault("line program ends inside a sequence")

    def _start_sequence(self) -> None:
        self._rows: list[ProgramRow] = []
        self._anchor = Anchor(None, 0)
        self._advance = 0
        self._file = 1
        self._line = 1

    def _special(self, opcode: int) -> None:
        header = self._header
        steps, line_step = divmod(opcode - header.opcode_base, header.line_range)
        self._advance += steps * header.minimum_length
        self._line += header.line_base + line_step
        self._add_row()

    def _run_standard(self, opcode: int) -> None:
        action = self._standard.get(opcode)
        if action is not None:
            action()
            return
        for _ in range(self._header.operand_counts[opcode - 1]):
            self._program.uleb()

    def _run_extended(self) -> bool:
        """Run an opcode with a stated length; True if it ends the sequence."""
        length = self._program.uleb()
        body = self._program.part(length)
        opcode = body.unsigned(1)
        if opcode == _SET_ADDRESS:
            if length != 1 + SET_ADDRESS_OPERAND:
                raise body.fault(f"address of {length - 1} bytes, expected {SET_ADDRESS_OPERAND}")
            self._anchor = Anchor(body.position, body.unsigned(SET_ADDRESS_OPERAND))
            self._advance = 0
        elif opcode == _DEFINE_FILE:
            self._header.files.append(_read_file(body, body.string()))
        return opcode == _END_SEQUENCE

    def _add_row(self) -> None:
        if not 0 <= self._line < 1 << 32:
            raise self._program.fault(f"line number {self._line}, expected 32 bits")
        path = self._known_paths.get(self._file)
        if path is None:
            path = self._known_paths[self._file] = self._path(self._file)
        self._rows.append(ProgramRow(self._anchor, self._advance, path, self._line))

    def _advance_address(self) -> None:
        self._advance += self._program.uleb() * self._header.minimum_length

    def _advance_line(self) -> None:
        self._line += self._program.sleb()

    def _set_file(self) -> None:
        self._file = self._program.uleb()

    def _add_constant(self) -> None:
        header = self._header
        steps = (255 - header.opcode_base) // header.line_range
        self._advance += steps * header.minimum_length

    def _add_fixed(self) -> None:
        self._advance += self._program.unsigned(2)

    def _path(self, number: int) -> str:
        """The path of a file, relative to the folder of the compilation unless it is absolute."""
        header = self._header
        index = number - header.first_index
        if not 0 <= index < len(header.files):
            raise self._program.fault(
                f"file number {number}, but the unit has {len(header.files)} files"
            )
        name, directory = header.files[index]
        if directory == 0 or name.startswith("/"):  # 0 is the folder of the compilation
            return name
        directory -= header.first_index
        if directory >= len(header.directories):
            raise self._program.fault(
                f"folder number {directory + header.first_index} of file number {number}, "
                f"but the unit has {len(header.directories)} folders"
            )
        return self._paths.join(header.directories[directory], name, self._program.position)
