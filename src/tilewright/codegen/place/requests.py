"""What asks for memory: one row for each request of each tile, in columns.

Tiles, steps and ids are plain numbers; what they count is the caller's business. Nothing here knows
addresses, except those that the caller fixes.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tilewright.codegen.place.faults import MOST_NAMED, RequestError, listing
from tilewright.codegen.place.policy import MemoryNeed
from tilewright.target.geometry import MEMORY_END, MEMORY_SIZE, TILES

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

NONE = -1
"""In columns of ids and addresses: there is none."""
LAST_STEP = 2**31 - 1
"""Steps are at most this; residents are live from step 0 up to here."""
MOST_PER_TILE = 1 << 16
"""Requests of a tile; the time to place them grows with the square of their number."""


@dataclass(frozen=True, eq=False)
class Requests:
    """n requests. Make it with `Requests.of`, which knows defaults and raises `RequestError`.

    Each column has n entries:

    - `tile`: whose memory.
    - `size` in bytes, and `alignment`, a power of two.
    - `tail`: bytes past the end that are read, too. They need not be owned, but must exist.
    - `first`, `last`: steps in which it is live, both included. Ignored for residents.
    - `resident`: live in all steps, also before the first and after the last.
    - `initialised`: its bytes are part of the tile's image; only residents can be.
    - `need`: a `MemoryNeed`.
    - `alias`: requests of a tile with one alias share one address, `NONE` shares with nobody.
    - `sequence`: requests of a tile with one sequence are blocks that follow each other in the
      order of requests, at a stride of size and tail rounded up to the alignment.
    - `fixed`: the address that it must have, or `NONE`.
    - `value`: whose memory it is, for reports only.

    `separations`, of shape (pairs, 2), are requests of one tile that must use no memory element in
    common, tails included, while both are live.
    """

    tile: Ints
    size: Ints
    alignment: Ints
    tail: Ints
    first: Ints
    last: Ints
    resident: Bools
    initialised: Bools
    need: Ints
    alias: Ints
    sequence: Ints
    fixed: Ints
    value: Ints
    separations: Ints

    @classmethod
    def of(
        cls,
        *,
        tile: npt.ArrayLike,
        size: npt.ArrayLike,
        alignment: npt.ArrayLike = 8,
        tail: npt.ArrayLike = 0,
        first: npt.ArrayLike = 0,
        last: npt.ArrayLike = LAST_STEP,
        resident: npt.ArrayLike = False,
        initialised: npt.ArrayLike = False,
        need: npt.ArrayLike = MemoryNeed.ANY,
        alias: npt.ArrayLike = NONE,
        sequence: npt.ArrayLike = NONE,
        fixed: npt.ArrayLike = NONE,
        value: npt.ArrayLike | None = None,
        separations: npt.ArrayLike = (),
    ) -> "Requests":
        """Columns from arrays or numbers, which are broadcast. `value` is the row by default."""
        given = {
            "tile": tile,
            "size": size,
            "alignment": alignment,
            "tail": tail,
            "first": first,
            "last": last,
            "resident": resident,
            "initialised": initialised,
            "need": need,
            "alias": alias,
            "sequence": sequence,
            "fixed": fixed,
        }
        columns: dict[str, npt.NDArray[Any]]
        columns = {name: _column(name, values) for name, values in given.items()}
        lengths = {name: len(column) for name, column in columns.items() if column.ndim}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise RequestError(f"columns differ in length: {told}")
        count = next(iter(lengths.values()), 1)
        columns["value"] = np.arange(count) if value is None else _column("value", value)
        for name, column in columns.items():
            if column.ndim and len(column) != count:
                raise RequestError(f"column {name} has {len(column)} entries, the others {count}")
            columns[name] = np.ascontiguousarray(np.broadcast_to(column, count))
        columns |= {name: columns[name] != 0 for name in ("resident", "initialised")}
        return cls(**columns, separations=_pairs(separations))

    def __post_init__(self) -> None:
        for field in fields(self):
            getattr(self, field.name).flags.writeable = False
        self._check_columns()
        self._check_separations()

    def __len__(self) -> int:
        return len(self.size)

    @cached_property
    def life(self) -> tuple[Ints, Ints]:
        """First and last step of each request, those of residents filled in."""
        return np.where(self.resident, 0, self.first), np.where(self.resident, LAST_STEP, self.last)

    def live_together(self, one: Ints, other: Ints) -> Bools:
        """Whether requests `one[i]` and `other[i]` have a step in common."""
        first, last = self.life
        together: Bools = (first[one] <= last[other]) & (first[other] <= last[one])
        return together

    def describe(self, row: int) -> str:
        """One request in a line, for messages."""
        life = life_text(int(self.first[row]), int(self.last[row]), bool(self.resident[row]))
        fixed = f", fixed at {self.fixed[row]:#x}" if self.fixed[row] != NONE else ""
        return (
            f"request {row} (value {self.value[row]}, tile {self.tile[row]}): {self.size[row]:,} "
            f"bytes, aligned to {self.alignment[row]}, {life}{fixed}"
        )

    def refuse(self, reason: str, rows: Bools | Ints) -> None:
        """Raise `RequestError` that names the rows, if there are any: numbers, or true entries."""
        numbers = np.flatnonzero(rows) if rows.dtype == np.bool_ else np.unique(rows)
        if len(numbers):
            shown = [self.describe(int(row)) for row in numbers[:MOST_NAMED]]
            raise RequestError(listing(reason, shown, len(numbers)))

    def _check_columns(self) -> None:
        aligned = (self.alignment > 0) & (self.alignment & (self.alignment - 1) == 0)
        needs = np.array([*MemoryNeed])
        most = f"the {MEMORY_SIZE:,} bytes of a tile"
        steps = (self.first < 0) | (self.last > LAST_STEP)
        self.refuse(
            f"a tile that does not exist (0 to {TILES - 1})", (self.tile < 0) | (self.tile >= TILES)
        )
        self.refuse("no bytes asked for", self.size < 1)
        self.refuse(f"more than {most}", (self.size > MEMORY_SIZE) | (self.tail > MEMORY_SIZE))
        self.refuse("an alignment that is no power of two", ~aligned)
        self.refuse(f"an alignment of more than {most}", self.alignment > MEMORY_SIZE)
        self.refuse("a tail of less than no bytes", self.tail < 0)
        unnamed = (self.alias < NONE) | (self.sequence < NONE)
        self.refuse(f"an alias or a sequence below {NONE}", unnamed)
        self.refuse(f"steps outside 0 to {LAST_STEP}", steps & ~self.resident)
        self.refuse("the last step is before the first", (self.first > self.last) & ~self.resident)
        self.refuse("no such kind of memory", ~np.isin(self.need, needs))
        self.refuse(
            "initialised, but not resident; its bytes would be lost when the program runs again",
            self.initialised & ~self.resident,
        )
        crowded = np.bincount(self.tile) > MOST_PER_TILE if len(self) else np.zeros(0, np.bool_)
        if crowded.any():
            raise RequestError(
                f"tile {np.argmax(crowded)} has more than {MOST_PER_TILE:,} requests; "
                "join those that can lie together"
            )
        fixed = self.fixed != NONE
        outside = (self.fixed < 0) | (self.fixed >= MEMORY_END)
        self.refuse("a fixed address outside memory", fixed & outside)

    def _check_separations(self) -> None:
        pairs = self.separations
        unknown = (pairs < 0) | (pairs >= len(self))
        if unknown.any():
            raise RequestError(
                f"separations name request {pairs[unknown][0]}; there are {len(self)} requests"
            )
        one, other = pairs[:, 0], pairs[:, 1]
        self.refuse("separated from itself", one[one == other])
        apart = self.tile[one] != self.tile[other]
        self.refuse("separated from a request of another tile", pairs[apart].ravel())


def joined_aliases(requests: int, pairs: npt.ArrayLike) -> Ints:
    """The `alias` column for pairs of requests of which one reuses the other's memory.

    `pairs` has shape (pairs, 2). All that are joined directly or through others get the lowest of
    their rows as alias, the others `NONE`. Raises `RequestError` for rows that do not exist.
    """
    joined = _pairs(pairs)
    if joined.size and not 0 <= joined.min() <= joined.max() < requests:
        raise RequestError(f"aliases name requests outside 0 to {requests - 1}")
    lowest = np.arange(requests)
    one, other = joined[:, 0], joined[:, 1]
    while np.any(lowest[one] != lowest[other]):
        least = np.minimum(lowest[one], lowest[other])
        # Roots take the lower root as well, so that whole groups move at once.
        np.minimum.at(lowest, lowest[one], least)
        np.minimum.at(lowest, lowest[other], least)
        while np.any(lowest != lowest[lowest]):
            lowest = lowest[lowest]
    shared = np.zeros(requests, np.bool_)
    shared[joined] = True
    return np.where(shared, lowest, NONE)


def life_text(first: int, last: int, resident: bool) -> str:
    """A lifetime in messages."""
    if resident:
        return "resident"
    return f"from step {first} on" if last == LAST_STEP else f"steps {first} to {last}"


def _column(name: str, values: npt.ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.ndim > 1:
        raise RequestError(f"column {name} has {array.ndim} dimensions; it needs one")
    if array.size and array.dtype.kind not in "biu":
        raise RequestError(f"column {name} holds {array.dtype}; it needs whole numbers")
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise RequestError(f"column {name} holds {array.max()}, which is too large")
    return np.array(array, dtype=np.int64)


def _pairs(values: npt.ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise RequestError(
            f"pairs of requests need whole numbers in an array of shape (pairs, 2), "
            f"not {array.dtype} in {array.shape}"
        )
    return np.array(array, dtype=np.int64)
