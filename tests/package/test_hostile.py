"""Damaged and hostile files are refused, or are sound: nothing crashes or is half read."""

import hashlib
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.package import examples
from tilewright.package import (
    Application,
    ElementType,
    PackageError,
    Profile,
    Role,
    SegmentKind,
    Shards,
    Source,
    Tensor,
    TileImages,
    differences,
    open_package,
    read_profile,
    summary,
    validate,
    write_debug,
    write_package,
    write_profile,
)
from tilewright.package.debug import read_debug
from tilewright.package.layout import MAX_MANIFEST
from tilewright.package.manifest import MAX_REST
from tilewright.package.message import encode, schema
from tilewright.package.steps import read_profile_plan
from tilewright.package.summary import memory_data, package_data, symbols_data

_EXAMPLE = examples.application(Source.BLOB)
_NUMBERS = (0, 1, 63, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("packages") / "good.ipuexe"
    write_package(examples.application(Source.BLOB), path)
    return path.read_bytes()


def _manifest_size(data: bytes | bytearray) -> int:
    return 8 + 8 * int.from_bytes(data[4:8], "little")


def sealed(data: bytearray) -> bytearray:
    """With the right hash of the manifest, as whoever means harm would write it."""
    size = _manifest_size(data)
    if size + 32 <= len(data):
        data[size : size + 32] = hashlib.sha256(data[:size]).digest()
    return data


def _flip(data: bytearray, limit: int, dice: random.Random) -> None:
    data[dice.randrange(limit)] ^= 1 << dice.randrange(8)


def _number(data: bytearray, limit: int, dice: random.Random) -> None:
    """A count, an address or a pointer becomes an extreme or a random one."""
    at = dice.randrange(limit) & ~3
    value = dice.choice([*_NUMBERS, dice.getrandbits(32), dice.randrange(100)])
    data[at : at + 4] = value.to_bytes(4, "little")


def _splice(data: bytearray, limit: int, dice: random.Random) -> None:
    length = dice.randrange(1, 200)
    source, target = (dice.randrange(limit - length) for _ in range(2))
    data[target : target + length] = data[source : source + length]


def _truncate(data: bytearray, limit: int, dice: random.Random) -> None:
    del data[dice.randrange(len(data)) :]


def _grow(data: bytearray, limit: int, dice: random.Random) -> None:
    data += dice.randbytes(dice.randrange(1, 200))


def mutated(good: bytes, dice: random.Random) -> tuple[bytes, bool]:
    """A broken file, and whether it has a right hash again."""
    data = bytearray(good)
    is_sealed = dice.random() < 0.8
    limit = _manifest_size(good) if is_sealed else len(good)
    changes: list[Callable[[bytearray, int, random.Random], None]] = [_flip, _number, _splice]
    for _ in range(dice.choice([1, 1, 2, 5])):
        dice.choice(changes)(data, limit, dice)
    if dice.random() < 0.05:
        dice.choice([_truncate, _grow])(data, limit, dice)
    return bytes(sealed(data) if is_sealed else data), is_sealed


def _use_all(application: Application) -> None:
    """Everything that drivers and tools do with a package that was found good."""
    images = TileImages(application)
    for tile in (0, application.tiles - 1):
        assert len(images[tile]) > 0
        memory_data(application, tile)
    for tile in range(application.tiles):
        _lies_apart(application, tile)
    summary(application)
    differences(application, _EXAMPLE)
    package_data(application)
    symbols_data(application)
    if application.debug is not None:
        for address in range(0x4C000, 0x4C060, 4):
            str(application.debug.place(3, address))
    if application.profile_plan is not None:
        application.profile_plan.steps.steps_of(5)


def _lies_apart(application: Application, tile: int) -> None:
    """Whether what the loader writes lies apart, where it can write; in plain numbers."""
    segments, shards = application.segments_of(tile), application.shards
    spans = [
        (address, address + size, kind == SegmentKind.SCRATCH)
        for address, size, kind in zip(
            segments.address.tolist(), segments.size.tolist(), segments.kind.tolist(), strict=True
        )
    ]
    factors = [tensor.source is Source.BLOB for tensor in application.tensors].index(True, 3)
    for row in np.flatnonzero((shards.tile == tile) & (shards.tensor == factors)).tolist():
        address = int(shards.address[row])
        spans.append((address, address + int(shards.size[row]), False))
    spans.sort()
    assert spans[0][0] == 0x4C010
    assert all(end <= (0xE8000 if is_scratch else 0xE7BB0) for _, end, is_scratch in spans)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


def _fuzz(good: bytes, folder: Path, seeds: range) -> Iterator[str]:
    for seed in seeds:
        data, is_sealed = mutated(good, random.Random(seed))
        path = folder / f"{seed}.ipuexe"  # a new file: some systems wait when one is overwritten
        path.write_bytes(data)
        try:
            application = open_package(path)
        except PackageError:
            yield "refused"
            continue
        finally:
            path.unlink()
        with application:
            if validate(application, hashes=True):
                yield "faulty contents"
                continue
            _use_all(application)
            write_package(application, folder / "again.ipuexe")
            with open_package(folder / "again.ipuexe") as again:
                assert again == application
        assert is_sealed or data == good, f"seed {seed}: damage was not noticed"
        yield "sound"


def test_mutated_packages(good: bytes, tmp_path: Path) -> None:
    outcomes = list(_fuzz(good, tmp_path, range(2000)))
    assert set(outcomes) == {"refused", "faulty contents", "sound"}
    assert outcomes.count("refused") > 1000


@pytest.mark.slow
def test_many_mutated_packages(good: bytes, tmp_path: Path) -> None:
    assert len(list(_fuzz(good, tmp_path, range(2000, 52_000)))) == 50_000


def test_any_truncation_is_refused(good: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.ipuexe"
    for length in [*range(100), *range(100, len(good), 97), len(good) - 1]:
        path.write_bytes(good[:length])
        with pytest.raises(PackageError, match=r"cut off|blobs ask for"):
            open_package(path)


def test_any_flipped_bit_is_noticed(good: bytes, tmp_path: Path) -> None:
    """In the manifest at once, in contents and the gaps between them when those are verified."""
    path = tmp_path / "a.ipuexe"
    start = -(-(_manifest_size(good) + 32) // 64) * 64
    for place in [*range(64), *range(64, len(good), 89), len(good) - 1]:
        data = bytearray(good)
        data[place] ^= 1 << place % 8
        path.write_bytes(data)
        if place < start:
            with pytest.raises(PackageError):
                open_package(path)
        else:
            with open_package(path) as application:
                assert len(validate(application, hashes=True)) == 1


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"", "cut off: it has only 0 bytes"),
        (b"\x7fELF" + bytes(100), "is no file of tilewright's"),
        (bytes(4) + b"\xff\xff\xff\xff" + bytes(100), "a message of 34,359,738,368 bytes"),
        (bytes(4) + (5).to_bytes(4, "little") + bytes(40), "cut off"),
    ],
)
def test_other_files(tmp_path: Path, start: bytes, message: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(start)
    with pytest.raises(PackageError, match=message):
        open_package(path)


def test_a_profile_is_no_package(tmp_path: Path) -> None:
    write_profile(Profile(examples.steps(), np.arange(32 * 7)), tmp_path / "a")
    with pytest.raises(PackageError, match="is a cycle profile, no package"):
        open_package(tmp_path / "a")


def _written(path: Path, fill: Callable[[Any], None]) -> Path:
    """A file with a right hash and any manifest."""
    message = encode(schema("package").Package, fill)
    data = message + hashlib.sha256(message).digest()
    path.write_bytes(data + bytes(-len(data) % 64))
    return path


def _head(root: Any) -> None:
    for name, value in (
        ("magic", int(schema("package").magic)),
        ("major", 1),
        ("architecture", 21),
        ("memoryBase", 0x4C000),
        ("memorySize", 0x9C000),
    ):
        setattr(root, name, value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("magic", 7, "is no package"),
        ("major", 2, "a package of version 2.0; this tilewright reads 1.0 to 1.0"),
        ("minor", 1, "a package of version 1.1"),
        ("architecture", 2, "architecture: the package is for another target: 0x2, not 0x15"),
        ("memoryBase", 0, "memory_base: the package is for another target"),
        ("producer", "p" * 5000, "producer: a text of 5,000 characters"),
        ("entries", b"12345", "entries: 5 bytes are no whole number of uint32"),
    ],
)
def test_wrong_heads(tmp_path: Path, name: str, value: object, message: str) -> None:
    def fill(root: Any) -> None:
        _head(root)
        setattr(root, name, value)

    with pytest.raises(PackageError, match=message):
        open_package(_written(tmp_path / "a", fill))


def test_too_many_entries(tmp_path: Path) -> None:
    def fill(root: Any) -> None:
        _head(root)
        root.init("tensors", 10_000)
        root.host.init("calls", 5000)

    with pytest.raises(PackageError) as found:
        open_package(_written(tmp_path / "a", fill))
    assert "tensors: 10,000 entries; the limit is 8,192" in str(found.value)
    assert "host.calls: 5,000 entries; the limit is 4,096" in str(found.value)


def test_uneven_columns(tmp_path: Path) -> None:
    def fill(root: Any) -> None:
        _head(root)
        root.shards.tile = bytes(6)
        root.blobs.sizes = bytes(4)

    with pytest.raises(PackageError) as found:
        open_package(_written(tmp_path / "a", fill))
    assert "shards: the columns differ in length: tensor 0, tile 3" in str(found.value)
    assert "blobs: 1 sizes and 0 bytes of digests" in str(found.value)


def test_a_manifest_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with path.open("wb") as file:
        file.write(bytes(4) + (MAX_MANIFEST // 8).to_bytes(4, "little"))
        file.truncate(2 * MAX_MANIFEST)
    with pytest.raises(PackageError, match=f"the limit is {MAX_MANIFEST:,}"):
        open_package(path)


def test_a_message_cannot_read_itself_again_and_again(tmp_path: Path) -> None:
    """Lists whose pointers all lead to the same text cost more than the message has."""

    def fill(root: Any) -> None:
        _head(root)
        for tensor in root.init("tensors", 1000):
            tensor.name = "n" * 2000

    path = _written(tmp_path / "a", fill)
    data = bytearray(path.read_bytes())
    size = _manifest_size(data)
    words = np.frombuffer(data, "<u8", size // 8).copy()
    texts = np.flatnonzero((words >> 32 == (2001 << 3 | 2)) & (words & 3 == 1))
    assert len(texts) == 1000
    target = texts[0] + 1 + (int(words[texts[0]]) >> 2 & 0x3FFFFFFF)
    words[texts] = (2001 << 3 | 2) << 32 | ((target - texts - 1).astype("<u8") << 2) | 1
    # The texts themselves are gone, so that reading them all would be a hundredfold of the message.
    last = target + 251
    words = words[:last]
    words[0] = (last - 1) << 32
    message = words.tobytes()
    path.write_bytes(message + hashlib.sha256(message).digest() + bytes(64))
    with pytest.raises(PackageError, match="Exceeded message traversal limit"):
        open_package(path)


def _calls(root: Any) -> None:
    root.host.init("entryPoints", 1)[0].calls = bytes(MAX_REST)


def _shape(root: Any) -> None:
    root.init("tensors", 1)[0].shape = bytes(MAX_REST)


def _texts(root: Any) -> None:
    """Python takes four bytes for each character of a text with one that is rare."""
    for tensor in root.init("tensors", 8000):
        tensor.name = "\U0001f600" + "n" * 600


@pytest.mark.parametrize("more", [_calls, _shape, _texts])
def test_texts_and_lists_have_a_limit(tmp_path: Path, more: Callable[[Any], None]) -> None:
    """As they take many times their bytes when they are read."""

    def fill(root: Any) -> None:
        _head(root)
        root.entries = bytes(1 << 20)  # tables do not count
        more(root)

    told = r"has [45],\d+,\d+ bytes of texts and lists in its manifest; the limit is 4,194,304"
    with pytest.raises(PackageError, match=told):
        open_package(_written(tmp_path / "a", fill))


def test_what_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    application = examples.application(Source.BLOB)
    more = tuple(
        Tensor(f"{number} {'n' * 700}", Role.INTERNAL, ElementType.F32, ())
        for number in range(6000)
    )
    shards = application.shards
    count, first = len(more), len(application.tensors)
    shards = Shards(
        np.append(shards.tensor, first + np.arange(count)),
        np.append(shards.tile, np.zeros(count, int)),
        np.append(shards.address, np.full(count, examples.STATE)),
        np.append(shards.offset, np.zeros(count, int)),
        np.append(shards.size, np.full(count, 4)),
    )
    wrong = replace(application, tensors=(*application.tensors, *more), shards=shards)
    assert validate(wrong) == ()
    with pytest.raises(PackageError, match="is not written; it has 4,656,240 bytes"):
        write_package(wrong, tmp_path / "a")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("kind", ["debug", "plan"])
def test_mutated_tables(kind: str) -> None:
    content = _content(kind)
    read = read_debug if kind == "debug" else read_profile_plan
    outcomes = set()
    for seed in range(500):
        dice = random.Random(seed)
        data = bytearray(content)
        for _ in range(dice.choice([1, 2, 5])):
            dice.choice([_flip, _number, _splice])(data, len(data), dice)
        try:
            read(bytes(data))
            outcomes.add("read")
        except PackageError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def _content(kind: str) -> bytes:
    if kind == "debug":
        return write_debug(examples.debug())
    application = examples.application()
    return application.blobs[application.profile_plan_blob].tobytes()


def test_mutated_profiles(tmp_path: Path) -> None:
    path = tmp_path / "a.ipuprof"
    write_profile(Profile(examples.steps(), np.arange(32 * 7)), path)
    good = path.read_bytes()
    for seed in range(500):
        dice = random.Random(seed)
        data = bytearray(good)
        _number(data, len(data) - 32, dice)
        is_same = bytes(data) == good
        path.write_bytes(sealed(data) if seed % 2 else data)
        try:
            found = read_profile(path)
            assert seed % 2 or is_same
            found.cycles()
        except PackageError:
            assert not is_same


def test_blobs_are_not_read_before_they_are_needed(good: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a"
    start = -(-(_manifest_size(good) + 32) // 64) * 64
    path.write_bytes(good[:start] + bytes(len(good) - start))
    with open_package(path) as application:
        assert len(validate(application, hashes=True)) == len(application.blobs.sizes)
        with pytest.raises(PackageError, match="is damaged"):
            TileImages(application)[0]
