"""The command phase: one tile reads the command word, and gives it to all others."""

from functools import lru_cache

import numpy as np

from tilewright.codegen.host.pieces import Pieces
from tilewright.codegen.host.window import COMMAND
from tilewright.exchange import ExchangePhase, Rows, Transfer, encode, schedule
from tilewright.target.geometry import TILES
from tilewright.target.host import HOST_WORD

STOP = 0
"""The command to stop; any that is no call's means the same."""
STOP_CALL = "stop"
COMMANDER = 0
"""The tile that reads it: physical and logical tile 0, which owns its own request."""
COMMAND_OFFSET = 0
"""Where the host writes it, in the space of the device."""


def command_piece(batch: int) -> Pieces:
    """The word as a piece that no slice stands for, and that stays where it lands."""
    columns = (batch, 0, 0, HOST_WORD, COMMANDER, COMMAND, 0, COMMAND, COMMAND_OFFSET)
    return Pieces(*(np.array([each], np.int64) for each in columns))


@lru_cache(maxsize=1)
def command_rows() -> Rows:
    """The internal phase that gives the command word to all tiles."""
    receivers = [(tile, COMMAND) for tile in range(TILES) if tile != COMMANDER]
    transfer = Transfer(COMMANDER, COMMAND, 1, receivers)
    return encode(schedule(ExchangePhase.of([transfer])))
