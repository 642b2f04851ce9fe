"""What tiles copy inside their memory, as calls of the copying kernels."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tilewright.codegen.emit.calls import Call
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.low import Buffer, CopyStep
from tilewright.codegen.low.schedule import ATOM
from tilewright.codegen.mid.orders import Indices
from tilewright.codegen.mid.storage import WORD

_ATOM_WORDS = ATOM // WORD


def copy_calls(
    step: CopyStep, buffers: tuple[Buffer, ...], addresses: Indices, tiles: int
) -> tuple[tuple[Call, ...], ...]:
    """For each of `tiles` tiles, the calls that copy its words.

    Raises `EmissionError` for words that do not lie in whole atoms.
    """
    source, target = int(addresses[step.source]), int(addresses[step.target])
    if step.copies is None:
        call = Call("copy", (target, source, buffers[step.target].bytes // ATOM))
        holders = buffers[step.target].tiles
        return tuple((call,) if tile < holders else () for tile in range(tiles))
    copies = step.copies
    columns = np.stack([copies.source, copies.target, copies.words])
    if np.any(columns % _ATOM_WORDS):
        raise EmissionError(f"{step.provenance.operation}: no kernel of ours copies single words")
    order = np.lexsort((copies.target, copies.tile))
    columns = columns[:, order] // _ATOM_WORDS
    bounds = np.searchsorted(copies.tile[order], np.arange(tiles + 1))
    return tuple(
        tuple(
            _strided(target + ATOM * to, source + ATOM * of, *shape)
            for of, to, *shape in _runs(columns[:, start:end])
        )
        for start, end in pairwise(bounds)
    )


def _strided(target: int, source: int, width: int, rows: int, to: int, of: int) -> Call:
    return Call("copy_strided", (target, source, to, of, width, rows))


def _runs(columns: Indices) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Copies of equal width at equal pitches together.

    Gives the source, the target, the width, the number of rows, the target's and the source's
    pitch, in atoms.
    """
    number, count = 0, columns.shape[1]
    while number < count:
        of, to, width = columns[:, number].tolist()
        last = number + 1
        pitch = columns[:, last] - columns[:, number] if last < count else np.array([0, 0, 1])
        while last < count and np.array_equal(columns[:, last] - columns[:, last - 1], pitch):
            if pitch[2] != 0:
                break
            last += 1
        rows = last - number
        yield (
            of,
            to,
            width,
            rows,
            int(pitch[1]) if rows > 1 else width,
            (int(pitch[0]) if rows > 1 else width),
        )
        number = last
