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
from tilewright.driver.copies import Pages
from tilewright.driver.debug import SUPERVISOR, is_stopped
from tilewright.driver.errors import ProtocolError
from tilewright.driver.pages import attach_pages, detach_pages, page_memory
from tilewright.driver.registers import (
    EXCHANGE_WINDOW_BASE,
    EXCHANGE_WINDOW_PAGED,
    SyncGroup,
)
from tilewright.driver.waiting import wait_until
from tilewright.package import Application, Direction, EntryPoint, Group

U8 = NDArray[np.uint8]

STOP_COMMAND = 0
"""Ends a program that asks for commands; no entry point has it."""
_PROGRAM = SyncGroup.PROGRAM


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
        self._pages = Pages(self._plan, page_memory(self._plan.pages.size.tolist()))
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
        word = self._plan.command_word
        if word is not None:
            self._acknowledge_open("going on after the last call")
            self._pages.write_word(word.page, word.offset, STOP_COMMAND)
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
        plan = self._plan
        batches, name = plan.batches_of(call), plan.calls[call].name
        directions = plan.batches.direction[batches.start : batches.stop].tolist()
        is_input = [direction == Direction.TO_DEVICE for direction in directions]
        streaming = plan.reuses_pages(call)
        self._acknowledge_open(f"going on to call '{name}'")
        if plan.command_word is not None:
            self._pages.write_word(plan.command_word.page, plan.command_word.offset, command)
        if not streaming:
            self._copy_all(batches, is_input, inputs)
        cycles = [self._transport.cycles()]
        fetched: int | None = None
        for place, batch in enumerate(batches):
            if streaming and fetched is not None:
                self._pages.copy_out(fetched, outputs)
            fetched = None if is_input[place] else batch
            if streaming and is_input[place]:
                self._pages.copy_in(batch, inputs)
            what = f"call '{name}', batch {place} of {len(batches)}"
            self._acknowledge(f"{what}: the transfer")
            cycles.append(self._transport.cycles())
            if 2 * place + 1 < plan.phases(call):
                self._acknowledge(f"{what}: what follows it")
                cycles.append(self._transport.cycles())
        self._is_open = plan.calls[call].ends_open
        if streaming and fetched is not None:
            self._pages.copy_out(fetched, outputs)
        if not streaming:
            for place, batch in enumerate(batches):
                if not is_input[place]:
                    self._pages.copy_out(batch, outputs)
        known = [each for each in cycles if each is not None]
        if len(known) < len(cycles):
            return None
        has_command = bool(batches) and not plan.slices_of(batches[0])
        return CallTimes(tuple(known), tuple(is_input), has_command)

    def _copy_all(self, batches: range, is_input: list[bool], inputs: Mapping[int, U8]) -> None:
        """Put all that is sent into the pages, and what shows what is not fetched."""
        for place, batch in enumerate(batches):
            if is_input[place]:
                self._pages.copy_in(batch, inputs)
            else:
                self._pages.make_stale(batch)

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


def load_entries(application: Application) -> list[EntryPoint]:
    """What is called once after loading: entry points whose calls all are of that group."""
    calls = application.host.calls
    return [
        entry
        for entry in application.host.entry_points
        if all(calls[call].group is Group.LOAD for call in entry.calls)
    ]
