"""Checks that any table needs: order, and references to rows of other tables."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tilewright.package.faults import KEPT, Fault, FaultList
from tilewright.package.message import MAX_NAME, MAX_STRINGS
from tilewright.package.tables import NONE, Table

MAX_NUMBER = 0xFFFFFFFF
"""The largest number of 32 bits."""


def report(
    faults: FaultList,
    is_wrong: npt.NDArray[np.bool_],
    path: str,
    describe: Callable[[int], Fault],
) -> bool:
    """Add a fault for each row where `is_wrong`; whether there are any."""
    rows = np.flatnonzero(is_wrong)
    if rows.size:
        faults.add_many(map(describe, rows[:KEPT].tolist()), rows.size, path)
    return bool(rows.size)


def check_ordered(
    faults: FaultList, path: str, table: Table, *names: str, is_strict: bool = False
) -> bool:
    """Whether rows rise by these columns, the first foremost; strictly, if no two may be equal."""
    is_above = np.zeros(max(len(table) - 1, 0), bool)
    is_equal = np.ones_like(is_above)
    for name in names:
        before, after = getattr(table, name)[:-1], getattr(table, name)[1:]
        is_above |= is_equal & (before > after)
        is_equal &= before == after
    wrong = is_above | is_equal if is_strict else is_above
    by = ", then ".join(names)
    kind = "do not strictly rise" if is_strict else "are not ordered"
    return not report(
        faults,
        wrong,
        path,
        lambda row: Fault(f"{path}[{row + 1}]", f"rows {kind} by {by}"),
    )


def check_references(
    faults: FaultList,
    path: str,
    table: Table,
    name: str,
    count: int,
    is_optional: bool = False,
) -> bool:
    """Whether a column names rows below `count`, or none where that is allowed."""
    values = getattr(table, name)
    is_wrong = values >= count
    if is_optional:
        is_wrong &= values != NONE
    return not report(
        faults,
        is_wrong,
        path,
        lambda row: Fault(
            f"{path}[{row}].{name}", f"{values[row]} does not exist; there are {count}"
        ),
    )


def check_number(faults: FaultList, path: str, value: int, limit: int = MAX_NUMBER) -> None:
    """Whether a number is in 0 to `limit`."""
    if not 0 <= value <= limit:
        faults.add(path, f"{value} is not in 0 to {limit}")


def check_text(faults: FaultList, path: str, text: str) -> None:
    """Whether a file can hold a text."""
    if len(text) > MAX_NAME:
        faults.add(path, f"a text of {len(text):,} characters; the limit is {MAX_NAME:,}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        faults.add(path, f"no valid text: {error.reason} at character {error.start}")


def check_strings(faults: FaultList, path: str, strings: Sequence[str]) -> None:
    """Whether a file can hold a table of texts."""
    if len(strings) > MAX_STRINGS:
        faults.add(path, f"{len(strings):,} texts; the limit is {MAX_STRINGS:,}")
        return
    for number, text in enumerate(strings):
        check_text(faults, f"{path}[{number}]", text)
