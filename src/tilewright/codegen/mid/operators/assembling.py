"""Candidates of concatenation: one phase that brings the parts together."""

from dataclasses import dataclass

from tilewright.codegen.mid.candidates import (
    Operand,
    OperandSpec,
    OperatorCandidate,
    Recipe,
)
from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.cost import OperatorBytes, OperatorCost
from tilewright.codegen.mid.dispatch import Gather, KernelCall, OperatorDispatch, Slot, Step
from tilewright.codegen.mid.distributions import spread_format
from tilewright.codegen.mid.kernels import CATALOGUE
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.orders import Precision
from tilewright.codegen.mid.storage import Storage


@dataclass(frozen=True, slots=True)
class ConcatRecipe(Recipe):
    """Every part moves to its place; joints inside words are mended on the tile."""

    axis: int
    mend: bool

    def dispatch(self, operands: tuple[Storage, ...], result: Storage) -> OperatorDispatch:
        names = tuple(f"operand {index}" for index in range(len(operands)))
        slots = [Slot(name, storage) for name, storage in zip(names, operands, strict=True)]
        slots.append(Slot("result", result))
        target = "result"
        steps: list[Step] = []
        if self.mend:
            target = "arrived"
            wide = result.format.with_precision(Precision.F32)
            slots.append(Slot(target, Storage(wide, result.base)))
        steps.append(Gather(tuple((name, target) for name in names)))
        if self.mend:
            steps.append(KernelCall("repack_unpack", ("2 bytes",), (target,), "result"))
        return OperatorDispatch(tuple(slots), tuple(steps))


def concat_candidates(
    operands: tuple[Operand, ...], axis: int, shape: Shape, config: PipelineConfig
) -> list[OperatorCandidate]:
    """The result spread over the chip. `Gather` moves part i to its range along `axis`."""
    precision = operands[0].precision
    scale = operands[0].scale
    format = spread_format(shape, precision, config.tiles).with_precision(precision, scale)
    result = Storage(format, shape)
    layout = result.layout
    last = axis == len(shape) - 1
    odd = last and any(operand.shape[-1] * precision.bytes % 4 for operand in operands[:-1])
    mend = odd and precision.bytes < 4
    kernel = CATALOGUE["repack_unpack"]
    conversion = kernel.cycles(layout.shard_elements) if mend else 0.0
    specs = []
    resident = 0
    for operand in operands:
        format = spread_format(operand.shape, precision, config.tiles)
        home = Storage(format.with_precision(precision, scale), operand.shape)
        specs.append(OperandSpec(precision, None, home, -1 if operand.shape else None))
        resident += home.layout.shard_bytes if operand.storage is None and operand.weight else 0
    return [
        OperatorCandidate(
            f"on {result.format.tiles} tiles",
            tuple(specs),
            result,
            precision,
            OperatorCost(
                exchange=config.model.receive_cycles(layout.shard_bytes),
                sync=config.model.phase,
                conversion=conversion,
            ),
            OperatorBytes(resident, 2 * layout.shard_bytes if mend else 0, layout.shard_bytes),
            ConcatRecipe(axis, mend),
            (kernel.name,) if mend else (),
        )
    ]
