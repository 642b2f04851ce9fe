"""One tile under observation: its trace, what stops it, and that observing changes nothing."""

from typing import TYPE_CHECKING

import pytest

from tilewright.emulator.engines import Engine, tile_maker
from tilewright.emulator.inspection import (
    Access,
    Breakpoint,
    Inspector,
    MemoryAccess,
    Watchpoint,
)
from tilewright.emulator.reference.tile import ReferenceTile, Stop, Stopped

if TYPE_CHECKING:
    from tests.emulator.conftest import MakeProgram, Program

SUPERVISOR_CODE, WORKER_CODE, DATA = 0x4C100, 0x4D000, 0x60000
LIMIT = 100_000

RUN_ALL = "runall $m0, $mzero, 0\n sync 2\n trap 0"
WORK = """
    get $m5, $WSR
    and $m5, $m5, 7
    shl $m5, $m5, 5
    add $m4, $m5, $m1
    { add $m6, $m5, 3 ; or $a0, $a1, $a2 }
    st32 $m6, $m4, $mzero, 0
    ld32 $m7, $m4, $mzero, 0
    brnzdec $m3, 0x4d00c
    exitz $mzero
"""
REGISTERS = {"m1": DATA, "m3": 3, "a1": 0x30, "a2": 0x0F}


def work(program: "MakeProgram") -> "Program":
    """Six workers that each go four times through a loop with a store and a load."""
    return program(RUN_ALL, WORK, worker=REGISTERS)


def observed(made: "Program", engine: Engine = Engine.REFERENCE) -> tuple[ReferenceTile, Inspector]:
    """The tile of a program that has not run yet, on an engine, with an inspector."""
    tile = tile_maker(engine)(made.memory, 0)
    tile.restore(made.tile.save())
    inspector = Inspector(traced=range(7))
    tile.observer = inspector
    return tile, inspector


def steps(tile: ReferenceTile, inspector: Inspector) -> list[Stopped]:
    """All stops from here to one that is no break."""
    stops = [inspector.step(tile)]
    while stops[-1].reason is Stop.BREAK:
        stops.append(inspector.step(tile))
    return stops


# -- trace ----------------------------------------------------------------------------------------


def test_trace_of_a_supervisor(program: "MakeProgram") -> None:
    made = program(
        "setzi $m1, 0x60000\n add $m2, $m1, 4\n st32 $m2, $m1, $mzero, 1\n trap 0",
    )
    tile, inspector = observed(made)
    tile.run(LIMIT)
    texts = [(each.pc, each.text, each.registers) for each in inspector.trace]
    assert texts == [
        (SUPERVISOR_CODE, "setzi $m1, 393216", (("$m1", DATA),)),
        (SUPERVISOR_CODE + 4, "add $m2, $m1, 4", (("$m2", DATA + 4),)),
        (SUPERVISOR_CODE + 8, "st32 $m2, $m1, $m15, 1", ()),
    ]
    assert inspector.trace[-1].accesses == (MemoryAccess(Access.WRITE, DATA + 4, 4),)
    # $m1 and $m2 are ready six cycles after they were written.
    assert [each.cycle for each in inspector.trace] == [0, 6, 12]


def test_bundles_show_both_members_and_what_both_write(program: "MakeProgram") -> None:
    tile, inspector = observed(work(program))
    tile.run(LIMIT)
    bundle = next(each for each in inspector.trace if each.pc == WORKER_CODE + 0x10)
    assert bundle.text == "{ add $m6, $m5, 3; or $a0, $a1, $a2 }"
    assert set(bundle.registers) == {("$m6", bundle.registers[0][1]), ("$a0", 0x3F)}
    assert "$a0=0x3f" in str(bundle)


def test_registers_that_discard_are_not_shown(program: "MakeProgram") -> None:
    made = program(
        "run $m0, $mzero, 0\n sync 2\n trap 0",
        "{ add $m15, $m0, 1 ; or $a15, $a1, $a2 }\n exitz $mzero",
    )
    tile, inspector = observed(made)
    tile.run(LIMIT)
    assert [each.registers for each in inspector.trace if each.context] == [(), ()]


def test_only_chosen_contexts_are_traced(program: "MakeProgram") -> None:
    made = work(program)
    made.tile.observer = inspector = Inspector(traced=[2, 5])
    made.finish()
    assert {each.context for each in inspector.trace} == {2, 5}


def test_the_trace_can_be_the_last_instructions(program: "MakeProgram") -> None:
    made = program("nop\n nop\n nop\n nop\n trap 0")
    made.tile.observer = inspector = Inspector(traced=[0], trace_length=2)
    made.finish()
    assert [each.pc for each in inspector.trace] == [SUPERVISOR_CODE + 8, SUPERVISOR_CODE + 12]


def test_issues_are_in_order_and_one_per_cycle(program: "MakeProgram") -> None:
    tile, inspector = observed(work(program))
    tile.run(LIMIT)
    cycles = [each.cycle for each in inspector.trace]
    assert cycles == sorted(set(cycles))
    # 2 of the supervisor; of each worker 3, 4 rounds of 5, and the exit.
    assert len(cycles) == 2 + 6 * (3 + 4 * 5 + 1)


# -- observing changes nothing --------------------------------------------------------------------


@pytest.mark.parametrize("engine", Engine)
def test_an_observed_tile_ends_as_another(program: "MakeProgram", engine: Engine) -> None:
    """The other one runs compiled workers, so this compares engines, too."""
    alone = work(program)
    compiled = tile_maker(Engine.LLVM)(alone.memory, 0)
    compiled.restore(alone.tile.save())
    expected = compiled.run(LIMIT)

    made = work(program)
    tile, inspector = observed(made, engine)
    stopped = tile.run(LIMIT)
    assert inspector.trace
    assert str(stopped) == str(expected)
    assert tile.state == compiled.state
    assert made.memory.bytes.tobytes() == alone.memory.bytes.tobytes()


def test_an_observed_compiled_tile_interprets_its_workers(program: "MakeProgram") -> None:
    traces = []
    for engine in Engine:
        tile, inspector = observed(work(program), engine)
        tile.run(LIMIT)
        traces.append(list(inspector.trace))
    assert traces[0] == traces[1]


def test_an_observer_may_come_and_go(program: "MakeProgram") -> None:
    expected = work(program)
    end = expected.finish()
    made = work(program)
    tile, inspector = observed(made, Engine.LLVM)
    for limit in range(40, end.cycle, 40):
        tile.observer = inspector if limit // 40 % 2 else None
        assert tile.run(limit).reason is Stop.LIMIT
    stopped = tile.run(LIMIT)
    assert str(stopped) == str(end)
    assert tile.state == expected.tile.state
    assert made.memory.bytes.tobytes() == expected.memory.bytes.tobytes()


# -- breakpoints ----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", Engine)
def test_a_breakpoint_stops_before_the_instruction(program: "MakeProgram", engine: Engine) -> None:
    tile, inspector = observed(work(program), engine)
    point = Breakpoint(WORKER_CODE + 0x18, context=3)  # the store
    inspector.breakpoints.append(point)
    for stop in range(1, 5):
        stopped = tile.run(LIMIT)
        assert (stopped.reason, stopped.context, stopped.pc) == (Stop.BREAK, 3, point.address)
        assert inspector.hit is point
        done = [each for each in inspector.trace if (each.context, each.pc) == (3, point.address)]
        assert len(done) == stop - 1
    assert tile.run(LIMIT).reason is Stop.FAULT


def test_a_breakpoint_of_any_context(program: "MakeProgram") -> None:
    tile, inspector = observed(work(program))
    inspector.breakpoints.append(Breakpoint(WORKER_CODE))
    stops = [tile.run(LIMIT) for _ in range(7)]
    assert sorted(each.context for each in stops[:6]) == [1, 2, 3, 4, 5, 6]
    assert stops[6].reason is Stop.FAULT


def test_a_breakpoint_at_a_barrier(program: "MakeProgram") -> None:
    made = program("nop\n sync 3\n trap 0")
    made.tile.observer = inspector = Inspector()
    inspector.breakpoints.append(Breakpoint(SUPERVISOR_CODE + 4))
    reasons = [made.run().reason, made.run().reason]
    assert reasons == [Stop.BREAK, Stop.SYNC]


# -- watchpoints ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        (Access.WRITE, [0x18]),
        (Access.READ, [0x1C]),
        (Access.READ | Access.WRITE, [0x18, 0x1C]),
    ],
)
@pytest.mark.parametrize("engine", Engine)
def test_a_watchpoint_stops_after_the_access(
    program: "MakeProgram", engine: Engine, access: Access, expected: list[int]
) -> None:
    """Worker 2 stores to 0x60040 and loads from there."""
    made = work(program)
    tile, inspector = observed(made, engine)
    point = Watchpoint(DATA + 0x42, 1, access)
    inspector.watchpoints.append(point)
    for offset in expected * 4:
        stopped = tile.run(LIMIT)
        assert (stopped.reason, stopped.context) == (Stop.BREAK, 3)
        assert stopped.pc == WORKER_CODE + offset
        assert inspector.hit is point
        assert inspector.trace[-1].pc == stopped.pc
        assert made.read(DATA + 0x40) == 0x43
    assert tile.run(LIMIT).reason is Stop.FAULT
    assert inspector.hit is None


@pytest.mark.parametrize(("address", "size"), [(DATA + 0x3C, 4), (DATA + 0x44, 4)])
def test_a_watchpoint_next_to_an_access(program: "MakeProgram", address: int, size: int) -> None:
    tile, inspector = observed(work(program))
    inspector.watchpoints.append(Watchpoint(address, size))
    assert tile.run(LIMIT).reason is Stop.FAULT


# -- steps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", Engine)
def test_steps_make_one_issue_each(program: "MakeProgram", engine: Engine) -> None:
    whole = work(program)
    whole.tile.observer = all_at_once = Inspector(traced=range(7))
    end = whole.finish()
    tile, inspector = observed(work(program), engine)
    stops = steps(tile, inspector)
    assert str(stops[-1]) == str(end)
    assert list(inspector.trace) == list(all_at_once.trace)
    # Each stop but the last names the issue that is next.
    following = [(each.cycle, each.context, each.pc) for each in all_at_once.trace][1:]
    assert [(each.cycle, each.context, each.pc) for each in stops[:-2]] == following
    assert tile.state == whole.tile.state


def test_a_step_passes_breakpoints(program: "MakeProgram") -> None:
    tile, inspector = observed(program("nop\n nop\n trap 0"))
    inspector.breakpoints.append(Breakpoint(SUPERVISOR_CODE + 4))
    assert [inspector.step(tile).pc, inspector.step(tile).pc] == [
        SUPERVISOR_CODE + 4,
        SUPERVISOR_CODE + 8,
    ]


def test_after_a_step_the_tile_runs_on(program: "MakeProgram") -> None:
    tile, inspector = observed(work(program))
    inspector.step(tile)
    assert tile.run(LIMIT).reason is Stop.FAULT
