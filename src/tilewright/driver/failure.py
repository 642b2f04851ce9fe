"""What a device looks like after a failure: marks, and the tiles that do not just wait.

A tile that waits at a barrier looks like one that is not active, so the report has those that run
or have excepted.
"""

from dataclasses import dataclass, replace

import numpy as np

from tilewright.driver.auto_loader import LoaderImage
from tilewright.driver.board import Board
from tilewright.driver.debug import (
    GENERAL_REGISTERS,
    SUPERVISOR,
    Debugger,
    ExceptionType,
    ReceiveError,
    context_name,
    decode_status,
    has_excepted,
)
from tilewright.driver.errors import DriverError
from tilewright.driver.registers import SyncGroup
from tilewright.package import Application, Debug, PackageError, Place, TileImages
from tilewright.target.debug import ContextStatus, DebugRegister
from tilewright.target.geometry import LOADER_FRAME_END

MOST_TILES = 16
"""Tiles that a report tells about; the others are counted."""
_LINK = 10
"""The register in which calls leave where they return to, by convention."""
_CALL_BYTES = 4
_COMPARED_BYTES = 16
"""On each side of a program counter, whose code is compared with what was loaded."""


@dataclass(frozen=True, slots=True)
class ContextReport:
    """A context that has excepted, or runs: where, why, and with what in $m0 to $m11."""

    context: int
    exception: ExceptionType
    """`NONE` for one that runs: it was stopped to be looked at."""
    pc: int
    place: Place | None
    """What the package's debug tables know of the program counter."""
    caller: Place | None
    """What they know of the call that the supervisor is in, where others share that code."""
    loader_check: str | None
    """In the tile loader: the check that failed, which the loader names by $m1."""
    registers: tuple[int, ...]
    changed: tuple[int, ...]
    """Addresses around the program counter whose words are not those that were loaded."""

    @property
    def operation(self) -> str | None:
        """The operation of the graph for which the code ran, as far as it is known."""
        known = (each.operation for each in (self.place, self.caller) if each is not None)
        return next((each for each in known if each is not None), None)

    @property
    def heading(self) -> str:
        """Where and why."""
        where = f" in {self.place}" if self.place is not None and str(self.place) else ""
        where += f", called by {self.caller}" if self.caller is not None else ""
        where += f", check '{self.loader_check}' of the tile loader" if self.loader_check else ""
        why = self.exception.name if self.exception else "running"
        return f"{context_name(self.context)} at pc {self.pc:#x}{where}: {why}"

    def __str__(self) -> str:
        lines = [self.heading]
        named = [f"m{number} {value:#x}" for number, value in enumerate(self.registers) if value]
        lines.append(f"  registers: {', '.join(named) or 'all 0'}")
        if self.changed:
            shown = ", ".join(f"{each:#x}" for each in self.changed)
            lines.append(f"  code differs from what was loaded at {shown}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class TileReport:
    """A tile with a context that is not quiet; `unread` tells why more is not known.

    Its text tells everything but the tile.
    """

    tile: int
    states: tuple[ContextStatus, ...]
    contexts: tuple[ContextReport, ...]
    incoming_count: int
    exchange_control: int
    receive_error: ReceiveError
    unread: str | None

    @property
    def headings(self) -> tuple[str, ...]:
        """What is wrong, in short, and which contexts run."""
        told = {each.context for each in self.contexts}
        running = [context_name(each) for each in running_contexts(self.states) if each not in told]
        runs = [f"running: {', '.join(running)}"] if running else []
        return (*(each.heading for each in self.contexts), *runs)

    def __str__(self) -> str:
        lines = [line for each in self.contexts for line in str(each).splitlines()]
        lines += self.headings[len(self.contexts) :]
        if self.receive_error:
            lines.append(f"receive error: {self.receive_error.name}")
        lines.append(
            f"incoming count {self.incoming_count}, exchange control {self.exchange_control:#x}"
        )
        if self.unread:
            lines.append(f"the rest cannot be read: {self.unread}")
        return "\n".join(lines)


def running_contexts(states: tuple[ContextStatus, ...]) -> list[int]:
    """The contexts that run, of a tile's."""
    return [context for context, state in enumerate(states) if state == ContextStatus.ACTIVE]


@dataclass(frozen=True, slots=True)
class FailureReport:
    """The device after a failure.

    `marks` are those of the loader's and the program's host sync, `tiles` the first that are not
    quiet, `others` how many more there are, `findings` what the transport itself knows, `unnamed`
    why code has no names, if the package's debug tables cannot be read.
    """

    marks: tuple[int, ...]
    tiles: tuple[TileReport, ...]
    others: int
    findings: tuple[str, ...]
    unnamed: str | None = None

    def __str__(self) -> str:
        marks = ", ".join(
            f"group {group} {mark}" for group, mark in zip(SyncGroup, self.marks, strict=True)
        )
        lines = [f"marks of host sync: {marks}"]
        alike: dict[tuple[str, ...], list[TileReport]] = {}
        for each in self.tiles:
            alike.setdefault(each.headings, []).append(each)
        for tiles in alike.values():
            lines.append(f"tile {tiles[0].tile}:")
            lines += [f"  {line}" for line in str(tiles[0]).splitlines()]
            if len(tiles) > 1:
                others = ", ".join(str(each.tile) for each in tiles[1:])
                lines.append(f"  at the same place, maybe with other registers: tiles {others}")
        if self.others:
            lines.append(f"and {self.others} more tiles that are not quiet")
        if not self.tiles:
            lines.append("all tiles are quiet: inactive, or waiting at barriers")
        for finding in self.findings:
            first, *more = finding.splitlines()
            lines += [f"the device's side: {first}", *(f"  {line}" for line in more)]
        if self.unnamed is not None:
            lines.append(f"code has no names: {self.unnamed}")
        return "\n".join(lines)


def examine(
    board: Board, application: Application, loader: LoaderImage | None = None
) -> FailureReport:
    """Read the state of a device that runs an application, or its tile loader if that is given.

    Tiles that have excepted come first, then those that run.
    """
    words = board.debugger.status_words()
    chosen = np.flatnonzero(words != 0)
    chosen = chosen[np.argsort(~has_excepted(words[chosen]), kind="stable")]
    debug, unnamed = _debug(application)
    reader = _Reader(board.debugger, debug, TileImages(application), loader)
    return FailureReport(
        tuple(board.mark(group) for group in SyncGroup),
        tuple(reader.tile(tile, int(words[tile])) for tile in chosen[:MOST_TILES].tolist()),
        max(len(chosen) - MOST_TILES, 0),
        board.transport.findings(),
        unnamed,
    )


def _debug(application: Application) -> tuple[Debug | None, str | None]:
    """The debug tables, or else why they cannot be read: a failure has to be told all the same."""
    try:
        return application.debug, None
    except PackageError as error:
        return None, str(error).splitlines()[0]


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads tiles that run a program, of which `images` were loaded, or a tile loader."""

    debugger: Debugger
    debug: Debug | None
    images: TileImages
    loader: LoaderImage | None

    def tile(self, tile: int, word: int) -> TileReport:
        status = decode_status(word)
        contexts, unread = [], None
        try:
            for context in status.excepted:
                contexts.append(self._context(tile, context))
            for context in () if contexts else running_contexts(status.states):
                with self.debugger.stopped(tile, context):
                    report = self._context(tile, context)
                contexts.append(replace(report, exception=ExceptionType.NONE))
        except DriverError as error:
            unread = str(error)
        return TileReport(
            tile,
            status.states,
            tuple(contexts),
            self.debugger.read_register(tile, DebugRegister.INCOMING_COUNT),
            self.debugger.read_register(tile, DebugRegister.EXCHANGE_CONTROL),
            status.receive_error,
            unread,
        )

    def _context(self, tile: int, context: int) -> ContextReport:
        debugger = self.debugger
        debug = self.debug if self.loader is None else None
        pc = debugger.program_counter(tile, context)
        registers = tuple(
            debugger.general(tile, context, number) for number in range(GENERAL_REGISTERS)
        )
        exception = debugger.exception(tile, context)
        place = debug.place(tile, pc) if debug is not None else None
        check = None
        if self.loader is not None and exception is ExceptionType.PATCHED_BREAK_1:
            check = self.loader.symbol(registers[1]) or hex(registers[1])
        return ContextReport(
            context,
            exception,
            pc,
            place,
            self._caller(tile, context, place, registers) if place is not None else None,
            check,
            registers,
            self._changed(tile, context, pc) if self.loader is None else (),
        )

    def _caller(
        self, tile: int, context: int, place: Place, registers: tuple[int, ...]
    ) -> Place | None:
        """The call that a tile's supervisor is in, if it is in one and it can be found.

        If a worker has excepted, the supervisor waits for it, and is stopped to be asked.
        """
        assert self.debug is not None
        if place.operation is not None:
            return None
        link = registers[_LINK]
        if context != SUPERVISOR:
            try:
                with self.debugger.stopped(tile, SUPERVISOR):
                    link = self.debugger.general(tile, SUPERVISOR, _LINK)
            except DriverError:
                return None
        if link < _CALL_BYTES:
            return None
        caller = self.debug.place(tile, link - _CALL_BYTES)
        return caller if caller.symbol not in (None, place.symbol) else None

    def _changed(self, tile: int, context: int, pc: int) -> tuple[int, ...]:
        """Where the words around `pc` are not those that were loaded."""
        image = self.images[tile]
        end = LOADER_FRAME_END + image.size // 4 * 4
        first = max(pc - _COMPARED_BYTES, LOADER_FRAME_END)
        last = min(pc + _COMPARED_BYTES, end)
        if first >= last:
            return ()
        start = first - LOADER_FRAME_END
        loaded = image[start : start + last - first].view("<u4")
        found = self.debugger.read_words(tile, context, first, len(loaded))
        return tuple(int(first + 4 * row) for row in np.flatnonzero(loaded != found))
