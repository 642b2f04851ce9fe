"""The stack that code takes, from records of functions and the calls between them."""

from typing import TYPE_CHECKING

import pytest

from tilewright.elf.linker import Linker, LinkError
from tilewright.elf.object import Binding, ObjectFile, SectionFlag, Symbol, SymbolType
from tilewright.elf.relocations import RelocationType
from tilewright.elf.stack import StackNeed

if TYPE_CHECKING:
    from tests.elf.conftest import ObjectMaker

Maker = type["ObjectMaker"]

CODE = SectionFlag.ALLOC | SectionFlag.EXECINSTR
BRANCH = 0x40800000
"""`bri 0`"""


def need(*files: ObjectFile, entry: str = "_start") -> StackNeed:
    (found,) = Linker().link(files, entries=[entry]).stack_needs
    assert found.entry == entry
    return found


def test_a_complete_record_counts_alone(maker: Maker) -> None:
    main = maker("main.o")
    start = main.function("_start", "helper")
    main.function("helper")
    main.stack_size(start, 96)
    assert need(main.file) == StackNeed("_start", 96)


def test_sizes_of_more_than_seven_bits(maker: Maker) -> None:
    main = maker("main.o")
    main.stack_size(main.function("_start"), 0x12345)
    assert need(main.file).size == 0x12345


def test_own_frames_add_up_along_the_deepest_calls(maker: Maker) -> None:
    main, other = maker("main.o"), maker("other.o")
    main.stack_size(main.function("_start", "left", "right"), 8, own=True)
    main.stack_size(main.function("left", "leaf"), 100, own=True)
    other.stack_size(other.function("right", "leaf", "complete"), 16, own=True)
    other.stack_size(other.function("leaf"), 24, own=True)
    other.stack_size(other.function("complete"), 120)
    # left: 8 + 100 + 24; right: 8 + 16 + max(24, 120)
    assert need(main.file, other.file).size == 144


def test_a_zero_that_is_recorded_is_zero(maker: Maker) -> None:
    main = maker("main.o")
    main.stack_size(main.function("_start", "leaf"), 0, own=True)
    main.stack_size(main.function("leaf"), 0)
    assert need(main.file) == StackNeed("_start", 0)


def test_functions_without_a_record_make_the_need_unknown(maker: Maker) -> None:
    main = maker("main.o")
    main.stack_size(main.function("_start", "silent", "known"), 8, own=True)
    main.stack_size(main.function("known"), 8)
    main.function("silent", "deeper")
    main.function("deeper")
    found = need(main.file)
    assert found == StackNeed("_start", None, unknown=("deeper", "silent"))
    assert str(found) == "unknown for: deeper, silent"


def test_calls_out_of_the_image_are_unknown(maker: Maker) -> None:
    main = maker("main.o")
    main.stack_size(main.function("_start", "rom"), 8, own=True)
    image = Linker(absolutes={"rom": 0x4C000}).link([main.file])
    assert image.stack_needs == (StackNeed("_start", None, unknown=("rom",)),)


def test_recursion_is_unbounded_and_names_the_cycle(maker: Maker) -> None:
    main = maker("main.o")
    main.stack_size(main.function("_start", "ping"), 8, own=True)
    main.stack_size(main.function("ping", "pong"), 8, own=True)
    main.stack_size(main.function("pong", "ping"), 8, own=True)
    found = need(main.file)
    assert found == StackNeed("_start", None, cycle=("ping", "pong", "ping"))
    assert str(found) == "unbounded: ping calls pong calls ping"


def test_a_complete_record_ends_recursion(maker: Maker) -> None:
    main = maker("main.o")
    main.stack_size(main.function("_start", "ping"), 8, own=True)
    main.stack_size(main.function("ping", "pong"), 72)
    main.stack_size(main.function("pong", "ping"), 8, own=True)
    assert need(main.file).size == 80


def test_a_function_may_call_itself_or_branch_to_its_start(maker: Maker) -> None:
    looping, recursive = maker("looping.o"), maker("recursive.o")
    code = looping.words(".text", BRANCH, flags=CODE)
    start = looping.define("_start", code, type=SymbolType.FUNC)
    looping.refer(code, 0, RelocationType.ABS_19_S2, start)
    looping.stack_size(start, 8, own=True)
    assert need(looping.file).size == 8
    recursive.stack_size(recursive.function("_start", "_start"), 8, own=True)
    assert need(recursive.file).cycle == ("_start", "_start")


def test_a_branch_to_another_function_counts_as_a_call(maker: Maker) -> None:
    main = maker("main.o")
    code = main.words(".text", BRANCH, flags=CODE)
    main.stack_size(main.define("_start", code, type=SymbolType.FUNC), 8, own=True)
    main.refer(code, 0, RelocationType.ABS_19_S2, "tail")
    main.stack_size(main.function("tail"), 32)
    assert need(main.file).size == 40


def test_data_references_are_no_calls(maker: Maker) -> None:
    main = maker("main.o")
    start = main.function("_start", words=4)
    main.refer(main.file.sections[0], 8, RelocationType.ABS_20, "worker")
    main.stack_size(start, 8, own=True)
    main.function("worker")
    assert need(main.file).size == 8


def test_functions_in_one_section(maker: Maker) -> None:
    main = maker("main.o")
    call = 0x18A00000
    code = main.words(".text", call, 0, call, 0, 0, 0, flags=CODE)
    start = main.define("_start", code, 0, type=SymbolType.FUNC)
    second = main.define("second", code, 8, type=SymbolType.FUNC, binding=Binding.LOCAL)
    third = main.define("third", code, 16, type=SymbolType.FUNC, binding=Binding.LOCAL)
    section = main.define("", code, binding=Binding.LOCAL, type=SymbolType.SECTION)
    main.refer(code, 0, RelocationType.ABS_19_S2, second)
    main.refer(code, 8, RelocationType.ABS_19_S2, section, 16)
    main.stack_size(start, 1, own=True)
    main.stack_size(section, 2, addend=8, own=True)
    main.stack_size(third, 4, own=True)
    assert need(main.file).size == 7


def test_a_called_place_without_a_symbol_is_a_function(maker: Maker) -> None:
    main = maker("main.o")
    start = main.function("_start", words=8)
    code = main.file.sections[0]
    section = main.define("", code, binding=Binding.LOCAL, type=SymbolType.SECTION)
    code.data = (0x18A00000).to_bytes(4, "little") + code.data[4:]
    main.refer(code, 0, RelocationType.ABS_19_S2, section, 16)
    main.stack_size(start, 8, own=True)
    assert need(main.file).unknown == (".text._start+0x10",)
    main.stack_size(section, 8, addend=16)
    assert need(main.file).size == 16


def test_local_functions_of_equal_name_are_told_apart(maker: Maker) -> None:
    files = []
    for name, size in (("_start", 100), ("other", 4)):
        one = maker(f"{name}.o")
        helper = one.function("helper", binding=Binding.LOCAL)
        one.stack_size(helper, size)
        one.stack_size(one.function(name, helper), 8, own=True)
        files.append(one.file)
    image = Linker().link(files, keep=["other"])
    assert [(each.entry, each.size) for each in image.stack_needs] == [
        ("_start", 108),
        ("other", 12),
    ]


def test_the_record_of_an_overridden_function_does_not_count_for_the_other(maker: Maker) -> None:
    weak, strong = maker("weak.o"), maker("strong.o")
    weak.stack_size(weak.function("_start", binding=Binding.WEAK), 800)
    strong.stack_size(strong.function("_start"), 8)
    assert need(weak.file, strong.file).size == 8


def test_two_records_in_one_section(maker: Maker) -> None:
    main = maker("main.o")
    start = main.function("_start", "leaf")
    leaf = main.function("leaf")
    section = main.section(".stack_sizes.own", bytes([0, 0, 0, 0, 8, 0, 0, 0, 0, 16]), flags=0)
    main.refer(section, 0, RelocationType.ABS_32, start)
    main.refer(section, 5, RelocationType.ABS_32, leaf)
    assert need(main.file).size == 24


@pytest.mark.parametrize("own_first", [True, False])
def test_a_complete_record_goes_before_an_own_frame(maker: Maker, own_first: bool) -> None:
    main = maker("main.o")
    start = main.function("_start", "silent")
    main.function("silent")
    for own in (own_first, not own_first):
        main.stack_size(start, 8 if own else 4, own=own)
    assert need(main.file).size == 4


def test_an_entry_that_is_no_code_is_unknown(maker: Maker) -> None:
    main = maker("main.o")
    main.define("_start", main.words(".data", 0))
    assert need(main.file) == StackNeed("_start", None, unknown=("_start",))


def test_deep_calls_need_no_deep_recursion_of_ours(maker: Maker) -> None:
    main = maker("main.o")
    depth = 3000
    for number in range(depth):
        callees = [f"f{number + 1}"] if number + 1 < depth else []
        main.stack_size(main.function(f"f{number}", *callees), 8, own=True)
    assert need(main.file, entry="f0").size == 8 * depth


@pytest.mark.parametrize(
    ("content", "relocated", "message"),
    [
        (bytes(5), False, r"\.stack_sizes\+0x0: expected the address of a function"),
        (bytes(4), True, r"\.stack_sizes\+0x0: the stack size is cut off"),
        (b"\0\0\0\0\x80", True, "the stack size is cut off"),
        (bytes(6), True, r"\.stack_sizes\+0x5: expected the address of a function"),
    ],
)
def test_malformed_records(maker: Maker, content: bytes, relocated: bool, message: str) -> None:
    main = maker("main.o")
    start: Symbol = main.function("_start")
    section = main.section(".stack_sizes", content, flags=SectionFlag.LINK_ORDER)
    if relocated:
        main.refer(section, 0, RelocationType.ABS_32, start)
    with pytest.raises(LinkError, match=message):
        need(main.file)
