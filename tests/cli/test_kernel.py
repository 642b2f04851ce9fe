"""`tilewright kernel`: shipped ones, and one of one's own with the specification of the docs."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli.conftest import Command
from tilewright.cli.kernel import app
from tilewright.device.kernels import KernelFault
from tilewright.errors import TilewrightError

GUIDE = Path(__file__).parents[2] / "docs" / "kernels.md"

HALVE = """
  .section .text.halve_f16, "ax"
  .globl halve_f16
  .supervisor
  .align 8
halve_f16:
  setzi $m0, state
  st32 $m2, $m0, $mzero, 0
  st32 $m3, $m0, $mzero, 1
  st32 $m4, $m0, $mzero, 2
  setzi $m1, worker
  runall $m1, $m0, 0
  sync 2
  br $lr
  .section .text.worker, "ax"
  .worker
  .align 8
worker:
  get $m0, $WSR
  and $m0, $m0, 7
  brnz $m0, 3f
  ld32 $m1, $mvertex_base, $mzero, 0
  ld32 $m2, $mvertex_base, $mzero, 1
  ld32 $m3, $mvertex_base, $mzero, 2
  setzi $a4, 0.5h
  bri 2f
1:
  ld64step $a0:1, $mzero, $m2+=, 1
  f16v4mul $a2:3, $a4:BL, $a0:1
  st64step $a2:3, $mzero, $m1+=, 1
2:
  brnzdec $m3, 1b
3:
  exitz $mzero
  .section .bss.state, "aw", @nobits
  .align 4
state: .space 12
"""


HALVED_IN_A_FRAME = """
#include "vector.inc"
  VECTOR_SUPERVISOR halve_f16, m2, m3, m4
  VECTOR_WORKER halve_f16, X
  add $X, $X, $WORKER
  setzi $a6, 0.5h
.Lnext:
  NEXT_X
  f16v4mul $Z_ATOM, $a6:BL, $X_ATOM
  KEEP_Z
  add $COUNT, $COUNT, -1
  brnz $COUNT, .Lnext
  VECTOR_END halve_f16
"""


@pytest.fixture
def halve(tmp_path: Path) -> Path:
    """The assembly, and beside it the specification that the guide shows."""
    examples = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S)
    (block,) = (text for text in examples if "halve = " in text)
    (tmp_path / "halve.py").write_text(block)
    (tmp_path / "halve.S").write_text(HALVE)
    return tmp_path


def test_list_names_sizes_and_meaning(tilewright: Command) -> None:
    lines = tilewright("kernel", "list").stdout.splitlines()
    assert any(re.fullmatch(r"add_f16 n\s+z = x \+ y", line) for line in lines)
    listed = json.loads(tilewright("kernel", "list", "--json").stdout)
    (add,) = (each for each in listed if each["name"] == "add_f16")
    assert [each["register"] for each in add["operands"]] == ["$m2", "$m3", "$m4", "$m5"]


def test_run_gives_cycles_and_verdict_for_each_size(tilewright: Command) -> None:
    done = tilewright("kernel", "run", "mul_f16", "n=1,100,10000")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert all(line in Path(GUIDE.parent, "commands.md").read_text() for line in lines)


def test_a_kernel_of_ones_own(halve: Path, tilewright: Command) -> None:
    done = tilewright("kernel", "run", "halve.S", "--spec", "halve.py", "n=1,1000", "--last", "x")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("equal to the reference") == 2


def test_wrong_results_are_named(halve: Path, tilewright: Command) -> None:
    (halve / "halve.S").write_text(HALVE.replace("0.5h", "0.25h"))
    done = tilewright("kernel", "run", "halve.S", "--spec", "halve.py", "n=5", "--json")
    assert done.returncode == 1
    (trial,) = json.loads(done.stdout)
    assert trial["faults"][0].startswith("z: 5 of 5 elements are wrong: [0] ")


def test_writing_past_an_array_is_named(halve: Path, tilewright: Command) -> None:
    (halve / "halve.S").write_text(HALVE.replace("  bri 2f", "  add $m3, $m3, 1\n  bri 2f"))
    done = tilewright("kernel", "run", "halve.S", "--spec", "halve.py", "n=5")
    assert done.returncode == 1
    assert "z: memory after it was overwritten" in done.stdout


def test_overwriting_an_input_is_named(halve: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(halve)
    store = "  st64step $a2:3, $mzero, $m1+=, 1\n"
    (halve / "halve.S").write_text(HALVE.replace(store, store + "  st32 $a2, $m2, $mzero, 0\n"))
    done = CliRunner().invoke(app, ["run", "halve.S", "--spec", "halve.py", "n=16"])
    assert done.exit_code == 1
    assert "x: an input, and it was overwritten" in done.stdout


def test_frames_of_shipped_kernels_can_be_included(
    halve: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(halve)
    (halve / "halve.S").write_text(HALVED_IN_A_FRAME)
    done = CliRunner().invoke(app, ["run", "halve.S", "--spec", "halve.py", "n=1,70"])
    assert done.stdout.count("equal to the reference") == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'inputs["x"] /',
            'inputs["y"] /',
            r"its reference cannot be evaluated: KeyError: 'y' \(.*halve.py:\d+\)",
        ),
        ('{"z": inputs', '{"y": inputs', "its reference gives y; expected arrays by name, for z"),
        ("np.float16(2)}", 'np.float16(2)}["z"]', "its reference gives ndarray; expected"),
        ("/ np.float16(2)", "[1:]", r"gives z the shape \(999,\); its count says \(1000,\)"),
        (
            "3 * atoms(sizes)",
            "sizes['m']",
            "its cycles or elements cannot be evaluated: KeyError: 'm'",
        ),
        (
            'Scalar("atoms", atoms)',
            'Scalar("atoms", lambda sizes: 2.5)',
            "atoms is 2.5, but a register",
        ),
        (
            'INPUT, lambda sizes: sizes["n"]',
            'INPUT, lambda sizes: sizes["n"] / 2',
            "x is 500.0, but an array",
        ),
        ('"z", "f2"', '"z", "f9"', "halve_f16: z: NumPy has no dtype 'f9'"),
        ('"z", "f2"', '"z", "f8"', "elements have up to 4 bytes, those of f8 have 8"),
        ('(("z", "x"),)', '(("z", "q"),)', "there is no array q"),
        ("Role.RESULT", "Role.INPUT", "no array is a result"),
        ('Scalar("atoms"', 'Scalar("x"', "two operands are named x"),
        ("halve_f16", "other", r"halve.S defines no global symbol other, .*: halve_f16"),
    ],
)
def test_mistakes_in_a_specification_are_told(
    halve: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    monkeypatch.chdir(halve)
    text = (halve / "halve.py").read_text()
    assert old in text
    (halve / "halve.py").write_text(text.replace(old, new, 1))
    done = CliRunner().invoke(app, ["run", "halve.S", "--spec", "halve.py"])
    assert isinstance(done.exception, KernelFault)
    assert re.search(message, str(done.exception))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "no kernel nothing; 'tilewright kernel list' names them"),
        (["add_f16", "m=1"], "add_f16 has no size m; it has n"),
        (["add_f16", "n"], "n: expected SIZE=VALUE"),
        (["add_f16", "n=x"], "n=x: expected SIZE=VALUE"),
        (["add_f16", "n=0"], "n=0, but n is 1 to "),
        (["add_f16", "n=131072"], "does not fit into one tile"),
        (["add_f16", "--last", "q"], "add_f16 has no array q"),
        (["add_f16", "--spec", "x.py"], "--spec and --symbol are for assembly files"),
        (["halve.S"], "halve.S needs --spec"),
        (["none.S", "--spec", "halve.py"], "none.S: no such file"),
        (["halve.S", "--spec", "none.py"], "none.py is no Python file"),
        (["halve.S", "--spec", "halve.py", "--symbol", "q"], "describes halve_f16, not q"),
        (["halve.S", "--spec", "empty.py"], "empty.py holds no Kernel"),
        (["halve.S", "--spec", "broken.py"], "broken.py: ZeroDivisionError"),
    ],
)
def test_mistakes_are_told(
    halve: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(halve)
    (halve / "empty.py").write_text("")
    (halve / "broken.py").write_text("1 / 0")
    done = CliRunner().invoke(app, ["run", *arguments])
    assert isinstance(done.exception, TilewrightError)
    assert message in str(done.exception)
