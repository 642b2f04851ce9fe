"""Kernels and functions of the runtime, linked for the tiles that call them."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from tilewright.codegen.emit.memory import CODE_REGIONS, KERNEL_STATE, Region
from tilewright.device.kernels import KERNELS
from tilewright.device.runtime import RUNTIME, RUNTIME_VALUES
from tilewright.elf.arenas import Arena
from tilewright.elf.assembler import assemble_file
from tilewright.elf.image import Image
from tilewright.elf.linker import Linker
from tilewright.elf.object import ObjectFile

_ALIGNMENT = 8
"""Programs start at even words."""


class Toolchain(Protocol):
    """Makes objects of assembly. Raises `TilewrightError`."""

    def __call__(self, source: Path) -> ObjectFile: ...


@lru_cache(maxsize=64)
def assembled(source: Path) -> ObjectFile:
    """The object of a source file, by our assembler."""
    return assemble_file(source).object


class Library:
    """The runtime and all kernels that a program calls; each tile links what it calls itself."""

    def __init__(
        self,
        symbols: Iterable[str],
        runtime: Path = RUNTIME,
        toolchain: Toolchain = assembled,
    ) -> None:
        """`symbols` are those of kernels that any tile calls."""
        wanted = set(symbols)
        sources = sorted({each.source for each in KERNELS.values() if each.symbol in wanted})
        arenas = [
            Arena("state", *KERNEL_STATE),
            *(
                Arena(f"code{number}", *region, is_executable=True)
                for number, region in enumerate(CODE_REGIONS)
            ),
        ]
        objects = [toolchain(source) for source in (runtime, *sources)]
        self._linker = Linker(objects, arenas=arenas, absolutes=RUNTIME_VALUES)
        self._images: dict[tuple[str, ...], Image] = {}

    def image(self, symbols: Iterable[str]) -> Image:
        """Of these functions; those who ask for the same get the same. Raises `LinkError`."""
        wanted = tuple(sorted(set(symbols)))
        if wanted not in self._images:
            self._images[wanted] = self._linker.link(entries=wanted)
        return self._images[wanted]


@lru_cache(maxsize=64)
def regions_behind(image: Image) -> Sequence[Region]:
    """What of the regions of code is free behind an image."""
    low, high = KERNEL_STATE
    end = max(
        section.address + section.size
        for section in image.sections
        if not low <= section.address < high
    )
    start = -(-end // _ALIGNMENT) * _ALIGNMENT
    return [(max(low, start), high) for low, high in CODE_REGIONS if high > start]
