"""Faults of emulated code: one class per kind of exception of the chip, and our own stricter ones.

Numbers and names of the chip's exceptions are documented; which cause raises which is assumed for
most of them (`etype-map`, docs/fidelity.md).
"""

from typing import ClassVar

from tilewright.errors import TilewrightError


class TileFault(TilewrightError):
    """An instruction that raised an exception. It has changed nothing.

    `number` is what ETYPE of the context's status register shows.
    """

    number: ClassVar[int] = 0
    name: ClassVar[str] = "NONE"
    is_debug: ClassVar[bool] = False

    def __init__(self, cause: str, place: str = "") -> None:
        self.cause = cause
        self.place = place
        super().__init__(f"{place}: {self.name}: {cause}" if place else f"{self.name}: {cause}")

    def at(self, place: str) -> "TileFault":
        """The same fault with the place where it happened."""
        return type(self)(self.cause, place)


class Break0Fault(TileFault):
    """`trap` with an even number."""

    number, name, is_debug = 2, "PBRK0", True


class Break1Fault(TileFault):
    """`trap` with an odd number."""

    number, name, is_debug = 3, "PBRK1", True


class FloatFault(TileFault):
    """A floating-point exception that the context has enabled."""

    number, name = 5, "FP"


class ConflictFault(TileFault):
    """Two accesses of one instruction in one memory element."""

    number, name = 6, "CONFLICT"


class ExchangeConfigurationFault(TileFault):
    """Exchange or synchronisation set up in a way that the chip refuses."""

    number, name = 7, "EXCONF"


class AddressFault(TileFault):
    """A data address that is misaligned, outside tile memory or in the wrong region."""

    number, name = 8, "INVALID_ADDR"


class OperandFault(TileFault):
    """Operands that an instruction does not allow, or a control register that is not there."""

    number, name = 9, "INVALID_OP"


class ProgramCounterFault(TileFault):
    """An instruction address that is misaligned, outside memory or not executable."""

    number, name = 10, "INVALID_PC"


class InstructionFault(TileFault):
    """A word that is no instruction, of the other mode, or not allowed in a repeat body."""

    number, name = 12, "INVALID_INSTR"
