"""What tiles copy inside their memory, as calls of the copying kernels."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from tilewright.codegen.emit.addresses import Address
from tilewright.codegen.emit.operands import Call
from tilewright.codegen.emit.strides import even_runs
from tilewright.codegen.low import Buffer, CopyStep
from tilewright.codegen.low.schedule import ATOM
from tilewright.codegen.mid.orders import Indices
from tilewright.codegen.mid.storage import WORD

_ATOM_WORDS = ATOM // WORD
_WORD_HALVES = 2


def copy_calls(
    step: CopyStep, buffers: tuple[Buffer, ...], addresses: Sequence[Address], tiles: int
) -> tuple[tuple[Call, ...], ...]:
    """For each of `tiles` tiles, the calls that copy its words."""
    source, target = addresses[step.source], addresses[step.target]
    if step.copies is None:
        call = Call("copy", (target, source, buffers[step.target].bytes // ATOM))
        holders = buffers[step.target].tiles
        return tuple((call,) if tile < holders else () for tile in range(tiles))
    copies = step.copies
    order = np.lexsort((copies.target, copies.tile))
    columns = np.stack([copies.source, copies.target, copies.words])[:, order]
    bounds = np.searchsorted(copies.tile[order], np.arange(tiles + 1)).tolist()
    return tuple(
        tuple(_strided(source, target, columns[:, start:end])) for start, end in pairwise(bounds)
    )


def _strided(source: Address, target: Address, columns: Indices) -> Iterator[Call]:
    """Copies (source, target, words) of equal width at equal pitches together."""
    for (start, end, words), rows, (source_pitch, target_pitch) in _fewest_runs(columns):
        of, to = source + WORD * start, target + WORD * end
        distances = (start, end, target_pitch, source_pitch, words)
        if any(distance % _ATOM_WORDS for distance in distances):
            pitch = _WORD_HALVES * source_pitch
            yield Call("permute_16", (to, of, target_pitch, pitch, 1, words, rows))
        else:
            atoms = [distance // _ATOM_WORDS for distance in distances[2:]]
            yield Call("copy_strided", (to, of, *atoms, rows))


_Run = tuple[list[int], int, list[int]]
"""The first of copies that lie evenly, how many they are, and their pitches."""


def _fewest_runs(columns: Indices) -> list[_Run]:
    """Copies in runs. The order in which they are done is free: by place or by width first, as
    the target or as the source has them, whichever makes the fewest runs."""
    sources, targets, words = columns
    orders = [(sources,), (targets, words), (sources, words)]
    best = _runs(columns)
    for keys in orders if len(best) > 1 else []:
        best = min(best, _runs(columns[:, np.lexsort(keys)]), key=len)
    return best


def _runs(columns: Indices) -> list[_Run]:
    return [
        (columns[:, first].tolist(), count, pitches)
        for first, count, pitches in even_runs(columns[:2], columns[2:])
    ]
