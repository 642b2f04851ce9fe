"""Phases with the host: what it does not take, one fault for each."""

from dataclasses import dataclass, field

import pytest

from tests.emulator.chip.conftest import code
from tests.emulator.chip.host_programs import (
    END,
    HOST,
    NEUTRAL,
    READS,
    SOURCE,
    STAGING,
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
from tilewright.emulator import faults
from tilewright.emulator.chip import End
from tilewright.emulator.faults import ExchangeFault
from tilewright.isa import Mode
from tilewright.target.csr import CSRS

READ_4 = [1, 0, *read(0, STAGING, HOST, 4)]


@dataclass(frozen=True)
class Wrong:
    """What tile 0 runs, the words of its packets, and what is said of it."""

    fault: type[ExchangeFault]
    cause: str
    text: str
    words: list[int] = field(default_factory=lambda: READ_4)


WITH_64 = row((TABLE_ITEM + 2, 2), (SOURCE // 4, 16), (TABLE_ITEM + 4, 2))
ENDED = read(0, STAGING, 0, 0)
WRONG = {
    "no owner has asked": Wrong(
        faults.MissingRequestFault,
        "packets of a tile for which no request was sent; tile 0 must name it",
        target(READS, 1, 0),
    ),
    "the owner has asked for its partner": Wrong(
        faults.MissingRequestFault,
        "tile 0 must name it",
        owner_and_target(READS, 1),
        [2, *READ_4[1:]],
    ),
    "no request": Wrong(
        faults.MissingRequestFault,
        "has come to the barrier as an owner, but has sent no request",
        f"{listen(0)}\n sync 15\n sync 7",
    ),
    "a follower asks": Wrong(
        faults.UnexpectedRequestFault,
        "came to the barrier as a follower; use sync 15",
        owner_and_target(READS, 1, entry=7),
    ),
    "a second request": Wrong(
        faults.UnexpectedRequestFault,
        "a second request in one phase",
        owner_and_target(row((TABLE_ITEM, 2)) + "\n" + READS, 1),
    ),
    "a request for no tile": Wrong(
        faults.PacketFault, "names no tile", owner_and_target(READS, 1), [0, *READ_4[1:]]
    ),
    "a request with too many bits": Wrong(
        faults.PacketFault,
        "0x00000001 0x00400000 names no tile, or has bits beyond the 24 and 22",
        owner_and_target(READS, 1),
        [1, 1 << 22, *READ_4[2:]],
    ),
    "neutral": Wrong(
        faults.HostMuxFault,
        "INCOMING_MUX is 0x640; set it to 0x600 before",
        NEUTRAL + owner_and_target(READS, 1).removeprefix(listen(0)),
    ),
    "another endpoint": Wrong(
        faults.HostMuxFault,
        "INCOMING_MUX is 0x601; set it to 0x600 before",
        listen(1) + owner_and_target(READS, 1).removeprefix(listen(0)),
    ),
    "neutral too soon": Wrong(
        faults.HostMuxFault,
        "INCOMING_MUX becomes 0x640 before all words of the host have arrived",
        owner_and_target(READS, 1).replace("sync 0", NEUTRAL),
    ),
    "neutral too soon, in another row": Wrong(
        faults.HostMuxFault,
        "INCOMING_MUX becomes 0x640 before all words of the host have arrived",
        owner_and_target(READS, 1).replace("sync 0", f"get $m1, $PC\n {NEUTRAL}"),
    ),
    "one direction": Wrong(
        faults.PacketDirectionFault,
        "sends with control 1",
        owner_and_target(READS, 1).replace(", 3", ", 1"),
    ),
    "a pointer": Wrong(
        faults.HostControlFault,
        "sets a source, a pointer or a format in a phase with the host",
        owner_and_target("delaypic 0, 0, 0x14000\n" + READS, 1),
    ),
    "a pointer with a send": Wrong(
        faults.HostControlFault,
        "sets a source, a pointer or a format in a phase with the host",
        owner_and_target("sendpic 1, 2, 0x14000\n" + READS, 1),
    ),
    "words from outside memory": Wrong(
        faults.SendAddressFault,
        "sends 2 words from 0x0",
        owner_and_target("send 1, 0, 3", 1),
    ),
    "words beside the row": Wrong(
        faults.SendConflictFault,
        "sends from 0x4e000, in a memory element that holds the row",
        owner_and_target("send 1, 0x13800, 3", 1),
    ),
    "a format that the host sends": Wrong(
        faults.PacketFault,
        "0x40000000 has format 2",
        owner_and_target(READS, 1),
        [1, 0, 2 << 29, 0],
    ),
    "a spare bit": Wrong(
        faults.PacketFault,
        "0xdc00020c 0x00004001 has bits set that are always 0",
        owner_and_target(READS, 1),
        [1, 0, READ_4[2] | 1 << 28, READ_4[3]],
    ),
    "another tile": Wrong(
        faults.PacketFault,
        "names another tile than the sender",
        owner_and_target(READS, 1),
        [1, 0, *read(2, STAGING, HOST, 4)],
    ),
    "another low bit": Wrong(
        faults.PacketFault,
        "names another tile than the sender",
        owner_and_target(READS, 1),
        [1, 0, READ_4[2], READ_4[3] | 1 << 31],
    ),
    "half an end": Wrong(
        faults.PacketFault,
        "has one of the two bits that end a stream",
        owner_and_target(READS, 1),
        [1, 0, READ_4[2] & ~(1 << 26), READ_4[3]],
    ),
    "a write of nothing": Wrong(
        faults.PacketFault,
        "writes nothing",
        owner_and_target(READS, 1),
        [1, 0, *write(0, HOST, 0)],
    ),
    "a write with the end of a stream": Wrong(
        faults.PacketFault,
        "has bits set that are always 0",
        owner_and_target(WITH_64, 1),
        [1, 0, write(0, HOST, 64, long=True)[0] | END, 0x11, *ENDED],
    ),
    "half a header": Wrong(
        faults.PacketFault,
        "the row ends within a packet, of which 1 words are missing",
        owner_and_target("send 0, 0x1405a, 3", 1),
    ),
    "half a payload": Wrong(
        faults.PacketFault,
        "the row ends within a packet, of which 6 words are missing",
        owner_and_target(row((TABLE_ITEM + 2, 2), (SOURCE // 4, 10)), 1),
        [1, 0, *write(0, HOST, 64, long=True)],
    ),
    "no memory": Wrong(
        faults.PageFault,
        "4 bytes at 0x2000 of the host, where no memory is attached",
        owner_and_target(READS, 1),
        [1, 0, *read(0, STAGING, 0x2000, 4)],
    ),
    "beyond all memory": Wrong(
        faults.PageFault,
        "64 bytes at 0x8000000: the host is reached below 0x8000000",
        owner_and_target(READS, 16),
        [1, 0, *read(0, STAGING, 1 << 27, 64, long=True)],
    ),
    "two pages": Wrong(
        faults.PageCrossingFault,
        "8 bytes at 0xffc cross the end of a page; split them at multiples of 4096",
        owner_and_target(READS, 2),
        [1, 0, *read(0, STAGING, 0xFFC, 8)],
    ),
    "below the window": Wrong(
        faults.PacketWindowFault,
        "4 bytes of the host for 0x4ffe0; they can go to 0x50000 to 0x54000",
        owner_and_target(READS, 1),
        [1, 0, *read(0, 0x4FFE0, HOST, 4)],
    ),
    "beyond the window": Wrong(
        faults.PacketWindowFault,
        "64 bytes of the host for 0x53fe0",
        owner_and_target(READS, 16),
        [1, 0, *read(0, 0x53FE0, HOST, 64, long=True)],
    ),
    "a payload of 17 events": Wrong(
        faults.PayloadIntervalFault,
        "the next packet starts 17 events after the payload at pc 0x4c11c; 18 are needed",
        owner_and_target(WITH_64.replace("delay 1", "delay 0"), 1),
        [1, 0, *write(0, HOST, 64, long=True), *ENDED],
    ),
    "a packet after the end": Wrong(
        faults.StreamEndFault,
        "a packet after the one that has ended the stream",
        owner_and_target(row((TABLE_ITEM + 2, 2), (TABLE_ITEM + 2, 2)), 2),
    ),
    "a packet after the end, in another row": Wrong(
        faults.StreamEndFault,
        "a packet after the one that has ended the stream",
        owner_and_target(f"{READS}\n get $m1, $PC\n {READS}", 2),
    ),
    "no end": Wrong(
        faults.StreamEndFault,
        "the phase is over, but the last packet was no read with the bits that end a stream",
        owner_and_target(READS, 1),
        [1, 0, *read(0, STAGING, HOST, 4, end=False)],
    ),
    "no wait": Wrong(
        faults.UnawaitedWordsFault,
        "pc 0x4c11c: UNAWAITED: sync 7 (GS2H) while words of the host are on their way; wait for",
        owner_and_target(READS, 1).replace("sync 0", ""),
    ),
    "more words than expected": Wrong(
        faults.ReceiveCountFault,
        "the host sends 2 words, INCOMING_DCOUNT announced 1",
        owner_and_target(READS, 1),
        [1, 0, *read(0, STAGING, HOST, 8)],
    ),
    "a read of nothing that is not expected": Wrong(
        faults.ReceiveCountFault,
        "the host sends 1 words, INCOMING_DCOUNT announced 0",
        owner_and_target(READS, 0),
        [1, 0, *ENDED],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_the_host_does_not_take(name: str) -> None:
    wrong = WRONG[name]
    fault = bed({0: (wrong.text, wrong.words)}).fails()
    assert type(fault) is wrong.fault, str(fault)
    assert wrong.cause in str(fault)
    assert str(fault).startswith("tile 0")


def test_a_request_for_a_tile_that_sends_nothing() -> None:
    made = bed({0: (owner_and_target(READS, 1), [3, *READ_4[1:]])})
    fault = made.fails()
    assert isinstance(fault, faults.StreamEndFault)
    assert str(fault) == (
        "tile 2: STREAM_END: the phase is over, but it has sent no packets, "
        "though the request of tile 0 names it"
    )


def test_a_request_of_a_tile_that_owns_none() -> None:
    text = owner_and_target(READS, 1, tile=2)
    fault = bed({2: (text, [1, 0, *read(2, STAGING, HOST, 4)])}).fails()
    assert "a request of a tile that owns none; those of tile 0 do" in str(fault)


def test_a_fault_names_the_instruction() -> None:
    fault = bed({0: (owner_and_target(READS, 1), [1, 0, *read(0, STAGING, 0x2000, 4)])}).fails()
    assert str(fault) == (
        "tile 0, event 10, pc 0x4c118: PAGE_NOT_ATTACHED: 4 bytes at 0x2000 of the host, where no "
        "memory is attached, at 'send 1, 82010, 3'"
    )


def test_a_chip_does_not_run_on_after_a_fault() -> None:
    made = bed({0: (owner_and_target(READS, 0), READ_4)})
    fault = made.fails()
    with pytest.raises(ExchangeFault) as raised:
        made.chip.run()
    assert raised.value is fault
    assert int(made.chip.state(0)["supervisor"]["exception"]) == fault.number == 7


def test_all_faults_of_one_kind_are_reported() -> None:
    programs = {
        tile: (owner_and_target(READS, 1, tile), [1, 0, *read(tile, STAGING, 0x2000, 4)])
        for tile in (0, 1)
    }
    fault = bed(programs).fails()
    assert [fault.tile, *(each.tile for each in fault.others)] == [0, 1]


def test_fewer_words_than_expected_are_waited_for_in_vain() -> None:
    made = bed({0: (owner_and_target(READS, 2), READ_4)})
    made.chip.run()
    made.link.set_mark(2, 1)
    outcome = made.chip.run()
    assert outcome.end is End.STUCK
    assert "tile 0 at sync 0 (RECEIVE)" in str(outcome)


def test_words_arrive_while_workers_run() -> None:
    text = owner_and_target(READS, 1).replace(
        "sync 0", "setzi $m0, 0x4d000\n run $m0, $m15, 0\n sync 0\n sync 2"
    )
    made = bed({0: (text, READ_4)})
    worker = code("nop\n" * 40 + "exitz $mzero", 0x4D000, Mode.WORKER)
    made.chip.memory.write(0, *worker)
    fault = made.fails()
    assert isinstance(fault, faults.ReceiveWorkersFault)
    assert "EXERR WORKERS: words of the host are on their way while workers run" in str(fault)
    status = made.chip.state(0)["supervisor"]["csr"][CSRS["CTXT_STS"].index]
    assert status >> 27 & 7 == 4


def test_words_for_the_element_of_the_row() -> None:
    """The row is in the window for packets."""
    text = f"{listen(0)}\n sync 15\n {expect(1)}\n call $m10, 0x51000"
    made = bed({0: (f"{text}\n sync 0\n sync 7", READ_4)})
    called = f"{row((TABLE_ITEM, 2))}\n {READS}\n br $m10"
    made.chip.memory.write(0, *code(called, 0x51000))
    fault = made.fails()
    assert isinstance(fault, faults.SendConflictFault)
    assert any(isinstance(each, faults.ReceiveFetchClashFault) for each in fault.others)


@pytest.mark.parametrize(("others", "is_race"), [(HOST + 60, True), (HOST + 64, False)])
@pytest.mark.parametrize("writer", [0, 1])
def test_two_packets_for_the_same_memory(writer: int, others: int, is_race: bool) -> None:
    """Tiles 0 and 1 write and read; 64 bytes from `HOST` on, and 4 others."""
    programs = {
        writer: (
            owner_and_target(WITH_64, 1, writer),
            [1, 0, *write(writer, HOST, 64, long=True), *read(writer, STAGING, 0, 0)],
        ),
        1 - writer: (
            owner_and_target(READS, 1, 1 - writer),
            [1, 0, *read(1 - writer, STAGING, others, 4)],
        ),
    }
    made = bed(programs)
    if is_race:
        fault = made.fails()
        assert isinstance(fault, faults.HostRaceFault)
        assert "are those of another packet, too, and one of them writes" in str(fault)
    else:
        made.run()
