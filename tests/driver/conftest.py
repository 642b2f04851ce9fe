"""The program of `programs` on an emulated device, driven by the real driver."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.driver import programs
from tilewright.driver import CallTimes, Limits, Program, Transport, entries_of
from tilewright.driver.emulated import LOADER, EmulatedTransport
from tilewright.package import Application, Group, Source

Numbers = NDArray[np.int32]


@dataclass
class Driven:
    """A program on a device, its transport perhaps wrapped. `outputs` are those of the last run."""

    application: Application
    transport: Transport
    limits: Limits
    program: Program | None = None
    outputs: dict[int, NDArray[np.uint8]] = field(default_factory=dict)

    def load(self) -> "Driven":
        self.program = Program(self.transport, self.application, LOADER, limits=self.limits)
        for entry in entries_of(self.application.host, Group.LOAD):
            w = self.application.tensors[2]
            self.program.call(entry, {2: self.application.blobs[w.blob]}, {})
        return self

    def run(self, x: Numbers) -> Numbers:
        assert self.program is not None
        self.outputs = {
            number: np.zeros(self.application.tensors[number].stream_bytes, np.uint8)
            for number in (1, 3)
        }
        entry = self.application.host.entry_points[1]
        self.times = self.program.call(entry, {0: x.reshape(-1).view(np.uint8)}, self.outputs)
        return self.outputs[1].view(np.int32).reshape(x.shape)

    times: list[CallTimes | None] = field(default_factory=list)

    @property
    def w(self) -> Numbers:
        return np.arange(self.application.tiles * programs.WORDS, dtype=np.int32).reshape(
            -1, programs.WORDS
        )

    def x(self, seed: int = 0) -> Numbers:
        shape = (self.application.tiles, programs.WORDS)
        return np.random.default_rng(seed).integers(-1000, 1000, shape, np.int32)


Make = Callable[..., Driven]

LIMITS = Limits(mark=1, completion=0.1)
"""Less than the usual ones, which are polled for a while."""


@pytest.fixture(scope="session")
def package() -> Application:
    """For one row of tiles, its parameter in a blob."""
    return programs.application(parameters=Source.BLOB)


@pytest.fixture
def driven(package: Application) -> Make:
    def make(
        wrap: Callable[[Transport], Transport] = lambda transport: transport,
        application: Application = package,
        limits: Limits = LIMITS,
    ) -> Driven:
        transport = wrap(EmulatedTransport(application.tiles))
        return Driven(application, transport, limits)

    return make
