"""`tilewright exchange show`: phases and rows as a user sees them."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command

PHASE = "0:0x5c000 3 -> 274:0x80000, 1286:0x80000\n"


@pytest.fixture
def phase(tmp_path: Path) -> str:
    path = tmp_path / "small.phase"
    path.write_text(PHASE)
    return str(path)


def test_a_phase(tilewright: Command, phase: str) -> None:
    output = tilewright("exchange", "show", phase).stdout
    assert "1 transfers, 3 words; rows end at event 61, bound 61 (1.000)" in output
    assert "0: 3 items 0:0x5c000 → 274:0x80000 (slot 1), 1286:0x80000 (slot 1)" in output


def test_a_tile(tilewright: Command, phase: str) -> None:
    output = tilewright("exchange", "show", phase, "--tile", "274").stdout
    assert "listen to tile 0" in output
    assert "write to 0x80000" in output
    assert "64000000" in output
    assert "takes no part" in tilewright("exchange", "show", phase, "--tile", "5").stdout


def test_as_json(tilewright: Command, phase: str) -> None:
    found = json.loads(tilewright("exchange", "show", phase, "--json").stdout)
    assert (found["events"], found["bound"], found["decided_by"]) == (61, 61, [0])
    tile = json.loads(tilewright("exchange", "show", phase, "--tile", "0", "--json").stdout)
    assert tile["timeline"][0]["what"].startswith("send 3 items of 32 bits from 0x5c000")


def test_a_pattern(tilewright: Command) -> None:
    output = tilewright("exchange", "show", "gather:8").stdout
    assert "64 transfers, 512 words" in output
    assert "and 24 more (--all shows them)" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.phase"], "no file nowhere.phase"),
        (["gather:0"], "a number of words"),
        (["gather:8", "--tile", "1472"], "no tile 1472"),
    ],
)
def test_bad_input(tilewright: Command, arguments: list[str], message: str) -> None:
    failed = tilewright("exchange", "show", *arguments)
    assert failed.returncode == 1
    assert message in failed.stderr
