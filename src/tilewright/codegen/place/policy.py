"""Which parts of tile memory are offered to allocations, in which order, and which are not.

A tile has two kinds of memory (`target.geometry`): below `REGION1_BASE` ordinary and executable,
from there up interleaved. The chip knows no third kind. But long-lived data and data that comes
and goes should grow from different places, so that neither is cut up by the other, and both would
like to leave the interleaved memory to those who need it. So a policy cuts region 1 once more: what
lies below the cut is the arena `interleaved`, kept for results of the matrix engine and for weights
that are loaded in wide words, and what lies above is `ordinary-high`, used as if it were ordinary,
first of all for residents. The cut is a preference. Whoever *requires* interleaved memory
(`MemoryNeed.INTERLEAVED`) may get either.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from tilewright.codegen.place.faults import PolicyError, listing
from tilewright.elf.arenas import ENTRY_STUB_SIZE
from tilewright.target.geometry import (
    ELEMENT_SIZE,
    EXCHANGE_WINDOW,
    EXECUTABLE_END,
    LOADER_FRAME_END,
    MEMORY_BASE,
    MEMORY_END,
    REGION1_BASE,
    RUNTIME_STATE,
)

ORDINARY_LOW, INTERLEAVED, ORDINARY_HIGH = "ordinary-low", "interleaved", "ordinary-high"

DEFAULT_CUT = REGION1_BASE + 6 * 2 * ELEMENT_SIZE
"""Where `ordinary-high` begins by default: about the middle of region 1, between two elements."""


class MemoryNeed(IntEnum):
    """What kind of memory an allocation must lie in."""

    ANY = 0
    ORDINARY = 1
    """Below `REGION1_BASE`; what is read past the end may lie above."""
    EXECUTABLE = 2
    """Below `EXECUTABLE_END`, with all that is fetched past the end."""
    INTERLEAVED = 3
    """From `REGION1_BASE` up."""

    @property
    def range(self) -> tuple[int, int]:
        """The addresses of such memory; half open."""
        if self is MemoryNeed.ANY:
            return MEMORY_BASE, MEMORY_END
        if self is MemoryNeed.INTERLEAVED:
            return REGION1_BASE, MEMORY_END
        return MEMORY_BASE, REGION1_BASE if self is MemoryNeed.ORDINARY else EXECUTABLE_END

    @property
    def readable_end(self) -> int:
        """Where what is read past the end of an allocation must end."""
        return EXECUTABLE_END if self is MemoryNeed.EXECUTABLE else MEMORY_END


@dataclass(frozen=True, slots=True)
class Arena:
    """The addresses from `start` up to `end`, exclusive. No allocation crosses either."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reservation:
    """Addresses that nothing is placed in, `start` up to `end`, exclusive.

    Requests with a fixed address may lie there if it is `open_to_fixed`: so buffers of the host
    come to lie in the exchange window.
    """

    name: str
    start: int
    end: int
    open_to_fixed: bool = False


CHIP_RESERVATIONS = (
    Reservation("loader and entry", MEMORY_BASE, LOADER_FRAME_END + ENTRY_STUB_SIZE),
    Reservation("exchange window", *EXCHANGE_WINDOW, open_to_fixed=True),
    Reservation("runtime state", *RUNTIME_STATE),
)
"""What start-up, host exchange and runtime take of every tile (`target.geometry`)."""


@dataclass(frozen=True, slots=True)
class MemoryPolicy:
    """The arenas of a tile, and the order in which they are tried.

    `resident` and `transient` name arenas; an arena that is not named is not used. Every
    allocation goes to the first arena of its list that has room. Raises `PolicyError`.

    With a `seed` other than 0, blocks are placed in an order drawn with it, if that fits: no good
    packing, but another one, to show that results do not depend on addresses.
    """

    arenas: tuple[Arena, ...]
    resident: tuple[str, ...]
    transient: tuple[str, ...]
    reserved: tuple[Reservation, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        faults = [
            *_range_faults("arena", [(each.name, each.start, each.end) for each in self.arenas]),
            *_range_faults("reservation", [(r.name, r.start, r.end) for r in self.reserved]),
            *_order_faults("resident", self.resident, [arena.name for arena in self.arenas]),
            *_order_faults("transient", self.transient, [arena.name for arena in self.arenas]),
        ]
        if faults:
            raise PolicyError(listing("a memory policy that tiles cannot have", faults))

    @classmethod
    def ipu21(
        cls,
        *,
        cut: int = DEFAULT_CUT,
        resident: Sequence[str] = (ORDINARY_HIGH, ORDINARY_LOW, INTERLEAVED),
        transient: Sequence[str] = (ORDINARY_LOW, INTERLEAVED, ORDINARY_HIGH),
        reserved: Iterable[Reservation] = (),
    ) -> "MemoryPolicy":
        """The three arenas of this chip, with `CHIP_RESERVATIONS` and yours.

        `ordinary-high` is region 1 from address `cut` on; cut at either end of the region there is
        one arena less, and the orders need not mention it.
        """
        if not REGION1_BASE <= cut <= MEMORY_END:
            raise PolicyError(
                f"region 1 cannot be cut at {cut:#x}: it extends from {REGION1_BASE:#x} to "
                f"{MEMORY_END:#x}"
            )
        candidates = (
            Arena(ORDINARY_LOW, MEMORY_BASE, REGION1_BASE),
            Arena(INTERLEAVED, REGION1_BASE, cut),
            Arena(ORDINARY_HIGH, cut, MEMORY_END),
        )
        arenas = tuple(arena for arena in candidates if arena.start < arena.end)
        empty = {arena.name for arena in candidates} - {arena.name for arena in arenas}
        return cls(
            arenas,
            tuple(name for name in resident if name not in empty),
            tuple(name for name in transient if name not in empty),
            (*CHIP_RESERVATIONS, *reserved),
        )

    def order(self, is_resident: bool) -> tuple[int, ...]:
        """Numbers of arenas, in the order in which they are tried."""
        names = [arena.name for arena in self.arenas]
        return tuple(
            names.index(name) for name in (self.resident if is_resident else self.transient)
        )

    def merged(self) -> tuple["MemoryPolicy", ...]:
        """Policies with two neighbouring arenas of one kind of memory as one, if used alike."""
        arenas = sorted(self.arenas, key=lambda arena: arena.start)
        return tuple(
            self._merged(low, high)
            for low, high in pairwise(arenas)
            if low.end == high.start != REGION1_BASE
            and all((low.name in order) == (high.name in order) for order in self._orders)
        )

    def _merged(self, low: Arena, high: Arena) -> "MemoryPolicy":
        merged = Arena(f"{low.name} and {high.name}", low.start, high.end)
        rest = tuple(arena for arena in self.arenas if arena not in (low, high))
        names = {low.name: merged.name, high.name: merged.name}
        resident, transient = (
            tuple(dict.fromkeys(names.get(name, name) for name in order)) for order in self._orders
        )
        return MemoryPolicy((*rest, merged), resident, transient, self.reserved, self.seed)

    @property
    def _orders(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.resident, self.transient

    @property
    def used(self) -> tuple[Arena, ...]:
        """The arenas that are named in one of the orders."""
        return tuple(each for each in self.arenas if each.name in self.resident + self.transient)

    @property
    def capacity(self) -> int:
        """How many bytes of these are not reserved."""
        return sum(self.free_bytes(arena.start, arena.end) for arena in self.used)

    def free_bytes(self, start: int, end: int) -> int:
        """How many bytes from `start` up to `end` are not reserved."""
        taken = sorted((max(r.start, start), min(r.end, end)) for r in self.reserved)
        free, done = end - start, start
        for low, high in taken:
            free -= max(0, high - max(low, done))
            done = max(done, high)
        return free


def _range_faults(kind: str, ranges: Sequence[tuple[str, int, int]]) -> Iterable[str]:
    """Arenas and reservations are ranges of memory with names of their own, apart from others."""
    for name, start, end in ranges:
        if not MEMORY_BASE <= start < end <= MEMORY_END:
            yield (
                f"{kind} {name} extends from {start:#x} to {end:#x}; memory does from "
                f"{MEMORY_BASE:#x} to {MEMORY_END:#x}"
            )
    for before, after in pairwise(sorted(ranges, key=lambda each: each[1:])):
        if after[1] < before[2]:
            yield f"{kind} {before[0]} and {kind} {after[0]} overlap"
    names = [name for name, _, _ in ranges]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f"{names.count(name)} times {kind} {name}"


def _order_faults(kind: str, order: Sequence[str], names: Sequence[str]) -> Iterable[str]:
    if not order:
        yield f"no arena for {kind} allocations"
    for name in dict.fromkeys(order):
        if name not in names:
            yield f"the {kind} order names {name}; arenas are {', '.join(names)}"
        if order.count(name) > 1:
            yield f"the {kind} order names {name} {order.count(name)} times"
