"""All checks of a package, in the order in which they rely on each other."""

from collections.abc import Callable

from tilewright.package.application import Application
from tilewright.package.checks.host import (
    check_configuration,
    check_host,
    check_plan,
    check_startup,
)
from tilewright.package.checks.memory import check_memory, check_shape
from tilewright.package.checks.tensors import check_shards, check_tensors
from tilewright.package.faults import Fault, FaultList, PackageError


def validate(application: Application, *, hashes: bool = False) -> tuple[Fault, ...]:
    """Everything that is wrong with an application.

    All that loading and running rely on is checked, but not the contents of blobs; with `hashes`
    those as well: they have their hashes, and the profile plan and the debug tables make sense.
    What is named has to exist before it can be looked up, so some faults hide others.
    """
    faults = FaultList()
    has_shape, has_tensors, has_plan = (
        _is_passed(check, application, faults) for check in (check_shape, check_tensors, check_plan)
    )
    check_configuration(application, faults)
    if has_shape:
        check_memory(application, faults)
        check_startup(application, faults)
    if has_shape and has_tensors and has_plan:
        check_shards(application, faults)
    if has_tensors and has_plan:
        check_host(application, faults)
    if hashes:
        faults.faults += application.blobs.faults()
    if hashes and not faults:
        _check_tables(application, faults)
    return tuple(faults.faults)


def _is_passed(
    check: Callable[[Application, FaultList], None], application: Application, faults: FaultList
) -> bool:
    before = len(faults.faults)
    check(application, faults)
    return len(faults.faults) == before


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
