"""Cycles of a run by kernel, operation or phase: measured beside planned."""

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

import numpy as np

from tilewright.package import NONE, Steps
from tilewright.profile.analysis import Analysis
from tilewright.profile.parts import PARTS
from tilewright.profile.taken import UNKNOWN, Flags, Integers


class By(Enum):
    """What groups have in common."""

    OPERATION = "operation"
    KERNEL = "kernel"
    PHASE = "phase"


@dataclass(frozen=True, slots=True)
class Group:
    """Steps of the chip that have something in common.

    `parts` and `planned` are cycles on the critical path, which add up over groups to those of the
    run; `share` is their part of it. `balance` is the mean of all tiles' busy cycles to those of
    the step's busiest tile, weighted by these: 1 if all tiles do as much. `waiting` is the share
    of tiles' cycles, busy and waiting ones, that are spent waiting at barriers of these steps.
    """

    name: str
    steps: int
    tiles: int
    """The most that take part in one step."""
    parts: dict[str, int]
    share: float
    planned: int | None
    """None if any step on the path is not planned."""
    longest: int
    """Busy cycles of the busiest tile, summed over steps."""
    critical: int
    """The tile that is the busiest in most cycles, by its physical id."""
    balance: float
    waiting: float

    @property
    def cycles(self) -> int:
        return sum(self.parts.values())

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "cycles": self.cycles}


def grouped(analysis: Analysis, by: By) -> list[Group]:
    """Groups, by descending cycles; phases in the order in which the chip takes them."""
    names, of_row = _labels(analysis.steps, by)
    of_step = of_row[analysis.chip.row]
    path = np.flatnonzero(analysis.critical)
    of_path = of_step[analysis.taken.step[path]]
    _, first = np.unique(of_step[analysis.chip.order], return_index=True)
    labels = of_step[analysis.chip.order][np.sort(first)].tolist()
    found = [
        _group(analysis, names[label], of_step == label, path[of_path == label]) for label in labels
    ]
    if by is By.PHASE:
        return found
    return sorted(found, key=lambda group: -group.cycles)


def _labels(steps: Steps, by: By) -> tuple[list[str], Integers]:
    """Names of groups, and which of them each row of the table of steps is in."""
    table = steps.table
    if by is By.PHASE:
        pairs = table.epoch.astype(np.int64) << 32 | table.phase
        found, rows = np.unique(pairs, return_inverse=True)
        single = not table.epoch.any()
        names = [
            str(pair & NONE) if single else f"{pair & NONE} in epoch {pair >> 32}"
            for pair in found.tolist()
        ]
        return names, np.asarray(rows, np.int64)
    column = table.operation if by is By.OPERATION else table.kernel
    found, rows = np.unique(column, return_inverse=True)
    return [steps.string(each) or "no kernel" for each in found.tolist()], np.asarray(rows)


def _group(analysis: Analysis, name: str, steps: Flags, path: Integers) -> Group:
    """Of some steps of the chip, and the entries on the critical path that are part of them."""
    chip = analysis.chip
    planned = analysis.taken.planned[path]
    parts = analysis.entry_parts[path].sum(axis=0).tolist()
    longest = int(chip.longest[steps].sum())
    busy, waited = int(chip.cycles[steps].sum()), int(chip.waited[steps].sum())
    even = int((chip.longest[steps] * chip.tiles[steps]).sum())
    return Group(
        name=name,
        steps=int(steps.sum()),
        tiles=int(chip.tiles[steps].max()),
        parts=dict(zip(PARTS, parts, strict=True)),
        share=sum(parts) / analysis.cycles if analysis.cycles else 0.0,
        planned=None if (planned == UNKNOWN).any() else int(planned.sum()),
        longest=longest,
        critical=_busiest(chip.critical[steps], chip.longest[steps]),
        balance=busy / even if even else 1.0,
        waiting=waited / (busy + waited) if busy + waited else 0.0,
    )


def _busiest(tiles: Integers, cycles: Integers) -> int:
    return int(np.argmax(np.bincount(tiles, cycles)))
