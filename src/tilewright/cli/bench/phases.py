"""Scheduling of exchange phases: events against the bound, and the time that it takes."""

import multiprocessing
import resource
from functools import partial
from time import perf_counter

import numpy as np

from tilewright.cli.bench.figure import Figure, best_seconds
from tilewright.target.geometry import REGION1_BASE, TILES

_PERMUTED_WORDS = 64
_MANY, _MOST_WORDS = 400_000, 16
_KIB = 1024


def phase_figures() -> list[Figure]:
    """Every pattern in every length, a permutation with its rows, and a phase of many transfers."""
    from tilewright.exchange import encode, schedule
    from tilewright.exchange.patterns import PATTERNS, permutation

    figures = []
    schedule(permutation(1))  # compiled code is made, or loaded, before times are taken
    for name, (pattern, lengths) in PATTERNS.items():
        for words in lengths:
            phase = pattern(words)
            found = schedule(phase)
            label = f"exchange.{name}.{words}"
            figures += [
                Figure(f"{label}.events", found.horizon, "events"),
                Figure(f"{label}.bound", found.bound, "events"),
                Figure(f"{label}.ratio", found.horizon / found.bound, "ratio"),
                Figure(f"{label}.seconds", best_seconds(partial(schedule, phase), 2), "s"),
            ]
    permuted = permutation(_PERMUTED_WORDS)
    encode(schedule(permuted))
    seconds = best_seconds(lambda: encode(schedule(permuted)))
    figures.append(Figure("exchange.permutation.rows_seconds", seconds, "s"))
    with multiprocessing.get_context("spawn").Pool(1) as alone:
        figures += alone.apply(_many)
    return figures


def _many() -> list[Figure]:
    """One phase of many short transfers between random tiles, in a process of its own."""
    from tilewright.exchange import ExchangePhase, encode, schedule
    from tilewright.exchange.patterns import SOURCE, permutation

    encode(schedule(permutation(1)))
    rng = np.random.default_rng(0)
    source = rng.integers(0, TILES, _MANY)
    receiver = (source + rng.integers(1, TILES, _MANY)) % TILES
    words = rng.integers(1, _MOST_WORDS + 1, _MANY)
    # Destinations of a tile lie one after the other.
    order = np.argsort(receiver, kind="stable")
    before = np.cumsum(words[order]) - words[order]
    first = np.searchsorted(receiver[order], receiver[order])
    offset = np.empty(_MANY, dtype=np.int64)
    offset[order] = 4 * (before - before[first])
    start = perf_counter()
    phase = ExchangePhase(
        source,
        np.full(_MANY, SOURCE),
        words,
        np.arange(_MANY + 1),
        receiver,
        REGION1_BASE + offset,
    )
    found = schedule(phase)
    scheduled = perf_counter()
    rows = encode(found)
    encoded = perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB
    return [
        Figure("exchange.many.transfers", _MANY, "count"),
        Figure("exchange.many.ratio", found.horizon / found.bound, "ratio"),
        Figure("exchange.many.seconds", scheduled - start, "s"),
        Figure("exchange.many.rows_seconds", encoded - scheduled, "s"),
        Figure("exchange.many.row_words", len(rows.words), "words"),
        Figure("exchange.many.peak_bytes", peak, "bytes"),
    ]
