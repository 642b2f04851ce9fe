"""The shipped kernel's workers, one after the other, against NumPy."""

import numpy as np
import pytest

from tilewright.device import kernel_source, tile_image
from tilewright.elf.assembler import assemble_file
from tilewright.elf.linker import Linker
from tilewright.emulator.llvm import LlvmWorkers
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.state import TILE
from tilewright.target.geometry import REGION1_BASE, WORKERS

_OPERAND_BYTES = 0x10000


@pytest.mark.parametrize("atoms", [0, 1, 6, 7, 100])
def test_add_f16(workers: LlvmWorkers, atoms: int) -> None:
    obj = assemble_file(kernel_source("add_f16.S")).object
    image = tile_image(Linker([obj]).link(entries=["add_f16"]))
    generator = np.random.default_rng(atoms)
    x, y = (generator.normal(0, 100, 4 * atoms).astype(np.float16) for _ in range(2))
    places = [REGION1_BASE + number * _OPERAND_BYTES for number in range(3)]
    memory, state = TileMemory(1), np.zeros(1, TILE)[0]
    for piece in image.pieces:
        memory.write(0, piece.address, piece.content)
    for place, operand in zip(places, (x, y), strict=False):
        memory.write(0, place, operand.tobytes())
    arguments = np.array([*places, atoms], np.uint32).tobytes()
    memory.write(0, image.symbols["add_f16_state"], arguments)
    for number in range(WORKERS):
        worker = state["workers"][number]
        worker["pc"] = image.symbols["add_f16_worker"]
        worker["vertex_base"] = image.symbols["add_f16_state"]
        result = workers.run_worker(state, memory, 0, number)
        assert result.exit_status is True
    total = np.frombuffer(memory.read(0, places[2], x.nbytes), np.float16)
    assert np.array_equal(total, x + y)
