"""Looking into tiles of an emulated device by the debug registers, and reports of failures."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.driver import programs
from tilewright.driver import (
    Board,
    Debugger,
    DeviceHang,
    DeviceTimeout,
    ExceptionType,
    Limits,
    Program,
    ProtocolError,
    TileError,
    TransportError,
)
from tilewright.driver.registers import tile_register
from tilewright.target.debug import ContextStatus, DebugRegister

if TYPE_CHECKING:
    from .conftest import Driven, Make

X, Y, CODE = programs.X, programs.Y, programs.START


def with_word(device: "Driven", word: int, tile: int = 5) -> "np.typing.NDArray[np.int32]":
    x = device.x()
    x[tile, 0] = word
    return x


@pytest.fixture
def ended(driven: "Make") -> Debugger:
    """The tiles of a program that has run and stopped: supervisors at their traps."""
    device = driven().load()
    device.run(device.x())
    assert device.program is not None
    device.program.stop()
    return Debugger(device.transport, Limits())


def test_a_supervisor_that_has_trapped(ended: Debugger) -> None:
    """At its `trap 0`. The host has used its $m0 and $m1 to read the word of completion."""
    assert ended.status(3).states == (ContextStatus.DEBUG_EXCEPTED, *[ContextStatus.IDLE] * 6)
    assert ended.exception(3, 0) is ExceptionType.PATCHED_BREAK_0
    pc = ended.program_counter(3, 0)
    assert ended.read_words(3, 0, pc, 1) == [0x41801000]
    assert [ended.general(3, 0, number) for number in (0, 1, 6, 7)] == [
        1,
        programs.STATE,
        0x640,
        0x600 | 1,
    ]


def test_memory_is_read_and_written_and_registers_stay(ended: Debugger) -> None:
    before = [ended.general(9, 0, number) for number in range(12)]
    ended.write_words(9, 0, Y, [0x12345678, 0x9ABCDEF0])
    assert ended.read_words(9, 0, Y, 2) == [0x12345678, 0x9ABCDEF0]
    assert [ended.general(9, 0, number) for number in range(12)] == before
    assert ended.read_words(8, 0, Y, 2) != [0x12345678, 0x9ABCDEF0]


def test_an_idle_worker_reads_memory_as_well(ended: Debugger) -> None:
    assert ended.memory_context(9) == 0
    assert ended.read_words(9, 2, Y, 4) == ended.read_words(9, 0, Y, 4)


def test_an_instruction_that_does_not_exist(ended: Debugger) -> None:
    with pytest.raises(ProtocolError, match="supervisor of tile 4 does not run 0xffffffff"):
        ended.inject(4, 0, 0xFFFFFFFF)
    assert ended.general(4, 0, 6) == 0x640, "the next one runs"


def test_a_tile_that_waits_is_quiet_and_refuses(driven: "Make") -> None:
    """Its supervisor does; its workers, which are idle, do not."""
    device = driven().load()
    debugger = Debugger(device.transport, Limits())
    assert debugger.status(0).states == (ContextStatus.IDLE,) * 7
    assert debugger.excepted_tiles().size == 0
    with pytest.raises(ProtocolError, match="has to have stopped"):
        debugger.general(0, 0, 0)
    assert debugger.memory_context(0) == 1
    [word] = debugger.read_words(0, 1, CODE, 1)
    assert word == int.from_bytes(programs.code(0)[0][:4], "little")


def test_a_running_supervisor_is_stopped_and_goes_on(driven: "Make") -> None:
    """In an endless loop, whose branch it is found at."""
    device = driven(limits=Limits(mark=0.01)).load()
    assert device.program is not None
    with pytest.raises(DeviceTimeout) as raised:
        device.run(with_word(device, programs.ENDLESS, 6))
    assert raised.value.report is not None
    [tile] = raised.value.report.tiles
    assert (tile.tile, tile.states[0]) == (6, ContextStatus.ACTIVE)
    [context] = tile.contexts
    assert (context.pc, context.exception) == (programs.code(6)[1]["endless"], ExceptionType.NONE)
    assert "in endless, add.S:1, sum (kernel), model:7: running" in str(raised.value)
    debugger = Debugger(device.transport, Limits())
    with debugger.stopped(6, 0):
        assert debugger.exception(6, 0) is ExceptionType.RETIREMENT_BREAK
        assert debugger.program_counter(6, 0) == programs.code(6)[1]["endless"]
    assert debugger.read_register(6, DebugRegister.RETIREMENT_BREAK) == 1 << 30
    assert debugger.status(6).states[0] is ContextStatus.ACTIVE


def test_a_context_that_does_not_stop(driven: "Make") -> None:
    """One that waits retires nothing."""
    device = driven().load()
    debugger = Debugger(device.transport, Limits())
    with (
        pytest.raises(DeviceTimeout, match="stopping supervisor of tile 0"),
        debugger.stopped(0, 0),
    ):
        pass
    assert debugger.read_register(0, DebugRegister.RETIREMENT_BREAK) == 1 << 30


# -- reports --------------------------------------------------------------------------------------


def test_a_supervisor_that_excepts(driven: "Make") -> None:
    device = driven().load()
    with pytest.raises(TileError) as raised:
        device.run(with_word(device, programs.BAD_ADDRESS))
    error = raised.value
    assert error.tile == 5
    context = error.context
    assert context is not None
    assert context.exception is ExceptionType.INVALID_ADDRESS
    assert context.pc == programs.code(5)[1]["misaligned"]
    assert context.registers[:4] == (X, programs.W, Y, programs.BAD_ADDRESS)
    assert context.changed == ()
    place = context.place
    assert place is not None
    assert (place.symbol, place.operation, place.line, place.source) == (
        "misaligned",
        "sum",
        "add.S:1",
        "model:7",
    )
    first = str(error).splitlines()[0]
    assert first.startswith("tile 5, supervisor at pc 0x4c1")
    assert first.endswith("in misaligned, add.S:1, sum (kernel), model:7: INVALID_ADDRESS")
    assert "m3 0x7bad0001" in str(error)


def test_a_worker_that_excepts(driven: "Make") -> None:
    device = driven().load()
    with pytest.raises(TileError) as raised:
        device.run(with_word(device, programs.WORKER_FAULT))
    context = raised.value.context
    assert context is not None
    assert context.context in range(1, 7)
    assert context.pc == programs.code(5)[1]["in_worker"] + 4
    assert context.registers[4] == 2
    assert context.exception is ExceptionType.INVALID_ADDRESS


@pytest.mark.parametrize("count", [programs.WORDS - 1, programs.WORDS + 1])
def test_words_that_do_not_come_as_expected(driven: "Make", count: int) -> None:
    """More of them are an exception of the chip; fewer leave the tile waiting, which an emulated
    chip can tell."""
    device = driven().load()
    words = np.frombuffer(programs.code(5)[0], "<u4")
    labels = programs.code(5)[1]
    expecting = 0x19800000 | programs.WORDS  # setzi $m8
    addresses = CODE + 4 * np.flatnonzero(words == expecting)
    address = int(addresses[addresses > labels["run"]][0])
    Debugger(device.transport, Limits()).write_words(
        5, 1, address, [expecting - programs.WORDS + count]
    )
    if count > programs.WORDS:
        with pytest.raises(DeviceHang, match=r"tile 5 at sync 0 \(RECEIVE\)"):
            device.run(device.x())
        return
    with pytest.raises(TileError) as raised:
        device.run(device.x())
    assert raised.value.tile == 5
    assert raised.value.context is not None
    assert raised.value.context.exception is ExceptionType.EXCHANGE_CONFIGURATION
    assert "16 words, INCOMING_DCOUNT announced 15" in str(raised.value)


def test_many_tiles_are_told_once_if_they_are_alike(driven: "Make") -> None:
    device = driven().load()
    x = device.x()
    x[:20, 0] = programs.BAD_ADDRESS
    with pytest.raises(TileError) as raised:
        device.run(x)
    report = raised.value.report
    assert report is not None
    assert [each.tile for each in report.tiles] == list(range(16))
    assert report.others == 4
    assert str(report).count("INVALID_ADDRESS") == 2, "owners have another code image than others"


def test_code_that_was_changed_is_told(driven: "Make") -> None:
    device = driven().load()
    debugger = Debugger(device.transport, Limits())
    pc = programs.code(5)[1]["misaligned"]
    debugger.write_words(5, 1, pc - 4, [0x19E00000])
    with pytest.raises(TileError) as raised:
        device.run(with_word(device, programs.BAD_ADDRESS))
    assert raised.value.context is not None
    assert raised.value.context.changed == (pc - 4,)


def test_what_is_not_modelled_is_refused_by_the_transport(driven: "Make") -> None:
    """As whatever else the device's side refuses: packages may write any register."""
    device = driven().load()
    register = tile_register(5, DebugRegister.INJECTION_CONTEXT)
    with pytest.raises(TransportError, match="register of tile 5: there is no context 9"):
        device.transport.write(register, 9)


def test_debug_registers_are_words_of_the_space(driven: "Make") -> None:
    device = driven().load()
    assert isinstance(device.program, Program)
    board = Board(device.transport)
    assert board.transport.read(0x30000 + 0x40 * 5 + 4) == 1 << 30
