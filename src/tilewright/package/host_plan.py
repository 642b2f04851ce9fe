"""What the host does while a program runs: pages, calls, and what passes where and when."""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from tilewright.package.tables import Column, Table, rows_of
from tilewright.target.topology import ROWS

STOP_COMMAND = 0
"""Ends a program that asks for commands; entry points that do anything else have others."""


class Group(IntEnum):
    """When a call is made: once after loading, for each run, or to fetch results at the end."""

    LOAD = 0
    RUN = 1
    SAVE = 2


class Direction(IntEnum):
    """Which way a batch goes."""

    TO_DEVICE = 0
    FROM_DEVICE = 1


@dataclass(frozen=True, eq=False)
class Pages(Table):
    """Host memory that the device reaches, in the order in which it is attached.

    The device sees pages as one space. `index` counts units of 4 KiB in it, so that a page starts
    at `index` × 4096; `size` is in bytes.
    """

    index: Column[np.uint32] = Column(np.uint32)
    size: Column[np.uint32] = Column(np.uint32)


@dataclass(frozen=True, eq=False)
class Batches(Table):
    """Transfers that happen in one pair of phases, ordered by `call` (a row of `calls`)."""

    call: Column[np.uint32] = Column(np.uint32)
    direction: Column[np.uint8] = Column(np.uint8)


@dataclass(frozen=True, eq=False)
class Slices(Table):
    """Parts of tensors' streams and where they pass through pages, ordered by `batch`.

    `batch`, `tensor` and `page` are rows of those tables; offsets and sizes are in bytes.
    """

    batch: Column[np.uint32] = Column(np.uint32)
    tensor: Column[np.uint32] = Column(np.uint32)
    offset: Column[np.uint32] = Column(np.uint32)
    page: Column[np.uint16] = Column(np.uint16)
    page_offset: Column[np.uint32] = Column(np.uint32)
    size: Column[np.uint32] = Column(np.uint32)


@dataclass(frozen=True, slots=True)
class Call:
    """What the host does as one: a sequence of batches, entry and completion of each.

    With `ends_open`, the host collects results before it acknowledges the last completion, which
    then is no phase of the call.
    """

    name: str
    group: Group
    ends_open: bool = False


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """Something a session can run by name: calls (by number), after `command` was written."""

    name: str
    calls: tuple[int, ...]
    command: int = 0


@dataclass(frozen=True, slots=True)
class CommandWord:
    """Where the host writes the command of an entry point: a row of `pages`, and bytes into it."""

    page: int
    offset: int


@dataclass(frozen=True, slots=True)
class HostPlan:
    """Everything that the host has to know to run a program."""

    pages: Pages = field(default_factory=Pages)
    calls: tuple[Call, ...] = ()
    batches: Batches = field(default_factory=Batches)
    slices: Slices = field(default_factory=Slices)
    entry_points: tuple[EntryPoint, ...] = ()
    command_word: CommandWord | None = None
    """None for programs that do the same whatever the command."""
    startup_mark: int = ROWS
    """The mark that ends loading; it lets the loader of each row pass its last barriers."""

    def batches_of(self, call: int) -> range:
        """The rows of `batches` of a call."""
        return rows_of(self.batches.call, call)

    def slices_of(self, batch: int) -> range:
        """The rows of `slices` of a batch."""
        return rows_of(self.slices.batch, batch)

    def phases(self, call: int) -> int:
        """How often the host acknowledges in a call: twice per batch, less one if it ends open."""
        batches = len(self.batches_of(call))
        return max(2 * batches - self.calls[call].ends_open, 0)

    def reuses_pages(self, call: int) -> bool:
        """Whether slices of a call overlap on a page, so that copies have to keep to the phases."""
        batches = self.batches_of(call)
        ends = np.array([batches.start, batches.stop], np.uint32)
        first, last = self.slices.batch.searchsorted(ends).tolist()
        chosen = self.slices[first:last].sorted_by("page", "page_offset")
        end = chosen.page_offset.astype(np.int64) + chosen.size
        is_same = chosen.page[1:] == chosen.page[:-1]
        return bool(np.any(is_same & (chosen.page_offset[1:] < end[:-1])))
