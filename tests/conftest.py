"""Random tests draw the same examples in each run, in each process, in whatever order tests run.

hypothesis mixes constants into what it draws, of all modules of this project that are imported by
then: so all are imported before the first of its tests.
"""

import importlib
import pkgutil

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

import tilewright
from tests.examples import MORE, SEARCHING

# Nothing may depend on time, on earlier runs, or on the profile that hypothesis loads by itself for
# continuous integration: that one ignores seeds.
settings.register_profile(
    "repeatable",
    max_examples=100,
    derandomize=False,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    SEARCHING, settings.get_profile("repeatable"), max_examples=100 * MORE, print_blob=True
)
settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if any(is_hypothesis_test(getattr(item, "obj", None)) for item in items):
        for module in pkgutil.walk_packages(tilewright.__path__, "tilewright."):
            importlib.import_module(module.name)
