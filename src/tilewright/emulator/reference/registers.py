"""The registers of a context as its instructions see them: read-only views, zeros, CSRs.

A worker and the supervisor differ in their CSRs, and in that only workers have $a registers,
accumulators and random numbers.
"""

from typing import Any, Protocol

from tilewright.emulator.faults import OperandFault
from tilewright.emulator.reference.effects import Effects
from tilewright.emulator.state import A_REGISTERS, M_REGISTERS
from tilewright.isa import Mode
from tilewright.target.csr import CSRS, FIELDS, Csr, Space

_WORD = 0xFFFF_FFFF
_WORKER_BASE_REGISTER, _VERTEX_BASE_REGISTER = 12, 13

FLAG_MASK = 0b111
"""INV, DIV0 and OFLO, in status, clear and control registers alike."""
CLEAR_ACCUMULATORS = 1 << 3
_ANS_ACTIVE = 1 << 2
"""In SSR: automatic participations in barriers are left."""


class ContextRegisters(Protocol):
    """What the machine reads of a context, and how it is written when an instruction commits."""

    mode: Mode
    state: Any

    def read(self, file: str, number: int) -> int: ...

    def write(self, file: str, number: int, word: int) -> None: ...

    def read_csr(self, index: int, upper: bool) -> int: ...

    def check_csr(self, index: int, upper: bool) -> None: ...

    def write_csr(self, index: int, upper: bool, word: int) -> None: ...

    def accumulator(self, index: int) -> int: ...

    def draw(self, effects: Effects) -> int: ...


def _by_index(*spaces: Space) -> dict[int, Csr]:
    return {csr.index: csr for csr in CSRS.values() if csr.space in spaces}


_WORKER_LOWER = _by_index(Space.COMMON, Space.WORKER)
_WORKER_UPPER = _by_index(Space.WORKER_UPPER)
_SUPERVISOR = _by_index(Space.COMMON, Space.SUPERVISOR)

WORKER_FIELDS = {
    "VERTEX_BASE": "vertex_base",
    "WORKER_BASE": "worker_base",
    "REPEAT_COUNT": "repeat_count",
    "REPEAT_FIRST": "repeat_first",
    "REPEAT_END": "repeat_end",
    "PC": "pc",
    "FP_STS": "float_status",
    "FP_CTL": "float_control",
    "TAS": "tas",
    "FP_NFMT": "number_format",
    "FP_SCL": "number_scale",
}
"""Worker CSRs that are fields of its state."""


def _existing_bits() -> dict[str, int]:
    found = {"REPEAT_COUNT": 0xFFFF}
    for field in FIELDS:
        found[field.register] = found.get(field.register, 0) | field.mask << field.shift
    return found


WRITABLE_BITS = _existing_bits()
"""Bits that exist; others are ignored when written and read 0. All of them if a register is not
here."""

READ_ONLY = frozenset({"PC", "VERTEX_BASE", "WORKER_BASE", "WSR", "COUNT_L", "COUNT_U"})


def worker_csr(index: int, upper: bool) -> Csr:
    """The register that a worker's `get` or `uget` (upper) means. Raises `OperandFault`."""
    csr = (_WORKER_UPPER if upper else _WORKER_LOWER).get(index)
    if csr is None:
        raise OperandFault(f"workers have no {'upper ' if upper else ''}CSR {index:#x}")
    return csr


class WorkerRegisters:
    """The view of worker `number` (0 to 5)."""

    mode = Mode.WORKER

    def __init__(self, tile: Any, number: int) -> None:
        self._tile = tile
        self._number = number
        self.state = tile["workers"][number]

    def read(self, file: str, number: int) -> int:
        if file == "a":
            return int(self.state["a"][number]) if number < A_REGISTERS else 0
        if number == _WORKER_BASE_REGISTER:
            return int(self.state["worker_base"])
        if number == _VERTEX_BASE_REGISTER:
            return int(self.state["vertex_base"])
        return int(self.state["m"][number]) if number < M_REGISTERS else 0

    def write(self, file: str, number: int, word: int) -> None:
        if number < (A_REGISTERS if file == "a" else M_REGISTERS):
            self.state[file][number] = word

    def read_csr(self, index: int, upper: bool) -> int:
        csr = self._csr(index, upper)
        if csr.name in WORKER_FIELDS:
            return int(self.state[WORKER_FIELDS[csr.name]])
        match csr.name:
            case "WSR":
                return self._number | int(self.state["exception"]) << 4
            case "COUNT_L":
                return int(self._tile["cycle"]) & _WORD
            case "COUNT_U":
                return int(self._tile["cycle"]) >> 32
            case "PRNG_0_0" | "PRNG_0_1" | "PRNG_1_0" | "PRNG_1_1":
                word, half = int(csr.name[5]), int(csr.name[7])
                return int(self.state["random"][word]) >> 32 * half & _WORD
            case "DBG_DATA":
                return int(self._tile["supervisor"]["csr"][index])
            case _:
                return 0

    def check_csr(self, index: int, upper: bool) -> None:
        self._csr(index, upper)

    def write_csr(self, index: int, upper: bool, word: int) -> None:
        name = self._csr(index, upper).name
        if name in READ_ONLY:
            return
        match name:
            case "FP_CLR":
                self.state["float_status"] &= ~word & FLAG_MASK
                if word & CLEAR_ACCUMULATORS:
                    self.state["accumulators"] = 0
            case "PRNG_SEED":
                self._seed(word)
            case "PRNG_0_0" | "PRNG_0_1" | "PRNG_1_0" | "PRNG_1_1":
                which, half = int(name[5]), int(name[7])
                kept = int(self.state["random"][which]) & ~(_WORD << 32 * half)
                self.state["random"][which] = kept | word << 32 * half
            case "DBG_DATA":
                self._tile["supervisor"]["csr"][index] = word
            case "DBG_BRK_ID":
                return
            case _:
                self.state[WORKER_FIELDS[name]] = word & WRITABLE_BITS.get(name, _WORD)

    def accumulator(self, index: int) -> int:
        return int(self.state["accumulators"][index])

    def draw(self, effects: Effects) -> int:
        """The next 64 bits of xoroshiro128aox; the new state takes effect with the instruction."""
        state = effects.random or tuple(map(int, self.state["random"]))
        output, effects.random = next_random(state[0], state[1])
        return output

    def _seed(self, word: int) -> None:
        inverse = ~word & _WORD
        low = (word << 13 | inverse >> 19) & _WORD
        high = (inverse << 13 | word >> 19) & _WORD
        self.state["random"] = [inverse << 32 | word, high << 32 | low]

    def _csr(self, index: int, upper: bool) -> Csr:
        return worker_csr(index, upper)


_LONG = (1 << 64) - 1


def next_random(s0: int, s1: int) -> tuple[int, tuple[int, int]]:
    """One output of the generator and its next state, 64-bit words (published, documented)."""
    both, either = s0 & s1, s0 ^ s1
    output = either ^ (_rotate(both, 1) | _rotate(both, 2))
    return output, (_rotate(s0, 55) ^ either ^ (either << 14 & _LONG), _rotate(either, 36))


def _rotate(word: int, places: int) -> int:
    return (word << places | word >> (64 - places)) & _LONG


class SupervisorRegisters:
    """The view of the supervisor."""

    mode = Mode.SUPERVISOR

    def __init__(self, tile: Any, tile_number: int) -> None:
        self._tile = tile
        self._tile_number = tile_number
        self.state = tile["supervisor"]

    def read(self, file: str, number: int) -> int:
        assert file == "m", "supervisors have no $a registers"
        return int(self.state["m"][number]) if number < M_REGISTERS else 0

    def write(self, file: str, number: int, word: int) -> None:
        if number < M_REGISTERS:
            self.state["m"][number] = word

    def read_csr(self, index: int, upper: bool) -> int:
        name = self._csr(index).name
        match name:
            case "PC":
                return int(self.state["pc"])
            case "TILE_ID":
                return self._tile_number
            case "SCOUNT_L":
                return int(self._tile["cycle"]) & _WORD
            case "SCOUNT_U":
                return int(self._tile["cycle"]) >> 32
            case "SSR":
                ans = _ANS_ACTIVE if int(self.state["csr"][CSRS["ANS_DCOUNT"].index]) else 0
                return int(self.state["csr"][index]) | ans | int(self.state["exception"]) << 4
            case _:
                return int(self.state["csr"][index])

    def check_csr(self, index: int, upper: bool) -> None:
        self._csr(index)

    def write_csr(self, index: int, upper: bool, word: int) -> None:
        name = self._csr(index).name
        if name in ("PC", "TILE_ID", "SCOUNT_L", "SCOUNT_U", "SSR"):
            return
        if name == "CR":
            self._control(word)
            return
        self.state["csr"][index] = word & WRITABLE_BITS.get(name, _WORD)

    def accumulator(self, index: int) -> int:
        raise AssertionError("supervisors have no accumulators")

    def draw(self, effects: Effects) -> int:
        raise AssertionError("supervisors have no random numbers")

    def _control(self, word: int) -> None:
        """Clear or set local consensus, and clear the weight store."""
        status = CSRS["SSR"].index
        consensus = int(self.state["csr"][status])
        if word & 0b001:
            consensus &= ~1
        if word & 0b010:
            consensus |= 1
        self.state["csr"][status] = consensus
        if word & 0b100:
            self._tile["weights"] = 0

    def _csr(self, index: int) -> Csr:
        csr = _SUPERVISOR.get(index)
        if csr is None:
            raise OperandFault(f"supervisors have no CSR {index:#x}")
        return csr
