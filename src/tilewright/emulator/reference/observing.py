"""What can watch a tile run: asked before each issue, told after it."""

from dataclasses import dataclass
from typing import Protocol

from tilewright.emulator.reference.engine import Issued
from tilewright.emulator.reference.registers import ContextRegisters


@dataclass(frozen=True, slots=True)
class Issue:
    """Context 0 (supervisor) or 1 to 6 (workers) issues in `cycle` what is at address `pc`."""

    cycle: int
    context: int
    pc: int


class Observer(Protocol):
    """Watches one tile, and can stop it; `tilewright.emulator.inspection` has one."""

    def before(self, issue: Issue) -> bool:
        """Whether the tile stops before an issue. The next run makes it without asking again."""

    def after(self, issue: Issue, issued: Issued, registers: ContextRegisters) -> bool:
        """Told what was executed without a fault, and the registers that it left.

        Returns whether the tile stops here. A barrier at which it stops anyway comes first.
        """
