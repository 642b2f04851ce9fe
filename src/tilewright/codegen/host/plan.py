"""The plan for the host: calls, their batches, pages and slices."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tilewright.codegen.host.command import COMMAND_OFFSET, STOP, STOP_CALL
from tilewright.codegen.host.pages import COMMAND_PAGE, DATA_START, slices
from tilewright.codegen.host.pieces import Pieces
from tilewright.package import (
    Batches,
    Call,
    CommandWord,
    Direction,
    EntryPoint,
    Group,
    HostPlan,
    Pages,
    Shards,
)
from tilewright.target.host import HOST_PAGE


@dataclass(frozen=True, slots=True, eq=False)
class HostCall:
    """A command of the program: what the host sends before its work, and fetches after it.

    Shards name physical tiles, and tensors by their number in the package.
    """

    name: str
    command: int
    sent: Shards = field(default_factory=Shards)
    fetched: Shards = field(default_factory=Shards)
    group: Group = Group.RUN


@dataclass(frozen=True, slots=True, eq=False)
class CallPieces:
    """The pieces of a call, in `sent` batches to tiles, then `fetched` ones from them.

    Batches count from 0; pieces are placed in host memory up to `end`.
    """

    pieces: Pieces
    sent: int
    fetched: int
    end: int

    @property
    def batches(self) -> int:
        return self.sent + self.fetched

    def from_batch(self, first: int) -> Pieces:
        """The pieces, with batches that count from `first`."""
        return replace(self.pieces, batch=self.pieces.batch + first)


def host_plan(calls: Sequence[HostCall], cut: Sequence[CallPieces]) -> HostPlan:
    """Each call begins with a batch for the command, which has no slices; the last is to stop."""
    stop = CallPieces(Pieces.none(), 0, 0, DATA_START)
    directions: list[Direction] = []
    data = []
    for each in (*cut, stop):
        data.append(each.from_batch(len(directions) + 1))
        directions += [Direction.TO_DEVICE] * (1 + each.sent)
        directions += [Direction.FROM_DEVICE] * each.fetched
    size = max(each.end for each in (*cut, stop)) - DATA_START
    pages = Pages(index=[0, DATA_START // HOST_PAGE], size=[HOST_PAGE, size])
    return HostPlan(
        pages=pages if size else pages[:1],
        calls=(
            *(Call(call.name, call.group) for call in calls),
            Call(STOP_CALL, Group.SAVE, ends_open=True),
        ),
        batches=Batches(
            call=np.repeat(np.arange(len(calls) + 1), [1 + each.batches for each in (*cut, stop)]),
            direction=directions,
        ),
        slices=slices(Pieces.joined(data)),
        entry_points=(
            *(EntryPoint(call.name, (row,), call.command) for row, call in enumerate(calls)),
            EntryPoint(STOP_CALL, (len(calls),), STOP),
        ),
        command_word=CommandWord(COMMAND_PAGE, COMMAND_OFFSET),
    )
