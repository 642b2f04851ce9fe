"""Steps: what the intervals between a tile's cycle samples are. Plans and profiles share them."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from tilewright.package.blobs import Content
from tilewright.package.checks.rows import check_ordered, check_references, check_strings, report
from tilewright.package.faults import Fault, FaultList, PackageError
from tilewright.package.message import (
    MAX_STRINGS,
    Reader,
    decoding,
    encode,
    put_table,
    schema,
    tables_message,
)
from tilewright.package.tables import U32, Column, Table, rows_of
from tilewright.target.geometry import TILES

MAX_SAMPLES = 1 << 24
"""Of all tiles: such that what follows from them fits into memory."""
_WHAT = "the profile plan"


class StepKind(IntEnum):
    """What a tile does in a step."""

    COMPUTE = 0
    EXCHANGE = 1
    SYNCHRONISATION = 2
    IDLE = 3
    HOST = 4


class ActivityKind(IntEnum):
    """What a tile does in a part of an exchange."""

    SEND = 0
    RECEIVE = 1
    PARTNER_BUSY = 2


@dataclass(frozen=True, eq=False)
class ListOfTiles(Table):
    """Which list of steps each tile follows, by rising physical id; tiles share lists."""

    tile: Column[np.uint16] = Column(np.uint16)
    tile_list: Column[np.uint32] = Column(np.uint32)


@dataclass(frozen=True, eq=False)
class StepTable(Table):
    """The steps of all lists, ordered by `list`, in the order in which they happen.

    `operation` and `kernel` are strings, which `kernel` may lack (`NONE`). `planned` is in cycles,
    `NONE` where that is unknown.
    """

    list: Column[np.uint32] = Column(np.uint32)
    phase: Column[np.uint32] = Column(np.uint32)
    epoch: Column[np.uint32] = Column(np.uint32)
    kind: Column[np.uint8] = Column(np.uint8)
    operation: Column[np.uint32] = Column(np.uint32)
    kernel: Column[np.uint32] = Column(np.uint32)
    planned: Column[np.uint32] = Column(np.uint32)


@dataclass(frozen=True, eq=False)
class Activities(Table):
    """Parts of exchanges, ordered by step; planned cycles from the step's start, half open."""

    activity_step: Column[np.uint32] = Column(np.uint32)
    activity_kind: Column[np.uint8] = Column(np.uint8)
    activity_start: Column[np.uint32] = Column(np.uint32)
    activity_end: Column[np.uint32] = Column(np.uint32)


@dataclass(frozen=True, eq=False)
class Notes(Table):
    """Names and values (strings) that say more about steps, ordered by step."""

    note_step: Column[np.uint32] = Column(np.uint32)
    note_name: Column[np.uint32] = Column(np.uint32)
    note_value: Column[np.uint32] = Column(np.uint32)


@dataclass(frozen=True, slots=True)
class Steps:
    """Lists of steps, and which tile follows which."""

    strings: tuple[str, ...] = ()
    tiles: ListOfTiles = field(default_factory=ListOfTiles)
    table: StepTable = field(default_factory=StepTable)
    activities: Activities = field(default_factory=Activities)
    notes: Notes = field(default_factory=Notes)

    @property
    def counts(self) -> U32:
        """How many steps each of `tiles` has."""
        first = np.searchsorted(self.table.list, self.tiles.tile_list, side="left")
        last = np.searchsorted(self.table.list, self.tiles.tile_list, side="right")
        return (last - first).astype(np.uint32)

    def steps_of(self, tile: int) -> range:
        """The rows of `table` that a tile follows; none for a tile without counters."""
        rows = rows_of(self.tiles.tile, tile)
        return rows_of(self.table.list, int(self.tiles.tile_list[rows.start])) if rows else rows

    def string(self, number: int) -> str | None:
        """A string by its number; None for `NONE`."""
        return self.strings[number] if number < len(self.strings) else None


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """What a program's cycle counters mean.

    `tensor` is an output, with a shard on each tile that has steps, which holds the tile's samples
    in order: one more 32-bit word than it has steps.
    """

    steps: Steps
    tensor: str = "profile.cycles"


def write_profile_plan(plan: ProfilePlan) -> bytes:
    """A plan as the content of a blob. Raises `PackageError` for one with faults."""
    raise_faults(_WHAT, check_steps(plan.steps))

    def fill(root: Any) -> None:
        root.tensor = plan.tensor
        put_steps(root.steps, plan.steps)

    return tables_message(encode(schema("steps").ProfilePlan, fill), _WHAT)


def read_profile_plan(content: Content) -> ProfilePlan:
    """The plan in a blob. Raises `PackageError`."""
    faults = FaultList()
    message = tables_message(content, _WHAT)
    with decoding(schema("steps").ProfilePlan, message, _WHAT, faults) as root:
        plan = ProfilePlan(get_steps(root.child("steps")), root.text("tensor"))
    raise_faults(_WHAT, faults or check_steps(plan.steps))
    return plan


def put_steps(builder: Any, steps: Steps) -> None:
    """Write steps to a struct of the schema."""
    builder.strings = list(steps.strings)
    for table in (steps.tiles, steps.table, steps.activities, steps.notes):
        put_table(builder, table)


def get_steps(reader: Reader) -> Steps:
    """Read steps from a struct of the schema."""
    return Steps(
        strings=reader.texts("strings", MAX_STRINGS),
        tiles=reader.table(ListOfTiles),
        table=reader.table(StepTable),
        activities=reader.table(Activities),
        notes=reader.table(Notes),
    )


def check_steps(steps: Steps, path: str = "steps") -> FaultList:
    """What is wrong with steps."""
    faults = FaultList()
    tiles, table = steps.tiles, steps.table
    activities, notes = steps.activities, steps.notes
    check_strings(faults, f"{path}.strings", steps.strings)
    check_ordered(faults, f"{path}.tiles", tiles, "tile", is_strict=True)
    check_references(faults, f"{path}.tiles", tiles, "tile", TILES)
    check_ordered(faults, path, table, "list")
    check_ordered(faults, f"{path}.activities", activities, "activity_step")
    check_ordered(faults, f"{path}.notes", notes, "note_step")
    check_references(faults, f"{path}.activities", activities, "activity_step", len(table))
    check_references(faults, f"{path}.notes", notes, "note_step", len(table))
    strings = len(steps.strings)
    check_references(faults, path, table, "operation", strings)
    check_references(faults, path, table, "kernel", strings, is_optional=True)
    check_references(faults, f"{path}.notes", notes, "note_name", strings)
    check_references(faults, f"{path}.notes", notes, "note_value", strings)
    check_references(faults, path, table, "kind", len(StepKind))
    check_references(faults, f"{path}.activities", activities, "activity_kind", len(ActivityKind))
    report(
        faults,
        activities.activity_end < activities.activity_start,
        path,
        lambda row: Fault(f"{path}.activities[{row}]", "it ends before it starts"),
    )
    samples = int(np.sum(steps.counts, dtype=np.int64)) + len(tiles)
    if samples > MAX_SAMPLES:
        message = f"{samples:,} samples of all tiles; the limit is {MAX_SAMPLES:,}"
        faults.add(f"{path}.tiles", message)
    return faults


def raise_faults(what: str, faults: FaultList) -> None:
    """Raises `PackageError` if there are faults."""
    if faults:
        raise PackageError(f"{what} cannot be used", faults.faults)
