"""A session with a loaded program: pages, calls in phases, the end.

The device waits for the host at each phase: a call has two for each batch of transfers, its entry
and its completion. What the device reads has to be in its page before the entry is acknowledged;
what it writes is there when it waits for the acknowledgement of the completion.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.driver.board import Board
from tilewright.driver.copies import HostPages
from tilewright.driver.debug import SUPERVISOR, is_stopped
from tilewright.driver.errors import ProtocolError
from tilewright.driver.pages import attach_pages, detach_pages, page_memory
from tilewright.driver.registers import (
    EXCHANGE_WINDOW_BASE,
    EXCHANGE_WINDOW_PAGED,
    SyncGroup,
)
from tilewright.driver.waiting import wait_until
from tilewright.package import STOP_COMMAND, Application, EntryPoint, Group, HostPlan

U8 = NDArray[np.uint8]

_PROGRAM = SyncGroup.PROGRAM
_START_SECONDS = 1e-3
"""Enough for all tiles to come to their first host sync. Its mark reads as 0 before, too, and if it
were written earlier, that sync would take it off instead of waiting for it."""


@dataclass(frozen=True, slots=True)
class CallTimes:
    """When the device came to wait for the host: at the start, and after each phase, in cycles.

    `is_input` tells for each batch whether it went to the device; the first may carry nothing but
    the command.
    """

    cycles: tuple[int, ...]
    is_input: tuple[bool, ...]
    starts_with_command: bool

    @property
    def total(self) -> int:
        """From the command, or else the start, to the end of the last batch."""
        return self.cycles[2 * len(self.is_input) - 1] - self.cycles[self._start]

    @property
    def graph(self) -> int:
        """Of that, between the last batch to the device and the first from it."""
        spans = (
            self.cycles[2 * batch + 2] - self.cycles[2 * batch + 1]
            for batch, (this, following) in enumerate(
                zip(self.is_input, self.is_input[1:], strict=False)
            )
            if this and not following
        )
        return sum(spans)

    @property
    def host(self) -> int:
        """The rest: transfers, and what prepares and follows them."""
        return self.total - self.graph

    @property
    def _start(self) -> int:
        return 1 if self.starts_with_command else 0


class Session:
    """What the host does while a program that has been loaded runs on a board.

    After an error the device is in an unknown state: `close` the session and load again. Methods
    raise what `Board.await_mark` raises.
    """

    def __init__(self, board: Board, application: Application) -> None:
        self._board = board
        self._transport = board.transport
        self._plan = application.host
        self._application = application
        self._indices: list[int] = []
        self._pages = HostPages(self._plan, page_memory(self._plan.pages.size.tolist()))
        self._is_open = False
        """Whether the completion of the last batch is still to be acknowledged."""

    def start(self) -> None:
        """Let the program begin, and attach its pages; it then waits for the first call."""
        self._transport.write(EXCHANGE_WINDOW_BASE, EXCHANGE_WINDOW_PAGED)
        self._board.set_mark(SyncGroup.LOADER, 1)
        self._await("starting the program")
        self._transport.detach_pages()
        indices = self._plan.pages.index.tolist()
        attach_pages(self._transport, indices, self._pages.memories)
        self._indices = indices
        self._transport.clock.sleep(_START_SECONDS)
        self._acknowledge("letting the program begin")

    def call(
        self, entry: EntryPoint, inputs: Mapping[int, U8], outputs: Mapping[int, U8]
    ) -> list[CallTimes | None]:
        """Make the calls of an entry point.

        `inputs` and `outputs` are streams by tensor: of all that the calls send, and room for all
        that they fetch. Returns when each call did what, None where the device does not tell.
        """
        return [self._call(entry.command, call, inputs, outputs) for call in entry.calls]

    def stop(self) -> None:
        """End the program, and wait until all tiles have said so.

        A program without commands has ended by itself once its last batch is acknowledged.
        """
        if self._plan.command_word is not None:
            self._acknowledge_open("going on after the last call")
            self._write_command(STOP_COMMAND)
            self._acknowledge("giving the command to stop")
            self._is_open = True
        if self._is_open:
            self._board.set_mark(_PROGRAM, 1)
            self._is_open = False
        if self._application.completion is not None:
            self._await_completion(self._application.completion.address)

    def close(self) -> None:
        """Take the pages from the device, whatever state it is in."""
        detach_pages(self._transport, self._indices)
        self._indices = []

    # -- calls ----------------------------------------------------------------------------------

    def _call(
        self, command: int, call: int, inputs: Mapping[int, U8], outputs: Mapping[int, U8]
    ) -> CallTimes | None:
        """Everything is in its page before the first phase and taken after the last, unless slices
        use a place of a page again: then it is there, and taken, batch by batch."""
        plan = self._plan
        batches, name = plan.batches_of(call), plan.calls[call].name
        self._acknowledge_open(f"going on to call '{name}'")
        self._write_command(command)
        keeps_to_phases = plan.reuses_pages(call)
        if not keeps_to_phases:
            self._pages.prepare(batches, inputs)
        cycles = [self._transport.cycles()]
        for place, batch in enumerate(batches):
            what = f"call '{name}', batch {place} of {len(batches)}"
            if keeps_to_phases:
                self._pages.prepare([batch], inputs)
            self._acknowledge(f"{what}: the transfer")
            cycles.append(self._transport.cycles())
            if keeps_to_phases:
                self._pages.collect([batch], outputs)
            if 2 * place + 1 < plan.phases(call):
                self._acknowledge(f"{what}: what follows it")
                cycles.append(self._transport.cycles())
        self._is_open = plan.calls[call].ends_open
        if not keeps_to_phases:
            self._pages.collect(batches, outputs)
        return self._times(batches, cycles)

    def _times(self, batches: range, cycles: list[int | None]) -> CallTimes | None:
        known = tuple(each for each in cycles if each is not None)
        if len(known) < len(cycles):
            return None
        has_command = bool(batches) and not self._plan.slices_of(batches[0])
        return CallTimes(known, tuple(map(self._pages.is_input, batches)), has_command)

    def _write_command(self, command: int) -> None:
        word = self._plan.command_word
        if word is not None:
            self._pages.write_word(word.page, word.offset, command)

    def _await(self, what: str) -> None:
        self._board.await_mark(_PROGRAM, what)

    def _acknowledge(self, what: str) -> None:
        """Let the device go on to the next moment at which it waits for the host."""
        self._await(f"before {what}")
        self._board.set_mark(_PROGRAM, 1)
        self._await(what)

    def _acknowledge_open(self, what: str) -> None:
        if self._is_open:
            self._is_open = False
            self._acknowledge(what)

    # -- the end --------------------------------------------------------------------------------

    def _await_completion(self, address: int) -> None:
        """Wait until the completion word of every tile has its value.

        Tiles are asked in order, each until it has ended, since one that has ended stays so.
        """
        left = iter(range(self._application.tiles))
        tile = next(left)

        def is_complete() -> bool:
            nonlocal tile
            while self._has_ended(tile, address):
                following = next(left, None)
                if following is None:
                    return True
                tile = following
            return False

        wait_until(
            is_complete,
            "ending the program",
            self._transport.clock,
            limit=self._board.limits.completion,
            poll=self._board.limits.poll,
        )

    def _has_ended(self, tile: int, address: int) -> bool:
        """Whether a tile has stopped. Raises `ProtocolError` if that was before its end."""
        debugger, completion = self._board.debugger, self._application.completion
        assert completion is not None
        if not is_stopped(debugger.status(tile).states[SUPERVISOR]):
            return False
        word = debugger.read_last_word(tile, SUPERVISOR, address)
        if word != completion.value:
            raise ProtocolError(
                f"tile {tile} has stopped by {debugger.exception(tile, SUPERVISOR).name}, with "
                f"{word:#x} as its word of completion, not {completion.value:#x}"
            )
        return True


def entries_of(plan: HostPlan, group: Group) -> list[EntryPoint]:
    """The entry points whose calls all are of a group, without the one that stops the program.

    A plan without entry points has one for each group: all of its calls.
    """
    calls = plan.calls
    listed = plan.entry_points
    if not listed:
        numbers = tuple(number for number, call in enumerate(calls) if call.group is group)
        listed = (EntryPoint(group.name.lower(), numbers),) if numbers else ()
    return [
        entry
        for entry in listed
        if all(calls[call].group is group for call in entry.calls)
        and (plan.command_word is None or entry.command != STOP_COMMAND)
    ]
