"""Threads for work that compiled code does without the GIL."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def threads() -> Iterator[ThreadPoolExecutor]:
    """One for each processor, until the block ends.

    An interrupt does not wait for what they are at, which may be a minute of compiling: what has
    not begun is dropped, and the process may end at once.
    """
    pool = ThreadPoolExecutor(os.cpu_count())
    is_awaited = True
    try:
        yield pool
    except KeyboardInterrupt:
        is_awaited = False
        raise
    finally:
        pool.shutdown(wait=is_awaited, cancel_futures=not is_awaited)
