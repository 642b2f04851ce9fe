"""Speed of decoding: a whole tile's memory, half of it code and half of it arbitrary words."""

import numpy as np
from numpy.typing import NDArray

from tilewright.cli.bench.figure import Figure, best_seconds
from tilewright.isa import FORMS, decode_words
from tilewright.target.geometry import MEMORY_SIZE

_TILE_WORDS = MEMORY_SIZE // 4
_SEED = 0


def isa_figures() -> list[Figure]:
    """`isa.decode_tile` and `isa.decode_words_per_second`."""
    words = _tile_words()
    seconds = best_seconds(lambda: decode_words(words))
    return [
        Figure("isa.decode_tile", seconds, "s"),
        Figure("isa.decode_words_per_second", len(words) / seconds, "words/s"),
    ]


def _tile_words() -> NDArray[np.uint32]:
    """Words of forms drawn at random, with random operands, mixed with random words."""
    generator = np.random.default_rng(_SEED)
    words = generator.integers(0, 1 << 32, _TILE_WORDS, dtype=np.uint32)
    is_code = generator.permutation(np.arange(_TILE_WORDS) < _TILE_WORDS // 2)
    chosen = generator.integers(0, len(FORMS), _TILE_WORDS)
    bases = np.array([form.base for form in FORMS], dtype=np.uint32)[chosen]
    masks = np.array([form.mask for form in FORMS], dtype=np.uint32)[chosen]
    return np.where(is_code, bases | words & ~masks, words)
