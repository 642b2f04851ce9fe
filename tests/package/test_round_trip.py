"""What is written is what is read."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.package import examples
from tilewright.files import FileError
from tilewright.package import (
    Application,
    PackageError,
    Role,
    SegmentKind,
    Source,
    open_package,
    validate,
    write_package,
)
from tilewright.package.application import When
from tilewright.package.host_plan import Direction, Group
from tilewright.package.layout import blobs_start
from tilewright.package.message import camel, schema
from tilewright.package.steps import ActivityKind, StepKind
from tilewright.package.tensors import ElementType


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.ipuexe"


@pytest.mark.parametrize("source", [Source.FILE, Source.BLOB])
def test_round_trip(path: Path, source: Source) -> None:
    written = examples.application(source)
    assert validate(written, hashes=True) == ()
    digest = write_package(written, path).digest
    with open_package(path) as read:
        assert read == written
        assert read.digest == digest
        assert validate(read, hashes=True) == ()
        assert read.debug == examples.debug()
        assert read.profile_plan is not None
        assert read.profile_plan.steps == examples.steps()
        for blob in range(len(read.blobs.sizes)):
            assert np.array_equal(read.blobs[blob], written.blobs[blob])


def test_equality_sees_each_part() -> None:
    one = examples.application()
    assert one == examples.application()
    for changed in (
        replace(one, entries=one.entries + np.uint32(4)),
        replace(one, producer="someone"),
        replace(one, completion=None),
        replace(one, segments=one.segments[1:]),
        replace(one, host=replace(one.host, startup_mark=2)),
        replace(one, tensors=one.tensors[:-1]),
    ):
        assert one != changed


def test_same_input_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        write_package(examples.application(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_layout_of_the_file(path: Path) -> None:
    application = write_package(examples.application(), path)
    data = path.read_bytes()
    assert data[:4] == bytes(4)
    size = 8 + 8 * int.from_bytes(data[4:8], "little")
    assert data[16:24] == b"IPUEXE\0\0"
    assert data[size : size + 32] == hashlib.sha256(data[:size]).digest() == application.digest
    place = -(-(size + 32) // 64) * 64
    assert place == blobs_start(size)
    for blob, length in enumerate(application.blobs.sizes.tolist()):
        place = -(-place // 64) * 64
        content = data[place : place + length]
        assert hashlib.sha256(content).digest() == application.blobs.digests[blob].tobytes()
        place += length
    assert place == len(data)


def test_any_reader_of_the_schema_reads_the_manifest(path: Path) -> None:
    written = write_package(examples.application(), path)
    with path.open("rb") as file:
        manifest = schema("package").Package.read(file)
        assert manifest.producer == "tilewright test"
        assert [each.name for each in manifest.tensors] == [each.name for each in written.tensors]
        assert np.array_equal(np.frombuffer(manifest.shards.address, "<u4"), written.shards.address)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (SegmentKind, "SegmentKind"),
        (Role, "Role"),
        (ElementType, "ElementType"),
        (Source, "Source"),
        (Group, "Group"),
        (Direction, "Direction"),
        (When, "When"),
    ],
)
def test_enumerations_are_those_of_the_schema(kind: type, name: str) -> None:
    _check_members(kind, getattr(schema("package"), name))


@pytest.mark.parametrize(("kind", "name"), [(StepKind, "StepKind"), (ActivityKind, "ActivityKind")])
def test_enumerations_of_steps(kind: type, name: str) -> None:
    _check_members(kind, getattr(schema("steps"), name))


def _check_members(kind: type, ours: object) -> None:
    found = ours.schema.enumerants  # type: ignore[attr-defined] # of pycapnp
    assert {camel(each.name.lower()): int(each) for each in kind} == dict(found)  # type: ignore[attr-defined]


def test_contents_are_compared_when_they_are_used(path: Path) -> None:
    application = write_package(examples.application(), path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    last = len(application.blobs.sizes) - 1
    with open_package(path) as read:
        assert read.blobs[0].tobytes() == application.blobs[0].tobytes()
        with pytest.raises(PackageError, match=rf"blobs\[{last}\]: the content does not have"):
            read.blobs[last]
        with pytest.raises(PackageError, match=rf"blobs\[{last}\]"):
            read.verify()
        assert [fault.path for fault in validate(read, hashes=True)] == [f"blobs[{last}]"]


def test_closing_keeps_what_was_read(path: Path) -> None:
    write_package(examples.application(), path)
    with open_package(path) as read:
        content = read.blobs[0]
    assert content.view("<u4").tolist() == list(range(16))
    with pytest.raises(PackageError, match="was closed"):
        read.blobs[0]
    with pytest.raises(ValueError, match="read-only"):
        content[0] = 1


def test_an_open_package_outlives_its_replacement(path: Path) -> None:
    first = write_package(examples.application(), path)
    with open_package(path) as read:
        write_package(replace(examples.application(Source.BLOB)), path)
        assert read == first
        assert validate(read, hashes=True) == ()


def test_faulty_applications_are_not_written(path: Path) -> None:
    path.write_bytes(b"old")
    wrong = replace(examples.application(), entries=[0] * examples.TILES)
    with pytest.raises(PackageError, match=r"entries\[0\]: 0x0 is no instruction in code"):
        write_package(wrong, path)
    assert path.read_bytes() == b"old"


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file"):
        open_package(tmp_path / "missing")
    with pytest.raises(FileError, match="Is a directory"):
        open_package(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PackageError, match="no regular file"):
        open_package(tmp_path / "pipe")


def test_an_empty_application_says_what_it_lacks() -> None:
    assert [str(fault) for fault in validate(Application())] == [
        "entries: the package is for 0 tiles; the loader fills whole rows of 64, up to 1472 tiles",
        "segments: there are none",
    ]
