"""What tiles hold of sources before a program runs, and outputs from what they hold afterwards."""

from collections.abc import Callable, Iterator, Mapping
from math import ldexp
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.program import Program
from tilewright.codegen.mid import MidGraph, Precision
from tilewright.codegen.mid.evaluate import rounded
from tilewright.codegen.mid.formats import TensorFormat
from tilewright.codegen.mid.midgraph import MidSource
from tilewright.codegen.mid.storage import Storage, view_indices
from tilewright.target.formats.exact import NotANumber
from tilewright.target.formats.quarter import F143, QUARTER_NAN
from tilewright.target.topology import physical_tiles

_DTYPES: dict[Precision, np.dtype[Any]] = {
    Precision.F8F143: np.dtype("u1"),
    Precision.F16: np.dtype("<f2"),
    Precision.F32: np.dtype("<f4"),
    Precision.I32: np.dtype("<i4"),
}


def _quarter(code: int) -> float:
    value = F143.read(code)
    if isinstance(value, NotANumber):
        return np.nan
    magnitude = ldexp(value.significand, value.exponent)
    return -magnitude if value.negative else magnitude


_QUARTERS = np.array([_quarter(code) for code in range(256)])
"""What codes of F8F143 mean without a scale."""


def source_contents(
    graph: MidGraph, program: Program, arrays: Mapping[str, ArrayLike]
) -> Iterator[tuple[int, int, bytes]]:
    """Physical tile, address and content of each shard of each source.

    `arrays` has inputs and parameters by name, in the shapes of the graph. Raises `EmissionError`
    for one that is missing or does not suit.
    """
    # A source that is seen in several ways is loaded in each of them, under one name.
    for source, (_, buffer) in zip(graph.sources, program.schedule.sources, strict=True):
        address = int(program.addresses[buffer])
        if address < 0:
            continue  # nothing reads it
        storage = source.value.storage
        shards = storage.layout.pack(_encoded(storage.format, _base(source, arrays)))
        for tile, shard in zip(_physical(storage), shards, strict=True):
            yield tile, address, shard.tobytes()


def read_outputs(
    graph: MidGraph, program: Program, read: Callable[[int, int, int], bytes]
) -> dict[str, NDArray[np.float64]]:
    """The outputs by name; `read` gives so many bytes of a physical tile from an address on."""
    buffers = dict(program.schedule.outputs)
    outputs = {}
    for name, value in graph.outputs:
        storage = value.storage
        address, dtype = int(program.addresses[buffers[name]]), _DTYPES[storage.format.precision]
        size = storage.layout.shard_elements * dtype.itemsize
        contents = b"".join(read(tile, address, size) for tile in _physical(storage))
        shards = np.frombuffer(contents, dtype).reshape(storage.format.tiles, -1)
        array = _decoded(storage.format, storage.layout.unpack(shards))
        for operator in storage.view.operators if storage.view is not None else ():
            array = operator.evaluate([array])
        outputs[name] = array
    return outputs


def _base(source: MidSource, arrays: Mapping[str, ArrayLike]) -> NDArray[Any]:
    """A source's elements as its layout has them, rounded to what is stored."""
    storage = source.value.storage
    if source.constant is not None:
        array = source.constant.evaluate([])
    elif source.name in arrays:
        array = np.asarray(arrays[source.name])
    else:
        raise EmissionError(f'there is no array for "{source.name}"')
    for view in source.prepared:
        array = view.evaluate([array])
    if array.shape != storage.shape:
        raise EmissionError(
            f'"{source.name}": an array of shape {list(array.shape)} for {list(storage.shape)}'
        )
    values = rounded(storage.format, array)
    base = np.zeros(storage.base, values.dtype)
    where = slice(None) if storage.view is None else view_indices(storage.view).reshape(-1)
    base.reshape(-1)[where] = values.reshape(-1)
    return base


def _encoded(format: TensorFormat, values: NDArray[Any]) -> NDArray[Any]:
    """Numbers that a format holds as it stores them."""
    if format.precision is not Precision.F8F143:
        return values.astype(_DTYPES[format.precision])
    order = np.argsort(_QUARTERS, kind="stable")
    known = _QUARTERS[order]
    wanted = np.where(np.isnan(values), 0.0, values) * 2.0**-format.scale
    codes = order[np.searchsorted(known, wanted)]
    return np.where(np.isnan(values), QUARTER_NAN, codes).astype(np.uint8)


def _decoded(format: TensorFormat, stored: NDArray[Any]) -> NDArray[np.float64]:
    if format.precision is not Precision.F8F143:
        return stored.astype(np.float64)
    return np.asarray(_QUARTERS[stored] * 2.0**format.scale)


def _physical(storage: Storage) -> list[int]:
    tiles: list[int] = physical_tiles(np.arange(storage.format.tiles)).tolist()
    return tiles
