"""Running a kernel on an emulated tile against its reference.

>>> from tilewright.device.kernels import KERNELS, try_kernel
>>> trial = try_kernel(KERNELS["add_f16"], {"n": 1000})
>>> trial.faults, trial.cycles, trial.predicted
((), 897, 897)
"""

import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.device.kernels.spec import (
    Accuracy,
    Array,
    Arrays,
    Kernel,
    KernelFault,
    Memory,
    Places,
    Role,
    Scalar,
    Sizes,
)
from tilewright.device.running import assemble_kernel, tile_image
from tilewright.elf.linker import Linker
from tilewright.elf.object import Binding, ObjectFile
from tilewright.emulator.engines import Engine
from tilewright.emulator.images import TileImage
from tilewright.emulator.kernel import Operand, Output, run_kernel
from tilewright.emulator.memory import TileMemory
from tilewright.errors import TilewrightError
from tilewright.target.geometry import ELEMENT_SIZE, MEMORY_END, REGION1_BASE, RUNTIME_STATE

_LINEAR = (RUNTIME_STATE[1], REGION1_BASE)
"""Where arrays of a trial lie in region 0: beyond code, stack and scratch memory."""
_INTERLEAVED = (REGION1_BASE, MEMORY_END)
_GUARD_BYTES = 64
"""Around each array, that much memory is checked to be as it was."""
_SHOWN = 3
_SHIPPED = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one run: measured and predicted cycles, results, and what is wrong with them.

    `elements` is what the kernel's cycles are given per.
    """

    sizes: Sizes
    cycles: int
    predicted: int
    elements: int
    results: Arrays
    faults: tuple[str, ...]
    worst_error: float
    """Largest |result - reference|."""


def try_kernel(
    kernel: Kernel,
    sizes: Sizes,
    *,
    places: Places | None = None,
    seed: int = 0,
    engine: Engine = Engine.LLVM,
) -> Trial:
    """Run a kernel on sampled inputs, with arrays at `places` (else as `place_arrays` puts them).

    Raises `KernelFault` for sizes that the kernel does not take, and `KernelError` if it faults.
    """
    kernel.check_sizes(sizes)
    with _specified(kernel, "its operands"):
        _check_numbers(kernel, sizes)
        places = place_arrays(kernel, sizes) if places is None else places
        inputs = sample_inputs(kernel, sizes, seed)
        operands = [_operand(each, sizes, inputs) for each in kernel.operands]
    with _specified(kernel, "its cycles or elements"):
        predicted, elements = int(kernel.cycles(sizes, places)), int(kernel.elements(sizes))
    addresses = [places[each.name] if isinstance(each, Array) else None for each in kernel.operands]
    run = run_kernel(
        _image(kernel.source, kernel.symbol),
        kernel.symbol,
        operands,
        addresses=addresses,
        engine=engine,
    )
    names = [each.name for each in kernel.operands]
    arrays = dict(zip(names, run.arrays, strict=True))
    results = {
        array.name: found
        for array in kernel.arrays
        if array.role.is_result and (found := arrays[array.name]) is not None
    }
    expected = _expected(kernel, sizes, inputs, results)
    # f16 results that are too large are clipped and f32 ones infinite: both without a warning.
    with np.errstate(all="ignore"):
        differences = [
            _difference(name, results[name], expected[name], kernel.accuracy) for name in results
        ]
        worst = max(_worst(results[name], expected[name]) for name in results)
    faults = [text for text in differences if text]
    faults += _overwritten(kernel, sizes, places, run.memory)
    faults += _changed(kernel, inputs, places, run.memory)
    return Trial(sizes, run.cycles, predicted, elements, results, tuple(faults), worst)


def _expected(
    kernel: Kernel, sizes: Sizes, inputs: dict[str, NDArray[Any]], results: Arrays
) -> dict[str, NDArray[Any]]:
    """What the reference gives. Raises `KernelFault` for what cannot be held against results."""
    with np.errstate(all="ignore"), _specified(kernel, "its reference"):
        given = kernel.reference(sizes, {name: array.copy() for name, array in inputs.items()})
        if not isinstance(given, Mapping) or not results.keys() <= given.keys():
            found = ", ".join(given) if isinstance(given, Mapping) else type(given).__name__
            raise KernelFault(
                f"{kernel.name}: its reference gives {found or 'nothing'}; "
                f"expected arrays by name, for {', '.join(results)}"
            )
        expected = {name: np.asarray(given[name]) for name in results}
        for name, array in expected.items():
            if array.shape != results[name].shape:
                raise KernelFault(
                    f"{kernel.name}: its reference gives {name} the shape {array.shape}; "
                    f"its count says {results[name].shape}"
                )
    return expected


@contextmanager
def _specified(kernel: Kernel, what: str) -> Iterator[None]:
    """Turns what a function of a specification raises into a `KernelFault` that says where."""
    try:
        yield
    except TilewrightError:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        places = [f" ({at.filename}:{at.lineno})" for at in frames if at.filename != __file__]
        raise KernelFault(
            f"{kernel.name}: {what} cannot be evaluated: {type(error).__name__}: {error}"
            + "".join(places[-1:])
        ) from error


def _check_numbers(kernel: Kernel, sizes: Sizes) -> None:
    """Raises `KernelFault` unless counts and scalars are whole numbers."""
    for operand in kernel.operands:
        is_array = isinstance(operand, Array)
        number = operand.count(sizes) if isinstance(operand, Array) else operand.value(sizes)
        if not isinstance(number, int | np.integer):
            what = "an array has a whole number of elements" if is_array else _SCALARS
            raise KernelFault(f"{kernel.name}: {operand.name} is {number!r}, but {what}")


_SCALARS = "a register holds a whole number (the bits of a float, for one)"


def sample_inputs(kernel: Kernel, sizes: Sizes, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Values for all arrays that the kernel reads."""
    random = np.random.default_rng(seed)
    return {
        array.name: _sampled(array, random, sizes) for array in kernel.arrays if array.role.is_read
    }


def _sampled(array: Array, random: np.random.Generator, sizes: Sizes) -> NDArray[Any]:
    if array.content is not None:
        return array.content(sizes)
    return array.sample(random, array.count(sizes)).astype(array.dtype)


def place_arrays(
    kernel: Kernel,
    sizes: Sizes,
    *,
    memory: Memory = Memory.INTERLEAVED,
    last: str | None = None,
) -> dict[str, int]:
    """Addresses for the arrays: each as close to the one before as alignment and elements allow.

    Arrays that may lie anywhere go to region 0 if `memory` is `ANY`. The array `last` ends where
    SRAM ends. Raises `KernelFault` if they do not fit.
    """
    places: dict[str, int] = {}
    free = {Memory.ANY: _LINEAR[0], Memory.INTERLEAVED: _INTERLEAVED[0] - _GUARD_BYTES}
    ends = {Memory.ANY: _LINEAR[1], Memory.INTERLEAVED: _INTERLEAVED[1]}
    if last is not None:
        array = kernel.array(last)
        places[last] = (MEMORY_END - array.bytes(sizes)) // array.alignment * array.alignment
        ends[Memory.INTERLEAVED] = places[last] - _GUARD_BYTES
        if _has_partner(kernel, last):
            ends[Memory.INTERLEAVED] = places[last] // (2 * ELEMENT_SIZE) * 2 * ELEMENT_SIZE
    for array in kernel.arrays:
        if array.name in places:
            continue
        kind = memory if array.memory is Memory.ANY else Memory.INTERLEAVED
        grain = array.alignment
        if _has_partner(kernel, array.name):
            grain = ELEMENT_SIZE if kind is Memory.ANY else 2 * ELEMENT_SIZE
        start = -(-(free[kind] + _GUARD_BYTES) // grain) * grain
        places[array.name] = start
        free[kind] = start + array.bytes(sizes)
        if _has_partner(kernel, array.name):
            past_element = -(-free[kind] // grain) * grain
            free[kind] = max(free[kind], past_element - _GUARD_BYTES)
        if start + array.bytes(sizes) > ends[kind]:
            raise KernelFault(f"{kernel.name}: {array.name} does not fit into one tile")
    return places


def _has_partner(kernel: Kernel, name: str) -> bool:
    return any(name in pair for pair in kernel.apart)


def _operand(operand: Array | Scalar, sizes: Sizes, inputs: Arrays) -> Operand:
    if isinstance(operand, Scalar):
        return operand.value(sizes)
    if not operand.role.is_read:
        return Output((operand.count(sizes),), operand.dtype)
    return inputs[operand.name]


def _image(source: Path, symbol: str) -> TileImage:
    """The kernel, linked. Files that ship do not change; others may from trial to trial."""
    if source.parent == _SHIPPED:
        return _shipped_image(source, symbol)
    return _linked(assemble_kernel(source), source, symbol)


@lru_cache(maxsize=256)
def _shipped_image(source: Path, symbol: str) -> TileImage:
    return _linked(_shipped_object(source), source, symbol)


@lru_cache(maxsize=64)
def _shipped_object(source: Path) -> ObjectFile:
    return assemble_kernel(source)


def _linked(assembled: ObjectFile, source: Path, symbol: str) -> TileImage:
    """Raises `KernelFault` for a symbol that others cannot call."""
    defined = [
        each.name
        for each in assembled.symbols
        if each.section is not None and each.binding is not Binding.LOCAL
    ]
    if symbol not in defined:
        raise KernelFault(
            f"{source} defines no global symbol {symbol}, as the kernel's name asks for; "
            f"global are: {', '.join(defined) or 'none (.globl makes one so)'}"
        )
    return tile_image(Linker([assembled]).link(entries=[symbol]))


def _difference(name: str, found: NDArray[Any], expected: NDArray[Any], accuracy: Accuracy) -> str:
    """What is wrong with a result, "" if nothing is."""
    if accuracy.is_exact:
        same = _patterns(found) == _patterns(expected.astype(found.dtype))
        wrong = ~(same | (_is_nan(found) & _is_nan(expected)))
    else:
        error = np.abs(found.astype(np.float64) - expected)
        wrong = ~(error <= accuracy.absolute + accuracy.relative * np.abs(expected))
    (places,) = np.nonzero(wrong)
    if not places.size:
        return ""
    shown = ", ".join(f"[{at}] {found[at]} for {expected[at]}" for at in places[:_SHOWN])
    return f"{name}: {places.size} of {found.size} elements are wrong: {shown}"


def _patterns(values: NDArray[Any]) -> NDArray[Any]:
    return values.view(f"u{values.dtype.itemsize}")


def _is_nan(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)


def _worst(found: NDArray[Any], expected: NDArray[Any]) -> float:
    error = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    return float(np.max(error, initial=0.0))


def _overwritten(kernel: Kernel, sizes: Sizes, places: Places, memory: TileMemory) -> Iterable[str]:
    """Memory beside the arrays must be as nobody ever wrote it."""
    untouched = TileMemory(tiles=1)
    for array in kernel.arrays:
        start = places[array.name]
        end = start + array.bytes(sizes)
        for place in (start - _GUARD_BYTES, end):
            size = min(_GUARD_BYTES, MEMORY_END - place)
            if memory.read(0, place, size) != untouched.read(0, place, size):
                side = "after" if place == end else "before"
                yield f"{array.name}: memory {side} it was overwritten"


def _changed(kernel: Kernel, inputs: Arrays, places: Places, memory: TileMemory) -> Iterable[str]:
    """Inputs must be as they were, unless they are the place of a result."""
    for array in kernel.arrays:
        if array.role is not Role.INPUT:
            continue
        before = inputs[array.name].tobytes()
        if memory.read(0, places[array.name], len(before)) != before:
            yield f"{array.name}: an input, and it was overwritten"
