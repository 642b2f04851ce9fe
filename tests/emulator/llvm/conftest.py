"""Two engines side by side: the same code from the same state, and everything compared."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from tilewright.elf.arenas import Arena
from tilewright.elf.assembler import assemble
from tilewright.elf.linker import Linker
from tilewright.emulator.faults import TileFault
from tilewright.emulator.llvm import LlvmWorkers, ObjectCache, WorkerResult
from tilewright.emulator.llvm.host import Host, this_host
from tilewright.emulator.llvm.workers import issued_steps
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.engine import Context
from tilewright.emulator.reference.registers import WorkerRegisters
from tilewright.emulator.state import TILE
from tilewright.isa import Form, Kind, encode
from tilewright.target.csr import CSRS
from tilewright.target.geometry import MEMORY_BASE

CODE = 0x50000
DATA = 0x60000
"""Where the registers that hold addresses point to, in region 0; in region 1 it is `DATA_1`."""
DATA_1 = 0x90000
DATA_SIZE = 0x400
SPECIAL_SINGLES = [
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001,
    0xFFC00001, 0x00000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000, 0x7F7FFFFF, 0xFF7FFFFF,
    0x477FE000, 0x477FF000, 0x38800000, 0x387FC000, 0x33800000, 0x33000000, 0x4F000000, 0xCF000000,
    0x4F800000, 0x3F000000, 0xC2B00000, 0x42B17218, 0x42FE0000, 0x4B000001, 0x3EFFFFFF, 0x40490FDB,
]  # fmt: skip
SPECIAL_HALVES = [
    0x0000, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0x7C01, 0xFD00, 0x0001, 0x8001, 0x03FF,
    0x0400, 0x8400, 0x7BFF, 0xFBFF, 0x3800, 0x3BFF, 0x4200, 0x0200, 0x5BFF, 0x4980, 0xC980, 0x1400,
]  # fmt: skip


def random_words(generator: np.random.Generator, count: int) -> Any:
    """Words of which many hold special singles, halves, or ordinary numbers."""
    words = generator.integers(0, 1 << 32, count, dtype=np.uint32)
    kinds = generator.integers(0, 8, count)
    singles = generator.choice(np.array(SPECIAL_SINGLES, np.uint32), count)
    halves = generator.choice(np.array(SPECIAL_HALVES, np.uint16), 2 * count).view(np.uint32)
    plain_singles = generator.normal(0, 4, count).astype(np.float32).view(np.uint32)
    plain_halves = generator.normal(0, 4, 2 * count).astype(np.float16).view(np.uint32)
    return np.select(
        [kinds < 2, kinds < 3, kinds < 5, kinds < 7],
        [singles, halves, plain_singles, plain_halves],
        words,
    )


def plain_words(generator: np.random.Generator, count: int) -> Any:
    """Words that hold two ordinary halves each."""
    return generator.normal(0, 1, 2 * count).astype(np.float16).view(np.uint32)


def random_state(generator: np.random.Generator, *, plain: bool = False, control: int = 0) -> Any:
    """A tile with random contents in worker 2: $m0 to $m5 hold addresses, $m6 on small numbers."""
    words = plain_words if plain else random_words
    state = np.zeros(1, TILE)[0]
    worker = state["workers"][2]
    worker["a"] = words(generator, 8)
    worker["accumulators"] = words(generator, 32)
    if plain:
        worker["accumulators"] = generator.normal(0, 4, 32).astype(np.float32).view(np.uint32)
    worker["m"] = random_words(generator, 12)
    bases = np.array([DATA, DATA + 0x200, DATA_1, DATA_1 + 0x200, DATA_1 + 8], np.uint32)
    worker["m"][:6] = generator.choice(bases, 6) + 2 * generator.integers(0, 3, 6)
    worker["m"][2:4] = packed_addresses(
        DATA_1 + 16 * int(generator.integers(0, 8)),
        DATA_1 + 8 + 16 * int(generator.integers(0, 8)),
        DATA + 8 * int(generator.integers(0, 8)),
    )
    worker["m"][6:9] = generator.choice(np.array([0, 2, 4, 8, 16, 32, 0xFFFF_FFF8], np.uint32), 3)
    worker["random"] = generator.integers(1, 1 << 63, 2)
    worker["vertex_base"], worker["worker_base"] = DATA, DATA_1
    worker["float_status"] = generator.integers(0, 8)
    worker["float_control"] = control
    worker["tas"] = words(generator, 1)[0]
    worker["number_format"] = generator.integers(0, 4)
    worker["number_scale"] = generator.choice([0, 0, 1, 0x3F, 0x20, 0x1F])
    state["weights"] = words(generator, 128).view(np.uint64)
    return state


def packed_addresses(first: int, second: int, third: int) -> Any:
    """Three addresses as `tapack` packs them."""
    low = first | (third & 0x7FF) << 21
    high = second | (third >> 11) << 21
    return np.array([low, high], np.uint32)


_CSRS = [csr.index for csr in CSRS.values() if csr.space.name.startswith(("COMMON", "WORKER"))]
_FLAGS = [*range(24), 64 - 1]
"""All flags of AMP and SLIC, and one that is none."""


def random_word(generator: np.random.Generator, form: Form, *, coissue: bool = False) -> int:
    """The form with random operands that it accepts; those that do nothing much are rare."""
    values = []
    for operand in form.operands:
        low, high = operand.minimum, operand.maximum
        if operand.file == "a" and generator.integers(0, 8):
            high = 8 - operand.count
        if operand.kind in (Kind.UNSIGNED, Kind.SIGNED) and generator.integers(0, 4):
            low, high = max(low, -4 * operand.step), min(high, 8 * operand.step)
        choices = (high - low) // operand.step + 1
        value = low + operand.step * int(generator.integers(0, choices))
        if operand.kind is Kind.FLAGS and operand.field.width >= 5:
            value = int(generator.choice(_FLAGS)) & operand.maximum
        if operand.kind is Kind.CSR and generator.integers(0, 8):
            value = int(generator.choice(_CSRS))
        values.append(value)
    return encode(form, values, coissue=coissue)


@lru_cache(maxsize=16)
def _assembled(code: str) -> bytes:
    arena = Arena("code", CODE, DATA, is_executable=True)
    text = f'.section .text.start, "ax"\n.globl _start\n.worker\n.align 8\n_start:\n{code}\n'
    (segment,) = Linker([assemble(text)], arenas=[arena]).link().segments
    assert segment.address == CODE
    return segment.data


@dataclass
class Lockstep:
    """Runs programs on both engines. `workers` keeps its translations between runs."""

    workers: LlvmWorkers
    cycle: int = 600
    special_singles = SPECIAL_SINGLES
    special_halves = SPECIAL_HALVES
    random_state = staticmethod(random_state)
    random_word = staticmethod(random_word)
    random_words = staticmethod(random_words)
    plain_words = staticmethod(plain_words)
    memories: tuple[TileMemory, TileMemory] = field(
        default_factory=lambda: (TileMemory(1), TileMemory(1))
    )

    def run(
        self,
        code: str | Sequence[int],
        state: Any,
        data: bytes | None = None,
        *,
        limit: int = 10_000,
    ) -> WorkerResult:
        """Run from `CODE` on both engines, and compare everything; `state` is changed.

        `data` is put at `DATA` and `DATA_1`.
        """
        content = self.content(code)
        both = (state, state.copy())
        for memory in self.memories:
            memory.write(0, CODE, content)
            if data is not None:
                memory.write(0, DATA, data)
                memory.write(0, DATA_1, data)
        for each in both:
            each["workers"][2]["pc"] = CODE
        expected = self._reference(both[1], self.memories[1], limit)
        actual = self.workers.run_worker(both[0], self.memories[0], 0, 2, self.cycle, limit)
        assert actual == expected
        both[1]["cycle"] = both[0]["cycle"]
        self._compare(*both)
        return actual

    @staticmethod
    def content(code: str | Sequence[int]) -> bytes:
        """Machine code for `CODE`, from words or from assembly text."""
        if isinstance(code, str):
            return _assembled(code)
        return b"".join(word.to_bytes(4, "little") for word in code)

    def _reference(self, state: Any, memory: TileMemory, limit: int) -> WorkerResult:
        context = Context(WorkerRegisters(state, 2), state, memory, 0)
        steps = 0
        while steps < limit:
            state["cycle"] = self.cycle + 6 * steps
            try:
                issued = context.issue()
            except TileFault as fault:
                return WorkerResult(steps, fault=type(fault))
            steps += issued_steps(issued)
            if issued.effects.exit_status is not None:
                return WorkerResult(steps, exit_status=issued.effects.exit_status)
        return WorkerResult(steps)

    def _compare(self, actual: Any, expected: Any) -> None:
        for name in actual["workers"].dtype.names:
            one, other = actual["workers"][2][name], expected["workers"][2][name]
            assert np.array_equal(one, other), f"{name}: {_hex(one)} instead of {_hex(other)}"
        assert np.array_equal(actual["weights"], expected["weights"])
        assert np.array_equal(actual["supervisor"]["csr"], expected["supervisor"]["csr"])
        one, other = (memory.bytes[0] for memory in self.memories)
        for start in (CODE, DATA, DATA_1):
            place = slice(start - MEMORY_BASE, start - MEMORY_BASE + 0x1000)
            assert np.array_equal(one[place], other[place])


def _hex(value: Any) -> str:
    return " ".join(f"{int(each):#x}" for each in np.atleast_1d(value))


@pytest.fixture(scope="session")
def workers() -> LlvmWorkers:
    return LlvmWorkers(ObjectCache(None))


@pytest.fixture(scope="session")
def lockstep(workers: LlvmWorkers) -> Lockstep:
    return Lockstep(workers)


@pytest.fixture(scope="session", params=["this host", "a plain host"])
def lockstep_on(request: pytest.FixtureRequest, workers: LlvmWorkers) -> Lockstep:
    """With code for this host, and with code that uses no special instructions of it."""
    if request.param == "this host":
        return Lockstep(workers)
    if not this_host().has_avx512:
        pytest.skip("this host is a plain one")
    return Lockstep(LlvmWorkers(ObjectCache(None), Host("x86-64-v3", "", has_avx512=False)))
