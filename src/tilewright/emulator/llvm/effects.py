"""What an instruction or bundle does, as values of the function, before any of it happens."""

from dataclasses import dataclass, field

from tilewright.emulator.llvm.lanes import Emitted


@dataclass(frozen=True, slots=True)
class Jump:
    """To `target`, if `condition` holds or is None."""

    target: Emitted
    condition: Emitted | None = None


@dataclass(frozen=True, slots=True)
class Repeat:
    """The `bundles` that follow, `times` times; `times` is not masked to 16 bits yet."""

    times: Emitted
    bundles: int


@dataclass(slots=True)
class Effects:
    """Writes that land together when nothing has faulted; see the reference engine's."""

    registers: list[tuple[str, int, Emitted]] = field(default_factory=list)
    """(file, first register of a group, value)"""
    stores: list[tuple[Emitted, Emitted]] = field(default_factory=list)
    csrs: list[tuple[str, Emitted]] = field(default_factory=list)
    """(name, word)"""
    accumulators: list[tuple[int, object]] = field(default_factory=list)
    random: tuple[Emitted, Emitted] | None = None
    flags: list[Emitted] = field(default_factory=list)
    short_division: Emitted | None = None
    jump: Jump | None = None
    repeat: Repeat | None = None
    exit_status: Emitted | None = None
