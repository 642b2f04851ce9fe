"""The chip: tiles that run alone from barrier to barrier, and the exchanges between them.

The chip is bulk-synchronous, so the order in which tiles run does not matter. After a barrier each
tile runs its row of exchange code; then the fabric moves the words of all rows at once; then each
tile runs on to its next barrier.
"""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from itertools import repeat
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.barriers import (
    ANS_ZONE,
    INTERNAL_ZONE,
    RECEIVE_ZONE,
    HostPort,
    Participations,
    Waiting,
    complete_zone,
    describe_tiles,
    describe_waiting,
    group_of,
    zone_name,
)
from tilewright.emulator.disassembly import describe_fault
from tilewright.emulator.engines import Engine, tile_maker
from tilewright.emulator.fabric import ClashRule, Record, run_phase
from tilewright.emulator.fabric.phase import AfterPhase
from tilewright.emulator.fabric.rows import FIRST_CSR, LAST_CSR
from tilewright.emulator.faults import (
    ExchangeFault,
    InternalMuxFault,
    OutsidePhaseFault,
    ReceiveCountFault,
)
from tilewright.emulator.images import TileImage
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.observing import Observer
from tilewright.emulator.reference.tile import Stop, Stopped, TileSnapshot, TimedEvent
from tilewright.emulator.snapshots import MemorySnapshot, restore_memory, save_memory
from tilewright.errors import TilewrightError
from tilewright.target.csr import CSRS
from tilewright.target.geometry import TILES
from tilewright.target.timing import INTERNAL_SYNC, SYNC
from tilewright.target.topology import MEMBERS, NEUTRAL_MUX, PARTNER_BIT, SIDES, external_muxes

_RECEIVE_COUNT, _ANS_COUNT = CSRS["INCOMING_DCOUNT"].index, CSRS["ANS_DCOUNT"].index
_MUX, _FORMAT = CSRS["INCOMING_MUX"].index, CSRS["INCOMING_FORMAT"].index
_MUX_PAIR = CSRS["INCOMING_MUXPAIR"].index
_MUXES = (_MUX, _MUX_PAIR)
_POINTER, _CURSOR = CSRS["INCOMING_DELTA"].index, CSRS["OUTGOING_DELTA"].index
_STATUS = CSRS["CTXT_STS"].index
_RECEIVE_ERROR_SHIFT = 27
"""ERERR is in bits 29:27 of CTXT_STS."""
_EXCHANGE = slice(FIRST_CSR, LAST_CSR + 1)
_TRANSFERS = ("send", "pointer", "source")
_CELL = MEMBERS * SIDES
"""Tiles come in cells of two pairs."""
_NO_LIMIT = 1 << 62


class ChipError(TilewrightError):
    """A chip that is used in a way that makes no sense."""


class TileEngine(Protocol):
    """What runs one tile. `state` is laid out as `tilewright.emulator.state.TILE`.

    `events` are those since the list was last cleared, by whoever reads it.
    """

    state: Any
    events: list[TimedEvent]
    observer: Observer | None

    def run(self, limit: int) -> Stopped: ...

    def resume(self, cycle: int) -> None: ...

    def save(self) -> TileSnapshot: ...

    def restore(self, snapshot: TileSnapshot) -> None: ...


class End(Enum):
    """Why a chip stopped running."""

    STOPPED = auto()
    """Every tile that was loaded has trapped or faulted."""
    STUCK = auto()
    """Tiles wait for a barrier that cannot complete."""
    LIMIT = auto()
    """The cycle limit was reached; `Chip.run` can go on."""
    BREAK = auto()
    """An observer stopped its tile; `Chip.run` can go on."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: in which cycle, where tiles wait, and how others stopped, by tile.

    `descriptions` tell the same of the stopped ones as text, faults with instruction, symbol and
    line. `unloaded` are tiles that have no program, `broken` is the tile that an observer stopped.
    Tiles of higher numbers may be behind it. The text of an outcome tells all this.
    """

    end: End
    cycle: int
    waiting: tuple[Waiting, ...]
    stopped: Mapping[int, Stopped]
    descriptions: Mapping[int, str]
    unloaded: tuple[int, ...]
    broken: tuple[int, Stopped] | None = None

    def __str__(self) -> str:
        lines = []
        if self.waiting:
            heading = "a barrier cannot complete" if self.end is End.STUCK else "at barriers"
            lines += [f"{heading}:", *(f"  {line}" for line in describe_waiting(self.waiting))]
        causes: dict[str, list[int]] = {}
        for tile, description in self.descriptions.items():
            causes.setdefault(description, []).append(tile)
        lines += [f"  stopped: {describe_tiles(tiles)}: {why}" for why, tiles in causes.items()]
        if self.broken:
            tile, at = self.broken
            where = f"worker {at.context - 1}" if at.context else "supervisor"
            lines.append(f"  break: tile {tile}, {where} at pc {at.pc:#x}")
        if self.unloaded:
            lines.append(f"  without a program: {describe_tiles(self.unloaded)}")
        return "\n".join([f"{self.end.name.lower()} in cycle {self.cycle}", *lines])


class _Phase(Enum):
    """What kind of barrier a tile has passed; a row of exchange code belongs to it."""

    NONE = auto()
    INTERNAL = auto()
    GROUP = auto()


@dataclass(slots=True)
class _Tile:
    """A tile that has a program. `stopped` is how its last run ended, None if it can run on."""

    number: int
    engine: TileEngine
    image: TileImage
    stopped: Stopped | None = None
    phase: _Phase = _Phase.NONE
    released: int = 0
    registers: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    events: list[TimedEvent] = field(default_factory=list)
    participations: Participations = field(default_factory=Participations)

    @property
    def csr(self) -> NDArray[np.uint32]:
        csr: NDArray[np.uint32] = self.engine.state["supervisor"]["csr"]
        return csr

    def copy(self) -> "_Tile":
        """One that has nothing in common with this that changes, but the engine."""
        return replace(
            self,
            registers=self.registers.copy(),
            events=list(self.events),
            participations=deepcopy(self.participations),
        )

    def stops_with(self, reason: Stop) -> bool:
        return self.stopped is not None and self.stopped.reason is reason


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A chip at one point of a run, from `Chip.save`."""

    memory: MemorySnapshot
    tiles: tuple[tuple[_Tile, TileSnapshot], ...]


class Chip:
    """A chip of `tiles` tiles with memory; programs are loaded by physical tile.

    `barrier_cycles` pass between the last arrival at a barrier and the moment when all go on
    (`barrier-cost`). A smaller chip consists of the tiles with the lowest physical ids.

    Tiles run in `threads` threads from barrier to barrier, one for each processor if it is None.
    Results do not depend on it. While a tile is observed, tiles run one after the other.
    """

    def __init__(
        self,
        tiles: int = TILES,
        *,
        host: HostPort | None = None,
        barrier_cycles: int = INTERNAL_SYNC.value,
        clash_rule: ClashRule = ClashRule.CYCLE,
        engine: Engine = Engine.LLVM,
        threads: int | None = None,
    ) -> None:
        if not 0 < tiles <= TILES or tiles % _CELL:
            raise ChipError(
                f"a chip of {tiles} tiles; there can be {_CELL}, {2 * _CELL} to {TILES}"
            )
        threads = len(os.sched_getaffinity(0)) if threads is None else threads
        if threads < 1:
            raise ChipError(f"a chip run by {threads} threads; at least one is needed")
        self.memory = TileMemory(tiles)
        self._threads = threads
        self._count = tiles
        self._host = host
        self._barrier_cycles = barrier_cycles
        self._clash_rule = clash_rule
        self._make_tile = tile_maker(engine)
        self._tiles: dict[int, _Tile] = {}

    def load(self, tile: int, image: TileImage) -> None:
        """Put an image into a tile's memory; its supervisor starts at the image's entry."""
        self._check(tile)
        for address, content in image.pieces:
            self.memory.write(tile, address, content)
        engine = self._make_tile(self.memory, tile)
        engine.state["supervisor"]["pc"] = image.entry
        # The mux after a reset; programs make it neutral before the first phase.
        engine.state["supervisor"]["csr"][_MUX] = int(external_muxes(tile))
        self._tiles[tile] = _Tile(tile, engine, image)

    def state(self, tile: int) -> Any:
        """The state of a tile that has a program, laid out as `tilewright.emulator.state.TILE`."""
        self._check(tile)
        if tile not in self._tiles:
            raise ChipError(f"tile {tile} has no program")
        return self._tiles[tile].engine.state

    def run(self, limit: int = _NO_LIMIT) -> Outcome:
        """Run all tiles until they stop, wait in vain, or reach cycle `limit`.

        Raises `ExchangeFault` for what goes wrong between tiles; the chip cannot run on after one.
        """
        while True:
            broken = self._run_tiles(limit)
            if broken is not None:
                return self._outcome(End.BREAK, broken[1].cycle, broken)
            if any(tile.stopped is None for tile in self._each()):
                return self._outcome(End.LIMIT, limit)
            moved = self._exchange()
            released = self._release_single()
            if not (moved or released or self._release_all()):
                return self._end()

    def observe(self, tile: int, observer: Observer | None) -> None:
        """Let an observer watch a tile that has a program, or nobody."""
        self.state(tile)  # complains if there is none
        self._tiles[tile].engine.observer = observer

    def save(self) -> Snapshot:
        """The chip as it is between two runs, without the host and the observers."""
        tiles = tuple((tile.copy(), tile.engine.save()) for tile in self._each())
        return Snapshot(save_memory(self.memory), tiles)

    def restore(self, snapshot: Snapshot) -> None:
        """Become what a chip of this size was. A snapshot can be used again.

        Raises `SnapshotError` for one of another size, or of compiled workers under way if this
        chip's engine is the reference; after that, the chip is good for another restore only.
        """
        restore_memory(self.memory, snapshot.memory)
        before, self._tiles = self._tiles, {}
        for saved, state in snapshot.tiles:
            known = before.get(saved.number)
            engine = known.engine if known else self._make_tile(self.memory, saved.number)
            engine.restore(state)
            self._tiles[saved.number] = replace(saved.copy(), engine=engine)

    # -- tiles on their own -------------------------------------------------------------------

    def _check(self, tile: int) -> None:
        if not 0 <= tile < self._count:
            raise ChipError(f"there is no tile {tile}; ids run from 0 to {self._count - 1}")

    def _each(self) -> list[_Tile]:
        return [self._tiles[number] for number in sorted(self._tiles)]

    def _run_tiles(self, limit: int) -> tuple[int, Stopped] | None:
        """Run every tile that can to a barrier, the end of its row, or a fault.

        Returns early, with the tile, if an observer stops one.
        """
        pending = [tile for tile in self._each() if tile.stopped is None]
        outside = []
        for tile, stopped in zip(pending, self._stops(pending, limit), strict=True):
            if isinstance(stopped, OutsidePhaseFault):
                outside.append(stopped)
            elif stopped.reason is Stop.BREAK:
                return tile.number, stopped
            elif stopped.reason is not Stop.LIMIT:
                tile.stopped = stopped
        if outside:
            raise outside[0]
        return None

    def _stops(self, tiles: list[_Tile], limit: int) -> Iterator[Stopped | OutsidePhaseFault]:
        """Run the tiles; how each stops, in order."""
        if self._threads == 1 or any(tile.engine.observer for tile in tiles):
            yield from map(self._run_tile, tiles, repeat(limit))
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                yield from pool.map(self._run_tile, tiles, repeat(limit))

    def _run_tile(self, tile: _Tile, limit: int) -> Stopped | OutsidePhaseFault:
        """Run one tile; touches nothing of any other."""
        try:
            stopped = tile.engine.run(limit)
            self._take_events(tile)
            while stopped.reason is Stop.ROW_END and tile.phase is _Phase.NONE:
                stopped = tile.engine.run(limit)
                self._take_events(tile)
        except OutsidePhaseFault as fault:
            return fault
        return stopped

    def _take_events(self, tile: _Tile) -> None:
        for event in tile.engine.events:
            if event.name == "sans":
                tile.participations.add(event.arguments[0] + 1, event.cycle)
            elif event.name in _TRANSFERS and tile.phase is _Phase.NONE:
                cause = (
                    "exchange outside a phase: no barrier of all tiles comes before it, "
                    "or a row that has ended already"
                )
                raise OutsidePhaseFault(cause, tile=tile.number, pc=event.pc)
            elif event.name == "put" or tile.phase is not _Phase.NONE:
                tile.events.append(event)
        tile.engine.events.clear()

    # -- exchanges ----------------------------------------------------------------------------

    def _exchange(self) -> bool:
        """Move what the rows since the last barrier exchange; whether there were any tiles."""
        done = False
        for phase in (_Phase.INTERNAL, _Phase.GROUP):
            tiles = [tile for tile in self._each() if tile.phase is phase]
            if not tiles:
                continue
            done = True
            records = [
                Record(tile.number, tile.released, tile.events, tile.registers) for tile in tiles
            ]
            if phase is _Phase.INTERNAL:
                self._move(records)
            elif self._host is not None:
                self._count_down(self._host.exchange(records, self.memory))
            for tile in tiles:
                tile.phase = _Phase.NONE
                tile.events = []
                if tile.stops_with(Stop.ROW_END):
                    tile.stopped = None
        return done

    def _move(self, records: list[Record]) -> None:
        result = run_phase(records, self.memory, self._clash_rule)
        for after in result.tiles:
            self._store(after)
        for fault in result.faults:
            self._mark(fault)
        if result.faults:
            first = result.faults[0]
            first.others = result.faults[1:]
            raise first

    def _mark(self, fault: ExchangeFault) -> None:
        """Show a fault that the chip reports in the registers of its tile."""
        if fault.number and fault.tile in self._tiles:
            tile = self._tiles[fault.tile]
            tile.engine.state["supervisor"]["exception"] = fault.number
            tile.csr[_STATUS] = fault.receive_error << _RECEIVE_ERROR_SHIFT

    def _store(self, after: AfterPhase) -> None:
        """The registers of a tile after a phase, which has left it neutral if it was correct."""
        if after.tile not in self._tiles:
            return
        csr = self._tiles[after.tile].csr
        csr[_MUX], csr[_FORMAT] = NEUTRAL_MUX, 0
        csr[_POINTER], csr[_CURSOR] = after.pointer, after.cursor
        # Words count down; more than were announced are no fault in internal phases.
        csr[_RECEIVE_COUNT] = max(int(csr[_RECEIVE_COUNT]) - after.words, 0)

    def _count_down(self, words: Mapping[int, int]) -> None:
        """Take account of words from the host, of which tiles announce how many they expect."""
        for number, count in words.items():
            csr = self._tiles[number].csr
            expected = int(csr[_RECEIVE_COUNT])
            if count > expected:
                cause = f"the host has sent {count} words, INCOMING_DCOUNT announced {expected}"
                raise ReceiveCountFault(cause, tile=number)
            csr[_RECEIVE_COUNT] = expected - count

    # -- barriers -----------------------------------------------------------------------------

    def _waiting(self) -> list[Waiting]:
        return [
            Waiting(tile.number, tile.stopped.zone, tile.stopped.pc, tile.stopped.cycle)
            for tile in self._each()
            if tile.stopped is not None and tile.stopped.reason is Stop.SYNC
        ]

    def _release_single(self) -> bool:
        """Let tiles go on whose wait concerns nobody else; whether there were any."""
        released = False
        for each in self._waiting():
            tile = self._tiles[each.tile]
            has_received = each.zone == RECEIVE_ZONE and not int(tile.csr[_RECEIVE_COUNT])
            if has_received or (each.zone == ANS_ZONE and not tile.participations.left):
                self._resume(tile, max(tile.released, each.cycle + SYNC.value), _Phase.NONE)
                released = True
        return released

    def _release_all(self) -> bool:
        """Complete a barrier of all tiles, if it can be; whether it was."""
        waiting = self._waiting()
        participations = {tile.number: tile.participations for tile in self._each()}
        zone = complete_zone(self._count, waiting, participations)
        if zone is None or not self._allows(zone, waiting):
            return False
        arrived = [each for each in waiting if group_of(each.zone) == zone]
        automatic = [tile for tile in self._each() if tile.participations.left]
        arrivals = [each.cycle for each in arrived]
        arrivals += [tile.participations.take() for tile in automatic]
        cycle = max(arrivals) + self._barrier_cycles
        phase = _Phase.INTERNAL if zone == INTERNAL_ZONE else _Phase.GROUP
        self._settle_pairs()
        if phase is _Phase.GROUP:
            self._check_external(arrived)
        for tile in automatic:
            tile.csr[_ANS_COUNT] = tile.participations.left
            self._enter(tile, cycle, phase)
        for each in arrived:
            self._resume(self._tiles[each.tile], cycle, phase)
        return True

    def _allows(self, zone: int, waiting: list[Waiting]) -> bool:
        if zone == INTERNAL_ZONE:
            return True
        return self._host is not None and self._host.complete(zone, waiting)

    def _check_external(self, arrived: list[Waiting]) -> None:
        """At a barrier of a group no tile may be connected to another."""
        for each in arrived:
            mux = int(self._tiles[each.tile].csr[_MUX])
            if mux < TILES:
                cause = f"{zone_name(each.zone)} while INCOMING_MUX selects tile {mux}"
                raise InternalMuxFault(cause, tile=each.tile, pc=each.pc)

    def _settle_pairs(self) -> None:
        """INCOMING_MUXPAIR, written between phases, sets the sources of both members of a pair."""
        for tile in self._each():
            muxes = [event.arguments for event in tile.events if event.arguments[0] in _MUXES]
            if not muxes or muxes[-1][0] != _MUX_PAIR:
                continue
            value = muxes[-1][1]
            tile.csr[_MUX] = value
            partner = self._tiles.get(tile.number ^ PARTNER_BIT)
            if partner is not None:
                partner.csr[_MUX] = value if value == NEUTRAL_MUX else value ^ PARTNER_BIT

    def _enter(self, tile: _Tile, cycle: int, phase: _Phase) -> None:
        tile.released, tile.phase = cycle, phase
        tile.events = []
        tile.registers = tile.csr[_EXCHANGE].copy()

    def _resume(self, tile: _Tile, cycle: int, phase: _Phase) -> None:
        self._enter(tile, cycle, phase)
        tile.engine.resume(cycle)
        tile.stopped = None

    # -- the end ------------------------------------------------------------------------------

    def _end(self) -> Outcome:
        cycle = max((tile.stopped.cycle for tile in self._each() if tile.stopped), default=0)
        return self._outcome(End.STUCK if self._waiting() else End.STOPPED, cycle)

    def _outcome(self, end: End, cycle: int, broken: tuple[int, Stopped] | None = None) -> Outcome:
        stopped = {
            tile.number: tile.stopped
            for tile in self._each()
            if tile.stopped is not None and tile.stopped.reason is Stop.FAULT
        }
        return Outcome(
            end,
            cycle,
            tuple(self._waiting()),
            stopped,
            {tile: self._describe(tile, each) for tile, each in stopped.items()},
            tuple(number for number in range(self._count) if number not in self._tiles),
            broken,
        )

    def _describe(self, tile: int, stopped: Stopped) -> str:
        if stopped.fault is not None and stopped.fault.is_debug:
            return str(stopped.fault)
        return describe_fault(stopped, self.memory, tile, self._tiles[tile].image)


__all__ = ["Chip", "ChipError", "End", "ExchangeFault", "Outcome", "Snapshot", "TileEngine"]
