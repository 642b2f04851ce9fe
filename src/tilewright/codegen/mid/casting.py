"""Casts on the tile: one kernel, or two by way of f32."""

from dataclasses import dataclass

from tilewright.codegen.mid.dispatch import KernelCall, OperatorDispatch, Slot
from tilewright.codegen.mid.kernels import CATALOGUE
from tilewright.codegen.mid.orders import Precision
from tilewright.codegen.mid.prices import vector_cycles
from tilewright.codegen.mid.storage import Storage


@dataclass(frozen=True, slots=True)
class Casting:
    """A cast of a stored tensor: cycles, bytes of working memory, and what tiles do."""

    cycles: float
    transient: int
    dispatch: OperatorDispatch

    @property
    def kernels(self) -> tuple[str, ...]:
        return self.dispatch.kernels()


def casting(source: Storage, target: Storage) -> Casting:
    """The same elements in the same places, in another number format."""
    slots = (Slot("operand 0", source), Slot("result", target))
    elements = target.layout.shard_elements
    direct = CATALOGUE.get(_name(source.format.precision, target.format.precision))
    if direct is not None:
        call = KernelCall(direct.name, ("plain",), ("operand 0",), "result")
        return Casting(vector_cycles(direct.name, elements), 0, OperatorDispatch(slots, (call,)))
    singles = Storage(source.format.with_precision(Precision.F32), source.base, source.view)
    names = (
        _name(source.format.precision, Precision.F32),
        _name(Precision.F32, target.format.precision),
    )
    calls = (
        KernelCall(names[0], ("plain",), ("operand 0",), "singles"),
        KernelCall(names[1], ("plain",), ("singles",), "result"),
    )
    return Casting(
        sum(vector_cycles(name, elements) for name in names),
        singles.layout.shard_bytes,
        OperatorDispatch((*slots, Slot("singles", singles)), calls),
    )


def _name(source: Precision, target: Precision) -> str:
    return f"cast_{source.value}_{target.value}"
