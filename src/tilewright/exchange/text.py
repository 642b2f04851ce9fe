"""Phases as text, one transfer in a line:

    tiles logical
    # 64 words of tile 0, to two tiles
    0:0x5c000 64 -> 274:0x80000, 1286:0x80000

Tiles are logical ids, or physical ones after a line `tiles physical`; addresses are in bytes,
lengths in words. `#` starts a comment.
"""

import re

import numpy as np

from tilewright.exchange.phase import ExchangePhase, PhaseError, Transfer
from tilewright.target.geometry import TILES
from tilewright.target.topology import physical_tile

_NUMBERING = re.compile(r"tiles\s+(logical|physical)")
_TRANSFER = re.compile(r"(\S+)\s+(\S+)\s*->\s*(.+)")


def parse_phase(text: str, name: str = "phase") -> ExchangePhase:
    """Read a phase. Raises `PhaseError` with `name` and line for what is no phase."""
    transfers, is_logical = [], True
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        numbering = _NUMBERING.fullmatch(content)
        if numbering is None:
            transfers.append(_transfer(content, is_logical, f"{name}:{number}"))
            continue
        if transfers:
            raise PhaseError(
                f"{name}:{number}: say which tiles are meant before the first transfer"
            )
        is_logical = numbering[1] == "logical"
    return ExchangePhase.of(transfers)


def print_phase(phase: ExchangePhase) -> str:
    """A phase as text that `parse_phase` reads back."""
    lines = ["tiles physical"]
    for number in range(phase.transfers):
        each = phase.transfer(number)
        receivers = ", ".join(f"{tile}:{address:#x}" for tile, address in each.receivers)
        lines.append(f"{each.source}:{each.address:#x} {each.words} -> {receivers}")
    return "\n".join(lines) + "\n"


def _transfer(content: str, is_logical: bool, place: str) -> Transfer:
    match = _TRANSFER.fullmatch(content)
    if match is None:
        raise PhaseError(
            f"{place}: expected TILE:ADDRESS WORDS -> TILE:ADDRESS, …; found {content!r}"
        )
    source, address = _end(match[1], is_logical, place)
    receivers = [_end(each.strip(), is_logical, place) for each in match[3].split(",")]
    return Transfer(source, address, _number(match[2], place), receivers)


def _end(text: str, is_logical: bool, place: str) -> tuple[int, int]:
    tile_text, colon, address_text = text.partition(":")
    if not colon:
        raise PhaseError(f"{place}: expected TILE:ADDRESS, found {text!r}")
    tile, address = _number(tile_text, place), _number(address_text, place)
    if not 0 <= tile < TILES:
        raise PhaseError(f"{place}: there is no tile {tile}; tiles are 0 to {TILES - 1}")
    return physical_tile(tile) if is_logical else tile, address


def _number(text: str, place: str) -> int:
    try:
        number = int(text, 0)
    except ValueError:
        raise PhaseError(f"{place}: expected a number, found {text!r}") from None
    if not 0 <= number <= np.iinfo(np.int64).max:
        raise PhaseError(f"{place}: {number} is out of range")
    return number
