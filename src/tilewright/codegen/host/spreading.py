"""What several tiles hold comes from the host once, and goes on from tile to tile.

All tiles share the link to the host, which carries less than one tile can send to others. So the
host sends each part to one of its holders, and these send it to the others in an exchange phase of
the chip, once all has come. Holders take turns, and long parts are shared out among them.
"""

from dataclasses import dataclass

import numpy as np

from tilewright.codegen.host.columns import Ints, numbered
from tilewright.codegen.host.parts import Parts, ordered
from tilewright.exchange import ExchangePhase
from tilewright.target.host import HOST_WORD
from tilewright.target.host_packets import LONG_UNIT

_SHARE = 8192
"""The bytes of a part that come to one holder at most, if there are holders enough."""
_LEAST = 1024
"""The link takes about as long for so many bytes as a phase takes to begin and end."""


@dataclass(frozen=True, slots=True, eq=False)
class Spreading:
    """`sent` are the parts that the host sends; `phase` brings them to their other holders."""

    sent: Parts
    phase: ExchangePhase | None


def spread(parts: Parts) -> Spreading:
    """How parts come to all their holders: by the host alone if copies are few bytes."""
    held, holders = _together(parts)
    first = np.cumsum(holders) - holders
    size = held.size[first]
    if int((size * (holders - 1)).sum()) < _LEAST:
        return Spreading(parts, None)
    length = -(-size // np.minimum(-(-size // _SHARE), holders))
    length = -(-length // LONG_UNIT) * LONG_UNIT
    group, number = numbered(-(-size // length))
    start = length[group] * number
    holder = np.arange(len(group)) % holders[group]
    source = first[group] + holder
    sent = Parts(
        held.tensor[source],
        held.offset[source] + start,
        np.minimum(length[group], size[group] - start),
        held.tile[source],
        held.address[source] + start,
    )
    share, other = numbered(holders[group] - 1)
    other += other >= holder[share]
    row = first[group][share] + other
    is_copied = holders[group] > 1
    copied = sent[is_copied]
    phase = ExchangePhase(
        source_tile=copied.tile,
        source_address=copied.address,
        words=copied.size // HOST_WORD,
        receiver_start=np.cumsum([0, *(holders[group] - 1)[is_copied]]),
        receiver_tile=held.tile[row],
        receiver_address=held.address[row] + start[share],
    )
    return Spreading(ordered(sent), phase)


def _together(parts: Parts) -> tuple[Parts, Ints]:
    """Parts with their copies side by side, and how many tiles hold each.

    What a tile holds twice counts as two parts, of which others hold copies.
    """
    content = np.stack([parts.tensor, parts.offset, parts.size])
    _, number = np.unique(content, axis=1, return_inverse=True)
    number = number.reshape(-1)
    order = np.lexsort((parts.tile, number))
    visit = np.stack([number, parts.tile])[:, order]
    _, first, inverse = np.unique(visit, axis=1, return_index=True, return_inverse=True)
    again = np.empty(len(parts), np.int64)
    again[order] = np.arange(len(parts)) - first[inverse.reshape(-1)]
    order = np.lexsort((parts.tile, again, number))
    _, holders = np.unique(np.stack([number, again]), axis=1, return_counts=True)
    return parts[order], holders
