"""The one exception family of tilewright; each room adds its subclasses here or beside its code."""


class TilewrightError(Exception):
    """A fault that a user can understand and act upon.

    The message says what was found, where, what was expected and what to do. Commands print it
    after `heading` and exit with status 1.
    """

    heading = "error: "
