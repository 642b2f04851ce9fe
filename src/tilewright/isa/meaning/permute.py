"""Permutes of the bytes, halves and words of one or two registers."""

from collections.abc import Sequence

from tilewright.isa.meaning.machine import Bound, Machine
from tilewright.isa.meaning.registry import Meaning, register_family


def _of_two(width: int, *picks: int) -> Meaning:
    """Lanes of a and b, a's lanes numbered first; `picks` names the result's, lowest first."""

    def permute(m: Machine, d: Bound, a: Bound, b: Bound) -> None:
        lanes = m.split(m.get(a), width) + m.split(m.get(b), width)
        m.set(d, m.join([lanes[pick] for pick in picks]))

    return permute


def _of_one(width: int, *picks: int) -> Meaning:
    def permute(m: Machine, d: Bound, a: Bound) -> None:
        lanes: Sequence[object] = m.split(m.get(a), width)
        m.set(d, m.join([lanes[pick] for pick in picks]))

    return permute


register_family(
    {
        "sort4x16lo": (16, 0, 2),
        "sort4x16hi": (16, 1, 3),
        "sort4x32lo": (32, 0, 2),
        "sort4x32hi": (32, 1, 3),
        "sort8x8lo": (8, 0, 2, 4, 6),
        "sort8x8hi": (8, 1, 3, 5, 7),
        "shuf8x8lo": (8, 0, 4, 1, 5),
        "shuf8x8hi": (8, 2, 6, 3, 7),
        "roll16": (16, 1, 2),
        "roll32": (32, 1, 2),
        "roll8r": (8, 1, 2, 3, 4),
        # (a >> 24) | (b << 8): the direction is assumed (`roll8l`).
        "roll8l": (8, 3, 4, 5, 6),
    },
    _of_two,
)

register_family({"sort8": (8, 0, 2, 1, 3), "swap8": (8, 1, 0, 3, 2)}, _of_one)
