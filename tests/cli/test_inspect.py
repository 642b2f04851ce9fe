"""`tilewright inspect` and `diff`, as a user sees them."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.package import examples
from tilewright.package import Source, write_package


@pytest.fixture
def package(tmp_path: Path) -> str:
    path = tmp_path / "a.ipuexe"
    write_package(examples.application(), path)
    return str(path)


def test_summary(tilewright: Command, package: str) -> None:
    shown = tilewright("inspect", package, "--verify")
    assert shown.returncode == 0
    assert "producer  tilewright test" in shown.stdout
    assert "tensors   5 in 320 shards" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--tiles"], "tile    1 (logical   90)  entry 0x4c014     4 segments"),
        (
            ["--bindings"],
            "parameter  w: f16 64 × 8  1,024 bytes in 64 shards on 64 tiles  from file",
        ),
        (["--memory", "3"], "0x60000–0x60010       16    'x' from byte 48 on"),
        (["--symbols"], "0x4c010      16  _start  (code 0, 64 tiles)"),
    ],
)
def test_views(tilewright: Command, package: str, arguments: list[str], line: str) -> None:
    assert line in tilewright("inspect", package, *arguments).stdout
    rows = json.loads(tilewright("inspect", package, *arguments, "--json").stdout)
    assert isinstance(rows, list)
    assert rows


def test_as_json(tilewright: Command, package: str) -> None:
    found = json.loads(tilewright("inspect", package, "--json").stdout)
    assert found["blobs"]["count"] == 68
    assert [each["name"] for each in found["tensors"]] == ["x", "y", "w", "k", "profile.cycles"]
    assert found["calls"][1]["phases"] == 3
    assert found["completion"] == {"address": 0x58000, "value": 1}
    assert found["tiles"][63]["entry"] == 0x4C014


def test_faults(tilewright: Command, package: str, tmp_path: Path) -> None:
    failed = tilewright("inspect", package, "--memory", "64")
    assert failed.returncode == 1
    assert "has no tile 64; physical ids are 0 to 63" in failed.stderr
    assert "one of --tiles" in tilewright("inspect", package, "--tiles", "--symbols").stderr
    data = bytearray(Path(package).read_bytes())
    data[-1] ^= 1
    (tmp_path / "b.ipuexe").write_bytes(data)
    failed = tilewright("inspect", "b.ipuexe", "--verify")
    assert failed.returncode == 1
    assert "b.ipuexe is damaged\n  blobs[67]: the content does not have its hash" in failed.stderr


def test_diff(tilewright: Command, package: str, tmp_path: Path) -> None:
    same = tilewright("diff", package, package)
    assert (same.returncode, same.stdout) == (0, "")
    write_package(examples.application(Source.BLOB), tmp_path / "b.ipuexe")
    other = tilewright("diff", package, "b.ipuexe")
    assert other.returncode == 1
    assert other.stdout.startswith("tensor 'w': source_name encoder.w →")
    assert tilewright("diff", package, "missing").returncode == 1
