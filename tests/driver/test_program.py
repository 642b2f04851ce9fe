"""A program from the reset to its end: real driver, emulated device."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.driver import programs
from tests.driver.wrapping import Late, Recording
from tilewright.driver import CallTimes, Transport
from tilewright.package import Application, Source

if TYPE_CHECKING:
    from .conftest import Make

LOADER_MARK, PROGRAM_MARK = 0x302C, 0x3030


def test_several_runs_and_a_stop(driven: "Make") -> None:
    """Command, parameters, runs; then every tile has its completion word and has trapped."""
    device = driven().load()
    for seed in range(3):
        x = device.x(seed)
        assert np.array_equal(device.run(x), x + device.w)
    assert device.program is not None
    device.program.stop()
    device.program.close()


def test_tiles_of_two_rows(driven: "Make") -> None:
    device = driven(application=programs.application(2, Source.BLOB)).load()
    x = device.x()
    assert np.array_equal(device.run(x), x + device.w)


def test_cycles_follow_from_what_the_tiles_count(driven: "Make") -> None:
    """A part of the graph's cycles is that between the samples that each tile takes."""
    device = driven().load()
    device.run(device.x())
    [times] = device.times
    assert times is not None
    samples = device.outputs[3].view("<u4").reshape(-1, 2)
    assert len(set(np.diff(samples)[:, 0].tolist())) == 1
    assert 0 < int(samples[0, 1] - samples[0, 0]) < times.graph
    assert times.total == times.graph + times.host
    assert times.cycles == tuple(sorted(times.cycles))


def test_times_of_a_call() -> None:
    """Two inputs behind a command, two outputs: the first command's end to the last output's."""
    to, back = True, False
    cycles = (0, 10, 11, 30, 32, 60, 100, 150, 151, 170, 175)
    times = CallTimes(cycles, (to, to, to, back, back), True)
    assert times.total == 170 - 10
    assert times.graph == 100 - 60
    assert CallTimes((5, 20, 100, 130), (to, back), False).total == 130 - 5


def test_runs_are_the_same_whatever_the_host_takes(driven: "Make") -> None:
    """With random delays before each acknowledgement."""
    random = np.random.default_rng(5)
    prompt = driven().load()
    late = driven(lambda transport: Late(transport, lambda: float(random.uniform(0, 0.01)))).load()
    for seed in range(2):
        x = prompt.x(seed)
        assert np.array_equal(prompt.run(x), late.run(x))
        assert prompt.times == late.times


def test_the_order_of_operations(package: Application, driven: "Make") -> None:
    """Reset before all else, marks cleared, the package's registers before and after loading."""
    transports: list[Recording] = []

    def wrap(transport: Transport) -> Transport:
        transports.append(Recording(transport))
        return transports[0]

    device = driven(wrap).load()
    [transport] = transports
    log = transport.log
    assert log[0] == ("mailbox", (0x4078020E, 0, 0, 0, 0))
    assert transport.writes(LOADER_MARK) == [(LOADER_MARK, mark) for mark in (0, 1, 1, 1, 1)]
    assert transport.writes(PROGRAM_MARK)[:2] == [(PROGRAM_MARK, mark) for mark in (0, 1)]
    first = log.index(("write", 0x2010, 5))
    assert first < log.index(("write", 0x2068, 0)) < log.index(("attach", 0, 0x2842000))
    detached = log.index(("detach", 0))
    assert detached < log.index(("write", 0x4018, 6)) < log.index(("attach", 0, 4096))
    paged = ("write", 0x3044, 1 << 11)
    for index in (log.index(("attach", 0, 4096)), log.index(("attach", 1, 16384))):
        assert log[index - 1] == paged
    assert device.program is not None
    device.program.close()
    assert log[-3:] == [("detach", 1), ("detach", 0), ("close",)]


def test_exchange_blocks_serve_the_loader_alone_while_it_loads(driven: "Make") -> None:
    transports: list[Recording] = []

    def wrap(transport: Transport) -> Transport:
        transports.append(Recording(transport))
        return transports[0]

    driven(wrap).load()
    west, east = 0x5404, 0x1B804
    written = transports[0].writes(west, east)
    assert written == [
        (west, 0x07FFFFFA),
        (east, 0x07FFFFFA),
        (west, 0x2),
        (west, 0x2),
        (east, 0x0020820A),
    ]


def test_pages_that_are_used_again(driven: "Make") -> None:
    """With x and y in one place, slices are copied as the phases go."""
    from dataclasses import replace

    plain = programs.application(parameters=Source.BLOB, shares_pages=True)
    assert plain.host.reuses_pages(1)
    device = driven(application=replace(plain)).load()
    for seed in range(2):
        x = device.x(seed)
        assert np.array_equal(device.run(x), x + device.w)


def test_packages_for_another_number_of_tiles(driven: "Make") -> None:
    from tilewright.driver import LoaderError
    from tilewright.driver.emulated import EmulatedTransport

    device = driven(application=programs.application(2, Source.BLOB))
    device.transport = EmulatedTransport(64)
    with pytest.raises(LoaderError, match="for 128 tiles, the device has 64"):
        device.load()
