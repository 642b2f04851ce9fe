"""Operands and forms: the notation of the table, ranges, and texts."""

import pytest

from tilewright.isa import FORM_BY_NAME, FORMS, EncodingError, Evidence, Form, Kind, Lane, Mode
from tilewright.isa.forms import parse_form, parse_operand


def test_plain_register_is_read() -> None:
    operand = parse_operand("m[23:20]")
    assert (operand.file, operand.count, operand.reads, operand.writes) == ("m", 1, True, False)


@pytest.mark.parametrize(
    ("text", "reads", "writes"),
    [("=a[7:4]", False, True), ("&m[15:12]", True, True), ("a[7:4]", True, False)],
)
def test_marks_tell_access(text: str, reads: bool, writes: bool) -> None:
    operand = parse_operand(text)
    assert (operand.reads, operand.writes) == (reads, writes)


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("m[3:0]", "m"),
        ("mm+=[3:0]", "mm+="),
        ("a[3:0]", "a"),
        ("aa[3:0]", "aa"),
        ("aq[3:0]", "aq"),
        ("a:BL[3:0]", "a:BL"),
        ("m++[3:0]", "m++"),
        ("m>>[3:0]", "m>>"),
        ("m@[3:0]", "m@"),
        ("u4[3:0]", "i"),
        ("t19[18:0]", "i"),
    ],
)
def test_signature_is_how_the_operand_looks(text: str, signature: str) -> None:
    assert parse_operand(text).signature == signature


@pytest.mark.parametrize(
    ("text", "minimum", "maximum", "step"),
    [
        ("m[3:0]", 0, 15, 1),
        ("mm[3:0]", 0, 10, 2),  # $m12:13 and $m14:15 are no pairs
        ("a[3:0]", 0, 15, 1),
        ("aa[3:0]", 0, 14, 2),
        ("aq[3:0]", 0, 12, 4),
        ("aq[3:1]", 0, 12, 4),
        ("u12[11:0]", 0, 4095, 1),
        ("s8[7:0]", -128, 127, 1),
        ("x20[19:0]", 0, 0xFFFFF, 1),
        ("t19[18:0]", 0, 0x1FFFFC, 4),
        ("r16*4[15:0]", 0, 65535, 1),
        ("c8[7:0]", 0, 255, 1),
        ("f6[5:0]", 0, 63, 1),
        ("u12<<20[11:0]", 0, 0xFFF00000, 1 << 20),
    ],
)
def test_range_of_values(text: str, minimum: int, maximum: int, step: int) -> None:
    operand = parse_operand(text)
    assert (operand.minimum, operand.maximum, operand.step) == (minimum, maximum, step)


def test_unit_is_that_of_offsets() -> None:
    assert parse_operand("u12*16[11:0]").unit == 16
    assert parse_operand("u12[11:0]").unit == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "m",
        "m[]",
        "x[3:0]",
        "mmm[3:0]",
        "mq[3:0]",
        "u[3:0]",
        "a:BX[3:0]",
        "m+-[3:0]",
        "u4[3:0",
        "!m[3:0]",
        "u5[3:0]",  # names more bits than it places
        "s8<<x[7:0]",
    ],
)
def test_refuses_what_is_no_operand(text: str) -> None:
    with pytest.raises(ValueError, match=r"no operand|places|invalid"):
        parse_operand(text)


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("m[3:0]", 13, "$m13"),
        ("mm+=[3:0]", 2, "$m2:3+="),
        ("aq[3:0]", 4, "$a4:7"),
        ("a:BU[3:0]", 7, "$a7:BU"),
        ("m>>[3:0]", 0, "$m0>>"),
        ("s8[7:0]", -3, "-3"),
        ("t19[18:0]", 0x4C010, "0x4c010"),
        ("u12<<20[11:0]", 1 << 20, "1048576"),
    ],
)
def test_text_of_values(text: str, value: int, shown: str) -> None:
    assert parse_operand(text).text(value) == shown


@pytest.mark.parametrize(
    ("text", "value", "message"),
    [
        ("aa[3:0]", 3, "an $a pair such as $a2:3 cannot be $a3:4"),
        ("aq+=[3:0]", 16, "an $a quad such as $a4:7+= cannot be register number 16"),
        ("mm[3:0]", 12, "a $m pair such as $m2:3 cannot be $m12:13"),
        ("u12[11:0]", 4096, "a number from 0 to 4095 cannot be 4096"),
        ("s8[7:0]", -129, "a number from -128 to 127 cannot be -129"),
        ("t19[18:0]", 6, "a byte address, multiple of 4, from 0 to 0x1ffffc cannot be 0x6"),
        (
            "u12<<20[11:0]",
            5,
            "a number, multiple of 0x100000, from 0 to 0xfff00000 cannot be 5",
        ),
        ("c8[7:0]", 256, "a register number from 0 to 255 cannot be 256"),
        ("f4[3:0]", 16, "flags from 0 to 15 cannot be 16"),
    ],
)
def test_refusals_say_what_is_expected(text: str, value: int, message: str) -> None:
    with pytest.raises(EncodingError) as caught:
        parse_operand(text).encode(value)
    assert str(caught.value) == message


def test_a_short_register_field_holds_the_upper_bits_of_the_number() -> None:
    quad = parse_operand("aq[19:17]")
    assert quad.encode(12) == 6 << 17
    assert quad.decode(6 << 17) == 12


def test_form_of_a_line() -> None:
    form = parse_form(7, "brnzdec &m[23:20] t19[18:0] both main 1308_0000 control words")
    assert (form.index, form.mnemonic, form.base) == (7, "brnzdec", 0x13080000)
    assert (form.mode, form.lane, form.evidence) == (Mode.BOTH, Lane.MAIN, Evidence.WORDS)
    assert (form.is_control, form.is_system, form.is_solo) == (True, False, False)
    assert form.mask == 0x7F080000
    assert form.name == "brnzdec m,t19"


def test_bit_31_is_fixed_in_solo_forms_only() -> None:
    line = "x m[3:0] both main 0000_0000 {} words"
    assert parse_form(0, line.format("-")).mask == 0x7FFF_FFF0
    assert parse_form(0, line.format("solo")).mask == 0xFFFF_FFF0


def test_alignment_bits_of_groups_are_fixed() -> None:
    form = parse_form(0, "x aq[3:0] aa[7:4] both main 0000_0000 solo words")
    assert form.mask == 0xFFFF_FF13


@pytest.mark.parametrize(
    ("mode", "worker", "supervisor"),
    [(Mode.BOTH, True, True), (Mode.WORKER, True, False), (Mode.SUPERVISOR, False, True)],
)
def test_who_may_execute(mode: Mode, worker: bool, supervisor: bool) -> None:
    assert mode.allows(Mode.WORKER) is worker
    assert mode.allows(Mode.SUPERVISOR) is supervisor


def test_only_sendpicp_has_two_words() -> None:
    assert {form.name for form in FORMS if form.words != 1} == {"sendpicp u6,u18,u3,u1"}


def test_table_has_the_forms_of_the_public_definitions() -> None:
    modes = [form.mode for form in FORMS]
    assert len(FORMS) == 368
    assert len({form.mnemonic for form in FORMS}) == 251
    assert [modes.count(mode) for mode in Mode] == [90, 265, 13]


def test_aux_lane_is_that_of_the_arithmetic_opcodes() -> None:
    opcodes = {form.base >> 24 & 0x7F for form in FORMS if form.lane is Lane.AUX}
    assert opcodes == {0x1A, 0x50, 0x51, 0x52, 0x58, 0x59, 0x5A, 0x5B}
    main = {form.base >> 24 & 0x7F for form in FORMS if form.lane is Lane.MAIN}
    assert not opcodes & main


def test_aux_lane_is_for_workers_and_touches_no_m_register() -> None:
    aux = [form for form in FORMS if form.lane is Lane.AUX]
    assert all(form.mode is Mode.WORKER for form in aux)
    assert not [form for form in aux for operand in form.operands if operand.file == "m"]


def mnemonics(forms: list[Form]) -> set[str]:
    return {form.mnemonic for form in forms}


def test_control_instructions() -> None:
    assert mnemonics([form for form in FORMS if form.is_control]) == set(
        "br bri brneg brnz brpos brz brnzdec call exitz exitnz exitneg exitpos rpt".split()
    )


def test_system_instructions() -> None:
    assert mnemonics([form for form in FORMS if form.is_system]) == set(
        "get put uget uput trap run runall sync sans delay delaypic delayxpic "
        "send sendoff sendpic sendpicp".split()
    )


def test_instructions_that_cannot_share_a_bundle() -> None:
    assert mnemonics([form for form in FORMS if form.is_solo]) == set(
        "exitz exitnz exitneg exitpos run runall sync sans delay delaypic delayxpic "
        "send sendoff sendpic sendpicp".split()
    )


def test_operands_that_may_be_symbols() -> None:
    kinds = (Kind.VALUE, Kind.TARGET, Kind.VERTEX_OFFSET)
    forms = [form for form in FORMS if any(each.kind in kinds for each in form.operands)]
    assert mnemonics(forms) == set("setzi cmpult bri brneg brnz brpos brz brnzdec call run".split())


def test_forms_are_equal_by_identity_and_named() -> None:
    form = FORM_BY_NAME["add m,m,s16"]
    assert FORMS[form.index] is form
    assert repr(form) == "<Form add m,m,s16>"
    assert FORM_BY_NAME["or m,m,u12<<20"] is not FORM_BY_NAME["or m,m,u12"]
