"""Archives of object files (`ar`): reading the System V, GNU and BSD kinds, writing the GNU kind.

An archive is a sequence of members, each a header of 60 characters and its content, padded to an
even length. Names that do not fit the header stand in a table of names (GNU) or before the content
(BSD). Symbol indices are skipped: the linker reads every member.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.elf.headers import MAGIC as ELF_MAGIC
from tilewright.elf.headers import ObjectError, Source
from tilewright.elf.object import ObjectFile
from tilewright.elf.reader import read_object
from tilewright.files import read_bytes

MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"
_HEADER = struct.Struct("16s12s6s6s8s10s2s")
_END_OF_HEADER = b"`\n"
_SIZE_FIELD = 48
_NAME_TABLE = b"//"
_BSD_LONG_NAME = b"#1/"
"""Before the length of a name that stands before the content."""
_SYMBOL_INDICES = {b"/", b"/SYM64/", b"__.SYMDEF", b"__.SYMDEF SORTED", b"__.SYMDEF_64"}
_LONGEST_SHORT_NAME = 15
_LONGEST_NAME = 1024
"""No file system has longer names; without a limit one long name could be used by all members."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive. `path` tells both, as in `lib.a(member.o)`."""

    name: str
    path: str
    data: bytes


def read_inputs(path: Path) -> list[ObjectFile]:
    """The objects in the file `path`: the members of an archive, or the one object that it is.

    Raises `ObjectError` and `FileError`.
    """
    data = read_bytes(path)
    if is_archive(data):
        return read_archive(data, str(path))
    return [read_object(data, str(path))]


def is_archive(data: bytes) -> bool:
    """Whether `data` starts as an archive does, thin ones included."""
    return data.startswith((MAGIC, THIN_MAGIC))


def read_archive(data: bytes, name: str = "<bytes>") -> list[ObjectFile]:
    """The objects in the archive `data`, in its order. Raises `ObjectError`."""
    return [read_object(member.data, member.path) for member in read_members(data, name)]


def read_members(data: bytes, name: str = "<bytes>") -> list[Member]:
    """The members of the archive `data`, which all are ELF files. Raises `ObjectError`."""
    source = Source(name, data)
    if data.startswith(THIN_MAGIC):
        raise source.fault(
            0, "thin archive: it names files instead of holding them; make it without --thin"
        )
    if not data.startswith(MAGIC):
        raise source.fault(0, "not an archive: it does not start with '!<arch>'")
    members = []
    name_table: bytes | None = None
    for entry in _entries(source):
        if entry.name == _NAME_TABLE:
            if name_table is not None:
                raise source.fault(entry.place, "second table of long names")
            name_table = entry.content
            continue
        found = _name_and_content(source, entry, name_table)
        if found is not None:
            members.append(_member(source, entry.place, *found))
    return members


@dataclass(frozen=True, slots=True)
class _Entry:
    """One member as it stands in the file; `place` is the offset of its header."""

    place: int
    name: bytes
    content: bytes


def _entries(source: Source) -> Iterator[_Entry]:
    place = len(MAGIC)
    while place < len(source.data):
        header = source.data[place : place + _HEADER.size]
        if len(header) < _HEADER.size:
            raise source.fault(place, "the file ends inside the header of a member")
        name, _, _, _, _, size_field, end = _HEADER.unpack(header)
        if end != _END_OF_HEADER:
            raise source.fault(place + _HEADER.size - 2, "header of a member without its end mark")
        size = _decimal(source, place + _SIZE_FIELD, size_field, "size of a member")
        start = place + _HEADER.size
        content = source.content(start, size, place + _SIZE_FIELD, "a member")
        yield _Entry(place, name.rstrip(b" "), content)
        place = start + size + size % 2


def _decimal(source: Source, place: int, field: bytes, what: str) -> int:
    digits = field.rstrip(b" ")
    if not digits.isdigit():
        raise source.fault(place, f"{what} is {_shown(field)}, not a decimal number")
    return int(digits)


def _shown(field: bytes) -> str:
    return repr(field.decode("latin-1"))


def _name_and_content(
    source: Source, entry: _Entry, name_table: bytes | None
) -> tuple[bytes, bytes] | None:
    """The real name of a member and its content without the name that BSD archives put there.

    None for a symbol index.
    """
    name = entry.name
    if name in _SYMBOL_INDICES:
        return None
    if name.startswith(_BSD_LONG_NAME):
        length = _decimal(
            source, entry.place + 3, name.removeprefix(_BSD_LONG_NAME), "length of a member's name"
        )
        if length > len(entry.content):
            raise source.fault(entry.place + 3, "name of a member is longer than the member")
        real_name = entry.content[:length].rstrip(b"\0")
        return None if real_name in _SYMBOL_INDICES else (real_name, entry.content[length:])
    if name.startswith(b"/"):
        return _long_name(source, entry, name_table), entry.content
    return name.removesuffix(b"/"), entry.content


def _long_name(source: Source, entry: _Entry, name_table: bytes | None) -> bytes:
    offset = _decimal(source, entry.place + 1, entry.name[1:], "offset of a member's name")
    if name_table is None:
        raise source.fault(entry.place, "long name, but no table of long names before it")
    if offset >= len(name_table):
        raise source.fault(
            entry.place + 1,
            f"name at {offset} is outside the table of long names of {len(name_table)} bytes",
        )
    end = name_table.find(b"\n", offset, offset + _LONGEST_NAME + 2)
    if end < 0:
        raise source.fault(entry.place + 1, "long name without its end, or over 1024 bytes")
    return name_table[offset:end].removesuffix(b"/")


def _member(source: Source, place: int, raw_name: bytes, content: bytes) -> Member:
    if not 0 < len(raw_name) <= _LONGEST_NAME:
        raise source.fault(
            place, f"name of a member has {len(raw_name)} bytes, expected 1 to {_LONGEST_NAME}"
        )
    try:
        name = raw_name.decode()
    except UnicodeDecodeError as error:
        raise source.fault(place, f"name {_shown(raw_name)} is not UTF-8") from error
    path = f"{source.name}({name})"
    if not content.startswith(ELF_MAGIC):
        raise ObjectError(f"{path}: not an ELF file; the linker takes archives of objects only")
    return Member(name, path, content)


def write_archive(members: Sequence[tuple[str, bytes]]) -> bytes:
    """An archive of `members`, which are names and contents; same members, same bytes.

    It has no symbol index. Raises `ObjectError` for a name that cannot be stored.
    """
    table = bytearray()
    entries = []
    for name, content in members:
        entries.append(_entry(_stored_name(name, table), content))
    start = _entry(_NAME_TABLE, bytes(table), is_table=True) if table else b""
    return b"".join([MAGIC, start, *entries])


def _stored_name(name: str, table: bytearray) -> bytes:
    """What the header holds for `name`; a long one is appended to `table`."""
    try:
        raw = name.encode()
    except UnicodeEncodeError as error:
        raise ObjectError(f"the member name {name!r} is not Unicode text") from error
    if not 0 < len(raw) <= _LONGEST_NAME or any(each in raw for each in b"/\n\0"):
        raise ObjectError(
            f"the member name {name!r} cannot be stored; use 1 to {_LONGEST_NAME} bytes "
            "without '/', newline or zero"
        )
    if len(raw) <= _LONGEST_SHORT_NAME and raw + b"/" != _BSD_LONG_NAME:
        return raw + b"/"
    offset = len(table)
    table += raw + b"/\n"
    return b"/%d" % offset


def _entry(stored_name: bytes, content: bytes, is_table: bool = False) -> bytes:
    time, owner, mode = (b"", b"", b"") if is_table else (b"0", b"0", b"644")
    header = b"%-16s%-12s%-6s%-6s%-8s%-10d`\n" % (
        stored_name,
        time,
        owner,
        owner,
        mode,
        len(content),
    )
    return header + content + b"\n" * (len(content) % 2)
