"""What supervisors do to barriers and to the exchange, as records that engines and fabric share.

An event is what the supervisor executed in a cycle. `pointer` and `source` precede the `delay` or
`send` of their instruction; `put` is a write of a control register of the exchange.
"""

from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.target.csr import CSRS

EXCHANGE_CSRS = range(CSRS["INCOMING_MUX"].index, CSRS["EXCHANGE_ADJ"].index + 1)
"""The control registers of the exchange lie beside each other."""


def exchange_csr(name: str) -> int:
    """The place of a register among those of the exchange."""
    return CSRS[name].index - EXCHANGE_CSRS.start


class EventKind(IntEnum):
    """What an event is; its arguments are in parentheses."""

    DELAY = 0
    """(events)"""
    SEND = 1
    """(items, address, control, advance): address and control may be `NONE`"""
    POINTER = 2
    """(selector, value, whether it counts at the last event of its instruction)"""
    SOURCE = 3
    """as `POINTER`"""
    PUT = 4
    """(index, word)"""
    SYNC = 5
    """(zone)"""
    SANS = 6
    """(count)"""

    @property
    def bit(self) -> int:
        """Stands for the kind in a set of kinds."""
        return 1 << self


TRANSFERS = EventKind.SEND.bit | EventKind.POINTER.bit | EventKind.SOURCE.bit
"""Kinds that only rows of an exchange phase may have."""
ROW_KINDS = TRANSFERS | EventKind.DELAY.bit
"""Kinds that open a row of exchange code."""

EVENTS_PER_INSTRUCTION = 3
EVENT_ARGUMENTS = 4
NONE = 0xFFFF_FFFF
"""Stands for no value among the arguments of a send, which are narrower."""

EVENT = np.dtype(
    [
        ("cycle", np.uint64),
        ("kind", np.uint32),
        ("pc", np.uint32),
        ("arguments", np.uint32, EVENT_ARGUMENTS),
    ],
    align=True,
)
"""One event; `pc` is the address of the instruction, arguments beyond those of the kind are 0."""

EventArray: TypeAlias = NDArray[Any]
"""Of `EVENT`."""
