"""Traces, read back as JSON."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.profile import synthetic
from tilewright.errors import TilewrightError
from tilewright.profile import analyse, write_trace
from tilewright.profile.trace import CHIP, TILES


def _slices(events: list[dict[str, Any]], process: int, thread: int) -> list[dict[str, Any]]:
    found = [event for event in events if event["ph"] == "X" and event["pid"] == process]
    return [event for event in found if event["tid"] == thread]


def test_tracks_of_the_chip_and_of_tiles(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_trace(analyse(synthetic.profile()), path, [5, 0])
    events = json.loads(path.read_text())["traceEvents"]
    names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names == {"critical path", "tile 0", "tile 5"}
    chip = _slices(events, CHIP, 0)
    assert [(e["name"], e["cat"]) for e in chip] == [
        ("load", "exchange"),
        ("up", "compute"),
        ("up", "compute"),
        ("down", "exchange"),
        ("down", "compute"),
    ]
    assert [e["ts"] for e in chip] == pytest.approx([0, 0.08, 0.39, 0.51, 0.58])
    assert chip[-1]["args"]["tile"] == 0
    tile = _slices(events, TILES, 6)
    assert [(e["name"], e["ts"], e["dur"]) for e in tile] == [
        ("load", 0, 0.05),
        ("up", 0.05, 0.29),
        ("waiting", 0.34, 0.17),
        ("down", 0.51, 0.07),
    ]
    assert tile[1]["args"] == {
        "cycles": 290,
        "planned": 300,
        "kernel": "gemm_f16",
        "phase": 1,
        "epoch": 0,
    }


def test_tiles_that_decide_are_drawn_if_nobody_says_which(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    write_trace(analyse(synthetic.profile()), path)
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    drawn = {event["tid"] for event in events if event["pid"] == TILES and event["ph"] == "X"}
    assert drawn == {1, 3}
    again = tmp_path / "b.json.gz"
    write_trace(analyse(synthetic.profile()), again)
    assert again.read_bytes() == path.read_bytes()


def test_a_tile_without_samples_is_refused_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match="tile 3 took no samples"):
        write_trace(analyse(synthetic.profile()), tmp_path / "a.json", [3])
    assert list(tmp_path.iterdir()) == []
