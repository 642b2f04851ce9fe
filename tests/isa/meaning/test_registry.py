"""Every mnemonic of the table has one meaning, which takes as many operands as its forms have."""

import inspect

import pytest

from tests.for_each import for_each
from tilewright.isa import FORMS, Form
from tilewright.isa.meaning import MEANINGS
from tilewright.isa.meaning.registry import meaning


def test_meanings_are_those_of_the_table() -> None:
    assert set(MEANINGS) == {form.mnemonic for form in FORMS}


@for_each(FORMS, name=lambda form: form.name)
def test_number_of_operands(form: Form) -> None:
    machine, *operands = inspect.signature(MEANINGS[form.mnemonic]).parameters.values()
    assert machine.name == "m"
    assert len(operands) == len(form.operands)
    assert all(each.default is inspect.Parameter.empty for each in operands)


def test_a_second_meaning_is_refused() -> None:
    first = MEANINGS["add"]
    with pytest.raises(AssertionError, match="two meanings of add"):
        meaning("add")(lambda m: None)
    assert MEANINGS["add"] is first
