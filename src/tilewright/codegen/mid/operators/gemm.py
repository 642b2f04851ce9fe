"""Candidates of matrix products, from the scan's front: formats, dispatch and constraints."""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from tilewright.codegen.mid.candidates import (
    Operand,
    OperandSpec,
    OperatorCandidate,
)
from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.cost import CostModel, OperatorBytes, OperatorCost
from tilewright.codegen.mid.distributions import broadcast_format
from tilewright.codegen.mid.kernels import CATALOGUE
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.operators.epilogues import Epilogue, EpilogueKind
from tilewright.codegen.mid.operators.gemm_recipe import GemmRecipe, Side, seen_as
from tilewright.codegen.mid.operators.gemm_scan import GemmGrid, GemmProblem, front, scan
from tilewright.codegen.mid.orders import Precision
from tilewright.codegen.mid.storage import Storage


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

    If only the first operand has batch axes, they become rows. Of two weights, the larger one lies
    where it is used, and the other is gathered like an activation.
    """
    a, b = operands[:2]
    compute = Precision.F32 if result is Precision.F32 else Precision.F16
    if len(shape) > 2 and prod(b.shape[:-2]) == 1 and not transposed[0]:
        a_shape: Shape = (prod(a.shape[:-1]), a.shape[-1])
        base: Shape = (prod(shape[:-1]), shape[-1])
        b_shape: Shape = b.shape[-2:]
    else:
        a_shape, b_shape, base = a.shape, b.shape, shape
    first = _side(0, a, a_shape, base, outer_last=transposed[0])
    second = _side(1, b, b_shape, base, outer_last=not transposed[1])
    if first.stored is not None and second.stored is not None:
        if prod(a_shape) > prod(b_shape):
            second = replace(second, stored=None)
        else:
            first = replace(first, stored=None)
    return Product(first, second, base, compute, result, epilogues)


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
            _recipe(product, swapped, variants.grid(index), problem.row_block)
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
    return GemmProblem(
        product.base[:-2],
        left.shape[left.outer],
        left.shape[left.inner],
        right.shape[right.outer],
        product.compute,
        left.stored,
        right.stored,
        product.result,
        product.epilogues,
        swapped,
    )


def _recipe(product: Product, swapped: bool, grid: GemmGrid, row_block: int) -> GemmRecipe:
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
        row_block,
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
    return OperatorCandidate(
        _name(recipe),
        tuple(specs),
        result,
        recipe.compute,
        OperatorCost(grid.compute, grid.exchange, grid.sync, grid.reduction, grid.conversion),
        OperatorBytes(grid.resident, grid.transient, result.layout.shard_bytes),
        recipe,
        recipe.kernels(tuple(operand.precision for operand in operands[:2])),
        facts=(
            ("partial", grid.partial.value),
            ("inner_parts", grid.inner_parts),
            ("copies", grid.copies),
        ),
        in_place=recipe.in_place(operands, model),
        gathering=model.phase,
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
