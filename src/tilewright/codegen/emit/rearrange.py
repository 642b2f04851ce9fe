"""Elements of a tile brought to other places of its memory, as calls of the permuting kernels."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tilewright.codegen.emit.addresses import Address, Literal
from tilewright.codegen.emit.operands import Call
from tilewright.codegen.emit.places import NOWHERE, find_elements, held_elements, padding
from tilewright.codegen.emit.strides import even_runs, find_rows, shared
from tilewright.codegen.low import Origin, inner_places
from tilewright.codegen.low.schedule import ATOM
from tilewright.codegen.mid import Layout
from tilewright.codegen.mid.orders import Indices
from tilewright.codegen.mid.storage import WORD, Storage

_HALF = 2
_HALVES = WORD // _HALF


@dataclass(frozen=True, slots=True)
class Shard:
    """What a tile has of a stored value, at an address."""

    storage: Storage
    address: Address
    tile: int

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return self.storage.format.precision.bytes

    @property
    def elements(self) -> Indices:
        """For each offset, the number of the base's element there, whatever a view shows of it."""
        return held_elements(self._base, self.tile)

    def find(self, elements: Indices) -> Indices:
        """Offsets of elements. Raises `EmissionError` for one that the tile lacks."""
        return find_elements(self._base, self.tile, elements)

    @property
    def _base(self) -> Storage:
        return Storage(self.storage.format, self.storage.base)


def rearranging_calls(source: Shard, target: Shard) -> Iterator[Call]:
    """The calls that fill a shard from another one of the same elements.

    Words of padding stay as they are. Raises `EmissionError` if the source lacks elements.
    """
    offsets = source.find(target.elements)
    places = np.where(offsets == NOWHERE, NOWHERE, offsets * target.size)
    yield from moving_calls(target.address, source.address, places, target.size)


def unpacking_calls(origins: tuple[Origin, ...], source: Shard, target: Shard) -> Iterator[Call]:
    """The calls that fill a shard from words around its elements, which came from `origins`."""
    inner = np.full(source.storage.layout.shard_elements, NOWHERE, np.int64)
    for origin in origins:
        inner = np.maximum(inner, inner_places(origin, source.storage, source.tile))
    words = source.find(target.elements)
    places = np.where(words == NOWHERE, NOWHERE, words * WORD + inner[words] * target.size)
    yield from moving_calls(target.address, source.address, places, target.size)


def clearing_calls(layout: Layout, address: Address, tile: int) -> Iterator[Call]:
    """The calls that make a shard's padding 0."""
    if layout.padded_shape == layout.shape:
        return
    size = layout.format.precision.bytes
    offsets = np.flatnonzero(padding(layout, tile))
    is_padding = np.zeros(-(-layout.shard_elements * size // WORD) * WORD, np.bool_)
    is_padding[(offsets[:, None] * size + np.arange(size)).reshape(-1)] = True
    of_words = is_padding.reshape(-1, WORD)
    whole = np.all(of_words, axis=1)
    parts = np.any(of_words, axis=1) & ~whole
    atoms, words = _whole_atoms(np.flatnonzero(whole))
    yield from _clearing(address, atoms)
    nothing = np.zeros((1, len(words)), np.int64)
    yield from _permuting(address, Literal(bytes(WORD)), words, nothing, nothing)
    (words,) = np.nonzero(parts)
    places = np.where(of_words[words], NOWHERE, words[:, None] * WORD + np.arange(WORD))
    yield from _gathering(address, address, words, places)


def _whole_atoms(words: Indices) -> tuple[Indices, Indices]:
    """Atoms of which all words are among these, and the words that are left."""
    atoms, counts = np.unique(words * WORD // ATOM, return_counts=True)
    atoms = atoms[counts == ATOM // WORD]
    return atoms, words[~np.isin(words * WORD // ATOM, atoms)]


def _clearing(address: Address, atoms: Indices) -> Iterator[Call]:
    """Zeros for atoms: rows of equal width at an equal pitch by a call."""
    starts = np.flatnonzero(np.diff(atoms, prepend=NOWHERE - 1) != 1)
    widths = np.diff(np.append(starts, len(atoms)))
    for first, rows, (pitch,) in even_runs(atoms[starts][None], widths[None]):
        at, width = address + ATOM * int(atoms[starts[first]]), int(widths[first])
        if rows > 1 and width <= _MOST_ZEROS:
            zeros = Literal(bytes(ATOM * width))
            yield Call("copy_strided", (at, zeros, pitch, 0, width, rows))
        else:
            yield from (Call("zero", (at + ATOM * row * pitch, width)) for row in range(rows))


_MOST_ZEROS = 16
"""Atoms of a literal that rows are cleared with."""


def moving_calls(target: Address, source: Address, places: Indices, size: int) -> Iterator[Call]:
    """The calls that fill a target with elements of `size` bytes: `places` has a byte of the source
    for each of them, NOWHERE for padding. What shares a word with padding has zeros beside it."""
    per_word = WORD // min(size, WORD)
    missing = -len(places) % per_word
    elements = np.append(places, np.full(missing, NOWHERE)).reshape(-1, per_word)
    of_bytes = np.where(
        elements[:, :, None] == NOWHERE, NOWHERE, elements[:, :, None] + np.arange(size)
    ).reshape(-1, WORD)
    held = of_bytes != NOWHERE
    if size < _HALF:
        (words,) = np.nonzero(np.any(held, axis=1))
        yield from _gathering(target, source, words, of_bytes[words])
        return
    (words,) = np.nonzero(np.all(held, axis=1))
    first, second = of_bytes[words][:, ::_HALF].T // _HALF
    yield from _permuting(target, source, words, first[None], (second - first)[None])
    (words,) = np.nonzero(np.any(held, axis=1) & ~np.all(held, axis=1))
    yield from _gathering(target, source, words, of_bytes[words])


def _permuting(
    target: Address, source: Address | Literal, words: Indices, places: Indices, steps: Indices
) -> Iterator[Call]:
    """Words of two halves each: the place of the first, and how far from it the second is."""
    for found in find_rows(words, places, steps):
        for rows in shared(found, _HALVES):
            (place,), (step,), (pitch,) = rows.places, rows.steps, rows.pitches
            at = source if isinstance(source, Literal) else source + _HALF * place
            to = target + WORD * rows.word
            yield Call("permute_16", (to, at, rows.word_pitch, pitch, step, rows.words, rows.rows))


def _gathering(target: Address, source: Address, words: Indices, places: Indices) -> Iterator[Call]:
    """Words of four bytes from anywhere, NOWHERE for a zero."""
    if not len(words):
        return
    is_held = places != NOWHERE
    base = places[np.arange(len(words)), np.argmax(is_held, axis=1)]
    distances = np.where(is_held, places - base[:, None], 0)
    # the first byte is read where the base is
    masks = (is_held * np.array([0xFF << 8 * byte for byte in range(WORD)])).sum(axis=1)
    shape = np.vstack([distances.T, masks])
    for first, rows, (word_pitch, pitch) in even_runs(np.vstack([words, base]), shape):
        _, *others, mask = shape[:, first].tolist()
        numbers = [WORD * word_pitch, pitch, *others, mask, rows]
        table = Literal(np.array([each & 0xFFFF_FFFF for each in numbers], "<u4").tobytes())
        yield Call(
            "gather_8",
            (target + WORD * int(words[first]), source + int(base[first]), table),
        )
