"""A profile with what follows from it, from which all questions are answered."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tilewright.package import NONE, Profile, ProfilePlan, Steps
from tilewright.profile.chip_steps import ChipSteps, chip_steps
from tilewright.profile.critical import critical_entries
from tilewright.profile.parts import PARTS, busy_parts
from tilewright.profile.taken import Flags, Integers, Taken, taken_steps
from tilewright.target.timing import CLOCK


@dataclass(frozen=True, eq=False)
class Analysis:
    """A profile, entry by entry (`taken`) and step by step (`chip`)."""

    profile: Profile
    taken: Taken
    chip: ChipSteps
    critical: Flags
    """The entries of `taken` on the critical path."""

    @property
    def steps(self) -> Steps:
        return self.profile.steps

    @property
    def tiles(self) -> int:
        """How many tiles took samples."""
        return len(self.steps.tiles)

    @cached_property
    def entry_parts(self) -> Integers:
        """Busy cycles of each entry of `taken` by part: entries × `PARTS`."""
        return busy_parts(self.steps, self.taken)

    @cached_property
    def cycles(self) -> int:
        """How long the run took: the critical path."""
        return int(self.taken.busy[self.critical].sum())

    @property
    def clock(self) -> int:
        """In hertz; that of the card where the profile names none."""
        return self.profile.clock or int(CLOCK.value)

    @property
    def microseconds(self) -> float:
        return self.cycles / self.clock * 1e6

    @cached_property
    def parts(self) -> dict[str, int]:
        """The cycles of the run by part; they add up to `cycles`."""
        sums = self.entry_parts[self.critical].sum(axis=0)
        return dict(zip(PARTS, sums.tolist(), strict=True))

    @cached_property
    def utilisation(self) -> float:
        """Cycles in which tiles compute, of all that they have during the run."""
        available = self.cycles * self.tiles
        computing = int(self.entry_parts[:, PARTS.index("compute")].sum())
        return computing / available if available else 0.0

    def operation(self, row: int) -> str:
        """The operation of a row of the table of steps."""
        return self.steps.strings[int(self.steps.table.operation[row])]

    def kernel(self, row: int) -> str | None:
        """The kernel of a row of the table of steps, if it has one."""
        return self.steps.string(int(self.steps.table.kernel[row]))


def analyse(profile: Profile) -> Analysis:
    """What follows from the samples of a profile."""
    taken = taken_steps(profile)
    return Analysis(
        profile,
        taken,
        chip_steps(profile.steps, taken),
        critical_entries(profile.steps, taken),
    )


def planned_profile(plan: ProfilePlan, producer: str = "") -> Profile:
    """The profile of a run in which every step takes its planned cycles; unknown ones take none."""
    steps = plan.steps
    counts = steps.counts.astype(np.int64)
    first = np.searchsorted(steps.table.list, steps.tiles.tile_list, side="left")
    cycles = np.where(steps.table.planned == NONE, 0, steps.table.planned.astype(np.int64))
    until = np.concatenate([[0], np.cumsum(cycles)])
    begin = np.cumsum(counts + 1) - (counts + 1)
    row = np.arange(int((counts + 1).sum())) + np.repeat(first - begin, counts + 1)
    samples = until[row] - np.repeat(until[first], counts + 1)
    return Profile(steps, samples % 2**32, producer=producer)
