"""The compiled interpreter loop beside the reference engine: whole tiles, all compared."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.emulator.conftest import machine_code
from tests.examples import examples
from tilewright.emulator.events import EventKind
from tilewright.emulator.inspection import Inspector
from tilewright.emulator.llvm import LlvmWorkers, ObjectCache
from tilewright.emulator.llvm.supervisor import LlvmSupervisors
from tilewright.emulator.llvm.supervisor_loop import executed_forms
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.records import Ending, TileRecords
from tilewright.emulator.reference.tile import ReferenceTile, Stop, Stopped
from tilewright.emulator.supervised import FullyCompiledTile
from tilewright.isa import FORM_BY_NAME, FORMS, Form, Kind, Mode, encode
from tilewright.target.csr import CSRS
from tilewright.target.flags import SYNC_ZONES
from tilewright.target.geometry import EXECUTABLE_END, MEMORY_BASE, MEMORY_END

CODE, WORKER_CODE, DATA, DATA_1 = 0x4C100, 0x4D000, 0x60000, 0x90000
EXIT = "exitnz $mzero"


class Pair:
    """A tile of each engine with the same content."""

    def __init__(self, workers: LlvmWorkers, supervisors: LlvmSupervisors) -> None:
        self._memories = TileMemory(1), TileMemory(1)
        self.reference = ReferenceTile(self._memories[0], 0)
        self.compiled = FullyCompiledTile(self._memories[1], 0, workers, supervisors)
        for tile in self.tiles:
            tile.state["supervisor"]["pc"] = CODE
            tile.state["supervisor"]["m"][0] = WORKER_CODE
        self.load(WORKER_CODE, machine_code(EXIT, Mode.WORKER))

    @property
    def tiles(self) -> tuple[ReferenceTile, ReferenceTile]:
        return self.reference, self.compiled

    @property
    def m(self) -> list[int]:
        return [int(word) for word in self.compiled.state["supervisor"]["m"]]

    def load(self, address: int, content: bytes) -> None:
        for memory in self._memories:
            memory.write(0, address, content)

    def program(self, text: str, address: int = CODE) -> None:
        self.load(address, machine_code(text, Mode.SUPERVISOR))

    def set(self, **registers: int) -> None:
        for tile in self.tiles:
            for name, value in registers.items():
                tile.state["supervisor"]["m"][int(name[1:])] = value

    def resume(self, cycle: int) -> None:
        for tile in self.tiles:
            tile.resume(cycle)

    def run(self, limit: int = 5_000) -> Stopped:
        expected, actual = (tile.run(limit) for tile in self.tiles)
        assert _comparable(actual) == _comparable(expected)
        self._compare()
        return actual

    def run_on(self, limit: int = 5_000) -> list[Stop]:
        """Run, and resume after barriers, until something else ends it."""
        reasons = []
        while True:
            stopped = self.run(limit)
            reasons.append(stopped.reason)
            if stopped.reason is Stop.SYNC:
                self.resume(stopped.cycle + 17)
            elif stopped.reason is not Stop.ROW_END:
                return reasons

    def _compare(self) -> None:
        for name in ("m", "csr", "pc", "exception"):
            one, other = (tile.state["supervisor"][name] for tile in self.tiles)
            assert np.array_equal(one, other), f"{name}: {other} instead of {one}"
        assert self.compiled.cycle == self.reference.cycle
        assert np.array_equal(self.compiled.state["weights"], self.reference.state["weights"])
        assert np.array_equal(self.compiled.events, self.reference.events)
        for name in ("row", "kinds", "busy", "last_exit"):
            assert self.compiled.schedule[name] == self.reference.schedule[name], name
        one, other = (memory.bytes[0] for memory in self._memories)
        for start in (CODE, DATA, DATA_1):
            place = slice(start - MEMORY_BASE, start - MEMORY_BASE + 0x2000)
            assert np.array_equal(one[place], other[place])


def _comparable(stopped: Stopped) -> tuple[Any, ...]:
    fault = stopped.fault
    known = None if fault is None else (type(fault), str(fault))
    return stopped.reason, stopped.cycle, stopped.context, stopped.pc, stopped.zone, known


@pytest.fixture(scope="session")
def supervisors() -> LlvmSupervisors:
    return LlvmSupervisors(ObjectCache(None))


@pytest.fixture
def pair(workers: LlvmWorkers, supervisors: LlvmSupervisors) -> Pair:
    return Pair(workers, supervisors)


# -- time -----------------------------------------------------------------------------------------


def test_a_loop_takes_seven_cycles_around(pair: Pair) -> None:
    pair.program(f"add $m1, $m1, 3\nbrnzdec $m2, {CODE:#x}\ntrap 0")
    pair.set(m2=9)
    stopped = pair.run()
    assert pair.m[1] == 30
    assert stopped.cycle == 9 * 7 + 2


def test_a_result_is_waited_for(pair: Pair) -> None:
    pair.program("add $m1, $m1, 3\nmul $m2, $m1, $m1\nxor $m3, $m4, $m2\ntrap 0")
    assert pair.run().cycle == 13


def test_a_discarded_result_is_waited_for(pair: Pair) -> None:
    pair.program("add $mzero, $m1, 3\nadd $m2, $mzero, 1\ntrap 0")
    assert pair.run().cycle == 7
    assert pair.m[2] == 1


def test_what_is_ready_later_is_known_after_a_stop(pair: Pair) -> None:
    pair.program("add $m1, $m1, 3\ntrap 0")
    pair.run(limit=1)
    pair.program("add $m2, $m1, 1\ntrap 0", CODE + 4)
    assert pair.run().cycle == 7


def test_it_stops_at_any_limit(pair: Pair) -> None:
    pair.program(f"add $m1, $m1, 3\nshl $m3, $m1, 1\nbrnzdec $m2, {CODE:#x}\nbri {CODE:#x}")
    pair.set(m2=9)
    for limit in range(200):
        assert pair.run(limit).reason is Stop.LIMIT


def test_workers_take_slots_from_it(pair: Pair) -> None:
    slow = "\n".join(["nop"] * 20 + [EXIT])
    pair.load(WORKER_CODE, machine_code(slow, Mode.WORKER))
    adds = "\n".join(f"add $m{2 + n % 6}, $m9, {n}" for n in range(100))
    pair.set(m1=DATA)
    pair.program(f"run $m0, $m1, 0\nrun $m0, $m1, 0\n{adds}\nsync {SYNC_ZONES['LOCAL']}\ntrap 0")
    assert pair.run().reason is Stop.FAULT


def test_six_workers_leave_it_no_slot(pair: Pair) -> None:
    pair.set(m1=DATA)
    pair.program("runall $m0, $m1, 0\nadd $m2, $m2, 1\nadd $m3, $m2, 1\ntrap 0")
    pair.run()
    assert pair.m[3] == 2


# -- control registers and the weight store -------------------------------------------------------


def test_the_cycle_counter(pair: Pair) -> None:
    pair.program("nop\nnop\nget $m1, $SCOUNT_L\nget $m2, $SCOUNT_U\ntrap 0")
    for tile in pair.tiles:
        tile.schedule["supervisor"] = (7 << 32) + 5
    pair.run(limit=1 << 40)
    assert pair.m[1:3] == [7, 7]


def test_bits_that_do_not_exist_are_not_written(pair: Pair) -> None:
    pair.set(m1=0xFFFF_FFFF)
    names = [csr.name for csr in CSRS.values() if csr.space.name in ("COMMON", "SUPERVISOR")]
    pair.program("\n".join(f"put ${name}, $m1\nget $m2, ${name}" for name in names) + "\ntrap 0")
    assert pair.run().reason is Stop.FAULT


def test_loads_of_weights(pair: Pair) -> None:
    pair.load(DATA_1, bytes(range(256)))
    pair.set(m1=DATA_1)
    pair.program("put $CCCSLOAD, $m1\nld128putcs 2\nld64putcs 63\nld64putcs 4\nget $m2, $CCCSLOAD")
    pair.run(limit=40)
    assert pair.m[2] == DATA_1 + 32
    assert int(pair.compiled.state["weights"][63]) == 0x1716151413121110


@pytest.mark.parametrize("text", ["ld128putcs 3", "ld64putcs 64", "ld128putcs 64"])
def test_a_weight_that_is_not_there(pair: Pair, text: str) -> None:
    pair.set(m1=DATA_1)
    pair.program(f"put $CCCSLOAD, $m1\n{text}\ntrap 0")
    assert pair.run().pc == CODE + 4


# -- rows -----------------------------------------------------------------------------------------

ROW = """
put $INCOMING_BASE, $m1
put $INCOMING_MUX, $m2
delay 3
delaypic 5, 1, 1234
delayxpic 7, 0, 99
send 3, 0x1234, 5
sendoff 9, 17, 3
sendpic 3, 0, 17
sendpic 3, 1, 18
sendpic 3, 2, 19
sendpic 3, 3, 20
put $OUTGOING_BASE, $m1
put $EXCHANGE_ADJ, $m1
put $WORKER0_BASE, $m1
delay 0
"""


def test_events(pair: Pair) -> None:
    pair.program(f"{ROW}\ntrap 0")
    pair.run()
    assert pair.compiled.events["kind"].tolist().count(EventKind.SEND) == 6


@pytest.mark.parametrize("control", [0, 5])
def test_controls_in_a_second_word(pair: Pair, control: int) -> None:
    word = encode(FORM_BY_NAME["sendpicp u6,u18,u3,u1"], [3, 77, control, 1])
    pair.load(CODE, word.to_bytes(4, "little") + 0x8765_4321.to_bytes(4, "little"))
    pair.program("trap 0", CODE + 8)
    assert pair.run().pc == CODE + 8


def test_two_words_at_an_odd_place(pair: Pair) -> None:
    word = encode(FORM_BY_NAME["sendpicp u6,u18,u3,u1"], [3, 77, 1, 1])
    pair.program("nop")
    pair.load(CODE + 4, word.to_bytes(4, "little") * 2)
    assert pair.run().pc == CODE + 4


def test_more_events_than_there_is_room_for(pair: Pair) -> None:
    pair.program(f"delay 0\nsendpic 0, 2, 1\nbrnzdec $m1, {CODE:#x}\ntrap 0")
    pair.set(m1=3000)
    pair.run(limit=50_000)
    assert len(pair.compiled.events) == 3001 * 3


@pytest.mark.parametrize(
    "end", ["ld32 $m2, $m1, $mzero, 0", "st32 $m2, $m1, $mzero, 0", "get $m2, $SSR", "sync 0"]
)
def test_a_row_ends(pair: Pair, end: str) -> None:
    pair.set(m1=DATA)
    pair.program(f"nop\n{ROW}\nadd $m3, $m3, 1\n{end}\n{ROW}\nget $m4, $SSR\ntrap 0")
    pair.resume(10)
    assert pair.run().reason is Stop.ROW_END
    pair.run_on()


def test_barriers(pair: Pair) -> None:
    external = next(zone for name, zone in SYNC_ZONES.items() if name not in ("LOCAL", "ANS"))
    pair.program(f"sync {external}\nnop\n{ROW}\nsync {external}\nnop\ntrap 0")
    assert pair.run_on() == [Stop.SYNC, Stop.ROW_END, Stop.SYNC, Stop.FAULT]


# -- workers --------------------------------------------------------------------------------------

WORK = f"""
ld32 $m1, $m13, $mzero, 0
ld32 $m2, $m13, $mzero, 1
add $m3, $m3, 5
brnzdec $m1, {WORKER_CODE + 8:#x}
st32 $m3, $m13, $mzero, 32
exitnz $m2
"""
"""Goes round as often as its first word says, and exits with its second."""


def _set_work(pair: Pair, rounds: Sequence[int], statuses: Sequence[int]) -> None:
    """One vertex for each worker, in 8 bytes."""
    pair.load(WORKER_CODE, machine_code(WORK, Mode.WORKER))
    words = [word for each in zip(rounds, statuses, strict=True) for word in each]
    pair.load(DATA, np.array(words, np.uint32).tobytes())
    pair.set(m1=WORKER_CODE, m2=DATA, m3=DATA - MEMORY_BASE)


@pytest.mark.parametrize("rounds", [[0] * 6, [5, 4, 3, 2, 1, 0], [0, 9, 1, 8, 2, 7], [150] * 6])
@pytest.mark.parametrize("statuses", [[1] * 6, [1, 1, 0, 1, 1, 1]])
def test_all_workers(pair: Pair, rounds: list[int], statuses: list[int]) -> None:
    """What the supervisor does while they run, and how they end, also when it is their second time.

    It issues in slots of workers that have ended, and waits for the last one.
    """
    _set_work(pair, rounds, statuses)
    text = "add $m4, $m4, 1\nadd $m5, $m4, 1\nget $m6, $SCOUNT_L\n"
    again = f"runall $m1, $m2, 2\n{text}sync 2\nget $m7, $SSR\n{text}"
    pair.program(f"{again}{again}trap 0")
    assert pair.run_on() == [Stop.FAULT]
    assert pair.m[4] == 4
    assert np.array_equal(pair.compiled.state["workers"], pair.reference.state["workers"])


def test_single_workers_while_the_supervisor_goes_on(pair: Pair) -> None:
    """It lets the lowest idle one start; a row of exchange code goes on beside them."""
    _set_work(pair, [40, 3, 0, 17, 5, 1], [1, 0, 1, 1, 0, 1])
    starts = "\n".join(f"run $m1, $m3, {2 * n}\nadd $m4, $m4, 1\ndelay {n}" for n in range(6))
    pair.program(f"{starts}\nsync 2\nrun $m1, $m3, 0\nsync 2\nget $m5, $SSR\ntrap 0")
    assert pair.run_on() == [Stop.FAULT]
    assert np.array_equal(pair.compiled.state["workers"], pair.reference.state["workers"])


def test_a_worker_that_faults_in_the_end(pair: Pair) -> None:
    _set_work(pair, [4, 4, 4, 4, 4, 4], [1] * 6)
    fault = "ld32 $m1, $m15, $m15, 1"
    pair.load(WORKER_CODE + 8, machine_code(f"add $m3, $m3, 1\nnop\n{fault}", Mode.WORKER))
    pair.program("runall $m1, $m2, 2\nadd $m4, $m4, 1\nsync 2\ntrap 0")
    stopped = pair.run()
    assert (stopped.reason, stopped.context) == (Stop.FAULT, 1)


def test_more_workers_than_there_are(pair: Pair) -> None:
    _set_work(pair, [40] * 6, [1] * 6)
    pair.program("runall $m1, $m2, 2\nadd $m4, $m4, 1\nrunall $m1, $m2, 2\ntrap 0")
    assert pair.run().fault is not None


def test_worker_code_that_changes_between_runs(pair: Pair) -> None:
    """The words at the address of a translation are looked at each time."""
    _set_work(pair, [1] * 6, [1] * 6)
    add = int.from_bytes(machine_code("add $m3, $m3, 7", Mode.WORKER), "little")
    again = "runall $m1, $m2, 2\nsync 2\n"
    pair.set(m5=add)
    pair.program(f"{again}st32 $m5, $m1, $mzero, 2\n{again}trap 0")
    pair.run_on()
    assert int(pair.compiled.state["workers"]["m"][0][3]) == 2 * 5 + 2 * 7
    assert np.array_equal(pair.compiled.state["workers"], pair.reference.state["workers"])


def test_no_barrier_with_others_while_workers_are_active(pair: Pair) -> None:
    pair.load(WORKER_CODE, machine_code(f"nop\nnop\n{EXIT}", Mode.WORKER))
    pair.set(m1=WORKER_CODE)
    pair.program("run $m1, $m3, 0\nsync 3\ntrap 0")
    assert "while workers are active" in str(pair.run().fault)


# -- code -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [0, 2, MEMORY_BASE - 4, EXECUTABLE_END, MEMORY_END, 0xFFFF_FFFC])
def test_a_branch_to_where_no_code_can_be(pair: Pair, target: int) -> None:
    pair.set(m1=target)
    pair.program("br $m1")
    if MEMORY_BASE <= target < MEMORY_END:
        pair.program("add $m2, $m2, 1", target)
    assert pair.run().pc == target
    assert pair.m[2] == 0


@pytest.mark.parametrize("address", [MEMORY_BASE, EXECUTABLE_END - 4])
def test_code_at_the_bounds(pair: Pair, address: int) -> None:
    pair.set(m1=address)
    pair.program("br $m1")
    pair.program("add $m2, $m2, 1", address)
    pair.run()
    assert pair.m[2] == 1


@pytest.mark.parametrize("word", [0x7FC0_7E00, 0, 0xFFFF_FFFF, 0xA200_0001, 0x1900_0000 | 1 << 31])
def test_words_that_are_no_instruction(pair: Pair, word: int) -> None:
    pair.program("nop\nnop")
    pair.load(CODE + 4, word.to_bytes(4, "little"))
    assert pair.run().pc == CODE + 4


def test_code_that_writes_code(pair: Pair) -> None:
    add = int.from_bytes(machine_code("add $m3, $m3, 5", Mode.SUPERVISOR), "little")
    pair.set(m1=CODE, m2=add)
    pair.program("st32 $m2, $m1, $mzero, 2\nnop\ntrap 1\ntrap 0")
    pair.run()
    assert pair.m[3] == 5


# -- what is executed in compiled code ------------------------------------------------------------


JUMPS = ("br", "run", "runall")


def _run(
    supervisors: LlvmSupervisors, records: TileRecords, memory: TileMemory, start: int, limit: int
) -> Ending:
    records.schedules[0]["supervisor"] = start
    supervisors.run(records, memory, np.zeros(1, np.uint32), limit)
    return Ending(int(records.schedules[0]["ending"]))


@pytest.mark.parametrize("form", executed_forms(), ids=lambda form: form.name)
def test_forms_are_executed(supervisors: LlvmSupervisors, form: Form) -> None:
    """All but those that concern others, as long as they do not fault."""
    memory, records = TileMemory(1), TileRecords(1)
    state = records.states[0]
    csr = CSRS["CCCSLOAD"].index
    is_access = form.mnemonic.startswith(("ld", "st"))
    values = []
    for place, operand in enumerate(form.operands):
        value = {Kind.CSR: 2 if is_access else csr, Kind.TARGET: CODE}.get(operand.kind, 0)
        if operand.is_register:
            value = 1 if is_access and place == 1 else 2 if form.mnemonic in JUMPS else 3
        values.append(value)
    memory.write(0, CODE, machine_code("nop", Mode.SUPERVISOR) * 4)
    memory.write(0, CODE, encode(form, values).to_bytes(4, "little"))
    state["supervisor"]["pc"] = CODE
    state["supervisor"]["m"][1:3] = DATA, CODE
    state["supervisor"]["csr"][csr] = DATA_1
    expected = Ending.SYNC if form.mnemonic == "sync" else Ending.LIMIT
    assert _run(supervisors, records, memory, 0, 1) is expected
    assert records.schedules[0]["instructions"] == 1


def test_the_cycle_counter_is_read(supervisors: LlvmSupervisors) -> None:
    memory, records = TileMemory(1), TileRecords(1)
    state = records.states[0]
    code = machine_code("get $m1, $SCOUNT_L\nget $m2, $SCOUNT_U\nnop", Mode.SUPERVISOR)
    memory.write(0, CODE, code)
    state["supervisor"]["pc"] = CODE
    assert _run(supervisors, records, memory, 5, 7) is Ending.LIMIT
    assert records.schedules[0]["instructions"] == 2
    assert int(state["supervisor"]["m"][1]) == 5


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("nop", Ending.LIMIT),
        ("sync 2", Ending.LIMIT),
        ("sync 3", Ending.SYNC),
        ("sync 8", Ending.LEFT),
        ("trap 0", Ending.LEFT),
        ("br $mzero", Ending.LEFT),
    ],
)
def test_it_says_why_it_ended(supervisors: LlvmSupervisors, text: str, ending: Ending) -> None:
    memory, records = TileMemory(1), TileRecords(1)
    state = records.states[0]
    memory.write(0, CODE, machine_code(f"nop\n{text}\nnop", Mode.SUPERVISOR))
    state["supervisor"]["pc"] = CODE
    assert _run(supervisors, records, memory, 0, 2) is ending


def test_an_observer_sees_every_issue(pair: Pair) -> None:
    pair.program("\n".join(["add $m1, $m1, 1"] * 5) + "\ntrap 0")
    inspectors = [Inspector(traced=[0]) for _ in pair.tiles]
    for tile, inspector in zip(pair.tiles, inspectors, strict=True):
        tile.observer = inspector
    pair.run()
    assert len(inspectors[1].trace) == 5
    assert inspectors[1].trace == inspectors[0].trace


def test_it_goes_back_to_a_snapshot(pair: Pair) -> None:
    """In a row, where operands are waited for."""
    pair.set(m1=DATA)
    pair.program(f"nop\n{ROW}\nadd $m3, $m3, 1\nadd $m3, $m3, 1\nget $m4, $SSR\ntrap 0")
    pair.resume(10)
    pair.run(limit=15)
    saved = [tile.save() for tile in pair.tiles]
    ends = pair.run_on()
    for tile, snapshot in zip(pair.tiles, saved, strict=True):
        tile.restore(snapshot)
    assert pair.run_on() == ends == [Stop.ROW_END, Stop.FAULT]


# -- programs drawn at random ---------------------------------------------------------------------

DRAWN = [form for form in FORMS if form.mode.allows(Mode.SUPERVISOR)]
RARE = ("trap", "run", "runall", "sync", "sans", "br", "bri", "call")
CSR_INDICES = [csr.index for csr in CSRS.values() if csr.space.name in ("COMMON", "SUPERVISOR")]
LENGTH = 40


BASES, OFFSETS, RESULTS = (1, 2, 3), (8, 9, 10, 15), (4, 5, 6, 7)
"""Registers that hold addresses, small numbers, and anything."""


def _word(generator: np.random.Generator, form: Form) -> int:
    """The form with random operands that it accepts, mostly such that it does not fault."""
    values = []
    for place, operand in enumerate(form.operands):
        low, high = operand.minimum, operand.maximum
        if operand.kind in (Kind.UNSIGNED, Kind.SIGNED) and generator.integers(0, 4):
            low, high = max(low, -4 * operand.step), min(high, 8 * operand.step)
        value = low + operand.step * int(generator.integers(0, (high - low) // operand.step + 1))
        if operand.kind is Kind.TARGET:
            value = CODE + 4 * int(generator.integers(0, LENGTH))
        if operand.kind is Kind.CSR and generator.integers(0, 8):
            value = int(generator.choice(CSR_INDICES))
            if "putcs" in form.mnemonic:
                value = int(generator.integers(0, 70))
        if operand.is_register and generator.integers(0, 8):
            value = int(generator.choice(_usual_registers(form, place)))
        values.append(value)
    return encode(form, values)


def _usual_registers(form: Form, place: int) -> Sequence[int]:
    is_access = form.mnemonic.startswith(("ld", "st"))
    if is_access and place == 1:
        return BASES
    if is_access and place > 1:
        return OFFSETS
    return RESULTS if form.operands[place].writes else range(16)


def _words(generator: np.random.Generator) -> Sequence[int]:
    words: list[int] = []
    while len(words) < LENGTH:
        form = DRAWN[int(generator.integers(len(DRAWN)))]
        if form.mnemonic in RARE and generator.integers(0, 6):
            continue
        words.append(_word(generator, form))
        if form.words == 2:
            words.append(int(generator.integers(0, 1 << 32)))
    return words


def _registers(generator: np.random.Generator) -> dict[str, int]:
    addresses = [DATA, DATA + 0x100, DATA_1, DATA_1 + 0x100]
    registers = {f"m{n}": int(generator.choice(addresses)) for n in BASES}
    registers |= {f"m{n}": int(generator.choice([0, 4, 8, 0xFFFF_FFFC])) for n in (8, 9, 10)}
    for number in (*RESULTS, 11):
        known = [WORKER_CODE, CODE + 16, 0, 1, 0x8000_0000, int(generator.integers(0, 1 << 32))]
        registers[f"m{number}"] = int(generator.choice(known))
    return registers | {"m0": WORKER_CODE}


@examples(150, allow=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, (1 << 32) - 1))
def test_random_programs(workers: LlvmWorkers, supervisors: LlvmSupervisors, seed: int) -> None:
    pair = Pair(workers, supervisors)
    generator = np.random.default_rng(seed)
    pair.load(CODE, b"".join(word.to_bytes(4, "little") for word in _words(generator)))
    for place in (DATA, DATA_1):
        pair.load(place, generator.integers(0, 256, 0x400, dtype=np.uint8).tobytes())
    pair.set(**_registers(generator))
    for tile in pair.tiles:
        tile.state["supervisor"]["csr"][CSRS["CCCSLOAD"].index] = DATA_1
    if generator.integers(0, 2):
        pair.resume(int(generator.integers(0, 100)))
    pair.run_on(limit=int(generator.integers(1, 2_000)))


def _single_cases() -> list[Form]:
    return [form for form in DRAWN if form.words == 1]


@pytest.mark.parametrize("form", _single_cases(), ids=lambda form: form.name)
def test_each_form(workers: LlvmWorkers, supervisors: LlvmSupervisors, form: Form) -> None:
    for seed in range(20):
        generator = np.random.default_rng(seed)
        pair = Pair(workers, supervisors)
        word = _word(generator, form)
        pair.load(CODE, word.to_bytes(4, "little"))
        pair.program("\n".join(f"add $m{n}, $m{n}, 1" for n in range(12)) + "\ntrap 0", CODE + 4)
        pair.set(**_registers(generator))
        pair.load(DATA, bytes(range(256)))
        pair.load(DATA_1, bytes(range(256)))
        pair.run_on()
