"""How soon a phase can end: lower bounds that hold for every schedule, without scheduling.

Each message takes its way; each tile sends one item per event and receives one per slot; a relay
leaves after what it waits for has arrived. The longest of these is the bound.
"""

import numpy as np

from tilewright.compiled import compiled
from tilewright.exchange.messages import TO_ROW_END, Messages, can_be_wide, make_messages
from tilewright.exchange.phase import ExchangePhase, Ints
from tilewright.exchange.relays import relays
from tilewright.target.geometry import TILES


def lower_bound(phase: ExchangePhase) -> int:
    """Events from the barrier to the end of the last row that no schedule of a phase can undercut.

    0 for a phase without transfers. Raises `PhaseError` for a cycle of relays.
    """
    if not phase.transfers:
        return 0
    relays(phase)
    together = np.zeros(phase.transfers, dtype=np.bool_)
    return messages_bound(make_messages(phase, can_be_wide(phase), together))


def messages_bound(messages: Messages) -> int:
    """The same for given messages."""
    start = earliest_starts(messages)
    return max(
        int((start + messages.latency).max()),
        _receivers_bound(messages, start),
        _senders_bound(messages, start),
    )


def earliest_starts(messages: Messages) -> Ints:
    """Per message: an event before which it cannot leave, what it waits for included."""
    readers, receivers = messages.waits
    writers = messages.message[receivers]
    delays = (messages.row_end + 1)[receivers]
    return _chained(messages.earliest, *_by_writer(writers, readers, delays, len(messages)))


def urgencies(messages: Messages) -> Ints:
    """Per message: events that must follow its start because others wait for it; 0 if none do."""
    readers, receivers = messages.waits
    writers = messages.message[receivers]
    delays = (messages.row_end + 1)[receivers]
    none = np.zeros(len(messages), dtype=np.int64)
    return _chained(none, *_by_writer(readers, writers, delays, len(messages)))


def _by_writer(
    writers: Ints, readers: Ints, delays: Ints, messages: int
) -> tuple[Ints, Ints, Ints]:
    order = np.argsort(writers, kind="stable")
    start = np.searchsorted(writers[order], np.arange(messages + 1))
    return start, readers[order], delays[order]


@compiled
def _chained(start: Ints, first: Ints, readers: Ints, delays: Ints) -> Ints:
    """Starts, moved to where the chains that lead to each allow it. There must be no cycle."""
    start = start.copy()
    waiting = np.zeros(len(start), np.int64)
    for reader in readers:
        waiting[reader] += 1
    ready = np.empty(len(start), np.int64)
    count = 0
    for message in range(len(start)):
        if waiting[message] == 0:
            ready[count] = message
            count += 1
    done = 0
    while done < count:
        message = ready[done]
        done += 1
        for entry in range(first[message], first[message + 1]):
            reader = readers[entry]
            start[reader] = max(start[reader], start[message] + delays[entry])
            waiting[reader] -= 1
            if waiting[reader] == 0:
                ready[count] = reader
                count += 1
    return start


def _receivers_bound(messages: Messages, start: Ints) -> int:
    """A tile takes all its items after the first could arrive, and its row goes on after them."""
    slots = start[messages.message] + messages.time
    first = np.full(TILES, np.iinfo(np.int64).max)
    np.minimum.at(first, messages.tile, slots)
    point = np.full(TILES, np.iinfo(np.int64).max)
    np.minimum.at(point, messages.tile, messages.point)
    items = np.bincount(
        messages.tile, weights=messages.items[messages.message], minlength=TILES
    ).astype(np.int64)
    busy = np.flatnonzero(items)
    return int((first[busy] + items[busy] + point[busy] + TO_ROW_END).max())


def _senders_bound(messages: Messages, start: Ints) -> int:
    """A tile sends all its items after it could send the first, and one message is the last."""
    first = np.full(TILES, np.iinfo(np.int64).max)
    np.minimum.at(first, messages.source, start)
    after = np.full(TILES, np.iinfo(np.int64).max)
    np.minimum.at(after, messages.source, messages.latency - messages.items)
    items = np.bincount(messages.source, weights=messages.items, minlength=TILES).astype(np.int64)
    busy = np.flatnonzero(items)
    return int((first[busy] + items[busy] + after[busy]).max())
