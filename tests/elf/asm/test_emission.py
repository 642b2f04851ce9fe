"""Bundles: how they can be written, their order, the switches for them."""

from typing import TYPE_CHECKING

import pytest

from tilewright.elf.relocations import RelocationType

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Assemble, Faults, OneFault

COISSUE = 1 << 31
NOP = 0x19E00000
FNOP = 0x1AD00000
ADD = 0x22210003  # add $m1, $m2, 3
F32ADD = 0x58102000  # f32add $a0, $a1, $a2
BUNDLE = [ADD | COISSUE, F32ADD | COISSUE]


@pytest.mark.parametrize(
    "source",
    [
        "{ add $m1, $m2, 3 ; f32add $a0, $a1, $a2 }",
        "{add $m1,$m2,3;f32add $a0,$a1,$a2}",
        "{add $m1, $m2, 3\nf32add $a0, $a1, $a2}",
        "{\n  add $m1, $m2, 3\n  f32add $a0, $a1, $a2\n}",
        "{\n\n  add $m1, $m2, 3\n\n\n  f32add $a0, $a1, $a2\n\n}",
        "{ add $m1, $m2, 3\n  f32add $a0, $a1, $a2 }",
        "{ add $m1, $m2, 3 ;\n  f32add $a0, $a1, $a2 }",
        "{ add $m1, $m2, 3 ; ; f32add $a0, $a1, $a2 ; }",
        "{ # first\n add $m1, $m2, 3 # then }\n # {\n f32add $a0, $a1, $a2 // last }\n}",
        "{ /* one */ add /* two */ $m1, $m2, /* three\n */ 3 ; f32add $a0, $a1, $a2 /* } */ }",
        "label: { add $m1, $m2, 3 ; f32add $a0, $a1, $a2 }",
        "1: {\nadd $m1, $m2, 3\nf32add $a0, $a1, $a2\n} ; 2:",
        "{ add $m1, $m2, later ; f32add $a0, $a1, $a2 }\n.set later, 3",
    ],
)
def test_layouts(assembly: "Assemble", source: str) -> None:
    assert assembly(source).words() == BUNDLE


def test_bundles_on_one_line(assembly: "Assemble") -> None:
    source = "nop; { nop ; fnop } { add $m1, $m2, 3 ; f32add $a0, $a1, $a2 } ; nop"
    pair = [NOP | COISSUE, FNOP | COISSUE]
    assert assembly(source).words() == [NOP, *pair, *BUNDLE, NOP]


def test_bundles_may_start_at_any_word(assembly: "Assemble") -> None:
    made = assembly("nop\n{ nop ; fnop }\nnop")
    assert made.words() == [NOP, NOP | COISSUE, FNOP | COISSUE, NOP]
    assert made.section(".text").alignment == 4


def test_label_cannot_stand_inside(one_fault: "OneFault") -> None:
    one_fault("{ nop\n«here»: fnop }", "label")


def test_each_word_has_its_own_relocation(assembly: "Assemble") -> None:
    made = assembly("nop\n{ setzi $m0, one + 4 ; setzi $a0, two }\n{ bri three ; fnop }")
    assert made.relocations() == [
        (4, RelocationType.ABS_20, "one", 4),
        (8, RelocationType.ABS_20, "two", 0),
        (12, RelocationType.ABS_19_S2, "three", 0),
    ]
    assert made.words()[1:3] == [0x99000000, 0x9A000000]


def test_location_counter_counts_words(assembly: "Assemble") -> None:
    # `.` is the word's own place, in the second word of a bundle too.
    made = assembly("start: nop\n{ setzi $m0, . - start ; setzi $a0, . - start }")
    assert made.words() == [NOP, 0x99000004, 0x9A000008]


def test_reversed_pair_is_swapped_on_request(assembly: "Assemble", one_fault: "OneFault") -> None:
    source = "{ f32add $a0, $a1, $a2 ; add $m1, $m2, 3 }"
    assert assembly(".allow_optimizations\n" + source).words() == BUNDLE
    one_fault("{ «f32add» $a0, $a1, $a2 ; add $m1, $m2, 3 }", ".allow_optimizations swaps them")


def test_swapped_pair_keeps_its_relocations(assembly: "Assemble") -> None:
    made = assembly(".allow_optimizations\n{ setzi $a0, two ; setzi $m0, one }")
    assert made.words() == [0x99000000, 0x9A000000]
    assert [name for _, _, name, _ in made.relocations()] == ["one", "two"]


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("nop", "«add» $m1, $m2, 3", [NOP | COISSUE, ADD | COISSUE]),
        ("«f32add» $a0, $a1, $a2", "fnop", [F32ADD | COISSUE, FNOP | COISSUE]),
        ("«f32add» $a0, $a1, $a2", "add $m1, $m2, 3", [F32ADD | COISSUE, ADD | COISSUE]),
        ("ld32 $a0, $m0, 0", "«f32add» $a0, $a1, $a2", [0x8800F000, F32ADD | COISSUE]),
    ],
)
def test_broken_rules_can_be_warnings(
    assembly: "Assemble",
    one_warning: "OneFault",
    first: str,
    second: str,
    words: list[int],
) -> None:
    source = f".warn_on_invalid_bundles\n{{ {first} ; {second} }}"
    one_warning(source, "")
    assert assembly(source.replace("«", "").replace("»", "")).words() == words


def test_broken_rules_are_errors_again(faults: "Faults") -> None:
    source = """
    .warn_on_invalid_bundles
    { nop ; nop }
    .error_on_invalid_bundles
    { nop ; nop }
    """
    assert [fault.line for fault in faults(source)] == [5]


@pytest.mark.parametrize("count", ["{ nop }", "{ nop; fnop; fnop }", "{ }"])
def test_number_of_members_is_never_relaxed(faults: "Faults", count: str) -> None:
    assert len(faults(f".warn_on_invalid_bundles\n{count}")) == 1


@pytest.mark.parametrize("solo", ["exitz $m0", "exitnz $m0", "exitneg $m0", "exitpos $m0"])
def test_solo_instructions_are_never_bundled(faults: "Faults", solo: str) -> None:
    # Their co-issue bit must be 0.
    for relaxed in ("", ".warn_on_invalid_bundles\n"):
        assert "cannot be part" in faults(f"{relaxed}{{ {solo} ; fnop }}")[0].message


@pytest.mark.parametrize(
    "source",
    [
        "{ ld32 $m0, $m1, 0 ; f32add $a0, $a1, $a2 }",  # other register files
        "{ ld64 $a0:1, $m0, 0 ; f32add $a2, $a0, $a1 }",  # what the other reads
        "{ ld32step $a0, $mzero, $m1+=, 1 ; f32add $a1, $a0, $a0 }",
        "{ ld64step $a0:1, $mzero, $m0+=, 1 ; f16v4add $a2:3, $a0:1, $a0:1 }",
        "{ st32 $a0, $m0, 0 ; f32add $a0, $a1, $a2 }",  # a store writes no register
        "{ ld2x64pace $a0:1, $a2:3, $m0:1+=, $m2, 0 ; f16v4acc $a0:1 }",
        "{ ld2x64pace $a0:1, $a2:3, $m4:5+=, $m4, 0 ; f32add $a4, $a5, $a5 }",
        "{ ld2xst64pace $a0:3, $a4:5, $m0:1+=, $m2, 0 ; f16v4add $a4:5, $a6:7, $a6:7 }",
    ],
)
def test_what_is_no_clash_of_destinations(assembly: "Assemble", source: str) -> None:
    assert all(word & COISSUE for word in assembly(source).words())


def test_all_faults_of_a_bundle_are_reported(faults: "Faults") -> None:
    found = faults("{ add $m16, $m0, 1\n  f32add $a0, $a1 }\n{ fnop ; nop2 }")
    assert [(fault.line, fault.first) for fault in found] == [(1, 7), (2, 3), (3, 10)]


def test_faulty_bundle_keeps_the_places_of_what_follows(faults: "Faults") -> None:
    # One mistake, one error: the body of the repeat is not called misaligned as well.
    repeat = "\nnop\nrpt $m0, 0\n{ nop ; fnop }\nexitz $mzero\n"
    for mistake in ("{ frob ; fnop }", "{ nop }", "{ fnop ; nop }", "frob\nfrob"):
        found = faults(mistake + repeat)
        assert {fault.line for fault in found} <= {1, 2}


def test_main_and_aux_forms_of_one_mnemonic(assembly: "Assemble") -> None:
    made = assembly("{ or $m0, $m1, $m2 ; or $a0, $a1, $a2 }\n{ mov $m0, $a1 ; mov $a0, $a1 }")
    assert made.words() == [0xC4102301, 0xD8102E00, 0xDD000010, 0xD2109000]


# -- an instruction of two words ------------------------------------------------------------------

SENDPICP = 0xF8200013  # sendpicp 1, 2, 3, 1


def test_instruction_with_a_data_word(assembly: "Assemble") -> None:
    source = ".supervisor\nsendpicp 1, 2, 3, 1\n.long 0x12345678\nsync 1\n"
    made = assembly(source)
    assert made.words() == [SENDPICP, 0x12345678, 0x41800001]
    assert made.section(".text").alignment == 8


def test_instruction_with_a_data_word_must_be_aligned(one_fault: "OneFault") -> None:
    one_fault(".supervisor\nsync 1\nsendpicp 1, 2, 3, 1\n«.long» 0", "multiple of 8")


def test_instruction_without_its_data_word_is_left_alone(assembly: "Assemble") -> None:
    made = assembly(".supervisor\nsync 1\nsendpicp 1, 2, 3, 1\n")
    assert made.words() == [0x41800001, SENDPICP]
