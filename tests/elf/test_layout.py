"""Where sections are placed, and which arenas and sections are refused."""

import re
from typing import TYPE_CHECKING

import pytest

from tilewright.elf.arenas import DEFAULT_ARENAS, Arena, check_arenas, required_interleave
from tilewright.elf.faults import LinkError
from tilewright.elf.inputs import InputFile
from tilewright.elf.layout import Layout, initial_cursors, place_sections
from tilewright.elf.object import SectionFlag

if TYPE_CHECKING:
    from tests.elf.conftest import ObjectMaker

CODE = SectionFlag.ALLOC | SectionFlag.EXECINSTR

# name, size, alignment, flags
Row = tuple[str, int, int, int]


def code(size: int, alignment: int = 4, name: str = ".text") -> Row:
    return (name, size, alignment, CODE)


def data(size: int, alignment: int = 4, name: str = ".data") -> Row:
    return (name, size, alignment, SectionFlag.ALLOC)


def place(
    maker: "type[ObjectMaker]", *rows: Row, arenas: tuple[Arena, ...] = DEFAULT_ARENAS
) -> Layout:
    one = maker("one.o")
    for name, size, alignment, flags in rows:
        one.section(name, size=size, alignment=alignment, flags=flags)
    return place_sections(InputFile(one.file).sections, arenas, initial_cursors(arenas))


def addresses(layout: Layout) -> list[int]:
    return list(layout.addresses.values())


def test_default_arenas() -> None:
    check_arenas(DEFAULT_ARENAS)
    assert [(a.start, a.end, a.is_executable, a.interleave) for a in DEFAULT_ARENAS] == [
        (0x4C018, 0x50000, True, 1),
        (0x5C000, 0x80000, True, 1),
        (0x80000, 0xE7BB0, False, 2),
    ]


def test_sections_follow_each_other_in_order(maker: "type[ObjectMaker]") -> None:
    layout = place(maker, code(8), data(4), code(16))
    assert addresses(layout) == [0x4C018, 0x4C020, 0x4C024]
    assert layout.cursors == (0x4C034, 0x5C000, 0x80000)


def test_alignment_is_that_of_the_address(maker: "type[ObjectMaker]") -> None:
    layout = place(maker, code(4), data(4, alignment=16), data(1, alignment=1), data(8, 8))
    assert addresses(layout) == [0x4C018, 0x4C020, 0x4C024, 0x4C028]


def test_code_is_aligned_to_instructions_whatever_it_asks_for(maker: "type[ObjectMaker]") -> None:
    layout = place(maker, data(3, alignment=1), code(4, alignment=1))
    assert addresses(layout) == [0x4C018, 0x4C01C]


def test_a_section_may_end_where_its_arena_ends(maker: "type[ObjectMaker]") -> None:
    assert addresses(place(maker, code(0x3FE8), code(4))) == [0x4C018, 0x5C000]
    assert addresses(place(maker, code(0x3FEC))) == [0x5C000]


def test_a_small_section_takes_the_rest_that_a_larger_one_skipped(
    maker: "type[ObjectMaker]",
) -> None:
    layout = place(maker, code(0x3FE0), code(0x100), code(8), code(8))
    assert addresses(layout) == [0x4C018, 0x5C000, 0x4FFF8, 0x5C100]


def test_code_stays_below_region_1_and_data_goes_on_there(maker: "type[ObjectMaker]") -> None:
    layout = place(maker, code(0x24000), code(0x3FE8), data(0x100))
    assert addresses(layout) == [0x5C000, 0x4C018, 0x80000]


def test_interleaved_sections_go_to_arenas_of_their_factor(maker: "type[ObjectMaker]") -> None:
    rows = [
        data(8, name=".interleave_2_bank_a"),
        data(8, name=".interleave_1_bank_a"),
        data(8, name=".interleave_2_bank_b"),
    ]
    assert addresses(place(maker, *rows)) == [0x80000, 0x4C018, 0x80008]


def test_required_interleave() -> None:
    names = (".interleave_1", ".interleave_2_bank_a", ".interleave_3", ".data", ".text")
    assert [required_interleave(name) for name in names] == [1, 2, None, None, None]


def test_arenas_are_filled_in_the_order_given(maker: "type[ObjectMaker]") -> None:
    arenas = (Arena("late", 0x60000, 0x60010), Arena("early", 0x50000, 0x50010))
    layout = place(maker, data(8), data(12), data(4), data(4), arenas=arenas)
    assert addresses(layout) == [0x60000, 0x50000, 0x60008, 0x6000C]


def test_all_sections_without_a_place_are_told_together(maker: "type[ObjectMaker]") -> None:
    rows = [
        code(0x24000),
        code(0x3FE4, name=".text.two"),
        code(0x24004, name=".text.huge"),
        code(8, name=".text.late"),
        code(4, name=".text.last"),
    ]
    with pytest.raises(LinkError) as caught:
        place(maker, *rows)
    assert str(caught.value).splitlines() == [
        "sections that do not fit into tile memory:",
        "  .text.huge of one.o: 147460 bytes, aligned to 4, is larger than every arena allowed "
        "for it; free bytes: code0 4, code1 0, region1 424880 (not allowed for this section)",
        "  .text.late of one.o: 8 bytes, aligned to 4, free bytes: "
        "code0 4, code1 0, region1 424880 (not allowed for this section)",
    ]


def test_a_section_that_no_arena_allows(maker: "type[ObjectMaker]") -> None:
    arenas = (Arena("only", 0x80000, 0x81000, interleave=2),)
    with pytest.raises(LinkError, match=r"\.text of one\.o: 8 bytes.* may lie in none of only"):
        place(maker, code(8), arenas=arenas)


@pytest.mark.parametrize(
    ("arenas", "message"),
    [
        ((), "there are no arenas"),
        ((Arena("a", 0x50000, 0x50000),), "a (0x50000..0x50000) is empty"),
        ((Arena("a", 0x4BFFC, 0x50000),), "a (0x4bffc..0x50000) leaves tile memory"),
        (
            (Arena("a", 0x80000, 0xE8004, interleave=2),),
            "leaves tile memory, 0x4c000..0xe8000",
        ),
        (
            (Arena("a", 0x60000, 0x80004, is_executable=True),),
            "instructions can be fetched only below 0x80000",
        ),
        ((Arena("a", 0x7FFFC, 0x80004),), "interleave factor 1, which only 0x4c000..0x80000 has"),
        (
            (Arena("a", 0x7FFFC, 0x80004, interleave=2),),
            "interleave factor 2, which only 0x80000..0xe8000 has",
        ),
        ((Arena("a", 0x50000, 0x50010, interleave=3),), "factor 3; there are 1 and 2"),
        (
            (Arena("a", 0x50000, 0x50010), Arena("b", 0x5000F, 0x50020)),
            "a (0x50000..0x50010) and b (0x5000f..0x50020) overlap",
        ),
        (
            (Arena("a", 0x50000, 0x50010), Arena("a", 0x50010, 0x50020)),
            "there are 2 arenas named a",
        ),
    ],
)
def test_unusable_arenas(arenas: tuple[Arena, ...], message: str) -> None:
    with pytest.raises(LinkError, match=re.escape(message)):
        check_arenas(arenas)


def test_faults_of_all_arenas_are_told_together() -> None:
    with pytest.raises(LinkError) as caught:
        check_arenas([Arena("a", 0x50000, 0x50000), Arena("b", 0, 4)])
    assert str(caught.value).count("\n") == 2


def test_whole_memory_is_usable() -> None:
    check_arenas(
        [
            Arena("region0", 0x4C000, 0x80000, is_executable=True),
            Arena("region1", 0x80000, 0xE8000, interleave=2),
        ]
    )
