"""`tilewright emulate` and `bench` as a user meets them."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Command
from tilewright.device import kernel_source


@pytest.fixture
def image(tilewright: Command, tmp_path: Path) -> str:
    """The shipped demonstration, linked."""
    for name in ("demo_add.S", "add_f16.S"):
        (tmp_path / name).write_bytes(kernel_source(name).read_bytes())
        assert tilewright("asm", name).returncode == 0
    linked = tilewright("link", "demo_add.o", "add_f16.o", "-o", "add.elf")
    assert linked.returncode == 0, linked.stderr
    return "add.elf"


def test_the_sum_is_in_memory_at_the_end(tilewright: Command, image: str) -> None:
    result = tilewright("emulate", image, "--dump", "sum:16", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    outcome = json.loads(result.stdout)
    assert outcome["end"] == "stopped"
    assert [each["exception"] for each in outcome["stopped"]] == ["PBRK0"]
    total = np.frombuffer(bytes.fromhex(outcome["memory"][0]["bytes"]), np.float16)
    # An infinite half is clipped to the largest finite one where NANOO is off.
    assert total.tolist() == [1.5, 2.5, 3.5, 4.5, 4.0, 4.0, 3.0, 65504.0]


def test_engines_agree_on_cycles_and_memory(tilewright: Command, image: str) -> None:
    outputs = [
        tilewright("emulate", f"{image}@0-3", "--engine", engine, "--dump", "sum:16@3").stdout
        for engine in ("llvm", "reference")
    ]
    assert outputs[0] == outputs[1]
    assert "stopped: tiles 0-3" in outputs[0]


def test_the_number_of_threads_changes_nothing(tilewright: Command, image: str) -> None:
    outputs = [
        tilewright("emulate", f"{image}@0-63", "--threads", count, "--dump", "sum:16@63").stdout
        for count in ("1", "2", "5")
    ]
    assert outputs[0] == outputs[1] == outputs[2]
    assert "stopped: tiles 0-63" in outputs[0]


def test_a_trace_shows_one_tile(tilewright: Command, image: str) -> None:
    result = tilewright("emulate", f"{image}@0-1", "--trace", "1", "--json")
    assert result.returncode == 0, result.stderr
    outcome = json.loads(result.stdout)
    trace = outcome["trace"]
    assert {each["tile"] for each in trace} == {1}
    assert {each["context"] for each in trace} == set(range(7))
    assert [each["text"].split()[0] for each in trace[:5]] == ["setzi"] * 4 + ["call"]
    assert trace[3]["registers"] == {"$m5": 2}
    assert [each["cycle"] for each in trace] == sorted(each["cycle"] for each in trace)
    text = tilewright("emulate", f"{image}@0-1", "--trace", "1").stdout
    assert len(text.splitlines()) > len(trace)
    assert any("f16v4add" in line for line in text.splitlines())


def test_faults_are_told_and_fail(tilewright: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.s").write_text(
        ".supervisor\n.globl _start\n_start:\n ld32 $m0, $mzero, $mzero, 0\n"
    )
    assert tilewright("asm", "bad.s").returncode == 0
    assert tilewright("link", "bad.o", "-o", "bad.elf").returncode == 0
    result = tilewright("emulate", "bad.elf")
    assert result.returncode == 1
    fault = "INVALID_ADDR: 0x0 is outside tile memory"
    assert fault in result.stdout
    assert "at 'ld32 $m0, $m15, $m15, 0', in _start (bad.s:4)" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add_f16.o"], "is not linked"),
        (["add.elf@2-1"], "first to last"),
        (["add.elf@x"], "expected FILE@TILE"),
        (["add.elf", "--entry", "nope"], "no symbol nope"),
        (["add.elf", "--dump", "sum"], "expected PLACE:BYTES"),
        (["add.elf", "--dump", "nope:4"], "no symbol nope"),
        (["add.elf", "--dump", "0:4"], "do not lie in tile memory"),
        (["add.elf@5", "--tiles", "4"], "is for tile 5"),
        (["add.elf", "--trace", "1"], "tile 1 has no program"),
    ],
)
def test_bad_arguments(tilewright: Command, image: str, arguments: list[str], message: str) -> None:
    result = tilewright("emulate", *arguments)
    assert result.returncode == 1
    assert result.stderr.startswith("error: ")
    assert message in result.stderr


def test_benchmarks_give_named_figures(tilewright: Command) -> None:
    result = tilewright("bench", "isa", "--json")
    assert result.returncode == 0, result.stderr
    figures = json.loads(result.stdout)
    assert [set(figure) for figure in figures] == [{"name", "value", "unit"}] * len(figures)
    assert [figure["name"] for figure in figures] == [
        "isa.decode_tile",
        "isa.decode_words_per_second",
    ]
    unknown = tilewright("bench", "nothing")
    assert unknown.returncode == 1
    assert "no benchmark 'nothing'; there are: isa, asm, link, emulator" in unknown.stderr
