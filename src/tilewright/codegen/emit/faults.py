"""What has no program."""

from tilewright.errors import TilewrightError


class EmissionError(TilewrightError):
    """A schedule that cannot be emitted; the message names the operation and what is missing."""
