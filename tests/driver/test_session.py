"""Calls in phases, against devices of a few lines of Python: marks, pages, order of copies."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.driver.wrapping import Wrapped
from tilewright.driver import Board, Limits, Session, SyncGroup, entries_of
from tilewright.driver.emulated import EmulatedTransport
from tilewright.package import (
    Application,
    Batches,
    Call,
    CommandWord,
    Direction,
    ElementType,
    EntryPoint,
    Group,
    HostPlan,
    Pages,
    Role,
    Slices,
    Tensor,
)

TO, BACK = Direction.TO_DEVICE, Direction.FROM_DEVICE
Memory = dict[int, NDArray[np.uint8]]


class Scripted(Wrapped):
    """A device whose program is a generator over its pages: it yields at each sync of group 2.

    Marks are those of the held model, written down here once more: a sync takes one off; with none
    left the device stands until the host writes.
    """

    def __init__(self, program: Callable[[Memory], Iterator[None]]) -> None:
        super().__init__(EmulatedTransport(64))
        self.inner.attach_process()
        self.pages: Memory = {}
        self._program = program(self.pages)
        self._mark = 0
        self._has_ended = False
        next(self._program)

    def read(self, offset: int) -> int:
        return self._mark if offset == SyncGroup.PROGRAM.control else super().read(offset)

    def write(self, offset: int, value: int) -> None:
        if offset != SyncGroup.PROGRAM.control:
            super().write(offset, value)
            return
        self._mark = value
        while self._mark and not self._has_ended:
            try:
                next(self._program)
                self._mark -= 1
            except StopIteration:
                self._has_ended = True

    def attach_page(self, index: int, memory: NDArray[np.uint8]) -> None:
        super().attach_page(index, memory)
        self.pages[index] = memory


def application(
    batches: list[Direction], place: list[int], *, ends_open: bool, command: bool = False
) -> Application:
    """Each batch carries a word of its own tensor, at some place of page 1."""
    count = len(batches)
    return Application(
        entries=[0] * 64,
        tensors=tuple(
            Tensor(f"t{number}", Role.INPUT if way is TO else Role.OUTPUT, ElementType.U32, (1,))
            for number, way in enumerate(batches)
        ),
        host=HostPlan(
            pages=Pages([0, 1], [4096, 4096]),
            calls=(Call("run", Group.RUN, ends_open),),
            batches=Batches([0] * count, batches),
            slices=Slices(range(count), range(count), [0] * count, [1] * count, place, [4] * count),
            entry_points=(EntryPoint("run", (0,), 5),),
            command_word=CommandWord(0, 8) if command else None,
        ),
    )


def started(transport: Scripted, program: Application) -> Session:
    session = Session(Board(transport, Limits(mark=0.01)), program)
    session.start()
    return session


def word(memory: Memory, place: int) -> NDArray[Any]:
    return memory[1][place : place + 4].view("<u4")


def streams(*numbers: int) -> dict[int, NDArray[np.uint8]]:
    return {each: np.array([each + 100], "<u4").view(np.uint8) for each in numbers}


def room(*numbers: int) -> dict[int, NDArray[np.uint8]]:
    return {each: np.zeros(4, np.uint8) for each in numbers}


def test_a_program_that_runs_once() -> None:
    """It asks for no command; its call ends open, and it ends when that is acknowledged."""
    seen: list[object] = []

    def program(memory: Memory) -> Iterator[None]:
        yield
        yield  # entry of the input
        seen.append(int(word(memory, 0)[0]))
        yield  # completion
        seen.append(bytes(memory[1][4:8]))
        yield  # entry of the output
        word(memory, 4)[:] = 7
        yield  # completion
        seen.append("ends")

    transport = Scripted(program)
    plan = application([TO, BACK], [0, 4], ends_open=True)
    session = started(transport, plan)
    outputs = room(1)
    session.call(plan.host.entry_points[0], streams(0), outputs)
    assert outputs[1].view("<u4").tolist() == [7]
    assert seen == [100, b"\xa5" * 4], "what is fetched was stale before"
    session.stop()
    assert seen[-1] == "ends"


def test_copies_keep_to_the_phases_if_a_place_is_used_again() -> None:
    """Two inputs and two outputs in one word, each there in its phase alone."""
    seen = []

    def program(memory: Memory) -> Iterator[None]:
        yield
        for _ in range(2):
            yield
            seen.append(int(word(memory, 0)[0]))
            yield
        for number in (41, 42):
            yield
            word(memory, 0)[:] = number
            yield
        yield

    transport = Scripted(program)
    plan = application([TO, TO, BACK, BACK], [0, 0, 0, 0], ends_open=False)
    assert plan.host.reuses_pages(0)
    session = started(transport, plan)
    outputs = room(2, 3)
    session.call(plan.host.entry_points[0], streams(0, 1), outputs)
    assert seen == [100, 101]
    assert [each.view("<u4")[0] for each in outputs.values()] == [41, 42]


@pytest.mark.parametrize("ends_open", [False, True])
def test_calls_follow_each_other(ends_open: bool) -> None:
    """With the command there before the first entry, and an open completion acknowledged by the
    next call, or by the end."""
    commands = []

    def program(memory: Memory) -> Iterator[None]:
        yield
        while True:
            yield
            commands.append(int(memory[0][8:12].view("<u4")[0]))
            word(memory, 0)[:] = len(commands)
            yield
            if commands[-1] == 0:
                return

    transport = Scripted(program)
    plan = application([BACK], [0], ends_open=ends_open, command=True)
    session = started(transport, plan)
    for run in range(1, 4):
        outputs = room(0)
        session.call(plan.host.entry_points[0], {}, outputs)
        assert outputs[0].view("<u4").tolist() == [run]
    session.stop()
    assert commands == [5, 5, 5, 0]
    session.close()
    with pytest.raises(Exception, match="page 0 is not attached"):
        transport.detach_page(0)


def test_entry_points_of_groups() -> None:
    """The one to stop is none; without any, each group's calls are one."""
    load, run, save = (Call(group.name, group) for group in Group)
    points = (EntryPoint("a", (1,), 1), EntryPoint("b", (0,), 2), EntryPoint("stop", (2,), 0))
    plan = HostPlan(calls=(load, run, save), entry_points=points, command_word=CommandWord(0, 0))
    assert entries_of(plan, Group.RUN) == [points[0]]
    assert entries_of(plan, Group.LOAD) == [points[1]]
    assert entries_of(plan, Group.SAVE) == []
    plain = HostPlan(calls=(load, run, run))
    assert entries_of(plain, Group.RUN) == [EntryPoint("run", (1, 2))]
    assert entries_of(plain, Group.SAVE) == []


def test_pages_that_cannot_all_be_attached_are_detached_again() -> None:
    """Page 1 is taken by someone else."""

    def program(memory: Memory) -> Iterator[None]:
        while True:
            yield

    class Refusing(Scripted):
        def attach_page(self, index: int, memory: NDArray[np.uint8]) -> None:
            if index == 1:
                raise OSError("no memory")
            super().attach_page(index, memory)

    transport = Refusing(program)
    with pytest.raises(OSError, match="no memory"):
        started(transport, application([TO], [0], ends_open=True))
    with pytest.raises(Exception, match="page 0 is not attached"):
        transport.detach_page(0)
