"""Random requests without contradictions; whether they fit is another matter."""

from dataclasses import dataclass, replace

from hypothesis import strategies as st

from tilewright.codegen.place import MemoryNeed, Requests

NONE = -1


@dataclass(frozen=True)
class Row:
    tile: int
    size: int
    alignment: int
    tail: int
    first: int
    last: int
    resident: bool
    initialised: bool
    need: int
    alias: int = NONE
    sequence: int = NONE
    fixed: int = NONE


FIXED_PLACES = {0: 0x50000, 1: 0x54000, 2: 0x98000, 3: 0xA0020}
"""Far enough from each other for the sizes of fixed requests."""


@st.composite
def rows(draw: st.DrawFn, most: int) -> Row:
    first = draw(st.integers(0, 12))
    resident = draw(st.integers(0, 3)) == 0
    return Row(
        tile=draw(st.integers(0, 2)),
        size=draw(st.integers(1, most)),
        alignment=1 << draw(st.integers(0, 8)),
        tail=draw(st.sampled_from([0, 0, 16, 32, 64])),
        first=first,
        last=first + draw(st.integers(0, 8)),
        resident=resident,
        initialised=resident and draw(st.booleans()),
        need=draw(st.sampled_from([MemoryNeed.ANY, *MemoryNeed])),
    )


@st.composite
def requests(draw: st.DrawFn, most: int = 20_000, most_rows: int = 16) -> Requests:
    """Rows of three tiles, some joined, fixed or apart."""
    listed = draw(st.lists(rows(most), min_size=1, max_size=most_rows))
    listed += _aliased(draw, listed)
    listed += _sequence(draw, most)
    for number in draw(st.sets(st.integers(0, 3))):
        row = draw(rows(1000))
        need = MemoryNeed.ANY
        listed.append(replace(row, fixed=FIXED_PLACES[number], need=need, alignment=32))
    pairs = _separations(draw, listed)
    columns = {name: [getattr(row, name) for row in listed] for name in Row.__annotations__}
    return Requests.of(**columns, separations=pairs)


def _aliased(draw: st.DrawFn, listed: list[Row]) -> list[Row]:
    """Some rows get an alias, and others that follow on them in its memory."""
    followers = []
    for label in range(draw(st.integers(0, 2))):
        number = draw(st.integers(0, len(listed) - 1))
        listed[number] = row = replace(listed[number], alias=label)
        followers += [
            replace(row, size=size, first=row.last, last=row.last + 3, initialised=False)
            for size in draw(st.lists(st.integers(1, row.size), max_size=2))
        ]
    return followers


def _sequence(draw: st.DrawFn, most: int) -> list[Row]:
    """Equal blocks, of which one may have an alias, before them or after them among the rows."""
    row = replace(draw(rows(most // 4)), sequence=7)
    members = draw(st.integers(0, 4))
    listed = [replace(row, first=row.first + step, last=row.last + step) for step in range(members)]
    if not listed or draw(st.booleans()):
        return listed
    number = draw(st.integers(0, members - 1))
    listed[number] = shared = replace(listed[number], alias=8)
    follower = replace(shared, sequence=NONE, size=draw(st.integers(1, row.size)))
    return [follower, *listed] if draw(st.booleans()) else [*listed, follower]


def _separations(draw: st.DrawFn, listed: list[Row]) -> list[tuple[int, int]]:
    numbers = st.integers(0, len(listed) - 1)
    drawn = draw(st.lists(st.tuples(numbers, numbers), max_size=4))
    return [
        (one, other)
        for one, other in drawn
        if listed[one].tile == listed[other].tile
        and listed[one].fixed == listed[other].fixed == NONE
        and _label(listed, one) != _label(listed, other)
    ]


def _label(listed: list[Row], number: int) -> tuple[int, int]:
    """What tells allocations apart."""
    row = listed[number]
    if row.alias == 8 or row.sequence != NONE:
        return 1, 0
    return (0, row.alias) if row.alias != NONE else (2, number)
