"""Objects as assembly text."""

from textwrap import dedent

import pytest

from tilewright.elf.disassembler import code_entries, disassemble_object
from tilewright.elf.lines import LineRow, line_sections
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
from tilewright.elf.relocations import RelocationType
from tilewright.isa import FORM_BY_NAME, Mode, encode

CODE = SectionFlag.ALLOC | SectionFlag.EXECINSTR
DATA = SectionFlag.ALLOC | SectionFlag.WRITE
EXTERNAL = Symbol("ext", binding=Binding.GLOBAL)
"""Undefined; without references nothing shows it."""


def word(name: str, *values: int, coissue: bool = False) -> bytes:
    return encode(FORM_BY_NAME[name], values, coissue).to_bytes(4, "little")


def code(*words: bytes, name: str = ".text", alignment: int = 4) -> Section:
    content = b"".join(words)
    return Section(name, flags=CODE, alignment=alignment, data=content, size=len(content))


def data(content: bytes, name: str = ".data") -> Section:
    return Section(name, flags=DATA, alignment=4, data=content, size=len(content))


def relocatable(*sections: Section, symbols: list[Symbol] | None = None) -> ObjectFile:
    return ObjectFile("test.o", sections=list(sections), symbols=[EXTERNAL, *(symbols or [])])


def text_of(obj: ObjectFile) -> list[str]:
    """The text without comments at the end of lines."""
    lines = disassemble_object(obj)
    return [
        line if line.lstrip().startswith("#") else line.split("#")[0].rstrip() for line in lines
    ]


def body_of(section: Section, *symbols: Symbol) -> list[str]:
    """What follows the `.section` and `.p2align` lines of the only section, stripped."""
    lines = text_of(relocatable(section, symbols=list(symbols)))
    start = next(place for place, line in enumerate(lines) if ".p2align" in line)
    return [line.strip() for line in lines[start + 1 :]]


NOP = word("setzi m,x20", 14, 0)
LOAD = word("ld32 a,m,m,u12", 4, 1, 15, 3, coissue=True)
ADD = word("f32add a,a,a", 1, 2, 3, coissue=True)
SYNC = word("sync u4", 3)


def test_whole_text() -> None:
    section = code(word("setzi m,x20", 0, 5), LOAD, ADD, SYNC, word("br m", 10), b"\xbc\x0a\0\0")
    space = Section(".bss", SectionType.NOBITS, DATA, alignment=16, size=12)
    symbols = [
        Symbol("kernel", section, 0, 20, Binding.GLOBAL, SymbolType.FUNC),
        Symbol("buffer", space, 8, 4, type=SymbolType.OBJECT),
        Symbol("limit", value=0x100, is_absolute=True),
        Symbol("maybe", binding=Binding.WEAK),
    ]
    text = "\n".join(disassemble_object(relocatable(section, space, symbols=symbols)))
    assert text == dedent("""\
            .set limit, 0x100
            .weak maybe

            .section .text, "ax"
            .p2align 2
            .globl kernel
            .type kernel, @function
            .size kernel, 20
        kernel:
            setzi $m0, 5                            # 00000000: 19000005
            { ld32 $a4, $m1, $m15, 3                # 00000004: 8814f003
              f32add $a1, $a2, $a3 }                # 00000008: d8203010
            .supervisor
            sync 3                                  # 0000000c: 41800003
            br $m10                                 # 00000010: 43a00000
            .long 0x00000abc                        # 00000014: 00000abc

            .section .bss, "aw", @nobits
            .p2align 4
            .space 8
            .type buffer, @object
            .size buffer, 4
        buffer:
            .space 4""")


def test_only_sections_in_memory_are_shown() -> None:
    obj = relocatable(Section(".comment", data=b"abcd", size=4), code(NOP))
    assert [line for line in text_of(obj) if ".section" in line] == ['    .section .text, "ax"']


@pytest.mark.parametrize(
    ("section", "directive"),
    [
        (Section(".rodata", flags=SectionFlag.ALLOC), '.section .rodata, "a"'),
        (Section(".bss", SectionType.NOBITS, DATA), '.section .bss, "aw", @nobits'),
        (Section(".note", SectionType.NOTE, SectionFlag.ALLOC), '.section .note, "a", @note'),
        (
            Section(
                ".str",
                flags=SectionFlag.ALLOC | SectionFlag.MERGE | SectionFlag.STRINGS,
                entry_size=1,
            ),
            '.section .str, "aMS", @progbits, 1',
        ),
        (Section("a b", flags=SectionFlag.ALLOC), '.section "a b", "a"'),
    ],
)
def test_section_directives(section: Section, directive: str) -> None:
    assert text_of(relocatable(section)) == ["", f"    {directive}"]


def test_mode_is_switched_where_it_must_be() -> None:
    section = code(SYNC, NOP, SYNC, ADD[:3] + bytes([ADD[3] & 0x7F]), NOP, LOAD, ADD, SYNC)
    assert [line for line in body_of(section) if line.startswith(".")] == [
        ".supervisor",
        ".worker",
        ".supervisor",
    ]


def test_mode_carries_over_to_the_next_section() -> None:
    obj = relocatable(code(SYNC), code(SYNC, name=".text.b"), code(LOAD, ADD, name=".text.c"))
    switches = [line.strip() for line in text_of(obj) if "visor" in line or "worker" in line]
    assert switches == [".supervisor", ".worker"]


def test_the_mode_of_a_bundle_is_switched_before_it() -> None:
    main = word("ld32 m,m,m,u12", 4, 1, 15, 3, coissue=True)  # for both modes by itself
    assert body_of(code(SYNC, main, ADD))[2:] == [
        ".worker",
        "{ ld32 $m4, $m1, $m15, 3",
        "f32add $a1, $a2, $a3 }",
    ]


@pytest.mark.parametrize(
    ("instruction", "number", "text"),
    [
        (word("setzi m,x20", 0, 0), RelocationType.ABS_20, "setzi $m0, ext+4"),
        (word("setzi m,x20", 14, 0), RelocationType.ABS_20, "setzi $m14, ext+4"),  # never nop
        (word("setzi a,x20", 13, 0), RelocationType.ABS_20, "setzi $a13, ext+4"),  # never fnop
        (word("bri t19", 0), RelocationType.ABS_19_S2, "bri ext+4"),
        (word("brnzdec m,t19", 1, 0), RelocationType.ABS_19_S2, "brnzdec $m1, ext+4"),
        (word("call m,t20", 10, 0), RelocationType.ABS_19_S2, "call $m10, ext+4"),
        (word("run m,m,r16", 0, 1, 0), RelocationType.RUN, "run $m0, $m1, ext+4"),
        (word("cmpult m,m,x16", 0, 1, 0), RelocationType.ABS_16, "cmpult $m0, $m1, ext+4"),
    ],
)
def test_relocated_operands_are_symbolic(instruction: bytes, number: int, text: str) -> None:
    section = code(instruction)
    section.relocations = [Relocation(0, number, EXTERNAL, 4)]
    assert [line for line in body_of(section) if not line.startswith(".s")] == [text]


def test_relocations_in_both_halves_of_a_bundle() -> None:
    section = code(word("setzi m,x20", 0, 0, coissue=True), word("setzi a,x20", 0, 0, coissue=True))
    section.relocations = [
        Relocation(0, RelocationType.ABS_20, EXTERNAL),
        Relocation(4, RelocationType.ABS_20, EXTERNAL, -8),
    ]
    assert body_of(section) == ["{ setzi $m0, ext", "setzi $a0, ext-8 }"]


@pytest.mark.parametrize(
    ("number", "size", "text"),
    [
        (RelocationType.ABS_8, 1, ".byte ext+4"),
        (RelocationType.ABS_16, 2, ".half ext+4"),
        (RelocationType.ABS_32, 4, ".long ext+4"),
        (RelocationType.ABS_64, 8, ".quad ext+4"),
        (RelocationType.RELATIVE_16_S2, 2, ".half (ext+4)@relative@16@s2"),
        (RelocationType.ABS_18_S2, 4, ".long (ext+4)@abs18@s2"),
        (RelocationType.ABS_19_S2, 4, ".long (ext+4)@abs19@s2"),
        (RelocationType.ABS_16_S3, 2, ".half (ext+4)@16@s3"),
        (RelocationType.ABS_16_S4, 2, ".half (ext+4)@16@s4"),
        (RelocationType.ABS_16_S5, 2, ".half (ext+4)@16@s5"),
        (RelocationType.ABS_21, 4, ".long (ext+4)@abs@21"),
    ],
)
def test_relocated_data(number: int, size: int, text: str) -> None:
    section = data(b"\xff" + bytes(size) + b"\xfe")
    section.relocations = [Relocation(1, number, EXTERNAL, 4)]
    assert body_of(section) == [".byte 0xff", text, ".byte 0xfe"]


def test_data_is_words_and_odd_bytes() -> None:
    assert body_of(data(bytes(range(6)))) == [".long 0x03020100", ".byte 0x04", ".byte 0x05"]


def test_labels_cut_data() -> None:
    section = data(bytes(range(7)))
    assert body_of(section, Symbol("odd", section, 1)) == [
        ".byte 0x00",
        "odd:",
        ".long 0x04030201",
        ".byte 0x05",
        ".byte 0x06",
    ]


def test_a_relocation_that_fits_no_operand_makes_its_word_data() -> None:
    section = code(NOP, bytes(4), NOP)
    section.relocations = [Relocation(4, RelocationType.ABS_32, EXTERNAL)]
    assert body_of(section) == ["nop", ".long ext", "nop"]


def test_a_relocation_of_a_part_of_a_word() -> None:
    section = code(NOP[:2] + bytes(2))
    section.relocations = [Relocation(2, RelocationType.ABS_16, EXTERNAL)]
    assert body_of(section) == [".byte 0x00", ".byte 0x00", ".half ext"]


def test_two_relocations_in_one_word() -> None:
    section = code(word("cmpult m,m,x16", 0, 1, 0)[:2] + bytes(2))
    section.relocations = [
        Relocation(2, RelocationType.ABS_16, EXTERNAL),
        Relocation(0, RelocationType.ABS_16, EXTERNAL),
    ]
    assert body_of(section) == [".half ext", ".half ext"]


def test_a_wide_relocation_in_code() -> None:
    section = code(NOP, bytes(8), NOP)
    section.relocations = [Relocation(4, RelocationType.ABS_64, EXTERNAL)]
    assert body_of(section) == ["nop", ".quad ext", "nop"]


def test_data_among_instructions_takes_the_bundle_apart() -> None:
    """The partner of a word that must be data cannot be written as half of a bundle either."""
    section = code(LOAD, ADD)
    section.relocations = [Relocation(0, RelocationType.ABS_8, EXTERNAL)]
    assert body_of(section)[0] == ".byte ext"
    assert body_of(section)[-1] == ".long 0xd8203010"


@pytest.mark.parametrize(
    ("number", "content", "name"),
    [
        (RelocationType.ABS_20, bytes(4), "20"),
        (RelocationType.RUN, bytes(4), "RUN"),
        (RelocationType.ABS_21, b"\0\0\0\x80", "21"),
        (12, bytes(4), "type 12"),
    ],
)
def test_what_data_cannot_say_is_a_comment(number: int, content: bytes, name: str) -> None:
    section = data(content)
    section.relocations = [Relocation(0, number, EXTERNAL, 4)]
    assert body_of(section) == [
        f"# lost: relocation {name} at 0x0 against ext+4",
        f".long {int.from_bytes(content, 'little'):#010x}",
    ]


def test_of_overlapping_relocations_the_first_is_kept() -> None:
    section = data(bytes(8))
    section.relocations = [
        Relocation(0, RelocationType.ABS_32, EXTERNAL),
        Relocation(2, RelocationType.ABS_32, EXTERNAL),
    ]
    lost, *kept = body_of(section)
    assert lost == "# lost: relocation 32 at 0x2 against ext"
    assert kept == [".long ext", ".long 0x00000000"]


def test_references_to_sections_get_labels() -> None:
    section = code(word("bri t19", 0), NOP)
    other = data(bytes(8))
    here, there = (Symbol("", each, type=SymbolType.SECTION) for each in (section, other))
    section.relocations = [Relocation(0, RelocationType.ABS_19_S2, here, 4)]
    other.relocations = [Relocation(4, RelocationType.ABS_32, there, 2)]
    obj = relocatable(section, other, symbols=[here, there])
    assert [line.strip() for line in text_of(obj) if "L" in line or "bri" in line] == [
        "bri .L4_1",
        ".L4_1:",
        ".L2_2:",
        ".long .L2_2",
    ]


@pytest.mark.parametrize(
    ("addend", "expression"),
    [(8, ".L8_1"), (2, ".L0_1+2"), (12, ".L0_1+12"), (16, ".L10_1"), (20, ".L0_1+20")],
    ids=["instruction", "within a word", "within a bundle", "end", "past the end"],
)
def test_references_to_places_where_no_label_can_stand(addend: int, expression: str) -> None:
    section = code(word("bri t19", 0), NOP, LOAD, ADD)
    symbol = Symbol("", section, type=SymbolType.SECTION)
    section.relocations = [Relocation(0, RelocationType.ABS_19_S2, symbol, addend)]
    lines = body_of(section, symbol)
    assert f"bri {expression}" in lines
    assert f"{expression.split('+')[0]}:" in lines


def test_a_negative_addend_reaches_before_the_section() -> None:
    section = data(bytes(4))
    symbol = Symbol("", section, type=SymbolType.SECTION)
    section.relocations = [Relocation(0, RelocationType.ABS_32, symbol, -4)]
    assert body_of(section, symbol) == [".L0_1:", ".long .L0_1-4"]


def test_symbols_where_no_label_can_stand_are_set() -> None:
    section = code(LOAD, ADD, NOP)
    lines = body_of(section, Symbol("half", section, 4, 2, Binding.GLOBAL), Symbol("b", section, 9))
    assert lines[:5] == [
        ".L0_1:",
        ".globl half",
        "# lost: the size of half, 2 bytes",
        ".set half, .L0_1+4",
        ".set b, .L0_1+9",
    ]


def test_symbols_at_the_end_of_a_section() -> None:
    section = code(NOP)
    assert body_of(section, Symbol("end", section, 4)) == ["nop", "end:"]


def test_symbols_of_an_empty_section() -> None:
    section = code()
    assert body_of(section, Symbol("start", section)) == ["start:"]


def test_symbols_within_zeroed_space() -> None:
    section = Section(".bss", SectionType.NOBITS, DATA, alignment=2, size=10)
    assert body_of(section, Symbol("x", section, 3)) == [".space 3", "x:", ".space 7"]


def test_attributes_of_symbols() -> None:
    section = data(bytes(4))
    symbol = Symbol("x", section, 0, 4, Binding.WEAK, SymbolType.OBJECT, Visibility.HIDDEN)
    assert body_of(section, symbol)[:5] == [
        ".weak x",
        ".hidden x",
        ".type x, @object",
        ".size x, 4",
        "x:",
    ]


def test_strange_names_are_quoted_everywhere() -> None:
    section = code(word("bri t19", 0))
    symbol = Symbol('a "b"', section, 0, 4, Binding.GLOBAL)
    section.relocations = [Relocation(0, RelocationType.ABS_19_S2, symbol, 4)]
    assert body_of(section, symbol) == [
        '.globl "a \\"b\\""',
        '.size "a \\"b\\"", 4',
        '"a \\"b\\"":',
        'bri "a \\"b\\""+4',
    ]


REPEAT = word("rpt m,u8", 3, 0)


def test_faulty_repeats_switch_the_check_off() -> None:
    assert text_of(relocatable(code(REPEAT, NOP)))[0] == "    .allow_invalid_repeat"


def test_good_repeats_do_not() -> None:
    assert "    .allow_invalid_repeat" not in text_of(relocatable(code(NOP, REPEAT, LOAD, ADD)))


def executable(*sections: Section, symbols: list[Symbol] | None = None) -> ObjectFile:
    return ObjectFile("test", FileType.EXECUTABLE, sections=list(sections), symbols=symbols or [])


def test_executables_have_addresses_and_numeric_targets() -> None:
    section = code(
        word("setzi m,x20", 0, 0x4C010),
        word("call m,t20", 10, 0x4C018),
        word("setzi m,x20", 0, 0x4C014),
        word("bri t19", 0x50000),
    )
    section.address = 0x4C010
    symbols = [
        Symbol("kernel", section, 0x4C010, 16, Binding.GLOBAL, SymbolType.FUNC),
        Symbol("limit", value=0x4C014, is_absolute=True),
    ]
    assert disassemble_object(executable(section, symbols=symbols))[-5:] == [
        "kernel:",
        "    setzi $m0, 311312                       # 0004c010: 1904c010 <kernel>",
        "    call $m10, 0x4c018                      # 0004c014: 18a13006 <kernel+0x8>",
        "    setzi $m0, 311316                       # 0004c018: 1904c014",
        "    bri 0x50000                             # 0004c01c: 40814000",
    ]


def test_relocations_of_executables_have_been_applied() -> None:
    section = code(word("setzi m,x20", 0, 0x4C010))
    section.relocations = [Relocation(0, RelocationType.ABS_20, EXTERNAL)]
    assert text_of(executable(section))[-1] == "    setzi $m0, 311312"


def with_lines(section: Section, *rows: tuple[int, str, int]) -> ObjectFile:
    section_symbol = Symbol("", section, type=SymbolType.SECTION)
    symbols = {section: section_symbol}

    def symbol_of(each: Section) -> Symbol:
        return symbols.setdefault(each, Symbol("", each, type=SymbolType.SECTION))

    line_rows = [LineRow(section, offset, file, line) for offset, file, line in rows]
    debug = line_sections(line_rows, "test", "a.S", symbol_of)
    return relocatable(section, *debug, symbols=list(symbols.values()))


def test_source_lines_stand_before_the_first_instruction_of_each() -> None:
    section = code(NOP, NOP, LOAD, ADD, NOP)
    obj = with_lines(section, (0, "a.S", 3), (8, "a.S", 4), (12, "a.S", 5), (16, "b.S", 5))
    assert [line.strip() for line in text_of(obj)[3:]] == [
        "# a.S:3",
        "nop",
        "nop",
        "# a.S:4",
        "{ ld32 $a4, $m1, $m15, 3",
        "# a.S:5",
        "f32add $a1, $a2, $a3 }",
        "# b.S:5",
        "nop",
    ]


def test_faulty_line_tables_do_not_hide_the_code() -> None:
    broken = Section(".debug_line", data=b"\xff", size=1)
    lines = text_of(relocatable(code(NOP), broken))
    assert lines[0].startswith("    # no source lines: test.o: .debug_line")
    assert lines[-1] == "    nop"


def test_control_characters_in_comments_are_escaped() -> None:
    section = code(NOP)
    obj = with_lines(section, (0, "a\n.S", 3))
    assert "    # a\\n.S:3" in disassemble_object(obj)


def test_entries_tell_what_is_known() -> None:
    section = code(SYNC, word("call m,t20", 10, 0x4C010))
    section.address = 0x4C010
    symbol = Symbol("kernel", section, 0x4C010, 8, Binding.GLOBAL, SymbolType.FUNC)
    first, second = code_entries(executable(section, data(bytes(4)), symbols=[symbol]))
    assert (first.section, first.address, first.size, first.value) == (
        ".text",
        0x4C010,
        4,
        0x41800003,
    )
    assert (first.text, first.mode, first.symbol, first.target) == (
        "sync 3",
        Mode.SUPERVISOR,
        "kernel",
        None,
    )
    assert (second.text, second.mode, second.symbol, second.target) == (
        "call $m10, 0x4c010",
        None,
        "kernel+0x4",
        "kernel",
    )


def test_entries_have_sources_and_symbolic_texts() -> None:
    section = code(word("setzi m,x20", 0, 0), NOP)
    section.relocations = [Relocation(0, RelocationType.ABS_20, EXTERNAL, 4)]
    first, second = code_entries(with_lines(section, (0, "a.S", 3)))
    assert (first.text, first.source, first.symbol) == ("setzi $m0, ext+4", ("a.S", 3), None)
    assert second.source == ("a.S", 3)
