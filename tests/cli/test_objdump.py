"""`tilewright objdump`: its text as a whole, its JSON against pyelftools."""

import io
import json
from pathlib import Path

import pytest
import typer
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from typer.testing import CliRunner

from tilewright.cli.objdump import objdump
from tilewright.elf.archive import write_archive
from tilewright.elf.headers import ObjectError
from tilewright.elf.object import (
    Binding,
    FileType,
    ObjectFile,
    Relocation,
    Section,
    SectionFlag,
    SectionType,
    Symbol,
    SymbolType,
    Visibility,
)
from tilewright.elf.writer import write_object
from tilewright.files import FileError

RELOCATABLE_TEXT = r"""made.o: relocatable for IPU21, flags 0x21, entry 0x0

Sections:
     name        type        flags  address   offset  size    align  link  info
  1  .text       progbits    ax     00000000  000038  00000a      8     0     0
  2  .bss        nobits      wa     00000000  000050  000100     32     0     0
  3  odd\x1b     0x70000042  ?      00000000  000050  000001      1     0     0
  4  .rela.text  rela        I      00000000  000054  000024      4     5     1
  5  .symtab     symtab      -      00000000  000078  000050      4     6     2
  6  .strtab     strtab      -      00000000  0000c8  00000f      1     0     0
  7  .shstrtab   strtab      -      00000000  0000d7  000036      1     0     0

Symbols:
  value     size    binding  type     visibility  section      name
  00000000  000000  local    section  default     .bss         .bss
  00000000  000008  global   func     default     .text        start
  00000000  000000  weak     notype   hidden      (undefined)  ext
  000e8000  000000  global   notype   default     (absolute)   end

Relocations of .text:
  offset    type     target
  00000004  19_S2    ext
  00000000  20       .bss+0x10
  00000000  type 12  .bss-0x4

Code of .text:
start:
  00000000  19e00000  setzi $m14, .L10_2  <.bss+0x10>
  00000004  42800000  .long 0x42800000
  00000008  01        .byte 0x01
  00000009  02        .byte 0x02
"""
SEGMENTS_TEXT = """
Segments:
     type  flags  address   offset  in file  in memory  align
  0  load  r-x    0004c018  000078  00000a   00000a         4
  1  load  rw-    0005c000  000090  000000   000100         4
"""

app = typer.Typer()
app.command()(objdump)


def made(kind: FileType) -> bytes:
    """An object or executable with code, zeros, symbols and relocations."""
    code, data = (0x4C018, 0x5C000) if kind == FileType.EXECUTABLE else (0, 0)
    text = Section(
        ".text", flags=6, alignment=8, data=bytes.fromhex("0000e019 00008042 0102"), size=10
    )
    bss = Section(".bss", SectionType.NOBITS, 3, 32, size=0x100)
    odd = Section("odd\x1b", type=0x70000042, flags=0x400, data=b"1", size=1)
    text.address, bss.address = code, data
    start = Symbol("start", text, code, 8, Binding.GLOBAL, SymbolType.FUNC)
    zeros = Symbol("", bss, data, type=SymbolType.SECTION)
    ext = Symbol("ext", binding=Binding.WEAK, visibility=Visibility.HIDDEN)
    end = Symbol("end", value=0xE8000, binding=Binding.GLOBAL, is_absolute=True)
    text.relocations = [
        Relocation(4, 8, ext),
        Relocation(0, 3, zeros, 16),
        Relocation(0, 12, zeros, -4),
    ]
    return write_object(
        ObjectFile(
            "made", kind, entry=code, sections=[text, bss, odd], symbols=[start, zeros, ext, end]
        )
    )


def output(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


@pytest.fixture
def relocatable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a relocatable object in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("made.o").write_bytes(made(FileType.RELOCATABLE))
    return "made.o"


@pytest.fixture
def executable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an executable in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("made.elf").write_bytes(made(FileType.EXECUTABLE))
    return "made.elf"


def test_text_of_a_relocatable_object(relocatable: str) -> None:
    assert output(relocatable) == RELOCATABLE_TEXT


def test_text_of_an_executable_has_addresses_and_segments(executable: str) -> None:
    text = output(executable)
    assert text.startswith("made.elf: executable for IPU21, flags 0x21, entry 0x4c018\n")
    assert SEGMENTS_TEXT in text
    assert "\n  0004c01c  42800000  bitrev8 $m0, $m8\n" in text
    assert "\n  00000004  19_S2    ext\n" in text


def test_json_agrees_with_pyelftools(executable: str) -> None:
    described = json.loads(output(executable, "--json"))
    theirs = ELFFile(io.BytesIO(made(FileType.EXECUTABLE)))
    assert described["file"] == executable
    assert (described["type"], described["architecture"]) == ("executable", "IPU21")
    assert (described["entry"], described["flags"]) == (theirs["e_entry"], theirs["e_flags"])
    assert [(s["name"], s["address"], s["size"]) for s in described["sections"]] == [
        (s.name, s["sh_addr"], s["sh_size"]) for s in list(theirs.iter_sections())[1:]
    ]
    assert [(s["address"], s["file_size"], s["memory_size"]) for s in described["segments"]] == [
        (s["p_vaddr"], s["p_filesz"], s["p_memsz"]) for s in theirs.iter_segments()
    ]
    table = theirs.get_section_by_name(".symtab")
    assert isinstance(table, SymbolTableSection)
    assert [(s["value"], s["size"]) for s in described["symbols"]] == [
        (s["st_value"], s["st_size"]) for s in list(table.iter_symbols())[1:]
    ]
    assert described["symbols"][1] == {
        "name": "start",
        "value": 0x4C018,
        "size": 8,
        "binding": "global",
        "type": "func",
        "visibility": "default",
        "section": ".text",
    }
    assert described["relocations"] == [
        {"section": ".text", "offset": 4, "type": "19_S2", "symbol": "ext", "addend": 0},
        {"section": ".text", "offset": 0, "type": "20", "symbol": ".bss", "addend": 16},
        {"section": ".text", "offset": 0, "type": "type 12", "symbol": ".bss", "addend": -4},
    ]


def test_members_of_an_archive_are_described_one_by_one(relocatable: str) -> None:
    members = [("a.o", made(FileType.RELOCATABLE)), ("b.o", made(FileType.RELOCATABLE))]
    Path("lib.a").write_bytes(write_archive(members))
    text = output("lib.a")
    first, second = text.index("lib.a(a.o): relocatable"), text.index("\n\nlib.a(b.o): reloc")
    assert first == 0
    alone = output(relocatable).removeprefix("made.o")
    assert text[: second + 1] == "lib.a(a.o)" + alone
    described = json.loads(output("lib.a", "--json"))
    assert described["file"] == "lib.a"
    assert [member["file"] for member in described["members"]] == ["lib.a(a.o)", "lib.a(b.o)"]


def test_an_object_with_nothing_in_it(relocatable: str) -> None:
    Path("empty.o").write_bytes(write_object(ObjectFile("empty", flags=0x7F)))
    text = output("empty.o")
    assert text.startswith("empty.o: relocatable for architecture 0x7f, flags 0x7f")
    assert "Symbols" not in text
    assert "Segments" not in text
    assert "Code" not in text


def test_a_long_name_widens_no_column_without_end(relocatable: str) -> None:
    long_name = "." + "n" * 300
    sections = [Section(long_name, flags=SectionFlag.ALLOC), Section(".data")]
    Path("long.o").write_bytes(write_object(ObjectFile("long", sections=sections)))
    lines = output("long.o").splitlines()
    assert any(long_name in line for line in lines)
    assert all(len(line) < 140 for line in lines if long_name not in line)


def test_faults_are_errors_with_the_file_name(relocatable: str) -> None:
    with pytest.raises(FileError, match=r"missing.o"):
        output("missing.o")
    Path("bad.o").write_bytes(made(FileType.RELOCATABLE)[:-1])
    with pytest.raises(ObjectError, match=r"^bad.o: offset 0x20: the section header table"):
        output("bad.o")
