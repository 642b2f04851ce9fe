"""Disassembled text, assembled again, gives the object that it was made from."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.examples import examples
from tilewright.cli.disasm import disasm
from tilewright.device import kernel_source
from tilewright.elf.assembler import assemble, assemble_file
from tilewright.elf.disassembler import disassemble_object
from tilewright.elf.linker import Linker
from tilewright.elf.object import (
    Binding,
    ObjectFile,
    Relocation,
    Section,
    SectionFlag,
    SectionType,
    Symbol,
    SymbolType,
    Visibility,
)
from tilewright.elf.reader import read_object
from tilewright.elf.relocations import RULES, RelocationType
from tilewright.elf.writer import write_object
from tilewright.isa import COISSUE, FORM_BY_NAME, FORMS, Lane, decode, encode

CODE = SectionFlag.ALLOC | SectionFlag.EXECINSTR
DATA = SectionFlag.ALLOC | SectionFlag.WRITE


def described_symbol(symbol: Symbol) -> tuple[Any, ...]:
    section = symbol.section.name if symbol.section else None
    if symbol.type == SymbolType.SECTION:
        return ("section", section)
    return (
        symbol.name,
        section,
        symbol.value,
        symbol.size,
        int(symbol.binding),
        int(symbol.type),
        int(symbol.visibility),
        symbol.is_absolute,
    )


def described(obj: ObjectFile) -> dict[str, Any]:
    """All that the text shall keep, in an order of its own."""
    sections = [section for section in obj.sections if section.is_allocated]
    return {
        "sections": {
            each.name: (int(each.type), int(each.flags), each.alignment, each.size, each.data)
            for each in sections
        },
        "symbols": sorted(
            (
                described_symbol(symbol)
                for symbol in obj.symbols
                if symbol.type != SymbolType.SECTION
                and (symbol.section is None or symbol.section in sections)
            ),
            key=str,
        ),
        "relocations": {
            section.name: sorted(
                (each.offset, int(each.type), described_symbol(each.symbol), each.addend)
                for each in section.relocations
            )
            for section in sections
        },
    }


def places(obj: ObjectFile) -> set[tuple[Any, ...]]:
    """What each relocation refers to, whichever symbol leads there."""
    found = set()
    for section in filter(lambda each: each.is_allocated, obj.sections):
        for each in section.relocations:
            symbol = each.symbol
            home = symbol.section.name if symbol.section else symbol.name
            place = (home, symbol.value + each.addend)
            found.add((section.name, each.offset, int(each.type), *place))
    return found


def text_of(obj: ObjectFile) -> str:
    return "\n".join(disassemble_object(obj))


def assert_comes_back(obj: ObjectFile) -> None:
    text = text_of(obj)
    again = assemble(text)
    assert described(again) == described(obj)
    assert "lost:" not in text


@pytest.mark.parametrize(
    "source",
    [
        """
            .section .text.kernel, "ax"
            .globl kernel
            .type kernel, @function
        kernel:
            ld32 $m0, $mvertex_base, 0
            setzi $m1, table
            brz $m0, .Ldone
            nop
        1:  { rpt $m0, 1; fnop }
            { ld64 $a0:1, $m1, $m15, 0; f32v2add $a2:3, $a2:3, $a4:5 }
            { nop; fnop }
            brnzdec $m0, 1b
        .Ldone:
            exitz $m15
            .size kernel, . - kernel
            .section .data.table, "aw"
            .p2align 3
        table:
            .long kernel, .Ldone, 5
            .half (kernel)@relative@16@s2
            .byte 7
        """,
        """
            .supervisor
            .globl start
        start:
            call $lr, helper
            run $m0, $m1, state+8
            runall $m0, $m1, 0
            sync 2
            sendpicp 51, 0, 0, 0
            .long 0x19e00000
            br $lr
        helper:
            cmpult $m0, $m1, limit
            br $lr
            .section .bss
            .p2align 4
        state:
            .space 24
            .size state, 24
            .type state, @object
        """,
        """
            .set limit, 12
            .globl limit
            .weak maybe
            .hidden inner
        inner:
            setzi $m0, maybe
            setzi $m14, maybe
            { setzi $m14, maybe; setzi $a13, inner }
            .section .rodata, "a"
            .byte 1
        odd:
            .quad inner+4
            .long (inner)@abs18@s2
            .long (inner)@abs19@s2
            .long (inner+4)@abs@21
            .half (inner)@16@s3
            .half (inner)@16@s4
            .half (inner)@16@s5
            .byte odd, maybe-1
        """,
        """
            .allow_invalid_repeat
            rpt $m0, 3
            nop
            .long 0xffffffff, 0
            f32add $a0, $a1, $a2
            .byte 1, 2
        """,
        """
            .section "a section", "ax"
        "operator()(int, char)":
            bri "operator()(int, char)"
            setzi $m0, "no;such{thing}#"
        """,
    ],
    ids=["worker", "supervisor", "symbols", "oddities", "names"],
)
def test_assembled_text_comes_back(source: str) -> None:
    assert_comes_back(assemble(source))


BASES = np.array([form.base for form in FORMS], dtype=np.uint32)
MASKS = np.array([form.mask for form in FORMS], dtype=np.uint32)
MAIN = [form for form in FORMS if form.lane is Lane.MAIN and not form.is_solo]
AUX = [form for form in FORMS if form.lane is Lane.AUX]

any_word = st.integers(0, 2**32 - 1)


@st.composite
def instructions(draw: st.DrawFn, marked: bool = False, lane: Lane | None = None) -> int:
    """A word with the fixed bits of a form; it may name registers that do not exist."""
    forms = {Lane.MAIN: MAIN, Lane.AUX: AUX, None: list(FORMS)}[lane]
    form = draw(st.sampled_from(forms))
    word = form.base | draw(any_word) & ~form.mask
    if form.is_solo:
        return word
    return word | COISSUE if marked else word & ~COISSUE


bundles = st.tuples(
    instructions(marked=True, lane=Lane.MAIN), instructions(marked=True, lane=Lane.AUX)
)
repeats = st.builds(
    lambda count, size, marked: encode(FORM_BY_NAME["rpt u12,u8"], (count, size), marked),
    st.integers(0, 4095),
    st.integers(0, 2),
    st.booleans(),
)
pieces_of_code = st.one_of(
    st.tuples(any_word),
    st.tuples(instructions()),
    st.tuples(instructions(marked=True)),
    st.tuples(repeats),
    bundles,
)
code_words = st.lists(pieces_of_code, max_size=30).map(
    lambda pieces: [word for piece in pieces for word in piece]
)


def as_bytes(words: list[int]) -> bytes:
    return b"".join(word.to_bytes(4, "little") for word in words)


def section_of(name: str, flags: int, content: bytes) -> Section:
    # Repeats align their section to 8 bytes, so it may as well be aligned from the start.
    return Section(name, flags=flags, alignment=8, data=content, size=len(content))


@given(code_words, st.binary(max_size=3))
@examples(200)
def test_any_words_come_back(words: list[int], rest: bytes) -> None:
    assert_comes_back(
        ObjectFile("o", sections=[section_of(".text.code", CODE, as_bytes(words) + rest)])
    )


def test_a_word_of_every_form_comes_back() -> None:
    generator = np.random.default_rng(7)
    words = np.repeat(BASES, 8)
    words |= generator.integers(0, 1 << 32, len(words), dtype=np.uint32) & ~np.repeat(MASKS, 8)
    for start in range(0, len(words), 256):
        section = section_of(".text.code", CODE, words[start : start + 256].astype("<u4").tobytes())
        assert_comes_back(ObjectFile("o", sections=[section]))


RELOCATED_OPERANDS = [
    (RelocationType.ABS_20, "setzi m,x20"),
    (RelocationType.ABS_20, "setzi a,x20"),
    (RelocationType.ABS_16, "cmpult m,m,x16"),
    (RelocationType.ABS_19_S2, "brnz m,t19"),
    (RelocationType.ABS_19_S2, "call m,t20"),
    (RelocationType.RUN, "run m,m,r16"),
]
DATA_TYPES = sorted(set(RULES) - {RelocationType.ABS_20, RelocationType.RUN})


@st.composite
def objects(draw: st.DrawFn) -> ObjectFile:
    """Code, data and zeroed space with symbols and relocations in all the usual ways."""
    text = section_of(".text.code", CODE, as_bytes(draw(code_words)))
    data = section_of(".data", DATA, draw(st.binary(min_size=1, max_size=40)))
    space = Section(".bss", SectionType.NOBITS, DATA, 16, size=draw(st.integers(1, 40)))
    sections = [text, data, space]
    symbols = [draw(symbols_in(sections, number)) for number in range(draw(st.integers(0, 6)))]
    external = [Symbol("external", binding=Binding.GLOBAL), Symbol("maybe", binding=Binding.WEAK)]
    anchors = [Symbol("", section, type=SymbolType.SECTION) for section in sections]
    targets = st.sampled_from([*symbols, *external, *anchors])
    for section in (text, data):
        draw(relocations_of(section, targets))
    used = {each.symbol for section in sections for each in section.relocations}
    return ObjectFile(
        "o",
        sections=sections,
        symbols=[*(each for each in anchors + external if each in used), *symbols],
    )


@st.composite
def symbols_in(draw: st.DrawFn, sections: list[Section], number: int) -> Symbol:
    section = draw(st.sampled_from(sections))
    offset = draw(st.integers(0, section.size))
    if section.is_executable:
        offset -= offset % 4
    return Symbol(
        f"symbol{number}",
        section,
        offset,
        draw(st.sampled_from([0, 4, 1000])),
        draw(st.sampled_from(list(Binding))),
        draw(st.sampled_from([SymbolType.NOTYPE, SymbolType.FUNC, SymbolType.OBJECT])),
        draw(st.sampled_from([Visibility.DEFAULT, Visibility.HIDDEN])),
    )


@st.composite
def relocations_of(
    draw: st.DrawFn, section: Section, targets: st.SearchStrategy[Symbol]
) -> list[Relocation]:
    """Gives the section relocations, with content that their statements make."""
    content = bytearray(section.data)
    end = 0
    for _ in range(draw(st.integers(0, 5))):
        offset = end + draw(st.integers(0, 8))
        if section.is_executable and draw(st.booleans()):
            offset += -offset % 4
            number, name = draw(st.sampled_from(RELOCATED_OPERANDS))
            values = [0] * len(FORM_BY_NAME[name].operands)
            made = encode(FORM_BY_NAME[name], values).to_bytes(4, "little")
        else:
            number = RelocationType(draw(st.sampled_from(DATA_TYPES)))
            made = bytes(RULES[number].width)
        end = offset + len(made)
        if end > len(content):
            break
        content[offset:end] = made
        addend = draw(st.integers(-8, 48))
        section.relocations.append(Relocation(offset, number, draw(targets), addend))
    section.data = bytes(content)
    return section.relocations


@given(objects())
@examples(200)
def test_objects_come_back(obj: ObjectFile) -> None:
    text = text_of(obj)
    again = assemble(text)
    if ".set" in text or "lost:" in text:
        # A symbol inside a bundle: what refers to it names its section then. Or a relocation whose
        # surroundings no directive makes.
        assert described(again)["sections"] == described(obj)["sections"]
        assert places(again) <= places(obj)
        assert "lost:" in text or places(again) == places(obj)
        return
    assert described(again) == described(obj)


app = typer.Typer()
app.command()(disasm)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    return result.stdout


raw_code = (st.binary(max_size=40) | code_words.map(as_bytes)).filter(
    lambda content: not content.startswith(b"\x7fELF")
)


@given(content=raw_code, base=st.integers(0, 1000))
@examples(100)
def test_raw_code_comes_back(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, base: int
) -> None:
    path = tmp_path_factory.mktemp("raw") / "image.bin"
    path.write_bytes(content)
    text = run(str(path), "--base", str(4 * base))
    sections = assemble(text).sections
    assert b"".join(each.data for each in sections if each.is_allocated) == content


def test_texts_of_json_come_back(tmp_path: Path) -> None:
    """Joined by newlines; which modes they need is said beside them."""
    generator = np.random.default_rng(5)
    words = np.concatenate([BASES, BASES[:-1] | COISSUE, generator.integers(0, 1 << 32, 100)])
    path = tmp_path / "image.bin"
    path.write_bytes(words.astype("<u4").tobytes())
    texts = [entry["text"] for entry in json.loads(run(str(path), "--json"))]
    switches = [".allow_invalid_execution_mode", ".allow_invalid_repeat"]
    obj = assemble("\n".join([*switches, *texts]))
    assert obj.sections[0].data == path.read_bytes()


def test_every_decodable_bundle_partner_is_accepted_or_printed_as_data() -> None:
    """The assembler and the disassembler agree on which words make a bundle."""
    generator = np.random.default_rng(11)
    words = []
    for _ in range(1500):
        main = MAIN[int(generator.integers(len(MAIN)))]
        aux = AUX[int(generator.integers(len(AUX)))]
        for form in (main, aux):
            noise = int(generator.integers(0, 1 << 32))
            words.append(form.base | noise & ~form.mask | COISSUE)
    section = section_of(".text.code", CODE, as_bytes(words))
    assert_comes_back(ObjectFile("o", sections=[section]))
    assert any(decode(word) is None for word in words)


KERNELS = [
    Path(__file__).parent / "kernels" / "gemm_f16.S",
    kernel_source("add_f16.S"),
    kernel_source("demo_add.S"),
]


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.name)
def test_kernels_come_back_from_their_object_files(path: Path) -> None:
    obj = read_object(write_object(assemble_file(path).object))
    assert_comes_back(obj)


@pytest.mark.parametrize("path", KERNELS[:2], ids=lambda path: path.name)
def test_linked_kernels_come_back(path: Path) -> None:
    """Each section of the executable, at its address, is what its disassembly assembles to."""
    obj = read_object(write_object(assemble_file(path).object))
    entries = [
        symbol.name for symbol in obj.symbols if symbol.binding == Binding.GLOBAL and symbol.section
    ]
    image = Linker([obj]).link(entries=entries)
    executable = read_object(write_object(image.to_object()))
    again = assemble(text_of(executable))
    expected = {each.name: each.data for each in executable.sections if each.is_allocated}
    assert {each.name: each.data for each in again.sections if each.is_allocated} == expected
    assert b"".join(expected.values()) != b""
