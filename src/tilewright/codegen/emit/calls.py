"""Kernel steps as calls of kernels that exist, tile by tile.

A plan's kernel may be several calls here: sums of terms are one call for those that have arrived,
and two for the tile's own; each fused operator is a call.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tilewright.codegen.emit.addresses import Address, Literal
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.emit.operands import Call, Operands, find_kernel, kernel_call
from tilewright.codegen.emit.reductions import reduction
from tilewright.codegen.emit.row_calls import ROW_KERNELS, row_calls
from tilewright.codegen.low import Buffer, KernelStep
from tilewright.codegen.low.schedule import ATOM
from tilewright.codegen.mid import Precision
from tilewright.codegen.mid.operators.epilogues import REVERSED
from tilewright.codegen.mid.orders import OUTPUT_GROUP
from tilewright.device.kernels import KERNELS

_UNARY = ("gelu", "gelu_tanh", "relu", "silu", "sigmoid", "tanh", "exp", "sqrt")
_BINARY = ("add", "sub", "mul", "div")
_CASTS = ("cast_f16_f32", "cast_f32_f16")
_TYPES = {"f16": "f2", "f32": "f4"}
_WORD = 4
_SUFFIX = {Precision.F16: "f16", Precision.F32: "f32"}


class Calls:
    """The calls of kernel steps, for buffers at `addresses`."""

    def __init__(self, buffers: Sequence[Buffer], addresses: Sequence[Address]) -> None:
        self._operands = Operands(buffers, addresses)

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
        if step.kernel == "copy" or step.kernel in _CASTS:
            return [self._conversion(step, tile)]
        if kind == "sum":
            return list(self._sum(step, tile))
        if kind == "epilogue":
            return list(self._fused(step, tile, step.operands[0], list(step.operands[1:])))
        if kind in _UNARY:
            return [self._unary(kind, step, step.result, step.operands[0], tile)]
        if kind in _BINARY and step.mode == "elementwise":
            x, y = step.operands
            return [self._binary(kind, step, step.result, x, y, tile)]
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
        sizes = {
            "rows": left.rows,
            "inner": left.columns // depth,
            "columns": right.columns // OUTPUT_GROUP,
        }
        arrays = dict(zip("cab", (step.result, *step.operands), strict=True))
        for number in np.ndindex(*self._operands.extents(step.result, tile)[:-2]):
            yield kernel_call(
                kernel, sizes, {n: self._matrix_at(b, tile, number) for n, b in arrays.items()}
            )

    def _matrix_at(self, buffer: int, tile: int, number: tuple[int, ...]) -> Address:
        """One of a tile's matrices; an operand that has it once serves all of the result's."""
        *outer, rows, columns = self._operands.extents(buffer, tile)
        place = 0
        for coordinate, extent in zip(number[len(number) - len(outer) :], outer, strict=True):
            place = place * extent + (coordinate if extent > 1 else 0)
        size = self._operands.precision(buffer).bytes
        return self._operands.at(buffer) + place * rows * columns * size

    # sums of terms

    def _sum(self, step: KernelStep, tile: int) -> Iterator[Call]:
        sums, *others = step.operands
        for buffer in (sums, step.result):
            if any(extent != 1 for extent in self._operands.extents(buffer, tile)[:-2]):
                raise EmissionError(f"a tile has several matrices of {self._operands.name(buffer)}")
        arriving = [each for each in others if self._operands.name(each).endswith("arriving")]
        own, result = self._operands.matrix(sums, tile), self._operands.matrix(step.result, tile)
        count = result.elements
        precision = self._operands.precision(step.result)
        if self._operands.precision(sums) is not precision:
            raise EmissionError("no kernel of ours sums terms of another precision")
        if own.columns != result.columns:
            raise EmissionError("no kernel of ours sums what tiles share out by columns")
        suffix = _SUFFIX[precision]
        rest = [each for each in others if each not in arriving]
        if arriving and precision is Precision.F16:
            found = reduction(self._operands, step, tile, sums, *arriving, rest)
            yield found.call
            left = replace(step, fused=found.fused)
            yield from self._fused(left, tile, step.result, found.operands)
            return
        if not arriving:
            yield kernel_call(
                KERNELS["copy"],
                {"n": _words(count, precision)},
                {"z": self._operands.at(step.result), "x": self._operands.at(sums)},
            )
        else:
            (terms,) = arriving
            blocks = self._operands.extents(terms, tile)[0]
            z, x = self._operands.at(step.result), self._operands.at(terms)
            yield kernel_call(
                KERNELS[f"sum_{suffix}"], {"n": count, "blocks": blocks}, {"z": z, "x": x}
            )
            # What has arrived is done with: its place takes the tile's own part of its term.
            offset = (result.first_row - own.first_row) * OUTPUT_GROUP * precision.bytes
            atoms_per_row = OUTPUT_GROUP * precision.bytes // ATOM
            yield Call(
                "copy_strided",
                (
                    x,
                    self._operands.at(sums) + offset,
                    result.rows * atoms_per_row,
                    own.rows * atoms_per_row,
                    result.rows * atoms_per_row,
                    result.columns // OUTPUT_GROUP,
                ),
            )
            yield kernel_call(KERNELS[f"add_{suffix}"], {"n": count}, {"z": z, "x": z, "y": x})
        yield from self._fused(step, tile, step.result, rest)

    def _fused(
        self, step: KernelStep, tile: int, source: int, operands: list[int]
    ) -> Iterator[Call]:
        """Operators behind a product, one after the other, in place after the first."""
        for name in step.fused:
            if name == "drain":
                continue
            if name == "scale":
                yield self._scaled(step, source, tile)
            elif name in _UNARY:
                yield self._unary(name, step, step.result, source, tile)
            elif name.removeprefix(REVERSED) in _BINARY and operands:
                yield self._with_operand(name, step, source, operands.pop(0), tile)
            else:
                raise EmissionError(f"no kernel of ours does {name} behind a product")
            source = step.result

    def _scaled(self, step: KernelStep, source: int, tile: int) -> Call:
        """Times a number of the step."""
        (factor,) = step.numbers
        suffix = self._suffix(step, step.result)
        value = np.array([factor] * 2, f"<{_TYPES[suffix]}").tobytes()[:_WORD]
        return kernel_call(
            KERNELS[f"mul_scalar_{suffix}"],
            {"n": self._operands.elements(step.result, tile)},
            {
                "z": self._operands.at(step.result),
                "x": self._operands.at(source),
                "y": Literal(value),
            },
        )

    def _with_operand(self, name: str, step: KernelStep, x: int, y: int, tile: int) -> Call:
        if self._operands.elements(y, tile) == self._operands.elements(step.result, tile):
            if name.startswith(REVERSED):
                return self._binary(name.removeprefix(REVERSED), step, step.result, y, x, tile)
            return self._binary(name, step, step.result, x, y, tile)
        result = self._operands.layout(step.result)
        matrix = self._operands.matrix(step.result, tile)
        along = "column" if result.format.order.is_transposed else "row"
        kernel = find_kernel(f"{name}_{along}_{self._suffix(step, step.result)}")
        # The vector has an element for each column of the logical matrix.
        if self._operands.elements(y, tile) != (
            matrix.rows if along == "column" else matrix.columns
        ):
            raise EmissionError(f"{self._operands.name(y)} is no vector along the columns")
        return kernel_call(
            kernel,
            {
                "rows": matrix.rows,
                "width": OUTPUT_GROUP,
                "panels": matrix.columns // OUTPUT_GROUP,
            },
            {
                "z": self._operands.at(step.result),
                "x": self._operands.at(x),
                "v": self._operands.at(y),
            },
        )

    # element by element

    def _unary(self, name: str, step: KernelStep, z: int, x: int, tile: int) -> Call:
        suffix = self._suffix(step, z)
        places = {"z": self._operands.at(z), "x": self._operands.at(x)}
        return kernel_call(
            find_kernel(f"{name}_{suffix}"), {"n": self._operands.elements(z, tile)}, places
        )

    def _binary(self, name: str, step: KernelStep, z: int, x: int, y: int, tile: int) -> Call:
        suffix = self._suffix(step, z)
        places = {"z": self._operands.at(z), "x": self._operands.at(x), "y": self._operands.at(y)}
        return kernel_call(
            find_kernel(f"{name}_{suffix}"), {"n": self._operands.elements(z, tile)}, places
        )

    def _suffix(self, step: KernelStep, buffer: int) -> str:
        precision = self._operands.precision(buffer)
        if precision not in _SUFFIX:
            raise EmissionError(f"no arithmetic in {precision.value}")
        return _SUFFIX[precision]

    # casts and copies

    def _conversion(self, step: KernelStep, tile: int) -> Call:
        (source,) = step.operands
        elements = self._operands.elements(step.result, tile)
        if step.kernel == "copy":
            elements = _words(elements, self._operands.precision(source))
        places = {"z": self._operands.at(step.result), "x": self._operands.at(source)}
        return kernel_call(KERNELS[step.kernel], {"n": elements}, places)


def _words(elements: int, precision: Precision) -> int:
    return -(-elements * precision.bytes // 4)
