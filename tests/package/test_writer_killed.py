"""A writer that is killed at any moment leaves the old file or the new one."""

import os
import random
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.package import examples
from tilewright.package import (
    Application,
    BlobBuilder,
    HostPlan,
    SegmentKind,
    Segments,
    open_package,
    write_package,
)

_KILLS, _MOST_KILLS = 40, 400


def _large(seed: int) -> Application:
    """An application with 8 MB of contents, so that writing takes a while."""
    small = examples.application()
    blobs = BlobBuilder()
    code = blobs.add(np.arange(16, dtype="<u4"))
    size = 1 << 17
    data = np.random.default_rng(seed).integers(0, 256, (examples.TILES, size), np.uint8)
    numbers = blobs.add_all(data)
    tiles = np.arange(examples.TILES)
    segments = Segments(
        tile=np.repeat(tiles, 2),
        address=np.tile([examples.START, 0x60000], examples.TILES),
        size=np.tile([64, size], examples.TILES),
        kind=np.tile([SegmentKind.CODE, SegmentKind.DATA], examples.TILES),
        blob=np.stack([np.full(examples.TILES, code), numbers], 1).reshape(-1),
        offset=np.zeros(2 * examples.TILES, int),
        data_size=np.tile([64, size], examples.TILES),
    )
    host = HostPlan(startup_mark=1)
    return Application(entries=small.entries, segments=segments, blobs=blobs.build(), host=host)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a named temporary file is left")
def test_killed_writers(tmp_path: Path) -> None:
    path = tmp_path / "a.ipuexe"
    versions = [_large(seed) for seed in range(2)]
    write_package(versions[0], path)
    begun = time.perf_counter()
    write_package(versions[0], path)
    seconds = time.perf_counter() - begun
    dice = random.Random(0)
    seen: set[int] = set()
    for kill in range(_MOST_KILLS):  # few suffice, unless the machine is busy with something else
        if kill >= _KILLS and seen == {0, 1}:
            break
        child = os.fork()
        if child == 0:
            try:
                while True:
                    for version in versions:
                        write_package(version, path)
            finally:
                os._exit(1)
        time.sleep(dice.uniform(0, 3 * seconds))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        # A file that is complete, but was not renamed yet, may be left; a part of one never is.
        for each in tmp_path.iterdir():
            with open_package(each) as found:
                found.verify()
                seen.add(next(k for k in range(2) if replace(found, digest=b"") == versions[k]))
    assert seen == {0, 1}
