"""Names in assembly text."""

import pytest

from tilewright.elf.object import Binding, Section, Symbol, SymbolType
from tilewright.elf.symbol_text import Names, SymbolIndex, quoted, with_addend


@pytest.mark.parametrize("name", ["f", "_f", ".Lx", "a.b$c_9", ".text.f", "__runCodelet_a__B___c"])
def test_plain_names_stay(name: str) -> None:
    assert quoted(name) == name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".", '"."'),
        ("9f", '"9f"'),
        ("$m0", '"$m0"'),
        ("f@abs@21", '"f@abs@21"'),
        ("operator()", '"operator()"'),
        ('a"b', '"a\\"b"'),
        ("a\\b", '"a\\\\b"'),
        ("a\nb\tc\rd", '"a\\nb\\tc\\rd"'),
        ("größe", '"größe"'),
        ("a b#c", '"a b#c"'),
        ("", '""'),
    ],
)
def test_other_names_are_quoted(name: str, text: str) -> None:
    assert quoted(name) == text


def test_addends_carry_their_sign() -> None:
    assert [with_addend("f", each) for each in (0, 4, -16)] == ["f", "f+4", "f-16"]


def test_local_symbols_give_way_to_global_ones_of_their_name() -> None:
    section = Section(".text", size=8)
    local = Symbol("f", section)
    other = Symbol("f", section, 4)
    exported = Symbol("f", section, binding=Binding.GLOBAL)
    names = Names([local, other, exported], [section])
    assert [names.of(each) for each in (local, other, exported)] == ["f.1", "f.2", "f"]


def test_a_local_symbol_does_not_take_the_name_of_an_undefined_one() -> None:
    section = Section(".text", size=8)
    local, undefined = Symbol("f", section), Symbol("f", binding=Binding.GLOBAL)
    names = Names([local, undefined], [section])
    assert (names.of(local), names.of(undefined)) == ("f.1", "f")


def test_sections_of_one_name_are_told_apart() -> None:
    sections = [Section(".data"), Section(".data"), Section(".data.1")]
    names = Names([], sections)
    texts = [names.of_section(section) for section in sections]
    assert texts == [".data", ".data.1", ".data.1.1"]


def test_labels_name_offset_and_section() -> None:
    first, second = Section(".text"), Section(".data")
    assert Names([], [first, second]).label(second, 0x10) == ".L10_2"


def test_labels_differ_from_all_symbols() -> None:
    section = Section(".text")
    names = Names([Symbol(".L0_1", section), Symbol(".L_x", section)], [section])
    assert names.label(section, 0) == ".L__0_1"


def test_sections_outside_the_text_cannot_be_referred_to() -> None:
    shown, hidden = Section(".text"), Section(".debug_line")
    names = Names([], [shown])
    assert names.can_refer_to(Symbol("", shown, type=SymbolType.SECTION))
    assert not names.can_refer_to(Symbol("", hidden, type=SymbolType.SECTION))


def test_the_symbol_without_a_name_cannot_be_referred_to() -> None:
    nothing = Symbol("", is_absolute=True)
    assert not Names([nothing], []).can_refer_to(nothing)


def test_finds_the_last_symbol_at_or_before_a_place() -> None:
    section = Section(".text", size=16)
    first, second = Symbol("a", section, 4), Symbol("b", section, 8)
    index = SymbolIndex([second, first], [section])
    assert index.find(section, 0) is None
    assert index.find(section, 4) == (first, 0)
    assert index.find(section, 7) == (first, 3)
    assert index.find(section, 100) == (second, 92)


def test_prefers_functions_and_global_names() -> None:
    section = Section(".text", size=16)
    function = Symbol("f", section, type=SymbolType.FUNC)
    exported = Symbol("e", section, binding=Binding.GLOBAL)
    label = Symbol("l", section)
    assert SymbolIndex([exported, label], [section]).find(section, 0) == (exported, 0)
    assert SymbolIndex([function, exported], [section]).find(section, 0) == (function, 0)


def test_finds_addresses_inside_sections_only() -> None:
    section = Section(".text", size=8, address=0x4C010)
    symbol = Symbol("f", section, 0x4C010)
    index = SymbolIndex([symbol], [section])
    found = [index.find_address(each) for each in (0x4C00C, 0x4C010, 0x4C014, 0x4C018)]
    assert found == [None, (symbol, 0), (symbol, 4), None]
