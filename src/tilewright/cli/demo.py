"""`tilewright demo`: what the toolchain can do so far, on a small example with its commands."""

import os
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console

from tilewright.cli.asm import asm
from tilewright.cli.disasm import disasm
from tilewright.cli.link import link
from tilewright.device import Output, kernel_source, run_kernel

_ATOMS = 64
_RUN_CODE = """\
  run = run_kernel([Path("add_f16.o")], "add_f16", [Output(left.shape, "f2"), left, right, 64])"""
_SOURCES = ("demo_add.S", "add_f16.S")


def demo() -> None:
    """Assemble, link, disassemble and run a shipped kernel, in a temporary folder."""
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory(prefix="tilewright-demo-") as folder:
        for name in _SOURCES:
            Path(folder, name).write_bytes(kernel_source(name).read_bytes())
        start = Path.cwd()
        os.chdir(folder)
        try:
            _run_in_folder(console)
        finally:
            os.chdir(start)


def _run_in_folder(console: Console) -> None:
    console.print("A kernel that adds half-precision vectors on six workers, and a caller for it:")
    objects = [Path(name).with_suffix(".o") for name in _SOURCES]
    for name, output in zip(_SOURCES, objects, strict=True):
        _show(console, f"asm {name} -o {output}")
        asm(Path(name), output)
    _show(console, "link demo_add.o add_f16.o -o add.elf --map add.map")
    link(objects, Path("add.elf"), map_file=Path("add.map"))
    _show(console, "disasm add.elf")
    disasm(Path("add.elf"))
    console.print("\nThe link map, add.map:\n")
    print(Path("add.map").read_text())
    _run_on_tile(console)


def _run_on_tile(console: Console) -> None:
    """Call the kernel on an emulated tile and compare with NumPy."""
    left = np.linspace(-4, 4, 4 * _ATOMS).astype(np.float16)
    right = np.float16(1) / (np.arange(4 * _ATOMS, dtype=np.float16) + np.float16(1))
    console.print("The kernel on an emulated tile, with NumPy arrays as operands:\n")
    console.print(_RUN_CODE)
    run = run_kernel(
        [Path("add_f16.o")], "add_f16", [Output(left.shape, "f2"), left, right, _ATOMS]
    )
    result = run.arrays[0]
    assert result is not None
    agreement = "equal to" if np.array_equal(result, left + right) else "NOT equal to"
    console.print(f"\n{result.size} elements in {run.cycles} cycles, {agreement} NumPy's sum")
    print(f"last four: {left[-4:]} + {right[-4:]} = {result[-4:]}")


def _show(console: Console, arguments: str) -> None:
    console.print(f"\n[bold]$ tilewright {arguments}[/bold]")
