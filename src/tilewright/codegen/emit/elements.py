"""Operators that work element by element, as calls: functions of one array, arithmetic of two.

Operands of arithmetic broadcast, and may lie otherwise than the result. Where one lies as the
result does, and the other is one element, a row or a column of it, there are kernels; the rest is
done by strided ones. Padding of a result is 0 afterwards, whatever the operator makes of zeros.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tilewright.codegen.emit.addresses import Address, Literal
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.operands import Call, Operands, find_kernel, kernel_call
from tilewright.codegen.emit.places import (
    NOWHERE,
    broadcast_numbers,
    find_elements,
    held_elements,
)
from tilewright.codegen.emit.rearrange import clearing_calls
from tilewright.codegen.emit.strides import Rows, find_rows, shared, single_words
from tilewright.codegen.low.schedule import ATOM
from tilewright.codegen.mid import ElementOrder, Precision
from tilewright.codegen.mid.orders import OUTPUT_GROUP, Indices
from tilewright.codegen.mid.storage import WORD, Storage

UNARY = ("gelu", "gelu_tanh", "relu", "silu", "sigmoid", "tanh", "exp", "sqrt")
BINARY = ("add", "sub", "mul", "div")
_CHANGE_ZERO = ("exp", "sigmoid")
_COMMUTATIVE = ("add", "mul")
_SUFFIX = {Precision.F16: "f16", Precision.F32: "f32"}
_PACKED = (
    ElementOrder.LEFT,
    ElementOrder.RIGHT,
    ElementOrder.LEFT_TRANSPOSED,
    ElementOrder.RIGHT_TRANSPOSED,
)


def suffix(operands: Operands, buffer: int) -> str:
    """Of kernels that compute in a buffer's precision. Raises `EmissionError` if there are none."""
    precision = operands.precision(buffer)
    if precision not in _SUFFIX:
        raise EmissionError(f"no arithmetic in {precision.value}")
    return _SUFFIX[precision]


def unary_calls(operands: Operands, name: str, z: int, x: int, tile: int) -> Iterator[Call]:
    """z = name(x), which lies as z does."""
    _check_precision(operands, name, z, x)
    places = {"z": operands.at(z), "x": operands.at(x)}
    kernel = find_kernel(f"{name}_{suffix(operands, z)}")
    yield kernel_call(kernel, {"n": operands.elements(z, tile)}, places)
    if name in _CHANGE_ZERO:
        yield from clearing_calls(operands.layout(z), operands.at(z), tile)


def binary_calls(
    operands: Operands, name: str, z: int, x: int, y: int, tile: int
) -> Iterator[Call]:
    """z = x name y. z may be x or y if that one lies as z does."""
    _check_precision(operands, name, z, x, y)
    if name in _COMMUTATIVE and not _lie_alike(operands, z, x):
        x, y = y, x
    kernel = f"{name}_{suffix(operands, z)}"
    changes_zero = name == "div"
    if not _lie_alike(operands, z, x):
        yield from _strided(operands, name, z, x, y, tile)
        changes_zero = True
    elif _lie_alike(operands, z, y):
        places = {"z": operands.at(z), "x": operands.at(x), "y": operands.at(y)}
        yield kernel_call(find_kernel(kernel), {"n": operands.elements(z, tile)}, places)
    elif _is_one(operands.storage(y)):
        places = {"z": operands.at(z), "x": operands.at(x), "y": operands.at(y)}
        sizes = {"n": operands.elements(z, tile)}
        yield kernel_call(find_kernel(f"{name}_scalar_{suffix(operands, z)}"), sizes, places)
        changes_zero = True
    elif (call := _with_vector(operands, name, z, x, y, tile)) is not None:
        yield call
        changes_zero |= "column" in call.kernel
    else:
        yield from _strided(operands, name, z, x, y, tile)
        changes_zero = True
    if changes_zero:
        yield from clearing_calls(operands.layout(z), operands.at(z), tile)


@dataclass(frozen=True, slots=True)
class Places:
    """Elements of an array at `address`, by their offsets."""

    address: Address
    offsets: Indices


def strided_calls(name: str, suffix: str, z: Places, x: Places, y: Places) -> Iterator[Call]:
    """z = x name y, element by element; the offsets of z ascend.

    Raises `EmissionError` for halves of z that have something else before them in their words.
    """
    operands, elements = (x, y), z.offsets
    if suffix == "f32":
        for rows in find_rows(elements, np.stack([each.offsets for each in operands]), None):
            for part in shared(rows, 1):
                yield _strided_call(name, suffix, z, operands, part, part.words)
        return
    pairs = np.flatnonzero((elements % 2 == 0) & (np.append(elements[1:], NOWHERE) == elements + 1))
    alone = np.setdiff1d(np.arange(len(elements)), np.append(pairs, pairs + 1))
    if np.any(elements[alone] % 2):
        raise EmissionError("half a word of a result is padding, and comes first")
    first = np.stack([each.offsets[pairs] for each in operands])
    steps = np.stack([each.offsets[pairs + 1] for each in operands]) - first
    for rows in find_rows(elements[pairs] // 2, first, steps):
        for part in shared(rows, 2):
            yield _strided_call(name, suffix, z, operands, part, 2 * part.words)
    first = np.stack([each.offsets[alone] for each in operands])
    for rows in single_words(elements[alone] // 2, first):
        yield _strided_call(name, suffix, z, operands, rows, 1)


def _strided_call(
    name: str,
    suffix: str,
    z: Places,
    operands: tuple[Places, Places],
    rows: Rows,
    count: int,
) -> Call:
    """A call for rows of `count` elements."""
    size = WORD if suffix == "f32" else WORD // 2
    pitches = (size * pitch for pitch in rows.pitches)
    numbers = [WORD * rows.word_pitch, *pitches, *rows.steps, count, rows.rows]
    table = Literal(np.array([each & 0xFFFF_FFFF for each in numbers], "<u4").tobytes())
    at = [each.address + size * place for each, place in zip(operands, rows.places, strict=True)]
    return Call(f"{name}_strided_{suffix}", (z.address + WORD * rows.word, *at, table))


def _strided(operands: Operands, name: str, z: int, x: int, y: int, tile: int) -> Iterator[Call]:
    storage = operands.storage(z)
    numbers = held_elements(storage, tile)
    elements = np.flatnonzero(numbers != NOWHERE)
    found = []
    for buffer in (x, y):
        operand = operands.storage(buffer)
        wanted = broadcast_numbers(numbers[elements], storage.shape, operand.shape)
        found.append(Places(operands.at(buffer), find_elements(operand, tile, wanted)))
    result = Places(operands.at(z), elements)
    yield from strided_calls(name, suffix(operands, z), result, *found)


def _with_vector(operands: Operands, name: str, z: int, x: int, y: int, tile: int) -> Call | None:
    """With a row for all rows of z, or an element for each of them, by kernels for panels; None if
    y is neither, or lies otherwise."""
    if name == "div":
        return None
    storage, vector = operands.storage(z), operands.storage(y)
    if vector.format.order is not ElementOrder.ROW_MAJOR or vector.shape[-1:] != vector.base[-1:]:
        return None
    if storage.shape[-1:] != storage.base[-1:]:
        return None
    order = storage.format.order
    *outer, rows, columns = operands.extents(z, tile)
    width, panels = columns, 1
    if order is ElementOrder.ROW_MAJOR:
        rows *= int(np.prod(outer))
    elif order in (ElementOrder.OUTPUT, ElementOrder.OUTPUT_TRANSPOSED):
        if int(np.prod(outer)) != 1:
            return None
        if order.is_transposed:
            rows, columns = columns, rows
        width, panels = OUTPUT_GROUP, columns // OUTPUT_GROUP
    else:
        return None
    along = _vector_along(operands, z, y, tile)
    if along is None or width * storage.format.precision.bytes % ATOM:
        return None
    if order.is_transposed:
        along = {"row": "column", "column": "row"}[along]
    if along == "column" and len(outer) and order is not ElementOrder.ROW_MAJOR:
        return None
    least = panels * width if along == "row" else rows
    if operands.elements(y, tile) < least:
        return None
    return kernel_call(
        find_kernel(f"{name}_{along}_{suffix(operands, z)}"),
        {"rows": rows, "width": width, "panels": panels},
        {"z": operands.at(z), "x": operands.at(x), "v": operands.at(y)},
    )


def _vector_along(operands: Operands, z: int, y: int, tile: int) -> str | None:
    """Whether y is a row that all rows of z meet, or a column with an element for each of them."""
    whole, vector = operands.storage(z).shape, operands.storage(y).shape
    first, last = operands.ranges(z, tile), operands.ranges(y, tile)
    if vector[-1:] == whole[-1:] and all(extent == 1 for extent in vector[:-1]):
        return "row" if last[-1] == first[-1] else None
    if operands.storage(z).view is not None or operands.storage(y).view is not None:
        return None
    if vector[-1:] == (1,) and vector[:-1] == whole[:-1]:
        return "column" if last[:-1] == first[:-1] and last[-1][1] == 1 else None
    return None


def _check_precision(operands: Operands, name: str, z: int, *others: int) -> None:
    """Raises `EmissionError` for operands that are of another precision than the result."""
    wanted = operands.precision(z)
    for each in others:
        if operands.precision(each) is not wanted:
            raise EmissionError(
                f"{name}: {operands.name(each)} is stored in {operands.precision(each).value} and "
                f"{operands.name(z)} in {wanted.value}; a cast has to come first"
            )


def _is_one(storage: Storage) -> bool:
    return all(extent == 1 for extent in storage.shape)


def _lie_alike(operands: Operands, first: int, second: int) -> bool:
    """Whether the same elements lie at the same offsets of both shards, on every tile."""
    if first == second:
        return True
    keys = []
    for storage in (operands.storage(first), operands.storage(second)):
        form = storage.format
        packing = form.packing if form.order in _PACKED else None
        keys.append((form.grid, form.axes, form.order, packing, storage.base, storage.view))
    return keys[0] == keys[1]
