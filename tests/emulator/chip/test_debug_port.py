"""The debug port, used as a driver uses it: by the documented registers and published words."""

from dataclasses import dataclass

import pytest

from tests.emulator.chip.conftest import code
from tests.emulator.chip.host_programs import bed
from tilewright.emulator.chip import Chip, End
from tilewright.emulator.debug_port import DebugPort
from tilewright.emulator.engines import Engine
from tilewright.emulator.faults import ExchangeFault
from tilewright.emulator.images import TileImage
from tilewright.emulator.memory import UNWRITTEN_WORD
from tilewright.errors import TilewrightError
from tilewright.isa import Mode

CODE, WORKER_CODE, DATA = 0x4C100, 0x4D000, 0x60000
STATUS, BREAKS, INSTRUCTION, CONTEXT, CLEAR, DEBUG_DATA = 0, 1, 3, 4, 6, 7
INJECTION_STATUS, STATUS_CLEAR, COUNT, EXCHANGE = 8, 9, 10, 11
IDLE_BREAKS = 0x40000000

GET_PC, GET_STATUS = 0x41000000, 0x41000001
FROM_DATA_0, FROM_DATA_1 = 0x41000070, 0x41010070
LOAD, STORE = 0x01F01000, 0x4F10F000
TRAP_0, NOP = 0x41801000, 0x19E00000


def to_data(register: int) -> int:
    return 0x43008070 | register << 20


@dataclass
class Debugger:
    """What a driver does with a context of a tile, 0 for the supervisor."""

    port: DebugPort
    tile: int = 0
    context: int = 0

    @property
    def state(self) -> int:
        return self.port.read(self.tile, STATUS) >> 2 * self.context & 3

    def inject(self, word: int) -> int:
        """Returns the bits that tell what went wrong."""
        self.port.write(self.tile, STATUS_CLEAR, 6)
        self.port.write(self.tile, CONTEXT, self.context)
        self.port.write(self.tile, INSTRUCTION, word)
        return self.port.read(self.tile, INJECTION_STATUS)

    def must(self, *words: int) -> None:
        for word in words:
            assert self.inject(word) == 0, f"{word:#x}"

    def register(self, number: int) -> int:
        self.must(to_data(number))
        return self.port.read(self.tile, DEBUG_DATA)

    def set(self, number: int, value: int) -> None:
        self.port.write(self.tile, DEBUG_DATA, value)
        self.must((FROM_DATA_0, FROM_DATA_1)[number])

    def special(self, word: int) -> int:
        """By way of $m0, which is put back."""
        kept = self.register(0)
        self.must(word)
        found = self.register(0)
        self.set(0, kept)
        return found

    def load(self, address: int) -> int:
        kept = self.register(0), self.register(1)
        self.set(1, address)
        self.must(LOAD)
        found = self.register(0)
        self.set(0, kept[0])
        self.set(1, kept[1])
        return found

    def store(self, address: int, word: int) -> None:
        kept = self.register(0), self.register(1)
        self.set(1, address)
        self.set(0, word)
        self.must(STORE)
        self.set(0, kept[0])
        self.set(1, kept[1])

    @property
    def exception(self) -> int:
        return self.special(GET_STATUS) >> 4 & 15


def loaded(
    text: str, others: str = "trap 0", worker: str = "", engine: Engine = Engine.LLVM
) -> Chip:
    """Tile 0 runs `text`, three others something else."""
    chip = Chip(4, engine=engine)
    for tile in range(4):
        pieces = [code(text if tile == 0 else others, CODE)]
        if worker:
            pieces.append(code(worker, WORKER_CODE, Mode.WORKER))
        chip.load(tile, TileImage(tuple(pieces), CODE))
    return chip


# -- contexts that have stopped -------------------------------------------------------------------


def test_registers_and_status_of_a_supervisor_at_a_trap() -> None:
    chip = loaded("setzi $m5, 0x12345\n trap 1")
    chip.run()
    debugger = Debugger(DebugPort(chip))
    assert debugger.state == 2
    assert debugger.register(5) == 0x12345
    assert debugger.special(GET_PC) == CODE + 4
    assert debugger.exception == 3


def test_memory_is_read_and_written_and_registers_are_as_they_were() -> None:
    chip = loaded("setzi $m0, 7\n setzi $m1, 8\n trap 0")
    chip.run()
    debugger = Debugger(DebugPort(chip))
    assert debugger.load(DATA) == UNWRITTEN_WORD
    debugger.store(DATA, 0xDEADBEEF)
    assert debugger.load(DATA) == 0xDEADBEEF
    assert chip.memory.read(0, DATA, 4) == 0xDEADBEEF.to_bytes(4, "little")
    assert (debugger.register(0), debugger.register(1)) == (7, 8)
    assert chip.memory.read(1, DATA, 4) == UNWRITTEN_WORD.to_bytes(4, "little"), "another tile"


def test_a_fault_that_is_no_break() -> None:
    chip = loaded("setzi $m0, 2\n ld32 $m1, $m0, $m15, 0")
    chip.run()
    debugger = Debugger(DebugPort(chip))
    assert debugger.state == 3
    assert debugger.exception == 8
    assert debugger.special(GET_PC) == CODE + 4


RUN_ONE = f"setzi $m0, {WORKER_CODE:#x}\n run $m0, $m15, 0\n sync 2\n trap 0"


@pytest.mark.parametrize("engine", list(Engine))
def test_a_fault_of_a_worker(engine: Engine) -> None:
    """Its supervisor waits for it meanwhile."""
    chip = loaded(RUN_ONE, worker="setzi $m3, 9\n trap 1", engine=engine)
    chip.run()
    port = DebugPort(chip)
    worker = Debugger(port, context=1)
    assert worker.state == 2
    assert Debugger(port).state == 0
    assert worker.exception == 3
    assert worker.register(3) == 9
    assert worker.special(GET_PC) == WORKER_CODE + 4


def test_a_worker_that_is_idle_reads_memory_while_the_supervisor_waits() -> None:
    chip = loaded("setzi $m0, 5\n sync 3")
    assert chip.run().end is End.STUCK
    port = DebugPort(chip)
    assert port.read(0, STATUS) == 0
    assert Debugger(port).inject(GET_PC) == 1, "the supervisor is not quiescent"
    debugger = Debugger(port, context=2)
    assert debugger.load(CODE) == int.from_bytes(chip.memory.read(0, CODE, 4), "little")
    assert int(chip.state(0)["supervisor"]["m"][0]) == 5


def test_tiles_without_a_program_have_memory() -> None:
    debugger = Debugger(DebugPort(Chip(4)), tile=3, context=1)
    debugger.store(DATA, 1)
    assert debugger.load(DATA) == 1


# -- injection ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "status"),
    [
        (0x00000001, 2),  # no instruction
        (UNWRITTEN_WORD, 2),
        (0x41800003, 2),  # sync 3
        (0x40A00001, 2),  # delay 1
        (0x782A02C3, 2),  # send
        (TRAP_0, 4),
        (LOAD, 4),  # from address 0
        (0x41000004, 4),  # a control register that is not there
        (NOP, 0),
    ],
)
def test_what_cannot_be_injected(word: int, status: int) -> None:
    chip = loaded("trap 0")
    chip.run()
    before = chip.state(0).copy()
    debugger = Debugger(DebugPort(chip))
    assert debugger.inject(word) == status
    assert chip.state(0) == before, "nothing has changed"
    assert debugger.inject(NOP) == 0, "the next one is not affected"


def test_branches_do_not_move_the_context() -> None:
    chip = loaded("trap 0")
    chip.run()
    debugger = Debugger(DebugPort(chip))
    debugger.must(0x43A00000)  # br $m10
    assert debugger.special(GET_PC) == CODE


# -- breaks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", list(Engine))
@pytest.mark.parametrize("context", [0, 1])
def test_a_patched_breakpoint(engine: Engine, context: int) -> None:
    """A trap over an instruction stops there; a nop over the trap lets it go on."""
    worker = "setzi $m3, 1\n setzi $m4, 2\n setzi $m5, 3\n exitz $mzero"
    supervisor = f"setzi $m3, 1\n setzi $m4, 2\n {RUN_ONE}"
    chip = loaded(supervisor, worker=worker, engine=engine)
    place = (WORKER_CODE if context else CODE) + 4
    port = DebugPort(chip)
    memory = Debugger(port, context=6)
    memory.store(place, TRAP_0)
    chip.run()
    debugger = Debugger(port, context=context)
    assert debugger.state == 2
    assert debugger.exception == 2
    assert debugger.special(GET_PC) == place
    memory.store(place, NOP)
    port.write(0, CLEAR, 1 << context)
    assert debugger.state != 2
    outcome = chip.run()
    assert outcome.stopped[0].pc == CODE + 4 * 5, "the trap at the end of the program"
    record = chip.state(0)["workers"][0] if context else chip.state(0)["supervisor"]
    assert record["m"][3:5].tolist() == [1, 0], "what the nop has replaced was not executed"


def test_a_trap_that_stays_traps_again() -> None:
    chip = loaded("trap 0")
    chip.run()
    port = DebugPort(chip)
    port.write(0, CLEAR, 1)
    assert Debugger(port).state == 1
    assert chip.run().end is End.STOPPED
    assert Debugger(port).state == 2


def test_a_running_supervisor_is_stopped_and_let_go() -> None:
    loop = "setzi $m1, 500\n add $m1, $m1, -1\n brnz $m1, 0x4c104\n trap 0"
    chip = loaded(loop)
    assert chip.run(100).end is End.LIMIT
    port = DebugPort(chip)
    debugger = Debugger(port)
    assert debugger.state == 1
    assert debugger.inject(GET_PC) == 1, "not quiescent"
    port.write(0, BREAKS, IDLE_BREAKS | 1)
    assert debugger.state == 2
    assert debugger.exception == 1
    counted = debugger.register(1)
    assert 400 < counted < 500
    outcome = chip.run()
    assert "RBRK" in str(outcome)
    assert debugger.register(1) == counted, "it has not gone on"
    port.write(0, BREAKS, IDLE_BREAKS)
    port.write(0, CLEAR, 1)
    assert chip.run().end is End.STOPPED
    assert debugger.register(1) == 0


def test_a_supervisor_at_a_barrier_breaks_behind_it() -> None:
    made = bed({0: ("sync 7\n nop", [])}, tiles=4)
    made.load({0: ("sync 7\n nop", [])}, "sync 7\n nop")
    assert made.chip.run().end is End.HOST
    port = DebugPort(made.chip)
    port.write(0, BREAKS, IDLE_BREAKS | 1)
    debugger = Debugger(port)
    assert debugger.state == 0
    made.link.set_mark(2, 1)
    made.chip.run()
    assert debugger.state == 2
    assert debugger.special(GET_PC) == CODE + 4


def test_single_steps_are_not_modelled() -> None:
    chip = loaded("trap 0")
    chip.run()
    port = DebugPort(chip)
    port.write(0, BREAKS, IDLE_BREAKS | 1)
    with pytest.raises(TilewrightError, match="would break again after one instruction"):
        port.write(0, CLEAR, 1)
    assert Debugger(port).state == 2, "nothing has changed"


# -- the exchange ---------------------------------------------------------------------------------


def test_counts_and_control_of_the_exchange() -> None:
    text = (
        "setzi $m0, 5\n put $INCOMING_DCOUNT, $m0\n setzi $m0, 7\n put $EXCHANGE_CTL, $m0\n sync 0"
    )
    chip = loaded(text)
    chip.run()
    port = DebugPort(chip)
    assert port.read(0, COUNT) == 5
    assert port.read(0, EXCHANGE) == 7
    port.write(0, EXCHANGE, 0xFFFFFFFF)
    assert port.read(0, EXCHANGE) == 31


def test_a_receive_error_shows_until_it_is_cleared() -> None:
    """Tile 1 listens to tile 0, and its pointer is outside memory."""
    neutral = "setzi $m0, 0x640\n put $INCOMING_MUX, $m0\n sync 3\n"
    sends = neutral + "delay 63\n send 0, 0x14000, 3\n delay 99\n trap 0"
    hears = neutral + "delayxpic 0, 0, 0\n delay 49\n delaypic 0, 0, 0\n delay 99\n trap 0"
    chip = Chip(4)
    for tile in range(4):
        text = (sends, hears, "sans 0\n sync 1\n trap 0")[min(tile, 2)]
        chip.load(tile, TileImage((code(text, CODE),), CODE))
    with pytest.raises(ExchangeFault) as raised:
        chip.run()
    reported = [each for each in (raised.value, *raised.value.others) if each.receive_error]
    assert reported, str(raised.value)
    port = DebugPort(chip)
    status = port.read(1, STATUS)
    assert status >> 27 & 7 == reported[-1].receive_error
    assert status >> 30 & 1 == 1
    assert status & 3 == 3
    assert Debugger(port, tile=1).exception == 13
    port.write(1, CLEAR, 1)
    assert port.read(1, STATUS) >> 27 == 0


# -- registers ------------------------------------------------------------------------------------


def test_registers_that_hold_what_is_written() -> None:
    port = DebugPort(Chip(4))
    assert port.read(2, BREAKS) == IDLE_BREAKS
    for register, value in {2: 0x50000, 4: 6, 5: 0b1101, 12: 3}.items():
        port.write(2, register, value)
        assert port.read(2, register) == value
        assert port.read(1, register) == 0, "of another tile"


@pytest.mark.parametrize(
    ("tile", "register", "value", "cause"),
    [
        (0, 13, 0, "no debug register 13"),
        (4, 0, 0, "no tile 4"),
        (-1, 0, 0, "no tile -1"),
        (0, 7, 1 << 32, "is no word"),
        (0, 4, 7, "no context 7"),
        (0, 1, 1 << 31, "at a vertex are not modelled"),
        (0, 5, 1 << 5, "at barriers are not modelled"),
    ],
)
def test_uses_that_make_no_sense(tile: int, register: int, value: int, cause: str) -> None:
    with pytest.raises(TilewrightError, match=cause):
        DebugPort(Chip(4)).write(tile, register, value)
