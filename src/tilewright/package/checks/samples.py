"""Checks of a profile plan against the program whose cycles it explains."""

from typing import TYPE_CHECKING

import numpy as np

from tilewright.package.checks.rows import report
from tilewright.package.faults import Fault, FaultList
from tilewright.package.steps import ProfilePlan
from tilewright.package.tensors import Role

if TYPE_CHECKING:
    from tilewright.package.application import Application

_SAMPLE_BYTES = 4


def check_samples(application: "Application", plan: ProfilePlan) -> FaultList:
    """Whether the plan's output holds the samples of each tile with steps, and nothing else."""
    faults = FaultList()
    names = [tensor.name for tensor in application.tensors]
    if plan.tensor not in names:
        faults.add("profile_plan.tensor", f"the package has no tensor '{plan.tensor}'")
        return faults
    number = names.index(plan.tensor)
    if application.tensors[number].role is not Role.OUTPUT:
        faults.add("profile_plan.tensor", f"'{plan.tensor}' is no output")
    tiles = plan.steps.tiles.tile
    shards = application.shards_of(number)
    size = max(application.tiles, int(tiles.max(initial=0)) + 1)
    room, needed = np.zeros(size, np.int64), np.zeros(size, np.int64)
    np.add.at(room, shards.tile, shards.size)
    needed[tiles] = _SAMPLE_BYTES * (plan.steps.counts.astype(np.int64) + 1)
    report(
        faults,
        room != needed,
        "profile_plan.tiles",
        lambda tile: Fault(
            f"profile_plan.tiles[{tile}]",
            f"{needed[tile] // _SAMPLE_BYTES - 1} steps take {needed[tile]} bytes of samples; it "
            f"has {room[tile]}"
            if needed[tile]
            else f"it has no steps, but {room[tile]} bytes of samples",
        ),
    )
    return faults
