"""Machine code in tile memory as text: what was issued, and what has faulted."""

from tilewright.emulator.faults import TileFault
from tilewright.emulator.images import TileImage
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.fetch import WORD, Fetched, check_code_address, fetch
from tilewright.emulator.reference.tile import Stopped
from tilewright.isa import Instruction, Mode, instruction_text
from tilewright.target.geometry import MEMORY_END


def fetched_text(fetched: Fetched) -> str:
    """An instruction as assembly text, a bundle as `{ main; aux }`.

    Of an instruction of two words, the second is not shown.
    """
    texts = [
        instruction_text(Instruction(each.form, tuple(bound.value for bound in each.operands)))
        for each in fetched.members
    ]
    return f"{{ {'; '.join(texts)} }}" if fetched.is_bundle else texts[0]


def text_at(memory: TileMemory, tile: int, address: int, mode: Mode) -> str:
    """What a context of `mode` would issue at an address of a tile, "" if that is nothing."""
    try:
        check_code_address(address)
        words = (_word(memory, tile, address), _word(memory, tile, address + WORD))
        return fetched_text(fetch(*words, mode))
    except TileFault:
        return ""


def describe_fault(stopped: Stopped, memory: TileMemory, tile: int, image: TileImage) -> str:
    """The fault at which a tile stopped, with the instruction, and the symbol and line it is of.

    `worker 0 at pc 0x4c028: FP: INV, at '{ nop; f32div $a1, $a1, $a2 }', in f+0x10 (f.S:12)`
    """
    mode = Mode.WORKER if stopped.context else Mode.SUPERVISOR
    return f"{stopped.fault}{describe_code(memory, tile, stopped.pc, mode, image)}"


def describe_code(memory: TileMemory, tile: int, address: int, mode: Mode, image: TileImage) -> str:
    """The instruction at an address of a tile, and the symbol and line it is of, after a comma.

    `, at 'send 3, 81920, 1', in row+0x10 (f.S:12)`; "" if nothing is known.
    """
    text = text_at(memory, tile, address, mode)
    symbol = image.nearest_symbol(address)
    line = image.source_line(address)
    at = f", at '{text}'" if text else ""
    of = f", in {symbol}" if symbol else ""
    return f"{at}{of}" + (f" ({line})" if line else "")


def _word(memory: TileMemory, tile: int, address: int) -> int:
    if address > MEMORY_END - WORD:
        return 0
    return int.from_bytes(memory.read(tile, address, WORD), "little")
