"""What tiles hold, as segments: code, the runtime's memory, host tables, parameters, constants."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tilewright.codegen.build.bindings import Binding
from tilewright.codegen.emit import DataMemory, Program
from tilewright.codegen.emit.program import entry_code
from tilewright.codegen.host import TABLES, HostExchange
from tilewright.codegen.mid.orders import Indices
from tilewright.package import NONE, BlobBuilder, SegmentKind, Segments, Shards
from tilewright.target.geometry import RUNTIME_STATE, TILES
from tilewright.target.topology import physical_tiles

Row = tuple[int, int, int, int, int, int, int]
"""The columns of `Segments`."""


def tile_segments(
    program: Program, exchange: HostExchange, bindings: Sequence[Binding], blobs: BlobBuilder
) -> Segments:
    """The segments of all tiles; contents go to `blobs`, equal ones once."""
    physical = physical_tiles(np.arange(TILES)).tolist()
    rows = [row for tile in range(TILES) for row in _program_rows(program, tile, physical, blobs)]
    rows += _table_rows(exchange, blobs)
    state, end = RUNTIME_STATE
    rows += [(tile, state, end - state, SegmentKind.STATE, NONE, 0, 0) for tile in range(TILES)]
    parts = [np.array(rows, np.int64), *_content_rows(program, bindings, blobs)]
    return Segments(*np.concatenate(parts).T).sorted_by("tile", "address")


def shards(memory: DataMemory, bindings: Sequence[Binding]) -> Shards:
    """Where tensors lie, which are counted by their places among `bindings`."""
    parts = [Shards()]
    for number, binding in enumerate(bindings):
        tile, address = _places(memory, binding)
        pieces = binding.pieces
        parts.append(Shards(np.full(len(tile), number), tile, address, pieces.offset, pieces.size))
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in Shards.columns()
    }
    return Shards(**columns).sorted_by("tensor", "offset")


def _places(memory: DataMemory, binding: Binding) -> tuple[Indices, Indices]:
    """Physical tile and address of each piece."""
    of_buffer = memory.samples if binding.buffer is None else memory.addresses[binding.buffer]
    address = int(of_buffer) + binding.pieces.place
    return physical_tiles(binding.pieces.tile).astype(np.int64), address


def _program_rows(
    program: Program, tile: int, physical: Sequence[int], blobs: BlobBuilder
) -> Iterator[Row]:
    """Code of a logical tile, and memory of its kernels."""
    image, text = program.images[program.image_of[tile]], program.texts[tile]
    for piece in (entry_code(text), *text.pieces):
        blob = blobs.add(piece.data)
        size = len(piece.data)
        yield physical[tile], piece.address, size, SegmentKind.CODE, blob, 0, size
    for section, address in image.layout.addresses.items():
        content, size = image.contents[section], section.section.size
        if not size:
            continue
        is_code = section.section.is_executable
        kind = SegmentKind.CODE if is_code else SegmentKind.STATE
        if any(content):
            yield physical[tile], address, size, kind, blobs.add(content), 0, size
        else:
            yield physical[tile], address, size, kind, NONE, 0, 0


def _table_rows(exchange: HostExchange, blobs: BlobBuilder) -> Iterator[Row]:
    """The tables of requests and packets."""
    for tile in range(TILES):
        content = exchange.tables.of(tile)
        if content:
            size = len(content)
            yield tile, TABLES, size, SegmentKind.PACKETS, blobs.add(content), 0, size


def _content_rows(
    program: Program, bindings: Sequence[Binding], blobs: BlobBuilder
) -> Iterator[npt.NDArray[np.int64]]:
    """Parameters and constants: pieces of their streams, each of which is one blob."""
    for binding in bindings:
        if binding.content is None:
            continue
        tile, address = _places(program.memory, binding)
        pieces = binding.pieces
        blob = np.full(len(tile), blobs.add(binding.content))
        kind = np.full(len(tile), binding.segments)
        columns = (tile, address, pieces.size, kind, blob, pieces.offset, pieces.size)
        yield np.stack(columns, axis=1)
