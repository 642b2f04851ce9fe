"""Speed of the emulated chip: loops of workers and supervisors, threads, and times to start."""

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.cli.bench.figure import Figure, best_core_seconds, best_seconds
from tilewright.elf.arenas import Arena
from tilewright.elf.assembler import assemble
from tilewright.elf.linker import Linker
from tilewright.emulator.chip import Chip, End
from tilewright.emulator.engines import Engine, tile_maker
from tilewright.emulator.images import Piece, TileImage
from tilewright.emulator.llvm import LlvmWorkers, ObjectCache
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.reference.tile import Stop
from tilewright.emulator.state import TILE
from tilewright.isa import Mode
from tilewright.target.flags import amp_flag
from tilewright.target.geometry import EXECUTABLE_END, MEMORY_BASE, REGION1_BASE, TILES

_CODE = MEMORY_BASE + 0x4000
_WORKER_CODE = _CODE + 0x100
_DATA = REGION1_BASE
_SEED = 0
_ROUNDS, _REPEATS = 50, 4000
_PHASES = 4
_SUPERVISOR_BODY, _SUPERVISOR_ROUNDS = 10, 1_000_000
_SCALING_TILES = 16
_CALLS, _CALLING_TILES = 1000, 64
_MACS = 64
"""Multiply-adds of one AMP instruction with sixteen channels of four halves."""

_AMP = [
    f"{{ld64 $a4:5, $m0, $m15, {phase}; "
    f"f16v4hihov4amp $a2:3, $a4:5, $a6:7, {amp_flag(_PHASES, phase)}}}"
    for phase in range(_PHASES)
]
"""Sixteen channels: an input of four halves is loaded for each step, and partial sums stay."""

_LOOPS = {
    "add_f16": [
        "{ld64 $a0:1, $m0, $m15, 0; f16v4add $a2:3, $a0:1, $a4:5}",
        "{st64 $a2:3, $m1, $m15, 0; f16v4mul $a4:5, $a0:1, $a6:7}",
    ],
    "multiply_f32": [
        "{ld64 $a0:1, $m0, $m15, 0; f32v2mul $a2:3, $a0:1, $a4:5}",
        "{st64 $a2:3, $m1, $m15, 0; f32v2add $a4:5, $a2:3, $a6:7}",
    ],
    "accumulate": ["{ld64 $a0:1, $m0, $m15, 0; f16v4cmac $a0:1, $a2:3}"],
    "convert": [
        "{ld64 $a0:1, $m0, $m15, 0; f32v2tof16 $a2, $a0:1}",
        "{st32 $a2, $m1, $m15, 0; f16v2tof32 $a4:5, $a3}",
    ],
    "integer": [
        "{ld32 $m2, $m0, $m15, 0; and $a0, $a1, $a2}",
        "{add $m3, $m3, $m2; or $a1, $a0, $a3}",
        "{shr $m4, $m3, 3; sort4x16lo $a2, $a0, $a1}",
    ],
}


def emulator_figures() -> list[Figure]:
    """Start of a chip, speed of compiled workers, and how long code takes to get ready."""
    with tempfile.TemporaryDirectory() as folder:
        workers = LlvmWorkers(ObjectCache(Path(folder)))
        speeds = [_bundles_per_second(workers, body) for body in _LOOPS.values()]
        amp = _bundles_per_second(workers, _AMP)
        warm = best_seconds(_start(lambda: ObjectCache(Path(folder))))
    return [
        Figure("emulator.chip_start", best_seconds(_start_chip), "s"),
        Figure("emulator.amp16_per_second", amp, "instructions/s"),
        Figure("emulator.amp16_macs_to_numpy", amp * _MACS / _numpy_macs_per_second(), "ratio"),
        Figure("emulator.bundles_per_second", _geometric_mean(speeds), "bundles/s"),
        Figure("emulator.supervisor_per_second", _supervisor_per_second(), "instructions/s"),
        Figure("emulator.worker_calls_per_second", _worker_calls_per_second(), "1/s"),
        Figure("emulator.two_threads_to_one", _thread_scaling(), "ratio"),
        Figure("emulator.cold_start", best_seconds(_start(lambda: ObjectCache(None))), "s"),
        Figure("emulator.warm_start", warm, "s"),
        *_process_starts(),
    ]


def _start_chip() -> None:
    """A chip of all tiles, of which each is touched."""
    chip = Chip()
    for tile in range(TILES):
        chip.memory.write(tile, MEMORY_BASE, bytes(4))


def _numpy_macs_per_second() -> float:
    """Multiply-adds per second of NumPy's own product of f32 matrices, on all cores it takes."""
    size = 1024
    matrix = np.random.default_rng(_SEED).random((size, size), np.float32)
    return float(size**3 / best_seconds(lambda: matrix @ matrix))


def _geometric_mean(numbers: list[float]) -> float:
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def _bundles_per_second(workers: LlvmWorkers, body: list[str]) -> float:
    code = _loop(body)
    _run(workers, code)
    seconds = best_core_seconds(lambda: _run(workers, code))
    return len(body) * (_ROUNDS + 1) * _REPEATS / seconds


def _supervisor_per_second() -> float:
    """Instructions of a loop in supervisor code, on one core."""
    image = _supervisor_loop()
    memory = TileMemory(1)
    for address, content in image.pieces:
        memory.write(0, address, content)

    def run() -> None:
        tile = tile_maker(Engine.LLVM)(memory, 0)
        tile.state["supervisor"]["pc"] = image.entry
        assert tile.run(1 << 60).reason is Stop.FAULT

    run()
    return (_SUPERVISOR_BODY + 1) * (_SUPERVISOR_ROUNDS + 1) / best_core_seconds(run)


def _worker_calls_per_second() -> float:
    """Starts of all workers of a tile, and waits for them."""
    source = f"""
        setzi $m0, {_WORKER_CODE}
        setzi $m1, {_DATA}
        setzi $m2, {_CALLS - 1}
        runall $m0, $m1, 0
        sync 2
        brnzdec $m2, {_CODE + 12:#x}
        trap 0
    """
    programs = ((_CODE, source, Mode.SUPERVISOR), (_WORKER_CODE, "exitz $mzero", Mode.WORKER))
    pieces = [
        Piece(address, bytes(assemble(text, mode=mode).sections[0].data))
        for address, text, mode in programs
    ]
    image = TileImage(tuple(pieces), _CODE)

    def run() -> None:
        chip = Chip(_CALLING_TILES, threads=1)
        for tile in range(_CALLING_TILES):
            chip.load(tile, image)
        assert chip.run().end is End.STOPPED

    return _CALLS * _CALLING_TILES / best_core_seconds(run)


def _thread_scaling() -> float:
    """How much faster two threads run tiles with supervisor loops than one does."""
    image = _supervisor_loop()

    def run(threads: int) -> None:
        chip = Chip(_SCALING_TILES, threads=threads)
        for tile in range(_SCALING_TILES):
            chip.load(tile, image)
        assert chip.run().end is End.STOPPED

    return best_seconds(lambda: run(1)) / best_seconds(lambda: run(2))


def _supervisor_loop() -> TileImage:
    body = "".join(f"add $m{register}, $m{register}, 1\n" for register in range(_SUPERVISOR_BODY))
    source = (
        f".supervisor\nsetzi $m11, {_SUPERVISOR_ROUNDS}\nagain: {body}brnzdec $m11, again\ntrap 0\n"
    )
    obj = assemble(f".globl _start\n_start:\n{source}", mode=Mode.SUPERVISOR)
    image = Linker([obj]).link()
    pieces = [Piece(each.address, each.data) for each in image.segments]
    return TileImage(tuple(pieces), image.entries["_start"])


def _start(cache: Callable[[], ObjectCache]) -> Callable[[], object]:
    """The first run of the AMP loop in a new process, imports aside."""
    code = _loop(_AMP)
    return lambda: _run(LlvmWorkers(cache()), code, step_limit=1)


_FIRST_RESULT = """
import numpy as np
from tilewright.device import Output, kernel_source, run_kernel
x = np.ones(8, np.float16)
run_kernel([kernel_source("add_f16.S")], "add_f16", [Output((8,), "f2"), x, x, 2])
"""


def _process_starts() -> list[Figure]:
    """A new process to its first result of a kernel: assembled, linked, run."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"TILEWRIGHT_CACHE": folder}

        def run() -> None:
            subprocess.run([sys.executable, "-c", _FIRST_RESULT], env=environment, check=True)

        cold = best_seconds(run, repeats=1)
        warm = best_seconds(run)
    return [
        Figure("emulator.cold_process", cold, "s"),
        Figure("emulator.warm_process", warm, "s"),
    ]


def _loop(body: list[str]) -> bytes:
    """Machine code for `_CODE`: the bundles of `body`, over and over."""
    lines = [
        '.section .text.start, "ax"',
        ".globl _start",
        ".worker",
        ".align 8",
        "_start:",
        f"setzi $m9, {_ROUNDS}",
        "nop",
        "nop",
        f"again: rpt {_REPEATS}, {len(body) - 1}",
        *body,
        "brnzdec $m9, again",
        "exitz $m15",
    ]
    arena = Arena("code", _CODE, EXECUTABLE_END, is_executable=True)
    (segment,) = Linker([assemble("\n".join(lines) + "\n")], arenas=[arena]).link().segments
    return segment.data


def _run(workers: LlvmWorkers, code: bytes, step_limit: int = 1 << 62) -> None:
    """Run worker 0 on ordinary numbers."""
    generator = np.random.default_rng(_SEED)
    memory, state = TileMemory(1), np.zeros(1, TILE)[0]
    memory.write(0, _CODE, code)
    memory.write(0, _DATA, _halves(generator, 64).tobytes())
    state["weights"] = _halves(generator, 256).view(np.uint64)
    worker = state["workers"][0]
    worker["pc"], worker["m"][:2] = _CODE, (_DATA, _DATA + 0x100)
    worker["a"] = _halves(generator, 16).view(np.uint32)
    workers.run_worker(state, memory, 0, 0, step_limit=step_limit)


def _halves(generator: np.random.Generator, count: int) -> Any:
    return generator.normal(0, 0.5, count).astype(np.float16)
