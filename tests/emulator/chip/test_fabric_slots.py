"""The fabric against a model that goes slot by slot and word by word (exchange notes, section 9).

Rows are random, so most are wrong: tiles listen to buses that are silent or in the middle of a
message, pointers and formats change at any time, words are sent on while they arrive. The model
says what is in memory in the end, and which kinds of faults there are.
"""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tilewright.emulator import faults
from tilewright.emulator.faults import ExchangeFault
from tilewright.target.geometry import MEMORY_BASE, MEMORY_SIZE
from tilewright.target.routes import route
from tilewright.target.topology import NEUTRAL_MUX

if TYPE_CHECKING:
    from .conftest import Bench, Run

N = NEUTRAL_MUX
SOURCE, DESTINATION = 0x50000, 0x60000
LENGTH = 900
CHIP = 72
"""Two rows of the chip, the second in part."""

Step = tuple[Any, ...]


@dataclass
class Slots:
    """The model. `rows` are steps by tile, as `bench.row` takes them."""

    rows: dict[int, list[Step]]
    memory: dict[int, np.ndarray[Any, np.dtype[np.uint32]]]
    kinds: set[type[ExchangeFault]] = field(default_factory=set)

    def __post_init__(self) -> None:
        # Per tile and event: (items' source, byte address, size, directions) of what leaves.
        self.bus: dict[int, dict[int, tuple[int, int, int]]] = defaultdict(dict)
        self.mux: dict[int, list[tuple[int, int, bool]]] = defaultdict(list)
        self.writes: dict[int, list[tuple[int, int, int, Any]]] = defaultdict(list)
        self.history: dict[tuple[int, int], list[tuple[int, Any]]] = defaultdict(list)
        for tile, steps in self.rows.items():
            for step in steps:
                self._note(tile, step)
        for tile in self.rows:
            self.mux[tile].sort(key=lambda each: each[0])

    def _note(self, tile: int, step: Step) -> None:
        event, what, *values = step
        if what == "send":
            items, address, control = values
            size = 8 if control & 4 else 4
            for item in range(items):
                self.bus[tile][event + item] = (address + size * item, size, control & 3)
        elif what == "source":
            self.mux[tile].append((event, values[0], False))
        elif what == "pair":
            value = values[0]
            self.mux[tile].append((event, value, True))
            other = value if value == N else value ^ 2
            self.mux[tile ^ 2].append((event + 1, other, True))

    def run(self) -> None:
        halves: dict[tuple[int, int, int], dict[int, int]] = defaultdict(dict)
        for tile in self.rows:
            for slot in range(1, LENGTH + 1):
                self._sample(tile, slot, halves)
        for (source, event, pair), slots in halves.items():
            if len(slots) < 2:
                self.kinds.add(faults.PairingFault)
                continue
            for tile in slots:
                point = max(slots.values()) + 52 + 2 * (tile >> 6)
                self.writes[tile].append((point, slots[tile], 8, (source, event)))
            assert pair == min(slots)
        for tile in self.rows:
            self._write(tile)

    def _sample(self, tile: int, slot: int, halves: Any) -> None:
        known = bisect_right(self.mux[tile], slot, key=lambda each: each[0])
        if not known or self.mux[tile][known - 1][1] == N:
            return
        _, bus, is_paired = self.mux[tile][known - 1]
        way = route(bus, tile)
        event = slot - way.time
        point = slot + 52 + 2 * (tile >> 6)
        for source in (bus, bus ^ 2):
            found = self.bus[source].get(event)
            if found is None or not found[2] & way.direction:
                continue
            if found[1] == 4 and source == bus:
                self.writes[tile].append((point, slot, 4, (source, event)))
                return
            if found[1] == 8 and is_paired and source == bus ^ (tile & 2):
                halves[source, event, tile & ~2][tile] = slot
                return
            if found[1] == 8:
                self.kinds.add(faults.ReceiveConfigurationFault)
                return
        self.kinds.add(faults.SilentBusFault)
        if is_paired and way.early_member == tile:
            point += 1
        size = 8 if self._control(tile, "format", point - 2) else 4
        self.writes[tile].append((point, slot, size, None))

    def _control(self, tile: int, kind: str, event: int) -> int:
        values = [
            step[2] for step in sorted(self.rows[tile]) if step[1] == kind and step[0] <= event
        ]
        return int(values[-1]) if values else 0

    def _write(self, tile: int) -> None:
        """Give items their addresses, in order of time."""
        pointers = sorted(step for step in self.rows[tile] if step[1] == "pointer")
        cursor, used = 0, 0
        self.writes[tile].sort(key=lambda write: write[0])
        if len({write[0] for write in self.writes[tile]}) < len(self.writes[tile]):
            self.kinds.add(faults.ReceiveOverlapFault)
        for point, _, size, item in self.writes[tile]:
            while used < len(pointers) and pointers[used][0] <= point:
                cursor = pointers[used][2]
                used += 1
            if cursor % size or cursor < MEMORY_BASE:
                self.kinds.add(faults.ReceiveAddressFault)
            for place in range(size // 4):
                word = None if item is None else (*item, place)
                self.history[tile, cursor + 4 * place].append((point, word))
            cursor += size

    def value(self, source: int, event: int, place: int) -> int:
        """Word `place` of the item that leaves in an event."""
        address = self.bus[source][event][0] + 4 * place
        word = int(self.memory[source][(address - MEMORY_BASE) // 4])
        for point, item in self.history.get((source, address), []):
            if point + 7 <= event:
                word = 0 if item is None else self.value(*item)
            elif point <= event:
                self.kinds.add(faults.UnsettledReadFault)
        return word

    def final(self) -> dict[int, np.ndarray[Any, np.dtype[np.uint32]]]:
        for tile, events in self.bus.items():
            for event, (_, size, _) in events.items():
                for place in range(size // 4):
                    self.value(tile, event, place)
        result = {tile: words.copy() for tile, words in self.memory.items()}
        for (tile, address), writes in self.history.items():
            if MEMORY_BASE <= address < MEMORY_BASE + MEMORY_SIZE:
                item = writes[-1][1]
                word = 0 if item is None else self.value(*item)
                result[tile][(address - MEMORY_BASE) // 4] = word
        return result


def random_rows(random: np.random.Generator, wide: bool) -> dict[int, list[Step]]:
    """Rows of three pairs. With `wide`, a tile of the first sends 64-bit items to the others."""
    first = random.choice([0, 1, 4, 5, 12, 13, 64, 65, 68], 3, replace=False).tolist()
    tiles = [tile for each in first for tile in (each, each | 2)]
    if not wide:
        return {tile: _random_row(random, tiles) for tile in tiles}
    source = int(random.choice(tiles[:2]))
    rows = {source: _wide_sender(random), source ^ 2: []}
    for tile in tiles[2:]:
        writer = not tile & 2 or not random.integers(0, 8)
        rows[tile] = _wide_receiver(random, source ^ (tile & 2) if writer else None, tiles)
    return rows


def _random_row(random: np.random.Generator, tiles: list[int]) -> list[Step]:
    steps: list[Step] = [(1, "pointer", DESTINATION + 0x800)]
    event, has_source = 1, False
    while (event := event + int(random.integers(1, 40))) < 500:
        match random.integers(0, 3):
            case 0:
                steps.append((event, "send", *_random_send(random), int(random.integers(1, 4))))
                event += steps[-1][2] - 1
            case 1:
                is_end = has_source and not random.integers(0, 3)
                steps.append((event, "source", N if is_end else int(random.choice(tiles))))
                has_source = True
            case _:
                steps.append((event, "pointer", DESTINATION + 8 * int(random.integers(0, 60))))
    return [*steps, (600, "source", N)]


def _random_send(random: np.random.Generator) -> tuple[int, int]:
    """Items, and an address: of memory that nobody writes, or of what may have arrived."""
    base = SOURCE if random.integers(0, 3) else DESTINATION
    return int(random.integers(1, 60)), base + 8 * int(random.integers(0, 40))


def _wide_sender(random: np.random.Generator) -> list[Step]:
    steps: list[Step] = []
    event = 20
    while (event := event + int(random.integers(1, 20))) < 500:
        items, address = _random_send(random)
        steps.append((event, "send", items, address, 4 | int(random.choice([1, 2, 3, 3]))))
        event += items - 1
    return steps


def _wide_receiver(random: np.random.Generator, source: int | None, tiles: list[int]) -> list[Step]:
    """Listens to `source`, mostly, if there is one."""
    steps: list[Step] = [(1, "pointer", DESTINATION + 0x800), (2, "format", 1)]
    event, has_source = 2, False
    while (event := event + int(random.integers(1, 60))) < 500:
        if source is None or not random.integers(0, 3):
            steps.append((event, "pointer", DESTINATION + 8 * int(random.integers(0, 60))))
            continue
        is_end = has_source and not random.integers(0, 3)
        value = source if random.integers(0, 20) else int(random.choice(tiles))
        steps.append((event, "pair", N if is_end else value))
        has_source = True
    if has_source:
        steps.append((600, "pair", N))
    return [*steps, (800, "format", 0)]


@pytest.mark.parametrize("wide", [False, True], ids=["32 bits", "64 bits"])
@pytest.mark.parametrize("seed", range(12))
def test_memory_and_faults_are_as_the_model_says(bench: "Bench", seed: int, wide: bool) -> None:
    random = np.random.default_rng(seed)
    rows = random_rows(random, wide)
    run = bench.prepare({tile: bench.row(*row, length=LENGTH) for tile, row in rows.items()}, CHIP)
    model = Slots(rows, {tile: memory.view(np.uint32) for tile, memory in run.before.items()})
    model.run()
    expected = model.final()
    found = kinds_of_faults(run)
    # After these, what a tile receives depends on which of two things comes first.
    if faults.PairedMuxClashFault in found:
        return
    assert (faults.ReceiveOverlapFault in found) == (faults.ReceiveOverlapFault in model.kinds)
    if faults.ReceiveOverlapFault in found:
        return
    compared = {faults.SilentBusFault, faults.PairingFault, faults.ReceiveAddressFault}
    if not wide:  # formats may cause them, too, and the model does not look at those
        compared.add(faults.ReceiveConfigurationFault)
    if faults.ReceiveAddressFault not in found:
        compared.add(faults.UnsettledReadFault)
    assert found & compared == model.kinds & compared
    if faults.ReceiveAddressFault in found:
        return
    for tile, words in expected.items():
        now = run.chip.memory.bytes[tile].view(np.uint32)
        wrong = np.flatnonzero(now != words)
        assert not wrong.size, (tile, [hex(MEMORY_BASE + 4 * int(place)) for place in wrong[:8]])


def kinds_of_faults(run: "Run") -> set[type[ExchangeFault]]:
    try:
        run.go()
    except ExchangeFault as fault:
        return {type(each) for each in (fault, *fault.others)}
    return set()
