"""Assembly or objects to a running kernel: assemble, link, load into one emulated tile, call.

>>> import numpy as np
>>> from tilewright.device import Output, kernel_source, run_kernel
>>> x = np.arange(8, dtype=np.float16)
>>> run = run_kernel([kernel_source("add_f16.S")], "add_f16", [Output((8,), "f2"), x, x, 2])
>>> run.arrays[0]
array([ 0.,  2.,  4.,  6.,  8., 10., 12., 14.], dtype=float16)
>>> run.cycles
181
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from tilewright.elf.archive import read_inputs
from tilewright.elf.assembler import assemble_file
from tilewright.elf.headers import ObjectError
from tilewright.elf.image import Image
from tilewright.elf.lines import LineTable, read_line_table
from tilewright.elf.linker import Linker
from tilewright.elf.object import FileType, ObjectFile
from tilewright.emulator.engines import Engine
from tilewright.emulator.images import ImageError, Piece, TileImage
from tilewright.emulator.kernel import DEFAULT_CYCLE_LIMIT, KernelRun, Operand
from tilewright.emulator.kernel import run_kernel as run_image

_ASSEMBLY = (".S", ".s")
_FRAMES = Path(__file__).parent / "kernels"
"""Where a kernel finds frames such as `vector.inc`, wherever it lies itself."""


def run_kernel(
    inputs: Sequence[Path | ObjectFile],
    symbol: str,
    operands: Sequence[Operand],
    *,
    addresses: Sequence[int | None] | None = None,
    cycle_limit: int = DEFAULT_CYCLE_LIMIT,
    engine: Engine = Engine.LLVM,
) -> KernelRun:
    """Run the kernel `symbol` on one emulated tile.

    `inputs` are assembly files, object files or archives, and objects. `operands` go to `$m2`,
    `$m3`, …: arrays (copied to the tile, passed by address), `Output`s, and numbers. Raises
    `TilewrightError` of the step that fails: assembling, linking, or running.
    """
    objects = [each for entry in inputs for each in _objects(entry)]
    image = tile_image(Linker(objects).link(entries=[symbol]))
    return run_image(
        image, symbol, operands, addresses=addresses, cycle_limit=cycle_limit, engine=engine
    )


def assemble_kernel(source: Path) -> ObjectFile:
    """The object of a kernel's assembly, which may include the frames of shipped ones."""
    return assemble_file(source, include_folders=[_FRAMES]).object


def tile_image(image: Image) -> TileImage:
    """A linked image as what an emulated tile loads; its entry is the link's first."""
    pieces = tuple(Piece(segment.address, segment.data) for segment in image.segments)
    symbols = {symbol.name: symbol.address for symbol in image.symbol_list}
    entry = next(iter(image.entries.values()))
    return TileImage(pieces, entry, symbols, _SourceLines(image.to_object).find)


def executable_image(executable: ObjectFile) -> TileImage:
    """A linked executable, read from a file, as what an emulated tile loads.

    Raises `ImageError` for an object that is not linked.
    """
    if executable.type != FileType.EXECUTABLE:
        raise ImageError(f"{executable.name} is not linked; 'tilewright link' makes an executable")
    pieces = tuple(
        Piece(section.address, section.data or bytes(section.size))
        for section in executable.sections
        if section.is_allocated and section.size
    )
    symbols = {symbol.name: symbol.value for symbol in executable.symbols if symbol.name}
    lines = _SourceLines(lambda: executable)
    return TileImage(pieces, executable.entry, symbols, lines.find)


class _SourceLines:
    """The line information of an executable, which is made and read when it is first needed."""

    def __init__(self, executable: Callable[[], ObjectFile]) -> None:
        self._make = executable

    def find(self, address: int) -> str:
        """`file:line` of the code at an address, "" if unknown or if the information is broken."""
        try:
            for section in self._executable.sections:
                if section.is_executable and 0 <= address - section.address < section.size:
                    found = self._table.find(section, address - section.address)
                    return f"{found[0]}:{found[1]}" if found else ""
        except ObjectError:
            pass
        return ""

    @cached_property
    def _executable(self) -> ObjectFile:
        return self._make()

    @cached_property
    def _table(self) -> LineTable:
        return read_line_table(self._executable)


def _objects(entry: Path | ObjectFile) -> list[ObjectFile]:
    if isinstance(entry, ObjectFile):
        return [entry]
    if entry.suffix in _ASSEMBLY:
        return [assemble_kernel(entry)]
    return read_inputs(entry)
