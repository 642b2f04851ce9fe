"""Sums of the terms of a product, which tiles made apart, as calls."""

from collections.abc import Iterator, Sequence

import numpy as np

from tilewright.codegen.emit.addresses import Address
from tilewright.codegen.emit.elements import Places, strided_calls
from tilewright.codegen.emit.operands import Call, Operands, find_kernel, kernel_call
from tilewright.codegen.emit.places import NOWHERE, find_elements, held_elements
from tilewright.codegen.low.schedule import ATOM
from tilewright.codegen.mid import Precision
from tilewright.codegen.mid.orders import OUTPUT_GROUP
from tilewright.codegen.mid.storage import Storage

_SUFFIX = {Precision.F16: "f16", Precision.F32: "f32"}
_WORD = 4


def sum_calls(
    operands: Operands, z: int, sums: int, arriving: Sequence[int], tile: int
) -> Iterator[Call]:
    """z = the tile's part of its own term plus what has arrived of the other tiles'.

    z may be of another precision than the terms. What has arrived is done with afterwards.
    """
    precision = operands.precision(sums)
    count = operands.elements(z, tile)
    if not arriving:
        yield _converted(operands, z, operands.at(sums), precision, count)
        return
    (terms,) = arriving
    suffix = _SUFFIX[precision]
    blocks = operands.ranges(terms, tile)[0][1]
    at = operands.at(terms)
    is_same = operands.precision(z) is precision
    total = operands.at(z) if is_same else at
    yield kernel_call(
        find_kernel(f"sum_{suffix}"), {"n": count, "blocks": blocks}, {"z": total, "x": at}
    )
    yield from _own_part(operands, z, sums, total, at if is_same else None, tile)
    if not is_same:
        yield _converted(operands, z, at, precision, count)


def _own_part(
    operands: Operands, z: int, sums: int, total: Address, room: Address | None, tile: int
) -> Iterator[Call]:
    """Adds the tile's own term to a total that lies as z does. With `room` for it, it is brought
    there first, if whole panels of it are."""
    precision = operands.precision(sums)
    suffix = _SUFFIX[precision]
    is_one = all(
        extent == 1 for buffer in (sums, z) for extent in operands.extents(buffer, tile)[:-2]
    )
    own, result = operands.matrix(sums, tile), operands.matrix(z, tile)
    if room is not None and is_one and own.columns == result.columns:
        offset = (result.first_row - own.first_row) * OUTPUT_GROUP * precision.bytes
        atoms_per_row = OUTPUT_GROUP * precision.bytes // ATOM
        yield Call(
            "copy_strided",
            (
                room,
                operands.at(sums) + offset,
                result.rows * atoms_per_row,
                own.rows * atoms_per_row,
                result.rows * atoms_per_row,
                result.columns // OUTPUT_GROUP,
            ),
        )
        places = {"z": total, "x": total, "y": room}
        yield kernel_call(find_kernel(f"add_{suffix}"), {"n": result.elements}, places)
        return
    target = operands.storage(z)
    numbers = held_elements(Storage(target.format, target.base), tile)
    elements = np.flatnonzero(numbers != NOWHERE)
    found = find_elements(operands.storage(sums), tile, numbers[elements])
    added, term = Places(total, elements), Places(operands.at(sums), found)
    yield from strided_calls("add", suffix, added, added, term)


def _converted(operands: Operands, z: int, x: Address, precision: Precision, count: int) -> Call:
    """z = x, an array of `precision` that lies as z does."""
    places = {"z": operands.at(z), "x": x}
    if operands.precision(z) is precision:
        size = count * precision.bytes
        return kernel_call(find_kernel("copy"), {"n": -(-size // _WORD)}, places)
    kernel = find_kernel(f"cast_{precision.value}_{operands.precision(z).value}")
    return kernel_call(kernel, {"n": count}, places)
