"""Phases on the emulated chip: every destination byte is right, every other byte is unchanged."""

import numpy as np
import pytest

from tests.exchange.on_chip import (
    assert_carried_out,
    assert_memory,
    carry_out,
    fill_sources,
    run_on_chip,
    words_of,
)
from tests.exchange.random_phases import random_phase
from tilewright.elf.assembler import assemble
from tilewright.emulator.memory import TileMemory
from tilewright.exchange import ExchangePhase, Transfer, check, encode, schedule
from tilewright.exchange.patterns import (
    DESTINATION,
    PATTERNS,
    SOURCE,
    permutation,
    reduction_stages,
)
from tilewright.isa import Mode
from tilewright.target.geometry import TILES
from tilewright.target.topology import physical_tile

EDGES = (1, 2, 3, 15, 16, 31, 32, 51, 52, 53, 63, 64, 65, 127, 128, 255, 256, 511, 512, 1023)
LONG = (1024, 4095, 4148, 9000)


@pytest.mark.parametrize("name", [name for name in PATTERNS if not name.startswith("reduction")])
def test_patterns(name: str) -> None:
    pattern, lengths = PATTERNS[name]
    phase = pattern(lengths[min(1, len(lengths) - 1)])
    assert_carried_out(phase, encode(schedule(phase)))


@pytest.mark.parametrize("first", range(0, len(EDGES), 5))
def test_every_edge_size_to_one_and_to_many(first: int) -> None:
    """Sizes side by side in one phase, each to a tile alone and to four with the source's own."""
    transfers = []
    for number, words in enumerate((*EDGES[first : first + 5], *LONG[first // 5 : first // 5 + 1])):
        tile = 100 * number + 7
        transfers.append(Transfer(tile, SOURCE, words, [(tile + 9, DESTINATION)]))
        many = [tile, tile + 1, tile + 2, tile + 65]
        receivers = [(each, DESTINATION + 0x20000) for each in many]
        transfers.append(Transfer(tile, SOURCE + 4, words, receivers))
    phase = ExchangePhase.of(transfers)
    assert_carried_out(phase, encode(schedule(phase)))


@pytest.mark.parametrize("words", [128, 130, 256, 1024, 8296, 20_000])
def test_paired_broadcasts(words: int) -> None:
    """To pairs in both directions, the source's own among them: its second member sends too."""
    receivers = (4, 6, 1024, 1026, 261, 263, 0, 2)
    transfers = [Transfer(0, SOURCE, words, [(tile, DESTINATION) for tile in receivers])]
    room = DESTINATION + 4 * words + 8
    transfers.append(Transfer(2, SOURCE, words, [(tile, room) for tile in receivers]))
    phase = ExchangePhase.of(transfers)
    found = schedule(phase)
    assert found.messages.wide.all()
    assert_carried_out(phase, encode(found))


@pytest.mark.parametrize("words", [16, 52, 64, 130])
def test_overlapping_messages(words: int) -> None:
    """Two messages to one tile that could arrive 0, 1, n/4, n/2, n-2, n-1 slots apart."""
    transfers = []
    for number, shift in enumerate((0, 1, words // 4, words // 2, words - 2, words - 1)):
        tile = 64 * number + 5
        relay = Transfer(tile + 640, SOURCE, max(1, shift), [(tile + 641, DESTINATION)])
        transfers.append(Transfer(tile, SOURCE, words, [(tile + 641, DESTINATION + 0x8000)]))
        transfers.append(relay)
        transfers.append(
            Transfer(tile + 640, SOURCE + 0x1000, words, [(tile + 641, DESTINATION + 0x10000)])
        )
    phase = ExchangePhase.of(transfers)
    assert_carried_out(phase, encode(schedule(phase)))


def test_relays_and_what_is_relayed_again() -> None:
    phase = ExchangePhase.of(
        [
            Transfer(16, DESTINATION, 64, [(53, DESTINATION)]),
            Transfer(0, SOURCE, 64, [(32, DESTINATION), (9, DESTINATION), (16, DESTINATION)]),
            Transfer(53, DESTINATION + 0x40, 20, [(0, DESTINATION), (1471, DESTINATION)]),
            Transfer(0, DESTINATION, 1, [(9, DESTINATION + 0x8000)]),
        ]
    )
    found = schedule(phase)
    assert found.horizon >= found.bound > 4 * 60
    assert_carried_out(phase, encode(found))


@pytest.mark.parametrize("seed", range(24))
def test_random_phases(seed: int) -> None:
    tiles, transfers = (4, 8, 16, 64, 256)[seed % 5], (1, 2, 5, 20, 60, 200)[seed % 6]
    phase = random_phase(seed, tiles, transfers)
    rows = encode(schedule(phase))
    check(rows)
    assert_carried_out(phase, rows, seed)


def test_rows_with_bases() -> None:
    """Bases differ between tiles; programs set them before the barrier."""
    phase = random_phase(5, 16, 20)
    incoming = 0x70000 + 16 * (np.arange(TILES) % 7)
    outgoing = 0x58000 + 16 * (np.arange(TILES) % 5)
    rows = encode(schedule(phase), incoming, outgoing)
    fill = fill_sources(phase)
    run = run_on_chip([rows], fill, before=lambda tile: _bases(incoming[tile], outgoing[tile]))
    carry_out(phase, run.before)
    assert_memory(run, run.before)


def _bases(incoming: int, outgoing: int) -> str:
    return (
        f"setzi $m1, {incoming}\n put $INCOMING_BASE, $m1\n"
        f"setzi $m1, {outgoing}\n put $OUTGOING_BASE, $m1"
    )


ADD = "ld32 $m1, $m3, $m15, 0\n ld32 $m2, $m4, $m15, 0\n add $m1, $m1, $m2\n st32 $m1, $m3, $m15, 0"
"""Adds the word at $m4 to the word at $m3."""


def test_reduction_over_eleven_stages_then_the_permutation() -> None:
    """The sum of l + 1 over all tiles is 1,084,128; then every tile sends to 5 l + 17."""
    stages = reduction_stages()
    assert len(stages) == 11
    phases = [
        ExchangePhase.of(
            Transfer(physical_tile(source), SOURCE, 1, [(physical_tile(receiver), DESTINATION)])
            for source, receiver in stage
        )
        for stage in stages
    ]
    receivers = [{physical_tile(receiver) for _, receiver in stage} for stage in stages]
    last = permutation(1)

    def between(tile: int, number: int) -> bytes:
        if number >= len(stages) or tile not in receivers[number]:
            return b""
        return code(f"setzi $m3, {SOURCE}\n setzi $m4, {DESTINATION}\n {ADD}")

    def fill(memory: TileMemory) -> None:
        for logical in range(TILES):
            memory.write(physical_tile(logical), SOURCE, (logical + 1).to_bytes(4, "little"))

    rows = [encode(schedule(phase)) for phase in (*phases, last)]
    run = run_on_chip(rows, fill, between)
    for number, phase in enumerate(phases):
        carry_out(phase, run.before)
        for tile in receivers[number]:
            total = words_of(run.before, tile, SOURCE, 1) + words_of(
                run.before, tile, DESTINATION, 1
            )
            run.before.write(tile, SOURCE, total.tobytes())
    carry_out(last, run.before)
    assert words_of(run.chip.memory, 0, SOURCE, 1).tolist() == [1_084_128]
    assert_memory(run, run.before)


def code(text: str) -> bytes:
    return bytes(assemble(text, mode=Mode.SUPERVISOR).sections[0].data)


@pytest.mark.parametrize("seed", range(18))
def test_two_launches_with_sparse_compute_between(seed: int) -> None:
    """The second exchange sends what the first brought and a few tiles changed; tile 0 receives."""
    rng = np.random.default_rng(seed)
    first = launch(rng, (8, 16, 32, 64)[seed % 4], DESTINATION, SOURCE)
    receivers = sorted(set(first.receiver_tile.tolist()))
    computing = set(rng.choice(receivers, max(1, len(receivers) // 4), replace=False).tolist())
    second = launch(rng, (8, 16, 32, 64)[seed % 4], DESTINATION + 0x20000, DESTINATION, receivers)
    amount = 1 + int(rng.integers(1000))

    def between(tile: int, number: int) -> bytes:
        if number or tile not in computing:
            return b""
        return code(
            f"setzi $m3, {DESTINATION}\n ld32 $m1, $m3, $m15, 0\n add $m1, $m1, {amount}\n"
            "st32 $m1, $m3, $m15, 0"
        )

    rows = [encode(schedule(phase)) for phase in (first, second)]
    run = run_on_chip(rows, fill_sources(first, seed), between)
    carry_out(first, run.before)
    for tile in computing:
        changed = words_of(run.before, tile, DESTINATION, 1) + np.uint32(amount)
        run.before.write(tile, DESTINATION, changed.tobytes())
    carry_out(second, run.before)
    assert_memory(run, run.before)


def launch(
    rng: np.random.Generator,
    matched: int,
    destination: int,
    source: int,
    senders: list[int] | None = None,
) -> ExchangePhase:
    """A random matching with fan-out; the second launch has tile 0 among its receivers."""
    sizes = (1, 15, 16, 17, 52, 64, 65, 127, 512, 1024)
    words = int(rng.choice(sizes))
    others = [tile for tile in range(1, TILES) if tile not in set(senders or [])]
    pool = rng.permutation(others).tolist()
    sending = senders[:matched] if senders else [pool.pop() for _ in range(matched)]
    transfers = []
    for number, tile in enumerate(sending):
        receivers = [pool.pop() for _ in range(int(rng.integers(1, 7)))]
        if senders and number == 0:
            receivers.append(0)
        each = words if senders else int(rng.choice(sizes))
        each = min(each, words) if senders else each
        transfers.append(Transfer(tile, source, each, [(to, destination) for to in receivers]))
    return ExchangePhase.of(transfers)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_more_random_phases(seed: int) -> None:
    test_random_phases(seed)
