"""The table is checked while it is loaded; a fault names its line."""

import pytest

from tilewright.isa import FORM_BY_NAME, FORMS
from tilewright.isa.table import TableError, load_forms

GOOD = "add =m[7:4] m[23:20] m[15:12] both main 4400_0001 - words"


def fault(*lines: str) -> str:
    """The message for a table of a comment, an empty line and `lines` from line 3 on."""
    with pytest.raises(TableError) as caught:
        load_forms("\n".join(["# comment", "", *lines]))
    return str(caught.value)


def test_comments_and_empty_lines_are_skipped() -> None:
    (form,) = load_forms(f"# add\n\n{GOOD}\n")
    assert (form.index, form.name) == (0, "add m,m,m")


def test_forms_that_share_a_word() -> None:
    # `or` leaves bit 0 to an operand, so it has the words of `add` too.
    message = fault(GOOD, "or =m[7:4] m[23:20] m[15:12] u1[0] both main 4400_0000 - words")
    assert message == (
        "instructions.txt:4: a word can be both 'or m,m,m,u1' and 'add m,m,m' of line 3"
    )


def test_forms_apart_in_the_alignment_bits_of_a_group_do_not_overlap() -> None:
    forms = load_forms(
        "x aa[3:0] both main 0000_0000 - words\ny u3[3:1] both main 0000_0001 - words"
    )
    assert len(forms) == 2


def test_two_forms_of_one_name() -> None:
    message = fault(GOOD, GOOD.replace("4400_0001", "4400_0002"))
    assert message == "instructions.txt:4: 'add m,m,m' is a form of line 3 too"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("add =m[7:4] m[6:3] both main 4400_0000 - words", "operands overlap at bits 0x00000070"),
        (
            "add =m[7:4] both main 4400_0010 - words",
            "fixed bits inside an operand: 0x00000010",
        ),
        ("add u5[3:0] both main 4400_0000 - words", "u5[3:0] places 4 bits"),
        ("add m[2:0] both main 4400_0000 - words", "a field of 3 bits cannot name"),
        ("add aa[1:0] both main 4400_0000 - words", "a field of 2 bits cannot name"),
        ("add u4[3:0,1:0] both main 4400_0000 - words", "bit ranges overlap"),
        ("add u4[35:32] both main 4400_0000 - words", "bit range outside 31:0"),
        ("add z4[3:0] both main 4400_0000 - words", "no operand: z4[3:0]"),
        ("add - both main c400_0000 - words", "bit 31 is the co-issue flag"),
        ("add - both main 4400_0000 lonely words", "unknown traits: lonely"),
        ("add - all main 4400_0000 - words", "'all' is not a valid Mode"),
        ("add - both middle 4400_0000 - words", "'middle' is not a valid Lane"),
        ("add - both main 44zz_0000 - words", "invalid literal"),
        ("add - both main 4400_0000 - rumour", "'rumour' is not a valid Evidence"),
        ("add both main", "not enough values"),
    ],
)
def test_faulty_lines(line: str, reason: str) -> None:
    message = fault(GOOD.replace("4400_0001", "4500_0001"), line)
    assert message.startswith("instructions.txt:4: ")
    assert reason in message
    assert message.endswith(line)


def test_forms_know_their_place_and_name() -> None:
    assert [form.index for form in FORMS] == list(range(len(FORMS)))
    assert [FORM_BY_NAME[form.name] for form in FORMS] == list(FORMS)
