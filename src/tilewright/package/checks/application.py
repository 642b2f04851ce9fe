"""All checks of a package, in the order in which they rely on each other."""

from tilewright.package.application import Application
from tilewright.package.checks.host import check_configuration, check_host, check_plan
from tilewright.package.checks.memory import check_memory, check_shape
from tilewright.package.checks.tensors import check_shards, check_tensors
from tilewright.package.faults import Fault, FaultList, PackageError


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
            getattr(application, name)
        except PackageError as error:
            faults.faults += [
                Fault(f"{name}.{each.path.removeprefix(f'{name}.')}", each.message)
                for each in error.faults
            ]
            if not error.faults:
                faults.add(name, str(error))
