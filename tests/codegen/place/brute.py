"""What a placement must keep to, pair by pair in plain Python, apart from all that places."""

from itertools import combinations, pairwise

from tilewright.codegen.place import MemoryNeed, MemoryPolicy, Placement, Requests

NONE = -1


def element(address: int) -> int:
    """16 KiB elements below 0x80000, of 32 KiB above."""
    if address < 0x80000:
        return (address - 0x4C000) // 0x4000
    return 100 + (address - 0x80000) // 0x8000


def live_together(requests: Requests, one: int, other: int) -> bool:
    if requests.resident[one] or requests.resident[other]:
        return True
    steps = range(requests.first[one], requests.last[one] + 1)
    return any(requests.first[other] <= step <= requests.last[other] for step in steps)


def assert_valid(requests: Requests, placement: Placement) -> None:
    rows = range(len(requests))
    ends = [int(placement.address[row] + requests.size[row]) for row in rows]
    for row in rows:
        _assert_alone(requests, placement, row)
    for one, other in combinations(rows, 2):
        if requests.tile[one] != requests.tile[other]:
            continue
        if requests.alias[one] != NONE and requests.alias[one] == requests.alias[other]:
            assert placement.address[one] == placement.address[other]
        elif live_together(requests, one, other):
            assert ends[one] <= placement.address[other] or ends[other] <= placement.address[one], (
                f"{requests.describe(one)} and {requests.describe(other)} overlap"
            )
    for one, other in requests.separations.tolist():
        if live_together(requests, one, other):
            assert not _elements(requests, placement, one) & _elements(requests, placement, other)
    _assert_sequences(requests, placement)


def _assert_alone(requests: Requests, placement: Placement, row: int) -> None:
    address, need = int(placement.address[row]), MemoryNeed(int(requests.need[row]))
    end = address + int(requests.size[row])
    reach = end + int(requests.tail[row])
    assert address % int(requests.alignment[row]) == 0
    assert address >= 0x4C000
    assert reach <= 0xE8000
    if requests.initialised[row]:
        assert end <= 0xE7BB0
    if need is MemoryNeed.INTERLEAVED:
        assert address >= 0x80000
    elif need is MemoryNeed.ORDINARY:
        assert end <= 0x80000
    elif need is MemoryNeed.EXECUTABLE:
        assert reach <= 0x80000
    if requests.fixed[row] != NONE:
        assert address == requests.fixed[row]
        return
    assert_in_policy(placement.policy, address, end)


def assert_in_policy(policy: MemoryPolicy, address: int, end: int) -> None:
    assert any(arena.start <= address and end <= arena.end for arena in policy.arenas)
    for reserved in policy.reserved:
        assert end <= reserved.start or address >= reserved.end or reserved.open_to_fixed


def _elements(requests: Requests, placement: Placement, row: int) -> set[int]:
    address = int(placement.address[row])
    end = address + int(requests.size[row] + requests.tail[row])
    return {element(at) for at in [*range(address, end, 0x4000), end - 1]}


def _assert_sequences(requests: Requests, placement: Placement) -> None:
    labels = {
        (tile, label)
        for tile, label in zip(requests.tile.tolist(), requests.sequence.tolist(), strict=True)
        if label != NONE
    }
    for tile, label in labels:
        rows = [
            row
            for row in range(len(requests))
            if requests.tile[row] == tile and requests.sequence[row] == label
        ]
        steps = {
            int(placement.address[after] - placement.address[before])
            for before, after in pairwise(rows)
        }
        if steps:
            (stride,) = steps
            needed = int(requests.size[rows[0]] + requests.tail[rows[0]])
            assert stride >= needed
            assert stride % int(requests.alignment[rows[0]]) == 0
