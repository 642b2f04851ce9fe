"""What users of devices can do wrong."""

from tilewright.errors import TilewrightError


class InputError(TilewrightError):
    """Arrays that are not what a package takes; the message names all tensors concerned."""


class SessionError(TilewrightError):
    """A device or session that is used when it cannot be: closed, busy, or after a failure."""
