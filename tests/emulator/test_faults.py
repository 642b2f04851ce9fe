"""Faults: numbers and names of the chip's exceptions, and their messages."""

import pytest

from tilewright.emulator import faults
from tilewright.emulator.faults import AddressFault, Break0Fault, TileFault
from tilewright.errors import TilewrightError

# number: (name, whether it is for a debugger)
PUBLISHED = {
    0: ("NONE", False),
    1: ("RBRK", True),
    2: ("PBRK0", True),
    3: ("PBRK1", True),
    5: ("FP", False),
    6: ("CONFLICT", False),
    7: ("EXCONF", False),
    8: ("INVALID_ADDR", False),
    9: ("INVALID_OP", False),
    10: ("INVALID_PC", False),
    12: ("INVALID_INSTR", False),
}

KINDS = [
    kind for kind in vars(faults).values() if isinstance(kind, type) and issubclass(kind, TileFault)
]


def test_numbers_and_names() -> None:
    """Of those that instructions or the debug port can raise here; the others are of the exchange,
    or not modelled."""
    assert {kind.number: (kind.name, kind.is_debug) for kind in KINDS} == PUBLISHED
    assert len({kind.number for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_message(kind: type[TileFault]) -> None:
    fault = kind("what was wrong")
    assert isinstance(fault, TilewrightError)
    assert str(fault) == f"{kind.name}: what was wrong"
    placed = fault.at("worker 3 at pc 0x4c100")
    assert type(placed) is kind
    assert str(placed) == f"worker 3 at pc 0x4c100: {kind.name}: what was wrong"
    assert (placed.cause, placed.place) == ("what was wrong", "worker 3 at pc 0x4c100")


def test_the_original_is_kept() -> None:
    fault = AddressFault("odd")
    fault.at("here")
    assert (str(fault), fault.place) == ("INVALID_ADDR: odd", "")
    assert Break0Fault("trap 0").is_debug
