"""Words of packets and requests: the published ones, which ran on hardware."""

import numpy as np
import pytest

from tilewright.codegen.host.packets import packet_words, requests


@pytest.mark.parametrize(
    ("is_read", "ends", "tile", "destination", "host", "size", "words"),
    [
        (False, False, 0, 0, 0x40, 64, (0xA0000000, 0x00000011)),
        (False, False, 1409, 0, 0x40, 64, (0xA2C08000, 0x80000011)),
        (False, False, 260, 0, 0x40, 64, (0xA0820000, 0x00000011)),
        (True, True, 0, 0x50120, 0x40, 64, (0xEC000209, 0x00000011)),
        (True, True, 260, 0x50120, 0x40, 64, (0xEC820209, 0x00000011)),
        (True, True, 2, 0x50180, 0, 0, (0xCC01020C, 0x00000000)),
        (True, True, 0, 0x50180, 0x1000, 4, (0xCC00020C, 0x00004001)),
    ],
)
def test_published_packets(
    is_read: bool,
    ends: bool,
    tile: int,
    destination: int,
    host: int,
    size: int,
    words: tuple[int, int],
) -> None:
    found = packet_words(is_read, ends, tile, destination, host, size)
    assert tuple(found.tolist()) == words


def test_the_longest_packet_has_length_0() -> None:
    assert packet_words(True, False, 0, 0x50200, 0x400, 1024)[1] == 0x10 << 4


@pytest.mark.parametrize(
    ("tile", "owner", "words"),
    [
        (0, 0, (1, 0)),
        (31, 29, (2, 0)),
        (81, 17, (4, 0)),
        (260, 4, (0x100, 0)),
        (768, 0, (0, 1)),
        (1471, 61, (0, 1 << 21)),
    ],
)
def test_published_requests(tile: int, owner: int, words: tuple[int, int]) -> None:
    found = requests([tile])
    assert found.owner.tolist() == [owner]
    assert tuple(found.words[0].tolist()) == words


def test_one_request_names_all_tiles_of_an_owner() -> None:
    found = requests(np.arange(1472))
    assert found.owner.tolist() == [tile for tile in range(64) if tile & 2 == 0]
    assert np.all(found.words == [(1 << 24) - 1, (1 << 22) - 1])
