"""`tilewright disasm`."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from tilewright.cli.disasm import disasm
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
from tilewright.elf.relocations import RelocationType
from tilewright.elf.writer import write_object
from tilewright.errors import TilewrightError

app = typer.Typer()
app.command()(disasm)

SYNC_AND_BUNDLE = bytes.fromhex("03008041 03f01081 103020d8")


def run(*arguments: str) -> str:
    """What the command prints. Raises what it raises."""
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None:
        raise result.exception
    return result.stdout


def message(*arguments: str) -> str:
    with pytest.raises(TilewrightError) as caught:
        run(*arguments)
    return str(caught.value)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "tile.bin"
    path.write_bytes(SYNC_AND_BUNDLE)
    return path


@pytest.fixture
def obj(tmp_path: Path) -> Path:
    content = bytes.fromhex("0000a018 0000e019")
    section = Section(
        ".text",
        flags=SectionFlag.ALLOC | SectionFlag.EXECINSTR,
        alignment=4,
        data=content,
        size=len(content),
    )
    symbol = Symbol("kernel", section, 0, 8, Binding.GLOBAL, SymbolType.FUNC)
    section.relocations = [Relocation(0, RelocationType.ABS_19_S2, symbol, 4)]
    path = tmp_path / "kernel.o"
    path.write_bytes(
        write_object(
            ObjectFile("kernel.o", FileType.RELOCATABLE, sections=[section], symbols=[symbol])
        )
    )
    return path


def test_raw_code_starts_at_the_base_of_memory(image: Path) -> None:
    assert run(str(image)).splitlines() == [
        "",
        '    .section .text, "ax"',
        "    .p2align 3",
        "    .supervisor",
        "    sync 3                                  # 0004c000: 41800003",
        "    .worker",
        "    { ld32 $m0, $m1, $m15, 3                # 0004c004: 8110f003",
        "      f32add $a1, $a2, $a3 }                # 0004c008: d8203010",
    ]


@pytest.mark.parametrize("base", ["0x50004", "327684", "0X50004"])
def test_base_is_hexadecimal_or_decimal(image: Path, base: str) -> None:
    lines = run(str(image), "--base", base).splitlines()
    assert lines[4] == "    sync 3                                  # 00050004: 41800003"


def test_odd_bytes_are_printed_as_bytes(tmp_path: Path) -> None:
    path = tmp_path / "odd.bin"
    path.write_bytes(bytes.fromhex("0000e019 aabb"))
    assert run(str(path)).splitlines()[-3:] == [
        "    nop                                     # 0004c000: 19e00000",
        "    .byte 0xaa                              # 0004c004: aa",
        "    .byte 0xbb                              # 0004c005: bb",
    ]


def test_an_empty_file_has_an_empty_section(tmp_path: Path) -> None:
    path = tmp_path / "empty.bin"
    path.write_bytes(b"")
    assert run(str(path)).splitlines()[-1] == "    .p2align 3"
    assert json.loads(run(str(path), "--json")) == []


@pytest.mark.parametrize(
    ("base", "reason"),
    [
        ("0x4c002", "0x4c002 is no place for an instruction; expected a multiple of 4"),
        ("-4", "-4 is no place for an instruction"),
        ("0x100000000", "from 0 to 0xfffffffc"),
        ("here", "'here' is no address; write it in decimal or as 0x…"),
        ("0xg", "'0xg' is no address"),
        ("4c000", "'4c000' is no address"),
    ],
)
def test_impossible_bases_are_refused(image: Path, base: str, reason: str) -> None:
    assert reason in message(str(image), f"--base={base}")


def test_code_must_fit_the_address_space(image: Path) -> None:
    assert "pass the address space" in message(str(image), "--base", "0xfffffff8")


def test_missing_files_are_named(tmp_path: Path) -> None:
    assert "cannot read" in message(str(tmp_path / "none.bin"))


def test_objects_are_told_by_their_first_bytes(obj: Path) -> None:
    renamed = obj.rename(obj.with_suffix(".bin"))
    assert run(str(renamed)).splitlines()[-3:] == [
        "kernel:",
        "    call $m10, kernel+4                     # 00000000: 18a00000",
        "    nop                                     # 00000004: 19e00000",
    ]


def test_objects_take_no_base(obj: Path) -> None:
    assert "--base is for raw code" in message(str(obj), "--base", "0x4c000")


def test_damaged_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.o"
    path.write_bytes(b"\x7fELF")
    assert str(path) in message(str(path))


def entries(*arguments: str) -> list[dict[str, Any]]:
    return list(json.loads(run(*arguments, "--json")))


def test_json_of_raw_code(image: Path) -> None:
    common = {"section": ".text"}
    assert entries(str(image), "--base", "0x50000") == [
        common | {"address": 0x50000, "word": "41800003", "text": "sync 3", "mode": "supervisor"},
        common
        | {
            "address": 0x50004,
            "word": "8110f003",
            "text": "{ ld32 $m0, $m1, $m15, 3",
            "mode": "worker",
        },
        common
        | {
            "address": 0x50008,
            "word": "d8203010",
            "text": "f32add $a1, $a2, $a3 }",
            "mode": "worker",
        },
    ]


def test_json_of_an_object_names_symbols(obj: Path) -> None:
    first, second = entries(str(obj))
    assert (first["text"], first["symbol"]) == ("call $m10, kernel+4", "kernel")
    assert (second["text"], second["symbol"]) == ("nop", "kernel+0x4")
    assert "source" not in first
    assert "mode" not in first


def test_json_words_of_odd_bytes_are_short(tmp_path: Path) -> None:
    path = tmp_path / "odd.bin"
    path.write_bytes(b"\xaa")
    (entry,) = entries(str(path))
    assert (entry["word"], entry["text"]) == ("aa", ".byte 0xaa")
