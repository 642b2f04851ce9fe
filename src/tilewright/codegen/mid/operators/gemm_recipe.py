"""How a grid of a matrix product becomes formats and a dispatch."""

from dataclasses import dataclass
from math import gcd, prod

from tilewright.codegen.mid.candidates import (
    InPlace,
    Operand,
    Recipe,
)
from tilewright.codegen.mid.cost import CostModel
from tilewright.codegen.mid.dispatch import (
    Gather,
    KernelCall,
    Loop,
    OperatorDispatch,
    Scatter,
    Slot,
    Step,
)
from tilewright.codegen.mid.formats import (
    AxisTiling,
    Digit,
    MemoryClass,
    TensorFormat,
    joined,
    padded,
)
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.operators.epilogues import Epilogue, EpilogueKind
from tilewright.codegen.mid.operators.gemm_scan import GemmGrid
from tilewright.codegen.mid.orders import OUTPUT_GROUP, ElementOrder, Precision
from tilewright.codegen.mid.storage import Storage
from tilewright.graph.operators import Reshape
from tilewright.target import rates


@dataclass(frozen=True, slots=True)
class Side:
    """One operand of the product, as this orientation sees it. Axes are the operand's own."""

    operand: int
    shape: Shape
    outer: int
    """The axis that becomes rows (left) or columns (right) of the product."""
    inner: int
    batch: tuple[int | None, ...]
    """For each batch axis of the product, the operand's, or None if it has none."""
    stored: Precision | None
    """Of a weight."""
    scale: int = 0


@dataclass(frozen=True, slots=True)
class GemmRecipe(Recipe):
    """Everything that fixes a product's formats and dispatch."""

    left: Side
    right: Side
    base: Shape
    """Extents in which the product is computed: batch axes, then two."""
    row_axis: int
    column_axis: int
    """Axes of `base` that are rows and columns of this orientation's product."""
    grid: GemmGrid
    compute: Precision
    result: Precision
    epilogues: tuple[Epilogue, ...]
    row_block: int = 1
    """Rows that no tile boundary parts."""

    @property
    def swapped(self) -> bool:
        return self.left.operand == 1

    @property
    def _row_tiling(self) -> AxisTiling:
        """Of rows of the product, and of the operand that supplies them."""
        return padded(self.row_block) if self.row_block > 1 else AxisTiling()

    # formats

    def _digits(self) -> tuple[tuple[str, int], ...]:
        """Names and sizes of the digits of a tile's number, slowest first."""
        grid = self.grid
        batch = tuple((f"g{axis}", parts) for axis, parts in enumerate(grid.batch_parts))
        rows, columns = ("rows", grid.row_parts), ("columns", grid.column_parts)
        inner = ("inner", grid.inner_parts)
        if grid.columns_fast:
            return (*batch, rows, inner, columns)
        return (*batch, columns, inner, rows)

    def working(self, side: Side, precision: Precision) -> TensorFormat:
        """How an operand lies when the kernel reads it; with a digit for steps if there are any."""
        is_left = side is self.left
        steps = self.grid.steps
        digits = [Digit(side.inner, steps)] if steps > 1 else []
        for name, size in self._digits():
            axis, weight = self._operand_axis(side, name), 1
            if name == "inner":
                weight = steps
            digits.append(Digit(axis, size, weight if axis is not None else 1))
        return self._operand_format(side, precision, is_left, digits)

    def home(self, side: Side, precision: Precision) -> TensorFormat:
        """How an operand lies between runs: as the kernel reads it, divided among its users."""
        is_left = side is self.left
        shares = self._shares(side)
        shared_axis = side.outer if is_left else side.inner
        digits: list[Digit] = []
        left_over = shares
        for name, size in self._digits():
            axis = self._operand_axis(side, name)
            if axis is None:
                part = gcd(left_over, size)
                left_over //= part
                if part > 1:
                    digits.append(Digit(shared_axis, part, left_over))
                digits.append(Digit(None, size // part))
            else:
                digits.append(Digit(axis, size, shares if axis == shared_axis else 1))
        return self._operand_format(side, precision, is_left, digits)

    def _operand_axis(self, side: Side, name: str) -> int | None:
        if name == "inner":
            return side.inner
        if name == ("rows" if side is self.left else "columns"):
            return side.outer
        return side.batch[int(name[1:])] if name.startswith("g") else None

    def _operand_format(
        self, side: Side, precision: Precision, is_left: bool, digits: list[Digit]
    ) -> TensorFormat:
        axes = [AxisTiling()] * len(side.shape)
        axes[side.inner] = padded(self.compute.inner_group)
        axes[side.outer] = self._row_tiling if is_left else padded(OUTPUT_GROUP)
        upright = ElementOrder.LEFT if is_left else ElementOrder.RIGHT
        natural = side.inner > side.outer if is_left else side.inner < side.outer
        memory = MemoryClass.STANDARD if is_left else MemoryClass.INTERLEAVED
        order = upright if natural else upright.transposed
        grid = joined(digits)
        return TensorFormat(self.compute, order, tuple(axes), grid, memory).with_precision(
            precision, side.scale
        )

    def _shares(self, side: Side) -> int:
        """In how many pieces the users of one part keep it; of an activation there is one copy."""
        sharers = prod(
            size for name, size in self._digits() if self._operand_axis(side, name) is None
        )
        return sharers // self.grid.copies if side.stored is not None else sharers

    def product(self, precision: Precision, reduced: bool) -> TensorFormat:
        """How the product lies: complete (`reduced`), or as terms on tiles of the inner axis."""
        inner = self.grid.inner_parts
        digits = []
        for name, size in self._digits():
            if name == "rows":
                digits.append(Digit(self.row_axis, size, inner if reduced else 1))
            elif name == "columns":
                digits.append(Digit(self.column_axis, size))
            elif name == "inner":
                digits.append(Digit(self.row_axis if reduced else None, size))
            else:
                digits.append(Digit(int(name[1:]), size))
        axes = [AxisTiling()] * len(self.base)
        axes[self.column_axis] = padded(OUTPUT_GROUP)
        axes[self.row_axis] = self._row_tiling
        order = ElementOrder.OUTPUT_TRANSPOSED if self.swapped else ElementOrder.OUTPUT
        grid = joined(digits)
        return TensorFormat(precision, order, tuple(axes), grid, MemoryClass.INTERLEAVED)

    def stored(self, shape: Shape) -> Storage:
        """The complete product, seen in the extents of the graph."""
        return seen_as(Storage(self.product(self.result, reduced=True), self.base), shape)

    # dispatch

    def dispatch(self, operands: tuple[Storage, ...], result: Storage) -> OperatorDispatch:
        """Gather what a tile lacks, multiply step by step, bring the terms together."""
        slots = [Slot(f"operand {i}", storage) for i, storage in enumerate(operands)]
        slots.append(Slot("result", result))
        moves, before, names = [], [], []
        for label, side in (("left", self.left), ("right", self.right)):
            name, added, moved, casts = self._staged(label, side, operands[side.operand])
            slots += added
            moves += moved
            before += casts
            names.append(name)
        several = self._terms() > 1
        target = "sums" if several else "result"
        call = self._call((names[0], names[1]), target)
        body: list[Step] = [Gather(tuple(moves), self._paired(moves))] if moves else []
        body += [*before, call]
        steps: list[Step] = [Loop(self.grid.steps, tuple(body))] if self.grid.steps > 1 else body
        if several:
            terms = self.product(self.grid.partial, reduced=False)
            slots.append(Slot("sums", Storage(terms, self.base), terms=self._terms()))
        steps += self._finish(slots)
        return OperatorDispatch(tuple(slots), tuple(steps))

    def _terms(self) -> int:
        return self.grid.inner_parts

    def _staged(
        self, label: str, side: Side, storage: Storage
    ) -> tuple[str, list[Slot], list[tuple[str, str]], list[Step]]:
        """The slot that the kernel reads, slots added, moves into them, and local work behind."""
        source = f"operand {side.operand}"
        precision = storage.format.precision
        gathered = side.stored is None or self._shares(side) > 1
        slots, moves, name = [], [], source
        casts: list[Step] = []
        if gathered and self._already_there(side, storage):
            gathered = False
        if gathered:
            name = label
            staged = seen_as(Storage(self.working(side, precision), side.shape), storage.shape)
            slots.append(Slot(label, staged, self.grid.steps))
            moves.append((source, label))
        if precision is not self.compute:
            cast = seen_as(Storage(self.working(side, self.compute), side.shape), storage.shape)
            slots.append(Slot(f"{label} cast", cast, self.grid.steps))
            kernel = f"cast_{precision.value}_{self.compute.value}"
            casts.append(KernelCall(kernel, ("plain",), (name,), f"{label} cast"))
            name = f"{label} cast"
        return name, slots, moves, casts

    def _already_there(self, side: Side, storage: Storage) -> bool:
        wanted = Storage(self.working(side, storage.format.precision), side.shape)
        return self.grid.steps == 1 and storage == seen_as(wanted, storage.shape)

    def kernels(self, stored: tuple[Precision, ...]) -> tuple[str, ...]:
        """What the dispatch may call, for operands stored so; less for those in place."""
        names = [f"gemm_{self.compute.value}"]
        for side in (self.left, self.right):
            precision = stored[side.operand]
            if precision is not self.compute:
                names.append(f"cast_{precision.value}_{self.compute.value}")
        if self._terms() > 1:
            names.append(f"sum_{self.grid.partial.value}")
        elif self.epilogues:
            names.append(f"epilogue_{self.result.value}")
        return tuple(dict.fromkeys(names))

    def in_place(self, operands: tuple[Operand, ...], model: CostModel) -> tuple[InPlace, ...]:
        """Operands that are gathered unless they lie as the kernel reads them."""
        found = []
        for side in (self.left, self.right):
            if side.stored is not None and self._shares(side) == 1:
                continue
            operand = operands[side.operand]
            format = self.working(side, self.compute)
            messages = self.grid.left_messages if side is self.left else self.grid.right_messages
            cycles = model.receive_cycles(
                Storage(format, side.shape).layout.shard_bytes, self._is_paired(side), messages
            )
            # a weight of which a tile has a part can never lie there whole
            whole = side.stored is None and self.grid.steps == 1
            there = seen_as(
                Storage(self.working(side, operand.precision), side.shape), operand.shape
            )
            if whole:
                shared = model.paired and self._shared_by_pairs(side)
                is_paired = model.paired and self._is_paired(side)
                found.append(InPlace(side.operand, there, cycles, messages, shared, is_paired))
            else:
                return ()
        return tuple(found)

    def _shared_by_pairs(self, side: Side) -> bool:
        """Whether pairs of tiles take the same data."""
        fast = self._digits()[-1][1]
        return fast % 2 == 0 and (side is self.left) == self.grid.columns_fast

    def _is_paired(self, side: Side) -> bool:
        """Whether pairs take the same data, in messages long enough for 64-bit items.

        A message of the left operand is what a tile keeps of a panel; one of a weight on the right
        is a block, or several; of another right operand, there are as many as the scan supposes.
        """
        fast = self._digits()[-1][1]
        if not self._shared_by_pairs(side):
            return False
        if side is not self.left:
            size = Storage(self.working(side, self.compute), side.shape).layout.shard_bytes
            least = self.grid.right_messages * rates.LEAST_PAIRED_BYTES
            return side.stored is not None or size * self.grid.steps >= least
        rows = -(-side.shape[side.outer] // self.grid.row_parts)
        panel = -(-rows // fast) * self.compute.inner_group * self.compute.bytes
        return panel >= rates.LEAST_PAIRED_BYTES

    def _paired(self, moves: list[tuple[str, str]]) -> tuple[str, ...]:
        """Which gathered operands do not depend on a tile pair's digit."""
        paired = {"left": self._is_paired(self.left), "right": self._is_paired(self.right)}
        return tuple(target for _, target in moves if paired[target])

    def _call(self, operands: tuple[str, str], target: str) -> KernelCall:
        drains = target == "result"
        return KernelCall(
            f"gemm_{self.compute.value}",
            ("initialise", "accumulate"),
            operands,
            target,
            ("drain",) if drains else (),
        )

    def _finish(self, slots: list[Slot]) -> list[Step]:
        fused = tuple(each.name for each in self.epilogues)
        others = tuple(
            f"operand {each.operand}" for each in self.epilogues if each.operand is not None
        )
        residuals = self._residual_moves(slots)
        others = tuple(dict(residuals).get(name, name) for name in others)
        if self._terms() > 1:
            count, kernel = self._terms() - 1, f"sum_{self.grid.partial.value}"
            arriving = _stacked(self.product(self.grid.partial, reduced=True), count)
            slots.append(Slot("arriving", Storage(arriving, (count, *self.base))))
            mode = "fused" if fused else "plain"
            return [
                Scatter("sums", "arriving", residuals),
                KernelCall(kernel, (mode,), ("sums", "arriving", *others), "result", fused),
            ]
        steps: list[Step] = [Gather(residuals)] if residuals else []
        if fused:
            kernel = f"epilogue_{self.result.value}"
            steps.append(KernelCall(kernel, ("fused",), ("result", *others), "result", fused))
        return steps

    def _residual_moves(self, slots: list[Slot]) -> tuple[tuple[str, str], ...]:
        moves = []
        result = next(slot for slot in slots if slot.name == "result").storage
        for each in self.epilogues:
            if each.kind is not EpilogueKind.RESIDUAL:
                continue
            source = next(slot for slot in slots if slot.name == f"operand {each.operand}")
            there = Storage(
                result.format.with_precision(source.storage.format.precision),
                result.base,
                result.view,
            )
            if source.storage != there:
                slots.append(Slot(f"residual {each.operand}", there))
                moves.append((source.name, f"residual {each.operand}"))
        return tuple(moves)


def seen_as(storage: Storage, shape: Shape) -> Storage:
    """The same in other extents, if they differ."""
    return storage if storage.shape == shape else storage.viewed(Reshape(shape), shape)


def _stacked(format: TensorFormat, count: int) -> TensorFormat:
    """The format with an undivided axis in front."""
    grid = tuple(
        Digit(None if digit.axis is None else digit.axis + 1, digit.size, digit.weight)
        for digit in format.grid
    )
    axes = (AxisTiling(), *format.axes)
    return TensorFormat(format.precision, format.order, axes, grid, format.memory)
