"""Steps, plans and profiles."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.package import examples
from tilewright.package import (
    NONE,
    Activities,
    ListOfTiles,
    PackageError,
    Profile,
    ProfilePlan,
    Steps,
    read_profile,
    write_profile,
    write_profile_plan,
)
from tilewright.package.steps import read_profile_plan

STEPS = examples.steps()


def test_plans() -> None:
    plan = ProfilePlan(STEPS, "counters")
    assert read_profile_plan(write_profile_plan(plan)) == plan


def test_steps_of_tiles() -> None:
    assert STEPS.counts.tolist() == [2, 3] * 32
    assert [STEPS.steps_of(tile) for tile in (0, 1, 63, 64)] == [
        range(2),
        range(2, 5),
        range(2, 5),
        range(0),
    ]
    some = replace(STEPS, tiles=ListOfTiles([2, 5], [1, 1]))
    assert [len(some.steps_of(tile)) for tile in (0, 2, 3, 5, 6)] == [0, 3, 0, 3, 0]
    assert STEPS.string(int(STEPS.table.kernel[1])) == "add_f16"
    assert STEPS.string(NONE) is None


def _profile() -> Profile:
    """Tile t starts at sample 2**32 - 10; its k-th step takes 100 t + k + 1 cycles."""
    samples = []
    for tile in range(examples.TILES):
        taken = [100 * tile + step + 1 for step in range(3 if tile % 2 else 2)]
        samples.append(np.cumsum([2**32 - 10, *taken]) % 2**32)
    return Profile(STEPS, np.concatenate(samples), 1_500_000_000, bytes(32), "test")


def test_cycles_wrap() -> None:
    profile = _profile()
    assert profile.cycles()[:7].tolist() == [1, 2, 101, 102, 103, 201, 202]
    assert len(profile.cycles()) == 32 * 5
    assert profile.cycles_of(0).tolist() == [1, 2]
    assert profile.cycles_of(63).tolist() == [6301, 6302, 6303]
    assert profile.cycles_of(64).tolist() == []


def test_profiles(tmp_path: Path) -> None:
    path = tmp_path / "a.ipuprof"
    write_profile(_profile(), path)
    assert read_profile(path) == _profile()
    assert path.read_bytes()[16:24] == b"IPUPROF\0"
    empty = Profile(Steps())
    write_profile(empty, path)
    assert read_profile(path) == empty
    assert empty.cycles().tolist() == []


def test_samples_match_steps() -> None:
    with pytest.raises(ValueError, match="has 224 samples, not 3"):
        Profile(STEPS, [1, 2, 3])


def test_faults(tmp_path: Path) -> None:
    wrong = replace(
        STEPS,
        tiles=ListOfTiles([1, 1472], [0, 0]),
        table=replace(STEPS.table, kind=[9, 0, 0, 0, 0], kernel=[77] * 5),
        activities=Activities([9], [0], [5], [4]),
    )
    with pytest.raises(PackageError) as found:
        write_profile(Profile(wrong, [0] * 6), tmp_path / "a")
    shown = [str(fault) for fault in found.value.faults]
    assert "steps.tiles[1].tile: 1472 does not exist; there are 1472" in shown
    assert "steps[0].kind: 9 does not exist; there are 5" in shown
    assert "steps[4].kernel: 77 does not exist; there are 5" in shown
    assert "steps.activities[0].activity_step: 9 does not exist; there are 5" in shown
    assert "steps.activities[0]: it ends before it starts" in shown
    assert list(tmp_path.iterdir()) == []


def test_damaged_profiles(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_profile(_profile(), path)
    good = path.read_bytes()
    for data, message in (
        (good[:-1], "is damaged"),
        (good + b"x", "is damaged"),
        (good[:-1] + bytes([good[-1] ^ 1]), "does not have the hash"),
        (b"\x7fELF" + good, "is no file of tilewright's"),
        (b"", "cut off"),
    ):
        path.write_bytes(data)
        with pytest.raises(PackageError, match=message):
            read_profile(path)
