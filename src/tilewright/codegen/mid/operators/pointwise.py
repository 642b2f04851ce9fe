"""Candidates of operators on one element at a time, and of casts.

They take over the distribution of an operand of the result's shape, whatever it is, or spread the
result over the chip.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tilewright.codegen.mid.candidates import (
    Operand,
    OperandSpec,
    OperatorCandidate,
    Recipe,
)
from tilewright.codegen.mid.casting import casting
from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.cost import OperatorBytes, OperatorCost
from tilewright.codegen.mid.dispatch import KernelCall, OperatorDispatch, Slot
from tilewright.codegen.mid.distributions import broadcast_format, spread_format
from tilewright.codegen.mid.kernels import CATALOGUE
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.orders import Precision
from tilewright.codegen.mid.prices import vector_cycles
from tilewright.codegen.mid.storage import Storage, view_indices
from tilewright.graph.operators import Reshape


@dataclass(frozen=True, slots=True)
class LocalRecipe(Recipe):
    """One kernel call on each tile; nothing moves."""

    kernel: str
    mode: str
    numbers: tuple[float, ...] = ()

    def dispatch(self, operands: tuple[Storage, ...], result: Storage) -> OperatorDispatch:
        names = tuple(f"operand {index}" for index in range(len(operands)))
        slots = [Slot(name, storage) for name, storage in zip(names, operands, strict=True)]
        call = KernelCall(self.kernel, (self.mode,), names, "result", numbers=self.numbers)
        return OperatorDispatch((*slots, Slot("result", result)), (call,))


def pointwise_candidates(
    mnemonic: str,
    operands: tuple[Operand, ...],
    shape: Shape,
    precision: Precision,
    config: PipelineConfig,
) -> list[OperatorCandidate]:
    """One candidate for each distribution."""
    kernel = CATALOGUE[f"{mnemonic}_{precision.value}"]
    found = []
    for result in _results(operands, shape, precision, config):
        specs = [_spec(operand, result, precision) for operand in operands]
        if any(spec is None for spec in specs):
            continue
        whole = all(operand.shape == shape for operand in operands)
        mode = "elementwise" if whole else "broadcast"
        layout = result.layout
        found.append(
            OperatorCandidate(
                f"on {result.format.tiles} tiles",
                tuple(spec for spec in specs if spec is not None),
                result,
                precision,
                OperatorCost(compute=vector_cycles(kernel.name, layout.shard_elements)),
                OperatorBytes(_resident(operands, specs), 0, layout.shard_bytes),
                LocalRecipe(kernel.name, mode),
                (kernel.name,),
                aliases=tuple(
                    index
                    for index, operand in enumerate(operands)
                    if operand.shape == shape and operand.precision is precision
                ),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class CastRecipe(Recipe):
    """A cast where the operand is."""

    def dispatch(self, operands: tuple[Storage, ...], result: Storage) -> OperatorDispatch:
        (source,) = operands
        return casting(source, result).dispatch


def cast_candidates(
    operand: Operand, precision: Precision, scale: int, config: PipelineConfig
) -> list[OperatorCandidate]:
    """On the tiles where the operand is."""
    spread = spread_format(operand.shape, operand.precision, config.tiles)
    place = operand.storage or Storage(spread, operand.shape)
    storage = stored_as(place, operand)
    format = storage.format.with_precision(precision, scale)
    result = Storage(format, storage.base, storage.view)
    spec = OperandSpec(operand.precision, storage, storage)
    layout = result.layout
    cast = casting(storage, result)
    return [
        OperatorCandidate(
            f"on {format.tiles} tiles",
            (spec,),
            result,
            precision,
            OperatorCost(conversion=cast.cycles),
            OperatorBytes(
                storage.layout.shard_bytes if operand.storage is None else 0,
                cast.transient,
                layout.shard_bytes,
            ),
            CastRecipe(),
            cast.kernels,
        )
    ]


def _results(
    operands: tuple[Operand, ...], shape: Shape, precision: Precision, config: PipelineConfig
) -> list[Storage]:
    """Where the result may lie, each once."""
    found: dict[Storage, None] = {}
    for operand in operands:
        storage = operand.storage
        if storage is not None and operand.shape == shape and covers_base(storage):
            format = storage.format.with_precision(precision)
            found[Storage(format, storage.base, storage.view)] = None
    found[Storage(spread_format(shape, precision, config.tiles), shape)] = None
    return list(found)


@lru_cache(maxsize=4096)
def covers_base(storage: Storage) -> bool:
    """Whether a value has every element of its base once: work on the base is work on it."""
    if storage.view is None or storage.view.keeps_numbers:
        return True
    indices = view_indices(storage.view)
    count = int(np.prod(storage.base, dtype=np.int64))
    return indices.size == count and bool(
        np.array_equal(np.bincount(indices.reshape(-1), minlength=count), np.ones(count))
    )


def beside(storage: Storage, shape: Shape, precision: Precision, scale: int) -> Storage | None:
    """Where an operand that broadcasts must lie to meet a value in `storage`; None if nowhere."""
    format = storage.format
    if storage.view is None:
        return Storage(broadcast_format(format, storage.base, shape, precision, scale), shape)
    same_rows = storage.base[-1:] == storage.shape[-1:] and all(
        isinstance(operator, Reshape) for operator in storage.view.operators
    )
    row = shape[-1:]
    if not same_rows or any(extent != 1 for extent in shape[:-1]):
        return None
    there = Storage(broadcast_format(format, storage.base, row, precision, scale), row)
    return there if row == shape else there.viewed(Reshape(shape), shape)


def _spec(operand: Operand, result: Storage, precision: Precision) -> OperandSpec | None:
    if operand.shape == result.shape:
        there: Storage | None = Storage(
            result.format.with_precision(precision), result.base, result.view
        )
    else:
        there = beside(result, operand.shape, precision, 0)
    if there is None:
        return None
    return OperandSpec(precision, there, stored_as(there, operand))


def stored_as(storage: Storage, operand: Operand) -> Storage:
    """The same place for the operand's own number format."""
    format = storage.format.with_precision(operand.precision, operand.scale)
    return Storage(format, storage.base, storage.view)


def _resident(operands: tuple[Operand, ...], specs: list[OperandSpec | None]) -> int:
    return sum(
        spec.home.layout.shard_bytes
        for operand, spec in zip(operands, specs, strict=True)
        if spec is not None and operand.storage is None and operand.weight
    )
