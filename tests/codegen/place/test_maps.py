"""The memory map of a tile."""

import re
from itertools import pairwise

from tilewright.codegen.place import MemoryPolicy, Requests, memory_map, place

ASKED = Requests.of(
    tile=[2, 2, 2, 3],
    size=[0x100, 0x200, 0x80, 0x40],
    first=[0, 0, 4, 0],
    last=[3, 9, 6, 0],
    resident=[False, True, False, False],
)
PLACED = place(ASKED)


def test_a_step() -> None:
    assert memory_map(ASKED, PLACED, 2, step=5, names="abcd".__getitem__).splitlines() == [
        "  0x4c000 to 0x4c018         24  reserved: loader and entry",
        "  0x4c018 to 0x4c098        128  c (steps 4 to 6)",
        "  0x4c098 to 0x50000     16,232  free in ordinary-low",
        "  0x50000 to 0x58000     32,768  reserved: exchange window",
        "  0x58000 to 0x5c000     16,384  reserved: runtime state",
        "  0x5c000 to 0x80000    147,456  free in ordinary-low",
        "  0x80000 to 0xb0000    196,608  free in interleaved",
        "  0xb0000 to 0xb0200        512  b (resident)",
        "  0xb0200 to 0xe8000    228,864  free in ordinary-high",
    ]


def test_all_steps() -> None:
    """Requests that share memory are listed one after the other; holes are what nothing uses."""
    asked = Requests.of(
        tile=0,
        size=[0x100, 0x40, 0x20],
        first=[0, 4, 4],
        last=[3, 6, 6],
    )
    lines = memory_map(asked, place(asked), 0).splitlines()
    assert lines[1:5] == [
        "  0x4c018 to 0x4c058         64  value 1 (steps 4 to 6)",
        "  0x4c018 to 0x4c118        256  value 0 (steps 0 to 3)",
        "  0x4c058 to 0x4c078         32  value 2 (steps 4 to 6)",
        "  0x4c118 to 0x50000     16,104  free in ordinary-low",
    ]


def test_memory_outside_of_arenas() -> None:
    policy = MemoryPolicy.ipu21(transient=["ordinary-low"], resident=["ordinary-low"])
    asked = Requests.of(tile=0, size=8)
    text = memory_map(asked, place(asked, policy), 0)
    covered = [
        (int(low, 16), int(high, 16))
        for low, high in re.findall(r"(0x\w+) to (0x\w+) ", text)
    ]  # fmt: skip
    assert covered[0][0] == 0x4C000
    assert covered[-1][1] == 0xE8000
    assert all(before[1] == after[0] for before, after in pairwise(covered))
