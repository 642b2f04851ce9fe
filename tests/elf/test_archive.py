"""Archives against GNU ar, BSD archives made by hand, and archives that are wrong on purpose."""

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tilewright.elf.archive import read_archive, read_inputs, read_members, write_archive
from tilewright.elf.headers import ObjectError
from tilewright.elf.object import Binding, ObjectFile, Section, Symbol, SymbolType
from tilewright.elf.writer import write_object
from tilewright.files import FileError

needs_ar = pytest.mark.skipif(shutil.which("ar") is None, reason="GNU ar is not installed")

LONG_NAME = "a_kernel_with_a_long_name.o"


def an_object(symbol: str) -> bytes:
    text = Section(".text", flags=6, alignment=4, data=bytes(4), size=4)
    function = Symbol(symbol, text, 0, 4, Binding.GLOBAL, SymbolType.FUNC)
    return write_object(ObjectFile(symbol, sections=[text], symbols=[function]))


MEMBERS = [("add.o", an_object("add")), (LONG_NAME, an_object("long_one"))]


def member(name: bytes, content: bytes, size: bytes | None = None) -> bytes:
    """A member as an archive holds it, made by hand."""
    size = str(len(content)).encode() if size is None else size
    fields = name.ljust(16) + b"0".ljust(12) + b"0".ljust(6) + b"0".ljust(6) + b"644".ljust(8)
    return fields + size.ljust(10) + b"`\n" + content + b"\n" * (len(content) % 2)


def archive(*members: bytes) -> bytes:
    return b"!<arch>\n" + b"".join(members)


def names(data: bytes) -> list[str]:
    return [each.name for each in read_members(data)]


def test_members_come_back_in_order_with_their_paths() -> None:
    objects = read_archive(write_archive(MEMBERS), "lib.a")
    assert [obj.name for obj in objects] == ["lib.a(add.o)", f"lib.a({LONG_NAME})"]
    assert [obj.symbols[0].name for obj in objects] == ["add", "long_one"]


def test_read_inputs_takes_objects_and_archives(tmp_path: Path) -> None:
    single, library = tmp_path / "add.o", tmp_path / "lib.a"
    single.write_bytes(MEMBERS[0][1])
    library.write_bytes(write_archive(MEMBERS))
    assert [obj.name for obj in read_inputs(single)] == [str(single)]
    assert [obj.name for obj in read_inputs(library)] == [
        f"{library}(add.o)",
        f"{library}({LONG_NAME})",
    ]
    with pytest.raises(FileError):
        read_inputs(tmp_path / "missing.a")


def test_an_archive_without_members() -> None:
    assert write_archive([]) == b"!<arch>\n"
    assert read_archive(b"!<arch>\n") == []


def test_written_bytes() -> None:
    assert write_archive([("a.o", b"odd")]) == (
        b"!<arch>\na.o/            0           0     0     644     3         `\nodd\n"
    )
    assert write_archive([("sixteen_bytes__o", b"")]) == (
        b"!<arch>\n"
        b"//                                              18        `\n"
        b"sixteen_bytes__o/\n"
        b"/0              0           0     0     644     0         `\n"
    )


@needs_ar
def test_gnu_ar_lists_and_extracts_what_we_write(tmp_path: Path) -> None:
    (tmp_path / "lib.a").write_bytes(write_archive(MEMBERS))
    listed = subprocess.run(
        ["ar", "t", "lib.a"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert listed.stdout.split() == ["add.o", LONG_NAME]
    assert listed.stderr == ""
    subprocess.run(["ar", "x", "lib.a"], cwd=tmp_path, check=True)
    for name, content in MEMBERS:
        assert (tmp_path / name).read_bytes() == content


@needs_ar
@pytest.mark.parametrize("options", ["rc", "rcs", "rcD", "rcU"])
def test_what_gnu_ar_writes_is_read(options: str, tmp_path: Path) -> None:
    for name, content in MEMBERS:
        (tmp_path / name).write_bytes(content)
    order = [name for name, _ in reversed(MEMBERS)]
    subprocess.run(["ar", options, "lib.a", *order], cwd=tmp_path, check=True)
    members = read_members((tmp_path / "lib.a").read_bytes())
    assert [(each.name, each.data) for each in members] == list(reversed(MEMBERS))


@needs_ar
def test_thin_archives_are_refused(tmp_path: Path) -> None:
    (tmp_path / "add.o").write_bytes(MEMBERS[0][1])
    subprocess.run(["ar", "rcT", "lib.a", "add.o"], cwd=tmp_path, check=True)
    with pytest.raises(ObjectError, match="thin archive: it names files"):
        read_inputs(tmp_path / "lib.a")


def test_bsd_names_and_symbol_index() -> None:
    content = MEMBERS[0][1]
    data = archive(
        member(b"__.SYMDEF SORTED", bytes(8)),
        member(b"#1/20", b"__.SYMDEF SORTED\0\0\0\0" + bytes(8)),
        member(b"short.o", content),
        member(b"#1/32", LONG_NAME.encode().ljust(32, b"\0") + content),
    )
    members = read_members(data)
    assert [each.name for each in members] == ["short.o", LONG_NAME]
    assert [each.data for each in members] == [content, content]


def test_gnu_symbol_indices_are_skipped() -> None:
    content = MEMBERS[0][1]
    data = archive(
        member(b"/", bytes(4)), member(b"/SYM64/", bytes(8)), member(b"with space.o/", content)
    )
    assert names(data) == ["with space.o"]


def test_the_last_member_may_lack_its_padding() -> None:
    content = MEMBERS[0][1] + b"\0" * (1 - len(MEMBERS[0][1]) % 2)
    assert len(content) % 2 == 1
    assert names(archive(member(b"a.o/", content))[:-1]) == ["a.o"]


GOOD = member(b"a.o/", MEMBERS[0][1])

MALFORMED = {
    "magic": (b"!<arck>\n", 0, "not an archive"),
    "thin": (b"!<thin>\n", 0, "thin archive"),
    "cut header": (archive(GOOD[:59]), 8, "the file ends inside the header of a member"),
    "end mark": (
        archive(GOOD.replace(b"`\n", b"'\n", 1)),
        8 + 58,
        "header of a member without its end mark",
    ),
    "size": (archive(member(b"a.o/", b"", b"-1")), 8 + 48, "size of a member is '-1        '"),
    "no size": (archive(member(b"a.o/", b"", b"")), 8 + 48, "not a decimal number"),
    "large size": (
        archive(member(b"a.o/", b"", b"9999999999")),
        8 + 48,
        "a member lies at 0x44 to 0x2540be443, past the end of the file",
    ),
    "no name table": (archive(member(b"/0", b"")), 8, "long name, but no table"),
    "name offset": (
        archive(member(b"//", b"x.o/\n"), member(b"/5", b"")),
        8 + 66 + 1,
        "name at 5 is outside the table of long names of 5 bytes",
    ),
    "name offset that is no number": (
        archive(member(b"//", b"x.o/\n"), member(b"/x", b"")),
        8 + 66 + 1,
        "offset of a member's name is 'x', not a decimal number",
    ),
    "name without end": (
        archive(member(b"//", b"x.o/"), member(b"/0", b"")),
        8 + 64 + 1,
        "long name without its end, or over 1024 bytes",
    ),
    "long name": (
        archive(member(b"//", b"x" * 1100 + b"/\n"), member(b"/0", b"")),
        8 + 60 + 1102 + 1,
        "over 1024 bytes",
    ),
    "two name tables": (
        archive(member(b"//", b"x/\n0"), member(b"//", b"y/\n0")),
        8 + 64,
        "second table of long names",
    ),
    "bsd name length": (
        archive(member(b"#1/9", b"x.o")),
        8 + 3,
        "name of a member is longer than the member",
    ),
    "empty name": (archive(member(b"", b"")), 8, "name of a member has 0 bytes"),
    "name that is no text": (archive(member(b"\xff.o/", b"")), 8, "is not UTF-8"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_archives_are_refused_with_offset_and_reason(case: str) -> None:
    data, offset, reason = MALFORMED[case]
    with pytest.raises(ObjectError) as caught:
        read_archive(data, "lib.a")
    message = str(caught.value)
    assert message.startswith(f"lib.a: offset {offset:#x}: ")
    assert reason in message


def test_members_that_are_no_objects_are_named() -> None:
    data = write_archive([MEMBERS[0], ("notes.txt", b"text")])
    with pytest.raises(ObjectError, match=r"^lib.a\(notes.txt\): not an ELF file"):
        read_archive(data, "lib.a")


def test_faults_inside_members_name_the_member() -> None:
    content = bytearray(MEMBERS[0][1])
    content[18] = 3
    data = write_archive([("x86.o", bytes(content))])
    with pytest.raises(ObjectError, match=r"^lib.a\(x86.o\): offset 0x12: e_machine is 3"):
        read_archive(data, "lib.a")


@pytest.mark.parametrize("name", ["", "a/b.o", "a\nb.o", "a\0b.o", "x" * 1025, "\udc80.o"])
def test_names_that_cannot_be_stored(name: str) -> None:
    with pytest.raises(ObjectError, match="the member name"):
        write_archive([(name, b"")])


member_names = st.one_of(
    st.sampled_from(["#1", "__.SYMDEF", "a ", "`"]),
    st.text(
        st.characters(exclude_characters="/\n\0", exclude_categories=["Cs"]),
        min_size=1,
        max_size=40,
    ),
)


@examples(100, deadline=2000)
@given(st.lists(member_names, max_size=5))
def test_any_names_come_back(wanted: list[str]) -> None:
    data = write_archive([(name, MEMBERS[0][1]) for name in wanted])
    assert names(data) == wanted


@examples(200, deadline=2000)
@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), min_size=1, max_size=5))
def test_mutated_archives_give_object_errors_or_objects(changes: list[tuple[int, int]]) -> None:
    data = bytearray(write_archive(MEMBERS))
    for position, value in changes:
        data[position] = value
    with suppress(ObjectError):
        read_archive(bytes(data))
