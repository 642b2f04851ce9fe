"""What is wrong with a package, each fault with the path of what it is about."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tilewright.errors import TilewrightError

_SHOWN = 20
"""Faults that an error's message lists; the rest are counted."""
KEPT = 100
"""Faults of one kind that are kept; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`path` names a part of the package, like `tiles[17].segments[2].address`."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class PackageError(TilewrightError):
    """A package or profile that cannot be used; `faults` are all that were found."""

    def __init__(self, message: str, faults: Iterable[Fault] = ()) -> None:
        self.faults = tuple(faults)
        listed = [f"  {fault}" for fault in self.faults[:_SHOWN]]
        hidden = len(self.faults) - len(listed)
        if hidden > 0:
            listed.append(f"  and {hidden} more")
        super().__init__("\n".join([message, *listed]))


@dataclass(slots=True)
class FaultList:
    """Collects faults; of each kind of many alike, the first hundred."""

    faults: list[Fault] = field(default_factory=list)

    def add(self, path: str, message: str) -> None:
        self.faults.append(Fault(path, message))

    def add_many(self, first: Iterable[Fault], count: int, path: str) -> None:
        """Add the first `KEPT` of `count` faults that are alike, all somewhere in `path`."""
        self.faults += first
        if count > KEPT:
            self.add(path, f"and {count - KEPT:,} more faults of this kind")

    def __bool__(self) -> bool:
        return bool(self.faults)
