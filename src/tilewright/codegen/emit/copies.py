"""What tiles copy inside their memory, as calls of the copying kernels."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from tilewright.codegen.emit.addresses import Address
from tilewright.codegen.emit.calls import Call
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.strides import even_runs
from tilewright.codegen.low import Buffer, CopyStep
from tilewright.codegen.low.schedule import ATOM
from tilewright.codegen.mid.orders import Indices
from tilewright.codegen.mid.storage import WORD

_ATOM_WORDS = ATOM // WORD


def copy_calls(
    step: CopyStep, buffers: tuple[Buffer, ...], addresses: Sequence[Address], tiles: int
) -> tuple[tuple[Call, ...], ...]:
    """For each of `tiles` tiles, the calls that copy its words.

    Raises `EmissionError` for words that do not lie in whole atoms.
    """
    source, target = addresses[step.source], addresses[step.target]
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
        tuple(_strided(source, target, columns[:, start:end])) for start, end in pairwise(bounds)
    )


def _strided(source: Address, target: Address, columns: Indices) -> Iterator[Call]:
    """Copies (source, target, width in atoms) of equal width at equal pitches together."""
    for first, rows, (source_pitch, target_pitch) in even_runs(columns[:2], columns[2:]):
        start, end, width = columns[:, first].tolist()
        to, of = target + ATOM * end, source + ATOM * start
        yield Call("copy_strided", (to, of, target_pitch, source_pitch, width, rows))
