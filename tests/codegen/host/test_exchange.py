"""Whole exchanges, replayed by an interpreter that knows the protocol only."""

from functools import partial

import numpy as np
import pytest

from tests.codegen.host.examples import U8, even, random_call, shards, stream
from tests.codegen.host.replay import Replay
from tilewright.codegen.host import HostCall, HostError, HostExchange, plan_exchange
from tilewright.package import Group, Shards


def run(call: HostCall, streams: dict[int, U8]) -> tuple[HostExchange, Replay]:
    """Plan and replay a call; `streams` are what is sent, and what tiles hold to be fetched."""
    exchange = plan_exchange([call])
    replay = Replay(exchange, np.concatenate([call.sent.tile, call.fetched.tile]).tolist())
    fetched = {
        int(tensor): np.zeros_like(streams[int(tensor)])
        for tensor in np.unique(call.fetched.tensor)
    }
    replay.run(0, {**streams, **fetched}, lambda: replay.hold(call.fetched, streams))
    replay.expect(call.sent, streams)
    for tensor, found in fetched.items():
        end = int((call.fetched.offset + call.fetched.size)[call.fetched.tensor == tensor].max())
        np.testing.assert_array_equal(found[:end], streams[tensor][:end])
    return exchange, replay


@pytest.mark.parametrize("size", [4, 8, 12, 60, 64, 68, 124, 1020, 1024, 1028, 5000, 40_000])
@pytest.mark.parametrize("address", [0x60000, 0x60004])
def test_sizes(size: int, address: int) -> None:
    tiles = [0, 2, 63, 1471]
    call = HostCall("run", 1, even(0, tiles, address, size), even(1, tiles, 0x80004, size))
    exchange, replay = run(call, {0: stream(4 * size), 1: stream(4 * size, 1)})
    assert len(exchange.calls[0].fetched) == 1
    # The command, what tiles get (with a word before it at an odd address), what they give.
    lead = address % 8 * 4
    assert replay.moved[0] == 4
    assert sum(replay.moved[1:-1]) == 4 * size + lead
    assert replay.moved[-1] == 4 * size


@pytest.mark.parametrize("seed", range(12))
def test_random_calls(seed: int) -> None:
    call, streams = random_call(np.random.default_rng(seed))
    run(call, streams)


@pytest.mark.parametrize("seed", range(3))
def test_pages_are_used_again_where_memory_is_short(seed: int) -> None:
    tiles = np.random.default_rng(seed).choice(1472, 5, replace=False)
    call = HostCall("run", 1, even(0, tiles, 0x60000, 50_000), even(1, tiles, 0x90000, 60_004))
    exchange = plan_exchange([call], host_memory=120_000)
    assert exchange.plan.reuses_pages(0)
    assert exchange.plan.pages.size.sum() <= 120_000
    assert len(exchange.calls[0].fetched) > 1
    replay = Replay(exchange, tiles.tolist())
    streams = {0: stream(250_000), 1: np.zeros(300_020, np.uint8)}
    given = {1: stream(300_020, 1)}
    replay.run(0, streams, lambda: replay.hold(call.fetched, given))
    replay.expect(call.sent, streams)
    np.testing.assert_array_equal(streams[1], given[1])
    with pytest.raises(HostError, match="a batch takes"):
        plan_exchange([call], host_memory=20_000)


def test_a_batch_uses_the_window() -> None:
    """Small shards of all tiles go in one batch, in one slice; large ones fill the window."""
    small = plan_exchange([HostCall("run", 1, even(0, range(1472), 0x60000, 64))])
    assert len(small.calls[0].sent) == 1
    assert len(small.plan.slices) == 1
    large = plan_exchange([HostCall("run", 1, even(0, range(1472), 0x60000, 146_000))])
    assert len(large.calls[0].sent) == 10


def test_short_rows_are_copied_together() -> None:
    """Panels of 16 halves: rows apart in the stream lie one behind the other on tiles."""
    panel, row = np.divmod(np.arange(24 * 12), 12)
    offset, address = 32 * (24 * row + panel), 0x60000 + 32 * row
    table = shards(0, panel, address, offset, 32)
    exchange, _ = run(HostCall("run", 1, table), {0: stream(32 * 24 * 12)})
    (phase,) = exchange.calls[0].sent
    assert len(exchange.plan.slices) == 1
    assert [operands[2] for _, operands in phase.calls(5)] == [12 * 32 // 8]


def test_calls_of_several_groups() -> None:
    tiles = [5, 70, 900]
    load = HostCall("load", 2, even(0, tiles, 0x60000, 20_000), group=Group.LOAD)
    work = HostCall("run", 1, even(1, tiles, 0x70000, 100), even(2, tiles, 0x78000, 300))
    exchange = plan_exchange([load, work])
    plan = exchange.plan
    assert [(each.name, each.command) for each in plan.entry_points] == [
        ("load", 2),
        ("run", 1),
        ("stop", 0),
    ]
    assert [plan.phases(call) for call in range(3)] == [6, 6, 1]
    replay = Replay(exchange, tiles)
    streams = {0: stream(60_000), 1: stream(300, 1), 2: np.zeros(900, np.uint8)}
    replay.run(0, streams)
    replay.expect(load.sent, streams)
    for number in range(2):
        given = {2: stream(900, number)}
        replay.run(1, streams, partial(replay.hold, work.fetched, given))
        replay.expect(load.sent, streams)
        replay.expect(work.sent, streams)
        np.testing.assert_array_equal(streams[2], given[2])


def test_nothing_to_exchange() -> None:
    exchange = plan_exchange([HostCall("run", 1)])
    assert exchange.plan.phases(0) == 2
    Replay(exchange, [3]).run(0, {})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (shards(0, 3, 0x60002, 0, 8), "multiples of 4: tensor 0, 8 bytes from 0 at 0x60002"),
        (shards(0, 3, 0x60000, 2, 8), "multiples of 4"),
        (shards(0, 3, 0x60000, 0, 0), "empty"),
        (shards(0, 1472, 0x60000, 0, 8), "no such tile"),
        (shards(0, 3, 0xE7FFC, 0, 8), "not within tile memory"),
        (shards(0, 3, 0x4FFFC, 0, 8), "belongs to the exchange with the host"),
    ],
)
def test_refused(table: Shards, message: str) -> None:
    for call in (HostCall("run", 1, table), HostCall("run", 1, fetched=table)):
        with pytest.raises(HostError, match=message):
            plan_exchange([call])


def test_too_many_packets_for_the_window() -> None:
    pieces = shards(0, 7, 0x60000 + 8 * np.arange(3000), 8 * np.arange(3000), 8)
    with pytest.raises(HostError, match=r"tile 7: .* spread what is exchanged over more tiles"):
        plan_exchange([HostCall("run", 1, pieces)])


def test_uneven_shards_are_one_slice() -> None:
    """Shards of several sizes that follow each other in the stream: the host copies all at once."""
    sizes = np.where(np.arange(60) % 7 < 3, 288, 256)
    table = shards(0, np.arange(60), 0x60000, np.cumsum(sizes) - sizes, sizes)
    call = HostCall("run", 1, table, shards(1, table.tile, 0x70000, table.offset, table.size))
    total = int(sizes.sum())
    exchange, replay = run(call, {0: stream(total), 1: stream(total, 1)})
    assert len(exchange.plan.slices) == 2
    assert replay.moved == [4, total, total]
