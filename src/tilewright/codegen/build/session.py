"""What programs do around the graph: wait for commands, exchange with the host, sample cycles.

start-up; the host opens its session
again and again:
    the command of the host comes to all tiles
    any but that to run: leave the completion word, stop
    inputs come; the graph; outputs go
"""

from collections.abc import Callable, Iterator, Sequence

from tilewright.codegen.emit import DataMemory
from tilewright.codegen.emit.code import TileCode
from tilewright.codegen.host import COMMAND, HostExchange, HostPhase, command_rows
from tilewright.codegen.mid import Profiling
from tilewright.device.kernels import KERNELS
from tilewright.device.runtime import AWAIT_SESSION, FINISH, SAMPLE, SAMPLE_FROM

RUN, RUN_COMMAND = "run", 1
"""The entry point of packages, and its command."""


class SessionFrame:
    """The frame of a program whose host does its part as `exchange` says."""

    def __init__(self, exchange: HostExchange, memory: DataMemory, profiling: Profiling) -> None:
        (self._call,) = exchange.calls
        self._command = exchange.command
        self._samples = memory.samples
        self._profiling = profiling

    def functions(self, tile: int) -> Iterator[str]:
        """What a (physical) tile calls."""
        yield AWAIT_SESSION
        if self._profiling is not Profiling.NONE:
            yield from (SAMPLE_FROM, SAMPLE)
        for phase in (self._command, *self._call.sent, *self._call.fetched):
            yield from (KERNELS[kernel].symbol for kernel, _ in phase.calls(tile))

    def write(self, code: TileCode, tile: int, graph: Callable[[], None]) -> None:
        """Write a (physical) tile's program around the graph."""
        code.call(AWAIT_SESSION)
        with code.endless():
            self._host(code, tile, [self._command])
            code.exchange(command_rows().row(tile).astype("<u4").tobytes())
            code.leave_unless(COMMAND, RUN_COMMAND, FINISH)
            if self._profiling is not Profiling.NONE:
                code.call(SAMPLE_FROM, (self._samples,))
            self._sample(code)
            self._host(code, tile, self._call.sent)
            if self._call.spread is not None:
                code.exchange(self._call.spread.row(tile).astype("<u4").tobytes())
            self._sample(code)
            graph()
            if self._profiling is Profiling.OVERALL:
                self._sample(code)
            self._host(code, tile, self._call.fetched)

    def _host(self, code: TileCode, tile: int, phases: Sequence[HostPhase]) -> None:
        for phase in phases:
            code.words(phase.code(tile))
            for kernel, operands in phase.calls(tile):
                code.call(KERNELS[kernel].symbol, operands)

    def _sample(self, code: TileCode) -> None:
        if self._profiling is not Profiling.NONE:
            code.call(SAMPLE)
