"""What is copied between streams of tensors and host pages, batch by batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.package import HostPlan, Slices

U8 = NDArray[np.uint8]

STALE = 0xA5
"""Fills output areas before a run, so that what was not written shows."""


@dataclass(frozen=True, slots=True)
class Pages:
    """The host plan's pages as memory, by their rows in its table."""

    plan: HostPlan
    memories: Sequence[U8]

    def copy_in(self, batch: int, streams: Mapping[int, U8]) -> None:
        """Copy the slices of a batch from streams, which are given by tensor."""
        for tensor, offset, page, place, size in self._parts(batch):
            part = streams[tensor][offset : offset + size]
            self.memories[page][place : place + size] = part

    def copy_out(self, batch: int, streams: Mapping[int, U8]) -> None:
        """Copy the slices of a batch into streams."""
        for tensor, offset, page, place, size in self._parts(batch):
            part = self.memories[page][place : place + size]
            streams[tensor][offset : offset + size] = part

    def make_stale(self, batch: int) -> None:
        """Fill the areas of a batch with `STALE`."""
        for _, _, page, place, size in self._parts(batch):
            self.memories[page][place : place + size] = STALE

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
