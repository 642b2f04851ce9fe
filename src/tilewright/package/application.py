"""A whole-device program: what every tile holds, what tensors mean, and what the host does."""

from dataclasses import dataclass, field, fields
from enum import IntEnum
from functools import cached_property
from types import TracebackType
from typing import Self

import numpy as np

from tilewright.package.blobs import BlobArrays, Blobs
from tilewright.package.checks.samples import check_samples
from tilewright.package.debug import Debug, read_debug
from tilewright.package.faults import PackageError
from tilewright.package.host_plan import HostPlan
from tilewright.package.steps import ProfilePlan, raise_faults, read_profile_plan
from tilewright.package.tables import NONE, Column, Table, rows_of
from tilewright.package.tensors import Tensor


class SegmentKind(IntEnum):
    """What a segment is for."""

    CODE = 0
    ROW = 1
    """Rows of the exchange, which are executed."""
    PACKETS = 2
    """Host packets and their tables."""
    CONSTANT = 3
    STATE = 4
    """The state of the run time, which the program changes."""
    DATA = 5
    PARAMETER = 6
    SCRATCH = 7
    """Set aside, but not loaded: its content at the start is undefined."""


@dataclass(frozen=True, eq=False)
class Segments(Table):
    """Memory of tiles with its content, ordered by `tile` (physical), then `address`.

    `size` bytes from `address` on; the first `data_size` of them come from blob number `blob`, from
    `offset` in it on, and the rest is zero. Without data `blob` is `NONE`.
    """

    tile: Column[np.uint16] = Column(np.uint16)
    address: Column[np.uint32] = Column(np.uint32)
    size: Column[np.uint32] = Column(np.uint32)
    kind: Column[np.uint8] = Column(np.uint8)
    blob: Column[np.uint32] = Column(np.uint32)
    offset: Column[np.uint32] = Column(np.uint32)
    data_size: Column[np.uint32] = Column(np.uint32)


@dataclass(frozen=True, eq=False)
class Shards(Table):
    """Where parts of tensors' streams lie, ordered by `tensor` (a row of `tensors`), then `offset`.

    `size` bytes of the stream from `offset` on lie at `address` of `tile` (physical). Parts may lie
    on several tiles.
    """

    tensor: Column[np.uint32] = Column(np.uint32)
    tile: Column[np.uint16] = Column(np.uint16)
    address: Column[np.uint32] = Column(np.uint32)
    offset: Column[np.uint32] = Column(np.uint32)
    size: Column[np.uint32] = Column(np.uint32)


class When(IntEnum):
    """When the host writes a register."""

    BEFORE_LOAD = 0
    AFTER_LOAD = 1


@dataclass(frozen=True, eq=False)
class Configuration(Table):
    """Registers that the host writes, in this order: byte `offset`, `value`, and `when`."""

    offset: Column[np.uint32] = Column(np.uint32)
    value: Column[np.uint32] = Column(np.uint32)
    when: Column[np.uint8] = Column(np.uint8)


@dataclass(frozen=True, slots=True)
class Completion:
    """How to know that the program has ended: the word at `address` of every tile has `value`."""

    address: int
    value: int


@dataclass(frozen=True, eq=False)
class Application:
    """A program for all tiles, complete and final.

    `entries` holds where each tile's program starts, by physical id; its length is the number of
    tiles. Execution begins at the first loadable byte, whose code leads there. `profile_plan_blob`
    and `debug_blob` are blobs with those tables, which `profile_plan` and `debug` read.

    An opened package is one of these, too, and a context manager that closes its file.
    """

    entries: Column[np.uint32] = Column(np.uint32)
    segments: Segments = field(default_factory=Segments)
    blobs: Blobs = field(default_factory=BlobArrays)
    tensors: tuple[Tensor, ...] = ()
    shards: Shards = field(default_factory=Shards)
    host: HostPlan = field(default_factory=HostPlan)
    configuration: Configuration = field(default_factory=Configuration)
    completion: Completion | None = None
    profile_plan_blob: int = NONE
    debug_blob: int = NONE
    producer: str = ""
    digest: bytes = b""
    """The hash of the package as written, which says all of its content; empty before."""

    @property
    def tiles(self) -> int:
        """How many tiles the program is for: physical ids from 0 to here."""
        return len(self.entries)

    @cached_property
    def profile_plan(self) -> ProfilePlan | None:
        """What the tiles' cycle counters mean, if they are kept.

        Raises `PackageError`, also for a plan that does not fit to the samples that tiles send.
        """
        if self.profile_plan_blob == NONE:
            return None
        plan = read_profile_plan(self.blobs[self.profile_plan_blob])
        raise_faults("the profile plan", check_samples(self, plan))
        return plan

    @cached_property
    def debug(self) -> Debug | None:
        """Symbols, lines and origins of code, if they are kept. Raises `PackageError`."""
        return None if self.debug_blob == NONE else read_debug(self.blobs[self.debug_blob])

    def segments_of(self, tile: int) -> Segments:
        """The segments of one tile, by address."""
        rows = rows_of(self.segments.tile, tile)
        return self.segments[rows.start : rows.stop]

    def shards_of(self, tensor: int) -> Shards:
        """The shards of one tensor, by its number."""
        rows = rows_of(self.shards.tensor, tensor)
        return self.shards[rows.start : rows.stop]

    def tensor_number(self, name: str) -> int:
        """The number of the tensor of a name. Raises `PackageError` if there is none."""
        for number, tensor in enumerate(self.tensors):
            if tensor.name == name:
                return number
        raise PackageError(f"the package has no tensor '{name}'")

    def verify(self) -> None:
        """Compare all contents with their hashes, in parallel.

        Whoever loads a device does that first, so that nothing is half loaded. Raises
        `PackageError`.
        """
        faults = self.blobs.faults()
        if faults:
            raise PackageError("contents of the package are damaged", faults)

    def close(self) -> None:
        """Forget the file of an opened package; what was read of it stays valid."""
        self.blobs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __eq__(self, other: object) -> bool:
        """Whether all is equal that says what the program is: everything but the file."""
        if not isinstance(other, Application):
            return NotImplemented
        return _content(self) == _content(other) and np.array_equal(self.entries, other.entries)

    __hash__ = None  # type: ignore[assignment] # arrays have no hash


def _content(application: Application) -> tuple[object, ...]:
    return (
        application.blobs.digests.tobytes(),
        *(
            getattr(application, each.name)
            for each in fields(application)
            if each.name not in ("entries", "blobs", "digest")
        ),
    )
