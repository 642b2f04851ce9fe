"""Exchanges on the emulated chip, which judges packets, requests and barriers by its own rules."""

import numpy as np
import pytest

from tests.codegen.host.emulated import Session
from tests.codegen.host.examples import even, random_call, shards, stream
from tilewright.codegen.host import HostCall, plan_exchange
from tilewright.package import Group


@pytest.mark.parametrize("seed", [3, 4])
def test_what_is_sent_arrives_and_comes_back(seed: int) -> None:
    call, streams = random_call(np.random.default_rng(seed))
    session = Session(plan_exchange([HostCall("run", 1, call.sent, call.sent)]))
    for number in range(2):
        given = {tensor: stream(len(each), number) for tensor, each in streams.items()}
        found = {tensor: each.copy() for tensor, each in given.items()}
        session.run(found)
        for row in range(len(call.sent)):
            tensor, offset, size = (
                int(getattr(call.sent, name)[row]) for name in ("tensor", "offset", "size")
            )
            held = session.chip.memory.read(
                int(call.sent.tile[row]), int(call.sent.address[row]), size
            )
            assert held == given[tensor][offset:][:size].tobytes()
    session.stop()


def test_copies_come_over_the_link_once() -> None:
    tiles, size = np.arange(1456), 9_000
    call = HostCall(
        "run",
        1,
        shards(0, tiles, 0x60000, size * (tiles % 112), size),
        shards(0, tiles[-112:], 0x60000, size * (tiles[-112:] % 112), size),
    )
    session = Session(plan_exchange([call]))
    given = stream(112 * size)
    streams = {0: given.copy()}
    session.run(streams)
    session.stop()
    np.testing.assert_array_equal(streams[0], given)
    for tile in (0, 700, 1455):
        held = session.chip.memory.read(tile, 0x60000, size)
        assert held == given[size * (tile % 112) :][:size].tobytes()
    # The link carries everything once each way, at 2.6 bytes a cycle.
    assert session.cycles[-1] < 1.05 * 2 * len(given) / 2.6 + 20_000


def test_all_tiles() -> None:
    size = 640
    call = HostCall(
        "run", 1, even(0, range(1472), 0x60000, size), even(1, range(1472), 0x60000, size)
    )
    session = Session(plan_exchange([call]))
    streams = {0: stream(1472 * size), 1: np.zeros(1472 * size, np.uint8)}
    session.run(streams)
    session.stop()
    np.testing.assert_array_equal(streams[0], streams[1])


def test_what_a_load_call_sends_stays() -> None:
    """Parameters may be sent by a call of their own, once; runs find them where they were put."""
    tiles, size = range(128), 3_000
    parameters = even(0, tiles, 0x60000, size)
    load = HostCall("load", 2, parameters, group=Group.LOAD)
    run = HostCall("run", 1, even(1, tiles, 0x70000, size), parameters)
    session = Session(plan_exchange([load, run]))
    given = stream(128 * size)
    session.run({0: given})
    for number in range(2):
        found = np.zeros_like(given)
        session.run({0: found, 1: stream(128 * size, number)}, call=1)
        np.testing.assert_array_equal(found, given)
    session.stop()
