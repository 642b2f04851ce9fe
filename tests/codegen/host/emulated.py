"""Programs that do nothing but exchange with the host, on the emulated chip."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tilewright.codegen.host import COMMAND, COPY, TABLES, HostExchange, HostPhase, command_rows
from tilewright.device.kernels import KERNELS
from tilewright.device.runtime import RUNTIME
from tilewright.elf.arenas import Arena
from tilewright.elf.assembler import assemble_file
from tilewright.elf.image import Image
from tilewright.elf.linker import Linker
from tilewright.emulator.chip import Chip, End
from tilewright.emulator.host_port import HostLink
from tilewright.emulator.images import Piece, TileImage
from tilewright.exchange import Rows
from tilewright.isa import FORM_BY_NAME, encode
from tilewright.package import Direction
from tilewright.target.csr import CSRS
from tilewright.target.geometry import STACK_TOP, TILES, WORKER_SCRATCH_SIZE, WORKERS
from tilewright.target.host import HOST_PAGE

U8 = NDArray[np.uint8]
GROUP = 2
_PROGRAM = 0x54000
_START = {"FP_ICTL": 0, "INCOMING_MUX": 0x640, "INCOMING_BASE": 0, "OUTGOING_BASE": 0}


class _Code:
    """Instructions from an address on."""

    def __init__(self, kernel: int) -> None:
        self._kernel = kernel
        self.content = bytearray()

    def add(self, form: str, *values: int) -> None:
        self.content += encode(FORM_BY_NAME[form], values).to_bytes(4, "little")

    def put(self, register: str, value: int) -> None:
        self.add("setzi m,x20", 0, value)
        self.add("put c8,m", CSRS[register].index, 0)

    @property
    def here(self) -> int:
        return _PROGRAM + len(self.content)

    def row(self, rows: Rows, tile: int) -> None:
        words = rows.row(tile)
        if not len(words):
            self.add("sans u19", 0)
            self.add("sync u4", 1)
            return
        self.put("INCOMING_DCOUNT", 1)
        if self.here % 8 == 0:
            self.add("setzi m,x20", 0, 0)
        self.add("sync u4", 3)
        self.content += words.astype("<u4").tobytes()

    def host(self, phase: HostPhase, tile: int) -> None:
        self.content += phase.code(tile)
        for _, operands in phase.calls(tile):
            for number, value in enumerate(operands):
                self.add("setzi m,x20", 2 + number, value)
            self.add("call m,t20", 10, self._kernel)


def _linked() -> Image:
    objects = [assemble_file(path).object for path in (RUNTIME, KERNELS[COPY].source)]
    arena = Arena("kernels", 0x4C018, 0x50000, is_executable=True)
    return Linker(objects, arenas=(arena,)).link(entries=(KERNELS[COPY].symbol,))


def _program(exchange: HostExchange, tile: int, kernel: int) -> bytes:
    """Commands make the exchanges of their calls, any other stops."""
    code = _Code(kernel)
    for register, value in _START.items():
        code.put(register, value)
    for worker in range(WORKERS):
        code.put(f"WORKER{worker}_BASE", STACK_TOP + worker * WORKER_SCRATCH_SIZE)
    code.add("setzi m,x20", 11, STACK_TOP)
    code.add("sync u4", 7)
    start = code.here
    code.host(exchange.command, tile)
    code.row(command_rows(), tile)
    for entry, call in zip(exchange.plan.entry_points, exchange.calls, strict=False):
        code.add("setzi m,x20", 0, COMMAND)
        code.add("ld32 m,m,m,u12", 0, 0, 15, 0)
        code.add("cmpeq m,m,s16", 0, 0, entry.command)
        place = len(code.content)
        code.add("brz m,t19", 0, 0)
        for phase in call.sent:
            code.host(phase, tile)
        if call.spread is not None:
            code.row(call.spread, tile)
        for phase in call.fetched:
            code.host(phase, tile)
        code.add("bri t19", start)
        branch = encode(FORM_BY_NAME["brz m,t19"], (0, code.here))
        code.content[place : place + 4] = branch.to_bytes(4, "little")
    code.add("trap u4", 0)
    return bytes(code.content)


class Session:
    """A chip with a program for an exchange, and the host of it."""

    def __init__(self, exchange: HostExchange) -> None:
        self.plan = exchange.plan
        self.link = HostLink()
        self.chip = Chip(host=self.link)
        kernels = _linked()
        pieces = [Piece(each.address, each.data) for each in kernels.segments]
        symbol = kernels.entries[KERNELS[COPY].symbol]
        for tile in range(TILES):
            code = Piece(_PROGRAM, _program(exchange, tile, symbol))
            table = Piece(TABLES, exchange.tables.of(tile))
            self.chip.load(tile, TileImage((*pieces, code, table), _PROGRAM))
        index, size = self.plan.pages.index, self.plan.pages.size
        self.pages = [np.zeros(each, np.uint8) for each in size.tolist()]
        for number, page in zip(index.tolist(), self.pages, strict=True):
            self.link.attach(HOST_PAGE * number, page)
        self.cycles = [self.until_host()]
        self.acknowledge()

    def until_host(self) -> int:
        outcome = self.chip.run()
        assert outcome.end is End.HOST, str(outcome)
        return outcome.cycle

    def acknowledge(self) -> None:
        assert self.link.mark(GROUP) == 0
        self.link.set_mark(GROUP, 1)
        self.cycles.append(self.until_host())

    def command(self, value: int) -> None:
        word = self.plan.command_word
        assert word is not None
        self.pages[word.page][word.offset :][:4].view("<u4")[0] = value

    def run(self, streams: Mapping[int, U8], call: int = 0) -> None:
        self.command(self.plan.entry_points[call].command)
        self._copy_all(call, Direction.TO_DEVICE, streams)
        for _ in range(self.plan.phases(call)):
            self.acknowledge()
        self._copy_all(call, Direction.FROM_DEVICE, streams)

    def stop(self) -> None:
        self.command(0)
        self.acknowledge()
        self.link.set_mark(GROUP, 1)
        outcome = self.chip.run()
        assert outcome.end is End.STOPPED, str(outcome)

    def _copy_all(self, call: int, direction: Direction, streams: Mapping[int, U8]) -> None:
        for batch in self.plan.batches_of(call):
            if self.plan.batches.direction[batch] == direction:
                self._copy(self.plan.slices_of(batch), direction, streams)

    def _copy(self, rows: Sequence[int], direction: Direction, streams: Mapping[int, U8]) -> None:
        slices = self.plan.slices
        for row in rows:
            start, size = int(slices.page_offset[row]), int(slices.size[row])
            there = self.pages[slices.page[row]][start:][:size]
            here = streams[int(slices.tensor[row])][int(slices.offset[row]) :][:size]
            if direction is Direction.TO_DEVICE:
                there[:] = here
            else:
                here[:] = there
