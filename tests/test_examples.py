"""What random tests draw depends on nothing but the seed and the text of this project."""

import pkgutil
import sys

from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright
from tests.examples import SEARCHING, examples


@examples(1)
@given(st.integers())
def test_modules_with_constants_to_draw_are_imported_first(number: int) -> None:
    modules = {each.name for each in pkgutil.walk_packages(tilewright.__path__, "tilewright.")}
    assert modules <= sys.modules.keys()


def test_nothing_depends_on_time_or_on_earlier_runs() -> None:
    name = settings.get_current_profile_name()
    assert name in ("repeatable", SEARCHING)
    for each in (settings.get_profile(name), examples(3)):
        assert (each.database, each.deadline, each.derandomize) == (None, None, False)
