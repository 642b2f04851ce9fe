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
_LONG, _SHORT, _WORD = 4096, 256, 4
"""Words of a message."""
_MESSAGES, _PHASES, _ROUNDS = TILES // 2, 4, 3
_FIRST_EVENT = 80
"""Early enough for the farthest receiver to select its source in an event of the row."""
_SHORT_SEND = 64
"""Words of a `send`; a `sendoff` goes on with the others."""


def exchange_figures() -> list[Figure]:
    """Whole phases, and of long messages what they cost beyond short ones."""
    long, short = (min(_seconds(words) for _ in range(_ROUNDS)) for words in (_LONG, _SHORT))
    sent = _PHASES * _MESSAGES
    return [
        Figure("exchange.messages_per_second", sent / short, "messages/s"),
        Figure("exchange.bytes_per_second", sent * _LONG * _WORD / long, "bytes/s"),
        Figure(
            "exchange.further_bytes_per_second",
            sent * (_LONG - _SHORT) * _WORD / (long - short),
            "bytes/s",
        ),
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
    return (
        f"delay {_FIRST_EVENT - 2}\n"
        f"send {_SHORT_SEND - 1}, {place}, {control}\n"
        f"sendoff {words - _SHORT_SEND - 1}, 0, {control}\n"
    )


def _receiver_row(words: int, source: int, receiver: int, slot: int) -> str:
    pointer = int(pointer_delays(receiver))
    rest = 1 + int(row_end_delays(receiver))
    return (
        f"delayxpic {slot - 1}, 0, {source}\n"
        f"delaypic {pointer - 1}, 0, {REGION1_BASE // _WORD}\n"
        f"delayxpic {words - pointer - 1}, 0, {NEUTRAL_MUX}\n"
        f"delay {rest - 1}\n"
    )


def _program(row: str) -> TileImage:
    phase = f"setzi $m0, 1\nput $INCOMING_DCOUNT, $m0\nsync 3\n{row}"
    source = f"setzi $m0, {NEUTRAL_MUX}\nput $INCOMING_MUX, $m0\n{phase * _PHASES}trap 0\n"
    code = assemble(source, mode=Mode.SUPERVISOR).sections[0].data
    return TileImage((Piece(_CODE, bytes(code)),), _CODE)
