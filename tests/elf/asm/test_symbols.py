"""Names: labels, variables, external symbols, and what is said about them."""

from typing import TYPE_CHECKING

import pytest

from tilewright.elf.object import Binding, SymbolType, Visibility
from tilewright.elf.relocations import RelocationType

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Assemble, Faults, OneFault

ABS_32 = RelocationType.ABS_32
ABS_19_S2 = RelocationType.ABS_19_S2


def test_label_has_the_place_where_it_stands(assembly: "Assemble") -> None:
    made = assembly("nop\na: b: nop\nnop\nc:\n.data\nd: .long 1\n")
    places = {name: made.symbol(name) for name in "abcd"}
    assert {name: symbol.value for name, symbol in places.items()} == {
        "a": 4,
        "b": 4,
        "c": 12,
        "d": 0,
    }
    assert places["a"].section is made.section(".text")
    assert places["d"].section is made.section(".data")
    assert {symbol.binding for symbol in places.values()} == {Binding.LOCAL}
    assert {symbol.type for symbol in places.values()} == {SymbolType.NOTYPE}


def test_kinds_of_names(assembly: "Assemble") -> None:
    names = ["plain", "_under", ".dotted", "a.b$c@d", "$dollar", '"odd name; {"', "x2"]
    made = assembly("".join(f"{name}: nop\n.long {name}\n" for name in names))
    shown = [name.strip('"') for name in names]
    assert made.names() == shown
    assert [name for _, _, name, _ in made.relocations()] == shown


def test_bindings(assembly: "Assemble") -> None:
    source = """
    .globl one, two
    .global three
    .weak four
    .local five
    .extern six
    one: two: three: four: five: six: nop
    """
    made = assembly(source)
    assert {name: Binding(made.symbol(name).binding) for name in made.names()} == {
        "one": Binding.GLOBAL,
        "two": Binding.GLOBAL,
        "three": Binding.GLOBAL,
        "four": Binding.WEAK,
        "five": Binding.LOCAL,
        "six": Binding.LOCAL,
    }


def test_binding_may_come_after_the_definition(assembly: "Assemble") -> None:
    assert assembly("late: nop\n.globl late").symbol("late").binding == Binding.GLOBAL


def test_types_and_sizes(assembly: "Assemble") -> None:
    source = """
    .type f, @function
    .type g, %function
    .type h, "function"
    .type i, STT_FUNC
    .type d, @object
    f: nop
    g: nop
    h: nop
    i: nop
    d: nop
    .size f, . - f
    .size d, 4
    .size g, end - g
    end:
    """
    made = assembly(source)
    types = {name: SymbolType(made.symbol(name).type) for name in "fghid"}
    assert types == {**dict.fromkeys("fghi", SymbolType.FUNC), "d": SymbolType.OBJECT}
    assert {name: made.symbol(name).size for name in "fgd"} == {"f": 20, "g": 16, "d": 4}


def test_visibilities(assembly: "Assemble") -> None:
    made = assembly(".hidden a, b\n.internal c\n.protected d\na: b: c: d: e: nop")
    assert {name: Visibility(made.symbol(name).visibility) for name in "abcde"} == {
        "a": Visibility.HIDDEN,
        "b": Visibility.HIDDEN,
        "c": Visibility.INTERNAL,
        "d": Visibility.PROTECTED,
        "e": Visibility.DEFAULT,
    }


def test_undefined_names_are_external_symbols(assembly: "Assemble") -> None:
    made = assembly("call $lr, elsewhere\ncall $lr, elsewhere\n.weak maybe\n.long maybe\n")
    assert made.names() == ["elsewhere", "maybe"]
    symbol = made.symbol("elsewhere")
    assert (symbol.section, symbol.is_absolute, symbol.binding) == (None, False, Binding.GLOBAL)
    assert made.symbol("maybe").binding == Binding.WEAK
    assert made.relocations() == [
        (0, ABS_19_S2, "elsewhere", 0),
        (4, ABS_19_S2, "elsewhere", 0),
        (8, ABS_32, "maybe", 0),
    ]


def test_private_labels_become_section_and_addend(assembly: "Assemble") -> None:
    source = """
    nop
    .Lprivate: bri .Lprivate
    public: bri public
    .data
    .long 5
    .Ldata:
    .long .Lprivate + 8, .Ldata
    """
    made = assembly(source)
    assert made.names() == ["public"]
    assert made.relocations(".text") == [(4, ABS_19_S2, ".text", 4), (8, ABS_19_S2, "public", 0)]
    assert made.relocations(".data") == [(4, ABS_32, ".text", 12), (8, ABS_32, ".data", 4)]


def test_undefined_private_label_is_a_fault(one_fault: "OneFault") -> None:
    # It cannot be in another object, since it never reaches a symbol table.
    one_fault("nop\nbri «.Lnowhere»", "'.Lnowhere'")


def test_undefined_local_symbol_is_a_fault(faults: "Faults") -> None:
    (fault,) = faults(".local mine\n.long mine")
    assert "'mine'" in fault.message


def test_numeric_labels(assembly: "Assemble") -> None:
    source = """
    1: nop
    bri 1b
    bri 1f
    2: bri 2b
    1: bri 1b
    bri 2b
    bri 2f
    bri 1f
    2: 1: nop
    """
    made = assembly(source)
    # Word places: 1: 0, bri at 1 2, 2: 3, 1: 4, bri at 5 6 7, 2: 1: 8.
    targets = [(4, 0), (8, 16), (12, 12), (16, 16), (20, 12), (24, 32), (28, 32)]
    assert made.relocations() == [
        (offset, ABS_19_S2, ".text", target) for offset, target in targets
    ]
    assert made.names() == []


def test_numeric_labels_in_other_sections(assembly: "Assemble") -> None:
    made = assembly("nop\n1: nop\n.data\n.long 1b, 1f\n.text\n1: nop")
    assert made.relocations(".data") == [(0, ABS_32, ".text", 4), (4, ABS_32, ".text", 8)]


def test_numeric_labels_that_are_not_there(one_fault: "OneFault") -> None:
    one_fault("bri «1b»\n1: nop", "no label '1:' before this")
    one_fault("1: nop\nbri «1f»", "no label '1:' after this")
    one_fault("1: .long 1b + «2b»", "no label '2:' before this")


def test_numeric_label_in_an_assignment(assembly: "Assemble") -> None:
    # The label is bound where the variable is set, not where it is used.
    made = assembly("1: nop\n.set x, 1b\n.set y, 1f\n1: nop\n.long x, y\n")
    assert made.relocations() == [(8, ABS_32, ".text", 0), (12, ABS_32, ".text", 4)]


def test_variables_can_change(assembly: "Assemble") -> None:
    source = """
    .set a, 1
    .long a
    .equ a, a + 1
    .long a
    a = a * 10
    .long a
    """
    made = assembly(source)
    assert made.words() == [1, 2, 20]
    assert (made.symbol("a").value, made.symbol("a").is_absolute) == (20, True)


def test_variable_set_after_its_use_is_a_byte_address_in_branches(assembly: "Assemble") -> None:
    made = assembly("bri x\ncall $m0, x + 4\n.set x, 0x65434")
    assert made.words() == [0x40800000 | 0x65434 // 4, 0x18000000 | 0x65438 // 4]


def test_variable_for_a_place(assembly: "Assemble") -> None:
    source = "nop\na: nop\n.set b, a + 4\n.globl b\n.type b, @function\nbri b\n.set c, d\nd: nop\n"
    made = assembly(source)
    symbol = made.symbol("b")
    assert (symbol.section, symbol.value) == (made.section(".text"), 8)
    assert (symbol.binding, symbol.type) == (Binding.GLOBAL, SymbolType.FUNC)
    assert made.symbol("c").value == 12
    # The variable is replaced by what it stands for.
    assert made.relocations() == [(8, ABS_19_S2, "a", 4)]


def test_variables_with_private_names_stay_out(assembly: "Assemble") -> None:
    made = assembly(".set .Lsize, 3\n.long .Lsize")
    assert (made.words(), made.names()) == ([3], [])


def test_variable_named_like_a_register_with_dollar(assembly: "Assemble") -> None:
    made = assembly(".set $k, 50\nadd $m0, $m0, $k\n.long $k + 1")
    assert made.words() == [0x22000032, 51]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a: nop\n«a»: nop", "'a' is defined already, at <input>:1"),
        ("a = 3\n«a»: nop", "'a' is defined already, at <input>:1"),
        ("a: nop\n«.set» a, 3", "'a' is a label already, at <input>:1"),
        ("a: nop\n«a» = 3", "'a' is a label already"),
        (".equiv a, 3\n«.equiv» a, 4", "'a' is defined already"),
        (".set «1a», 3", "expected a symbol"),
        (".set a« »", "needs a comma"),
        (".set a, 1, «2»", "unexpected operand"),
        ("«.globl»", "needs a symbol"),
        (".globl a «b»", "comma"),
        (".globl a,« »", "expected a symbol"),
        (".type a, «@func»", "unknown symbol type '@func'"),
        (".type a« »", "needs a comma"),
        ("a: nop\n.size a, «a»", "must be a number"),
        ("a: nop\n.size a, «-4»", "must be a number, 0 or more"),
        (".size a, «4»", "'a'"),
        ("a: nop\n.size a, «end - a»", "'end'"),
    ],
)
def test_fault(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


@pytest.mark.parametrize(
    "source",
    [
        ".set a, a + 1\n.long a",
        ".set a, elsewhere",
        ".set a, b - c",
        ".set a, 1 / b\n.set b, 0",
    ],
)
def test_variable_without_a_value(faults: "Faults", source: str) -> None:
    (fault,) = faults(source)
    assert (fault.line, fault.first) == (1, 1)
    assert fault.message


def test_variables_that_depend_on_each_other(faults: "Faults") -> None:
    found = faults(".set a, b\n.set b, a\n.long a\nadd $m0, $m0, b")
    assert {fault.line for fault in found} <= {1, 2}
    assert all("depends on itself" in fault.message for fault in found)


def test_faulty_assignment_is_reported_once(one_fault: "OneFault") -> None:
    one_fault(".set a, 1 «+»\n.long a\nadd $m0, $m0, a\n.if a\n.endif\n.size b, a", "expected")


def test_location_counter_in_messages(faults: "Faults") -> None:
    (fault,) = faults(".size a, . - b\na: nop")
    assert "''" not in fault.message
