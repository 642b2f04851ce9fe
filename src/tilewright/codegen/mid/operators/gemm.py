"""Candidates of matrix products, from the scan's front: formats, dispatch and constraints."""

from dataclasses import dataclass
from functools import lru_cache
from math import gcd, prod

from tilewright.codegen.mid.candidates import (
    InPlace,
    Operand,
    OperandSpec,
    OperatorCandidate,
    Recipe,
)
from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.cost import CostModel, OperatorBytes, OperatorCost
from tilewright.codegen.mid.dispatch import (
    Gather,
    KernelCall,
    Loop,
    OperatorDispatch,
    Scatter,
    Slot,
    Step,
)
from tilewright.codegen.mid.distributions import broadcast_format
from tilewright.codegen.mid.formats import AxisTiling, Digit, MemoryClass, TensorFormat, padded
from tilewright.codegen.mid.kernels import CATALOGUE
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.operators.epilogues import Epilogue, EpilogueKind, epilogue_cycles
from tilewright.codegen.mid.operators.gemm_scan import GemmGrid, GemmProblem, front, scan
from tilewright.codegen.mid.orders import OUTPUT_GROUP, ElementOrder, Precision
from tilewright.codegen.mid.storage import Storage
from tilewright.graph.operators import Reshape


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

    @property
    def swapped(self) -> bool:
        return self.left.operand == 1

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
        if not is_left:
            axes[side.outer] = padded(OUTPUT_GROUP)
        upright = ElementOrder.LEFT if is_left else ElementOrder.RIGHT
        natural = side.inner > side.outer if is_left else side.inner < side.outer
        memory = MemoryClass.STANDARD if is_left else MemoryClass.INTERLEAVED
        order = upright if natural else upright.transposed
        grid = tuple(digit for digit in digits if digit.size > 1)
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
        order = ElementOrder.OUTPUT_TRANSPOSED if self.swapped else ElementOrder.OUTPUT
        grid = tuple(digit for digit in digits if digit.size > 1)
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
        sums = self._needs_sums()
        target = "sums" if sums else "result"
        call = self._call((names[0], names[1]), target)
        body: list[Step] = [Gather(tuple(moves), self._paired(moves))] if moves else []
        body += [*before, call]
        steps: list[Step] = [Loop(self.grid.steps, tuple(body))] if self.grid.steps > 1 else body
        if sums:
            slots.append(Slot("sums", Storage(self._sum_format(), self.base), terms=self._terms()))
        steps += self._finish(slots, sums)
        return OperatorDispatch(tuple(slots), tuple(steps))

    def _terms(self) -> int:
        return self.grid.inner_parts

    def _needs_sums(self) -> bool:
        return self._terms() > 1 or self.grid.steps > 1

    def _sum_format(self) -> TensorFormat:
        return self.product(self.grid.partial, reduced=self._terms() == 1)

    def _staged(
        self, label: str, side: Side, storage: Storage
    ) -> tuple[str, list[Slot], list[tuple[str, str]], list[Step]]:
        """The slot that the kernel reads, slots added, moves into them, and local work behind.

        Of a shared weight a tile copies its own piece; what it gathers is the rest.
        """
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
            if side.stored is not None:
                casts.append(KernelCall("copy", ("plain",), (source,), label))
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

    def in_place(self, operands: tuple[Operand, ...], model: CostModel) -> tuple[InPlace, ...]:
        """Operands that are gathered unless they lie as the kernel reads them."""
        found = []
        for side in (self.left, self.right):
            if side.stored is not None and self._shares(side) == 1:
                continue
            operand = operands[side.operand]
            format = self.working(side, self.compute)
            cycles = model.receive_cycles(
                Storage(format, side.shape).layout.shard_bytes, self._is_paired(side)
            )
            # a weight of which a tile has a part can never lie there whole
            whole = side.stored is None and self.grid.steps == 1
            there = seen_as(
                Storage(self.working(side, operand.precision), side.shape), operand.shape
            )
            if whole:
                found.append(InPlace(side.operand, there, cycles))
            else:
                return ()
        return tuple(found)

    def _is_paired(self, side: Side) -> bool:
        fast = self._digits()[-1][1]
        return fast % 2 == 0 and (side is self.left) == self.grid.columns_fast

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

    def _finish(self, slots: list[Slot], sums: bool) -> list[Step]:
        fused = tuple(each.operator.mnemonic for each in self.epilogues)
        others = tuple(
            f"operand {each.operand}" for each in self.epilogues if each.operand is not None
        )
        residuals = self._residual_moves(slots)
        others = tuple(dict(residuals).get(name, name) for name in others)
        kernel = f"sum_{self._sum_format().precision.value}"
        if self._terms() > 1:
            count = self._terms() - 1
            arriving = _stacked(self.product(self._sum_format().precision, reduced=True), count)
            slots.append(Slot("arriving", Storage(arriving, (count, *self.base))))
            mode = "fused" if fused else "plain"
            return [
                Scatter("sums", "arriving", residuals),
                KernelCall(kernel, (mode,), ("sums", "arriving", *others), "result", fused),
            ]
        steps: list[Step] = [Gather(residuals)] if residuals else []
        if sums or fused:
            source = "sums" if sums else "result"
            steps.append(
                KernelCall(
                    kernel if sums else f"epilogue_{self.result.value}",
                    ("fused" if fused else "plain",),
                    (source, *others),
                    "result",
                    fused,
                )
            )
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


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product as a planning problem: its operands' axes, and what follows it."""

    a: Side
    b: Side
    base: Shape
    compute: Precision
    result: Precision
    epilogues: tuple[Epilogue, ...]


def product_of(
    operands: tuple[Operand, ...],
    transposed: tuple[bool, bool],
    shape: Shape,
    result: Precision,
    epilogues: tuple[Epilogue, ...] = (),
) -> Product:
    """The problem of a Gemm with these operands, of result `shape`.

    If only the first operand has batch axes, they become rows.
    """
    a, b = operands[:2]
    compute = Precision.F32 if result is Precision.F32 else Precision.F16
    if len(shape) > 2 and prod(b.shape[:-2]) == 1 and not transposed[0]:
        a_shape: Shape = (prod(a.shape[:-1]), a.shape[-1])
        base: Shape = (prod(shape[:-1]), shape[-1])
        b_shape: Shape = b.shape[-2:]
    else:
        a_shape, b_shape, base = a.shape, b.shape, shape
    return Product(
        _side(0, a, a_shape, base, outer_last=transposed[0]),
        _side(1, b, b_shape, base, outer_last=not transposed[1]),
        base,
        compute,
        result,
        epilogues,
    )


def _side(index: int, operand: Operand, shape: Shape, base: Shape, outer_last: bool) -> Side:
    rank = len(shape)
    lift = len(base) - rank
    batch = tuple(
        axis - lift if axis >= lift and shape[axis - lift] > 1 else None
        for axis in range(len(base) - 2)
    )
    outer, inner = (rank - 1, rank - 2) if outer_last else (rank - 2, rank - 1)
    is_weight = operand.weight and operand.storage is None
    # a weight with batch axes of its own is gathered like an activation
    stored = operand.precision if is_weight and all(axis is None for axis in batch) else None
    return Side(index, shape, outer, inner, batch, stored, operand.scale)


def gemm_candidates(
    product: Product,
    operands: tuple[Operand, ...],
    shape: Shape,
    config: PipelineConfig,
    limit: int,
) -> tuple[OperatorCandidate, ...]:
    """The front of both orientations; empty if none fits `limit` bytes of working memory."""
    return tuple(
        _candidate(recipe, operands, shape, config.model)
        for recipe in recipes(product, config, limit)
    )


BOTH = (False, True)
"""Orientations: not swapped, swapped."""


def recipes(
    product: Product, config: PipelineConfig, limit: int, orientations: tuple[bool, ...] = BOTH
) -> tuple[GemmRecipe, ...]:
    """Grids worth considering, the fastest first."""
    return scanned_recipes(
        product, config.tiles, config.model, config.most_copies, limit, orientations
    )


@lru_cache(maxsize=1024)
def scanned_recipes(
    product: Product,
    tiles: int,
    model: CostModel,
    most_copies: int,
    limit: int,
    orientations: tuple[bool, ...],
) -> tuple[GemmRecipe, ...]:
    weight = product.a.stored or product.b.stored
    weight_side = product.a if product.a.stored is not None else product.b
    base = prod(weight_side.shape) * weight.bytes / tiles if weight is not None else 0.0
    found: list[GemmRecipe] = []
    for swapped in orientations:
        problem = _problem(product, swapped)
        variants = scan(problem, tiles, model, limit, most_copies)
        found += [
            _recipe(product, swapped, variants.grid(index))
            for index in front(variants, base, limit)
        ]
    return tuple(sorted(_front_of_both(found), key=lambda recipe: recipe.grid.cycles))


def _front_of_both(found: list[GemmRecipe]) -> list[GemmRecipe]:
    """Without those that another beats in everything by a margin.

    Near ties between orientations stay: which is better depends on the neighbours.
    """

    def beats(a: GemmGrid, b: GemmGrid) -> bool:
        return (
            a.cycles * _MARGIN <= b.cycles
            and a.resident <= b.resident
            and a.transient <= b.transient
        )

    return [one for one in found if not any(beats(other.grid, one.grid) for other in found)]


_MARGIN = 1.1


def _problem(product: Product, swapped: bool) -> GemmProblem:
    a, b = product.a, product.b
    left, right = (b, a) if swapped else (a, b)
    residuals = sum(each.kind is EpilogueKind.RESIDUAL for each in product.epilogues)
    return GemmProblem(
        product.base[:-2],
        left.shape[left.outer],
        left.shape[left.inner],
        right.shape[right.outer],
        product.compute,
        left.stored,
        right.stored,
        product.result,
        epilogue_cycles(product.epilogues, product.result),
        residuals * product.result.bytes,
    )


def _recipe(product: Product, swapped: bool, grid: GemmGrid) -> GemmRecipe:
    rank = len(product.base)
    sides = (product.b, product.a) if swapped else (product.a, product.b)
    row_axis, column_axis = (rank - 1, rank - 2) if swapped else (rank - 2, rank - 1)
    return GemmRecipe(
        sides[0],
        sides[1],
        product.base,
        row_axis,
        column_axis,
        grid,
        product.compute,
        product.result,
        product.epilogues,
    )


def _candidate(
    recipe: GemmRecipe, operands: tuple[Operand, ...], shape: Shape, model: CostModel
) -> OperatorCandidate:
    grid = recipe.grid
    result = recipe.stored(shape)
    specs = [_operand_spec(recipe, index, operands[index]) for index in (0, 1)]
    specs += [
        _epilogue_spec(recipe, each, operands, result)
        for each in recipe.epilogues
        if each.operand is not None
    ]
    kernel = CATALOGUE[f"gemm_{recipe.compute.value}"]
    dispatch_kernels = [kernel.name]
    if grid.inner_parts > 1 or grid.steps > 1:
        dispatch_kernels.append(f"sum_{grid.partial.value}")
    elif recipe.epilogues:
        dispatch_kernels.append(f"epilogue_{recipe.result.value}")
    return OperatorCandidate(
        _name(recipe),
        tuple(specs),
        result,
        recipe.compute,
        OperatorCost(grid.compute, grid.exchange, grid.sync, grid.reduction, grid.conversion),
        OperatorBytes(grid.resident, grid.transient, result.layout.shard_bytes),
        recipe,
        tuple(dispatch_kernels),
        _aliases(recipe),
        facts=(
            ("partial", grid.partial.value),
            ("inner_parts", grid.inner_parts),
            ("copies", grid.copies),
        ),
        in_place=recipe.in_place(operands, model),
        gathering=model.phase,
    )


def _aliases(recipe: GemmRecipe) -> tuple[int, ...]:
    """A residual's memory: terms are added to it last, when nothing else reads it."""
    if recipe.grid.inner_parts == 1:
        return ()
    return tuple(
        each.operand
        for each in recipe.epilogues
        if each.kind is EpilogueKind.RESIDUAL and each.operand is not None
    )


def _name(recipe: GemmRecipe) -> str:
    grid = recipe.grid
    batch = prod(grid.batch_parts)
    parts = [f"{grid.row_parts}×{grid.column_parts}×{grid.inner_parts}"]
    parts.insert(0, "swapped" if recipe.swapped else "normal")
    if batch > 1:
        parts.append(f"batch {batch}")
    if grid.steps > 1:
        parts.append(f"{grid.steps} steps")
    if grid.copies:
        parts.append(f"{grid.copies} cop{'y' if grid.copies == 1 else 'ies'}")
    return " ".join(parts)


def _operand_spec(recipe: GemmRecipe, index: int, operand: Operand) -> OperandSpec:
    side = recipe.left if recipe.left.operand == index else recipe.right
    kernel = CATALOGUE[f"gemm_{recipe.compute.value}"]
    tail = kernel.access_tail if side is recipe.left else 0
    home = seen_as(Storage(recipe.home(side, operand.precision), side.shape), operand.shape)
    if side.stored is not None:
        return OperandSpec(operand.precision, home, home, None, kernel.alignment, tail)
    # a format of fewer bits is gathered as it is and cast where it is used
    along = side.inner - len(side.shape)
    return OperandSpec(operand.precision, None, home, along, kernel.alignment, tail)


def _epilogue_spec(
    recipe: GemmRecipe, epilogue: Epilogue, operands: tuple[Operand, ...], result: Storage
) -> OperandSpec:
    assert epilogue.operand is not None
    operand = operands[epilogue.operand]
    if epilogue.kind is EpilogueKind.RESIDUAL:
        there = Storage(result.format.with_precision(operand.precision), result.base, result.view)
        if recipe.swapped and recipe.base != result.shape:
            return OperandSpec(operand.precision, there, there)  # words may span batch elements
        along = -2 if recipe.swapped else -1
        return OperandSpec(operand.precision, None, there, along)
    shape = operand.shape
    flat: Shape = shape[-min(len(shape), len(recipe.base)) :] if shape else ()
    format = broadcast_format(result.format, recipe.base, flat, operand.precision, operand.scale)
    home = seen_as(Storage(format, flat), shape)
    return OperandSpec(operand.precision, home, home)
