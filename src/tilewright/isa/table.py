"""The table of instruction forms, loaded once and checked while loading."""

from collections.abc import Iterable
from importlib import resources
from itertools import combinations

from tilewright.isa.forms import Form, parse_form


class TableError(Exception):
    """A fault in the instruction table itself: a bug in tilewright, not in anybody's input."""


def load_forms(text: str) -> tuple[Form, ...]:
    """Parse the table and check that it is unambiguous. Raises `TableError` naming the lines."""
    forms: list[Form] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        try:
            forms.append(parse_form(len(forms), line))
        except ValueError as error:
            raise TableError(f"instructions.txt:{number}: {error}: {line}") from error
    _check_no_overlap(forms)
    _check_unique_names(forms)
    return tuple(forms)


def _check_no_overlap(forms: Iterable[Form]) -> None:
    for one, other in combinations(forms, 2):
        if not (one.base ^ other.base) & one.mask & other.mask:
            raise TableError(f"a word can be both '{one.name}' and '{other.name}'")


def _check_unique_names(forms: Iterable[Form]) -> None:
    seen: set[str] = set()
    for form in forms:
        if form.name in seen:
            raise TableError(f"two forms are named '{form.name}'")
        seen.add(form.name)


FORMS: tuple[Form, ...] = load_forms(
    resources.files("tilewright.isa").joinpath("instructions.txt").read_text("utf-8")
)
"""Every form, in table order: `FORMS[form.index] is form`."""

FORM_BY_NAME: dict[str, Form] = {form.name: form for form in FORMS}
