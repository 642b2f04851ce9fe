"""Cycle profiles (`.ipuprof`): the samples that a program's tiles took, with what they mean."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.files import FileError, open_at_once, write_atomically
from tilewright.package.blobs import DIGEST_BYTES
from tilewright.package.checks.rows import check_number, check_text
from tilewright.package.faults import FaultList, PackageError
from tilewright.package.message import HEAD_BYTES, decoding, encode, message_bytes, schema
from tilewright.package.sealing import check_version, sealed, unsealed
from tilewright.package.steps import Steps, check_steps, get_steps, put_steps, raise_faults
from tilewright.package.tables import U32, Column, rows_of

MAJOR, MINOR = 1, 0
_LIMIT = 1 << 27
_MAX_CLOCK = (1 << 64) - 1
_WORD = np.dtype("<u4")


@dataclass(frozen=True, eq=False)
class Profile:
    """Samples of a run, in the order of `steps.tiles`, one more for each tile than it has steps.

    Samples are cycle counters of 32 bits, which wrap around. `clock` is in hertz, 0 for unknown;
    `package` is the digest of the package that ran, or empty. Raises `ValueError` if the number of
    samples does not match the steps.
    """

    steps: Steps = field(default_factory=Steps)
    samples: Column[np.uint32] = Column(np.uint32)
    clock: int = 0
    package: bytes = b""
    producer: str = ""

    def __post_init__(self) -> None:
        expected, found = _expected(self.steps), len(self.samples)
        if found != expected:
            raise ValueError(f"a profile with these steps has {expected} samples, not {found}")

    def cycles(self) -> U32:
        """The cycles that each step of each tile took, tile after tile, `counts` of them each."""
        taken = np.diff(self.samples)  # wraps as the counters do
        last = np.cumsum(self.steps.counts + 1)[:-1] - 1
        return np.delete(taken, last)

    def cycles_of(self, tile: int) -> U32:
        """The cycles of each step of one tile, in the order of `steps.steps_of(tile)`."""
        rows = rows_of(self.steps.tiles.tile, tile)
        if not rows:
            return np.empty(0, _WORD)
        starts = _starts(self.steps)
        return np.diff(self.samples[starts[rows.start] : starts[rows.stop]])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Profile):
            return NotImplemented
        names = ("steps", "clock", "package", "producer")
        return np.array_equal(self.samples, other.samples) and all(
            getattr(self, name) == getattr(other, name) for name in names
        )

    __hash__ = None  # type: ignore[assignment] # arrays have no hash


def write_profile(profile: Profile, path: Path) -> None:
    """Write a profile, whole or not at all. Raises `PackageError` and `FileError`."""
    faults = check_steps(profile.steps)
    check_text(faults, "producer", profile.producer)
    check_number(faults, "clock", profile.clock, _MAX_CLOCK)
    raise_faults(str(path), faults)
    magic = int(schema("steps").magic)

    def fill(root: Any) -> None:
        root.magic, root.major, root.minor = magic, MAJOR, MINOR
        root.producer = profile.producer
        root.package = profile.package
        root.clockHz = profile.clock
        root.samples = profile.samples.tobytes()
        put_steps(root.steps, profile.steps)

    message = encode(schema("steps").Profile, fill)
    if len(message) > _LIMIT:
        raise PackageError(f"{path}: {len(message):,} bytes of profile; the limit is {_LIMIT:,}")
    write_atomically(path, sealed(message))


def read_profile(path: Path) -> Profile:
    """Read a profile. Raises `PackageError` and `FileError`."""
    what = str(path)
    message = unsealed(_whole(path, what), what, _LIMIT)
    faults = FaultList()
    with decoding(schema("steps").Profile, message, what, faults) as root:
        check_version(root, int(schema("steps").magic), (MAJOR, MINOR), what, "profile")
        steps = get_steps(root.child("steps"))
        samples = root.column("samples", _WORD)
        clock, package, producer = (
            root.number("clock_hz"),
            root.data("package"),
            root.text("producer"),
        )
    raise_faults(what, faults or check_steps(steps))
    if len(samples) != _expected(steps):
        raise PackageError(
            f"{what}: its steps ask for {_expected(steps)} samples; it has {len(samples)}"
        )
    return Profile(steps, samples, clock, package, producer)


def _whole(path: Path, what: str) -> bytes:
    """A file, or of one that is too long so much that this shows."""
    try:
        with open(path, "rb", opener=open_at_once) as file:
            head = file.read(HEAD_BYTES)
            size = message_bytes(head, what, _LIMIT) + DIGEST_BYTES
            return head + file.read(size - HEAD_BYTES + 1)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from error


def _starts(steps: Steps) -> npt.NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(steps.counts.astype(np.int64) + 1)])


def _expected(steps: Steps) -> int:
    return int(_starts(steps)[-1])
