"""The register files of a tile and the names of registers in text.

`$m` registers hold integers and addresses, `$a` registers arithmetic values (workers only). Groups
start at a multiple of their size. Evidence: public compiler tests; docs/assembly.md.
"""

import re
from typing import Final

FILE_SIZE = 16
"""Encodable registers of each file."""
MZERO = 15
"""$m15: reads 0, writes are discarded."""
AZERO = 15
"""$a15; with $a14 it is the zero pair."""
AZEROS = 14

NAMES: Final = {
    "$bp": ("m", 8, 1),
    "$fp": ("m", 9, 1),
    "$lr": ("m", 10, 1),
    "$sp": ("m", 11, 1),
    "$mworker_base": ("m", 12, 1),
    "$mvertex_base": ("m", 13, 1),
    "$mzero": ("m", MZERO, 1),
    "$azero": ("a", AZERO, 1),
    "$azeros": ("a", AZEROS, 2),
    **{f"$ap{i}": ("a", 2 * i, 2) for i in range(7)},
    # Pair names past the zero pair parse in the vendor's assembler and all mean $a14:15.
    **{f"$ap{i}": ("a", AZEROS, 2) for i in range(7, 16)},
    **{f"$aq{i}": ("a", 4 * i, 4) for i in range(4)},
    "$aq15": ("a", 12, 4),
}
"""Alias → (file, first register, registers)."""

_REGISTER = re.compile(r"\$([ma])(0|[1-9]\d?)(?::(0|[1-9]\d?))?")


class RegisterError(ValueError):
    """A name that has the form of a register but denotes none; the message tells why."""


def parse_register(text: str, allow_misaligned: bool = False) -> tuple[str, int, int] | None:
    """(file, first register, registers) of a register or group, None if `text` is no register.

    With `allow_misaligned` a group that starts between multiples of its size is rounded down.
    Raises `RegisterError` for numbers out of range and for ill-formed groups.
    """
    if text in NAMES:
        return NAMES[text]
    match = _REGISTER.fullmatch(text)
    if match is None:
        return None
    file, first = match[1], int(match[2])
    last = int(match[3]) if match[3] else first
    if first >= FILE_SIZE or last >= FILE_SIZE:
        raise RegisterError(
            f"no register {text}: {file} registers are $%s0 to $%s15" % (file, file)
        )
    count = last - first + 1
    if match[3] is None:
        return file, first, 1
    if count not in (2, 4, 8) or (file == "m" and count != 2):
        kinds = (
            "pairs ($m0:1)" if file == "m" else "pairs ($a0:1), quads ($a0:3) and octads ($a0:7)"
        )
        raise RegisterError(f"no register group {text}: there are {kinds}")
    if first % count and not allow_misaligned:
        raise RegisterError(
            f"register group {text} is misaligned: it must start at a multiple of {count}"
        )
    return file, first - first % count, count


def register_name(file: str, first: int, count: int) -> str:
    """The canonical text: `$m3`, `$a2:3`, `$a4:7`."""
    return f"${file}{first}" if count == 1 else f"${file}{first}:{first + count - 1}"
