"""All checks of a package, in the order in which they rely on each other."""

import numpy as np

from tilewright.package.application import Application
from tilewright.package.checks.host import check_configuration, check_host, check_plan
from tilewright.package.checks.memory import check_memory, check_shape
from tilewright.package.checks.tensors import check_shards, check_tensors
from tilewright.package.faults import Fault, FaultList, PackageError
from tilewright.package.steps import ProfilePlan
from tilewright.package.tensors import Role

_SAMPLE_BYTES = 4


def validate(application: Application, *, hashes: bool = False) -> tuple[Fault, ...]:
    """Everything that is wrong with an application.

    All that loading and running rely on is checked, but not the contents of blobs; with `hashes`
    those as well: they have their hashes, and the profile plan and the debug tables make sense.
    """
    faults = FaultList()
    check_shape(application, faults)
    check_tensors(application, faults)
    check_plan(application, faults)
    check_configuration(application, faults)
    if not faults:  # what is named exists, so that it can be looked up
        check_memory(application, faults)
        check_shards(application, faults)
        check_host(application, faults)
    if hashes:
        faults.faults += application.blobs.faults()
    if hashes and not faults:
        _check_tables(application, faults)
    return tuple(faults.faults)


def _check_tables(application: Application, faults: FaultList) -> None:
    for name in ("profile_plan", "debug"):
        try:
            found = getattr(application, name)
        except PackageError as error:
            faults.faults += [Fault(f"{name}.{each.path}", each.message) for each in error.faults]
            if not error.faults:
                faults.add(name, str(error))
            continue
        if isinstance(found, ProfilePlan):
            _check_samples(application, found, faults)


def _check_samples(application: Application, plan: ProfilePlan, faults: FaultList) -> None:
    """Whether each tile with steps has room for its samples, in a shard of the plan's tensor."""
    names = [tensor.name for tensor in application.tensors]
    if plan.tensor not in names:
        faults.add("profile_plan.tensor", f"the package has no tensor '{plan.tensor}'")
        return
    number = names.index(plan.tensor)
    if application.tensors[number].role is not Role.OUTPUT:
        faults.add("profile_plan.tensor", f"'{plan.tensor}' is no output")
    shards = application.shards_of(number)
    room = np.zeros(application.tiles, np.int64)
    np.add.at(room, shards.tile, shards.size)
    for tile, steps in zip(plan.steps.tiles.tile.tolist(), plan.steps.counts.tolist(), strict=True):
        needed = _SAMPLE_BYTES * (steps + 1)
        found = int(room[tile]) if tile < application.tiles else 0
        if found != needed:
            path = f"profile_plan.tiles[{tile}]"
            faults.add(path, f"{steps} steps take {needed} bytes of samples; it has {found}")
