"""Kernel steps as calls of kernels that exist, tile by tile.

A plan's kernel may be several calls here: a product is one for each matrix, and each fused operator
is a call.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tilewright.codegen.emit.addresses import Address, Literal, Value
from tilewright.codegen.emit.elements import BINARY, UNARY, binary_calls, suffix, unary_calls
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.operands import Call, Operands, find_kernel, kernel_call
from tilewright.codegen.emit.reducing import reduce_calls
from tilewright.codegen.emit.reductions import reduction
from tilewright.codegen.emit.row_calls import ROW_KERNELS, row_calls
from tilewright.codegen.emit.sums import sum_calls
from tilewright.codegen.low import Buffer, KernelStep
from tilewright.codegen.low.schedule import ATOM
from tilewright.codegen.mid import Precision
from tilewright.codegen.mid.operators.epilogues import REVERSED
from tilewright.codegen.mid.orders import OUTPUT_GROUP
from tilewright.device.kernels import KERNELS

_TYPES = {"f16": "f2", "f32": "f4"}
_WORD = 4
_F143, _SCALE = 0x80, 0x3F
"""Of what casts of eight-bit numbers are told: the format, and the exponent of its scale."""


class Calls:
    """The calls of kernel steps, for buffers at `addresses`, in step `window` of a loop."""

    def __init__(
        self, buffers: Sequence[Buffer], addresses: Sequence[Address], window: int = 0
    ) -> None:
        self._operands = Operands(buffers, addresses, window)

    def of_step(self, step: KernelStep, tile: int) -> list[Call]:
        """What a tile calls for a step; nothing if it holds no part of the result.

        Raises `EmissionError` for what no kernel does.
        """
        kind = step.kernel.rpartition("_")[0]
        if self._operands.elements(step.result, tile) == 0:
            return []
        if kind == "gemm":
            products = list(self._product(step, tile))
            return [*products, *self._fused(step, tile, step.result, [])]
        if kind in ROW_KERNELS:
            return list(row_calls(self._operands, step, tile))
        if kind.startswith("reduce"):
            return list(reduce_calls(self._operands, step, tile))
        if step.kernel == "copy":
            return [self._copied(step.result, step.operands[0], tile)]
        if kind.startswith("cast"):
            return [self._cast(step, tile)]
        if kind == "sum":
            sums, *others = step.operands
            arrived = 1 if self._operands.terms(sums) > 1 else 0
            arriving, rest = others[:arrived], others[arrived:]
            found = reduction(self._operands, step, tile, sums, arriving, rest)
            if found is not None:
                left = replace(step, fused=found.fused)
                return [found.call, *self._fused(left, tile, step.result, found.operands)]
            added = sum_calls(self._operands, step.result, sums, arriving, tile)
            return [*added, *self._fused(step, tile, step.result, rest)]
        if kind == "epilogue":
            return list(self._fused(step, tile, step.operands[0], list(step.operands[1:])))
        if kind in UNARY:
            return list(unary_calls(self._operands, kind, step.result, step.operands[0], tile))
        if kind in BINARY:
            x, y = step.operands
            return list(binary_calls(self._operands, kind, step.result, x, y, tile))
        raise EmissionError(f"no kernel of ours does {step.kernel}[{step.mode}]")

    # products

    def _product(self, step: KernelStep, tile: int) -> Iterator[Call]:
        left, right = (self._operands.matrix(operand, tile) for operand in step.operands)
        layout = self._operands.layout(step.operands[0])
        depth = layout.format.packing.inner_group
        sums = self._operands.precision(step.result)
        halves = layout.format.packing is Precision.F16
        name = "gemm_f32" if not halves else "gemm_f16" if sums is Precision.F16 else "gemm_f16_f32"
        kernel = KERNELS[f"{name}.{'zero' if step.mode == 'initialise' else 'accumulate'}"]
        # In a loop, a weight that is there whole has more inner elements than what is gathered.
        inner = min(left.columns, right.rows)
        if inner == 0:
            if step.mode == "initialise":
                yield self._no_sums(step.result, tile)
            return
        first = max(left.first_column, right.first_row)
        before = (first - left.first_column) * left.rows, (first - right.first_row) * OUTPUT_GROUP
        at_once = right.columns if right.rows == inner else OUTPUT_GROUP
        sizes = {"rows": left.rows, "inner": inner // depth, "columns": at_once // OUTPUT_GROUP}
        widths = [self._operands.precision(each).bytes for each in (step.result, *step.operands)]
        for number in np.ndindex(*self._operands.extents(step.result, tile)[:-2]):
            c, a, b = (
                self._matrix_at(each, tile, number) for each in (step.result, *step.operands)
            )
            for column in range(0, right.columns, at_once):
                places: dict[str, Value] = {
                    "c": c + column * left.rows * widths[0],
                    "a": a + before[0] * widths[1],
                    "b": b + (before[1] + column * right.rows) * widths[2],
                }
                yield kernel_call(kernel, sizes, places)

    def _no_sums(self, buffer: int, tile: int) -> Call:
        """Sums of nothing."""
        size = self._operands.elements(buffer, tile) * self._operands.precision(buffer).bytes
        return Call("zero", (self._operands.at(buffer), -(-size // ATOM)))

    def _matrix_at(self, buffer: int, tile: int, number: tuple[int, ...]) -> Address:
        """One of a tile's matrices; an operand that has it once serves all of the result's."""
        *outer, rows, columns = self._operands.extents(buffer, tile)
        place = 0
        for coordinate, extent in zip(number[len(number) - len(outer) :], outer, strict=True):
            place = place * extent + (coordinate if extent > 1 else 0)
        size = self._operands.precision(buffer).bytes
        return self._operands.at(buffer) + place * rows * columns * size

    # operators behind a product

    def _fused(
        self, step: KernelStep, tile: int, source: int, operands: list[int]
    ) -> Iterator[Call]:
        """Operators behind a product, one after the other, in place after the first."""
        result = step.result
        for name in step.fused:
            if name == "drain":
                continue
            if name == "scale":
                yield self._scaled(step, source, tile)
            elif name in UNARY:
                yield from unary_calls(self._operands, name, result, source, tile)
            elif name.removeprefix(REVERSED) in BINARY and operands:
                x, y = source, operands.pop(0)
                if name.startswith(REVERSED):
                    x, y = y, x
                kind = name.removeprefix(REVERSED)
                yield from binary_calls(self._operands, kind, result, x, y, tile)
            else:
                raise EmissionError(f"no kernel of ours does {name} behind a product")
            source = result

    def _scaled(self, step: KernelStep, source: int, tile: int) -> Call:
        """Times a number of the step."""
        (factor,) = step.numbers
        precision = suffix(self._operands, step.result)
        value = np.array([factor] * 2, f"<{_TYPES[precision]}").tobytes()[:_WORD]
        return kernel_call(
            KERNELS[f"mul_scalar_{precision}"],
            {"n": self._operands.elements(step.result, tile)},
            {
                "z": self._operands.at(step.result),
                "x": self._operands.at(source),
                "y": Literal(value),
            },
        )

    # casts and copies

    def _cast(self, step: KernelStep, tile: int) -> Call:
        (source,) = step.operands
        sizes = {"n": self._operands.elements(step.result, tile)}
        formats = (self._operands.layout(each).format for each in (source, step.result))
        for format in formats:
            if format.precision is Precision.F8F143:
                sizes["format"] = _F143 | format.scale & _SCALE
        places = {"z": self._operands.at(step.result), "x": self._operands.at(source)}
        return kernel_call(find_kernel(step.kernel), sizes, places)

    def _copied(self, z: int, x: int, tile: int) -> Call:
        size = self._operands.elements(z, tile) * self._operands.precision(x).bytes
        places = {"z": self._operands.at(z), "x": self._operands.at(x)}
        return kernel_call(KERNELS["copy"], {"n": -(-size // _WORD)}, places)
