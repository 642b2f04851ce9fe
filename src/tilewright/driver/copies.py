"""What is copied between streams of tensors and host pages, batch by batch."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.package import Direction, HostPlan, Slices

U8 = NDArray[np.uint8]

STALE = 0xA5
"""Fills output areas before a run, so that what was not written shows."""


@dataclass(frozen=True, slots=True)
class HostPages:
    """The host plan's pages as memory, by their rows in its table. Streams are given by tensor."""

    plan: HostPlan
    memories: Sequence[U8]

    def is_input(self, batch: int) -> bool:
        """Whether a batch goes to the device."""
        return bool(self.plan.batches.direction[batch] == Direction.TO_DEVICE)

    def prepare(self, batches: Iterable[int], streams: Mapping[int, U8]) -> None:
        """Put what batches send into the pages; what they fetch becomes stale."""
        for batch in batches:
            is_input = self.is_input(batch)
            for tensor, offset, page, place, size in self._parts(batch):
                part = streams[tensor][offset : offset + size] if is_input else STALE
                self.memories[page][place : place + size] = part

    def collect(self, batches: Iterable[int], streams: Mapping[int, U8]) -> None:
        """Take what batches have fetched from the pages into streams."""
        for batch in batches:
            if not self.is_input(batch):
                for tensor, offset, page, place, size in self._parts(batch):
                    part = self.memories[page][place : place + size]
                    streams[tensor][offset : offset + size] = part

    def write_word(self, page: int, offset: int, value: int) -> None:
        self.memories[page][offset : offset + 4].view("<u4")[0] = value

    def _parts(self, batch: int) -> list[tuple[int, ...]]:
        rows = self.plan.slices_of(batch)
        return _joined(self.plan.slices[rows.start : rows.stop])


def _joined(slices: Slices) -> list[tuple[int, ...]]:
    """Tensor, offset, page, place in it and size of each run of slices that follow each other."""
    if not len(slices):
        return []
    end = slices.offset.astype(np.int64) + slices.size
    page_end = slices.page_offset.astype(np.int64) + slices.size
    follows = (
        (slices.tensor[1:] == slices.tensor[:-1])
        & (slices.page[1:] == slices.page[:-1])
        & (slices.offset[1:] == end[:-1])
        & (slices.page_offset[1:] == page_end[:-1])
    )
    first = np.flatnonzero(np.concatenate([[True], ~follows]))
    sizes = np.add.reduceat(slices.size.astype(np.int64), first)
    columns = (slices.tensor, slices.offset, slices.page, slices.page_offset)
    return list(zip(*(column[first].tolist() for column in columns), sizes.tolist(), strict=True))
