"""What cannot be exchanged with the host."""

from tilewright.errors import TilewrightError


class HostError(TilewrightError):
    """Shards that no host phase carries; the message names tensor, tile and address."""
