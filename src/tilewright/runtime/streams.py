"""What passes between host and device in the calls of an entry point."""

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from tilewright.driver import entries_of
from tilewright.package import Application, Direction, EntryPoint, Group, Role, Source, Tensor
from tilewright.runtime.errors import InputError, SessionError
from tilewright.runtime.numbers import to_stored

U8 = NDArray[np.uint8]


def check_inputs(
    application: Application, inputs: Mapping[str, npt.ArrayLike], entry: str | None = None
) -> None:
    """Raise what a run with these inputs would raise for them, before anything is loaded."""
    sent_streams(application, entry_point(application, entry), inputs)


def entry_point(application: Application, name: str | None) -> EntryPoint:
    """The entry point of a name, or the only one for runs. Raises `SessionError`."""
    host = application.host
    points = entries_of(host, Group.RUN)
    if name is not None:
        points += entries_of(host, Group.SAVE)
    chosen = [point for point in points if name in (None, point.name)]
    if len(chosen) != 1:
        there = ", ".join(f"'{point.name}'" for point in points) or "none"
        what = "name an entry point" if name is None else f"no entry point '{name}'"
        raise SessionError(f"{what}; there are: {there}")
    return chosen[0]


def passing(application: Application, point: EntryPoint, direction: Direction) -> list[int]:
    """The tensors that pass so in the calls of an entry point, by number."""
    host = application.host
    is_of_call = np.isin(host.batches.call, point.calls)
    is_chosen = is_of_call & (host.batches.direction == direction)
    tensors: list[int] = np.unique(host.slices.tensor[is_chosen[host.slices.batch]]).tolist()
    return tensors


def sent_streams(
    application: Application, point: EntryPoint, inputs: Mapping[str, npt.ArrayLike]
) -> dict[int, U8]:
    """The streams that an entry point sends: inputs as given, parameters from the package.

    What is given and not sent, as no tile reads it, is looked at all the same. Raises `InputError`
    that names all that is missing, unknown or does not fit.
    """
    if not isinstance(inputs, Mapping):
        raise InputError(f"inputs are arrays by name, a dict say, not a {type(inputs).__name__}")
    streams: dict[int, U8] = {}
    wrong, wanted = [], set()
    for number in passing(application, point, Direction.TO_DEVICE):
        tensor = application.tensors[number]
        if tensor.source is Source.BLOB:
            streams[number] = application.blobs[tensor.blob]
            continue
        wanted.add(tensor.name)
        if tensor.name not in inputs:
            wrong.append(f"'{tensor.name}' is missing: {tensor.element.dtype} {tensor.shape}")
            continue
        try:
            streams[number] = tensor.to_stream(to_stored(tensor, inputs[tensor.name]))
        except ValueError as error:
            wrong.append(str(error))
    for tensor in _unread(application):
        wanted.add(tensor.name)
        try:
            if tensor.name in inputs:
                to_stored(tensor, inputs[tensor.name])
        except ValueError as error:
            wrong.append(str(error))
    wrong += [f"there is no input '{name}'" for name in inputs if name not in wanted]
    if wrong:
        raise InputError("\n  ".join([f"inputs of '{point.name}':", *wrong]))
    return streams


def _unread(application: Application) -> Iterator[Tensor]:
    """Inputs that no tile holds: runs may give them, or not."""
    held = set(np.unique(application.shards.tensor).tolist())
    for number, tensor in enumerate(application.tensors):
        if tensor.role is Role.INPUT and number not in held:
            yield tensor
