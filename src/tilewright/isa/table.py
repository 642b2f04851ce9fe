"""The table of instruction forms, loaded once and checked while loading."""

from collections.abc import Mapping
from importlib import resources
from itertools import combinations

from tilewright.isa.forms import Form, parse_form


class TableError(Exception):
    """A fault in the instruction table itself: a bug in tilewright, not in anybody's input."""


def load_forms(text: str) -> tuple[Form, ...]:
    """Parse the table and check that it is unambiguous. Raises `TableError` naming the lines."""
    numbers: dict[Form, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        try:
            form = parse_form(len(numbers), line)
        except ValueError as error:
            raise TableError(f"instructions.txt:{number}: {error}: {line}") from error
        numbers[form] = number
    _check_no_overlap(numbers)
    _check_unique_names(numbers)
    return tuple(numbers)


def _check_no_overlap(numbers: Mapping[Form, int]) -> None:
    for one, other in combinations(numbers, 2):
        if not (one.base ^ other.base) & one.mask & other.mask:
            raise TableError(
                f"instructions.txt:{numbers[other]}: a word can be both '{other.name}' and "
                f"'{one.name}' of line {numbers[one]}"
            )


def _check_unique_names(numbers: Mapping[Form, int]) -> None:
    seen: dict[str, int] = {}
    for form, number in numbers.items():
        if form.name in seen:
            raise TableError(
                f"instructions.txt:{number}: '{form.name}' is a form of line {seen[form.name]} too"
            )
        seen[form.name] = number


FORMS: tuple[Form, ...] = load_forms(
    resources.files("tilewright.isa").joinpath("instructions.txt").read_text("utf-8")
)
"""Every form, in table order: `FORMS[form.index] is form`."""

FORM_BY_NAME: dict[str, Form] = {form.name: form for form in FORMS}
