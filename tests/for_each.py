"""Tests of one fact about each row of a long table.

They run as one test, since pytest takes longer about each of its tests than such a row does.
"""

import functools
import inspect
from collections.abc import Callable, Collection
from typing import TypeVar

Row = TypeVar("Row")


def for_each(
    rows: Collection[Row], name: Callable[[Row], str]
) -> Callable[..., Callable[..., None]]:
    """Call the test with each row as its first argument; tell of all that fail, by their names.

    Further arguments are fixtures, which all rows share.
    """
    assert rows

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        first, *fixtures = inspect.signature(test).parameters.values()

        @functools.wraps(test)
        def run(**arguments: object) -> None:
            failures = []
            for row in rows:
                try:
                    test(row, **arguments)
                except Exception as failure:
                    failure.add_note(f"{first.name}: {name(row)}")
                    failures.append((name(row), failure))
            if failures:
                names, exceptions = zip(*failures, strict=True)
                told = f"{len(failures)} of {len(rows)} fail: {'; '.join(names)}"
                raise ExceptionGroup(told, exceptions)

        run.__signature__ = inspect.Signature(fixtures)  # type: ignore[attr-defined]  # for pytest
        return run

    return decorate
