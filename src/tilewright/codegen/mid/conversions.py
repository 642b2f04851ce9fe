"""From the format that a value has to the one that an operator wants: explicit, priced operations.

Three kinds of step: a cast on the tile (`CastPrecision`), and rearrangements (`Rearrange`), which
repack each shard where it is, or move elements through the exchange in one phase. The exchange also
changes the order of elements, as long as words of 4 bytes stay whole; f16 elements whose neighbours
part are repacked first.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import prod

from tilewright.codegen.mid.candidates import OperandSpec
from tilewright.codegen.mid.casting import casting
from tilewright.codegen.mid.cost import CostModel, OperatorBytes, OperatorCost
from tilewright.codegen.mid.dispatch import Gather, KernelCall, OperatorDispatch, Slot, Step
from tilewright.codegen.mid.distributions import suits
from tilewright.codegen.mid.kernels import CATALOGUE
from tilewright.codegen.mid.orders import (
    OUTPUT_GROUP,
    ElementOrder,
    Precision,
    contiguous_along,
)
from tilewright.codegen.mid.prices import (
    clear_cycles,
    copy_cycles,
    own_words_cycles,
    permuted_cycles,
)
from tilewright.codegen.mid.rows import received_runs
from tilewright.codegen.mid.storage import Storage, keeps_words, moves_whole_words


@dataclass(frozen=True, slots=True)
class Conversion:
    """One inserted operation. `kind` is CastPrecision or Rearrange."""

    kind: str
    source: Storage
    target: Storage
    cost: OperatorCost
    bytes: OperatorBytes
    dispatch: OperatorDispatch


Conversions = tuple[Conversion, ...]


@lru_cache(maxsize=65536)
def conversions(storage: Storage, spec: OperandSpec, scale: int, model: CostModel) -> Conversions:
    """What to insert so that `storage` serves `spec`. Empty if it does."""
    steps: list[Conversion] = []
    if storage.format.precision is not spec.precision:
        steps.append(_cast(storage, spec.precision, scale))
        storage = steps[-1].target
    if spec.storage is not None:
        if storage != spec.storage:
            steps.append(rearranged(storage, spec.storage, model))
    elif spec.words_along is not None and not keeps_words(storage, spec.words_along):
        steps.append(_straightened(storage, spec, model))
    return tuple(steps)


def total(steps: Conversions) -> OperatorCost:
    """Their costs together."""
    cost = OperatorCost()
    for step in steps:
        cost += step.cost
    return cost


def copied(storage: Storage) -> Conversion:
    """The same once more, in other memory."""
    size = storage.layout.shard_bytes
    kernel = CATALOGUE["copy"]
    call = KernelCall(kernel.name, ("plain",), ("operand 0",), "result")
    return Conversion(
        "Rearrange",
        storage,
        storage,
        OperatorCost(conversion=float(copy_cycles(size))),
        OperatorBytes(result=size),
        OperatorDispatch((Slot("operand 0", storage), Slot("result", storage)), (call,)),
    )


def _cast(storage: Storage, precision: Precision, scale: int) -> Conversion:
    source = storage.format
    format = source.with_precision(precision, scale)
    target = Storage(format, storage.base, storage.view)
    cast = casting(storage, target)
    return Conversion(
        "CastPrecision",
        storage,
        target,
        OperatorCost(conversion=cast.cycles),
        OperatorBytes(transient=cast.transient, result=target.layout.shard_bytes),
        cast.dispatch,
    )


def rearranged(storage: Storage, target: Storage, model: CostModel) -> Conversion:
    """To another format, by the cheapest way that keeps words whole.

    Where neighbours of the target are apart in the source, shards are turned before the move, or
    after it; if neither works, every element is moved with the word around it.
    """
    source = storage.format
    same_tiles = (source.grid, source.axes) == (target.format.grid, target.format.axes)
    if same_tiles and (storage.base, storage.view) == (target.base, target.view):
        return _repack(storage, target)
    by_rows = contiguous_along(target.format.order, rows=True)
    wanted = -2 if by_rows and len(target.shape) > 1 else -1
    if moves_whole_words(storage, target):
        return _moved(storage, target, (), model)
    straight = _straight(storage, wanted)
    if straight is not None and moves_whole_words(straight, target):
        return _moved(storage, target, (("repack_transpose", straight),), model)
    turned = Storage(target.format.with_order(ElementOrder.ROW_MAJOR), target.base, target.view)
    if moves_whole_words(storage, turned):
        return _moved(storage, target, (("repack_transpose", turned),), model, before=False)
    words = (("repack_unpack", _as_words(target)),)
    return _moved(storage, target, words, model, before=False)


def _moved(
    storage: Storage,
    target: Storage,
    repacking: tuple[tuple[str, Storage], ...],
    model: CostModel,
    before: bool = True,
) -> Conversion:
    """One phase, with shards repacked by a kernel before or after it, through a work buffer."""
    slots = [Slot("operand 0", storage), Slot("result", target)]
    steps: list[Step] = [Gather((("operand 0", "result"),))]
    cycles, work, arriving = 0.0, 0, target
    for name, buffer in repacking:
        slots.append(Slot("repacked", buffer))
        turned = buffer if before else target
        cycles += _repacking_cycles(turned)
        work += buffer.layout.shard_bytes
        if before:
            call = KernelCall(name, ("2 bytes",), ("operand 0",), "repacked")
            steps = [call, Gather((("repacked", "result"),))]
        else:
            arriving = buffer
            call = KernelCall(name, ("2 bytes",), ("repacked",), "result")
            steps = [Gather((("operand 0", "repacked"),)), call]
    leaving = slots[-1].storage if repacking and before else storage
    runs = received_runs(leaving, arriving)
    shard = leaving.layout.shard_bytes
    sent = runs * shard / max(arriving.layout.shard_bytes, 1)
    moved = max(
        model.receive_cycles(arriving.layout.shard_bytes, messages=runs),
        model.send_cycles(shard, messages=sent),
    )
    cycles += _clearing_cycles(arriving)
    cycles += own_words_cycles() if arriving.format.replication == 1 else 0.0
    return Conversion(
        "Rearrange",
        storage,
        target,
        OperatorCost(conversion=cycles + moved + model.phase),
        OperatorBytes(transient=work, result=target.layout.shard_bytes),
        OperatorDispatch(tuple(slots), tuple(steps)),
    )


def _as_words(target: Storage) -> Storage:
    """Room for the word around each element of a shard."""
    format = target.format.with_precision(Precision.F32)
    return Storage(format, target.base, target.view)


def _repack(storage: Storage, target: Storage) -> Conversion:
    """Another order on the same tiles."""
    to, by_rows = target.format.order, contiguous_along(storage.format.order, rows=True)
    if contiguous_along(to, rows=True) != by_rows:
        name = "repack_transpose"
    elif to is ElementOrder.ROW_MAJOR:
        name = "repack_unpack"
    else:
        name = "repack_panel"
    return _repacked(name, storage, target)


def _repacked(name: str, storage: Storage, target: Storage) -> Conversion:
    """By one call of a kernel on each tile."""
    kernel = CATALOGUE[name]
    call = KernelCall(kernel.name, ("2 bytes",), ("operand 0",), "result")
    return Conversion(
        "Rearrange",
        storage,
        target,
        OperatorCost(conversion=_repacking_cycles(target) + _clearing_cycles(target)),
        OperatorBytes(result=target.layout.shard_bytes),
        OperatorDispatch((Slot("operand 0", storage), Slot("result", target)), (call,)),
    )


def _repacking_cycles(target: Storage) -> float:
    """A call for each panel of each matrix of a shard, of its rows in lots of a panel's width."""
    layout = target.layout
    *outer, rows, columns = (1, 1, *layout.largest_shard)
    lots = -(-columns // OUTPUT_GROUP) * -(-rows // OUTPUT_GROUP)
    return permuted_cycles(layout.shard_elements, prod(outer) * lots, target.format.precision.bytes)


def _clearing_cycles(target: Storage) -> float:
    """Padding is cleared before a shard is filled."""
    layout = target.layout
    if layout.padded_shape == layout.shape:
        return 0.0
    return float(clear_cycles(layout.shard_bytes))


def _straight(storage: Storage, axis: int) -> Storage | None:
    """The same tiles with shards repacked so that words along `axis` stay whole, if that helps."""
    format = storage.format
    for order in (ElementOrder.ROW_MAJOR, format.order.transposed, ElementOrder.OUTPUT_TRANSPOSED):
        other = format.with_order(order)
        if order is not format.order and suits(other):
            candidate = Storage(other, storage.base, storage.view)
            if keeps_words(candidate, axis):
                return candidate
    return None


def _straightened(storage: Storage, spec: OperandSpec, model: CostModel) -> Conversion:
    assert spec.words_along is not None
    straight = _straight(storage, spec.words_along)
    if straight is None:
        return rearranged(storage, spec.home, model)
    return _repacked("repack_transpose", storage, straight)
