"""Kernels on one tile: the shipped one against NumPy, and what goes wrong."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.device import kernel_source, tile_image
from tilewright.elf.assembler import assemble, assemble_file
from tilewright.elf.linker import Linker
from tilewright.emulator.engines import Engine
from tilewright.emulator.images import Piece, TileImage
from tilewright.emulator.kernel import KernelError, Operand, Output, run_kernel
from tilewright.isa import Mode

Halves = NDArray[np.float16]


@cache
def shipped() -> TileImage:
    obj = assemble_file(kernel_source("add_f16.S")).object
    return tile_image(Linker([obj]).link(entries=["add_f16"]))


def image_of(text: str, entry: str = "kernel") -> TileImage:
    obj = assemble(
        f'  .section .text.{entry}, "ax"\n  .globl {entry}\n{text}\n', mode=Mode.SUPERVISOR
    )
    return tile_image(Linker([obj]).link(entries=[entry]))


def halves(count: int, seed: int) -> Halves:
    """Finite ones, of all sizes: some sums overflow, some are subnormal."""
    generator = np.random.default_rng(seed)
    values = generator.normal(0, 200, count) * generator.choice([1.0, 1e-4, 1e-8, 300.0], count)
    finite: Halves = np.clip(values, -65504, 65504).astype(np.float16)
    return finite


def saturated_sum(x: Halves, y: Halves) -> Halves:
    """Overflow gives the largest half, as long as nobody asks for NaNs."""
    with np.errstate(over="ignore"):
        total: Halves = np.clip(x + y, np.float16(-65504), np.float16(65504))
    return total


def add(x: Halves, y: Halves) -> tuple[Halves, int]:
    run = run_kernel(shipped(), "add_f16", [Output(x.shape, np.float16), x, y, x.size // 4])
    (z, x_after, y_after, number) = run.arrays
    assert number is None
    assert x_after is not None
    assert y_after is not None
    assert np.array_equal(x_after, x)
    assert np.array_equal(y_after, y)
    assert z is not None
    return z, run.cycles


@pytest.mark.parametrize("atoms", [*range(1, 27), 35, 36, 37, 59, 60, 61, 143, 144, 500])
def test_sizes(atoms: int) -> None:
    x, y = halves(4 * atoms, atoms), halves(4 * atoms, 1000 + atoms)
    z, _ = add(x, y)
    assert z.dtype == np.float16
    assert np.array_equal(z.view(np.uint16), saturated_sum(x, y).view(np.uint16))


def test_nothing_to_add() -> None:
    empty = np.zeros(0, np.float16)
    z, cycles = add(empty, empty)
    assert z.size == 0
    assert cycles > 0


def test_cycles_grow_by_the_loop_of_one_worker() -> None:
    """Three steps of six cycles for each atom more that every worker has."""
    cycles = [add(halves(24 * rounds, 1), halves(24 * rounds, 2))[1] for rounds in (2, 3, 10)]
    assert cycles[1] - cycles[0] == 18
    assert cycles[2] - cycles[1] == 7 * 18


def test_runs_are_alike() -> None:
    x, y = halves(80, 1), halves(80, 2)
    first, second = add(x, y), add(x, y)
    assert np.array_equal(first[0], second[0])
    assert first[1] == second[1]


def test_shapes_and_types_are_kept() -> None:
    x = halves(48, 3).reshape(2, 3, 8)
    run = run_kernel(shipped(), "add_f16", [Output((4, 12), "f2"), x, x, 12])
    z, x_after, _, _ = run.arrays
    assert z is not None
    assert x_after is not None
    assert (z.shape, x_after.shape) == ((4, 12), (2, 3, 8))
    assert np.array_equal(z.reshape(-1), saturated_sum(x, x).reshape(-1))


def test_operands_need_not_be_contiguous() -> None:
    """They are copied in the order of their indices, whatever theirs in memory is."""
    every_other = halves(96, 4).reshape(6, 16)[:, ::2]
    transposed = halves(48, 5).reshape(8, 6).T
    operands: list[Operand] = [Output((6, 8), "f2"), every_other, transposed, 12]
    run = run_kernel(shipped(), "add_f16", operands)
    assert run.arrays[0] is not None
    assert np.array_equal(run.arrays[0], saturated_sum(every_other, transposed))


def test_nothing_beyond_the_vectors_is_touched() -> None:
    """The result lies between two arrays of other content."""
    guard = np.full(8, 99, np.float16)
    x, y = halves(28, 5), halves(28, 6)
    operands: list[Operand] = [Output((28,), "f2"), x, y, 7, guard, guard]
    places = [0xA0000, 0x80000, 0x90000, None, 0xA0000 - 16, 0xA0000 + 56]
    run = run_kernel(shipped(), "add_f16", operands, addresses=places)
    z, _, _, _, below, above = run.arrays
    assert z is not None
    assert np.array_equal(z, saturated_sum(x, y))
    assert below is not None
    assert above is not None
    assert np.array_equal(below, guard)
    assert np.array_equal(above, guard)


def test_the_result_may_be_an_operand() -> None:
    x, y = halves(40, 7), halves(40, 8)
    run = run_kernel(
        shipped(), "add_f16", [x, x, y, 10], addresses=[0x80000, 0x80000, 0x90000, None]
    )
    assert run.arrays[0] is not None
    assert np.array_equal(run.arrays[0], saturated_sum(x, y))


# -- the convention ---------------------------------------------------------------------------


def test_where_operands_are() -> None:
    """In $m2 on: arrays at pairs of elements of their own, numbers as they are."""
    store = "".join(f"  st32 $m{n + 2}, $m2, $mzero, {n}\n" for n in range(8))
    image = image_of(f"kernel:\n{store}  br $lr")
    x = np.arange(20000, dtype=np.uint16)
    operands: list[Operand] = [Output((8,), np.uint32), x, 7, -1, x[:1], 0xFFFFFFFF, x[:0], x[:1]]
    run = run_kernel(image, "kernel", operands)
    assert run.arrays[0] is not None
    first = 0x80000
    pair = 0x8000
    expected = [first, first + pair, 7, 2**32 - 1, first + 3 * pair, 2**32 - 1]
    assert run.arrays[0].tolist() == [*expected, first + 4 * pair, first + 5 * pair]
    assert [array is None for array in run.arrays] == [n in (2, 3, 5) for n in range(8)]


@pytest.mark.parametrize("kind", [int, np.int64, np.uint32, np.int8])
def test_numbers_of_numpy_are_numbers(kind: type) -> None:
    image = image_of("kernel:\n  st32 $m3, $m2, $mzero, 0\n  br $lr")
    run = run_kernel(image, "kernel", [Output((1,), np.uint32), kind(77)])
    assert run.arrays[1] is None
    assert run.arrays[0] is not None
    assert run.arrays[0].tolist() == [77]


def test_an_output_that_nobody_writes_is_not_a_number() -> None:
    run = run_kernel(image_of("kernel:\n  br $lr"), "kernel", [Output((3, 5), np.float32)])
    assert run.arrays[0] is not None
    assert np.isnan(run.arrays[0]).all()


def test_stack_and_scratch_memory() -> None:
    """A stack pointer, aligned, and scratch memory for each worker above it, all apart."""
    text = "kernel:\n  st32 $sp, $m2, $mzero, 0\n" + "".join(
        f"  get $m3, $WORKER{n}_BASE\n  st32 $m3, $m2, $mzero, {n + 1}\n" for n in range(6)
    )
    run = run_kernel(image_of(text + "  br $lr"), "kernel", [Output((7,), np.uint32)])
    assert run.arrays[0] is not None
    stack, *scratch = run.arrays[0].tolist()
    assert stack % 8 == 0
    assert 0x58000 < stack <= scratch[0]
    assert np.diff(scratch).tolist() == [0x100] * 5
    assert scratch[-1] + 0x100 <= 0x5C000


def test_cycles_of_the_shortest_kernel() -> None:
    """A call and a return, two taken branches."""
    assert run_kernel(image_of("kernel:\n  br $lr"), "kernel", []).cycles == 12


# -- what goes wrong --------------------------------------------------------------------------


def fails(match: str, image: TileImage, symbol: str, *operands: Operand, limit: int = 5000) -> str:
    with pytest.raises(KernelError, match=match) as caught:
        run_kernel(image, symbol, operands, cycle_limit=limit)
    return str(caught.value)


def test_unknown_symbol() -> None:
    fails("no symbol sub_f16", shipped(), "sub_f16")


def test_too_many_operands() -> None:
    fails(r"9 operands, but only \$m2 to \$m9", shipped(), "add_f16", *range(9))


def test_addresses_for_other_operands() -> None:
    for addresses in ([], [None], [None] * 3):
        with pytest.raises(KernelError, match=f"{len(addresses)} addresses for 2 operands"):
            run_kernel(shipped(), "add_f16", [1, 2], addresses=addresses)


@pytest.mark.parametrize("address", [0x4BFF8, 0xE7FF8, 0xE8000])
def test_operands_outside_memory(address: int) -> None:
    x = np.zeros(8, np.float16)
    with pytest.raises(KernelError, match=f"16 bytes does not fit at {address:#x}"):
        run_kernel(shipped(), "add_f16", [x], addresses=[address])


def test_operands_larger_than_memory() -> None:
    fails("does not fit", shipped(), "add_f16", np.zeros(500_000, np.float16))


def test_a_kernel_that_does_not_end() -> None:
    message = fails(
        "kernel is still running after 5000 cycles", image_of("kernel:\n  bri kernel"), "kernel"
    )
    assert "the supervisor is at 0x" in message
    assert message.endswith("in kernel (<input>:4)")


SPIN = """kernel:
  setzi $m6, spin
  runall $m6, $mzero, 0
  sync 2
  br $lr
  .worker
spin:
  get $m0, $WSR
  and $m0, $m0, 7
  add $m0, $m0, -4
  brneg $m0, end
  bri spin
end:
  exitz $mzero"""


@pytest.mark.parametrize("engine", list(Engine))
@pytest.mark.parametrize(
    ("text", "who"),
    [
        (SPIN, "workers 4, 5 are running, worker 4 is at 0x"),
        (SPIN.replace("  brneg $m0, end\n", ""), "workers 0, 1, 2, 3, 4, 5 are running, worker 0"),
    ],
)
def test_a_worker_that_does_not_end(text: str, who: str, engine: Engine) -> None:
    with pytest.raises(KernelError, match=r"still running after 600 cycles: .*<input>:\d+\)") as it:
        run_kernel(image_of(text), "kernel", [], cycle_limit=600, engine=engine)
    assert who in str(it.value)


def test_workers_that_are_not_waited_for() -> None:
    ends_late = SPIN.replace("bri spin", ".rept 20\n  nop\n  .endr").replace("  sync 2\n", "")
    fails(
        "kernel returns while workers? .* still running: it has to wait",
        image_of(ends_late),
        "kernel",
    )


def test_a_stack_pointer_that_is_not_kept() -> None:
    text = "kernel:\n  add $sp, $sp, -8\n  br $lr"
    fails(r"\$m11 \(\$sp\) was 0x\w+, is 0x\w+", image_of(text), "kernel")


def test_a_fault_names_instruction_symbol_and_line() -> None:
    text = "kernel:\n  nop\n  ld32 $m3, $m2, $mzero, 0\n  br $lr"
    image = image_of(text)
    message = fails("INVALID_ADDR", image, "kernel", 0x80002)
    pc = image.symbols["kernel"] + 4
    assert f"supervisor at pc {pc:#x}" in message
    assert "0x80002 is not aligned to 4 bytes" in message
    assert message.endswith(", at 'ld32 $m3, $m2, $m15, 0', in kernel+0x4 (<input>:5)")


def test_a_fault_of_a_worker_names_it() -> None:
    x = np.zeros(8, np.float16)
    with pytest.raises(KernelError, match="worker 0 at pc") as caught:
        run_kernel(shipped(), "add_f16", [Output((8,), "f2"), x, 0x80004, 2])
    assert "not aligned to 8 bytes" in str(caught.value)
    assert "add_f16_worker+" in str(caught.value)


def test_a_trap_is_no_return() -> None:
    message = fails("PBRK0", image_of("kernel:\n  trap 0"), "kernel")
    assert message.endswith("in kernel (<input>:4)")


def test_a_barrier_with_other_tiles() -> None:
    fails("waits at sync 3, but a kernel runs on one tile", image_of("kernel:\n  sync 3"), "kernel")


def test_running_into_memory_that_holds_no_code() -> None:
    fails("INVALID_PC", image_of("kernel:\n  br $m2"), "kernel", 0x80000)


def test_operands_are_placed_past_the_data_of_the_image() -> None:
    """An image with 100 bytes from 0x88000 on leaves the pair of elements from 0x90000 on free."""
    source = """
        .supervisor
    kernel:
        st32 $m2, $m2, $mzero, 0
        br $lr
    """
    code = assemble(source).sections[0].data
    pieces = (Piece(0x4C018, code), Piece(0x88000, b"\x01" * 100))
    image = TileImage(pieces, 0x4C018, {"kernel": 0x4C018})
    run = run_kernel(image, "kernel", [Output((1,), np.uint32)])
    assert run.arrays[0] is not None
    assert run.arrays[0].tolist() == [0x90000]


def test_running_into_unwritten_memory_says_so() -> None:
    """The pattern of unwritten memory is the word of a `send`; it is never executed as one."""
    code = assemble(".supervisor\n nop\n").sections[0].data
    image = TileImage((Piece(0x4C018, code),), 0x4C018, {"kernel": 0x4C018})
    with pytest.raises(KernelError, match="nobody has written"):
        run_kernel(image, "kernel", [])
