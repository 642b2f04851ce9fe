"""Speed of the emulated exchange: every other tile of a whole chip sends to its neighbour."""

from time import perf_counter

from tilewright.cli.bench.figure import Figure
from tilewright.elf.assembler import assemble
from tilewright.emulator.chip import Chip, End
from tilewright.emulator.images import Piece, TileImage
from tilewright.isa import Mode
from tilewright.target.geometry import MEMORY_BASE, REGION1_BASE, TILES
from tilewright.target.routes import Direction, route
from tilewright.target.row_events import pointer_delays, row_end_delays
from tilewright.target.topology import NEUTRAL_MUX, physical_tile

_CODE = MEMORY_BASE + 0x4000
_LONG, _SHORT = 98_304, 256
"""Words of a message."""
_WORD = 4
_MESSAGES, _PHASES, _ROUNDS = TILES // 2, 4, 2
_FIRST_EVENT = 80
"""Early enough for the farthest receiver to select its source in an event of the row."""
_FIRST_SEND, _NEXT_SEND = 64, 4096
"""The most words of a `send`, and of each `sendoff` that goes on with it."""
_LONGEST_DELAY = 4096


def exchange_figures() -> list[Figure]:
    """Messages per second, if they are short, and bytes per second, if they are long."""
    long, short = (min(_seconds(words) for _ in range(_ROUNDS)) for words in (_LONG, _SHORT))
    sent = _PHASES * _MESSAGES
    return [
        Figure("exchange.messages_per_second", sent / short, "messages/s"),
        Figure("exchange.bytes_per_second", sent * _LONG * _WORD / long, "bytes/s"),
    ]


def _seconds(words: int) -> float:
    """One thread's time for all phases, barriers and rows included."""
    chip = Chip(threads=1)
    for number in range(0, TILES, 2):
        source, receiver = physical_tile(number), physical_tile(number + 1)
        taken = route(source, receiver)
        chip.load(source, _program(_sender_row(words, taken.direction)))
        row = _receiver_row(words, source, receiver, _FIRST_EVENT + taken.time)
        chip.load(receiver, _program(row))
        chip.memory.write(source, REGION1_BASE, bytes(words * _WORD))
    start = perf_counter()
    outcome = chip.run()
    seconds = perf_counter() - start
    assert outcome.end is End.STOPPED, str(outcome)
    return seconds


def _sender_row(words: int, direction: Direction) -> str:
    place, control = REGION1_BASE // _WORD, int(direction)
    lines = [f"delay {_FIRST_EVENT - 2}", f"send {_FIRST_SEND - 1}, {place}, {control}"]
    for sent in range(_FIRST_SEND, words, _NEXT_SEND):
        lines.append(f"sendoff {min(_NEXT_SEND, words - sent) - 1}, 0, {control}")
    return "\n".join(lines)


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
    ]
    return "\n".join(lines)


def _program(row: str) -> TileImage:
    phase = f"setzi $m0, 1\nput $INCOMING_DCOUNT, $m0\nsync 3\n{row}\n"
    source = f"setzi $m0, {NEUTRAL_MUX}\nput $INCOMING_MUX, $m0\n{phase * _PHASES}trap 0\n"
    code = assemble(source, mode=Mode.SUPERVISOR).sections[0].data
    return TileImage((Piece(_CODE, bytes(code)),), _CODE)
