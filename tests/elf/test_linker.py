"""Linking: which definition a name takes, what is kept, what the image holds."""

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tilewright.elf.arenas import Arena
from tilewright.elf.image import Image
from tilewright.elf.lines import LineRow, line_sections, read_lines
from tilewright.elf.linker import Linker, LinkError
from tilewright.elf.linkmap import map_text
from tilewright.elf.object import (
    Binding,
    FileType,
    ObjectFile,
    Section,
    SectionFlag,
    SectionType,
    Symbol,
    SymbolType,
)
from tilewright.elf.reader import read_object
from tilewright.elf.relocations import RelocationType
from tilewright.elf.writer import write_object

if TYPE_CHECKING:
    from tests.elf.conftest import ObjectMaker

Maker = type["ObjectMaker"]

CODE = SectionFlag.ALLOC | SectionFlag.EXECINSTR
ABS_32 = RelocationType.ABS_32
START = 0x4C018


def word(image: Image, address: int) -> int:
    """The word of memory at `address`."""
    for segment in image.segments:
        if segment.address <= address < segment.end:
            offset = address - segment.address
            return int.from_bytes(segment.data[offset : offset + 4], "little")
    raise AssertionError(f"nothing at {address:#x}")


def section_names(image: Image) -> list[str]:
    return [section.name for section in image.sections]


def pointer(maker: Maker, target: str, name: str = "main.o") -> ObjectFile:
    """An object whose `_start` is a word that holds the address of `target`."""
    main = maker(name)
    main.define("_start", main.words(".data", 0))
    main.refer(main.file.sections[0], 0, ABS_32, target)
    return main.file


class TestWords:
    def test_calls_hold_the_word_address_of_the_callee(self, maker: Maker) -> None:
        main = maker("main.o")
        main.function("_start", "kernel")
        other = maker("kernel.o")
        other.function("kernel")
        image = Linker().link([main.file, other.file])
        assert image.entries == {"_start": START}
        # _start: call kernel, return; kernel at 0x4c020, which is word 0x13008
        assert [word(image, START + 4 * index) for index in range(3)] == [
            0x18A13008,
            0x43A00000,
            0x43A00000,
        ]

    def test_addends_count_from_symbols_and_sections(self, maker: Maker) -> None:
        main = maker("main.o")
        table = main.words(".data.table", 0, 0, 0)
        values = main.words(".data.values", 1, 2, 3)
        main.define("_start", table)
        whole = main.define("", values, binding=Binding.LOCAL, type=SymbolType.SECTION)
        third = main.define("third", values, 8)
        main.refer(table, 0, ABS_32, whole, 4)
        main.refer(table, 4, ABS_32, third)
        main.refer(table, 8, ABS_32, third, -4)
        image = Linker().link([main.file])
        assert image.address_of("third") == 0x4C02C
        assert [word(image, START + offset) for offset in (0, 4, 8)] == [0x4C028, 0x4C02C, 0x4C028]

    def test_run_counts_from_the_start_of_memory_wherever_arenas_are(self, maker: Maker) -> None:
        main = maker("main.o")
        code = main.words(".text", 0x14000000, flags=CODE)
        main.define("_start", code)
        state = main.section(".data", size=4, alignment=16)
        main.define("state", state)
        main.refer(code, 0, RelocationType.RUN, "state")
        arenas = [Arena("only", 0x508CC, 0x51000, is_executable=True)]
        image = Linker(arenas=arenas).link([main.file])
        assert image.address_of("state") == 0x508D0
        assert word(image, 0x508CC) == 0x14010234

    def test_none_relocations_do_nothing_and_keep_nothing(self, maker: Maker) -> None:
        main = maker("main.o")
        section = main.words(".data", 7)
        main.define("_start", section)
        main.refer(section, 0, RelocationType.NONE, "missing")
        assert word(Linker().link([main.file]), START) == 7

    def test_the_null_symbol_is_zero(self, maker: Maker) -> None:
        main = maker("main.o")
        section = main.words(".data", 7)
        main.define("_start", section)
        main.refer(section, 0, ABS_32, Symbol("", is_absolute=True), 0x123)
        assert word(Linker().link([main.file]), START) == 0x123


class TestKept:
    def test_only_what_the_entry_leads_to(self, maker: Maker) -> None:
        main = maker("main.o")
        main.function("unused", "far_away")
        main.function("_start", "used")
        main.function("used")
        image = Linker().link([main.file])
        assert section_names(image) == [".text._start", ".text.used"]
        assert [each.name for each in image.discarded] == [".text.unused"]
        assert "unused" not in image.symbols

    def test_kept_symbols_are_roots_too(self, maker: Maker) -> None:
        main = maker("main.o")
        main.function("_start")
        main.function("table_only", "helper")
        main.function("helper")
        image = Linker().link([main.file], keep=["table_only"])
        assert section_names(image) == [".text._start", ".text.table_only", ".text.helper"]

    def test_sections_are_reached_through_local_and_section_symbols(self, maker: Maker) -> None:
        main = maker("main.o")
        one = main.words(".data.one", 1)
        two = main.words(".data.two", 2)
        main.words(".data.three", 3)
        start = main.words(".data.start", 0, 0)
        main.define("_start", start)
        main.refer(start, 0, ABS_32, main.define("here", one, binding=Binding.LOCAL))
        section = main.define("", two, binding=Binding.LOCAL, type=SymbolType.SECTION)
        main.refer(start, 4, ABS_32, section)
        image = Linker().link([main.file])
        assert section_names(image) == [".data.one", ".data.two", ".data.start"]

    def test_debug_and_stack_size_sections_keep_nothing(self, maker: Maker) -> None:
        main = maker("main.o")
        main.function("_start")
        unused = main.function("unused")
        debug = main.section(".debug_info", bytes(4), flags=SectionFlag.NONE)
        main.refer(debug, 0, ABS_32, unused)
        main.refer(debug, 0, ABS_32, "undefined_in_debug_only")
        main.stack_size(unused, 8)
        image = Linker().link([main.file])
        assert section_names(image) == [".text._start"]

    def test_cycles_end(self, maker: Maker) -> None:
        main = maker("main.o")
        main.function("_start", "ping")
        main.function("ping", "pong")
        main.function("pong", "ping", "_start")
        for linker, objects in ((Linker(), [main.file]), (Linker([main.file]), [])):
            assert len(linker.link(objects).sections) == 3


class TestNames:
    def test_local_names_belong_to_their_object(self, maker: Maker) -> None:
        files = []
        for name, entry in (("a.o", "_start"), ("b.o", "other")):
            one = maker(name)
            table = one.words(f".data.{entry}", 0)
            one.define(entry, table)
            local = one.define("state", one.words(".data.state", 0), binding=Binding.LOCAL)
            one.refer(table, 0, ABS_32, local)
            files.append(one.file)
        image = Linker().link(files, keep=["other"])
        assert [word(image, START), word(image, START + 8)] == [START + 4, START + 12]

    def test_a_local_symbol_defines_no_name(self, maker: Maker) -> None:
        other = maker("other.o")
        other.define("hidden", other.words(".data", 0), binding=Binding.LOCAL)
        with pytest.raises(LinkError, match="undefined symbol hidden"):
            Linker().link([pointer(maker, "hidden"), other.file])

    @pytest.mark.parametrize("weak_first", [True, False])
    def test_strong_definitions_override_weak_ones(self, maker: Maker, weak_first: bool) -> None:
        weak, strong = maker("weak.o"), maker("strong.o")
        weak.define("value", weak.words(".data", 1), binding=Binding.WEAK)
        strong.define("value", strong.words(".data", 2))
        others = [weak.file, strong.file] if weak_first else [strong.file, weak.file]
        for library, objects in ((others, []), (others[:1], others[1:]), ([], others)):
            image = Linker(library).link([pointer(maker, "value"), *objects])
            assert word(image, image.address_of("value")) == 2
            assert len(image.sections) == 2

    def test_the_first_of_weak_definitions_wins(self, maker: Maker) -> None:
        files = []
        for number in (1, 2):
            one = maker(f"{number}.o")
            one.define("value", one.words(".data", number), binding=Binding.WEAK)
            files.append(one.file)
        for library, objects in ((files, []), (files[:1], files[1:]), ([], files)):
            image = Linker(library).link([pointer(maker, "value"), *objects])
            assert word(image, image.address_of("value")) == 1

    def test_an_object_s_own_weak_symbol_is_overridden_for_itself_too(self, maker: Maker) -> None:
        library = maker("library.o")
        library.function("kernel", "hook")
        library.define("hook", library.words(".text.hook", 1, flags=CODE), binding=Binding.WEAK)
        tile = maker("tile.o")
        tile.function("_start", "kernel")
        tile.define("hook", tile.words(".text.hook", 2, flags=CODE))
        linker = Linker([library.file])
        image = linker.link([tile.file])
        assert word(image, image.address_of("hook")) == 2
        target = image.address_of("hook") // 4
        assert word(image, image.address_of("kernel")) == 0x18A00000 | target
        plain = maker("plain.o")
        plain.function("_start", "kernel")
        image = linker.link([plain.file])
        assert word(image, image.address_of("hook")) == 1

    def test_undefined_weak_symbols_are_zero(self, maker: Maker) -> None:
        main = maker("main.o")
        section = main.words(".data", 1, 2)
        main.define("_start", section)
        main.refer(section, 0, ABS_32, main.name("nowhere", binding=Binding.WEAK))
        main.refer(section, 4, ABS_32, "nowhere", 0x10)
        for linker, objects in ((Linker(), [main.file]), (Linker([main.file]), [])):
            image = linker.link(objects)
            assert [word(image, START), word(image, START + 4)] == [0, 0x10]
            with pytest.raises(LinkError, match="the image has no symbol nowhere"):
                image.address_of("nowhere")

    def test_one_strong_reference_makes_a_name_needed(self, maker: Maker) -> None:
        weak = maker("weak.o")
        section = weak.words(".data", 0)
        weak.define("extra", section)
        weak.refer(section, 0, ABS_32, weak.name("nowhere", binding=Binding.WEAK))
        with pytest.raises(LinkError, match=r"undefined symbol nowhere, which .* of main\.o"):
            Linker().link([weak.file, pointer(maker, "nowhere")], keep=["extra"])

    def test_absolute_symbols_keep_their_value(self, maker: Maker) -> None:
        other = maker("other.o")
        other.absolute("limit", 0x1234)
        other.absolute("limit", 0x5678, binding=Binding.LOCAL)
        image = Linker().link([pointer(maker, "limit"), other.file])
        assert word(image, START) == 0x1234
        assert image.symbols["limit"] == 0x1234

    def test_values_from_the_caller_override_definitions(self, maker: Maker) -> None:
        other = maker("other.o")
        other.define("limit", other.words(".data", 0))
        linker = Linker(absolutes={"limit": 0x99, "unused": 1})
        image = linker.link([pointer(maker, "limit"), other.file])
        assert word(image, START) == 0x99
        assert section_names(image) == [".data"]
        assert image.symbols == {"unused": 1, "limit": 0x99, "_start": START}

    def test_a_constant_may_be_defined_twice_with_one_value(self, maker: Maker) -> None:
        files = []
        for name in ("a.o", "b.o"):
            one = maker(name)
            one.absolute("limit", 5)
            files.append(one.file)
        assert word(Linker().link([pointer(maker, "limit"), *files]), START) == 5
        third = maker("c.o")
        third.absolute("limit", 6)
        with pytest.raises(
            LinkError, match=r"limit, which is defined by 0x5 in a\.o, 0x5 in b\.o and 0x6 in c\.o"
        ):
            Linker().link([pointer(maker, "limit"), *files, third.file])


class TestSymbolFaults:
    def test_all_undefined_and_duplicate_symbols_are_told_together(self, maker: Maker) -> None:
        main = maker("main.o")
        main.function("_start", "gone", "used", "twice")
        main.function("used", "lost", "gone")
        main.function("unused", "never_needed")
        one, two = maker("one.o"), maker("two.o")
        one.function("twice")
        two.function("twice")
        two.function("thrice")
        one.function("thrice")
        main.function("thrice")
        with pytest.raises(LinkError) as caught:
            Linker().link([main.file, one.file, two.file], keep=["absent"])
        assert str(caught.value).splitlines() == [
            "symbols that cannot be resolved:",
            "  undefined symbol absent, which was asked for as an entry or to be kept",
            "  undefined symbol gone, which .text._start of main.o and .text.used of main.o "
            "refer to",
            "  undefined symbol lost, which .text.used of main.o refers to",
            "  duplicate symbol thrice, which is defined by .text.thrice of main.o, "
            ".text.thrice of one.o and .text.thrice of two.o",
            "  duplicate symbol twice, which is defined by .text.twice of one.o and "
            ".text.twice of two.o",
        ]

    def test_many_users_of_a_symbol_are_counted(self, maker: Maker) -> None:
        main = maker("main.o")
        names = [f"f{number}" for number in range(7)]
        main.function("_start", *names)
        for name in names:
            main.function(name, "gone")
        with pytest.raises(LinkError, match=r"\.text\.f3 of main\.o and 3 more refer to"):
            Linker().link([main.file])

    def test_duplicates_of_library_and_own_objects(self, maker: Maker) -> None:
        library, tile = maker("library.o"), maker("tile.o")
        library.function("kernel")
        tile.function("kernel")
        tile.function("_start")
        linker = Linker([library.file])
        with pytest.raises(LinkError, match=r"kernel, which is defined by .*library.*tile"):
            linker.link([tile.file])

    def test_duplicates_within_the_library(self, maker: Maker) -> None:
        one, two = maker("one.o"), maker("two.o")
        one.function("_start")
        two.function("_start")
        with pytest.raises(LinkError, match="duplicate symbol _start"):
            Linker([one.file, two.file]).link()

    def test_a_missing_entry(self, maker: Maker) -> None:
        with pytest.raises(LinkError, match="undefined symbol begin, which was asked for"):
            Linker().link([pointer(maker, "_start")], entries=["begin"])


class TestArchives:
    def test_members_take_part_only_when_they_define_a_needed_name(self, maker: Maker) -> None:
        main, first, second, third = (maker(f"{name}.o") for name in ("main", "a", "b", "c"))
        main.function("_start", "first")
        first.function("first", "second")
        second.function("second")
        third.function("third")
        third.function("_start")  # a duplicate, if it took part
        archives = [third.file, second.file, first.file]
        image = Linker(archives=archives).link([main.file])
        assert [each.file_name for each in image.sections] == ["b.o", "a.o", "main.o"]
        assert [file.name for file in image.scope.files] == ["b.o", "a.o", "main.o"]

    def test_entries_are_needed_names(self, maker: Maker) -> None:
        start = maker("start.o")
        start.function("_start")
        assert Linker(archives=[start.file]).link().entries == {"_start": START}

    def test_objects_go_before_members_and_the_first_member_before_others(
        self, maker: Maker
    ) -> None:
        values = {}
        for name in ("object", "first", "second"):
            values[name] = maker(f"{name}.o")
            section = values[name].words(".data", len(values))
            values[name].define("value", section, binding=Binding.WEAK)
        members = [values["first"].file, values["second"].file]
        linker = Linker(archives=members)
        image = linker.link([pointer(maker, "value"), values["object"].file])
        assert word(image, image.address_of("value")) == 1
        image = linker.link([pointer(maker, "value")])
        assert word(image, image.address_of("value")) == 2

    def test_a_weak_reference_takes_no_member(self, maker: Maker) -> None:
        main, member = maker("main.o"), maker("member.o")
        section = main.words(".data", 1, 1)
        main.define("_start", section)
        main.refer(section, 0, ABS_32, main.name("optional", binding=Binding.WEAK))
        member.function("optional")
        other = member.function("needed")
        linker = Linker(archives=[member.file])
        assert word(linker.link([main.file]), START) == 0
        # … but it means the member's symbol once something else takes the member.
        main.refer(section, 4, ABS_32, "needed")
        image = linker.link([main.file])
        assert word(image, image.address_of("_start")) == image.address_of("optional") != 0
        assert other.section is not None

    def test_a_member_that_takes_part_serves_all_its_names(self, maker: Maker) -> None:
        main, other, both = maker("main.o"), maker("other.o"), maker("both.o")
        main.function("_start", "x", "y")
        other.function("y")
        both.function("x")
        both.function("y")
        image = Linker(archives=[other.file, both.file]).link([main.file])
        assert {each.file_name for each in image.sections} == {"main.o", "both.o"}

    def test_debug_sections_take_no_member(self, maker: Maker) -> None:
        main, member = maker("main.o"), maker("member.o")
        main.function("_start")
        debug = main.section(".debug_info", bytes(4), flags=SectionFlag.NONE)
        main.refer(debug, 0, ABS_32, "extra")
        member.function("extra")
        image = Linker(archives=[member.file]).link([main.file])
        assert [file.name for file in image.scope.files] == ["main.o"]

    def test_a_member_that_takes_part_can_override_and_collide(self, maker: Maker) -> None:
        main, member = maker("main.o"), maker("member.o")
        main.function("_start", "needed", "hook")
        main.define("hook", main.words(".text.hook", 1, flags=CODE), binding=Binding.WEAK)
        member.function("needed")
        member.define("hook", member.words(".text.hook", 2, flags=CODE))
        linker = Linker(archives=[member.file])
        image = linker.link([main.file])
        assert word(image, image.address_of("hook")) == 2
        strong = maker("strong.o")
        strong.function("hook")
        with pytest.raises(LinkError, match=r"hook, which is defined by .*member\.o and .*strong"):
            linker.link([main.file, strong.file])


class TestSuppliedSymbols:
    NAMES = (
        "__interleave_1_start",
        "__interleave_1_end",
        "__interleave_2_start",
        "__interleave_2_end",
        "__image_end",
        "_RAM_END",
    )

    def link(self, maker: Maker, *interleaved: tuple[str, int]) -> list[int]:
        main = maker("main.o")
        table = main.words(".data", *([0] * (len(self.NAMES) + len(interleaved))))
        main.define("_start", table)
        for index, name in enumerate(self.NAMES):
            main.refer(table, 4 * index, ABS_32, name)
        for index, (name, size) in enumerate(interleaved, start=len(self.NAMES)):
            section = main.section(name, size=size)
            symbol = main.define("", section, binding=Binding.LOCAL, type=SymbolType.SECTION)
            main.refer(table, 4 * index, ABS_32, symbol)
        image = Linker().link([main.file])
        values = [word(image, START + 4 * index) for index in range(len(self.NAMES))]
        assert values == [image.symbols[name] for name in self.NAMES]
        return values

    def test_without_interleaved_sections(self, maker: Maker) -> None:
        assert self.link(maker) == [START, START, 0x80000, 0x80000, START + 24, 0xE8000]

    def test_bounds_of_interleaved_sections(self, maker: Maker) -> None:
        values = self.link(
            maker,
            (".interleave_1_bank_a", 8),
            (".interleave_2_bank_a", 16),
            (".interleave_1_bank_b", 4),
        )
        first = START + 4 * 9
        assert values == [first, first + 12, 0x80000, 0x80010, 0x80010, 0xE8000]

    def test_a_definition_goes_first(self, maker: Maker) -> None:
        other = maker("other.o")
        other.absolute("_RAM_END", 5)
        assert word(Linker().link([pointer(maker, "_RAM_END"), other.file]), START) == 5

    def test_library_code_may_use_them(self, maker: Maker) -> None:
        library = maker("library.o")
        table = library.words(".data.end", 0)
        library.define("end", table)
        library.refer(table, 0, ABS_32, "__image_end")
        linker = Linker([library.file])
        for words in (1, 5):
            tile = maker("tile.o")
            tile.function("_start", words=words)
            image = linker.link([tile.file], keep=["end"])
            assert word(image, image.address_of("end")) == START + 4 + 4 * words


class TestRelocationFaults:
    def test_a_fault_names_everything(self, maker: Maker) -> None:
        main = maker("main.o")
        code = main.words(".text", 0, 0, flags=CODE)
        main.define("_start", code)
        main.refer(code, 4, RelocationType.ABS_19_S2, "far", 0x10)
        with pytest.raises(LinkError) as caught:
            Linker(absolutes={"far": 0x1FFFF0}).link([main.file])
        assert str(caught.value).splitlines() == [
            "relocations that cannot be applied:",
            "  main.o: .text+0x4 (at 0x4c01c): 19_S2 reaches 0x0 to 0x1ffffc, got 0x200000, "
            "for far+0x10, which is at 0x1ffff0",
        ]

    @pytest.mark.parametrize(
        ("offset", "type", "addend", "message"),
        [
            (0, RelocationType.RUN, 2, "RUN needs an address aligned to 4 bytes, got 0x4c01a"),
            (0, RelocationType.RUN, -0x1C, "RUN reaches 0x4c000 to 0x8bffc, got 0x4bffc"),
            (0, RelocationType.ABS_32, -0x4C019, "32 reaches 0x0 to 0xffffffff, got -0x1"),
            (0, 12, 0, "there is no relocation type 12"),
            (1, RelocationType.ABS_32, 0, "32 changes 4 bytes, which are outside the section's 4"),
            (-1, RelocationType.ABS_8, 0, "8 changes 1 bytes, which are outside"),
        ],
    )
    def test_refused(self, maker: Maker, offset: int, type: int, addend: int, message: str) -> None:
        main = maker("main.o")
        section = main.words(".data", 0)
        main.define("_start", section)
        main.refer(section, offset, type, "_start", addend)
        for linker, objects in ((Linker(), [main.file]), (Linker([main.file]), [])):
            with pytest.raises(LinkError) as caught:
                linker.link(objects)
            assert message in str(caught.value)

    def test_at_most_twenty_are_shown(self, maker: Maker) -> None:
        main, library = maker("main.o"), maker("library.o")
        for one, name in ((main, "_start"), (library, "kernel")):
            section = one.words(f".data.{name}", *[0] * 15)
            one.define(name, section)
            for index in range(15):
                one.refer(section, 4 * index, RelocationType.ABS_8, name)
        main.refer(main.file.sections[0], 0, ABS_32, "kernel")
        with pytest.raises(LinkError) as caught:
            Linker([library.file]).link([main.file])
        lines = str(caught.value).splitlines()
        assert len(lines) == 22
        assert lines[-1] == "  and 10 more"

    def test_symbols_of_sections_that_are_not_loaded(self, maker: Maker) -> None:
        other = maker("other.o")
        other.define("note", other.section(".comment", b"text", flags=SectionFlag.NONE))
        with pytest.raises(LinkError, match=r"symbol in a section that is not loaded, for note"):
            Linker().link([pointer(maker, "note"), other.file])


class TestObjects:
    def test_architectures_must_match(self, maker: Maker) -> None:
        none, other = maker("none.o", flags=0), maker("other.o", flags=0x02)
        with pytest.raises(
            LinkError, match=r"main\.o is for architecture 0x21, but other\.o for 0x02"
        ):
            Linker().link([none.file, pointer(maker, "_RAM_END"), other.file])

    def test_members_that_take_no_part_may_be_for_another(self, maker: Maker) -> None:
        other = maker("other.o", flags=0x02)
        image = Linker(archives=[other.file]).link([pointer(maker, "_RAM_END")])
        assert image.architecture == 0x21

    def test_executables_are_refused(self, maker: Maker) -> None:
        file = pointer(maker, "_RAM_END")
        file.type = FileType.EXECUTABLE
        with pytest.raises(LinkError, match=r"main\.o is linked already"):
            Linker().link([file])

    def test_alignment_must_be_a_power_of_two(self, maker: Maker) -> None:
        main = maker("main.o")
        main.define("_start", main.words(".data", 0, alignment=12))
        with pytest.raises(LinkError, match="alignment 12, which is not a power of two"):
            Linker().link([main.file])

    def test_negative_values_are_refused(self, maker: Maker) -> None:
        main = maker("main.o")
        main.define("_start", main.words(".data", 0), -4)
        with pytest.raises(LinkError, match=r"main\.o: symbol _start is negative: -4"):
            Linker().link([main.file])
        with pytest.raises(LinkError, match="value given for limit is negative"):
            Linker(absolutes={"limit": -1})


class TestImage:
    def image(self, maker: Maker) -> Image:
        main = maker("main.o")
        main.function("_start", "near")
        main.function("near", main.function("inner", binding=Binding.LOCAL))
        bss = main.section(".bss", type=SectionType.NOBITS, size=8, alignment=16)
        main.define("buffer", bss, type=SymbolType.OBJECT, size=8)
        far = main.words(".interleave_2_bank_a", 0xABCD)
        main.define("far", far)
        return Linker().link([main.file], keep=["buffer", "far"])

    def test_segments_join_neighbours_and_hold_zeros(self, maker: Maker) -> None:
        segments = self.image(maker).segments
        # _start 8 bytes, inner 4 (declared first), near 8; then the buffer at the next 16
        assert [(each.address, len(each.data)) for each in segments] == [
            (0x4C018, 20),
            (0x4C030, 8),
            (0x80000, 4),
        ]
        assert segments[1].data == bytes(8)
        assert segments[2].data == b"\xcd\xab\0\0"

    def test_symbols(self, maker: Maker) -> None:
        image = self.image(maker)
        assert image.symbols == {
            "_start": 0x4C018,
            "near": 0x4C024,
            "buffer": 0x4C030,
            "far": 0x80000,
        }
        rows = [(each.name, each.address, each.size, each.type) for each in image.symbol_list]
        assert rows == [
            ("_start", 0x4C018, 8, SymbolType.FUNC),
            ("inner", 0x4C020, 4, SymbolType.FUNC),
            ("near", 0x4C024, 8, SymbolType.FUNC),
            ("buffer", 0x4C030, 8, SymbolType.OBJECT),
            ("far", 0x80000, 0, SymbolType.NOTYPE),
        ]

    def test_code_never_lies_in_region_1(self, maker: Maker) -> None:
        dice = random.Random(1)
        main = maker("main.o")
        names = [f"f{number}" for number in range(60)]
        main.function("_start", *names)
        for name in names:
            main.function(name, words=dice.randint(1, 600))
            main.define(f"data_{name}", main.section(f".data.{name}", size=dice.randint(1, 2000)))
        for name in names:
            main.define(f"more_{name}", main.section(f".data.{name}", size=dice.randint(1, 2000)))
        keep = [f"{prefix}_{name}" for prefix in ("data", "more") for name in names]
        image = Linker().link([main.file], keep=keep)
        code = [each for each in image.sections if each.name.startswith(".text")]
        data = [each for each in image.sections if each.name.startswith(".data")]
        assert (len(code), len(data)) == (61, 120)
        assert max(each.address + each.size for each in code) <= 0x80000
        assert max(each.address for each in data) > 0x80000
        assert all(
            before.address + before.size <= after.address
            for before, after in pairwise(image.sections)
        )

    def test_the_executable_can_be_written_and_read(self, maker: Maker) -> None:
        image = self.image(maker)
        back = read_object(write_object(image.to_object()), "image")
        assert (back.type, back.flags, back.entry) == (FileType.EXECUTABLE, 0x21, 0x4C018)
        loaded = [(s.name, s.address, s.size) for s in back.sections if s.is_allocated]
        assert loaded == [(s.name, s.address, s.size) for s in image.sections]
        found = {symbol.name: symbol.value for symbol in back.symbols}
        assert found == {each.name: each.address for each in image.symbol_list}

    def test_line_information_follows_the_code(self, maker: Maker) -> None:
        main = maker("main.o")
        main.function("_start", "used")
        main.function("unused")
        main.function("used")
        sections = list(main.file.sections)
        rows = [LineRow(sections[0], 0, "a.S", 3), LineRow(sections[0], 4, "a.S", 4)]
        rows += [LineRow(sections[1], 0, "a.S", 7), LineRow(sections[2], 0, "b.S", 9)]

        symbols: dict[Section, Symbol] = {}
        main.file.sections += line_sections(
            rows,
            "test",
            "a.S",
            lambda each: symbols.setdefault(each, Symbol("", each, type=SymbolType.SECTION)),
        )
        main.file.symbols += symbols.values()
        image = Linker().link([main.file])
        content = write_object(image.to_object())
        assert write_object(image.to_object("renamed")) == content
        back = read_object(content, "image")
        assert [
            (row.section.address + row.offset, row.file, row.line) for row in read_lines(back)
        ] == [(0x4C018, "a.S", 3), (0x4C01C, "a.S", 4), (0x4C020, "b.S", 9)]

    def test_empty_sections_have_an_address_but_no_bytes(self, maker: Maker) -> None:
        other = maker("other.o")
        other.define("end_of_data", other.section(".data.end"))
        image = Linker().link([pointer(maker, "end_of_data"), other.file])
        assert word(image, START) == START + 4
        assert [len(each.data) for each in image.segments] == [4]
        assert read_object(write_object(image.to_object()), "image").symbols

    def test_map(self, maker: Maker) -> None:
        main = maker("main.o")
        start = main.function("_start", "limit")
        main.function("unused")
        main.stack_size(start, 24)
        image = Linker(absolutes={"limit": 0x50000}).link([main.file])
        assert map_text(image) == MAP


MAP = """\
image of 8 bytes in 1 segments
entry _start 0x4c018

arenas
  name     range             holds          interleave  used  free
  code0    0x4c018..0x50000  code and data  1           8     16352
  code1    0x5c000..0x80000  code and data  1           0     147456
  region1  0x80000..0xe7bb0  data           2           0     424880

sections
  address  size  name          object
  0x4c018  8     .text._start  main.o

symbols
  address  size  type      name    object
  0x4c018  8     function  _start  main.o
  0x50000  0     label     limit   (given)

discarded sections
  size  name          object
  4     .text.unused  main.o

stack
  entry   need
  _start  24 bytes
"""
