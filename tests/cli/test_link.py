"""`tilewright link`: options, output files, and no output when something is wrong."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tilewright.cli.link import link
from tilewright.elf.archive import write_archive
from tilewright.elf.object import (
    Binding,
    FileType,
    ObjectFile,
    Relocation,
    Section,
    SectionFlag,
    Symbol,
    SymbolType,
)
from tilewright.elf.reader import read_object, read_object_file
from tilewright.elf.relocations import RelocationType
from tilewright.elf.writer import write_object
from tilewright.errors import TilewrightError

app = typer.Typer()
app.command()(link)


def run(*arguments: object) -> str:
    """What the command prints. Raises what it raises."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def function(name: str, *callees: str) -> ObjectFile:
    """An object with one function: calls and a return."""
    words = [0x18A00000] * len(callees) + [0x43A00000]
    data = b"".join(word.to_bytes(4, "little") for word in words)
    flags = SectionFlag.ALLOC | SectionFlag.EXECINSTR
    section = Section(f".text.{name}", flags=flags, alignment=4, data=data, size=len(data))
    called = [Symbol(callee, binding=Binding.GLOBAL) for callee in callees]
    section.relocations = [
        Relocation(4 * index, RelocationType.ABS_19_S2, symbol)
        for index, symbol in enumerate(called)
    ]
    own = Symbol(name, section, size=len(data), binding=Binding.GLOBAL, type=SymbolType.FUNC)
    return ObjectFile(f"{name}.o", sections=[section], symbols=[own, *called])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Objects `main.o` (which needs `kernel`) and `extra.o`, and an archive with `kernel`."""
    (tmp_path / "main.o").write_bytes(write_object(function("_start", "kernel")))
    (tmp_path / "extra.o").write_bytes(write_object(function("extra")))
    members = [function("kernel"), function("other")]
    content = write_archive([(each.name, write_object(each)) for each in members])
    (tmp_path / "lib.a").write_bytes(content)
    return tmp_path


def test_executable_and_map(folder: Path) -> None:
    out, map_file = folder / "out.elf", folder / "out.map"
    printed = run(
        folder / "main.o", folder / "extra.o", folder / "lib.a", "-o", out, "--map", map_file
    )
    assert printed == f"{out}: 12 bytes in 1 segments; _start at 0x4c01c\n"
    image = read_object_file(out)
    assert (image.type, image.entry) == (FileType.EXECUTABLE, 0x4C01C)
    assert {symbol.name: symbol.value for symbol in image.symbols} == {
        "kernel": 0x4C018,
        "_start": 0x4C01C,
    }
    assert image.sections[1].data == bytes.fromhex("0630a118 0000a043")
    text = map_file.read_text()
    assert f"0x4c018  4     .text.kernel  {folder}/lib.a(kernel.o)" in text
    assert f"4     .text.extra  {folder}/extra.o" in text


def test_same_inputs_same_bytes(folder: Path) -> None:
    for name in ("one.elf", "two.elf"):
        run(folder / "main.o", folder / "lib.a", "-o", folder / name)
    one, two = ((folder / name).read_bytes() for name in ("one.elf", "two.elf"))
    assert one == two


def test_entries_kept_symbols_definitions_and_arenas(folder: Path) -> None:
    out = folder / "out.elf"
    run(
        *(folder / "main.o", folder / "extra.o", "-o", out),
        *("--entry", "extra", "--entry", "_start", "--define", "kernel=0x50120"),
        *("--arena", "low=0x60000:0x60004:x", "--arena", "high=393472:0x61000:x:i1"),
    )
    image = read_object_file(out)
    found = {symbol.name: symbol.value for symbol in image.symbols}
    assert found == {"kernel": 0x50120, "extra": 0x60000, "_start": 0x60100}
    assert image.entry == 0x60000
    section = next(each for each in image.sections if each.address == 0x60100)
    assert section.data[:4] == bytes.fromhex("4840a118")


def test_keep(folder: Path) -> None:
    out = folder / "out.elf"
    run(folder / "main.o", folder / "lib.a", "-o", out, "--keep", "other")
    assert "other" in {symbol.name for symbol in read_object(out.read_bytes()).symbols}


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")
def test_readelf_agrees(folder: Path) -> None:
    out = folder / "out.elf"
    run(folder / "main.o", folder / "lib.a", "-o", out)
    result = subprocess.run(
        ["readelf", "-h", "-l", "-s", "-W", out], capture_output=True, text=True, check=True
    )
    assert "Warning" not in result.stderr
    assert re.search(r"Type: +EXEC", result.stdout)
    assert re.search(r"Entry point address: +0x4c01c", result.stdout)
    assert re.search(r"Flags: +0x21", result.stdout)
    loads = re.findall(r"LOAD +\S+ (\S+) \S+ (\S+) (\S+) (R E)", result.stdout)
    assert loads == [
        ("0x0004c018", "0x00004", "0x00004", "R E"),
        ("0x0004c01c", "0x00008", "0x00008", "R E"),
    ]
    symbols = re.findall(r"(\w+) +(\d+) FUNC +GLOBAL DEFAULT +\d+ (\w+)", result.stdout)
    assert sorted(symbols) == [("0004c018", "4", "kernel"), ("0004c01c", "8", "_start")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "undefined symbol kernel"),
        (["lib.a", "--entry", "missing"], "undefined symbol missing"),
        (["lib.a", "--define", "kernel"], "--define kernel: expected NAME=VALUE"),
        (["lib.a", "--define", "=1"], "expected NAME=VALUE"),
        (["lib.a", "--define", "kernel=ten"], "--define kernel=ten: 'ten' is not a number"),
        (["lib.a", "--arena", "a=0x60000"], "--arena a=0x60000: expected NAME=START:END"),
        (["lib.a", "--arena", "a=0x60000:0x61000:w"], "expected NAME=START:END"),
        (["lib.a", "--arena", "a=0x60000:0x61000:i1:i2"], "expected NAME=START:END"),
        (["lib.a", "--arena", "a=0x60000:end"], "'end' is not a number"),
        (["lib.a", "--arena", "a=0x60000:0x61000"], "may lie in none of a"),
        (["lib.a", "--arena", "a=0x60000:0x61000:x:i2"], "which only 0x80000..0xe8000 has"),
        (["lib.a", "--arena", "a=0x80000:0x81000:i1"], "which only 0x4c000..0x80000 has"),
        (["missing.o"], "cannot read"),
        (["lib.a", "--map", "out.elf"], "cannot be both executable and map"),
        (["lib.a", "--map", "nowhere/out.map"], "cannot write nowhere/out.map"),
    ],
)
def test_nothing_is_written_when_there_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    with pytest.raises(TilewrightError, match=re.escape(message)):
        run("main.o", *arguments, "-o", "out.elf")
    assert sorted(folder.iterdir()) == before


def test_an_existing_output_survives_an_error(folder: Path) -> None:
    out = folder / "out.elf"
    out.write_text("precious")
    with pytest.raises(TilewrightError):
        run(folder / "main.o", "-o", out)
    assert out.read_text() == "precious"
