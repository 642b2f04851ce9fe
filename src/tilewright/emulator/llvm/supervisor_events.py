"""What the interpreter loop and its driver hand each other: one record, in a fixed layout."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.emulator.reference.tile import TimedEvent

EVENT_ARGUMENTS = 4
EVENT_CAPACITY = 4096
EVENTS_PER_INSTRUCTION = 3

EVENT_NAMES = ("delay", "send", "pointer", "source", "put")
"""An event's kind is the index of its name."""

NONE = 0xFFFF_FFFF
"""Stands for None among the arguments of a send, which are narrower."""

EVENT = np.dtype(
    [
        ("cycle", np.uint64),
        ("kind", np.uint32),
        ("pc", np.uint32),
        ("arguments", np.uint32, EVENT_ARGUMENTS),
    ],
    align=True,
)
"""A `TimedEvent`; arguments beyond those of its kind are undefined."""

RESULTS = ("supervisor", "row", "count", "instructions", "reason")
"""What the loop returns, beside the events: the cycle in which the supervisor may issue next,
operands aside; one of `NO_ROW`, `AWAITS_ROW`, `ROW_IS_OPEN`, which the loop reads, too; the number
of events, and of what was executed in this call; and a `Reason` to end."""

EXCHANGED = np.dtype(
    [("results", np.uint64, len(RESULTS)), ("events", EVENT, EVENT_CAPACITY)], align=True
)

NO_ROW, AWAITS_ROW, ROW_IS_OPEN = range(3)


def timed_events(recorded: NDArray[Any]) -> list[TimedEvent]:
    """Events that the loop has recorded, as an array of `EVENT`."""
    columns = (recorded[name].tolist() for name in ("cycle", "kind", "pc"))
    arguments = recorded["arguments"].tolist()
    return [
        TimedEvent(cycle, EVENT_NAMES[kind], _ARGUMENTS[kind](words), pc)
        for cycle, kind, pc, words in zip(*columns, arguments, strict=True)
    ]


def _of_delay(words: list[int]) -> tuple[Any, ...]:
    return (words[0],)


def _of_send(words: list[int]) -> tuple[Any, ...]:
    return tuple(None if word == NONE else word for word in words)


def _of_control(words: list[int]) -> tuple[Any, ...]:
    return words[0], words[1], bool(words[2])


def _of_put(words: list[int]) -> tuple[Any, ...]:
    return words[0], words[1]


_ARGUMENTS = (_of_delay, _of_send, _of_control, _of_control, _of_put)
"""What makes the arguments of an event, by kind."""

assert len(_ARGUMENTS) == len(EVENT_NAMES)
