"""Every row of a table is looked at, and all that fail are told."""

import inspect

import pytest

from tests.for_each import for_each


def test_all_failures_are_told_by_name() -> None:
    seen = []

    @for_each([1, 2, 3, 4], name=lambda number: f"number {number}")
    def check(number: int, most: int) -> None:
        seen.append(number)
        assert number <= most

    with pytest.raises(ExceptionGroup, match="2 of 4 fail: number 3; number 4") as caught:
        check(most=2)
    assert seen == [1, 2, 3, 4]
    assert [each.__notes__ for each in caught.value.exceptions] == [
        ["number: number 3"],
        ["number: number 4"],
    ]
    check(most=4)


def test_other_arguments_are_fixtures() -> None:
    @for_each([1], name=str)
    def check(number: int, fixture: str) -> None: ...

    assert list(inspect.signature(check).parameters) == ["fixture"]


@for_each([3, 4, 5], name=str)
def test_decorated_tests_run(number: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert number * number >= 9
    assert tmp_path_factory is not None
