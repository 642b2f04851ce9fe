"""f8 in LLVM IR: by tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.emulator.llvm.lanes import Emitted
from tilewright.emulator.llvm.tables import looked_up
from tilewright.target.formats import F16

if TYPE_CHECKING:
    from tilewright.emulator.llvm.machine import LlvmMachine


class Quarters:
    """`tilewright.isa.meaning.machine.Quarters`."""

    def __init__(self, machine: LlvmMachine) -> None:
        self._machine = machine
        self._control = machine.control

    def to_half(self, a: Emitted) -> Emitted:
        control = self._control
        name = f"f8.to_f16.{control.register_format}.{control.scale}"
        return looked_up(self._machine, name, a, 8, 16, F16.quiet_nan if control.nanoo else None)

    def classify(self, a: Emitted) -> Emitted:
        return looked_up(self._machine, f"f8.class.{self._control.register_format}", a, 8, 8, None)

    def dot(self, accumulator: Emitted, x: Emitted, weights: Emitted) -> Emitted:
        return self._machine.pending_dot("f8", accumulator, x, weights)
