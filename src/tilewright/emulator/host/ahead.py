"""Compiling ahead what phases with the host need."""

import numpy as np

from tilewright.emulator.fabric import Executed
from tilewright.emulator.host.carrying import move_words
from tilewright.emulator.host.packets import read_packets
from tilewright.emulator.memory import TileMemory
from tilewright.target.topology import external_muxes


def compile_ahead(executed: Executed, memory: TileMemory) -> None:
    """Compile it, if it has not been; tiles have `executed` nothing yet."""
    tiles = len(executed.registers)
    muxes, busy_until = external_muxes(np.arange(tiles)), np.zeros(tiles, np.int64)
    sent = read_packets(executed, memory, muxes, busy_until)
    words = memory.bytes.view(np.uint32)
    move_words(sent.packets, 0, np.zeros(0, np.uint32), sent.payloads, words)
