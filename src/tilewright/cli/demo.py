"""`tilewright demo`: the toolchain's main job on a small example, with its commands shown."""

import os
import tempfile
from pathlib import Path

from rich.console import Console

from tilewright.cli.asm import asm
from tilewright.cli.disasm import disasm
from tilewright.cli.link import link
from tilewright.device import kernel_source

_SOURCES = ("demo_add.S", "add_f16.S")


def demo() -> None:
    """Assemble, link and disassemble a shipped kernel, in a temporary folder."""
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


def _show(console: Console, arguments: str) -> None:
    console.print(f"\n[bold]$ tilewright {arguments}[/bold]")
