"""Phases with the host: words that move, and when."""

from contextlib import suppress

import numpy as np
import pytest

from tests.emulator.chip.conftest import code
from tests.emulator.chip.host_programs import (
    CODE,
    HOST,
    NEUTRAL,
    READS,
    SOURCE,
    STAGING,
    TABLE,
    TABLE_ITEM,
    bed,
    expect,
    listen,
    owner_and_target,
    read,
    row,
    target,
    write,
)
from tilewright.emulator.chip import Chip, End
from tilewright.emulator.faults import ExchangeFault
from tilewright.emulator.host_port import HostLink
from tilewright.emulator.images import Piece, TileImage
from tilewright.emulator.memory import UNWRITTEN_WORD
from tilewright.target.csr import CSRS
from tilewright.target.host_packets import owners


def test_host_to_tile() -> None:
    made = bed(
        {0: (owner_and_target(row((TABLE_ITEM + 2, 2)), 3), [1, 0, *read(0, STAGING, HOST, 12)])}
    )
    made.run()
    assert made.words(0, STAGING, 4) == [*made.host_words(HOST, 3), UNWRITTEN_WORD]
    assert made.count(0) == 0


def test_tile_to_host() -> None:
    """Writes of two packets, and a read of no bytes that tells that they were taken."""
    packets = [1, 0, *write(0, HOST, 60), *write(0, HOST + 64, 256, long=True)]
    packets += read(0, STAGING, 0, 0)
    sends = (
        row((TABLE_ITEM + 2, 2), (SOURCE // 4, 15), (TABLE_ITEM + 4, 2), (SOURCE // 4 + 16, 64))
        + "\n"
        + row((TABLE_ITEM + 6, 2))
    )
    made = bed({0: (owner_and_target(sends, 1), packets)})
    before = made.memory.copy()
    made.run()
    assert made.host_words(HOST, 15) == made.words(0, SOURCE, 15)
    assert made.host_words(HOST + 64, 64) == made.words(0, SOURCE + 64, 64)
    before[HOST : HOST + 60] = made.memory[HOST : HOST + 60]
    before[HOST + 64 : HOST + 320] = made.memory[HOST + 64 : HOST + 320]
    assert np.array_equal(made.memory, before), "nothing else has changed"
    assert made.words(0, STAGING, 1) == [UNWRITTEN_WORD]


def test_sends_that_continue() -> None:
    """One send starts at the table, the rest go on from there, relative to a base register."""
    headers = [*read(0, STAGING, HOST, 8, end=False), *read(0, STAGING + 32, 0, 4)]
    base = f"setzi $m8, {TABLE:#x}\n put $OUTGOING_BASE, $m8"
    sends = "send 1, 0, 3\n sendoff 1, 0, 3\n sendoff 1, 0, 3"
    text = f"{listen(0)}\n {base}\n sync 15\n {expect(3)}\n {sends}\n sync 0\n sync 7\n {NEUTRAL}"
    made = bed({0: (text, [1, 0, *headers])}).run()
    assert made.words(0, STAGING, 2) == made.host_words(HOST, 2)
    assert made.words(0, STAGING + 32, 1) == made.host_words(0, 1)
    cursor = made.chip.state(0)["supervisor"]["csr"][CSRS["OUTGOING_DELTA"].index]
    assert cursor == TABLE + 24


def test_a_payload_of_several_sends() -> None:
    """A packet of 1,024 bytes: 64 words, and the rest from another place."""
    sends = (
        f"{READS}\n send 63, {SOURCE // 4:#x}, 3\n send 0, {SOURCE // 4 + 512:#x}, 3\n"
        f" sendoff 190, 0, 3\n {row((TABLE_ITEM + 4, 2))}"
    )
    packets = [1, 0, *write(0, HOST, 1024, long=True), *read(0, STAGING, 0, 0)]
    made = bed({0: (owner_and_target(sends, 1), packets)}).run()
    assert made.host_words(HOST, 64) == made.words(0, SOURCE, 64)
    assert made.host_words(HOST + 256, 192) == made.words(0, SOURCE + 2048, 192)


@pytest.mark.parametrize("seed", range(60))
def test_headers_of_any_bits_give_words_or_a_fault(seed: int) -> None:
    """Mostly good headers with a few bits flipped: nothing else may come of them."""
    random = np.random.default_rng(seed)
    header = [read(0, STAGING, HOST, 8), write(0, HOST, 64, long=True)][seed % 2]
    for _ in range(int(random.integers(1, 4))):
        header[int(random.integers(2))] ^= 1 << int(random.integers(32))
    text = owner_and_target(row((TABLE_ITEM + 2, 2), (SOURCE // 4, 16)), 2)
    made = bed({0: (text, [1, 0, *header])})
    with suppress(ExchangeFault):
        made.go()


def test_an_owner_asks_for_another_tile() -> None:
    """Tile 2 is the partner of its owner, tile 0, which exchanges nothing itself."""
    asks = f"{listen(0)}\n sync 15\n {row((TABLE_ITEM, 2))}\n sync 7\n {NEUTRAL}"
    reads = target(row((TABLE_ITEM, 2)), 16, 2)
    made = bed({0: (asks, [2, 0]), 2: (reads, read(2, STAGING, 0x40, 64, long=True))}).run()
    assert made.words(2, STAGING, 16) == made.host_words(0x40, 16)
    assert made.words(0, STAGING, 1) == [UNWRITTEN_WORD]


def test_tiles_of_several_rows_and_columns_at_once() -> None:
    """Each has its part; owner 4 asks for tile 260 too, with the published words."""
    programs = {}
    for tile, request in {4: [0x101, 0], 9: [1, 0]}.items():
        header = read(tile, STAGING, 256 * (tile % 8), 64, long=True)
        programs[tile] = (
            owner_and_target(row((TABLE_ITEM + 2, 2)), 16, tile),
            [*request, *header],
        )
    header = read(260, STAGING, 0x800, 64, long=True)
    programs[260] = (target(row((TABLE_ITEM, 2)), 16, 260), header)
    made = bed(programs, tiles=320).run()
    for tile, offset in {4: 1024, 9: 256, 260: 0x800}.items():
        assert made.words(tile, STAGING, 16) == made.host_words(offset, 16), tile


PUBLISHED_TO_HOST = """
.long 0x19800604, 0x438080A0, 0x41800007
.long 0x19800001, 0x438080A6, 0x782A02C3, 0x79EA0243, 0x40A00001, 0x782A02D3, 0x41800000
.long 0x41800007, 0x19800640, 0x438080A0
"""
PUBLISHED_TO_TILE = """
.long 0x19800604, 0x438080A0, 0x41800007
.long 0x19800010, 0x438080A6, 0x782A02E3, 0x41800000
.long 0x41800007, 0x19800640, 0x438080A0
"""
ASKING_FOR_260 = f"{listen(4)}\n sync 15\n {row((TABLE_ITEM, 2))}\n sync 7\n {NEUTRAL}"


def test_the_published_words_of_a_tile_that_writes() -> None:
    packets = [0xA0820000, 0x00000011, *read(260, STAGING, 0, 0)]
    programs = {4: (ASKING_FOR_260, [0x100, 0]), 260: (PUBLISHED_TO_HOST, packets)}
    made = bed(programs, tiles=320)
    content = np.random.default_rng(3).bytes(64)
    made.chip.memory.write(260, 0x50120, content)
    made.run()
    assert made.memory[0x40:0x80].tobytes() == content


def test_the_published_words_of_a_tile_that_reads() -> None:
    packets = [0] * 4 + [0xEC820209, 0x00000011]
    programs = {4: (ASKING_FOR_260, [0x100, 0]), 260: (PUBLISHED_TO_TILE, packets)}
    made = bed(programs, tiles=320).run()
    assert made.words(260, 0x50120, 16) == made.host_words(0x40, 16)


@pytest.mark.parametrize(
    ("tile", "packet", "offset", "address", "size"),
    [
        (0, [0xEC000209, 0x00000011], 0x40, 0x50120, 64),
        (0, [0xCC00020C, 0x00004001], 0x1000, 0x50180, 4),
        (2, [0xCC01020C, 0x00000000], 0, 0x50180, 0),
        (0, [0xA0000000, 0x00000011], 0x40, None, 64),
        (1409, [0xA2C08000, 0x80000011], 0x40, None, 64),
    ],
)
def test_published_headers(
    tile: int, packet: list[int], offset: int, address: int | None, size: int
) -> None:
    """What the tests write from the documented fields is what was published."""
    if address is None:
        assert write(tile, offset, size, long=True) == packet
    else:
        assert read(tile, address, offset, size, long=packet[0] >> 29 == 7) == packet


def test_rows_after_a_wait_belong_to_the_phase() -> None:
    """As a loader does it: read a descriptor, look at it, read what it says."""
    first, second = read(0, STAGING, 0, 4, end=False), read(0, STAGING + 32, HOST, 8)
    packets = row((TABLE_ITEM + 2, 2))
    text = (
        f"{listen(0)}\n sync 15\n {expect(1)}\n {row((TABLE_ITEM, 2))}\n {packets}\n sync 0\n"
        f" setzi $m9, {STAGING:#x}\n ld32 $m1, $m9, $m15, 0\n {expect(2)}\n"
        f" {row((TABLE_ITEM + 4, 2))}\n sync 0\n sync 7\n {NEUTRAL}"
    )
    made = bed({0: (text, [1, 0, *first, *second])}).run()
    assert int(made.chip.state(0)["supervisor"]["m"][1]) == made.host_words(0, 1)[0]
    assert made.words(0, STAGING + 32, 2) == made.host_words(HOST, 2)


def test_what_is_sent_is_what_memory_held_then() -> None:
    """A store after a send, which ends the row, does not change what was sent."""
    packets = [1, 0, *write(0, HOST, 4), *read(0, STAGING, 0, 0)]
    text = (
        f"setzi $m9, {SOURCE:#x}\n {listen(0)}\n sync 15\n {expect(1)}\n {row((TABLE_ITEM, 2))}\n"
        f" {row((TABLE_ITEM + 2, 2), (SOURCE // 4, 1))}\n delay 16\n st32 $m9, $m9, $m15, 0\n"
        f" {row((TABLE_ITEM + 4, 2))}\n sync 0\n sync 7\n {NEUTRAL}"
    )
    made = bed({0: (text, packets)})
    before = made.words(0, SOURCE, 1)
    made.run()
    assert made.words(0, SOURCE, 1) == [SOURCE]
    assert made.host_words(HOST, 1) == before


def test_packets_wait_for_a_request() -> None:
    """The owner asks late, after a row of its own has ended."""
    asks = (
        f"{listen(0)}\n sync 15\n delay 99\n get $m1, $PC\n {row((TABLE_ITEM, 2))}\n sync 7\n"
        f" {NEUTRAL}"
    )
    reads = target(row((TABLE_ITEM, 2)), 1, 2)
    made = bed({0: (asks, [2, 0]), 2: (reads, read(2, STAGING, HOST, 4))}).run()
    assert made.words(2, STAGING, 1) == made.host_words(HOST, 1)


def test_buffers_are_reached_by_their_offsets() -> None:
    headers = [*read(0, STAGING, 0x5000, 4, end=False), *read(0, STAGING + 32, 0x2FFC, 4)]
    text = owner_and_target(row((TABLE_ITEM + 2, 2), (TABLE_ITEM + 4, 2)), 2)
    made = bed({0: (text, [1, 0, *headers])})
    high, low = np.full(0x1000, 5, np.uint8), np.full(0x1000, 6, np.uint8)
    made.link.attach(0x5000, high)
    made.link.attach(0x2000, low)
    made.run()
    assert made.words(0, STAGING, 1) == [0x05050505]
    assert made.words(0, STAGING + 32, 1) == [0x06060606]


def test_time_of_a_read() -> None:
    """By hand: the header has left after 2 words; then the latency, and 1,024 bytes at 2.6 each."""
    header = read(0, 0x50200, 0, 1024, long=True)
    text = (
        f"{listen(0)}\n sync 15\n {expect(256)}\n {row((TABLE_ITEM, 2))}\n get $m1, $SCOUNT_L\n"
        f" {row((TABLE_ITEM + 2, 2))}\n sync 0\n get $m2, $SCOUNT_L\n sync 7\n {NEUTRAL}"
    )
    made = bed({0: (text, [1, 0, *header])}).run()
    sent, done = (int(made.chip.state(0)["supervisor"]["m"][n]) for n in (1, 2))
    assert done - sent == 2 + 1500 + -(-1024 * 5 // 13)


# -- many tiles -----------------------------------------------------------------------------------


def split(offset: int, size: int, longest: int) -> list[tuple[int, int, bool]]:
    """Packets as a third party's stack splits them: offset, size, whether it is a long one."""
    packets = []
    while size:
        in_page = min(size, 4096 - offset % 4096)
        if offset % 64 == 0 and in_page >= 64:
            piece = min(in_page // 64 * 64, longest)
        else:
            piece = in_page if in_page <= 60 else 32
        packets.append((offset, piece, piece >= 64))
        offset, size = offset + piece, size - piece
    return packets


def test_how_packets_are_split() -> None:
    assert [size for _, size, _ in split(4, 100, 1024)] == [32, 32, 36]
    assert split(0xFC0, 128, 1024) == [(0xFC0, 64, True), (0x1000, 64, True)]


@pytest.mark.parametrize("seed", range(6))
def test_pieces_of_any_size_and_place(seed: int) -> None:
    """Each tile of a row reads or writes a piece of its own, of up to 2 KiB, as NumPy copies it."""
    random = np.random.default_rng(seed)
    link = HostLink()
    chip = Chip(64, host=link)
    memory = random.integers(0, 256, 64 * 4096, np.uint8)
    link.attach(0x3000, memory)
    expected = memory.copy()
    inputs = {}
    for tile in range(64):
        size = 4 * int(random.integers(1, 513))
        place = 4096 * tile + 4 * int(random.integers(0, (4096 - size) // 4 + 1))
        to_host = bool(random.integers(2))
        packets, sends = [], []
        is_owner = not tile & 2
        address = SOURCE if to_host else 0x51000
        pieces = split(0x3000 + place, size, 256 if to_host else 1024)
        for number, (offset, piece, long) in enumerate(pieces):
            item = TABLE_ITEM + 2 + 2 * number
            sends.append((item, 2))
            if to_host:
                packets += write(tile, offset, piece, long=long)
                sends.append((address // 4, piece // 4))
            else:
                end = number == len(pieces) - 1
                packets += read(tile, address, offset, piece, end=end, long=long)
            address += piece
        if to_host:
            packets += read(tile, STAGING + 0x1000, 0, 0)
            sends.append((TABLE_ITEM + 2 + 2 * len(pieces), 2))
            content = random.integers(0, 256, size, np.uint8)
            expected[place : place + size] = content
        else:
            inputs[tile] = memory[place : place + size].copy()
        text = owner_and_target(
            row(*sends), 1 if to_host else size // 4, tile, 15 if is_owner else 7, is_owner
        )
        table = np.array([3, 0, *packets], np.uint32).tobytes()
        chip.load(tile, TileImage((code(text + "\n trap 0", CODE), Piece(TABLE, table)), CODE))
        if to_host:
            chip.memory.write(tile, SOURCE, content.tobytes())
    for _ in range(2):
        assert chip.run().end is End.HOST
        link.set_mark(2, 1)
    assert chip.run().end is End.STOPPED
    assert np.array_equal(memory, expected)
    for tile, content in inputs.items():
        assert chip.memory.read(tile, 0x51000, len(content)) == content.tobytes(), tile


@pytest.mark.parametrize("to_host", [False, True])
def test_all_tiles_move_4_kib(to_host: bool) -> None:
    """Every tile of the chip; what the host's side takes is well under 0.3 s."""
    tiles, size = 1472, 4096
    link = HostLink()
    chip = Chip(tiles, host=link)
    memory = np.random.default_rng(1).integers(0, 256, tiles * size, np.uint8)
    link.attach(0, memory)
    requests: dict[int, list[int]] = {}
    for tile in range(tiles):
        bits = 1 << (2 * (tile // 64) + (tile >> 1 & 1))
        words = requests.setdefault(int(owners(tile)), [0, 0])
        words[0] |= bits & 0xFFFFFF
        words[1] |= bits >> 24
    piece, source = (256, 0x60000) if to_host else (1024, 0x51000)
    count = size // piece
    item = TABLE_ITEM + 2
    contents = []
    for tile in range(tiles):
        packets, sends = [], []
        for number in range(count):
            offset = size * tile + piece * number
            if to_host:
                packets += write(tile, offset, piece, long=True)
                sends += [(item + 2 * number, 2), (source // 4 + 64 * number, 64)]
            else:
                end = number == count - 1
                where = source + piece * number
                packets += read(tile, where, offset, piece, end=end, long=True)
                sends += [(item + 2 * number, 2)]
        if to_host:
            packets += read(tile, STAGING + 0x100, 0, 0)
            sends += [(item + 2 * count, 2)]
        is_owner = tile in requests
        text = owner_and_target(
            row(*sends), 1 if to_host else size // 4, tile, 15 if is_owner else 7, is_owner
        )
        table = np.array([*requests.get(tile, [0, 0]), *packets], np.uint32).tobytes()
        pieces = (code(text + "\n trap 0", CODE), Piece(TABLE, table))
        chip.load(tile, TileImage(pieces, CODE))
        contents.append(np.random.default_rng(tile).integers(0, 256, size, np.uint8))
        if to_host:
            chip.memory.write(tile, source, contents[-1].tobytes())
    assert chip.run().end is End.HOST
    link.set_mark(2, 1)
    assert chip.run().end is End.HOST
    start = source - 0x4C000
    moved = chip.memory.bytes[:, start : start + size].ravel()
    assert np.array_equal(moved, memory)
