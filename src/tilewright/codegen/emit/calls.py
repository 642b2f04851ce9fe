"""Kernel steps as calls of kernels that exist, tile by tile.

A plan's kernel may be several calls here: sums of terms are one call for those that have arrived,
and two for the tile's own; each fused operator is a call.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tilewright.codegen.emit.addresses import Address, Literal, Value
from tilewright.codegen.emit.faults import EmissionError
from tilewright.codegen.low import Buffer, KernelStep
from tilewright.codegen.low.schedule import ATOM
from tilewright.codegen.mid import ElementOrder, Layout, Precision
from tilewright.codegen.mid.operators.epilogues import REVERSED
from tilewright.codegen.mid.orders import OUTPUT_GROUP
from tilewright.device.kernels import KERNELS, Kernel, KernelFault
from tilewright.device.kernels.spec import Array

_UNARY = ("gelu", "gelu_tanh", "relu", "silu", "sigmoid", "tanh", "exp", "sqrt")
_BINARY = ("add", "sub", "mul", "div")
_VECTORS = ("gain", "bias")
_ROWWISE = ("softmax", "layer_norm", "rms_norm")
_CASTS = ("cast_f16_f32", "cast_f32_f16")
_TYPES = {"f16": "f2", "f32": "f4"}
_WORD = 4
_SUFFIX = {Precision.F16: "f16", Precision.F32: "f32"}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the supervisor function `symbol` with these values in `$m2`, `$m3`, …

    `sizes` are those of the kernel's specification, where whoever makes the call knows them.
    """

    kernel: str
    values: tuple[Value, ...]
    sizes: tuple[tuple[str, int], ...] = ()

    @property
    def symbol(self) -> str:
        return KERNELS[self.kernel].symbol


@dataclass(frozen=True, slots=True)
class Matrix:
    """A tile's shard of a packed matrix: rows and columns as they are packed."""

    rows: int
    columns: int
    first_row: int

    @property
    def elements(self) -> int:
        return self.rows * self.columns


class Calls:
    """The calls of kernel steps, for buffers at `addresses`."""

    def __init__(self, buffers: Sequence[Buffer], addresses: Sequence[Address]) -> None:
        self._buffers = buffers
        self._addresses = addresses

    def of_step(self, step: KernelStep, tile: int) -> list[Call]:
        """What a tile calls for a step; nothing if it holds no part of the result.

        Raises `EmissionError` for what no kernel does.
        """
        kind = step.kernel.rpartition("_")[0]
        if self._elements(step.result, tile) == 0:
            return []
        if kind == "gemm":
            products = list(self._product(step, tile))
            return [*products, *self._fused(step, tile, step.result, [])]
        if kind in _ROWWISE:
            return [self._rows(step, tile)]
        if kind == "row_statistics":
            return [self._row_statistics(step, tile)]
        if kind == "row_apply":
            return list(self._row_apply(step, tile))
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
        left, right = (self._matrix(operand, tile) for operand in step.operands)
        layout = self._buffers[step.operands[0]].layout
        depth = layout.format.packing.inner_group
        sums = self._buffers[step.result].layout.format.precision
        halves = layout.format.packing is Precision.F16
        name = "gemm_f32" if not halves else "gemm_f16" if sums is Precision.F16 else "gemm_f16_f32"
        kernel = KERNELS[f"{name}.{'zero' if step.mode == 'initialise' else 'accumulate'}"]
        sizes = {
            "rows": left.rows,
            "inner": left.columns // depth,
            "columns": right.columns // OUTPUT_GROUP,
        }
        arrays = dict(zip("cab", (step.result, *step.operands), strict=True))
        for number in np.ndindex(*self._extents(step.result, tile)[:-2]):
            yield _call(
                kernel, sizes, {n: self._matrix_at(b, tile, number) for n, b in arrays.items()}
            )

    def _matrix_at(self, buffer: int, tile: int, number: tuple[int, ...]) -> Address:
        """One of a tile's matrices; an operand that has it once serves all of the result's."""
        *outer, rows, columns = self._extents(buffer, tile)
        place = 0
        for coordinate, extent in zip(number[len(number) - len(outer) :], outer, strict=True):
            place = place * extent + (coordinate if extent > 1 else 0)
        size = self._buffers[buffer].layout.format.precision.bytes
        return self._at(buffer) + place * rows * columns * size

    # sums of terms

    def _sum(self, step: KernelStep, tile: int) -> Iterator[Call]:
        sums, *others = step.operands
        for buffer in (sums, step.result):
            if any(extent != 1 for extent in self._extents(buffer, tile)[:-2]):
                raise EmissionError(f"a tile has several matrices of {self._name(buffer)}")
        arriving = [each for each in others if self._name(each).endswith("arriving")]
        own, result = self._matrix(sums, tile), self._matrix(step.result, tile)
        count = result.elements
        precision = self._buffers[step.result].layout.format.precision
        if self._buffers[sums].layout.format.precision is not precision:
            raise EmissionError("no kernel of ours sums terms of another precision")
        if own.columns != result.columns:
            raise EmissionError("no kernel of ours sums what tiles share out by columns")
        suffix = _SUFFIX[precision]
        if not arriving:
            yield _call(
                KERNELS["copy"],
                {"n": _words(count, precision)},
                {"z": self._at(step.result), "x": self._at(sums)},
            )
        else:
            (terms,) = arriving
            blocks = self._extents(terms, tile)[0]
            z, x = self._at(step.result), self._at(terms)
            yield _call(KERNELS[f"sum_{suffix}"], {"n": count, "blocks": blocks}, {"z": z, "x": x})
            # What has arrived is done with: its place takes the tile's own part of its term.
            offset = (result.first_row - own.first_row) * OUTPUT_GROUP * precision.bytes
            atoms_per_row = OUTPUT_GROUP * precision.bytes // ATOM
            yield Call(
                "copy_strided",
                (
                    x,
                    self._at(sums) + offset,
                    result.rows * atoms_per_row,
                    own.rows * atoms_per_row,
                    result.rows * atoms_per_row,
                    result.columns // OUTPUT_GROUP,
                ),
            )
            yield _call(KERNELS[f"add_{suffix}"], {"n": count}, {"z": z, "x": z, "y": x})
        rest = [each for each in others if each not in arriving]
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
        return _call(
            KERNELS[f"mul_scalar_{suffix}"],
            {"n": self._elements(step.result, tile)},
            {"z": self._at(step.result), "x": self._at(source), "y": Literal(value)},
        )

    def _with_operand(self, name: str, step: KernelStep, x: int, y: int, tile: int) -> Call:
        if self._elements(y, tile) == self._elements(step.result, tile):
            if name.startswith(REVERSED):
                return self._binary(name.removeprefix(REVERSED), step, step.result, y, x, tile)
            return self._binary(name, step, step.result, x, y, tile)
        result = self._buffers[step.result].layout
        matrix = self._matrix(step.result, tile)
        along = "column" if result.format.order.is_transposed else "row"
        kernel = self._kernel(step, f"{name}_{along}_{self._suffix(step, step.result)}")
        # The vector has an element for each column of the logical matrix.
        if self._elements(y, tile) != (matrix.rows if along == "column" else matrix.columns):
            raise EmissionError(f"{self._name(y)} is no vector along the columns")
        return _call(
            kernel,
            {
                "rows": matrix.rows,
                "width": OUTPUT_GROUP,
                "panels": matrix.columns // OUTPUT_GROUP,
            },
            {"z": self._at(step.result), "x": self._at(x), "v": self._at(y)},
        )

    # element by element

    def _unary(self, name: str, step: KernelStep, z: int, x: int, tile: int) -> Call:
        suffix = self._suffix(step, z)
        places = {"z": self._at(z), "x": self._at(x)}
        return _call(self._kernel(step, f"{name}_{suffix}"), {"n": self._elements(z, tile)}, places)

    def _binary(self, name: str, step: KernelStep, z: int, x: int, y: int, tile: int) -> Call:
        suffix = self._suffix(step, z)
        places = {"z": self._at(z), "x": self._at(x), "y": self._at(y)}
        return _call(self._kernel(step, f"{name}_{suffix}"), {"n": self._elements(z, tile)}, places)

    def _suffix(self, step: KernelStep, buffer: int) -> str:
        precision = self._buffers[buffer].layout.format.precision
        if precision not in _SUFFIX:
            raise EmissionError(f"no arithmetic in {precision.value}")
        return _SUFFIX[precision]

    def _kernel(self, step: KernelStep, name: str) -> Kernel:
        if name not in KERNELS:
            raise EmissionError(f"there is no kernel {name}")
        return KERNELS[name]

    # rows

    def _rows(self, step: KernelStep, tile: int) -> Call:
        """Softmax or a norm of rows that lie whole on the tile."""
        if step.fused:
            raise EmissionError(f"no kernel of ours does {step.kernel} with a mask")
        x, *vectors = step.operands
        rows, _ = self._rows_of(step, tile)
        places = {"z": step.result, "x": x, **dict(zip(_VECTORS, vectors, strict=False))}
        kernel = self._kernel(step, step.kernel)
        if {array.name for array in kernel.arrays} != set(places):
            raise EmissionError(f"{kernel.name} takes a gain, and layer norms a bias")
        sizes = {"rows": rows, "n": self._buffers[x].layout.shape[-1]}
        call = _call(kernel, sizes, {name: self._at(buffer) for name, buffer in places.items()})
        if not step.numbers:
            return call
        (epsilon,) = step.numbers
        bits = int(np.float32(epsilon).view(np.uint32))
        return Call(call.kernel, (*call.values[:-1], bits), call.sizes)

    def _rows_of(self, step: KernelStep, tile: int) -> tuple[int, int]:
        """How many rows of how many columns a tile has of a step's first operand."""
        x = step.operands[0]
        *outer, columns = self._extents(x, tile)
        width = columns * self._buffers[x].layout.format.precision.bytes
        is_panel = step.mode == "output" and columns == OUTPUT_GROUP
        if (step.mode != "row" and not is_panel) or width % ATOM:
            raise EmissionError(f"{self._name(x)} does not have rows of whole atoms")
        return int(np.prod(outer)), columns

    def _row_statistics(self, step: KernelStep, tile: int) -> Call:
        """Figures of parts of rows."""
        rows, columns = self._rows_of(step, tile)
        places = {"sums": self._at(step.result), "x": self._at(step.operands[0])}
        return _call(self._kernel(step, step.kernel), {"rows": rows, "n": columns}, places)

    def _row_apply(self, step: KernelStep, tile: int) -> Iterator[Call]:
        """The figures of all parts are added up where they are, then applied."""
        x, *vectors, figures = step.operands
        rows, columns = self._rows_of(step, tile)
        *_, parts, numbers = self._extents(figures, tile)
        kernel = self._kernel(step, step.kernel)
        if len(vectors) != len(_VECTORS) or len(step.numbers) != 1:
            raise EmissionError(f"{kernel.name} takes a gain, a bias and an epsilon")
        at = self._at(figures)
        size = numbers * Precision.F32.bytes
        for row in range(rows if parts > 1 else 0):
            places = {"z": at + row * size, "x": at + row * parts * size}
            yield _call(KERNELS["sum_f32"], {"n": numbers, "blocks": parts}, places)
        constants = [1 / self._buffers[x].layout.shape[-1], *step.numbers]
        yield _call(
            kernel,
            {"rows": rows, "n": columns},
            {
                "z": self._at(step.result),
                "x": self._at(x),
                **dict(zip(_VECTORS, map(self._at, vectors), strict=True)),
                "sums": at,
                "constants": Literal(np.array(constants, "<f4").tobytes()),
            },
        )

    # casts and copies

    def _conversion(self, step: KernelStep, tile: int) -> Call:
        (source,) = step.operands
        elements = self._elements(step.result, tile)
        if step.kernel == "copy":
            elements = _words(elements, self._buffers[source].layout.format.precision)
        places = {"z": self._at(step.result), "x": self._at(source)}
        return _call(KERNELS[step.kernel], {"n": elements}, places)

    # shards

    def _extents(self, buffer: int, tile: int) -> tuple[int, ...]:
        """Of a tile's shard, padding included, along (at least two) axes."""
        layout = self._buffers[buffer].layout
        return tuple(int(extent) for _, extent in _ranges(layout, tile))

    def _elements(self, buffer: int, tile: int) -> int:
        return int(np.prod(self._extents(buffer, tile)))

    def _matrix(self, buffer: int, tile: int) -> Matrix:
        layout = self._buffers[buffer].layout
        *_, rows, columns = _ranges(layout, tile)
        if layout.format.order.is_transposed:
            rows, columns = columns, rows
        if layout.format.order is ElementOrder.ROW_MAJOR:
            raise EmissionError(f"{self._name(buffer)} is not packed for the matrix engine")
        return Matrix(int(rows[1]), int(columns[1]), int(rows[0]))

    def _at(self, buffer: int) -> Address:
        return self._addresses[buffer]

    def _name(self, buffer: int) -> str:
        return self._buffers[buffer].name


def _ranges(layout: Layout, tile: int) -> list[tuple[int, int]]:
    """Start and extent of a tile's shard along (at least two) axes."""
    return _ranges_of_tiles(layout)[tile]


@lru_cache(maxsize=1024)
def _ranges_of_tiles(layout: Layout) -> list[list[tuple[int, int]]]:
    tiles = layout.format.tiles
    lifted = [np.tile([0, 1], (tiles, 1))] * (2 - len(layout.shape))
    found = [np.stack(each, axis=1) for each in layout.shard(np.arange(tiles))]
    by_tile = np.stack([*lifted, *found], axis=1).tolist()
    return [[(start, extent) for start, extent in axes] for axes in by_tile]


def _words(elements: int, precision: Precision) -> int:
    return -(-elements * precision.bytes // 4)


def _call(kernel: Kernel, sizes: dict[str, int], places: Mapping[str, Value]) -> Call:
    """A call as the kernel specifies it. Raises `EmissionError` for sizes that it does not take."""
    try:
        kernel.check_sizes(sizes)
    except KernelFault as fault:
        raise EmissionError(f"{kernel.name}: {fault}") from fault
    values = tuple(
        places[operand.name] if isinstance(operand, Array) else operand.value(sizes)
        for operand in kernel.operands
    )
    return Call(kernel.name, values, tuple(sizes.items()))
