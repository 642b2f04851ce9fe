"""How long it takes to link the images of all tiles, which share a library of kernels.

The library has ten objects with six kernels each, of 0.5 to 4 KiB, some of which call others. Every
tile has a program of 200 words with 50 relocations, which calls a subset of the kernels that
differs from tile to tile: the least that the linker can share.
"""

import random
import time

from tilewright.cli.bench.figure import Figure
from tilewright.elf.linker import Linker
from tilewright.elf.object import (
    Binding,
    ObjectFile,
    Relocation,
    Section,
    SectionFlag,
    Symbol,
    SymbolType,
)
from tilewright.elf.relocations import RelocationType
from tilewright.target.geometry import TILES

_LIBRARY_OBJECTS = 10
_KERNELS_PER_OBJECT = 6
_KERNEL_BYTES = (512, 4096)
_KERNEL_RELOCATIONS = 6
_PROGRAM_WORDS = 200
_PROGRAM_RELOCATIONS = 50
_PROGRAM_KERNELS = (8, 20)
_CALL = (0x18A00000).to_bytes(4, "little")
"""`call $lr, 0`"""
_ENTRY = "_start"


def link_figures() -> list[Figure]:
    """Link one image per tile, segments included."""
    library = kernel_library()
    programs = [tile_program(tile) for tile in range(TILES)]
    start = time.perf_counter()
    linker = Linker(library)
    for program in programs:
        assert linker.link([program], entries=[_ENTRY]).segments
    seconds = time.perf_counter() - start
    return [
        Figure("link.images", TILES, "count"),
        Figure("link.seconds", seconds, "s"),
        Figure("link.per_second", TILES / seconds, "1/s"),
    ]


def _kernel_name(number: int) -> str:
    return f"kernel_{number}"


def kernel_library() -> list[ObjectFile]:
    """The objects that all tiles share."""
    dice = random.Random(0)
    return [_library_object(number, dice) for number in range(_LIBRARY_OBJECTS)]


def _library_object(number: int, dice: random.Random) -> ObjectFile:
    kernels = range(number * _KERNELS_PER_OBJECT, (number + 1) * _KERNELS_PER_OBJECT)
    result = ObjectFile(f"library{number}.o")
    for kernel in kernels:
        size = dice.randrange(*_KERNEL_BYTES, 8)
        # Calls go one object on and no further, so that what a call keeps stays a small part.
        calls_next = number % 2 == 0 and kernel % 2 == 0
        callees = [kernel + _KERNELS_PER_OBJECT] if calls_next else []
        _add_function(result, _kernel_name(kernel), size // 4, callees, _KERNEL_RELOCATIONS)
    return result


def tile_program(tile: int) -> ObjectFile:
    """The object of one tile, which defines `_start`."""
    dice = random.Random(tile)
    kernels = range(_LIBRARY_OBJECTS * _KERNELS_PER_OBJECT)
    callees = dice.sample(kernels, dice.randint(*_PROGRAM_KERNELS))
    result = ObjectFile(f"tile{tile}.o")
    _add_function(result, _ENTRY, _PROGRAM_WORDS, callees, _PROGRAM_RELOCATIONS)
    return result


def _add_function(
    file: ObjectFile, name: str, words: int, callees: list[int], relocations: int
) -> None:
    """A function of calls only; calls without a callee go to the function itself."""
    section = Section(
        f".text.{name}",
        flags=SectionFlag.ALLOC | SectionFlag.EXECINSTR,
        alignment=8,
        data=_CALL * words,
        size=4 * words,
    )
    function = Symbol(
        name, section, size=section.size, binding=Binding.GLOBAL, type=SymbolType.FUNC
    )
    targets = [_callee(file, callee) for callee in callees] or [function]
    section.relocations = [
        Relocation(4 * index, RelocationType.ABS_19_S2, targets[index % len(targets)])
        for index in range(relocations)
    ]
    file.sections.append(section)
    file.symbols.append(function)


def _callee(file: ObjectFile, kernel: int) -> Symbol:
    symbol = Symbol(_kernel_name(kernel), binding=Binding.GLOBAL)
    file.symbols.append(symbol)
    return symbol
