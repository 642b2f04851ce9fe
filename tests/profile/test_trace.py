"""Traces, read back as JSON."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.profile import synthetic
from tilewright.errors import TilewrightError
from tilewright.package import NONE, ListOfTiles, Profile, StepKind, Steps, StepTable
from tilewright.profile import By, analyse, grouped, write_trace
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


# -- the public format ----------------------------------------------------------------------------

PICOSECOND = 1.5e-6
"""To which times, in microseconds, are rounded, and a little more."""
METADATA: dict[str, type] = {
    "process_name": str,
    "process_sort_index": int,
    "thread_name": str,
    "thread_sort_index": int,
}


def check_format(text: bytes) -> list[dict[str, Any]]:
    """The complete events of a trace, if it is one by the Trace Event Format's object form.

    Complete events of a thread have to lie within each other if they overlap; ours follow each
    other.
    """
    trace = json.loads(text, parse_constant=_refuse)
    assert trace["displayTimeUnit"] in ("ms", "ns")
    assert all(isinstance(each[name], int) for each in trace["traceEvents"] for name in _TRACK)
    metadata = [each for each in trace["traceEvents"] if each["ph"] == "M"]
    complete = [each for each in trace["traceEvents"] if each["ph"] == "X"]
    assert len(metadata) + len(complete) == len(trace["traceEvents"])
    for event in metadata:
        [value] = event["args"].values()
        assert isinstance(value, METADATA[event["name"]])
    names = [each["name"] for each in metadata]
    processes = {e["pid"] for e, name in zip(metadata, names, strict=True) if name[:7] == "process"}
    threads = {_track(e) for e, name in zip(metadata, names, strict=True) if name == "thread_name"}
    ends: dict[tuple[int, ...], float] = {}
    for event in complete:
        assert isinstance(event["name"], str)
        assert isinstance(event["cat"], str)
        assert isinstance(event.get("args", {}), dict)
        assert event["ts"] >= ends.get(_track(event), 0) - PICOSECOND
        assert event["dur"] >= 0
        ends[_track(event)] = event["ts"] + event["dur"]
    assert ends.keys() <= threads
    assert {process for process, _ in ends} <= processes
    return complete


_TRACK = ("pid", "tid")


def _track(event: dict[str, Any]) -> tuple[int, ...]:
    return tuple(event[name] for name in _TRACK)


def _refuse(constant: str) -> float:
    raise AssertionError(f"{constant} is no JSON")


def _random_profile(seed: int) -> Profile:
    """Of steps in any order, with counters that wrap; some take no time, some are not planned."""
    random = np.random.default_rng(seed)
    tiles, lists, count = int(random.integers(1, 9)), 3, int(random.integers(0, 30))
    table = StepTable(
        list=np.sort(random.integers(0, lists, count)),
        phase=random.integers(0, 4, count),
        epoch=random.integers(0, 2, count),
        kind=random.integers(0, len(StepKind), count),
        operation=random.integers(0, 2, count),
        kernel=random.choice([0, 1, NONE], count),
        planned=random.choice([0, 10, 300, NONE], count),
    )
    steps = Steps(
        strings=('a\n"b"', "é\x00"),
        tiles=ListOfTiles(np.sort(random.permutation(1472)[:tiles]), random.integers(0, 3, tiles)),
        table=table,
    )
    samples = [
        (int(random.integers(2**32)) + np.cumsum(random.integers(0, 400, each + 1))) % 2**32
        for each in steps.counts.tolist()
    ]
    return Profile(steps, np.concatenate(samples), int(random.choice([0, 1, 1_330_000_000])))


@pytest.mark.parametrize("seed", range(30))
def test_traces_are_what_the_format_asks_for(tmp_path: Path, seed: int) -> None:
    analysis = analyse(_random_profile(seed))
    path = tmp_path / "a.json"
    write_trace(analysis, path, analysis.steps.tiles.tile.tolist())
    events = check_format(path.read_bytes())
    drawn = [each for each in events if each["pid"] == TILES and each["cat"] != "waiting"]
    assert len(drawn) == len(analysis.taken.tile)
    total = sum(each["dur"] for each in events if each["pid"] == CHIP)
    assert total == pytest.approx(analysis.microseconds, abs=1e-4)


def test_a_profile_of_nothing(tmp_path: Path) -> None:
    analysis = analyse(Profile())
    write_trace(analysis, tmp_path / "a.json")
    assert check_format((tmp_path / "a.json").read_bytes()) == []
    assert (analysis.cycles, analysis.utilisation) == (0, 0)
    assert all(grouped(analysis, by) == [] for by in By)
    with pytest.raises(TilewrightError, match="tile 0 took no samples; no tile did"):
        write_trace(analysis, tmp_path / "a.json", [0])
