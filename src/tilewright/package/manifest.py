"""The manifest of a package: between an `Application` and its Cap'n Proto message."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.package.application import (
    Application,
    Completion,
    Configuration,
    Segments,
    Shards,
)
from tilewright.package.blobs import DIGEST_BYTES
from tilewright.package.checks.host import MAX_CALLS
from tilewright.package.checks.tensors import MAX_TENSORS
from tilewright.package.faults import FaultList, PackageError
from tilewright.package.host_plan import (
    Batches,
    Call,
    CommandWord,
    EntryPoint,
    Group,
    HostPlan,
    Pages,
    Slices,
)
from tilewright.package.message import Reader, camel, decoding, encode, put_table, schema
from tilewright.package.sealing import check_version
from tilewright.package.tables import U8, U32, Table
from tilewright.package.tensors import ElementType, Role, Source, Tensor
from tilewright.target.geometry import ARCHITECTURE_VERSION, MEMORY_BASE, MEMORY_SIZE

MAJOR, MINOR = 1, 0
"""Of the format; docs/package.md has the rules."""
MAX_REST = 4 << 20
"""Bytes of a manifest beside its long tables: of texts and of lists, which take much more room and
time when they are read than they have bytes."""

_U8, _U32 = np.dtype("u1"), np.dtype("<u4")
_TABLES: Mapping[str, type[Table]] = MappingProxyType(
    {"segments": Segments, "shards": Shards, "configuration": Configuration}
)
_HOST_TABLES: Mapping[str, type[Table]] = MappingProxyType(
    {"pages": Pages, "batches": Batches, "slices": Slices}
)
"""Those are long."""


def encode_manifest(application: Application) -> bytes:
    """The message of an application that has no faults."""
    package = schema("package")

    def fill(root: Any) -> None:
        root.magic, root.major, root.minor = int(package.magic), MAJOR, MINOR
        root.architecture = ARCHITECTURE_VERSION
        root.memoryBase, root.memorySize = MEMORY_BASE, MEMORY_SIZE
        root.producer = application.producer
        root.blobs.digests = application.blobs.digests.tobytes()
        root.blobs.sizes = application.blobs.sizes.tobytes()
        root.entries = application.entries.tobytes()
        for name in _TABLES:
            put_table(getattr(root, name), getattr(application, name))
        for builder, tensor in _each(root, "tensors", application.tensors):
            _put_tensor(builder, tensor)
        _put_host(root.host, application.host)
        if application.completion is not None:
            root.completion.address = application.completion.address
            root.completion.value = application.completion.value
        root.profilePlanBlob = application.profile_plan_blob
        root.debugBlob = application.debug_blob

    return encode(package.Package, fill)


def decode_manifest(message: bytes, what: str, faults: FaultList) -> tuple[dict[str, Any], U8, U32]:
    """The fields of an `Application` but its blobs, and their digests and sizes.

    Faults of single fields are added to `faults`. Raises `PackageError` for a message that cannot
    be read, or that is no package for this target.
    """
    package = schema("package")
    with decoding(package.Package, message, what, faults) as root:
        check_version(root, int(package.magic), (MAJOR, MINOR), what, "package")
        _check_target(root, faults)
        host = root.child("host")
        digests, sizes = _blobs(root.child("blobs"), faults)
        entries = root.column("entries", _U32)
        tables = {name: root.table(kind, name) for name, kind in _TABLES.items()}
        host_tables = {name: host.table(kind, name) for name, kind in _HOST_TABLES.items()}
        columns = digests.nbytes + sizes.nbytes + entries.nbytes
        columns += sum(each.nbytes for each in (*tables.values(), *host_tables.values()))
        check_rest(len(message) - columns, what, faults)
        values = {
            **tables,
            "entries": entries,
            "producer": root.text("producer"),
            "tensors": tuple(_tensor(each) for each in root.items("tensors", MAX_TENSORS)),
            "host": _host(host, host_tables),
            "completion": _completion(root.optional("completion")),
            "profile_plan_blob": root.number("profile_plan_blob"),
            "debug_blob": root.number("debug_blob"),
        }
    return values, digests, sizes


def rest_bytes(message: bytes, application: Application) -> int:
    """The bytes of an application's message that are not in long tables."""
    blobs, host = application.blobs, application.host
    tables = [getattr(application, name) for name in _TABLES]
    tables += [getattr(host, name) for name in _HOST_TABLES]
    columns = blobs.digests.nbytes + blobs.sizes.nbytes + application.entries.nbytes
    columns += sum(int(each.nbytes) for each in tables)
    return len(message) - columns


def check_rest(rest: int, what: str, faults: FaultList) -> None:
    """Raises `PackageError`, with the faults found so far, for more than `MAX_REST`.

    A message is read once, so no more than this is left to read when the long tables have been,
    whatever its pointers say.
    """
    if rest > MAX_REST:
        raise PackageError(
            f"{what} has {rest:,} bytes of texts and lists in its manifest; the limit is "
            f"{MAX_REST:,}",
            faults.faults,
        )


def _check_target(root: Reader, faults: FaultList) -> None:
    for name, ours in (
        ("architecture", ARCHITECTURE_VERSION),
        ("memory_base", MEMORY_BASE),
        ("memory_size", MEMORY_SIZE),
    ):
        found = root.number(name)
        if found != ours:
            faults.add(name, f"the package is for another target: {found:#x}, not {ours:#x}")


def _blobs(reader: Reader, faults: FaultList) -> tuple[U8, U32]:
    digests = np.frombuffer(reader.data("digests"), np.uint8)
    sizes = reader.column("sizes", _U32)
    if digests.size != DIGEST_BYTES * len(sizes):
        faults.add("blobs", f"{len(sizes)} sizes and {digests.size} bytes of digests")
        return np.empty((0, DIGEST_BYTES), np.uint8), np.empty(0, _U32)
    return digests.reshape(-1, DIGEST_BYTES), sizes


def _put_tensor(builder: Any, tensor: Tensor) -> None:
    builder.name = tensor.name
    builder.role, builder.element, builder.source = _members(
        tensor.role, tensor.element, tensor.source
    )
    builder.scale = tensor.scale
    builder.shape = np.array(tensor.shape, _U32).tobytes()
    builder.loopAxis = np.array([axis for axis, _ in tensor.loops], _U8).tobytes()
    builder.loopExtent = np.array([extent for _, extent in tensor.loops], _U32).tobytes()
    builder.blob = tensor.blob
    builder.sourceName = tensor.source_name


def _tensor(reader: Reader) -> Tensor:
    axes = reader.column("loop_axis", _U8).tolist()
    extents = reader.column("loop_extent", _U32).tolist()
    if len(axes) != len(extents):
        reader.faults.add(reader.at("loops"), f"{len(axes)} axes and {len(extents)} extents")
    return Tensor(
        name=reader.text("name"),
        role=reader.member("role", Role),
        element=reader.member("element", ElementType),
        shape=tuple(reader.column("shape", _U32).tolist()),
        loops=tuple(zip(axes, extents, strict=False)),
        scale=reader.number("scale"),
        source=reader.member("source", Source),
        blob=reader.number("blob"),
        source_name=reader.text("source_name"),
    )


def _put_host(builder: Any, host: HostPlan) -> None:
    for name in _HOST_TABLES:
        put_table(getattr(builder, name), getattr(host, name))
    for each, call in _each(builder, "calls", host.calls):
        each.name, each.endsOpen = call.name, call.ends_open
        (each.group,) = _members(call.group)
    for each, entry in _each(builder, "entryPoints", host.entry_points):
        each.name, each.command = entry.name, entry.command
        each.calls = np.array(entry.calls, _U32).tobytes()
    if host.command_word is not None:
        builder.commandWord.page = host.command_word.page
        builder.commandWord.offset = host.command_word.offset
    builder.startupMark = host.startup_mark


def _host(reader: Reader, tables: Mapping[str, Any]) -> HostPlan:
    return HostPlan(
        **tables,
        calls=tuple(
            Call(each.text("name"), each.member("group", Group), each.flag("ends_open"))
            for each in reader.items("calls", MAX_CALLS)
        ),
        entry_points=tuple(
            EntryPoint(
                each.text("name"),
                tuple(each.column("calls", _U32).tolist()),
                each.number("command"),
            )
            for each in reader.items("entry_points", MAX_CALLS)
        ),
        command_word=_command_word(reader.optional("command_word")),
        startup_mark=reader.number("startup_mark"),
    )


def _command_word(reader: Reader | None) -> CommandWord | None:
    return None if reader is None else CommandWord(reader.number("page"), reader.number("offset"))


def _completion(reader: Reader | None) -> Completion | None:
    return None if reader is None else Completion(reader.number("address"), reader.number("value"))


def _each(builder: Any, name: str, items: tuple[Any, ...]) -> Any:
    """The items with the structs of a new list."""
    return zip(builder.init(name, len(items)), items, strict=True)


def _members(*values: Any) -> list[str]:
    """The names of members of enumerations in the schema."""
    return [camel(value.name.lower()) for value in values]
