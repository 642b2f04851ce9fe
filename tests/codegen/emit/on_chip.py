"""Emitted programs on the emulated chip: sources loaded, outputs read."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tilewright.codegen.emit import Program
from tilewright.codegen.mid import MidGraph, MidValue
from tilewright.codegen.mid.evaluate import rounded
from tilewright.codegen.mid.midgraph import MidSource
from tilewright.codegen.mid.orders import Precision
from tilewright.codegen.mid.storage import view_indices
from tilewright.emulator.chip import Chip, End
from tilewright.emulator.images import Piece, TileImage
from tilewright.target.geometry import TILES
from tilewright.target.topology import physical_tiles

DTYPES = {
    Precision.F16: np.dtype("<f2"),
    Precision.F32: np.dtype("<f4"),
    Precision.I32: np.dtype("<i4"),
}
PHYSICAL = physical_tiles(np.arange(TILES)).tolist()
Arrays = Mapping[str, NDArray[np.float64]]


def run(planned: MidGraph, program: Program, given: Arrays) -> dict[str, NDArray[np.float64]]:
    """The outputs of a program whose sources are loaded with given values, by name."""
    chip = Chip()
    kernels = tuple(Piece(each.address, each.data) for each in program.kernels.segments)
    for tile, code in zip(PHYSICAL, program.code, strict=True):
        chip.load(tile, TileImage((*kernels, Piece(program.entry, code)), program.entry))
    buffers = dict(program.schedule.sources)
    for source in planned.sources:
        address = int(program.addresses[buffers[source.name]])
        shards = source_shards(source, given)
        for tile, shard in zip(PHYSICAL, shards, strict=False):
            chip.memory.write(tile, address, shard.tobytes())
    outcome = chip.run()
    assert outcome.end is End.STOPPED, str(outcome)
    assert all("trap 0" in each for each in outcome.descriptions.values()), str(outcome)
    numbers = dict(program.schedule.outputs)
    return {
        name: read(chip, value, int(program.addresses[numbers[name]]))
        for name, value in planned.outputs
    }


def source_shards(source: MidSource, given: Arrays) -> NDArray[np.generic]:
    """What tiles hold of a source."""
    storage = source.value.storage
    array = given[source.name] if source.constant is None else source.constant.evaluate([])
    for view in source.prepared:
        array = view.evaluate([array])
    values = rounded(storage.format, array)
    base = np.zeros(storage.base)
    where = slice(None) if storage.view is None else view_indices(storage.view).reshape(-1)
    base.reshape(-1)[where] = values.reshape(-1)
    return storage.layout.pack(base).astype(DTYPES[storage.format.precision])


def read(chip: Chip, value: MidValue, address: int) -> NDArray[np.float64]:
    """A value that lies at an address, seen through its views."""
    storage = value.storage
    dtype = DTYPES[storage.format.precision]
    size = storage.layout.shard_elements * dtype.itemsize
    contents = [
        np.frombuffer(chip.memory.read(tile, address, size), dtype)
        for tile in PHYSICAL[: storage.format.tiles]
    ]
    array = storage.layout.unpack(np.stack(contents)).astype(np.float64)
    for operator in storage.view.operators if storage.view is not None else ():
        array = operator.evaluate([array])
    return array
