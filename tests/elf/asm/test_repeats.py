"""`rpt`: forms, sizes, and where its body may stand. Faulty bodies are in test_errors."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Assemble, Faults, OneFault

COISSUE = 1 << 31
NOP = 0x19E00000
FNOP = 0x1AD00000
PAIR = [NOP | COISSUE, FNOP | COISSUE]
RPT_REGISTER = 0x4300A000
RPT_COUNT = 0x40000000
EXIT = 0x43F04000


def test_forms(assembly: "Assemble") -> None:
    # A repeat that ends its section has no body to check.
    assert assembly("rpt $m5, 255").words() == [RPT_REGISTER | 5 << 20 | 255]
    assert assembly("rpt 4095, 17").words() == [RPT_COUNT | 4095 << 8 | 17]
    assert assembly("rpt 0, 0").words() == [RPT_COUNT]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("rpt $m0, «256»", "out of range"),
        ("rpt $m0, «-1»", "out of range"),
        ("rpt «4096», 0", "out of range"),
        ("rpt $m0, «elsewhere»", "must be a constant"),
        ("rpt $m0, «x»\nx:", "must be a constant"),
        (
            "nop\nrpt $m0, «(2f - 1f) / 8 - 1»\n1: .rept 257\n{ nop ; fnop }\n.endr\n2: nop",
            "out of range",
        ),
        ("rpt «$a0», 0", "expected"),
    ],
)
def test_operand_fault(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


@pytest.mark.parametrize("bundles", [1, 2, 256])
@pytest.mark.parametrize("size", ["{n}", "(2f - 1f) / 8 - 1", "(end - start) / 8 - 1"])
def test_size_of_the_body(assembly: "Assemble", bundles: int, size: str) -> None:
    body = "{ nop ; fnop }\n" * bundles
    source = f"nop\nrpt $m0, {size.format(n=bundles - 1)}\n1: start:\n{body}2: end:\nexitz $mzero\n"
    made = assembly(source)
    assert made.words() == [NOP, RPT_REGISTER | bundles - 1, *PAIR * bundles, EXIT]
    assert made.relocations() == []


def test_bundled_repeat(assembly: "Assemble") -> None:
    source = "{ rpt $m2, 0 ; f32add $a0, $a1, $a2 }\n{ nop ; fnop }\nexitz $mzero"
    found = assembly(source).words()
    assert found == [(RPT_REGISTER | 2 << 20) | COISSUE, 0x58102000 | COISSUE, *PAIR, EXIT]


def test_bundled_repeat_with_a_difference_for_its_size(assembly: "Assemble") -> None:
    source = "{ rpt 7, (2f - 1f) / 8 - 1 ; fnop }\n1: { nop ; fnop }\n{ nop ; fnop }\n2: nop"
    assert assembly(source).words()[:2] == [
        RPT_COUNT | 7 << 8 | 1 | COISSUE,
        FNOP | COISSUE,
    ]


def test_code_after_the_body_is_free(assembly: "Assemble") -> None:
    source = "nop\nrpt $m0, 0\n{ nop ; fnop }\nbri 0\nput 1, $m0\n"
    assert len(assembly(source).words()) == 6


def test_section_of_a_repeat_starts_at_a_multiple_of_8(assembly: "Assemble") -> None:
    assert assembly("nop\nrpt $m0, 0\n{ nop ; fnop }\n").section(".text").alignment == 8
    assert assembly("nop\n{ nop ; fnop }\n").section(".text").alignment == 4


def test_alignment_is_that_of_the_section(faults: "Faults", assembly: "Assemble") -> None:
    body = "{ nop ; fnop }\nexitz $mzero\n"
    other = '.section .text.other, "ax"\nrpt $m0, 0\n'
    assert [fault.line for fault in faults("nop\n" + other + body)] == [3]
    aligned = '.section .text.other, "ax"\n.align 8\nnop\nrpt $m0, 0\n'
    assert assembly("nop\n" + aligned + body).words(".text.other")[-3:-1] == PAIR


def test_idiom_that_chooses_the_form(assembly: "Assemble") -> None:
    macro = """
    start:
    .macro aligned_rpt count size
    .if (. - start) & 7
      rpt \\count, \\size
    .else
      { rpt \\count, \\size ; fnop }
    .endif
    .endm
    """
    body = "{ nop ; fnop }\nexitz $mzero\n"
    bundled = assembly(f"{macro}\naligned_rpt $m1, 0\n{body}").words()
    bare = assembly(f"{macro}\nnop\naligned_rpt $m1, 0\n{body}").words()
    rpt = RPT_REGISTER | 1 << 20
    assert bundled == [rpt | COISSUE, FNOP | COISSUE, *PAIR, EXIT]
    assert bare == [NOP, rpt, *PAIR, EXIT]


# -- the repair of .allow_optimizations -----------------------------------------------------------


def test_misaligned_bundle_with_fnop_is_shortened(assembly: "Assemble") -> None:
    source = "nop\n{{ rpt $m0, {size} ; fnop }}\n1: {{ nop ; fnop }}\n2: bri 1b\nlast: nop"
    expected = [NOP, RPT_REGISTER, *PAIR]
    for size in ("0", "(2f - 1f) / 8 - 1"):
        made = assembly(".allow_optimizations\n" + source.format(size=size))
        assert made.words()[:4] == expected
        # Labels behind it move along.
        assert made.relocations()[0][3] == 8
        assert made.symbol("last").value == 20


def test_aligned_bundle_is_left_alone(assembly: "Assemble") -> None:
    source = ".allow_optimizations\n{ rpt $m0, 0 ; fnop }\n{ nop ; fnop }\n"
    assert assembly(source).words() == [RPT_REGISTER | COISSUE, FNOP | COISSUE, *PAIR]


def test_bundle_that_does_something_is_not_shortened(faults: "Faults") -> None:
    body = "{ nop ; fnop }\nexitz $mzero"
    head = ".allow_optimizations\nnop\n"
    assert len(faults(head + "{ rpt $m0, 0 ; setzi $a13, 1 }\n" + body)) == 1
    assert len(faults(head + "{ rpt $m0, 0 ; setzi $a12, 0 }\n" + body)) == 1
    assert len(faults(head + "{ rpt $m0, 0 ; setzi $a13, x }\n" + body)) == 1


def test_nothing_is_repaired_unasked(one_fault: "OneFault") -> None:
    one_fault("nop\n{ «rpt» $m0, 0 ; fnop }\n{ nop ; fnop }\nnop", "put a 'nop' before")


# -- faults in what belongs to a repeat -----------------------------------------------------------


def test_faulty_line_in_the_body_is_one_error(faults: "Faults") -> None:
    for line in ("{ frob ; fnop }", "{ nop }", "{ nop ; nop }"):
        found = faults(f"nop\nrpt $m0, 1\n{line}\n{{ nop ; fnop }}\nexitz $mzero")
        assert [fault.line for fault in found] == [3]


def test_faulty_size_is_one_error(one_fault: "OneFault") -> None:
    one_fault("nop\nrpt $m0, «2f - 1f»\n{ nop ; fnop }\n1: nop", "'2:'")


def test_body_that_the_section_cuts_short(one_fault: "OneFault") -> None:
    one_fault("nop\n«rpt» $m0, 1\n{ nop ; fnop }\n", "2 bundles")


def test_message_names_the_offending_line(faults: "Faults") -> None:
    source = "nop\nrpt $m0, 1\n{ nop ; fnop }\n{ get $m0, 1 ;\n  fnop }\nexitz $mzero"
    (fault,) = faults(source)
    assert fault.line == 2
    assert "<input>:4" in fault.message
    assert "get $m0, 1" in fault.message


def test_repeat_in_a_repeat_body(faults: "Faults") -> None:
    (fault,) = faults("nop\nrpt $m0, 0\n{ rpt $m1, 0 ; fnop }\n{ nop ; fnop }\n")
    assert "control instruction" in fault.message


def test_switch_for_repeats_is_for_the_whole_file(assembly: "Assemble") -> None:
    source = "rpt $m0, 0\nnop\nexitz $mzero\n"
    found = assembly(source + ".allow_invalid_repeat\n").words()
    assert found == [RPT_REGISTER, NOP, EXIT]
