"""What things cost in cycles of the tile clock, each figure with its evidence.

Workers count in *steps*: a worker has one of six turns, which come round every six cycles. The
supervisor counts in cycles. Routes and rows of the exchange have their own modules (`routes`,
`row_events`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from tilewright.target.geometry import WORKERS


class Unit(Enum):
    """What a figure counts."""

    CYCLES = "cycles"
    """Of the tile clock; events of the exchange are cycles too."""
    STEPS = "steps"
    """Turns of a worker."""
    HERTZ = "Hz"
    BYTES_PER_SECOND = "B/s"


class CostEvidence(Enum):
    """How a figure is known, surest first."""

    DOCUMENTED = "documented"
    """Stated by the vendor in public."""
    MEASURED = "measured"
    """By a third party, on a C600."""
    ESTIMATED = "estimated"
    """Used by estimators or schedulers, or written as a count in comments of kernels: mostly the
    vendor's own."""
    ASSUMED = "assumed"
    """Ours, where nothing is published."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One figure. `assumption` names what the model makes of it beyond its evidence.

    Assumptions are listed in docs/fidelity.md. `span` is the range of what was seen, if it varied.
    """

    name: str
    value: int
    unit: Unit
    evidence: CostEvidence
    assumption: str | None = None
    span: tuple[int, int] | None = None


_CYCLES, _STEPS = Unit.CYCLES, Unit.STEPS
_DOCUMENTED, _MEASURED = CostEvidence.DOCUMENTED, CostEvidence.MEASURED
_ESTIMATED, _ASSUMED = CostEvidence.ESTIMATED, CostEvidence.ASSUMED


# The clock

CLOCK = Cost("clock of the C600", 1_500_000_000, Unit.HERTZ, _ESTIMATED)
"""The vendor's peak rates for this card fit it. Some profiles of the vendor's state 1.85 GHz, which
is the clock of the Bow chip."""


def seconds(cycles: int) -> float:
    """How long `cycles` take on a C600."""
    return cycles / CLOCK.value


# Workers

SLOTS = WORKERS
"""Issue slots, visited in rotation, one per cycle. A running worker owns one, the supervisor the
rest."""

WORKER_STEP = Cost("worker step", SLOTS, _CYCLES, _DOCUMENTED)
"""Every instruction or bundle of a worker takes one step, loads and branches included, and is
finished before the worker's next; but see `MULTI_STEP`."""

WORKER_LAUNCH = Cost("launch to worker's first issue", 6, _CYCLES, _ASSUMED, "launch-latency")
"""A worker first issues in its slot, no earlier than this after `run` or `runall`."""

WORKER_EXIT = Cost("exit to use of the slot", 6, _CYCLES, _ASSUMED, "exit-latency")
"""After a worker's exit its slot is the supervisor's from the next rotation on."""


def _typical_steps(**steps: int) -> Mapping[str, Cost]:
    return MappingProxyType(
        {
            mnemonic: Cost(mnemonic, count, _STEPS, _ESTIMATED, "fp-latency")
            for mnemonic, count in steps.items()
        }
    )


MULTI_STEP = _typical_steps(
    f32div=3,
    f32exp=3,
    f32exp2=3,
    f32ln=6,
    f32log2=6,
    f32oorx=4,
    f32oox=3,
    f32sigm=5,
    f32sqrt=5,
    f32tanh=5,
    f16v2exp=2,
    f16v2exp2=2,
    f16v2ln=2,
    f16v2log2=2,
    f16v2sigm=2,
    f16v2tanh=1,
)
"""Mnemonic → typical steps, for the instructions that need not take one. On hardware the number
depends on the operands; that it is constant (but for `DIVIDE_SPECIAL`), and that it blocks nobody
but the worker itself, is assumed."""

DIVIDE_SPECIAL = Cost("f32div of a special operand", 1, _STEPS, _ESTIMATED, "fp-latency")
"""The estimators know 1 or 3 steps. That 1 is for an operand that is zero, infinite or NaN is
assumed."""


def worker_steps(mnemonic: str, *, special_operand: bool = False) -> int:
    """Steps that a worker takes for an instruction.

    `special_operand`: one of its operands is zero, infinite or NaN, which shortens a division.
    """
    if mnemonic == "f32div" and special_operand:
        return DIVIDE_SPECIAL.value
    return MULTI_STEP[mnemonic].value if mnemonic in MULTI_STEP else 1


def bundle_steps(main: int, aux: int) -> int:
    """Steps of a bundle, given those of its halves. ASSUMED (`fp-latency`): the longer half's."""
    return max(main, aux)


def worker_cycles(steps: int) -> int:
    """Cycles between the starts of two instructions of a worker that are `steps` steps apart."""
    return steps * WORKER_STEP.value


def first_worker_issue(launch: int, slot: int) -> int:
    """The cycle of a worker's first instruction, if `run` or `runall` was issued in `launch`.

    ASSUMED (`slot-phase`): cycle t belongs to slot t mod 6, `runall` gives worker n (0..5) slot n,
    and `run` takes the lowest free slot.
    """
    earliest = launch + WORKER_LAUNCH.value
    return earliest + (slot - earliest) % SLOTS


# The supervisor

SUPERVISOR_ISSUE = Cost("independent supervisor instruction", 1, _CYCLES, _ESTIMATED)
"""With all slots its own. That the supervisor uses every slot that no worker owns, under the same
rules, is assumed (`sup-share`)."""

SUPERVISOR_LATENCY = Cost("supervisor result to use", 6, _CYCLES, _ESTIMATED, "sup-latency")
"""An instruction that reads a result waits until this long after its producer. That it holds alike
for arithmetic, loads, multiplications and control registers is assumed."""

CSR_LATENCY = Cost("put to use of the control register", 6, _CYCLES, _ESTIMATED, "csr-latency")
"""Known for `put $CCCSLOAD` before a load of weights; assumed for every control register."""

TAKEN_BRANCH = Cost("taken branch", 6, _CYCLES, _ESTIMATED)
"""`br`, `bri` and `call`, too."""

NOT_TAKEN_BRANCH = Cost("branch not taken", 1, _CYCLES, _ESTIMATED)

RUN = Cost("run, runall", 6, _CYCLES, _ESTIMATED)

SYNC = Cost("sync whose condition holds", 6, _CYCLES, _ESTIMATED, "sync-cost")
"""Some comments in kernels count one more. It is assumed of a local sync without running workers,
too."""

WEIGHT_LOAD = Cost("ld64putcs, ld128putcs", 1, _CYCLES, _ESTIMATED)
"""Back to back."""

VERTEX_CALL = Cost("call and return of a minimal supervisor vertex", 11, _CYCLES, _ESTIMATED)


def branch_cycles(taken: bool) -> int:
    """Cycles from the issue of a supervisor's branch to the next."""
    return (TAKEN_BRANCH if taken else NOT_TAKEN_BRANCH).value


def weight_load_cycles(entries: int, bits_per_load: int) -> int:
    """Cycles to load so many 64-bit entries of the weight store, 64 or 128 bits at a time."""
    entries_per_load = bits_per_load // 64
    return -(-entries // entries_per_load) * WEIGHT_LOAD.value


def local_sync_end(issued: int, last_exit: int | None) -> int:
    """The cycle in which the supervisor issues again after a local sync.

    `last_exit` is the cycle in which the last worker issued its exit, if any worker ran. ASSUMED
    (`exit-latency`): the wait ends when that worker's slot is free.
    """
    own_end = issued + SYNC.value
    return own_end if last_exit is None else max(own_end, last_exit + WORKER_EXIT.value)


# The boundary of an exchange phase

PHASE_BOUNDARY = Cost(
    "exchange phase beyond its rows", 250, _CYCLES, _MEASURED, "boundary-cost", span=(229, 294)
)
"""From the last tile's entry to the end of the phase, minus the longest row: base registers,
rendezvous of workers, barrier, and the sampling of the measurement. The span is that of eight
phases, with a mean of 268; the value is the exchange notes' choice ([8.14]). Phases that patch many
words of their rows took 1,572 and 2,049."""

INTERNAL_SYNC = Cost("sync between internal exchanges", 90, _CYCLES, _ESTIMATED)
"""Part of `PHASE_BOUNDARY`; approximate."""

EXCHANGE_OVERHEAD = Cost("fixed cost of an exchange", 100, _CYCLES, _ESTIMATED)
"""Charged by heuristics of the vendor's library; approximate."""

GLOBAL_SYNC = Cost("global sync", 600, _CYCLES, _ESTIMATED)
"""Of the vendor's description of the target, for planning: far above `PHASE_BOUNDARY`, which is
the figure to plan with."""

BASE_WRITE = Cost("write of one base register inside a row", 13, _CYCLES, _MEASURED)
"""Of INCOMING_BASE or OUTGOING_BASE, from a register. No send and no control of a receive may fall
into these events; words may keep arriving."""

BASES_LOAD = Cost("load of an address and two base registers inside a row", 27, _CYCLES, _MEASURED)

ROW_JOIN = Cost("join of two sections of a row", 46, _CYCLES, _ESTIMATED)
"""A rule of a third party's stack."""


# Packets between tiles and the host

HOST_LATENCY = Cost("packet to the host until it is served", 1_500, _CYCLES, _ASSUMED, "host-time")
"""A microsecond, as a round trip over the bus may take."""

HOST_BANDWIDTH = Cost(
    "transfer between host and tiles", 3_900_000_000, Unit.BYTES_PER_SECOND, _MEASURED, "host-time"
)
"""453,752,832 bytes in 116 ms, host barriers and copies on the host included. That packets of all
tiles, of both directions, follow each other at this rate, each served no earlier than
`HOST_LATENCY` after it has left its tile, is assumed."""
