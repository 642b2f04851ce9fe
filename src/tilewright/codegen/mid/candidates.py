"""One complete way to run an operator, stated before it is chosen."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from tilewright.codegen.mid.config import PipelineConfig
from tilewright.codegen.mid.cost import OperatorBytes, OperatorCost
from tilewright.codegen.mid.dispatch import OperatorDispatch
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.orders import Precision
from tilewright.codegen.mid.storage import Storage


@dataclass(frozen=True, slots=True)
class Operand:
    """What is known of an operand when candidates are made.

    `storage` is None for a source whose format is still open: it takes what the operator wants.
    `weight`: the same in all runs, so it may lie where it is used, in several copies.
    """

    shape: Shape
    precision: Precision
    scale: int
    storage: Storage | None
    weight: bool


@dataclass(frozen=True, slots=True)
class OperandSpec:
    """How an operator wants an operand.

    `storage` None: any will do, as the dispatch gathers it; then `words_along` is the axis (-1, -2)
    along which pairs of elements must lie together, if it matters. `home` is for an operand whose
    format is open.
    """

    precision: Precision
    storage: Storage | None
    home: Storage
    words_along: int | None = None
    alignment: int = 8
    access_tail: int = 0


class Recipe(ABC):
    """Makes the dispatch, once operands' storage is known."""

    __slots__ = ()

    @abstractmethod
    def dispatch(self, operands: tuple[Storage, ...], result: Storage) -> OperatorDispatch: ...


@dataclass(frozen=True, slots=True)
class InPlace:
    """An operand that needs no gathering if it lies in `storage` already, and what that saves."""

    operand: int
    storage: Storage
    exchange: float
    """Cycles."""
    messages: float
    """That the cost counts, for an operand that comes from tiles all over the chip."""
    shared_by_pairs: bool = False
    """Whether adjacent tiles take the same data."""
    is_paired: bool = False
    """Whether the cost counts that they receive it in 64-bit messages."""


@dataclass(frozen=True, slots=True)
class OperatorCandidate:
    """Formats, cost, bytes and constraints of one implementation."""

    name: str
    """For people: the grid, say."""
    operands: tuple[OperandSpec, ...]
    result: Storage
    compute: Precision
    """In which the operator computes; sums of a matrix product are f32 inside the engine."""
    cost: OperatorCost
    bytes: OperatorBytes
    recipe: Recipe
    kernels: tuple[str, ...]
    aliases: tuple[int, ...] = ()
    """Operands whose memory the result may take, if nobody needs them any more."""
    facts: tuple[tuple[str, int | str], ...] = ()
    """Choices that evaluation and reports need, by name."""

    in_place: tuple[InPlace, ...] = ()
    """Operands that the cost counts as gathered."""
    gathering: float = 0.0
    """Cycles of the boundary of the gathering phase, saved if nothing is gathered."""

    @property
    def least_cycles(self) -> float:
        """The cost if every operand lay in place."""
        if not self.in_place:
            return self.cost.total
        return self.cost.total - self.gathering - sum(each.exchange for each in self.in_place)

    def saved(self, operands: tuple[Storage, ...]) -> OperatorCost:
        """What the cost counts too much, for operands that lie where they are used."""
        there = [each for each in self.in_place if operands[each.operand] == each.storage]
        if not there:
            return OperatorCost()
        sync = self.gathering if len(there) == len(self.in_place) else 0.0
        return OperatorCost(exchange=-sum(each.exchange for each in there), sync=-sync)

    def fact(self, name: str) -> int | str | None:
        return dict(self.facts).get(name)


def permitted(
    candidates: list[OperatorCandidate], config: PipelineConfig
) -> list[OperatorCandidate]:
    """Those whose kernels the policy allows."""
    return [each for each in candidates if all(map(config.allows, each.kernels))]
