"""How many lines of plain code the assembler takes per second.

The source has one instruction or bundle a line, hardly any line twice: integer code, loads and
stores, branches to labels, float bundles, and comments. It is assembled as `.s`, and as `.S` with
an include and a macro in use, which adds the preprocessor.
"""

import random
import tempfile
from functools import partial
from pathlib import Path

from tilewright.cli.bench.figure import Figure, best_seconds
from tilewright.elf.assembler import assemble_file

_LINES = 20_000
_SPECIAL_EVERY = 100
"""In the `.S` source, one line in so many uses a macro."""


def asm_figures() -> list[Figure]:
    """Assemble a generated source in both forms."""
    plain = "\n".join([".text", *_code(random.Random(0))]) + "\n"
    preprocessed = '#include "tile_defines.h"\n#define RESULT m4\n' + _with_macros(plain)
    figures = []
    with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as folder:
        for suffix, text in ((".s", plain), (".S", preprocessed)):
            path = Path(folder, "code").with_suffix(suffix)
            path.write_text(text)
            seconds = best_seconds(partial(assemble_file, path))
            name = "plain" if suffix == ".s" else "preprocessed"
            figures.append(Figure(f"asm.{name}_lines_per_second", _LINES / seconds, "1/s"))
    return figures


def _code(dice: random.Random) -> list[str]:
    return [_line(number, dice) for number in range(_LINES)]


def _line(number: int, dice: random.Random) -> str:
    def register() -> str:
        return f"$m{dice.randrange(12)}"

    match number % 10:
        case 0 | 1 | 2:
            return f"  add {register()}, {register()}, {dice.randrange(-(1 << 15), 1 << 16)}"
        case 3 | 4:
            offset = dice.randrange(1 << 12)
            return f"  ld32 {register()}, {register()}, $mzero, {offset}  // word {number}"
        case 5:
            return f"  st32 {register()}, {register()}, $mzero, {dice.randrange(1 << 12)}"
        case 6:
            step = dice.randrange(-128, 128)
            return (
                f"  {{ ld64step $a0:1, {register()}, {register()}+=, {step} ; "
                "f16v4add $a2:3, $a4:5, $a6:7 }"
            )
        case 7:
            return f".Lline{number}: brnz {register()}, .Lline{number}"
        case 8:
            return f"  shl {register()}, {register()}, {dice.randrange(32)}"
        case _:
            return f"  mov {register()}, {register()}"


def _with_macros(text: str) -> str:
    lines = text.splitlines()
    for number in range(1, len(lines), _SPECIAL_EVERY):
        lines[number] = "  mov $RESULT, $mzero"
    return "\n".join(lines) + "\n"
