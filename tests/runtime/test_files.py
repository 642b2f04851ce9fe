"""Packages as files, run in processes of their own: whatever becomes of those, nothing stays."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.package import Application, write_package
from tilewright.runtime import open_device

Numbers = NDArray[np.int32]

SCRIPT = """
import sys
import numpy as np
from tilewright.runtime import open_device

package, w, x, y = sys.argv[1:5]
runs = int(sys.argv[5])
print("started", flush=True)
with open_device() as device, device.load(package, {"layer.w": np.load(w)}) as session:
    for run in range(runs):
        result = session.run({"x": np.load(x)})
        print("ran", result.cycles, flush=True)
np.save(y, result.outputs["y"])
"""


@pytest.fixture
def files(tmp_path: Path, package: Application, w: Numbers, x: Numbers) -> list[str]:
    """Paths of the package, w, x and y."""
    paths = [tmp_path / name for name in ("sum.ipuexe", "w.npy", "x.npy", "y.npy")]
    write_package(package, paths[0])
    np.save(paths[1], w)
    np.save(paths[2], x)
    return [str(path) for path in paths]


def process(files: list[str], runs: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", SCRIPT, *files, str(runs)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )


def test_a_file_runs_in_a_fresh_process(files: list[str], w: Numbers, x: Numbers) -> None:
    """And gives what it gives here, to the bit and the cycle."""
    running = process(files, 2)
    output, errors = running.communicate(timeout=120)
    assert (running.returncode, errors) == (0, "")
    assert np.array_equal(np.load(files[3]), x + w)
    with open_device() as device:
        session = device.load(files[0], {"layer.w": np.load(files[1])})
        cycles = [session.run({"x": x}).cycles for _ in range(2)]
    assert output.split() == ["started", "ran", str(cycles[0]), "ran", str(cycles[1])]


def test_a_package_file_is_let_go_of(files: list[str], x: Numbers, w: Numbers) -> None:
    """Also if loading fails."""
    with open_device() as device:
        with device.load(files[0], {"layer.w": w}) as session:
            session.run({"x": x})
        with pytest.raises(Exception, match="expects 1 parameters"):
            device.load(files[0])
    folder = Path("/proc/self/fd")
    assert files[0] not in [str(each.resolve()) for each in folder.iterdir()]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_is_killed_leaves_nothing(
    files: list[str], number: signal.Signals, seed: int
) -> None:
    """At random points of loading and running; the process ends soon, the package stays whole."""
    random = np.random.default_rng([seed, number])
    before = Path(files[0]).read_bytes()
    running = process(files, 1_000_000)
    assert running.stdout is not None
    running.stdout.readline()
    time.sleep(float(random.uniform(0, 3)))
    running.send_signal(number)
    _, errors = running.communicate(timeout=20)
    assert running.returncode != 0
    if number == signal.SIGINT:
        assert "KeyboardInterrupt" in errors
    assert Path(files[0]).read_bytes() == before
    assert not Path(files[3]).exists()
