"""Checks that any table needs: order, and references to rows of other tables."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tilewright.package.faults import KEPT, Fault, FaultList
from tilewright.package.tables import NONE, Table


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
        lambda row: Fault(f"{_joined(path)}[{row + 1}]", f"rows {kind} by {by}"),
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
            f"{_joined(path)}[{row}].{name}", f"{values[row]} does not exist; there are {count}"
        ),
    )


def _joined(path: str) -> str:
    return path or "rows"
