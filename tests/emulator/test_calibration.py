"""Cycles of kernels of ours beside those that others measured on a card (docs/fidelity.md)."""

import numpy as np

from tilewright.device import tile_image
from tilewright.elf.assembler import assemble
from tilewright.elf.linker import Linker
from tilewright.emulator.engines import Engine
from tilewright.emulator.images import TileImage
from tilewright.emulator.kernel import KernelRun, run_kernel
from tilewright.isa import Mode
from tilewright.target.geometry import REGION1_BASE

SOURCE = 0x70000
"""Linear; what starts at `REGION1_BASE` is interleaved."""
BYTES = 8192
ATOMS_PER_WORKER = 171

CALL = """
  setzi $m6, state
  st32 $m2, $m6, $m15, 0
  st32 $m3, $m6, $m15, 1
  setzi $m7, worker
  runall $m7, $m6, 0
  sync 2
  br $m10
"""
STATE = """
  .section .bss.state, "aw", @nobits
  .align 8
state:
  .space 8
"""
NOTHING = "exitz $m15"
COPY = f"""
  get $m0, $WSR
  and $m0, $m0, 7
  ld32 $m1, $m13, $m15, 0
  ld32 $m2, $m13, $m15, 1
  mul $m3, $m0, {8 * ATOMS_PER_WORKER}
  add $m1, $m1, $m3
  add $m2, $m2, $m3
  ld64step $a0:1, $m15, $m1+=, 1
  tapack $m4:5, $m1, $m15, $m2
  cmpeq $m3, $m0, 5
  shl $m3, $m3, 1
  setzi $m6, {ATOMS_PER_WORKER - 1}
  sub $m6, $m6, $m3
  rpt $m6, 0
  {{ldst64pace $a0:1, $a0:1, $m4:5+=, $m15, 0; fnop}}
  st64pace $a0:1, $m4:5+=, $m15, 0
  exitz $m15
"""


LEAST_CALL, COPY_CALL = 288, 1308
"""Measured on a C600: a call of six workers that do nothing, and one that copies 8 KiB."""
WEIGHTS_64, WEIGHTS_128 = 1063, 940
"""Measured on a C600: the same block of products with four stores of 64 weights, by width."""


def kernel(text: str) -> TileImage:
    text = f"""
  .section .text.kernel, "ax"
  .globl kernel
  .supervisor
  .align 8
kernel: {text}
"""
    return tile_image(Linker([assemble(text, mode=Mode.SUPERVISOR)]).link(entries=["kernel"]))


def call_of(worker: str) -> TileImage:
    """Six workers that are given the first two operands."""
    return kernel(f"""{CALL}
  .section .text.worker, "ax"
  .worker
  .align 8
worker: {worker}
{STATE}""")


def run(image: TileImage) -> KernelRun:
    """With 8 KiB of linear memory and 8 KiB of interleaved memory, on both engines."""
    source = np.random.default_rng(0).integers(0, 256, BYTES, np.uint8)
    operands = [source, np.zeros(BYTES, np.uint8)]
    places = [SOURCE, REGION1_BASE]
    runs = [
        run_kernel(image, "kernel", operands, addresses=places, engine=engine) for engine in Engine
    ]
    assert runs[0].cycles == runs[1].cycles
    return runs[0]


def test_a_copy_takes_what_was_measured_beyond_a_call_of_nothing() -> None:
    copy, nothing = run(call_of(COPY)), run(call_of(NOTHING))
    source, target = copy.arrays
    assert source is not None
    assert target is not None
    assert np.array_equal(source, target)
    ours, measured = copy.cycles - nothing.cycles, COPY_CALL - LEAST_CALL
    assert abs(ours / measured - 1) < 0.1
    assert (nothing.cycles, copy.cycles) == (44, 1153)  # as docs/fidelity.md says


def test_wider_stores_of_weights_save_what_was_measured() -> None:
    def cycles(loads: list[str]) -> int:
        text = "".join(f"put $CCCSLOAD, $m2\n{'; '.join(loads)}\n" for _ in range(4))
        return run(kernel(f"setzi $m2, {REGION1_BASE}\n{text}br $m10")).cycles

    narrow = cycles([f"ld64putcs {number}" for number in range(64)])
    wide = cycles([f"ld128putcs {number}" for number in range(0, 64, 2)])
    ours, measured = narrow - wide, WEIGHTS_64 - WEIGHTS_128
    assert abs(ours / measured - 1) < 0.1
    assert ours == 128
