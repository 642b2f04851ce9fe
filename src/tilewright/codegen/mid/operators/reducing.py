"""Candidates of reductions of the last axes, row-major.

Where what is reduced is whole on a tile, or brought together, one kernel does it. Or it is divided:
each tile brings its part to one number, in f32, and the tiles of a result exchange these and reduce
them once more.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tilewright.codegen.mid.candidates import Operand, OperandSpec, OperatorCandidate, Recipe
from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.cost import OperatorBytes, OperatorCost
from tilewright.codegen.mid.dispatch import Gather, KernelCall, OperatorDispatch, Slot, Step
from tilewright.codegen.mid.distributions import kept_axes, rows_format
from tilewright.codegen.mid.formats import AxisTiling, Digit, TensorFormat
from tilewright.codegen.mid.kernels import CATALOGUE
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.operators.pointwise import LocalRecipe, stored_as
from tilewright.codegen.mid.orders import ElementOrder, Precision
from tilewright.codegen.mid.storage import WORD, Storage
from tilewright.graph.operators import Reduce, Reduction

_MODE = "row"


@dataclass(frozen=True, slots=True)
class _Reducing:
    """What kernels are called and told: the axes that they reduce; of sums, the factor too."""

    kind: str
    axes: int
    factor: float | None

    @staticmethod
    def of(operator: Reduce, shape: Shape) -> "_Reducing":
        """For an operand of this shape."""
        if operator.kind is Reduction.MAX:
            return _Reducing("reduce_max", operator.axes, None)
        count = prod(shape[len(shape) - operator.axes :])
        factor = 1 / count if operator.kind is Reduction.MEAN else 1.0
        return _Reducing("reduce_sum", operator.axes, factor)

    def kernel(self, source: Precision, target: Precision) -> str:
        return "_".join(dict.fromkeys((self.kind, source.value, target.value)))

    @property
    def numbers(self) -> tuple[float, ...]:
        return (self.axes,) if self.factor is None else (self.axes, self.factor)

    @property
    def of_part(self) -> "_Reducing":
        """What each tile does with its part."""
        return _Reducing(self.kind, self.axes, None if self.factor is None else 1.0)

    @property
    def of_figures(self) -> "_Reducing":
        """What is done with the figures of all parts, which lie along an axis of their own."""
        return _Reducing(self.kind, 1, self.factor)


@dataclass(frozen=True, slots=True)
class SplitReduceRecipe(Recipe):
    """A figure for each part, exchanged, then reduced."""

    reducing: _Reducing
    axis: int
    """The one that is divided."""

    def dispatch(self, operands: tuple[Storage, ...], result: Storage) -> OperatorDispatch:
        (x,) = operands
        kept = len(x.base) - self.reducing.axes
        shape = (*x.base[:kept], x.format.partitions(self.axis))
        part, figures = self.reducing.of_part, self.reducing.of_figures
        slots = [
            Slot("operand 0", x),
            Slot("result", result),
            Slot("figures", Storage(self._figures(x.format, kept, kept), shape)),
            Slot("all figures", Storage(self._figures(x.format, kept, None), shape)),
        ]
        stored = result.format.precision
        target = "result" if stored is Precision.F32 else "singles"
        steps: list[Step] = [
            KernelCall(
                part.kernel(x.format.precision, Precision.F32),
                (_MODE,),
                ("operand 0",),
                "figures",
                numbers=part.numbers,
            ),
            Gather((("figures", "all figures"),)),
            KernelCall(
                figures.kernel(Precision.F32, Precision.F32),
                (_MODE,),
                ("all figures",),
                target,
                numbers=figures.numbers,
            ),
        ]
        if target != "result":
            singles = Storage(result.format.with_precision(Precision.F32), result.base)
            slots.append(Slot(target, singles))
            cast = f"cast_{Precision.F32.value}_{stored.value}"
            steps.append(KernelCall(cast, ("plain",), (target,), "result"))
        return OperatorDispatch(tuple(slots), tuple(steps))

    def _figures(self, of: TensorFormat, kept: int, axis: int | None) -> TensorFormat:
        """Results as in `of`, then the parts: along `axis`, or all of them on each tile."""
        grid = tuple(
            Digit(axis, digit.size, digit.weight if axis is not None else 1)
            if digit.axis == self.axis
            else digit
            for digit in of.grid
        )
        axes = (*of.axes[:kept], AxisTiling())
        return TensorFormat(Precision.F32, ElementOrder.ROW_MAJOR, axes, grid)


def reduce_candidates(
    operator: Reduce, x: Operand, shape: Shape, precision: Precision, config: PipelineConfig
) -> list[OperatorCandidate]:
    """Where the operand is, if it is whole there; brought together; and divided."""
    reducing = _Reducing.of(operator, x.shape)
    kept = len(x.shape) - operator.axes
    storages: dict[Storage, None] = {}
    here = x.storage
    if here is not None and here.view is None and here.format.order is ElementOrder.ROW_MAJOR:
        whole = Storage(here.format.with_precision(precision), here.base)
        undivided = all(here.format.partitions(axis) == 1 for axis in range(kept, len(x.shape)))
        if undivided and _has_whole_words(whole):
            storages[whole] = None
    together = Storage(_undivided(x.shape, kept, precision, config.tiles), x.shape)
    storages[together] = None
    found = [_whole(reducing, storage, shape, x) for storage in storages]
    found += _split(reducing, together, shape, x, config)
    return found


def _whole(reducing: _Reducing, storage: Storage, shape: Shape, x: Operand) -> OperatorCandidate:
    precision = storage.format.precision
    kernel = CATALOGUE[reducing.kernel(precision, precision)]
    result = _result(storage.format, reducing, storage.base, shape)
    return OperatorCandidate(
        f"on {storage.format.tiles} tiles",
        (OperandSpec(precision, storage, stored_as(storage, x)),),
        result,
        Precision.F32,
        OperatorCost(compute=kernel.cycles(storage.layout.shard_elements)),
        OperatorBytes(0, 0, result.layout.shard_bytes),
        LocalRecipe(kernel.name, _MODE, reducing.numbers),
        (kernel.name,),
    )


def _split(
    reducing: _Reducing, together: Storage, shape: Shape, x: Operand, config: PipelineConfig
) -> Iterator[OperatorCandidate]:
    """With the longest reduced axis divided among the tiles that results leave over, if any."""
    format, base = together.format, together.base
    kept = len(base) - reducing.axes
    blocks = [-(-base[axis] // format.axes[axis].block) for axis in range(kept, len(base))]
    parts = min(config.tiles // format.tiles, max(blocks))
    if parts < 2:
        return
    axis = kept + blocks.index(max(blocks))
    grid = (*format.grid, Digit(axis, parts))
    storage = Storage(
        TensorFormat(format.precision, ElementOrder.ROW_MAJOR, format.axes, grid), base
    )
    result = _result(storage.format, reducing, base, shape)
    recipe = SplitReduceRecipe(reducing, axis)
    dispatch = recipe.dispatch((storage,), result)
    elements = {slot.name: slot.storage.layout.shard_elements for slot in dispatch.slots}
    figures = elements["all figures"] * Precision.F32.bytes
    transient = sum(slot.tile_bytes for slot in dispatch.work_slots())
    yield OperatorCandidate(
        f"in {parts} parts on {storage.format.tiles} tiles",
        (OperandSpec(format.precision, storage, stored_as(storage, x)),),
        result,
        Precision.F32,
        OperatorCost(
            compute=sum(
                CATALOGUE[call.kernel].cycles(elements[call.operands[0]])
                for call in dispatch.calls()
            ),
            exchange=config.model.receive_cycles(figures),
            sync=config.model.phase,
        ),
        OperatorBytes(0, transient, result.layout.shard_bytes),
        recipe,
        dispatch.kernels(),
    )


def _result(of: TensorFormat, reducing: _Reducing, base: Shape, shape: Shape) -> Storage:
    kept = len(base) - reducing.axes
    return Storage(kept_axes(of, kept, len(shape) - kept, of.precision), shape)


def _undivided(shape: Shape, kept: int, precision: Precision, tiles: int) -> TensorFormat:
    """Row-major, divided along the first `kept` axes only, rows of whole words."""
    # one more axis stands for all that are reduced
    rows = rows_format((*shape[:kept], 1), precision, tiles)
    words = rows_format(shape[kept:], precision, 1)
    return TensorFormat(precision, ElementOrder.ROW_MAJOR, rows.axes[:kept] + words.axes, rows.grid)


def _has_whole_words(storage: Storage) -> bool:
    """Whether rows of the last axis start at words."""
    return storage.layout.padded_shape[-1] * storage.format.precision.bytes % WORD == 0
