"""A kernel of a few hundred lines that uses the language as real kernels do."""

import struct
from collections import Counter
from pathlib import Path

import pytest

from tilewright.elf.assembler import Assembled, assemble_file
from tilewright.elf.lines import read_lines
from tilewright.elf.object import Binding, Section, SymbolType
from tilewright.elf.reader import read_object
from tilewright.elf.relocations import RelocationType
from tilewright.elf.writer import write_object
from tilewright.isa import COISSUE, decode

KERNEL = Path(__file__).parents[1] / "kernels" / "gemm_f16.S"
SUPERVISOR = ".text.__runCodelet_gemm__f16___supervisor"
WORKER = ".text.__runCodelet_gemm__f16___worker"
VARIANTS = ["mul", "add", "sub", "clamp"]


@pytest.fixture(scope="module")
def kernel() -> Assembled:
    return assemble_file(KERNEL)


def section(kernel: Assembled, name: str) -> Section:
    (found,) = (each for each in kernel.object.sections if each.name == name)
    return found


def words(kernel: Assembled, name: str) -> list[int]:
    return [word for (word,) in struct.iter_unpack("<I", section(kernel, name).data)]


def test_no_warnings(kernel: Assembled) -> None:
    assert kernel.warnings == ()


def test_sections(kernel: Assembled) -> None:
    named = {each.name: each.alignment for each in kernel.object.sections if each.is_allocated}
    code = [SUPERVISOR, WORKER, *(f".text.scale_{name}" for name in VARIANTS), ".text.quarter"]
    assert {name: named[name] for name in code} == dict.fromkeys(code, 8)
    assert section(kernel, ".data.gemm_state").size == 24


def test_every_word_of_code_is_an_instruction(kernel: Assembled) -> None:
    for each in kernel.object.sections:
        if each.is_executable:
            instructions = [decode(word) for word in words(kernel, each.name)]
            assert None not in instructions
            # Co-issued words come in twos.
            marks = [word >> 31 for word in words(kernel, each.name)]
            runs = "".join(map(str, marks)).split("0")
            assert all(len(run) % 2 == 0 for run in runs)


def test_weights_are_loaded_in_the_order_of_the_store(kernel: Assembled) -> None:
    loads = [word for word in words(kernel, SUPERVISOR) if word >> 12 == 0x4100D]
    assert loads == [0x4100D000 | entry for entry in range(0, 64, 2)]


def test_supervisor_part(kernel: Assembled) -> None:
    found = words(kernel, SUPERVISOR)
    assert found[:3] == [0x22BBFFF8, 0x4FBAF000, 0x4FB9F001]  # add $sp; st32 $lr, $fp
    assert found[3:5] == [0x19700000, 0x19800000]  # setzi of two addresses
    assert found[6:8] == [0x1917FFFF, 0x4211CFFF]  # ldconst 0xfff7ffff
    assert 0x15807000 in found  # runall $m8, $m7, 0
    assert 0x41800002 in found  # sync with the workers
    assert found[-1] == 0x43A00000
    assert [
        (each.offset, RelocationType(each.type), each.symbol.name or "section")
        for each in section(kernel, SUPERVISOR).relocations[:2]
    ] == [
        (12, RelocationType.ABS_20, "gemm_state"),
        (16, RelocationType.ABS_20, "__runCodelet_gemm__f16___worker"),
    ]


def test_amp_steps(kernel: Assembled) -> None:
    found = words(kernel, WORKER)
    # f16v4hihov4amp $a6:7, $a0:1, $a4:5, TAMP_F16V4_E4_P0 + phase
    first = (0x5B000740 | 4 << 20 | 6 << 16 | 0 << 12 | 16) | COISSUE
    place = next(
        at for at, word in enumerate(found) if word == first and found[at + 2] == first + 1
    )
    assert found[place : place + 8 : 2] == [first + phase for phase in range(4)]
    # ld2xst64pace $a0:3, $a6:7, $m6:7+=, $m5, selectors
    load = 0x56000800 | 5 << 20 | 0 << 17 | 6 << 12 | 6 << 4 | COISSUE
    selectors = [0, 0, 0, 1 + (2 << 2) + (2 << 4)]
    assert found[place - 1 : place + 7 : 2] == [
        load | (each >> 4) << 8 | each & 15 for each in selectors
    ]


def test_repeats(kernel: Assembled) -> None:
    counts: Counter[str] = Counter()
    for each in kernel.object.sections:
        if not each.is_executable:
            continue
        found = words(kernel, each.name)
        for place, word in enumerate(found):
            instruction = decode(word)
            assert instruction is not None
            if instruction.form.mnemonic == "rpt":
                body = place + (2 if instruction.coissue else 1)
                size = 2 * (instruction.values[1] + 1)
                assert body % 2 == 0
                assert all(word & COISSUE for word in found[body : body + size])
                counts[each.name] += 1
    assert counts == {WORKER: 1, **{f".text.scale_{name}": 1 for name in VARIANTS}}


def test_symbols(kernel: Assembled) -> None:
    functions = [
        each for each in kernel.object.symbols if each.type == SymbolType.FUNC and each.section
    ]
    assert {each.name for each in functions} == {
        SUPERVISOR.removeprefix(".text."),
        WORKER.removeprefix(".text."),
        *(f"scale_{name}" for name in VARIANTS),
    }
    for each in functions:
        assert each.section is not None
        assert (each.binding, each.value) == (Binding.GLOBAL, 0)
        assert each.size == each.section.size
    names = [each.name for each in kernel.object.symbols]
    assert not [name for name in names if name.startswith(".L") or name[:1].isdigit()]


def test_table_of_variants(kernel: Assembled) -> None:
    table = section(kernel, ".data.gemm_table")
    assert [(each.offset, each.symbol.name) for each in table.relocations] == [
        *((4 * place, f"scale_{name}") for place, name in enumerate(VARIANTS)),
        (24, "gemm_state"),
    ]
    assert table.relocations[-1].type == RelocationType.RELATIVE_16_S2
    assert table.data == (
        bytes(16) + b"\4\0\0\0\0\x3c\0\xb8\0\0" + b"\0\0" + b"gemm; f16 { six workers }\0"
    )


def test_stack_records(kernel: Assembled) -> None:
    complete = [each for each in kernel.object.sections if each.name == ".stack_sizes"]
    assert {each.link.name: each.data[4:] for each in complete if each.link} == {
        SUPERVISOR: b"\x08",
        WORKER: b"\0",
    }
    own = [each for each in kernel.object.sections if each.name == ".stack_sizes.own"]
    assert [each.link.name for each in own if each.link] == [
        f".text.scale_{name}" for name in VARIANTS
    ]


def test_lines_point_into_the_kernel(kernel: Assembled) -> None:
    text = KERNEL.read_text().splitlines()
    rows = read_lines(kernel.object)
    assert {Path(row.file).name for row in rows} == {KERNEL.name}
    by_place = {(row.section.name, row.offset): text[row.line - 1].strip() for row in rows}
    assert by_place[SUPERVISOR, 0] == "add     $sp, $sp, -STACK_BYTES"
    assert by_place[WORKER, 0] == "get     $INDEX, $WSR"
    loads = [line for line in by_place.values() if line.startswith("ld128putcs")]
    assert len(loads) == 32


def test_written_and_read_again(kernel: Assembled) -> None:
    again = read_object(write_object(kernel.object), "gemm.o")
    assert [(each.name, each.data) for each in again.sections] == [
        (each.name, each.data) for each in kernel.object.sections
    ]


def test_same_object_each_time(kernel: Assembled) -> None:
    assert write_object(assemble_file(KERNEL).object) == write_object(kernel.object)
