"""The debug registers of a tile, as the host reads and writes them.

Evidence: names and fields are the vendor's, from a dump of its constants; how injection is used,
and what it reads, comes from a third party's stack that ran on C600 cards (docs/fidelity.md).
"""

from enum import IntEnum

from tilewright.target.geometry import WORKERS


class DebugRegister(IntEnum):
    """The registers of a tile; each is a word."""

    CONTEXT_STATUS = 0
    RETIREMENT_BREAK = 1
    RETIREMENT_BREAK_VERTEX = 2
    INJECTED_INSTRUCTION = 3
    """Writing it executes the instruction."""
    INJECTION_CONTEXT = 4
    EXCEPTION_CONTROL = 5
    EXCEPTION_CLEAR = 6
    """Bits of contexts; writing ones clears."""
    DATA = 7
    """The control register DBG_DATA."""
    STATUS = 8
    STATUS_CLEAR = 9
    """Bits of `STATUS`; writing ones clears."""
    INCOMING_COUNT = 10
    EXCHANGE_CONTROL = 11
    CONTROL = 12


CONTEXTS = 1 + WORKERS
"""Context 0 is the supervisor, 1 to 6 are the workers; in sets of contexts each has its bit."""


class ContextStatus(IntEnum):
    """Two bits of CONTEXT_STATUS for each context, the supervisor's lowest."""

    IDLE = 0
    """Inactive, or waiting for a barrier."""
    ACTIVE = 1
    DEBUG_EXCEPTED = 2
    EXCEPTED = 3


CONTEXT_STATUS_BITS = 2
RECEIVE_ERROR_SHIFT, RECEIVE_ERROR_MASK = 27, 0b111
EXCHANGE_ERROR = 1 << 30
"""Fields of CONTEXT_STATUS, beside those of contexts."""

RETIREMENT_BREAK_IDLE = 1 << 30
"""What the register holds when nothing is to break: only the atomic override."""
VERTEX_MATCH = 1 << 31
"""Bits of RETIREMENT_BREAK, beside those of contexts."""

BREAK_ON_SYNC = 1 << 5
"""A bit of EXCEPTION_CONTROL."""

NOT_QUIESCENT, INVALID, DOUBLE = 1 << 0, 1 << 1, 1 << 2
"""Bits of STATUS: why an injected instruction was not executed."""

RETIREMENT_BREAK_EXCEPTION = 1
EXCHANGE_EXCEPTION = 13
DEBUG_EXCEPTIONS = frozenset({RETIREMENT_BREAK_EXCEPTION, 2, 3, 4, 11, 15})
"""Numbers of exceptions that show as `DEBUG_EXCEPTED`: breaks of all kinds."""
