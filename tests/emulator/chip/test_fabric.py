"""What the fabric moves, and what it refuses, on small chips with rows written by hand."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tilewright.emulator import faults
from tilewright.emulator.chip import Chip, End
from tilewright.emulator.fabric import ClashRule
from tilewright.emulator.fabric.delivery import DELIVERY
from tilewright.emulator.fabric.elements import check_elements
from tilewright.emulator.fabric.findings import as_faults, no_findings
from tilewright.emulator.fabric.rows import CONTROL, ROW, SEND, Rows, code_elements
from tilewright.emulator.images import TileImage
from tilewright.target.csr import CSRS
from tilewright.target.routes import Direction, directions, early_members, times
from tilewright.target.row_events import (
    pointer_delays,
    row_end_delays,
    visible_delays,
)
from tilewright.target.topology import NEUTRAL_MUX

if TYPE_CHECKING:
    from .conftest import Bench, Run, Step

N = NEUTRAL_MUX
SOURCE, DESTINATION = 0x50000, 0x60000


def listen(tile: int, source: int, slot: int, items: int, address: int) -> "list[Step]":
    """The controls of a 32-bit receiver."""
    point = slot + int(pointer_delays(tile))
    return [
        (slot, "source", source),
        (slot + items, "source", N),
        (point, "pointer", address),
    ]


def row_end(tile: int, slot: int, items: int) -> int:
    return slot + items + int(row_end_delays(tile))


# -- what arrives ---------------------------------------------------------------------------------


@pytest.mark.parametrize("items", [1, 2, 63, 64, 65, 128])
def test_broadcast_in_both_directions(bench: "Bench", items: int) -> None:
    source = 12
    receivers = [tile for tile in range(64) if tile != source]
    assert set(directions(source, receivers).tolist()) == set(Direction)
    event = max(1, 1 - int(times(source, receivers).min()))
    rows = {source: bench.row((event, "send", items, SOURCE, 3), length=event + items + 5)}
    for tile in receivers:
        slot = event + int(times(source, tile))
        controls = listen(tile, source, slot, items, DESTINATION)
        rows[tile] = bench.row(*controls, length=row_end(tile, slot, items))
    run = bench.prepare(rows)
    for tile in receivers:
        run.expect(tile, DESTINATION, run.words(source, SOURCE, items))
    run.go().check()


def test_a_source_may_hear_itself_among_others(bench: "Bench") -> None:
    source, other, items, event = 16, 21, 7, 100
    rows = {}
    for tile in (source, other):
        slot = event + int(times(source, tile))
        steps = listen(tile, source, slot, items, DESTINATION)
        if tile == source:
            steps.append((event, "send", items, SOURCE, 3))
        rows[tile] = bench.row(*steps, length=row_end(tile, slot, items))
    run = bench.prepare(rows, 24)
    for tile in rows:
        run.expect(tile, DESTINATION, run.words(source, SOURCE, items))
    run.go().check()


@pytest.mark.parametrize("seed", range(4))
def test_random_matchings(bench: "Bench", seed: int) -> None:
    """Half of the tiles send to the others, each as many words as it likes, when it likes."""
    random = np.random.default_rng(seed)
    pairs = random.permutation(64).reshape(32, 2).tolist()
    rows, counts = {}, {}
    for source, tile in pairs:
        items = counts[tile] = int(random.integers(1, 64))
        event = int(random.integers(80, 200))
        direction = int(directions(source, tile))
        rows[source] = bench.row((event, "send", items, SOURCE, direction), length=event + items)
        slot = event + int(times(source, tile))
        controls = listen(tile, source, slot, items, DESTINATION)
        controls = sorted(controls, key=lambda step: step[0])
        if controls[1][0] == controls[2][0]:  # neutral and pointer in one event take `sendpicp`
            del rows[source], counts[tile]
            continue
        rows[tile] = bench.row(*controls, length=row_end(tile, slot, items))
    run = bench.prepare(rows)
    for source, tile in pairs:
        if tile in counts:
            run.expect(tile, DESTINATION, run.words(source, SOURCE, counts[tile]))
    run.go().check()


def test_two_phases_after_one_another(bench: "Bench") -> None:
    """There and back; what the first phase brought is sent in the second."""
    a, b, items = 0, 5, 8

    def rows(source: int, tile: int, from_address: int, to: int) -> dict[int, str]:
        slot = 120
        event = slot - int(times(source, tile))
        send = (event, "send", items, from_address, int(directions(source, tile)))
        return {
            source: bench.row(send, length=event + items),
            tile: bench.row(
                *listen(tile, source, slot, items, to), length=row_end(tile, slot, items)
            ),
        }

    there = rows(a, b, SOURCE, 0x60000)
    back = rows(b, a, 0x60000, 0x64000)
    run = bench.prepare({tile: [there[tile], back[tile]] for tile in (a, b)}, 8)
    words = run.words(a, SOURCE, items)
    run.expect(b, 0x60000, words)
    run.expect(a, 0x64000, words)
    run.go().check()


def test_a_tile_may_be_idle_in_one_phase_and_receive_in_the_next(bench: "Bench") -> None:
    source, tile, items, slot = 0, 5, 8, 120
    event = slot - int(times(source, tile))
    send = bench.row(
        (event, "send", items, SOURCE, int(directions(source, tile))), length=event + items
    )
    receive = bench.row(
        *listen(tile, source, slot, items, DESTINATION), length=row_end(tile, slot, items)
    )
    run = bench.prepare({source: [None, send], tile: [None, receive]}, 8)
    run.expect(tile, DESTINATION, run.words(source, SOURCE, items))
    run.go().check()


def test_what_a_row_brought_can_be_loaded_right_after_it(bench: "Bench") -> None:
    """There is no barrier after a phase."""
    source, tile, items, slot = 0, 5, 1, 120
    event = slot - int(times(source, tile))
    send = (event, "send", items, SOURCE, int(directions(source, tile)))
    rows = {
        source: bench.row(send, length=event + 5),
        tile: bench.row(
            *listen(tile, source, slot, items, DESTINATION), length=row_end(tile, slot, items)
        ),
    }
    load = f"setzi $m1, {DESTINATION}\n ld32 $m2, $m1, $m15, 0"
    run = bench.prepare(rows, 8, after={tile: load}).go()
    assert int(run.chip.state(tile)["supervisor"]["m"][2]) == run.words(source, SOURCE, 1)[0]


def test_cursors_can_be_read(bench: "Bench") -> None:
    """Seen on hardware: after 16 words from 0x65000 to 0x60000 (section 3.5)."""
    source, tile, items, slot = 0, 5, 16, 120
    event = slot - int(times(source, tile))
    send = (event, "send", items, 0x65000, int(directions(source, tile)))
    rows = {
        source: bench.row(send, length=event + items),
        tile: bench.row(
            *listen(tile, source, slot, items, 0x60000), length=row_end(tile, slot, items)
        ),
    }
    read = "get $m1, $INCOMING_DELTA\n get $m2, $OUTGOING_DELTA\n get $m3, $INCOMING_MUX"
    run = bench.prepare(rows, 8, source=0x65000, after={source: read, tile: read}).go()
    assert int(run.chip.state(source)["supervisor"]["m"][2]) == 0x65040
    assert int(run.chip.state(tile)["supervisor"]["m"][1]) == 0x60040
    assert int(run.chip.state(tile)["supervisor"]["m"][3]) == NEUTRAL_MUX


def test_words_count_down_what_is_expected(bench: "Bench") -> None:
    """Each active tile announces one word; more is no fault in a phase between tiles."""
    source, tile, items, slot = 0, 5, 2, 120
    event = slot - int(times(source, tile))
    send = (event, "send", items, SOURCE, int(directions(source, tile)))
    rows = {
        source: bench.row(send, length=event + 5),
        tile: bench.row(
            *listen(tile, source, slot, items, DESTINATION), length=row_end(tile, slot, items)
        ),
    }
    run = bench.prepare(rows, 8, after={tile: "sync 0"}).go()
    run.check_end()
    counts = [
        int(run.chip.state(each)["supervisor"]["csr"][CSRS["INCOMING_DCOUNT"].index])
        for each in (source, tile)
    ]
    assert counts == [1, 0]


def test_without_a_pointer_words_follow_those_before_also_across_a_gap(bench: "Bench") -> None:
    source, tile, slot = 0, 5, 120
    time, direction = int(times(source, tile)), int(directions(source, tile))
    rows = {
        source: bench.row(
            (slot - time, "send", 3, SOURCE, direction),
            (slot - time + 10, "send", 2, SOURCE + 0x80, direction),
            length=200,
        ),
        tile: bench.row(
            *listen(tile, source, slot, 3, DESTINATION),
            (slot + 10, "source", source),
            (slot + 12, "source", N),
            length=200,
        ),
    }
    run = bench.prepare(rows, 8)
    words = [run.words(source, SOURCE, 3), run.words(source, SOURCE + 0x80, 2)]
    run.expect(tile, DESTINATION, np.concatenate(words))
    run.go().check()


def test_bases_written_inside_rows(bench: "Bench") -> None:
    """A write takes 13 events, and counts for addresses that are set after it."""
    source, tile, slot = 0, 5, 200
    time, direction = int(times(source, tile)), int(directions(source, tile))
    event = slot - time
    rows = {
        source: f"""
            delay {event - 2}
            send 2, 0, {direction}
            put $OUTGOING_BASE, $m4
            send 1, 0, {direction}
            delay 20
        """,
        # The pointer is set in event 252 and in 252 + 3 + 13, with the base written between.
        tile: f"""
            delayxpic {slot - 1}, 0, {source}
            delayxpic 2, 0, {N}
            delayxpic 12, 0, {source}
            delayxpic 1, 0, {N}
            delaypic {slot + 52 - (slot + 18) - 1}, 0, 0
            delay 1
            put $INCOMING_BASE, $m4
            delaypic 0, 0, 0
            delay 20
        """,
    }
    set_bases = {
        source: f"setzi $m3, {SOURCE}\n put $OUTGOING_BASE, $m3\n setzi $m4, {SOURCE + 0x100}",
        tile: "setzi $m3, 0x60000\n put $INCOMING_BASE, $m3\n setzi $m4, 0x64000",
    }
    run = bench.prepare(rows, 8, before=set_bases)
    run.expect(tile, 0x60000, run.words(source, SOURCE, 3))
    run.expect(tile, 0x64000, run.words(source, SOURCE + 0x100, 2))
    run.go().check()


def test_streams_go_on_with_and_without_a_jump(bench: "Bench") -> None:
    source, tile, slot = 0, 5, 120
    event, direction = slot - int(times(source, tile)), int(directions(source, tile))
    rows = {
        source: f"""
            delay {event - 2}
            send 1, {SOURCE // 4}, {direction}
            sendoff 2, 5, {direction}
            sendpic 0, 2, 0
        """,
        tile: bench.row(*listen(tile, source, slot, 6, DESTINATION), length=row_end(tile, slot, 6)),
    }
    run = bench.prepare(rows, 8)
    words = run.words(source, SOURCE, 11)
    run.expect(tile, DESTINATION, words[[0, 1, 7, 8, 9, 10]])
    run.go().check()


def test_controls_by_put(bench: "Bench") -> None:
    """The registers can be written in a row; a write counts in the event of its instruction."""
    source, tile, slot = 0, 5, 120
    event, direction = slot - int(times(source, tile)), int(directions(source, tile))
    rows = {
        source: bench.row((event, "send", 3, SOURCE, direction), length=event + 5),
        tile: f"""
            delay {slot - 2}
            put $INCOMING_MUX, $m3
            delay 1
            put $INCOMING_MUX, $m4
            delay {52 - 4 - 1}
            put $INCOMING_DELTA, $m5
            delay 20
        """,
    }
    values = f"setzi $m3, {source}\n setzi $m4, {N}\n setzi $m5, {DESTINATION}"
    run = bench.prepare(rows, 8, before={tile: values})
    run.expect(tile, DESTINATION, run.words(source, SOURCE, 3))
    run.go().check()


def test_registers_show_what_rows_have_set(bench: "Bench") -> None:
    """A source that was written by `put` and ended by the row is no longer there."""
    source, tile, slot = 0, 5, 120
    event, direction = slot - int(times(source, tile)), int(directions(source, tile))
    rows = {
        source: bench.row((event, "send", 3, SOURCE, direction), length=event + 5),
        tile: f"""
            delay {slot - 2}
            put $INCOMING_MUX, $m3
            delayxpic 2, 0, {N}
            delaypic 40, 0, {DESTINATION // 4}
            delay 60
        """,
    }
    read = "get $m1, $INCOMING_MUX"
    run = bench.prepare(rows, 8, before=f"setzi $m3, {source}", after=read).go()
    assert int(run.chip.state(tile)["supervisor"]["m"][1]) == N


# -- 64 bits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("source", "first"), [(0, 4), (0, 1), (63, 20), (20, 48), (2, 5), (1, 0)])
@pytest.mark.parametrize("items", [1, 3, 128])
def test_pairs_near_and_far(bench: "Bench", source: int, first: int, items: int) -> None:
    """Each member may be the early one, each member of a pair may be the source."""
    early = int(early_members(source, first))
    late = early ^ 2
    start = 150
    event = start - int(times(source, early))
    direction = int(directions(source, early))
    row = (early >> 6) * 2
    length = start + items + 58 + row
    common = [
        (start + 51 + row, "format", direction),
        (start + 53 + row, "pointer", DESTINATION),
        (start + 51 + row + items, "format", 0),
    ]
    if items == 1:  # the format goes off before the pointer
        assert common[2][0] < common[1][0]
    pair = [(start, "pair", source ^ (early & 2)), (start + items, "pair", N)]
    rows = {
        source: bench.row((event, "send", items, SOURCE, direction | 4), length=event + items),
        source ^ 2: bench.row(length=event + items),
        early: bench.row(*common, *pair, length=length),
        late: bench.row(*common, length=length),
    }
    run = bench.prepare(rows)
    for tile in (early, late):
        run.expect(tile, DESTINATION, run.words(source, SOURCE, 2 * items))
    run.go().check()


def test_a_pair_set_by_put_is_forgotten_after_the_phase(bench: "Bench") -> None:
    source, early, late, items, start = 0, 4, 6, 3, 150
    assert int(early_members(source, late)) == early
    event, direction = start - int(times(source, early)), int(directions(source, early))
    common = [
        (start + 51, "format", direction),
        (start + 53, "pointer", DESTINATION),
        (start + 51 + items, "format", 0),
    ]
    length = start + items + 58
    after_put = [(items, "pair", N), *((when - start, *what) for when, *what in common)]
    rows: dict[int, list[str]] = {
        source: [bench.row((event, "send", items, SOURCE, direction | 4), length=event + items)],
        source ^ 2: [bench.row(length=event + items)],
        early: [
            f"delay {start - 2}\n put $INCOMING_MUXPAIR, $m3\n"
            + bench.row(*after_put, length=length - start)
        ],
        late: [bench.row(*common, length=length)],
    }
    send = bench.row((20, "send", 1, SOURCE, 1), length=30)
    run = bench.prepare(
        {tile: [*first, send] for tile, first in rows.items()}, 8, before=f"setzi $m3, {source}"
    )
    for tile in (early, late):
        run.expect(tile, DESTINATION, run.words(source, SOURCE, 2 * items))
    run.go().check()


def test_a_misaligned_64_bit_source(bench: "Bench") -> None:
    rows = {0: bench.row((10, "send", 4, 0, 5), length=20), 2: bench.row(length=20)}
    base = f"setzi $m3, {SOURCE + 4}\n put $OUTGOING_BASE, $m3"
    run = bench.prepare(rows, 8, before=base)
    with pytest.raises(faults.SendAddressFault, match=r"tile 0, event 10.*aligned to 8 bytes"):
        run.chip.run()


# -- relays ---------------------------------------------------------------------------------------

FIRST_SLOT, RELAY, LAST = 100, 4, 9


def relay(bench: "Bench", items: int, send_event: int, resent: int) -> "Run":
    """Tile 0 to RELAY to LAST; RELAY sends `resent` words from its destination on."""
    event = FIRST_SLOT - int(times(0, RELAY))
    slot = send_event + int(times(RELAY, LAST))
    rows = {
        0: bench.row((event, "send", items, SOURCE, int(directions(0, RELAY))), length=300),
        RELAY: bench.row(
            *listen(RELAY, 0, FIRST_SLOT, items, DESTINATION)[:2],
            (FIRST_SLOT + 30, "pointer", DESTINATION),
            (send_event, "send", resent, DESTINATION, int(directions(RELAY, LAST))),
            length=500,
        ),
        LAST: bench.row(*listen(LAST, RELAY, slot, resent, 0x70000), length=500),
    }
    return bench.prepare(rows, 12)


def test_a_word_can_be_sent_on_as_soon_as_it_is_in_memory(bench: "Bench") -> None:
    # Reads and writes of one element in one cycle clash, so the message is short.
    run = relay(bench, 1, FIRST_SLOT + int(visible_delays(RELAY)), 1)
    words = run.words(0, SOURCE, 1)
    run.expect(RELAY, DESTINATION, words)
    run.expect(LAST, 0x70000, words)
    run.go().check()


@pytest.mark.parametrize("before", [1, 6, 7])
def test_a_word_must_not_be_sent_on_while_it_arrives(bench: "Bench", before: int) -> None:
    run = relay(bench, 1, FIRST_SLOT + int(visible_delays(RELAY)) - before, 1)
    with pytest.raises(faults.ExchangeFault) as raised:
        run.chip.run()
    found = [raised.value, *raised.value.others]
    assert any(isinstance(fault, faults.UnsettledReadFault) for fault in found)


def test_a_word_sent_before_it_is_replaced_is_the_old_one(bench: "Bench") -> None:
    run = relay(bench, 1, FIRST_SLOT + int(visible_delays(RELAY)) - 8, 1)
    run.expect(LAST, 0x70000, run.words(RELAY, DESTINATION, 1))
    run.expect(RELAY, DESTINATION, run.words(0, SOURCE, 1))
    run.go().check()


def test_a_relay_sends_new_words_and_old_ones(bench: "Bench") -> None:
    run = relay(bench, 8, FIRST_SLOT + 8 + int(visible_delays(RELAY)), 12)
    words = np.append(run.words(0, SOURCE, 8), run.words(RELAY, DESTINATION + 32, 4))
    run.expect(RELAY, DESTINATION, run.words(0, SOURCE, 8))
    run.expect(LAST, 0x70000, words)
    run.go().check()


def test_words_go_through_many_tiles_in_one_phase(bench: "Bench") -> None:
    path, items = [0, 5, 16, 33, 2, 63], 4
    steps: dict[int, list[Step]] = {tile: [] for tile in path}
    event, address = 100, SOURCE
    for source, tile in pairwise(path):
        direction = int(directions(source, tile))
        steps[source].append((event, "send", items, address, direction))
        slot = event + int(times(source, tile))
        steps[tile] += listen(tile, source, slot, items, DESTINATION)
        event, address = slot + items + int(visible_delays(tile)), DESTINATION
    run = bench.prepare({tile: bench.row(*steps[tile], length=900) for tile in path})
    for tile in path[1:]:
        run.expect(tile, DESTINATION, run.words(0, SOURCE, items))
    run.go().check()


# -- memory elements ------------------------------------------------------------------------------


def duplex(
    bench: "Bench", send_event: int, source: int, destination: int, rule: ClashRule
) -> "Run":
    """RELAY receives 4 words from slot FIRST_SLOT on and sends 4 others."""
    event = FIRST_SLOT - int(times(0, RELAY))
    rows = {
        0: bench.row((event, "send", 4, SOURCE, int(directions(0, RELAY))), length=300),
        RELAY: bench.row(
            *listen(RELAY, 0, FIRST_SLOT, 4, destination),
            (send_event, "send", 4, source, 1),
            length=300,
        ),
    }
    return bench.prepare(rows, 12, clash_rule=rule)


IN_MEMORY = FIRST_SLOT + 58
"""The cycle in which the first word is written, in row 0."""


@pytest.mark.parametrize(
    ("start", "rule", "clashes"),
    [
        (IN_MEMORY - 4, ClashRule.CYCLE, False),
        (IN_MEMORY - 3, ClashRule.CYCLE, True),
        (IN_MEMORY + 3, ClashRule.CYCLE, True),
        (IN_MEMORY + 4, ClashRule.CYCLE, False),
        # From an event before the send; from the pointer, in event 152, to the end of the row.
        (152 - 4, ClashRule.WINDOW, False),
        (IN_MEMORY - 4, ClashRule.WINDOW, True),
        (IN_MEMORY + 3, ClashRule.WINDOW, True),
        (IN_MEMORY + 4, ClashRule.WINDOW, False),
    ],
)
def test_sends_and_receives_in_one_element(
    bench: "Bench", start: int, rule: ClashRule, clashes: bool
) -> None:
    run = duplex(bench, start, 0x61000, 0x60000, rule)
    if not clashes:
        run.go().check_end()
        return
    with pytest.raises(faults.ReceiveClashFault, match=f"tile {RELAY}") as raised:
        run.chip.run()
    assert raised.value.receive_error == 1


@pytest.mark.parametrize(
    ("source", "destination", "clashes"),
    [
        (0x60000, 0x64000, False),
        (0x63FFC, 0x64000, True),  # the second word is in the next element
        (0x80000, 0x88000, False),
        (0x80000, 0x84000, True),  # elements of region 1 count as pairs
        (0x80000, 0x80008, True),
    ],
)
def test_elements(bench: "Bench", source: int, destination: int, clashes: bool) -> None:
    run = duplex(bench, IN_MEMORY, source, destination, ClashRule.CYCLE)
    if clashes:
        with pytest.raises(faults.ReceiveClashFault):
            run.chip.run()
    else:
        run.go().check_end()


def test_the_element_of_the_row_cannot_be_sent_from(bench: "Bench") -> None:
    run = duplex(bench, 110, 0x4F000, 0x60000, ClashRule.CYCLE)
    with pytest.raises(faults.SendConflictFault, match=f"tile {RELAY}, event 110") as raised:
        run.chip.run()
    assert raised.value.number == 6


def test_the_element_of_the_row_cannot_be_written(bench: "Bench") -> None:
    run = duplex(bench, 110, 0x50000, 0x4F000, ClashRule.CYCLE)
    with pytest.raises(faults.ReceiveFetchClashFault, match=f"tile {RELAY}") as raised:
        run.chip.run()
    assert raised.value.receive_error == 2
    supervisor = run.chip.state(RELAY)["supervisor"]
    assert int(supervisor["exception"]) == 13
    assert int(supervisor["csr"][CSRS["CTXT_STS"].index]) >> 27 & 0b111 == 2


@pytest.mark.parametrize(("pc", "clashes"), [(0x4FFBC, False), (0x4FFC0, True), (0x50000, True)])
def test_what_is_fetched_ahead_counts_as_code(pc: int, clashes: bool) -> None:
    """The supervisor fetches up to 64 bytes past its instruction."""
    rows, bounds = np.zeros(1, ROW), np.zeros(2, np.int64)
    rows["code"] = code_elements(pc)
    sends = np.array([(0, 10, 1, 0x50000, 4, 1, pc)], SEND)
    controls = np.empty(0, CONTROL)
    made = Rows(rows, sends, np.array([0, 1]), *3 * (controls, bounds))
    found = check_elements(made, np.empty(0, DELIVERY), bounds, ClashRule.CYCLE, no_findings())
    assert [type(fault) for fault in as_faults(found)] == [faults.SendConflictFault] * clashes


# -- rows that are wrong in themselves ------------------------------------------------------------


def raises_on(bench: "Bench", kind: type[faults.ExchangeFault], row: str, match: str) -> None:
    with pytest.raises(kind, match=match):
        bench.run({4: row}, 8)


def test_a_stream_must_be_started(bench: "Bench") -> None:
    raises_on(bench, faults.NoStreamFault, "delay 4\n sendpic 3, 2, 0", "tile 4, event 6")


def test_a_row_that_sends_has_six_events(bench: "Bench") -> None:
    raises_on(bench, faults.ShortRowFault, f"send 4, {SOURCE // 4}, 1", "needs 6")
    bench.run({4: f"send 5, {SOURCE // 4}, 1"}, 8).check()


@pytest.mark.parametrize(
    ("selector", "values"),
    [(0, 1 << 31 | N << 18), (1, N << 18), (1, 1 << 31 | N << 18)],
    ids=["paired source", "format", "both"],
)
def test_special_controls_do_not_share_events(bench: "Bench", selector: int, values: int) -> None:
    row = f".align 8\n sendpicp 63, 0, 0, {selector}\n .long {values}\n delay 99"
    raises_on(bench, faults.SharedControlFault, row, "tile 4, event 1")


def test_a_send_with_both_controls(bench: "Bench") -> None:
    """Its address is absolute, and its controls count from its first event."""
    source, tile, slot = 0, 5, 120
    event, direction = slot - int(times(source, tile)), int(directions(source, tile))
    rows = {
        source: f"""
            .align 8
            delay {event - 12}
            delay 9
            sendpicp 6, {SOURCE // 4 + 2}, {direction}, 0
            .long {N << 18}
        """,
        tile: bench.row(*listen(tile, source, slot, 7, DESTINATION), length=row_end(tile, slot, 7)),
    }
    run = bench.prepare(rows, 8)
    run.expect(tile, DESTINATION, run.words(source, SOURCE + 8, 7))
    run.go().check()


def test_sendpicp_must_be_aligned_to_8_bytes(bench: "Bench") -> None:
    run = bench.run({4: "delay 9\n .long 0xf7e00000\n .long 0x19000000"}, 8)
    assert run.outcome is not None
    assert "INVALID_PC: an instruction of two words" in str(run.outcome.stopped[4].fault)


def test_all_rows_start_at_one_distance_from_the_barrier(bench: "Bench") -> None:
    send = bench.row((20, "send", 8, SOURCE, 1), length=30)
    with pytest.raises(faults.RowOriginFault, match=r"tile 5, event 1: .*, that of tile 4"):
        bench.run({4: send, 5: "add $m0, $m0, 1\n" + send}, 8)


@pytest.mark.parametrize(
    ("name", "value"), [("INCOMING_MUX", 3), ("INCOMING_MUX", 0x604), ("INCOMING_FORMAT", 1)]
)
def test_tiles_are_neutral_when_a_phase_starts(bench: "Bench", name: str, value: int) -> None:
    send = bench.row((20, "send", 8, SOURCE, 1), length=30)
    run = bench.prepare(
        {4: send, 5: "delay 5"}, 8, before={5: f"setzi $m3, {value}\n put ${name}, $m3"}
    )
    with pytest.raises(faults.ConnectedAtStartFault, match=f"tile 5: .*{name} is "):
        run.chip.run()


def test_no_source_is_selected_before_the_first_event(bench: "Bench") -> None:
    row = """
        put $INCOMING_MUX, $m3
        delay 20
        put $INCOMING_MUX, $m4
        delay 99
    """
    values = f"setzi $m3, 0\n setzi $m4, {N}"
    run = bench.prepare({4: row}, 8, before=values)
    with pytest.raises(faults.ConnectedAtStartFault, match="tile 4, event 0"):
        run.chip.run()


def test_a_paired_selection_before_a_phase_counts_for_both(bench: "Bench") -> None:
    send = bench.row((20, "send", 8, SOURCE, 1), length=30)
    run = bench.prepare(
        {0: send, 5: "delay 5"}, 8, before={5: "setzi $m3, 1\n put $INCOMING_MUXPAIR, $m3"}
    )
    with pytest.raises(faults.ConnectedAtStartFault) as raised:
        run.chip.run()
    assert [fault.tile for fault in (raised.value, *raised.value.others)] == [5, 7]


def test_no_exchange_without_a_barrier(bench: "Bench") -> None:
    run = bench.prepare({4: "delay 5"}, 8, before={4: f"send 0, {SOURCE // 4}, 1"})
    with pytest.raises(faults.OutsidePhaseFault, match="tile 4, pc 0x4c10"):
        run.chip.run()


def test_no_exchange_after_a_row_has_ended(bench: "Bench") -> None:
    after = f"get $m1, $INCOMING_DELTA\n send 0, {SOURCE // 4}, 1"
    run = bench.prepare({4: "delay 5"}, 8, after={4: after})
    with pytest.raises(faults.OutsidePhaseFault, match="tile 4"):
        run.chip.run()


def test_delays_are_allowed_anywhere(bench: "Bench") -> None:
    run = bench.prepare({4: "delay 5"}, 8, before={4: "delay 9"}, after={4: "sync 2\n delay 9"})
    assert run.chip.run().end is End.STOPPED


# -- where it says that it is ---------------------------------------------------------------------


def test_a_fault_tells_instruction_symbol_and_line(bench: "Bench") -> None:
    chip = Chip(4)
    row = bench.code("delay 4\n sendpic 3, 2, 0\n br $m10", 0x4C800)
    for tile in range(4):
        image = bench.program("delay 9" if tile else None)
        if tile == 1:
            image = TileImage(
                (*image.pieces, row),
                image.entry,
                {"_start": image.entry, "row": 0x4C800},
                lambda address: f"row.S:{(address - 0x4C800) // 4 + 1}",
            )
        chip.load(tile, image)
    with pytest.raises(faults.NoStreamFault) as raised:
        chip.run()
    assert str(raised.value).endswith(
        "that no send has started, at 'sendpic 3, 2, 0', in row+0x4 (row.S:2)"
    )


def test_a_fault_tells_the_partners_instruction(bench: "Bench") -> None:
    """It has set the sources of both, and the other's row is another."""
    rows = {4: bench.row((9, "pair", 0), (12, "pair", N), length=99), 6: bench.row(length=99)}
    with pytest.raises(faults.SilentBusFault) as raised:
        bench.run({**rows, 0: f"send 5, {SOURCE // 4}, 4"}, 8)
    found = [raised.value, *raised.value.others]
    texts = {fault.tile: str(fault) for fault in found if isinstance(fault, faults.SilentBusFault)}
    assert "at 'delayxpic 8, 1, 0'" in texts[4]
    assert "of tile" not in texts[4].split("slots")[1]
    assert "at 'delayxpic 8, 1, 0' of tile 4" in texts[6]
