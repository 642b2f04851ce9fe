"""Speed of the emulated exchange on a whole chip: long messages, short ones, hardly any."""

from time import perf_counter

import numpy as np

from tilewright.cli.bench.figure import Figure, best_seconds
from tilewright.elf.assembler import assemble
from tilewright.emulator.chip import Chip, End
from tilewright.emulator.engines import Engine, tile_maker
from tilewright.emulator.images import Piece, TileImage
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.tile import Stop
from tilewright.exchange import ExchangePhase, Transfer, encode, schedule
from tilewright.isa import Mode
from tilewright.target.geometry import MEMORY_BASE, REGION1_BASE, TILES
from tilewright.target.topology import NEUTRAL_MUX, physical_tile, physical_tiles

_CODE, _ROW = MEMORY_BASE + 0x4000, MEMORY_BASE + 0x4100
_SOURCES = MEMORY_BASE + 0x10000
_LONG = 98_304
_SHORT, _PERMUTATIONS = 16, 50
"""Words of messages, and of how many permutations there are messages."""
_WORD = 4
_ROUNDS = 2
_ROW_INSTRUCTIONS, _ROW_REPEATS = 10_000, 20


def exchange_figures() -> list[Figure]:
    """Messages per second, if they are short, bytes per second, if they are long, and costs."""
    many, long = _short_messages(), _long_messages()
    sent = int(long.words.sum()) * _WORD
    return [
        Figure("exchange.messages_per_second", many.transfers / _seconds(many, 10), "messages/s"),
        Figure("exchange.bytes_per_second", sent / _seconds(long, 4), "bytes/s"),
        Figure("exchange.phase_seconds", _seconds(_one_message(), 100), "s"),
        Figure("exchange.row_instructions_per_second", _row_instructions(), "instructions/s"),
    ]


def _short_messages() -> ExchangePhase:
    """In permutation k, the tile of logical id l sends to that of l + 37 k + 1."""
    sender = np.tile(np.arange(TILES), _PERMUTATIONS)
    number = np.repeat(np.arange(_PERMUTATIONS), TILES)
    place = number * _SHORT * _WORD
    return ExchangePhase(
        physical_tiles(sender).astype(np.int64),
        _SOURCES + place,
        np.full(len(sender), _SHORT),
        np.arange(len(sender) + 1),
        physical_tiles((sender + 37 * number + 1) % TILES).astype(np.int64),
        REGION1_BASE + place,
    )


def _long_messages() -> ExchangePhase:
    """Every other tile sends to its neighbour what all but fills its interleaved memory."""
    pairs = range(0, TILES, 2)
    return ExchangePhase.of(
        Transfer(
            physical_tile(tile), REGION1_BASE, _LONG, [(physical_tile(tile + 1), REGION1_BASE)]
        )
        for tile in pairs
    )


def _one_message() -> ExchangePhase:
    receiver = physical_tile(1)
    return ExchangePhase.of([Transfer(0, REGION1_BASE, 1000, [(receiver, REGION1_BASE)])])


def _seconds(phase: ExchangePhase, phases: int) -> float:
    """The time of one of so many phases, one thread's, with barriers, rows and start and end of the
    program. Tiles without a row do not take part but in barriers."""
    rows = encode(schedule(phase))
    active = _program(f"sync 3\ncall $m10, {_ROW:#x}", phases)
    idle = TileImage((_program("sans 0\nsync 1", phases),), _CODE)
    end = _words("br $m10")

    def seconds() -> float:
        chip = Chip(threads=1)
        for tile in range(TILES):
            row = Piece(_ROW, rows.row(tile).astype("<u4").tobytes() + end)
            chip.load(tile, TileImage((active, row), _CODE) if rows.is_active[tile] else idle)
        for tile, address, words in zip(
            phase.source_tile.tolist(),
            phase.source_address.tolist(),
            phase.words.tolist(),
            strict=True,
        ):
            chip.memory.write(tile, address, bytes(words * _WORD))
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


def _words(source: str) -> bytes:
    return bytes(assemble(source, mode=Mode.SUPERVISOR).sections[0].data)


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
