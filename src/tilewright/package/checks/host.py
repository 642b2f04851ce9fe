"""Checks of what the host does: pages, calls, slices, entry points and configuration."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from tilewright.package.application import Application, When
from tilewright.package.checks.rows import (
    check_number,
    check_ordered,
    check_references,
    check_text,
    report,
)
from tilewright.package.checks.tensors import sent_tensors, stream_sizes, unread_inputs
from tilewright.package.faults import Fault, FaultList
from tilewright.package.host_plan import STOP_COMMAND, Direction, Group
from tilewright.package.spans import covered, keys, overlapping
from tilewright.package.tensors import Role, Source
from tilewright.target.host import (
    CONFIGURATION_SPACE,
    HOST_PAGE,
    HOST_SPACE,
    HOST_SYNC_CONTROL,
    HOST_WORD,
    LOADER_BATCH_TILES,
)

MAX_CALLS = 1 << 12
MAX_PAGES = 1 << 12
MAX_BATCHES = 1 << 16
_MAX_REGISTERS = len(When) * CONFIGURATION_SPACE // HOST_WORD
_MAY_GO = {
    Direction.TO_DEVICE: (Role.INPUT, Role.PARAMETER),
    Direction.FROM_DEVICE: (Role.OUTPUT, Role.INTERNAL),
}

Mask = npt.NDArray[np.bool_]
I64 = npt.NDArray[np.int64]


def check_plan(application: Application, faults: FaultList) -> None:
    """Whether what the host plan names exists, so that other checks can rely on it."""
    host = application.host
    for name, table, limit in (
        ("calls", host.calls, MAX_CALLS),
        ("entry_points", host.entry_points, MAX_CALLS),
        ("pages", host.pages, MAX_PAGES),
        ("batches", host.batches, MAX_BATCHES),
    ):
        if len(table) > limit:
            faults.add(f"host.{name}", f"{len(table):,} entries; the limit is {limit:,}")
    check_ordered(faults, "host.batches", host.batches, "call")
    check_references(faults, "host.batches", host.batches, "call", len(host.calls))
    check_references(faults, "host.batches", host.batches, "direction", len(Direction))
    check_ordered(faults, "host.slices", host.slices, "batch")
    check_references(faults, "host.slices", host.slices, "batch", len(host.batches))
    check_references(faults, "host.slices", host.slices, "tensor", len(application.tensors))
    check_references(faults, "host.slices", host.slices, "page", len(host.pages))
    _check_names(faults, "host.calls", (call.name for call in host.calls))
    _check_names(faults, "host.entry_points", (entry.name for entry in host.entry_points))
    for number, entry in enumerate(host.entry_points):
        check_number(faults, f"host.entry_points[{number}].command", entry.command)
        _check_calls(faults, f"host.entry_points[{number}].calls", entry.calls, len(host.calls))


def check_host(application: Application, faults: FaultList) -> None:
    """Whether pages, slices and entry points can work as they are meant."""
    _check_pages(application, faults)
    _check_command(application, faults)
    _check_entry_points(application, faults)
    if _check_slices(application, faults):
        _check_batches(application, faults)
        _check_streams(application, faults)


def check_startup(application: Application, faults: FaultList) -> None:
    """Whether the loader of each row of tiles lets the program begin."""
    mark, rows = application.host.startup_mark, application.tiles // LOADER_BATCH_TILES
    if mark != rows:
        faults.add("host.startup_mark", f"{mark}; loaders of {rows} rows of tiles end with {rows}")


def check_configuration(application: Application, faults: FaultList) -> None:
    """Whether the registers written are registers, not the driver's own, and written once."""
    table = application.configuration
    if len(table) > _MAX_REGISTERS:
        faults.add("configuration", f"{len(table):,} rows; there are fewer registers")
        return

    def say(is_wrong: Mask, message: str) -> None:
        report(
            faults,
            is_wrong,
            "configuration",
            lambda row: Fault(f"configuration[{row}]", f"{table.offset[row]:#x}: {message}"),
        )

    check_references(faults, "configuration", table, "when", len(When))
    say(table.offset % HOST_WORD != 0, f"registers lie at multiples of {HOST_WORD}")
    say(table.offset >= CONFIGURATION_SPACE, "there are no registers so far up")
    say(np.isin(table.offset, HOST_SYNC_CONTROL), "the marks of host sync belong to the driver")
    key = keys(table.when, table.offset)
    _, first = np.unique(key, return_index=True)
    is_again = np.ones(len(table), bool)
    is_again[first] = False
    say(is_again, "the register is written twice")


def slice_path(application: Application, row: int) -> str:
    """Where a slice is, counted within its batch, and that within its call."""
    host = application.host
    batch = int(host.slices.batch[row])
    call = int(host.batches.call[batch])
    index = row - host.slices_of(batch).start
    place = batch - host.batches_of(call).start
    return f"host.calls[{call}].batches[{place}].slices[{index}]"


def _check_names(faults: FaultList, path: str, names: Iterable[str]) -> None:
    listed = list(names)
    counts = Counter(listed)
    for number, name in enumerate(listed):
        check_text(faults, f"{path}[{number}].name", name)
        if not name:
            faults.add(f"{path}[{number}].name", "it has no name")
        elif counts[name] > 1:
            faults.add(f"{path}[{number}].name", f"{counts[name]} are named '{name}'")


def _check_calls(faults: FaultList, path: str, made: tuple[int, ...], calls: int) -> None:
    wrong = [call for call in made if not 0 <= call < calls]
    if wrong or not made:
        faults.add(path, f"there is no call {wrong[0]}" if wrong else "it makes no calls")
    if len(made) > MAX_CALLS:
        faults.add(path, f"it makes {len(made):,} calls; the limit is {MAX_CALLS:,}")


def _check_pages(application: Application, faults: FaultList) -> None:
    pages = application.host.pages
    size = pages.size.astype(np.int64)
    report(
        faults,
        (size == 0) | (size % HOST_PAGE != 0),
        "host.pages",
        lambda row: Fault(
            f"host.pages[{row}].size", f"{size[row]} is no positive multiple of {HOST_PAGE}"
        ),
    )
    # Two readings of the index agree, and so are both safe, if pages follow each other in it.
    order = np.argsort(pages.index, kind="stable")
    start = np.cumsum(size[order]) - size[order]
    is_wrong = np.zeros(len(pages), bool)
    is_wrong[order] = pages.index[order].astype(np.int64) * HOST_PAGE != start
    report(
        faults,
        is_wrong,
        "host.pages",
        lambda row: Fault(
            f"host.pages[{row}].index",
            f"index {pages.index[row]} is not where the pages of lower index end",
        ),
    )
    if size.sum() > HOST_SPACE:
        faults.add("host.pages", f"{size.sum():,} bytes; the device reaches {HOST_SPACE:,}")


def _check_command(application: Application, faults: FaultList) -> None:
    host = application.host
    word = host.command_word
    if word is None:
        if len(host.entry_points) > 1:
            faults.add("host.entry_points", "without a command word there can be only one")
        return
    commands = Counter(entry.command for entry in host.entry_points)
    for number, entry in enumerate(host.entry_points):
        if commands[entry.command] > 1:
            path = f"host.entry_points[{number}].command"
            faults.add(path, f"several have the command {entry.command}")
    if not 0 <= word.page < len(host.pages):
        faults.add("host.command_word.page", f"there is no page {word.page}")
        return
    if (
        word.offset < 0
        or word.offset % HOST_WORD
        or word.offset + HOST_WORD > host.pages.size[word.page]
    ):
        faults.add("host.command_word.offset", f"{word.offset:#x} is no word of the page")
    slices = host.slices
    first = slices.page_offset.astype(np.int64)
    is_wrong = (slices.page == word.page) & (first < word.offset + HOST_WORD)
    is_wrong &= first + slices.size > word.offset
    _report_slices(application, faults, is_wrong, "it overlaps the command word")


def _check_entry_points(application: Application, faults: FaultList) -> None:
    """Whether calls of an entry point are for the same time, and those for loading are made."""
    host = application.host
    made = set()
    for number, entry in enumerate(host.entry_points):
        groups = {host.calls[call].group for call in entry.calls}
        if len(groups) > 1:
            listed = ", ".join(sorted(each.name.lower() for each in groups))
            faults.add(f"host.entry_points[{number}].calls", f"calls of several groups: {listed}")
        elif host.command_word is None or entry.command != STOP_COMMAND:
            made |= set(entry.calls)
    for number, call in enumerate(host.calls):
        if host.entry_points and call.group is Group.LOAD and number not in made:
            faults.add(f"host.calls[{number}]", "it is for loading, but no entry point makes it")


def _check_slices(application: Application, faults: FaultList) -> bool:
    """Whether slices lie within streams and pages, in whole words."""
    host, tensors = application.host, application.tensors
    slices = host.slices
    offset, place = slices.offset.astype(np.int64), slices.page_offset.astype(np.int64)
    streams = stream_sizes(application)
    is_odd = (slices.size | slices.offset | slices.page_offset) % HOST_WORD != 0
    wrong = [
        (slices.size == 0, "the slice is empty"),
        (is_odd, f"offsets and size have to be multiples of {HOST_WORD}"),
        (offset + slices.size > streams[slices.tensor], "it is not within the tensor's stream"),
        (place + slices.size > host.pages.size[slices.page], "it is not within its page"),
    ]
    for direction, roles in _MAY_GO.items():
        may_go = np.array([tensor.role in roles for tensor in tensors], bool)
        goes = host.batches.direction[slices.batch] == direction
        message = f"its tensor's role does not allow {direction.name.lower().replace('_', ' ')}"
        wrong.append((goes & ~may_go[slices.tensor], message))
    found = [_report_slices(application, faults, *each) for each in wrong]
    return not any(found)


def _check_batches(application: Application, faults: FaultList) -> None:
    host = application.host
    slices = host.slices
    is_used = np.zeros(len(host.batches), bool)
    is_used[slices.batch] = True
    # Programs that ask for the command do so in batches of their own.
    report(
        faults,
        ~is_used & (host.command_word is None),
        "host.batches",
        lambda row: Fault(f"host.batches[{row}]", "the batch has no slices, nor a command to pass"),
    )
    owner = slices.batch.astype(np.int64) * MAX_PAGES + slices.page
    again = overlapping(owner, slices.page_offset, slices.size)
    _report_slices(application, faults, _mask(len(slices), again), "it overlaps one of its batch")


def _check_streams(application: Application, faults: FaultList) -> None:
    """Whether calls carry all of what they have to, and results once."""
    host = application.host
    if not host.calls:
        return
    roles = np.array([each.role for each in application.tensors])
    group = np.array([each.group for each in host.calls])[host.batches.call]
    is_out = host.batches.direction == Direction.FROM_DEVICE
    has_run = any(each.group is Group.RUN for each in host.calls)
    is_sent = sent_tensors(application)
    is_read = (roles == Role.INPUT) & ~unread_inputs(application)
    for is_batch, is_tensor, message in (
        (~is_out & (group == Group.RUN), is_read & has_run, "no run sends"),
        (~is_out & (group == Group.LOAD), (roles == Role.PARAMETER) & is_sent, "no load sends"),
        (is_out, roles == Role.OUTPUT, "no call fetches"),
    ):
        _check_carried(application, faults, is_batch, is_tensor, message)
    _check_fetched_once(application, faults)
    of_load = (group == Group.LOAD)[host.slices.batch]
    is_other = of_load & (roles != Role.PARAMETER)[host.slices.tensor]
    _report_slices(application, faults, is_other, "calls for loading send parameters, nothing else")
    held = np.array([each.source is Source.SEGMENTS for each in application.tensors], bool)
    is_again = ~is_out[host.slices.batch] & held[host.slices.tensor]
    _report_slices(application, faults, is_again, "the parameter is in the segments already")


def _check_fetched_once(application: Application, faults: FaultList) -> None:
    host = application.host
    is_out = host.batches.direction == Direction.FROM_DEVICE
    rows = np.flatnonzero(is_out[host.slices.batch])
    slices = host.slices[rows]
    call = host.batches.call[slices.batch].astype(np.int64)
    owner = call * len(application.tensors) + slices.tensor
    again = rows[overlapping(owner, slices.offset, slices.size)]
    message = "the call fetches these bytes twice"
    _report_slices(application, faults, _mask(len(host.slices), again), message)


def _check_carried(
    application: Application, faults: FaultList, is_batch: Mask, is_tensor: Mask, message: str
) -> None:
    """Whether the slices of the chosen batches cover the streams of the chosen tensors."""
    slices = application.host.slices
    streams = stream_sizes(application)
    chosen = is_batch[slices.batch]
    reached = covered(
        slices.tensor[chosen], slices.offset[chosen], slices.size[chosen], len(streams)
    )
    report(
        faults,
        is_tensor & (reached < streams),
        "tensors",
        lambda row: Fault(
            f"tensors[{row}]",
            f"{message} byte {reached[row]} of '{application.tensors[row].name}', "
            f"whose stream has {streams[row]}",
        ),
    )


def _report_slices(
    application: Application, faults: FaultList, is_wrong: Mask, message: str
) -> bool:
    return report(
        faults,
        is_wrong,
        "host.slices",
        lambda row: Fault(slice_path(application, row), message),
    )


def _mask(length: int, rows: I64) -> Mask:
    mask = np.zeros(length, bool)
    mask[rows] = True
    return mask
