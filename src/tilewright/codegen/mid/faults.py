"""What planning can find wrong."""

from tilewright.errors import TilewrightError


class FormatError(TilewrightError):
    """A format that does not suit a shape, or contradicts itself."""


class PlanError(TilewrightError):
    """A plan that cannot serve its operation, or a graph that has no plan."""


class DoesNotFit(PlanError):
    """No plan fits the memory of a tile.

    `operation` is where; `needed` and `available` are bytes of the fullest tile.
    """

    def __init__(self, message: str, operation: str, needed: int, available: int) -> None:
        super().__init__(message)
        self.operation, self.needed, self.available = operation, needed, available


class VerifyError(TilewrightError):
    """A mid-level graph that contradicts itself."""
