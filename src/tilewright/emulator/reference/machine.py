"""The abstract machine with plain numbers: one instruction of one context.

Reads see the state before the instruction; everything that it does goes to `Effects`.
"""

from collections.abc import Sequence
from typing import Any

from tilewright.emulator.faults import (
    Break0Fault,
    Break1Fault,
    ExchangeConfigurationFault,
    OperandFault,
)
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.access import check_conflict, check_data_address
from tilewright.emulator.reference.bits import Bits, IntegerOperations
from tilewright.emulator.reference.effects import Effects, Launch
from tilewright.emulator.reference.fetch import check_code_address
from tilewright.emulator.reference.floats import Halves, Quarters, Singles
from tilewright.emulator.reference.registers import ContextRegisters
from tilewright.emulator.state import WEIGHTS
from tilewright.isa.meaning import Bound
from tilewright.target.csr import CSRS
from tilewright.target.flags import SYNC_ZONES
from tilewright.target.geometry import WORKERS

_STATUS = CSRS["SSR"].index
_RUNALL_ERROR = 1 << 3
"""RAERR of SSR: `runall` met an active worker."""
_ANS_COUNT = CSRS["ANS_DCOUNT"].index
ANS_LIMIT = 1 << 19
"""ANS_DCOUNT has 19 bits."""
_ONE_TILE_ZONES = tuple(SYNC_ZONES[name] for name in ("RECEIVE", "ANS", "LOCAL"))


class ReferenceMachine(IntegerOperations):
    """Implements `tilewright.isa.meaning.Machine` for one instruction.

    `following` is the address of what comes after the instruction or its bundle, `second` the word
    after the instruction's first, which only two-word instructions read.
    """

    def __init__(
        self,
        registers: ContextRegisters,
        tile: Any,
        memory: TileMemory,
        tile_number: int,
        following: int,
        second: int,
        effects: Effects,
    ) -> None:
        self._registers = registers
        self._tile = tile
        self._memory = memory
        self._tile_number = tile_number
        self._following = following
        self._second = second
        self._effects = effects
        self.f32 = Singles(registers, effects)
        self.f16 = Halves(registers, effects)
        self.f8 = Quarters(registers, effects)

    # -- operands -----------------------------------------------------------------------------

    def get(self, operand: Bound) -> Bits:
        described = operand.operand
        if not described.is_register:
            return self.const(operand.value)
        words = [
            self._registers.read(described.file, operand.value + place)
            for place in range(described.count)
        ]
        value = self.join([Bits(word, 32) for word in words])
        if not described.broadcast:
            return value
        lanes = self.split(value, 32 if described.broadcast == ":B" else 16)
        lane = lanes[1] if described.broadcast == ":BU" else lanes[0]
        return self.join([lane] * (operand.lanes_width // lane.width))

    def set(self, operand: Bound, value: Bits) -> None:
        assert value.width == 32 * operand.operand.count, "a value as wide as its register group"
        self._effects.set_group(operand.operand.file, operand.value, value)

    def immediate(self, operand: Bound) -> int:
        return operand.value

    def second_word(self) -> int:
        return self._second

    # -- memory -------------------------------------------------------------------------------

    def load(self, address: Bits, width: int) -> Bits:
        check_data_address(address.number, width // 8)
        self._effects.loads.append((address.number, width // 8))
        content = self._memory.read(self._tile_number, address.number, width // 8)
        return Bits(int.from_bytes(content, "little"), width)

    def store(self, address: Bits, value: Bits) -> None:
        check_data_address(address.number, value.width // 8)
        content = value.number.to_bytes(value.width // 8, "little")
        self._effects.stores.append((address.number, content))

    def check_conflict(self, addresses: Sequence[Bits]) -> None:
        check_conflict(address.number for address in addresses)

    # -- control ------------------------------------------------------------------------------

    def next_pc(self) -> Bits:
        return self.const(self._following)

    def jump(self, target: Bits) -> None:
        self._effects.jump = target.number

    def jump_if(self, condition: Bits, target: Bits) -> None:
        if condition.number:
            self._effects.jump = target.number

    def repeat(self, count: Bits, bundles: int) -> None:
        end = self._following + 8 * bundles
        times = count.number & 0xFFFF  # the repeat count has 16 bits (`rpt-trunc`)
        if times:
            self._effects.repeat = (times, self._following, end)
        else:
            self._effects.jump = end

    def exit(self, status: Bits) -> None:
        self._effects.exit_status = bool(status.number)

    def trap(self, number: int) -> None:
        raise Break1Fault(f"trap {number}") if number & 1 else Break0Fault(f"trap {number}")

    def invalid_operands(self, cause: str) -> None:
        raise OperandFault(cause)

    def launch(self, entry: Bits, vertex_base: Bits) -> None:
        if len(self._active_workers()) == WORKERS:
            raise OperandFault("run: all six workers are active")
        self._launch(None, entry.number, vertex_base.number)

    def launch_all(self, entry: Bits, vertex_base: Bits, stride: int) -> None:
        active = self._active_workers()
        if active:
            self._tile["supervisor"]["csr"][_STATUS] |= _RUNALL_ERROR
            raise OperandFault(f"runall: worker {active[0]} is active")
        for worker in range(WORKERS):
            base = self.add(vertex_base, self.const(worker * stride))
            self._launch(worker, entry.number, base.number)

    def _launch(self, worker: int | None, entry: int, vertex_base: int) -> None:
        if vertex_base % 4:
            raise OperandFault(f"vertex base {vertex_base:#x} is not aligned to 4 bytes")
        check_code_address(entry)
        self._effects.launches.append(Launch(worker, entry, vertex_base))

    def _active_workers(self) -> list[int]:
        return [n for n in range(WORKERS) if int(self._tile["workers"][n]["is_active"])]

    # -- control and status registers ---------------------------------------------------------

    def read_csr(self, index: int, upper: bool = False) -> Bits:
        return self.const(self._registers.read_csr(index, upper))

    def write_csr(self, index: int, value: Bits, upper: bool = False) -> None:
        self._registers.check_csr(index, upper)
        self._effects.csrs.append((upper, index, value.number))

    # -- accumulators, weights, random numbers ------------------------------------------------

    def accumulator(self, index: int) -> Bits:
        return self.const(self._registers.accumulator(index))

    def set_accumulator(self, index: int, value: Bits) -> None:
        self._effects.accumulators.append((index, value.number))

    def weight(self, index: int) -> Bits:
        return Bits(int(self._tile["weights"][index]), 64)

    def set_weight(self, index: int, value: Bits) -> None:
        if not 0 <= index < WEIGHTS:
            raise OperandFault(
                f"invalid putcs index {index}: the weight store has {WEIGHTS} entries"
            )
        self._effects.weights.append((index, value.number))

    def random(self) -> Bits:
        return Bits(self._registers.draw(self._effects), 64)

    def gaussian(self, width: int) -> Bits:
        return self.f32.gaussian_pair() if width == 32 else self.f16.gaussian_pair()

    # -- synchronisation and exchange ---------------------------------------------------------

    def sync(self, zone: int) -> None:
        if zone not in SYNC_ZONES.values():
            raise OperandFault(f"sync {zone}: there is no such zone")
        participations = self._participations()
        if participations and zone != SYNC_ZONES["ANS"]:
            raise ExchangeConfigurationFault(
                f"sync {zone} while automatic participations are left ({participations}); "
                "wait for them with sync 1"
            )
        active = self._active_workers()
        if active and zone not in _ONE_TILE_ZONES:
            raise ExchangeConfigurationFault(
                f"sync {zone} while workers are active ({', '.join(map(str, active))})"
            )
        self._effects.events.append(("sync", (zone,)))

    def sans(self, count: int) -> None:
        participations = self._participations() + count + 1
        if participations >= ANS_LIMIT:
            raise ExchangeConfigurationFault(
                f"sans {count} makes {participations} automatic participations; "
                f"{ANS_LIMIT - 1} is the most"
            )
        self._effects.csrs.append((False, _ANS_COUNT, participations))
        self._effects.events.append(("sans", (count,)))

    def _participations(self) -> int:
        """Barriers that the tile still acknowledges automatically."""
        return int(self._tile["supervisor"]["csr"][_ANS_COUNT])

    def delay(self, events: int) -> None:
        self._effects.events.append(("delay", (events,)))

    def send(self, items: int, address: int | None, control: int | None, advance: int = 0) -> None:
        self._effects.events.append(("send", (items, address, control, advance)))

    def receive_pointer(self, selector: int, value: int, at_last: bool) -> None:
        self._effects.events.append(("pointer", (selector, value, at_last)))

    def receive_source(self, selector: int, value: int, at_last: bool) -> None:
        self._effects.events.append(("source", (selector, value, at_last)))
