"""The chip: tiles that run alone from barrier to barrier, and the exchanges between them.

The chip is bulk-synchronous, so the order in which tiles run does not matter. After a barrier each
tile runs its row of exchange code; then the fabric moves the words of all rows at once; then each
tile runs on to its next barrier.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.barriers import (
    ANS_ZONE,
    INTERNAL_ZONE,
    RECEIVE_ZONE,
    HostPort,
    Participations,
    Received,
    Waiting,
    complete_zone,
    group_of,
    is_master,
    zone_name,
)
from tilewright.emulator.contexts import Contexts
from tilewright.emulator.disassembly import describe_code, describe_fault
from tilewright.emulator.engines import Engine
from tilewright.emulator.events import EXCHANGE_CSRS, TRANSFERS, EventKind
from tilewright.emulator.fabric import ClashRule, Executed
from tilewright.emulator.faults import (
    ExchangeFault,
    InternalMuxFault,
    OutsidePhaseFault,
    ReceiveCountFault,
    ReceiveWorkersFault,
    UnawaitedWordsFault,
)
from tilewright.emulator.images import TileImage
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.outcome import End, Outcome
from tilewright.emulator.records import Tiles
from tilewright.emulator.reference.observing import Observer
from tilewright.emulator.reference.tile import Stop, Stopped, TileSnapshot
from tilewright.emulator.running import RUNNING, Phase, Runner
from tilewright.emulator.snapshots import MemorySnapshot, restore_memory, save_memory
from tilewright.errors import TilewrightError
from tilewright.isa import Mode
from tilewright.target.csr import CSRS
from tilewright.target.debug import RECEIVE_ERROR_SHIFT
from tilewright.target.geometry import TILES
from tilewright.target.timing import INTERNAL_SYNC, SYNC
from tilewright.target.topology import MEMBERS, NEUTRAL_MUX, PARTNER_BIT, SIDES, external_muxes

_RECEIVE_COUNT, _ANS_COUNT = CSRS["INCOMING_DCOUNT"].index, CSRS["ANS_DCOUNT"].index
_MUX, _FORMAT = CSRS["INCOMING_MUX"].index, CSRS["INCOMING_FORMAT"].index
_MUX_PAIR = CSRS["INCOMING_MUXPAIR"].index
_MUXES = (_MUX, _MUX_PAIR)
_POINTER, _CURSOR = CSRS["INCOMING_DELTA"].index, CSRS["OUTGOING_DELTA"].index
_STATUS = CSRS["CTXT_STS"].index
_EXCHANGE = slice(EXCHANGE_CSRS.start, EXCHANGE_CSRS.stop)
_CELL = MEMBERS * SIDES
"""Tiles come in cells of two pairs."""
_NO_LIMIT = 1 << 62


class ChipError(TilewrightError):
    """A chip that is used in a way that makes no sense."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A chip at one point of a run, from `Chip.save`."""

    memory: MemorySnapshot
    progress: NDArray[Any]
    participations: Participations
    stopped: Mapping[int, Stopped]
    images: Mapping[int, TileImage]
    tiles: Mapping[int, TileSnapshot]


class Chip:
    """A chip of `tiles` tiles with memory; programs are loaded by physical tile.

    `barrier_cycles` pass between the last arrival at a barrier and the moment when all go on
    (`barrier-cost`). A smaller chip consists of the tiles with the lowest physical ids. Barriers of
    groups and packets are those of `host`; without one, such barriers never complete.

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
        if threads is not None and threads < 1:
            raise ChipError(f"a chip run by {threads} threads; at least one is needed")
        self.memory = TileMemory(tiles)
        self._runner = Runner(self.memory, engine, threads)
        self._progress = self._runner.progress
        self._count = tiles
        self._host = host
        self._barrier_cycles = barrier_cycles
        self._clash_rule = clash_rule
        self._images: dict[int, TileImage] = {}
        self._participations = Participations()
        self._fault: ExchangeFault | None = None
        self.contexts = Contexts(self._runner)
        """For debuggers, between two runs."""

    def load(self, tile: int, image: TileImage) -> None:
        """Put an image into a tile's memory; its supervisor starts at the image's entry."""
        self._check(tile)
        for address, content in image.pieces:
            self.memory.write(tile, address, content)
        state = self._runner.add(tile).state
        state["supervisor"]["pc"] = image.entry
        # The mux after a reset; programs make it neutral before the first phase.
        state["supervisor"]["csr"][_MUX] = int(external_muxes(tile))
        self._images[tile] = image
        self._participations.forget(tile)

    def state(self, tile: int) -> Any:
        """The state of a tile that has a program, laid out as `tilewright.emulator.state.TILE`."""
        self._check(tile)
        if tile not in self._images:
            raise ChipError(f"tile {tile} has no program")
        return self._runner.tiles[tile].state

    def run(self, limit: int = _NO_LIMIT) -> Outcome:
        """Run all tiles until they stop, wait in vain or for the host, or reach cycle `limit`.

        Raises `ExchangeFault` for what goes wrong between tiles or with the host. The chip cannot
        run on after one: the next runs raise it again.
        """
        if self._fault is None:
            try:
                return self._run(limit)
            except ExchangeFault as fault:
                for each in (fault, *fault.others):
                    self._mark(each)
                    self._describe_code(each)
                self._fault = fault
        raise self._fault

    def _run(self, limit: int) -> Outcome:
        while True:
            broken = self._run_tiles(limit)
            if broken is not None:
                return self._outcome(End.BREAK, broken[1].cycle, broken)
            if self._that_are(RUNNING).size:
                return self._outcome(End.LIMIT, limit)
            moved = self._exchange()
            released = self._release_single()
            if not (moved or released or self._release_all()):
                return self._end()

    def compile_ahead(self) -> None:
        """Compile what phases of any chip need, if it has not been: some 20 s, kept on disk."""
        from tilewright.emulator.fabric import phase
        from tilewright.emulator.host import ahead

        executed = self._executed(np.arange(self._count, dtype=np.uint32))
        phase.compile_ahead(executed, self.memory)
        ahead.compile_ahead(executed, self.memory)

    def observe(self, tile: int, observer: Observer | None) -> None:
        """Let an observer watch a tile that has a program, or nobody."""
        self.state(tile)  # complains if there is none
        self._runner.observe(tile, observer)

    def save(self) -> Snapshot:
        """The chip as it is between two runs, without the host and the observers."""
        return Snapshot(
            save_memory(self.memory),
            self._progress.copy(),
            self._participations.copy(),
            dict(self._runner.stopped),
            dict(self._images),
            {tile: self._runner.tiles[tile].save() for tile in self._images},
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Become what a chip of this size was. A snapshot can be used again.

        Raises `SnapshotError` for one of another size, or of compiled workers under way if this
        chip's engine is the reference; after that, the chip is good for another restore only.
        """
        restore_memory(self.memory, snapshot.memory)
        self._fault = None
        runner = self._runner
        runner.tiles = {
            tile: runner.tiles.get(tile) or runner.add(tile) for tile in snapshot.images
        }
        for tile, saved in snapshot.tiles.items():
            runner.tiles[tile].restore(saved)
        self._progress[:] = snapshot.progress
        runner.stopped = dict(snapshot.stopped)
        self._participations = snapshot.participations.copy()
        self._images = dict(snapshot.images)

    # -- tiles on their own -------------------------------------------------------------------

    def _check(self, tile: int) -> None:
        if not 0 <= tile < self._count:
            raise ChipError(f"there is no tile {tile}; ids run from 0 to {self._count - 1}")

    def _that_are(self, stop: int) -> Tiles:
        """Tiles that have a program and have stopped so, or run."""
        found = self._progress["is_loaded"] & (self._progress["stop"] == stop)
        return np.flatnonzero(found).astype(np.uint32)

    def _in_phase(self, phase: Phase) -> Tiles:
        found = self._progress["is_loaded"] & (self._progress["phase"] == phase)
        return np.flatnonzero(found).astype(np.uint32)

    def _run_tiles(self, limit: int) -> tuple[int, Stopped] | None:
        """Run every tile that can to a barrier, the end of its row, or a fault.

        Returns early, with the tile, if an observer stops one.
        """
        progress = self._progress
        outside: list[OutsidePhaseFault] = []
        tiles = self._that_are(RUNNING)
        while tiles.size:
            broken = self._runner.run(tiles, limit)
            if broken is not None:
                return broken
            outside += self._take_events(tiles)
            # Rows outside phases are only of delays; there is nothing to move at their ends.
            is_idle = (progress["phase"][tiles] == Phase.NONE) & ~np.isin(
                tiles, [fault.tile for fault in outside]
            )
            tiles = tiles[is_idle & (progress["stop"][tiles] == Stop.ROW_END.value)]
            progress["stop"][tiles] = RUNNING
        if outside:
            raise min(outside, key=lambda fault: fault.tile)
        return None

    def _take_events(self, tiles: Tiles) -> list[OutsidePhaseFault]:
        """Take account of what tiles have logged; exchanges outside phases are faults."""
        progress, schedules = self._progress, self._runner.records.schedules
        kinds = schedules["kinds"][tiles]
        progress["kinds"][tiles] |= kinds
        schedules["kinds"][tiles] = 0
        is_outside = (kinds & TRANSFERS != 0) & (progress["phase"][tiles] == Phase.NONE)
        faults = [self._outside(tile) for tile in tiles[is_outside].tolist()]
        registering = tiles[kinds & EventKind.SANS.bit != 0]
        if registering.size:
            self._register(registering)
        progress["seen"][tiles] = schedules["count"][tiles]
        return faults

    def _outside(self, tile: int) -> OutsidePhaseFault:
        events = self._runner.records.log(tile)[int(self._progress["seen"][tile]) :]
        first = next(event for event in events if 1 << int(event["kind"]) & TRANSFERS)
        cause = (
            "exchange outside a phase: no barrier of all tiles comes before it, "
            "or a row that has ended already"
        )
        return OutsidePhaseFault(cause, tile=tile, pc=int(first["pc"]))

    def _register(self, tiles: Tiles) -> None:
        """Note the automatic participations that tiles have announced."""
        events, bounds = self._runner.records.gather(tiles, self._progress["seen"][tiles])
        chosen = np.flatnonzero(events["kind"] == EventKind.SANS)
        owners = tiles[np.searchsorted(bounds, chosen, side="right") - 1]
        counts = events["arguments"][chosen, 0].astype(np.int64) + 1
        self._participations.add(owners, counts, events["cycle"][chosen])

    # -- exchanges ----------------------------------------------------------------------------

    def _exchange(self) -> bool:
        """Move what the rows since the last barrier exchange; whether tiles can go on since."""
        return self._exchange_words() or self._exchange_packets()

    def _exchange_words(self) -> bool:
        """Between tiles."""
        tiles = self._in_phase(Phase.INTERNAL)
        if not tiles.size:
            return False
        self._move(tiles)
        self._leave_phase(tiles)
        self._pass_rows(tiles)
        return True

    def _exchange_packets(self) -> bool:
        """With the host."""
        tiles = self._in_phase(Phase.GROUP)
        if not tiles.size:
            return False
        if (self._progress["kinds"][tiles] & (TRANSFERS | EventKind.PUT.bit)).any():
            self._serve(tiles)
        has_rows = self._pass_rows(tiles)
        self._runner.records.await_row(has_rows)
        return bool(has_rows.size)

    def _serve(self, tiles: Tiles) -> None:
        """Let the host serve the packets of the rows that tiles have run since it last did."""
        assert self._host is not None, "it has let the tiles go"
        self._receive(self._host.exchange(self._executed(tiles), self.memory))
        self._settle_pairs()
        self._leave_phase(tiles, Phase.GROUP)
        self._note_registers(tiles)

    def _pass_rows(self, tiles: Tiles) -> Tiles:
        """Let those go on that are at the ends of rows; returns them."""
        progress = self._progress
        at_end: Tiles = tiles[progress["stop"][tiles] == Stop.ROW_END.value]
        progress["stop"][at_end] = RUNNING
        return at_end

    def _leave_phase(self, tiles: Tiles, phase: Phase = Phase.NONE) -> None:
        """Forget what tiles have executed since the last barrier, in which phase they now are."""
        self._runner.records.clear_logs(tiles)
        self._progress["phase"][tiles] = phase
        self._progress["kinds"][tiles] = self._progress["seen"][tiles] = 0

    def _executed(self, tiles: Tiles) -> Executed:
        """What all tiles have executed since the barrier that they have passed."""
        assert len(tiles) == self._count, "a barrier of all tiles"
        events, bounds = self._runner.records.gather(tiles, np.zeros(len(tiles), np.int64))
        released = self._progress["released"].astype(np.int64)
        return Executed(released, events, bounds, self._progress["registers"])

    def _move(self, tiles: Tiles) -> None:
        if not (self._progress["kinds"] & (TRANSFERS | EventKind.PUT.bit)).any():
            return  # all pass time only
        # Compiled functions are loaded when there is something to move.
        from tilewright.emulator.fabric.phase import run_phase

        result = run_phase(self._executed(tiles), self.memory, self._clash_rule)
        if result.after is not None:
            csr = self._runner.csr
            csr(_MUX)[:], csr(_FORMAT)[:] = NEUTRAL_MUX, 0
            csr(_POINTER)[:], csr(_CURSOR)[:] = result.after.pointers, result.after.cursors
            # Words count down; more than were announced are no fault in internal phases.
            left = csr(_RECEIVE_COUNT).astype(np.int64) - result.after.words
            csr(_RECEIVE_COUNT)[:] = np.maximum(left, 0)
        if result.faults:
            first = result.faults[0]
            first.others = result.faults[1:]
            raise first

    def _mark(self, fault: ExchangeFault) -> None:
        """Show a fault that the chip reports in the registers of its tile."""
        if fault.number:
            self.state(fault.tile)["supervisor"]["exception"] = fault.number
            self._runner.csr(_STATUS)[fault.tile] = fault.receive_error << RECEIVE_ERROR_SHIFT

    def _describe_code(self, fault: ExchangeFault) -> None:
        """Add to a fault what is known of its instruction."""
        tile = fault.code_tile
        if fault.pc is not None and tile in self._images:
            image = self._images[tile]
            fault.code = describe_code(self.memory, tile, fault.pc, Mode.SUPERVISOR, image)

    def _receive(self, received: Received) -> None:
        """Take account of words from the host, of which tiles announce how many they expect."""
        counts = self._runner.csr(_RECEIVE_COUNT)
        left = counts.astype(np.int64) - received.words
        faults = [
            ReceiveCountFault(
                f"the host sends {words} words, INCOMING_DCOUNT announced {counts[tile]}", tile=tile
            )
            for tile, words in zip(
                np.flatnonzero(left < 0).tolist(), received.words[left < 0].tolist(), strict=True
            )
        ]
        if faults:
            faults[0].others = tuple(faults[1:])
            raise faults[0]
        counts[:] = left
        self._runner.csr(_CURSOR)[:] = received.cursors
        at = self._progress["received"]
        np.maximum(at, received.cycles.astype(np.uint64), out=at)

    # -- barriers -----------------------------------------------------------------------------

    def _waiting(self) -> tuple[Waiting, ...]:
        tiles = self._that_are(Stop.SYNC.value)
        columns = (self._progress[name][tiles].tolist() for name in ("zone", "pc", "cycle"))
        return tuple(map(Waiting, tiles.tolist(), *columns))

    def _release_single(self) -> bool:
        """Let tiles go on whose wait concerns nobody else; whether there were any."""
        progress = self._progress
        tiles = self._that_are(Stop.SYNC.value)
        zones = progress["zone"][tiles]
        self._check_receivers(tiles[zones == RECEIVE_ZONE])
        has_received = (zones == RECEIVE_ZONE) & (self._runner.csr(_RECEIVE_COUNT)[tiles] == 0)
        has_none_left = (zones == ANS_ZONE) & (self._participations.left(self._count)[tiles] == 0)
        tiles = tiles[has_received | has_none_left]
        earliest = progress["cycle"][tiles] + np.uint64(SYNC.value)
        known = np.maximum(progress["released"][tiles], progress["received"][tiles])
        self._resume(tiles, np.maximum(known, earliest), progress["phase"][tiles])
        return bool(tiles.size)

    def _check_receivers(self, tiles: Tiles) -> None:
        """No workers may run when words arrive."""
        is_early = self._progress["received"][tiles] > self._progress["cycle"][tiles]
        has_workers = self._runner.records.schedules["busy"][tiles] != 0
        for tile in tiles[is_early & has_workers].tolist():
            cause = "words of the host are on their way while workers run; wait for them by sync 2"
            raise ReceiveWorkersFault(cause, tile=tile, pc=int(self._progress["pc"][tile]))

    def _release_all(self) -> bool:
        """Complete a barrier of all tiles, if it can be; whether it was."""
        progress = self._progress
        zone = self._complete_zone()
        if zone is None:
            return False
        waiting = self._that_are(Stop.SYNC.value)
        self._end_host_phase(waiting)
        if not self._allows(zone):
            return False
        left = self._participations.left(self._count)
        arrived = waiting[group_of(progress["zone"][waiting]) == zone]
        automatic, registered = self._participations.take()
        arrivals = np.concatenate([progress["cycle"][arrived], registered])
        cycle = int(arrivals.max()) + self._barrier_cycles
        phase = Phase.INTERNAL if zone == INTERNAL_ZONE else Phase.GROUP
        self._settle_pairs()
        if phase is Phase.GROUP:
            self._check_external(arrived)
            assert self._host is not None
            self._host.begin(self._count, arrived[is_master(progress["zone"][arrived])])
        self._runner.csr(_ANS_COUNT)[automatic] = left[automatic] - 1
        self._enter(automatic.astype(np.uint32), cycle, phase)
        self._resume(arrived, cycle, phase)
        return True

    def _allows(self, zone: int) -> bool:
        if zone == INTERNAL_ZONE:
            return True
        return self._host is not None and self._host.may_complete(zone)

    def _complete_zone(self) -> int | None:
        """The zone of the barrier to which all tiles have come, None if they have not."""
        waiting = self._that_are(Stop.SYNC.value)
        left = self._participations.left(self._count)
        return complete_zone(
            self._count, self._progress["zone"][waiting], int(np.count_nonzero(left))
        )

    def _end_host_phase(self, waiting: Tiles) -> None:
        """No words may be on their way when all tiles have come to a barrier, nor be missing."""
        if self._host is None:
            return
        is_early = self._progress["received"][waiting] > self._progress["cycle"][waiting]
        for tile in waiting[is_early].tolist():
            at = self._progress[tile]
            cause = (
                f"{zone_name(int(at['zone']))} while words of the host are on their way; "
                "wait for them with sync 0"
            )
            raise UnawaitedWordsFault(cause, tile=tile, pc=int(at["pc"]))
        self._host.end()

    def _check_external(self, arrived: Tiles) -> None:
        """At a barrier of a group no tile may be connected to another."""
        muxes = self._runner.csr(_MUX)
        for tile in arrived[muxes[arrived] < TILES].tolist():
            at = self._progress[tile]
            cause = f"{zone_name(int(at['zone']))} while INCOMING_MUX selects tile {muxes[tile]}"
            raise InternalMuxFault(cause, tile=tile, pc=int(at["pc"]))

    def _settle_pairs(self) -> None:
        """INCOMING_MUXPAIR, written between phases, sets the sources of both members of a pair."""
        tiles = np.flatnonzero(self._progress["kinds"] & EventKind.PUT.bit).astype(np.uint32)
        events, bounds = self._runner.records.gather(tiles, np.zeros(len(tiles), np.int64))
        index = events["arguments"][:, 0]
        chosen = np.flatnonzero((events["kind"] == EventKind.PUT) & np.isin(index, _MUXES))
        owners = tiles[np.searchsorted(bounds, chosen, side="right") - 1].tolist()
        written = dict(zip(owners, events["arguments"][chosen, :2].tolist(), strict=True))
        muxes = self._runner.csr(_MUX)
        for tile, (register, value) in written.items():
            if register == _MUX_PAIR:
                muxes[tile] = value
                if tile ^ PARTNER_BIT in self._images:
                    of_partner = value if value == NEUTRAL_MUX else value ^ PARTNER_BIT
                    muxes[tile ^ PARTNER_BIT] = of_partner

    def _enter(self, tiles: Tiles, cycle: Any, phase: Phase) -> None:
        self._leave_phase(tiles, phase)
        self._progress["released"][tiles] = cycle
        self._note_registers(tiles)

    def _note_registers(self, tiles: Tiles) -> None:
        csr = self._runner.records.states["supervisor"]["csr"]
        self._progress["registers"][tiles] = csr[:, _EXCHANGE][tiles]

    def _resume(self, tiles: Tiles, cycle: Any, phase: Phase) -> None:
        self._enter(tiles, cycle, phase)
        self._runner.records.resume(tiles, cycle)
        self._progress["stop"][tiles] = RUNNING
        self.contexts.break_after_barrier(tiles)

    # -- the end ------------------------------------------------------------------------------

    def _end(self) -> Outcome:
        has_stopped = self._progress["is_loaded"] & (self._progress["stop"] != RUNNING)
        cycle = int(self._progress["cycle"][has_stopped].max(initial=0))
        if not self._that_are(Stop.SYNC.value).size:
            return self._outcome(End.STOPPED, cycle)
        if self._host is None:
            return self._outcome(End.STUCK, cycle)
        if self._complete_zone() is not None:
            return self._outcome(End.HOST, cycle)
        self._host.check_requests()
        return self._outcome(End.STUCK, cycle)

    def _outcome(self, end: End, cycle: int, broken: tuple[int, Stopped] | None = None) -> Outcome:
        stopped = dict(sorted(self._runner.stopped.items()))
        unloaded = np.flatnonzero(~self._progress["is_loaded"]).tolist()
        return Outcome(
            end,
            cycle,
            self._waiting(),
            stopped,
            {tile: self._describe(tile, each) for tile, each in stopped.items()},
            tuple(unloaded),
            broken,
        )

    def _describe(self, tile: int, stopped: Stopped) -> str:
        if stopped.fault is not None and stopped.fault.is_debug:
            return str(stopped.fault)
        return describe_fault(stopped, self.memory, tile, self._images[tile])


__all__ = ["Chip", "ChipError", "End", "ExchangeFault", "Outcome", "Snapshot"]
