"""Addresses in code: fixed, or of the current block of a sequence that a repeat goes along."""

from dataclasses import dataclass, replace

import numpy as np

from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.memory import NOWHERE
from tilewright.codegen.low import TileSchedule
from tilewright.codegen.mid.orders import Indices


@dataclass(frozen=True, slots=True)
class Address:
    """`base`, in bytes; in the repeat that goes along `sequence`, `step` more each iteration."""

    base: int
    sequence: int | None = None
    step: int = 0

    def __add__(self, offset: int) -> "Address":
        return replace(self, base=self.base + offset)


@dataclass(frozen=True, slots=True)
class Literal:
    """The address, a multiple of 8, of these bytes, which lie behind the code."""

    content: bytes


Value = int | Address | Literal
"""What a register is given."""


def buffer_addresses(schedule: TileSchedule, placed: Indices) -> list[Address]:
    """The address of each buffer; a repeat's current block starts as the first of its sequence.

    Raises `EmissionError` if blocks do not follow each other evenly.
    """
    addresses = [Address(int(address)) for address in placed]
    for sequence in schedule.sequences:
        *blocks, current = sequence.blocks
        starts = placed[blocks]
        if np.any(starts == NOWHERE):
            continue  # the repeat's body does not look at them
        strides = np.diff(starts)
        if len(strides) and np.any(strides != strides[0]):
            raise EmissionError(f"blocks of {schedule.buffers[current].name} lie unevenly")
        stride = int(strides[0]) if len(strides) else 0
        addresses[current] = Address(int(starts[0]), sequence.id, stride)
    return addresses
