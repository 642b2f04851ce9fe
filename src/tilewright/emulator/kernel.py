"""Runs one kernel on one emulated tile, with NumPy arrays as operands.

The kernel is a supervisor function of the calling convention in docs/assembly.md: operands in
`$m2`, `$m3`, …, return address in `$m10`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tilewright.emulator.disassembly import describe_code, describe_fault
from tilewright.emulator.engines import Engine, tile_maker
from tilewright.emulator.images import TileImage
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.tile import ReferenceTile, Stop, Stopped
from tilewright.errors import TilewrightError
from tilewright.isa import FORM_BY_NAME, Mode, encode
from tilewright.target.csr import CSRS
from tilewright.target.geometry import (
    ELEMENT_SIZE,
    LOADER_FRAME_END,
    MEMORY_BASE,
    MEMORY_END,
    REGION1_BASE,
    STACK_TOP,
    WORKER_SCRATCH_SIZE,
    WORKERS,
)

_FIRST_REGISTER, _LAST_REGISTER, _LINK, _STACK = 2, 9, 10, 11
_ELEMENT_PAIR = 2 * ELEMENT_SIZE
DEFAULT_CYCLE_LIMIT = 10_000_000


class KernelError(TilewrightError):
    """A kernel that could not be run, or did not return."""


@dataclass(frozen=True, slots=True)
class Output:
    """An operand that the kernel writes; its memory is unwritten before."""

    shape: tuple[int, ...]
    dtype: DTypeLike


Operand = NDArray[Any] | Output | int | np.integer[Any]
"""An array (copied to the tile, its address passed), a result, or a number passed as it is."""


@dataclass(frozen=True, slots=True)
class KernelRun:
    """What a run left behind.

    `arrays` holds the final content of every array operand and output, in order of operands (None
    for numbers); `cycles` counts from the call to the return; `memory` is that of the tile.
    """

    arrays: tuple[NDArray[Any] | None, ...]
    cycles: int
    memory: TileMemory


def run_kernel(
    image: TileImage,
    symbol: str,
    operands: Sequence[Operand],
    *,
    addresses: Sequence[int | None] | None = None,
    cycle_limit: int = DEFAULT_CYCLE_LIMIT,
    engine: Engine = Engine.LLVM,
) -> KernelRun:
    """Call the kernel `symbol` of a linked image with up to eight operands.

    Arrays are placed in region 1, past what the image holds there, each from the start of a pair of
    memory elements of its own; or at the `addresses` given. Raises `KernelError` if the kernel
    faults, waits for other tiles, is still running after `cycle_limit` cycles, or returns while
    workers run or with another stack pointer.
    """
    if symbol not in image.symbols:
        raise KernelError(f"the image has no symbol {symbol}")
    if len(operands) > _LAST_REGISTER - _FIRST_REGISTER + 1:
        raise KernelError(f"{len(operands)} operands, but only $m2 to $m9 hold some")
    memory = TileMemory(tiles=1)
    for address, content in image.pieces:
        memory.write(0, address, content)
    if addresses is None:
        addresses = [None] * len(operands)
    places = _place(operands, addresses, _first_free(image))
    tile = tile_maker(engine)(memory, 0)
    _prepare(tile, memory, image.symbols[symbol], operands, places)
    stopped = tile.run(cycle_limit)
    returned = stopped.reason is Stop.FAULT and stopped.context == 0 and stopped.pc == _RETURN_TRAP
    if not returned:
        raise KernelError(f"{symbol} {_explain(tile, stopped, cycle_limit, memory, image)}")
    if left := _left_undone(tile):
        raise KernelError(f"{symbol} {left}")
    arrays = [
        None if isinstance(operand, int | np.integer) else _read(memory, operand, place)
        for operand, place in zip(operands, places, strict=True)
    ]
    return KernelRun(tuple(arrays), tile.cycle, memory)


_STUB = LOADER_FRAME_END
_RETURN_TRAP = _STUB + 4
"""A call to the kernel, and the trap that it returns to."""


def _first_free(image: TileImage) -> int:
    """The first pair of memory elements of region 1 past what the image holds there."""
    ends = [piece.address + len(piece.content) for piece in image.pieces]
    return -(-max([REGION1_BASE, *ends]) // _ELEMENT_PAIR) * _ELEMENT_PAIR


def _place(operands: Sequence[Operand], wanted: Sequence[int | None], free: int) -> list[int]:
    """The value of each operand's register: its address, from `free` on, or the number itself."""
    if len(wanted) != len(operands):
        raise KernelError(f"{len(wanted)} addresses for {len(operands)} operands")
    places = []
    for operand, address in zip(operands, wanted, strict=True):
        if isinstance(operand, int | np.integer):
            places.append(int(operand) & 0xFFFF_FFFF)
            continue
        if address is None:
            address = free
            free += -(-max(_size(operand), 1) // _ELEMENT_PAIR) * _ELEMENT_PAIR
        if not MEMORY_BASE <= address <= MEMORY_END - _size(operand):
            raise KernelError(
                f"an operand of {_size(operand)} bytes does not fit at {address:#x}; "
                f"tile memory ends at {MEMORY_END:#x}"
            )
        places.append(address)
    return places


def _size(operand: NDArray[Any] | Output) -> int:
    if isinstance(operand, Output):
        return int(np.prod(operand.shape)) * np.dtype(operand.dtype).itemsize
    return operand.nbytes


def _prepare(
    tile: ReferenceTile,
    memory: TileMemory,
    entry: int,
    operands: Sequence[Operand],
    places: Sequence[int],
) -> None:
    call = encode(FORM_BY_NAME["call m,t20"], (_LINK, entry))
    trap = encode(FORM_BY_NAME["trap u4"], (0,))
    memory.write(0, _STUB, call.to_bytes(4, "little") + trap.to_bytes(4, "little"))
    supervisor = tile.state["supervisor"]
    supervisor["pc"] = _STUB
    supervisor["m"][_STACK] = STACK_TOP
    for worker in range(WORKERS):
        scratch = STACK_TOP + worker * WORKER_SCRATCH_SIZE
        supervisor["csr"][CSRS[f"WORKER{worker}_BASE"].index] = scratch
    for number, (operand, place) in enumerate(zip(operands, places, strict=True)):
        supervisor["m"][_FIRST_REGISTER + number] = place
        if not isinstance(operand, int | np.integer | Output):
            memory.write(0, place, np.ascontiguousarray(operand).tobytes())


def _read(memory: TileMemory, operand: NDArray[Any] | Output, place: int) -> NDArray[Any]:
    content = memory.read(0, place, _size(operand))
    return np.frombuffer(content, operand.dtype).reshape(operand.shape).copy()


def _left_undone(tile: ReferenceTile) -> str:
    """What a kernel that has returned owes its caller."""
    if busy := _busy(tile):
        return (
            f"returns while {_workers(busy)} still running: it has to wait for them, with "
            "'sync TEXCH_SYNCZONE_LOCAL' before 'br $lr'"
        )
    stack = int(tile.state["supervisor"]["m"][_STACK])
    if stack != STACK_TOP:
        return f"returns with another stack pointer: $m11 ($sp) was {STACK_TOP:#x}, is {stack:#x}"
    return ""


def _explain(
    tile: ReferenceTile, stopped: Stopped, limit: int, memory: TileMemory, image: TileImage
) -> str:
    match stopped.reason:
        case Stop.LIMIT:
            return f"is still running after {limit} cycles: {_standing(tile, memory, image)}"
        case Stop.SYNC:
            return f"waits at sync {stopped.zone}, but a kernel runs on one tile alone"
        case Stop.ROW_END:
            raise AssertionError("rows end only after a barrier, and no barrier was passed")
        case Stop.BREAK:
            raise AssertionError("nobody observes the tile of a kernel")
        case Stop.FAULT:
            return f"stopped in cycle {stopped.cycle}: {describe_fault(stopped, memory, 0, image)}"


def _standing(tile: ReferenceTile, memory: TileMemory, image: TileImage) -> str:
    """Where the supervisor is, or the first of the workers that it waits for.

    While all of them run, it cannot issue.
    """
    busy = _busy(tile)
    if not busy or not (tile.schedule["awaits_workers"] or len(busy) == WORKERS):
        pc = int(tile.state["supervisor"]["pc"])
        code = describe_code(memory, 0, pc, Mode.SUPERVISOR, image)
        return f"the supervisor is at {pc:#x}{code}"
    pc = int(tile.state["workers"][busy[0]]["pc"])
    code = describe_code(memory, 0, pc, Mode.WORKER, image)
    return f"{_workers(busy)} running, worker {busy[0]} is at {pc:#x}{code}"


def _busy(tile: ReferenceTile) -> list[int]:
    busy = int(tile.schedule["busy"])
    return [worker for worker in range(WORKERS) if busy >> worker & 1]


def _workers(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers))
    return f"worker {listed} is" if len(numbers) == 1 else f"workers {listed} are"
