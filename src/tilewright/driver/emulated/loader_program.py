"""The tile loader that an emulated device is given if the user has no other.

Its protocol is played by `tile_loader`. What is left for code is the end of a tile that refuses
what it is sent: exchange off, the address of the failing check in $m1, `trap 1`, as the first
generation's loader ends. A card needs the vendor's loader.
"""

from enum import Enum

from tilewright.driver.auto_loader import LoaderImage
from tilewright.isa import FORM_BY_NAME, encode
from tilewright.target.csr import CSRS
from tilewright.target.geometry import MEMORY_BASE


class Check(Enum):
    """What the loader refuses."""

    LOADED_TWICE = "a second image for a tile"
    OFFSET = "an offset of frames beyond the host's space"
    COUNT = "a number of frames that no image has"
    FRAME_INDEX = "a frame out of turn"
    FRAME_TILE = "a frame for another tile"
    FRAME_KIND = "a frame of unknown kind, or whose last-frame flag is wrong"
    FRAME_ZERO = "a frame whose fourth word is not zero"
    NOTHING_LOADED = "the order to execute without an image"

    @property
    def address(self) -> int:
        """Where its code is."""
        return MEMORY_BASE + _CODE_BYTES * list(Check).index(self)


_CODE_BYTES = 16


def _code(check: Check) -> bytes:
    """What a tile executes that finds fault."""
    words = (
        encode(FORM_BY_NAME["setzi m,x20"], (0, 1)),
        encode(FORM_BY_NAME["put c8,m"], (CSRS["EXCHANGE_CTL"].index, 0)),
        encode(FORM_BY_NAME["setzi m,x20"], (1, check.address)),
        encode(FORM_BY_NAME["trap u4"], (1,)),
    )
    return b"".join(word.to_bytes(4, "little") for word in words)


LOADER = LoaderImage(
    b"".join(map(_code, Check)), {check.name.lower(): check.address for check in Check}
)
