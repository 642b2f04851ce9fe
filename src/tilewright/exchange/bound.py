"""How soon a phase can end: lower bounds without scheduling.

Each message takes its way; each tile sends one item per event and receives one per slot; a relay
leaves after what it waits for has arrived. The longest of these is the bound. That controls need
events of their own, and that memory elements must not clash, is not counted.
"""

import numpy as np

from tilewright.compiled import compiled
from tilewright.exchange.messages import TO_ROW_END, Flags, Messages, can_be_wide, make_messages
from tilewright.exchange.phase import ExchangePhase, Ints
from tilewright.exchange.relays import relays
from tilewright.target.geometry import TILES


def lower_bound(phase: ExchangePhase, apart: Flags | None = None) -> int:
    """Events from the barrier to the end of the last row that no schedule of a phase can undercut.

    It holds for schedules that send the transfers that are `apart` to each receiver by itself, and
    the others (all, if left out) to all receivers at once; in either width of items. 0 for a phase
    without transfers. Raises `PhaseError` for a cycle of relays.
    """
    if not phase.transfers:
        return 0
    relays(phase)
    never = np.zeros(phase.transfers, dtype=np.bool_)
    messages = make_messages(phase, never, never if apart is None else apart)
    # What can be sent as 64-bit items takes half as long, and is nowhere sooner for it.
    halved = can_be_wide(phase)[messages.transfer]
    items = np.where(halved, messages.items // 2, messages.items)
    start = earliest_starts(messages, items)
    after = _row_ends(messages, items)
    latency = np.maximum.reduceat(after, messages.receiver_start[:-1])
    return max(
        int((start + latency).max()),
        _receivers_bound(messages, items, start),
        _senders_bound(messages, items, start, latency),
    )


def earliest_starts(messages: Messages, items: Ints) -> Ints:
    """Per message: an event before which it cannot leave, what it waits for included.

    `items` are those of each message, or fewer.
    """
    readers, receivers = messages.waits
    delays = (_row_ends(messages, items) + 1)[receivers]
    writers = messages.message[receivers]
    return _chained(messages.earliest, *_by_writer(writers, readers, delays, len(messages)))


def urgencies(messages: Messages) -> Ints:
    """Per message: events that must follow its start because others wait for it; 0 if none do."""
    readers, receivers = messages.waits
    delays = (messages.row_end + 1)[receivers]
    writers = messages.message[receivers]
    none = np.zeros(len(messages), dtype=np.int64)
    return _chained(none, *_by_writer(readers, writers, delays, len(messages)))


def _row_ends(messages: Messages, items: Ints) -> Ints:
    """As `Messages.row_end`, with other numbers of items."""
    return messages.row_end + (items - messages.items)[messages.message]


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


def _receivers_bound(messages: Messages, items: Ints, start: Ints) -> int:
    """A tile takes all its items after the first could arrive, and its row goes on after them."""
    slots = start[messages.message] + messages.time
    first = np.full(TILES, np.iinfo(np.int64).max)
    np.minimum.at(first, messages.tile, slots)
    point = np.full(TILES, np.iinfo(np.int64).max)
    np.minimum.at(point, messages.tile, messages.point)
    taken = np.bincount(messages.tile, weights=items[messages.message], minlength=TILES)
    busy = np.flatnonzero(taken)
    return int((first[busy] + taken[busy] + point[busy]).max()) + TO_ROW_END


def _senders_bound(messages: Messages, items: Ints, start: Ints, latency: Ints) -> int:
    """A tile sends all its items after it could send the first, and one message is the last."""
    first = np.full(TILES, np.iinfo(np.int64).max)
    np.minimum.at(first, messages.source, start)
    after = np.full(TILES, np.iinfo(np.int64).max)
    np.minimum.at(after, messages.source, latency - items)
    sent = np.bincount(messages.source, weights=items, minlength=TILES)
    busy = np.flatnonzero(sent)
    return int((first[busy] + sent[busy] + after[busy]).max())
