"""The memory of tiles as the loader fills it, and parameters given when a package is loaded."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tilewright.package.application import Application, SegmentKind
from tilewright.package.blobs import ExtendedBlobs
from tilewright.package.checks.tensors import loaded_shards
from tilewright.package.faults import PackageError
from tilewright.package.tables import U8, rows_of
from tilewright.package.tensors import Source
from tilewright.target.geometry import LOADER_FRAME_END

_NOTHING: U8 = np.empty(0, np.uint8)
_LISTED = 20
"""Names that a message lists."""


class TileImages:
    """The images of an application's tiles, by physical id.

    Raises `PackageError` if parameters are still to be given (`with_parameters`).
    """

    def __init__(self, application: Application) -> None:
        missing = _file_tensors(application)
        if missing:
            raise PackageError(f"parameters are still to be given: {_names(missing)}")
        self._application = application
        shards = application.shards[loaded_shards(application)]
        self._shards = shards.sorted_by("tile", "address")

    def __len__(self) -> int:
        return self._application.tiles

    def __getitem__(self, tile: int) -> U8:
        """The bytes from the first loadable address to the end of what is loaded; gaps are zero.

        Raises `PackageError` for blobs without their hashes.
        """
        if not 0 <= tile < len(self):
            raise IndexError(f"the application has no tile {tile}")
        parts = [*self._segments(tile), *self._parameters(tile)]
        end = max(address + size for address, size, _ in parts)
        image = np.zeros(end - LOADER_FRAME_END, np.uint8)
        for address, _, content in parts:
            start = address - LOADER_FRAME_END
            image[start : start + content.size] = content
        return image

    def _segments(self, tile: int) -> Iterator[tuple[int, int, U8]]:
        """Address, size and data of each segment that is loaded."""
        segments, blobs = self._application.segments_of(tile), self._application.blobs
        is_loaded = segments.kind != SegmentKind.SCRATCH
        names = ("address", "size", "blob", "offset", "data_size")
        columns = (getattr(segments, name)[is_loaded].tolist() for name in names)
        for address, size, blob, start, data_size in zip(*columns, strict=True):
            content = blobs[blob][start : start + data_size] if data_size else _NOTHING
            yield address, size, content

    def _parameters(self, tile: int) -> Iterator[tuple[int, int, U8]]:
        shards = self._shards
        for row in rows_of(shards.tile, tile):
            tensor = self._application.tensors[int(shards.tensor[row])]
            start, size = int(shards.offset[row]), int(shards.size[row])
            content = self._application.blobs[tensor.blob][start : start + size]
            yield int(shards.address[row]), size, content


def with_parameters(
    application: Application, arrays: Mapping[str, npt.NDArray[np.generic]]
) -> Application:
    """The application with the parameters that it expects from a file.

    `arrays` holds at least those, by their names in the file, each of the tensor's shape and stored
    type. Raises `PackageError` that names all that are missing or do not fit.
    """
    wanted = _file_tensors(application)
    missing = [name for name in wanted if name not in arrays]
    if missing:
        raise PackageError(f"the file lacks parameters: {_names(missing)}")
    streams, wrong = [], []
    for tensor in application.tensors:
        if tensor.source is not Source.FILE:
            continue
        try:
            streams.append(tensor.to_stream(arrays[tensor.source_name]))
        except ValueError as error:
            wrong.append(str(error))
    if wrong:
        raise PackageError("parameters do not fit:\n" + "\n".join(f"  {each}" for each in wrong))
    blobs = ExtendedBlobs(application.blobs, streams)
    numbers = iter(blobs.added)
    tensors = tuple(
        replace(tensor, source=Source.BLOB, blob=next(numbers), source_name="")
        if tensor.source is Source.FILE
        else tensor
        for tensor in application.tensors
    )
    return replace(application, tensors=tensors, blobs=blobs, digest=b"")


def _file_tensors(application: Application) -> list[str]:
    """What is expected from a file, by the names there."""
    return [each.source_name for each in application.tensors if each.source is Source.FILE]


def _names(names: list[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
