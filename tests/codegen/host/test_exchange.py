"""Whole exchanges, replayed by an interpreter that knows the protocol only."""

import numpy as np
import pytest

from tests.codegen.host.replay import Replay, expect_shards
from tilewright.codegen.host import HostCall, HostError, plan_exchange
from tilewright.package import Direction, Shards


def shards(tensor, tile, address, offset, size):
    columns = np.broadcast_arrays(tensor, tile, address, offset, size)
    table = Shards(*(np.atleast_1d(each) for each in columns))
    return table.sorted_by("tensor", "offset")


def even(tensor, tiles, address, size):
    """A tensor in equal parts on tiles."""
    tiles = np.asarray(tiles)
    return shards(tensor, tiles, address, size * np.arange(len(tiles)), size)


def run(call: HostCall, streams, expected=None):
    exchange = plan_exchange([call])
    replay = Replay(exchange, np.concatenate([call.sent.tile, call.fetched.tile]).tolist())
    fetched = {
        int(tensor): np.zeros(int((call.fetched.offset + call.fetched.size).max()), np.uint8)
        for tensor in np.unique(call.fetched.tensor)
    }
    replay.run(0, {**streams, **fetched}, lambda: None)
    expect_shards(replay, call.sent, streams)
    expect_shards(replay, call.fetched, fetched)
    return exchange, replay


def stream(size, seed=0):
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


@pytest.mark.parametrize("size", [4, 8, 12, 60, 64, 68, 124, 1020, 1024, 1028, 5000, 40_000])
@pytest.mark.parametrize("address", [0x60000, 0x60004])
def test_sizes(size, address):
    tiles = [0, 2, 63, 1471]
    call = HostCall("run", 1, even(0, tiles, address, size), even(1, tiles, 0x80004, size))
    exchange, replay = run(call, {0: stream(4 * size)})
    assert len(exchange.calls[0].fetched) == 1
    # The command, what tiles get (with a word before it at an odd address), what they give.
    lead = address % 8 * 4
    assert replay.moved[0] == 4
    assert sum(replay.moved[1:-1]) == 4 * size + lead
    assert replay.moved[-1] == 4 * size
