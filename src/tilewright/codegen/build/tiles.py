"""What tiles hold, as segments: code, the runtime's memory, host tables, parameters, constants."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tilewright.codegen.build.bindings import Binding, tensors_of
from tilewright.codegen.emit import DataMemory, Program
from tilewright.codegen.emit.code import TileText
from tilewright.codegen.emit.program import entry_code
from tilewright.codegen.host import TABLES, HostExchange
from tilewright.codegen.mid.orders import Indices
from tilewright.elf.image import Image
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
    images = [_Image(image, blobs) for image in program.images]
    rows: list[Row] = []
    for tile, place in enumerate(physical):
        rows += images[program.image_of[tile]].rows(place)
        rows += _text_rows(program.texts[tile], place, blobs)
    rows += _table_rows(exchange, blobs)
    parts = [np.array(rows, np.int64), *_content_rows(program, bindings, blobs)]
    return Segments(*np.concatenate(parts).T).sorted_by("tile", "address")


def shards(memory: DataMemory, bindings: Sequence[Binding]) -> Shards:
    """Where tensors lie, which are counted as `tensors_of` lists them."""
    numbers = {tensor: number for number, tensor in enumerate(tensors_of(bindings))}
    parts = [Shards()]
    for binding in bindings:
        if not binding.is_tensor:
            continue
        tile, address = _places(memory, binding)
        number = np.full(len(tile), numbers[binding.tensor])
        pieces = binding.pieces
        parts.append(Shards(number, tile, address, pieces.offset, pieces.size))
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in Shards.columns()
    }
    return Shards(**columns).sorted_by("tensor", "offset")


def _places(memory: DataMemory, binding: Binding) -> tuple[Indices, Indices]:
    """Physical tile and address of each piece."""
    of_buffer = memory.samples if binding.buffer is None else memory.addresses[binding.buffer]
    address = int(of_buffer) + binding.pieces.place
    return physical_tiles(binding.pieces.tile).astype(np.int64), address


class _Image:
    """Kernels and runtime, which many tiles share: their code, and all of the run-time state."""

    def __init__(self, image: Image, blobs: BlobBuilder) -> None:
        low, high = RUNTIME_STATE
        state = bytearray(high - low)
        code: list[tuple[int, bytearray]] = []
        for section, address in sorted(image.layout.addresses.items(), key=lambda each: each[1]):
            content = image.contents[section]
            if low <= address < high:
                state[address - low : address - low + len(content)] = content
                continue
            if not code or address > code[-1][0] + len(code[-1][1]) + _MOST_GAP:
                code.append((address, bytearray()))
            start, run = code[-1]
            run += bytes(address - start - len(run)) + content
        self._rows = [
            (address, len(run), SegmentKind.CODE, blobs.add(bytes(run)), 0, len(run))
            for address, run in code
        ]
        initial = bytes(state).rstrip(bytes(1))
        blob = blobs.add(initial) if initial else NONE
        self._rows.append((low, high - low, SegmentKind.STATE, blob, 0, len(initial)))

    def rows(self, tile: int) -> Iterable[Row]:
        """Of a (physical) tile."""
        return ((tile, *row) for row in self._rows)


_MOST_GAP = 16
"""Bytes between functions that are filled up."""


def _text_rows(text: TileText, tile: int, blobs: BlobBuilder) -> Iterator[Row]:
    """Code of a (physical) tile of its own."""
    for piece in (entry_code(text), *text.pieces):
        size = len(piece.data)
        yield tile, piece.address, size, SegmentKind.CODE, blobs.add(piece.data), 0, size


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
