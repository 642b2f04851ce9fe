"""What cannot be packaged."""

from tilewright.errors import TilewrightError


class BuildError(TilewrightError):
    """A graph or parameters that no package can be made of; the message names what and why."""
