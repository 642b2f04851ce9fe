"""Speed of the emulated exchange on a whole chip: long messages, short ones, hardly any."""

from collections.abc import Callable, Mapping
from time import perf_counter

import numpy as np

from tilewright.cli.bench.figure import Figure, best_seconds
from tilewright.cli.bench.permutations import SOURCES, messages, rows
from tilewright.elf.assembler import assemble
from tilewright.emulator.chip import Chip, End
from tilewright.emulator.engines import Engine, tile_maker
from tilewright.emulator.images import Piece, TileImage
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.tile import Stop
from tilewright.isa import Mode
from tilewright.target.geometry import MEMORY_BASE, REGION1_BASE, TILES
from tilewright.target.routes import Direction, route
from tilewright.target.row_events import pointer_delays, row_end_delays
from tilewright.target.topology import NEUTRAL_MUX, physical_tile

_CODE, _ROW = MEMORY_BASE + 0x4000, MEMORY_BASE + 0x4100
_LONG = 98_304
_SHORT, _PERMUTATIONS = 16, 50
"""Words of messages, and of how many permutations there are messages."""
_WORD = 4
_ROUNDS = 2
_FIRST_EVENT = 80
"""Early enough for the farthest receiver to select its source in an event of the row."""
_FIRST_SEND, _NEXT_SEND = 64, 4096
"""The most words of a `send`, and of each `sendoff` that goes on with it."""
_LONGEST_DELAY = 4096
_ROW_INSTRUCTIONS, _ROW_REPEATS = 10_000, 20

_Prepare = Callable[[Chip], None]


def exchange_figures() -> list[Figure]:
    """Messages per second, if they are short, bytes per second, if they are long, and costs."""
    sent = messages(_PERMUTATIONS, _SHORT)
    short = _phase_seconds(_code_of(rows(sent, _SHORT)), 10, _fill(SOURCES, _PERMUTATIONS * _SHORT))
    long = _phase_seconds(_long_rows(_LONG), 4, _fill(REGION1_BASE, _LONG))
    pair = _phase_seconds(_one_message(), 100)
    return [
        Figure("exchange.messages_per_second", len(sent) / short, "messages/s"),
        Figure("exchange.bytes_per_second", TILES // 2 * _LONG * _WORD / long, "bytes/s"),
        Figure("exchange.phase_seconds", pair, "s"),
        Figure("exchange.row_instructions_per_second", _row_instructions(), "instructions/s"),
    ]


def _fill(address: int, words: int) -> _Prepare:
    def fill(chip: Chip) -> None:
        for tile in range(TILES):
            chip.memory.write(tile, address, bytes(words * _WORD))

    return fill


def _phase_seconds(
    rows: Mapping[int, bytes], phases: int, prepare: _Prepare = lambda chip: None
) -> float:
    """The time of one of so many phases, one thread's, with barriers, rows and start and end of the
    program. Tiles without a row do not take part but in barriers."""
    active = _program(f"sync 3\ncall $m10, {_ROW:#x}", phases)
    idle = TileImage((_program("sans 0\nsync 1", phases),), _CODE)

    def seconds() -> float:
        chip = Chip(threads=1)
        for tile in range(TILES):
            row = rows.get(tile)
            image = TileImage((active, Piece(_ROW, row)), _CODE) if row else idle
            chip.load(tile, image)
        prepare(chip)
        start = perf_counter()
        outcome = chip.run()
        taken = perf_counter() - start
        assert outcome.end is End.STOPPED, str(outcome)
        return taken / phases

    return min(seconds() for _ in range(_ROUNDS))


def _program(phase: str, phases: int) -> Piece:
    source = f"""
        setzi $m0, {NEUTRAL_MUX}
        put $INCOMING_MUX, $m0
        setzi $m1, {phases - 1}
        setzi $m0, 1
        put $INCOMING_DCOUNT, $m0
        {phase}
        brnzdec $m1, {_CODE + 4 * _WORD:#x}
        trap 0
    """
    return Piece(_CODE, _words(source))


def _code_of(rows: list[bytes]) -> dict[int, bytes]:
    return dict(enumerate(row + _words("br $m10") for row in rows))


def _words(source: str) -> bytes:
    return bytes(assemble(source, mode=Mode.SUPERVISOR).sections[0].data)


def _long_rows(words: int) -> dict[int, bytes]:
    """Every other tile sends to its neighbour."""
    made: dict[int, bytes] = {}
    for number in range(0, TILES, 2):
        made |= _message(physical_tile(number), physical_tile(number + 1), words)
    return made


def _one_message() -> dict[int, bytes]:
    """Two tiles that exchange a message."""
    return _message(physical_tile(0), physical_tile(1), 1000)


def _message(source: int, receiver: int, words: int) -> dict[int, bytes]:
    taken = route(source, receiver)
    sending = _sender_row(words, taken.direction)
    receiving = _receiver_row(words, source, receiver, _FIRST_EVENT + taken.time)
    return {source: _words(sending), receiver: _words(receiving)}


def _sender_row(words: int, direction: Direction) -> str:
    place, control = REGION1_BASE // _WORD, int(direction)
    lines = [f"delay {_FIRST_EVENT - 2}", f"send {_FIRST_SEND - 1}, {place}, {control}"]
    for sent in range(_FIRST_SEND, words, _NEXT_SEND):
        lines.append(f"sendoff {min(_NEXT_SEND, words - sent) - 1}, 0, {control}")
    return "\n".join([*lines, "br $m10"])


def _receiver_row(words: int, source: int, receiver: int, slot: int) -> str:
    pointer = int(pointer_delays(receiver))
    rest = 1 + int(row_end_delays(receiver))
    waits, last = divmod(words - pointer - 1, _LONGEST_DELAY)
    lines = [
        f"delayxpic {slot - 1}, 0, {source}",
        f"delaypic {pointer - 1}, 0, {REGION1_BASE // _WORD}",
        *[f"delay {_LONGEST_DELAY - 1}"] * waits,
        f"delayxpic {last}, 0, {NEUTRAL_MUX}",
        f"delay {rest - 1}",
        "br $m10",
    ]
    return "\n".join(lines)


def _row_instructions() -> float:
    """Delays and sends of one tile, which are executed and logged; nothing is moved."""
    pair = _words(f"delay 0\nsend 0, {REGION1_BASE // _WORD}, 1")
    after = _words(f"brnzdec $m1, {_CODE:#x}\ntrap 0")
    memory = TileMemory(1)
    memory.write(0, _CODE, pair * (_ROW_INSTRUCTIONS // 2) + after)

    def run() -> None:
        tile = tile_maker(Engine.LLVM)(memory, 0)
        tile.state["supervisor"]["pc"] = _CODE
        tile.state["supervisor"]["m"][1] = _ROW_REPEATS - 1
        assert tile.run(1 << 60).reason is Stop.FAULT
        kinds = np.bincount(tile.events["kind"])
        assert kinds.tolist() == [_ROW_INSTRUCTIONS * _ROW_REPEATS // 2] * 2

    return _ROW_INSTRUCTIONS * _ROW_REPEATS / best_seconds(run)
