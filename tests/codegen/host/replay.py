"""A chip and its host that know the rules of host phases, and nothing of how these are made.

The chip executes the bytes of phases, one tile after the other; packets are read from the words
that tiles send, as the notes on the protocol describe them. Whatever breaks a rule is an assertion.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tilewright.codegen.host import TABLES, HostExchange, HostPhase
from tilewright.exchange import ExchangePhase
from tilewright.isa import decode
from tilewright.package import Direction, Shards

Work = Callable[[], None]
U8 = npt.NDArray[np.uint8]
_BASE, _BYTES = 0x4C000, 0x9C000
_WINDOW = range(0x50000, 0x54000)
_MUX, _COUNT = 0xA0, 0xA6
_NEUTRAL = 0x640


@dataclass
class _Phase:
    """What is going on between the barriers of entry and completion."""

    host: U8
    named: set[int] = field(default_factory=set)
    """Tiles that requests name."""
    sending: set[int] = field(default_factory=set)
    """Tiles that have sent packets."""
    moved: int = 0


class _Tile:
    """One supervisor that executes a phase."""

    def __init__(self, number: int, memory: U8) -> None:
        self.number, self.memory = number, memory
        self.registers = {15: 0}
        self.csr = {_MUX: _NEUTRAL, _COUNT: 0}
        self.syncs: list[int] = []
        self.automatic = 0
        self.time = self.cursor = self.target = self.left = 0
        """Events so far; where the next words to send lie; of the payload that is being sent, where
        it goes in host memory, and how many words are to come."""
        self.next_packet = 0
        """The event before which no packet may start."""
        self.has_ended = False

    def execute(self, code: bytes, phase: _Phase) -> None:
        for word in np.frombuffer(code, "<u4").tolist():
            instruction = decode(word)
            assert instruction is not None, f"{word:#x}"
            values = instruction.values
            match instruction.form.mnemonic:
                case "setzi":
                    self.registers[values[0]] = values[1]
                case "put":
                    self.csr[values[0]] = self.registers[values[1]]
                case "ld32":
                    assert values[2] == 15
                    self.registers[values[0]] = self.word(self.registers[values[1]] + 4 * values[3])
                case "st32":
                    assert values[2] == 15
                    self.store(self.registers[values[1]] + 4 * values[3], self.registers[values[0]])
                case "sans":
                    self.automatic += values[0] + 1
                case "delay":
                    self.time += values[0] + 1
                case "send":
                    self.cursor = 4 * values[1]
                    self.send(values[0] + 1, values[2], phase)
                case "sendoff":
                    assert values[1] == 0
                    assert self.left == 0, "payloads are sent from where they lie"
                    self.send(values[0] + 1, values[2], phase)
                case "sync":
                    self.barrier(values[0])
                case other:
                    raise AssertionError(other)

    def send(self, count: int, direction: int, phase: _Phase) -> None:
        """A header, or words of a payload."""
        assert direction == 3
        assert len(self.syncs) == 1
        sent = [self.word(self.cursor + 4 * number) for number in range(count)]
        self.cursor += 4 * count
        if self.left:
            assert count <= self.left
            phase.host.view("<u4")[self.target // 4 :][:count] = sent
            phase.moved += 4 * count
            self.target += 4 * count
            self.left -= count
            self.next_packet = self.time + 18
        else:
            assert not self.has_ended
            assert self.time >= self.next_packet
            self.header(sent, phase)
        self.time += count

    def header(self, sent: list[int], phase: _Phase) -> None:
        """A request, a write whose payload follows, or a read."""
        first, second = sent
        kind = first >> 29
        if kind == 0:
            assert self.syncs == [15]
            assert self.number == self.number & 0x3D
            for number in range(46):
                bit = first >> number if number < 24 else second >> (number - 24)
                if bit & 1:
                    phase.named.add(64 * (number // 2) + 2 * (number % 2) + self.number)
            assert first >> 24 == 0
            assert second >> 22 == 0
            return
        assert kind in (4, 5, 6, 7)
        phase.sending.add(self.number)
        assert self.csr[_MUX] == 0x600 | self.number & 0x3D
        assert first >> 15 & 0x7FF == self.number
        assert second >> 31 == self.number & 1
        unit = 64 if kind & 1 else 4
        size = unit * (second & 15) or (1024 if unit == 64 else 0)
        offset = unit * (second >> 4 & (1 << 27) - 1)
        assert size == 0 or offset // 4096 == (offset + size - 1) // 4096
        assert offset + size <= len(phase.host)
        end = first >> 26 & 3
        assert first >> 28 & 1 == 0
        if kind in (4, 5):
            assert end == 0
            assert first & 0x7FFF == 0
            assert size > 0
            self.target, self.left = offset, size // 4
            return
        assert end in (0, 3)
        place = _BASE + 32 * (first & 0x7FFF)
        assert place in _WINDOW
        assert place + size <= _WINDOW.stop
        self.memory[place - _BASE :][:size] = phase.host[offset:][:size]
        phase.moved += size
        self.csr[_COUNT] -= max(size // 4, 1)
        self.has_ended = end == 3

    def barrier(self, zone: int) -> None:
        if zone == 2:
            assert not self.syncs
            assert self.csr[_MUX] == _NEUTRAL
        elif zone == 0:
            assert self.has_ended
            assert self.left == 0
            assert self.csr[_COUNT] == 0
        elif zone == 1:
            assert self.automatic == 2
            self.automatic = 0
            self.syncs += [7, 7]
        else:
            assert self.csr[_MUX] == 0x600 | self.number & 0x3D
            assert self.automatic == 0
            assert zone == 7 or (zone == 15 and not self.syncs)
            self.syncs.append(zone)

    def word(self, address: int) -> int:
        assert address % 4 == 0
        return int(self.memory[address - _BASE :][:4].view("<u4")[0])

    def store(self, address: int, value: int) -> None:
        assert address not in _WINDOW
        self.memory[address - _BASE :][:4].view("<u4")[0] = value


def _nothing() -> None:
    """No work."""


class Replay:
    """Runs calls of an exchange: host memory, and the memory of the tiles that matter."""

    def __init__(self, exchange: HostExchange, tiles: Iterable[int]) -> None:
        self.exchange = exchange
        pages = exchange.plan.pages
        self.host = np.zeros(int(pages.size.sum()), np.uint8)
        self.page_start = pages.index.astype(int) * 4096
        random = np.random.default_rng(7)
        self.memory = {
            tile: random.integers(0, 256, _BYTES, np.uint8) for tile in sorted({*tiles, *_OWNERS})
        }
        self.moved: list[int] = []
        """Bytes on the link, for each phase."""
        for tile, memory in self.memory.items():
            table = exchange.tables.of(tile)
            memory[TABLES - _BASE :][: len(table)] = np.frombuffer(table, np.uint8)

    def run(self, number: int, streams: Mapping[int, U8], work: Work = _nothing) -> None:
        """A call, with `work` between what it sends and what it fetches into `streams`."""
        plan, of_call = self.exchange.plan, self.exchange.calls[number]
        batches = plan.batches_of(number)
        phases = [self.exchange.command, *of_call.sent, *of_call.fetched]
        middle = batches.start + 1 + len(of_call.sent)
        self.is_streaming = plan.reuses_pages(number)
        if not self.is_streaming:
            for batch in batches:
                self.copy(batch, streams, Direction.TO_DEVICE)
        for batch, phase in zip(batches, phases, strict=True):
            if batch < middle:
                self.batch(batch, phase, streams)
        if of_call.spread is not None:
            self.spread(of_call.spread.phase)
        work()
        for batch, phase in zip(batches, phases, strict=True):
            if batch >= middle:
                self.batch(batch, phase, streams)
        if not self.is_streaming:
            for batch in batches:
                self.copy(batch, streams, Direction.FROM_DEVICE)

    def batch(self, batch: int, phase: HostPhase, streams: Mapping[int, U8]) -> None:
        """Where pages are used again, the host copies at the phases; else all first or last."""
        if self.is_streaming:
            self.host[4096:] = 0xEE
            self.copy(batch, streams, Direction.TO_DEVICE)
        self.phase(phase)
        if self.is_streaming:
            self.copy(batch, streams, Direction.FROM_DEVICE)

    def spread(self, phase: ExchangePhase) -> None:
        """What rows do is the business of the exchange room; here transfers are copies."""
        for number in range(phase.transfers):
            each = phase.transfer(number)
            words = self.memory[each.source][each.address - _BASE :][: 4 * each.words].copy()
            for tile, address in each.receivers:
                self.memory[tile][address - _BASE :][: 4 * each.words] = words

    def copy(self, batch: int, streams: Mapping[int, U8], direction: Direction) -> None:
        plan = self.exchange.plan
        if plan.batches.direction[batch] != direction:
            return
        for row in plan.slices_of(batch):
            each = plan.slices[row : row + 1]
            start = self.page_start[each.page[0]] + int(each.page_offset[0])
            size, offset = int(each.size[0]), int(each.offset[0])
            there, here = self.host[start:][:size], streams[int(each.tensor[0])][offset:][:size]
            assert len(here) == size
            if direction == Direction.TO_DEVICE:
                there[:] = here
            else:
                here[:] = there

    def phase(self, phase: HostPhase) -> None:
        """On all tiles that have memory here, owners of requests among them."""
        going_on = _Phase(self.host)
        for tile, memory in self.memory.items():
            state = _Tile(tile, memory)
            state.execute(phase.code(tile), going_on)
            assert len(state.syncs) == 2
            assert state.csr[_MUX] == _NEUTRAL
        assert going_on.named == going_on.sending
        self.moved.append(going_on.moved)
        for tile in self.memory:
            for kernel, (target, source, atoms) in phase.calls(tile):
                assert kernel == "copy_apart"
                assert target % 8 == source % 8 == 0
                assert atoms > 0
                memory = self.memory[tile]
                memory[target - _BASE :][: 8 * atoms] = memory[source - _BASE :][: 8 * atoms]

    def hold(self, shards: Shards, streams: Mapping[int, U8]) -> None:
        """Let tiles hold what streams say."""
        for memory, part in self._shards(shards, streams):
            memory[:] = part

    def expect(self, shards: Shards, streams: Mapping[int, U8]) -> None:
        """That tiles hold what streams say."""
        for memory, part in self._shards(shards, streams):
            np.testing.assert_array_equal(memory, part)

    def _shards(self, shards: Shards, streams: Mapping[int, U8]) -> Iterator[tuple[U8, U8]]:
        for row in range(len(shards)):
            tile, address, offset, size, tensor = (
                int(getattr(shards, name)[row])
                for name in ("tile", "address", "offset", "size", "tensor")
            )
            yield self.memory[tile][address - _BASE :][:size], streams[tensor][offset:][:size]


_OWNERS = [tile for tile in range(64) if tile & 2 == 0]
