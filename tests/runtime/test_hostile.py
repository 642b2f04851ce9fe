"""Mutated packages are refused, or run to an end: with results or with an error, in bounded time.

Beside what tests/package mutates, code and packets are: whoever makes a package may put anything
into it, so the emulated device has to stand everything.
"""

import hashlib
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.driver import programs
from tests.package.test_hostile import mutated, sealed
from tilewright.errors import TilewrightError
from tilewright.package import Application, SegmentKind, Source, open_package, write_package
from tilewright.runtime import Limits, open_device

LIMITS = Limits(mark=2e-4, completion=2e-4)
"""300,000 cycles; the program takes 11,000."""
_WORD_BITS, _HALF = 32, 0xFFFF


def _executed(application: Application) -> list[bytes]:
    """The contents of all code and packets, each once."""
    segments = application.segments
    kinds = (SegmentKind.CODE, SegmentKind.PACKETS)
    numbers = np.unique(segments.blob[np.isin(segments.kind, kinds)]).tolist()
    return [application.blobs[number].tobytes() for number in numbers]


def _with_other_words(good: bytes, contents: list[bytes], dice: random.Random) -> bytes:
    """A sound file, some of whose code or packets is something else."""
    data = bytearray(good)
    for content in dice.sample(contents, dice.choice([1, 1, 2, 3])):
        new = np.frombuffer(bytearray(content), "<u4").copy()
        place = dice.randrange(len(new))
        word = int(new[place])
        new[place] = dice.choice(
            [
                word ^ 1 << dice.randrange(_WORD_BITS),
                word & ~_HALF | dice.getrandbits(16),
                dice.getrandbits(_WORD_BITS),
                int(dice.choice(new)),
            ]
        )
        changed = new.tobytes()
        data = data.replace(content, changed)
        data = data.replace(hashlib.sha256(content).digest(), hashlib.sha256(changed).digest())
    return bytes(sealed(data))


def _outcomes(folder: Path, seeds: range) -> Counter[str]:
    path = folder / "a.ipuexe"
    write_package(programs.application(parameters=Source.BLOB), path)
    good = path.read_bytes()
    with open_package(path) as application:
        contents = _executed(application)
    found: Counter[str] = Counter()
    for seed in seeds:
        dice = random.Random(seed)
        data = mutated(good, dice)[0] if seed % 4 == 0 else _with_other_words(good, contents, dice)
        path.write_bytes(data)
        found[_outcome(path)] += 1
    return found


def _outcome(path: Path) -> str:
    """Nothing but our own errors is caught."""
    try:
        with open_device(limits=LIMITS) as device, device.load(path) as session:
            inputs = {each.name: np.ones(each.shape, each.element.dtype) for each in session.inputs}
            for _ in range(2):
                session.run(inputs)
    except TilewrightError as error:
        return type(error).__name__
    return "ran"


def test_mutated_packages_end(tmp_path: Path) -> None:
    found = _outcomes(tmp_path, range(40))
    assert found.keys() >= {"ran", "TileError", "DeviceHang", "PackageError"}


@pytest.mark.slow
def test_many_mutated_packages_end(tmp_path: Path) -> None:
    assert _outcomes(tmp_path, range(40, 4000)).total() == 3960
