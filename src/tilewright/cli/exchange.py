"""`tilewright exchange show PHASE [--tile N] [--json]`: how a phase is scheduled, as a timeline."""

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tilewright.errors import TilewrightError
from tilewright.files import read_bytes
from tilewright.target.geometry import TILES
from tilewright.target.routes import Direction
from tilewright.target.topology import NEUTRAL_MUX, logical_tile, physical_tile

app = typer.Typer(help="Timed exchange phases.", no_args_is_help=True)

_SHOWN = 40
"""Lines of a timeline, unless all are asked for."""

_DIRECTIONS = {
    Direction.EAST: "east",
    Direction.WEST: "west",
    Direction.EAST | Direction.WEST: "both ways",
}


@app.callback()
def _commands() -> None:
    """Keeps `show` a subcommand while it is the only one."""


@app.command("show")
def show(
    phase: Annotated[
        str, typer.Argument(help="A file with a phase (docs/exchange.md), or PATTERN:WORDS.")
    ],
    tile: Annotated[
        int | None, typer.Option("--tile", help="The row of one tile, by its logical id.")
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="All transfers, not the first 40.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the same as JSON.")] = False,
) -> None:
    """Schedule a phase and print who sends what when, or what one tile does."""
    from tilewright.exchange import schedule

    if tile is not None and not 0 <= tile < TILES:
        raise TilewrightError(f"there is no tile {tile}; logical ids are 0 to {TILES - 1}")
    found = schedule(_read(phase))
    if tile is not None:
        described = _tile(found, tile)
        print(json.dumps(described, indent=2) if as_json else _tile_text(described))
        return
    described = _phase(found)
    print(json.dumps(described, indent=2) if as_json else _phase_text(described, show_all))


def _read(name: str) -> Any:
    from tilewright.exchange import parse_phase
    from tilewright.exchange.patterns import PATTERNS

    pattern, colon, words = name.partition(":")
    if pattern in PATTERNS and colon:
        if not words.isdecimal() or int(words) < 1:
            raise TilewrightError(f"expected {pattern}:WORDS, a number of words; found '{name}'")
        return PATTERNS[pattern][0](int(words))
    path = Path(name)
    if not path.exists():
        known = ", ".join(PATTERNS)
        raise TilewrightError(f"no file {name}, and no pattern PATTERN:WORDS; patterns: {known}")
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise TilewrightError(f"{name} is no text: {error}") from None
    return parse_phase(text, name)


def _phase(found: Any) -> dict[str, Any]:
    messages = found.messages
    chain = [int(messages.transfer[message]) for message in found.chain]
    order = np.lexsort((np.arange(len(messages)), found.first))
    return {
        "transfers": found.phase.transfers,
        "words": int(found.phase.words.sum()),
        "events": found.horizon,
        "bound": found.bound,
        "decided_by": chain,
        "messages": [_message(found, int(message)) for message in order],
    }


def _message(found: Any, message: int) -> dict[str, Any]:
    messages = found.messages
    low, high = messages.receiver_start[message : message + 2].tolist()
    slots = found.slot[low:high]
    items, size = int(messages.items[message]), 8 if messages.wide[message] else 4
    return {
        "event": int(found.first[message]),
        "transfer": int(messages.transfer[message]),
        "source": logical_tile(int(messages.source[message])),
        "address": int(messages.address[message]),
        "items": items,
        "item_size": size,
        "receivers": [
            {
                "tile": logical_tile(int(each)),
                "address": int(address),
                "slot": int(slot),
                "row_end": int(end),
            }
            for each, address, slot, end in zip(
                messages.tile[low:high].tolist(),
                messages.destination[low:high].tolist(),
                slots.tolist(),
                (found.first[message] + messages.row_end[low:high]).tolist(),
                strict=True,
            )
        ],
    }


def _phase_text(described: dict[str, Any], show_all: bool) -> str:
    ratio = described["events"] / described["bound"] if described["bound"] else 1.0
    lines = [
        f"{described['transfers']:,} transfers, {described['words']:,} words; rows end at event "
        f"{described['events']:,}, bound {described['bound']:,} ({ratio:.3f})"
    ]
    if described["decided_by"]:
        shown = " → ".join(map(str, described["decided_by"][-_SHOWN:]))
        lines.append(f"the end is decided by transfers {shown}")
    lines += ["", " leaves    last  transfer"]
    messages = described["messages"]
    for each in messages if show_all else messages[:_SHOWN]:
        last = each["event"] + each["items"] - 1
        lines.append(f"{each['event']:7} {last:7}  {_message_text(each)}")
    hidden = 0 if show_all else len(messages) - _SHOWN
    if hidden > 0:
        lines.append(f"and {hidden:,} more (--all shows them)")
    return "\n".join(lines)


def _message_text(each: dict[str, Any]) -> str:
    receivers = [
        f"{to['tile']}:{to['address']:#x} (slot {to['slot']})" for to in each["receivers"][:3]
    ]
    more = f" and {len(each['receivers']) - 3} more" if len(each["receivers"]) > 3 else ""
    width = " of 64 bits" if each["item_size"] == 8 else ""
    return (
        f"{each['transfer']}: {each['items']} items{width} {each['source']}:{each['address']:#x} "
        f"→ {', '.join(receivers)}{more}"
    )


def _tile(found: Any, tile: int) -> dict[str, Any]:
    from tilewright.exchange import decode_rows, encode
    from tilewright.isa import decode, instruction_text

    rows = encode(found)
    physical = physical_tile(tile)
    events = decode_rows(rows.words, rows.start)
    row = rows.row(physical).tolist()
    listing, place = [], 0
    while place < len(row):
        instruction = decode(row[place])
        assert instruction is not None
        words = row[place : place + instruction.form.words]
        listing.append(
            {"words": [f"{word:08x}" for word in words], "text": instruction_text(instruction)}
        )
        place += len(words)
    return {
        "tile": tile,
        "physical": physical,
        "events": int(events.length[physical]),
        "row": listing,
        "timeline": _happenings(events, physical),
    }


def _happenings(events: Any, physical: int) -> list[dict[str, Any]]:
    found = []
    sends = events.sends
    for each in np.flatnonzero(sends.tile == physical).tolist():
        way = _DIRECTIONS[int(sends.directions[each])]
        what = f"send {sends.items[each]} items of {8 * sends.size[each]} bits "
        what += f"from {sends.address[each]:#x}, {way}"
        found.append((int(sends.event[each]), what))
    for kind, controls in (
        ("listen to", events.sources),
        ("write to", events.pointers),
        ("format", events.formats),
    ):
        for each in np.flatnonzero(controls.tile == physical).tolist():
            value = int(controls.value[each])
            pair = "the pair: " if controls.is_paired[each] else ""
            found.append((int(controls.event[each]), f"{pair}{_control(kind, value)}"))
    return [{"event": event, "what": what} for event, what in sorted(found)]


def _control(kind: str, value: int) -> str:
    if kind == "listen to":
        if value == NEUTRAL_MUX:
            return "listen to nothing"
        return f"listen to tile {logical_tile(value)}"
    if kind == "write to":
        return f"write to {value:#x}"
    return f"receive items of {64 if value else 32} bits"


def _tile_text(described: dict[str, Any]) -> str:
    words = sum(len(each["words"]) for each in described["row"])
    lines = [
        f"tile {described['tile']} (physical {described['physical']}): "
        f"{words} words, {described['events']} events"
    ]
    if not described["row"]:
        return lines[0].replace(": 0 words, 0 events", " takes no part")
    lines += ["", "  event"]
    lines += [f"{each['event']:7}  {each['what']}" for each in described["timeline"]]
    lines += ["", "row"]
    lines += [f"  {' '.join(each['words']):17}  {each['text']}" for each in described["row"]]
    return "\n".join(lines)
