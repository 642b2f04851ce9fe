"""What an instruction or bundle does, collected before any of it happens."""

from dataclasses import dataclass, field
from typing import Any

from tilewright.emulator.reference.bits import Bits


@dataclass(frozen=True, slots=True)
class Launch:
    """A worker to start; `worker` is None for the lowest one that is idle."""

    worker: int | None
    entry: int
    vertex_base: int


@dataclass(slots=True)
class Effects:
    """Writes that land together when nothing has faulted.

    `registers` holds (file, number, word), `loads` (address, size). `divides_special`: a division
    had an operand that makes it short. `jump` is the next instruction's address if that is not the
    one that follows. `repeat` is (count, first, end). `events` are those of synchronisation and
    exchange, in order: a name and its arguments.
    """

    registers: list[tuple[str, int, int]] = field(default_factory=list)
    loads: list[tuple[int, int]] = field(default_factory=list)
    stores: list[tuple[int, bytes]] = field(default_factory=list)
    csrs: list[tuple[bool, int, int]] = field(default_factory=list)
    accumulators: list[tuple[int, int]] = field(default_factory=list)
    weights: list[tuple[int, int]] = field(default_factory=list)
    random: tuple[int, int] | None = None
    float_flags: int = 0
    divides_special: bool = False
    jump: int | None = None
    repeat: tuple[int, int, int] | None = None
    exit_status: bool | None = None
    launches: list[Launch] = field(default_factory=list)
    events: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)

    def set_group(self, file: str, first: int, value: Bits) -> None:
        """Write the words of a register group."""
        for place in range(value.width // 32):
            self.registers.append((file, first + place, value.number >> 32 * place & 0xFFFF_FFFF))
