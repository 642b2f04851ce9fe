"""What cannot be lowered."""

from tilewright.errors import TilewrightError


class LoweringError(TilewrightError):
    """A plan that has no program; the message names the value and what stands in the way."""
