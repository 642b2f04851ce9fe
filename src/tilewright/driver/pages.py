"""Host memory that devices reach: pages, attached together and detached in reverse order."""

import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import numpy as np
from numpy.typing import NDArray

from tilewright.driver.errors import TransportError
from tilewright.driver.registers import EXCHANGE_WINDOW_BASE, EXCHANGE_WINDOW_PAGED
from tilewright.driver.transport import Transport


def page_memory(sizes: Sequence[int]) -> list[NDArray[np.uint8]]:
    """Zeroed memory of these sizes in bytes, each starting at a page of the system.

    All of it is one mapping, which is populated: the device cannot wait for a page fault.
    """
    starts, end = [], 0
    for size in sizes:
        starts.append(end)
        end += -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    whole = np.frombuffer(mmap.mmap(-1, max(end, mmap.PAGESIZE), flags=flags), np.uint8)
    return [whole[start : start + size] for start, size in zip(starts, sizes, strict=True)]


def attach_pages(
    transport: Transport, indices: Sequence[int], memories: Sequence[NDArray[np.uint8]]
) -> None:
    """Attach pages in this order: all of them or, if one is refused, none."""
    attached: list[int] = []
    try:
        for index, memory in zip(indices, memories, strict=True):
            transport.write(EXCHANGE_WINDOW_BASE, EXCHANGE_WINDOW_PAGED)
            transport.attach_page(index, memory)
            attached.append(index)
    except BaseException:
        detach_pages(transport, attached)
        raise


def detach_pages(transport: Transport, indices: Sequence[int]) -> None:
    """Detach pages that were attached in this order; those that are gone already do not matter."""
    for index in reversed(indices):
        with suppress(TransportError):
            transport.detach_page(index)


@contextmanager
def attached(transport: Transport, index: int, memory: NDArray[np.uint8]) -> Iterator[None]:
    """A page that is attached within the block."""
    attach_pages(transport, [index], [memory])
    try:
        yield
    finally:
        detach_pages(transport, [index])
