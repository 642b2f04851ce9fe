"""What is told when the requests of a tile do not fit, as data and as text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.codegen.place.faults import MOST_NAMED
from tilewright.codegen.place.policy import MemoryNeed
from tilewright.codegen.place.requests import life_text
from tilewright.errors import TilewrightError


@dataclass(frozen=True, slots=True)
class LiveBlock:
    """An allocation that is live in the step of a failure.

    `values` are those of its requests: several for aliases and sequences. `address` is None if it
    found no place.
    """

    values: tuple[int, ...]
    owner: str
    size: int
    address: int | None
    first: int
    last: int
    resident: bool


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change with which the tile's requests were placed: it has been tried.

    `kind` is `smaller`, `without`, `unseparated` or `any memory`; `value` and `owner` tell whose
    request is changed, and `size` is, for `smaller`, the largest that was found to fit, for others
    the size of the allocation. Or it is `merged`: `owner` names two arenas that should be one, as
    they are with another cut of the policy, `size` is that of both, and `value` is -1.
    """

    kind: str
    value: int
    owner: str
    size: int

    def __str__(self) -> str:
        match self.kind:
            case "smaller":
                return f"{self.owner} of at most {self.size:,} bytes"
            case "without":
                return f"without {self.owner} ({self.size:,} bytes)"
            case "unseparated":
                return f"{self.owner} allowed into the memory elements that it is kept out of"
            case "merged":
                return f"{self.owner} as one arena, with another cut"
        return f"{self.owner} allowed into any kind of memory"


@dataclass(frozen=True, slots=True)
class PlacementFailure:
    """Why the requests of `tile` do not fit; `refused` found no place. Sizes are in bytes.

    - `need`: the kind of memory that `refused` asks for; `arenas`: those that have any for it, with
      `capacity` bytes in all and `largest_piece` in one piece, if nothing else were there.
    - `bound`: the most that is live at once of what can lie nowhere else, during its life; `peak`:
      how much of that memory the best arrangement found would need, holes included.
    - `total_bound`, `total_capacity`: what is live in `step` of all, and what there is of memory.
    - `step`: in which most is live, of what can lie nowhere else if that is too much, or of all.
    - `hole`: the largest piece free during the whole life of `refused`; `hole_in_step`: in `step`.
    - `live`: what is live in `step`, largest first.
    - `remedies`: single changes that were tried and suffice.
    - `memory_map`: the tile's memory in `step`, as text.
    """

    tile: int
    refused: LiveBlock
    need: MemoryNeed
    arenas: tuple[str, ...]
    capacity: int
    largest_piece: int
    bound: int
    peak: int
    step: int
    total_capacity: int
    total_bound: int
    hole: int
    hole_in_step: int
    live: tuple[LiveBlock, ...]
    remedies: tuple[Remedy, ...]
    memory_map: str

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        refused = self.refused
        kind = "any memory" if self.need is MemoryNeed.ANY else f"{self.need.name.lower()} memory"
        yield (
            f"tile {self.tile}, step {self.step}: no place for {refused.owner} "
            f"({refused.size:,} bytes, {_life(refused)}), which needs {kind}"
        )
        if not self.arenas:
            order = "resident" if refused.resident else "transient"
            yield f"  no arena that the policy names for {order} requests has any of that"
        else:
            yield (
                f"  {self.capacity:,} bytes are there for it, in {', '.join(self.arenas)}; at most "
                f"{self.largest_piece:,} in one piece"
            )
            yield (
                f"  {self.bound:,} bytes can lie nowhere else at once: "
                f"{_verdict(self.bound, self.capacity)}"
            )
            if (self.bound, self.capacity) != (self.total_bound, self.total_capacity):
                yield (
                    f"  {self.total_bound:,} bytes of {self.total_capacity:,} are live in all: "
                    f"{_verdict(self.total_bound, self.total_capacity)}"
                )
            yield f"  the best arrangement found would take {self.peak:,} bytes, holes included"
            yield (
                f"  largest hole: {self.hole_in_step:,} bytes in this step, {self.hole:,} in all "
                f"steps of {refused.owner}"
            )
        yield "  live, largest first:"
        for block in self.live[:MOST_NAMED]:
            place = "no place" if block.address is None else f"{block.address:#x}"
            yield f"    {block.size:>9,}  {place:>8}  {block.owner} ({_life(block)})"
        if len(self.live) > MOST_NAMED:
            rest = sum(block.size for block in self.live[MOST_NAMED:])
            yield f"    {rest:>9,}  in {len(self.live) - MOST_NAMED} more"
        yield f"  changes that were tried, and are enough each:{'' if self.remedies else ' none'}"
        yield from (f"    {remedy}" for remedy in self.remedies)
        yield f"  memory in step {self.step}:"
        yield self.memory_map


class PlacementError(TilewrightError):
    """The requests of some tiles do not fit. `failure` tells of the worst of `tiles`."""

    def __init__(self, failure: PlacementFailure, tiles: Sequence[int]) -> None:
        self.failure = failure
        self.tiles = tuple(tiles)
        others = [tile for tile in self.tiles if tile != failure.tile]
        more = ""
        if others:
            named = ", ".join(str(tile) for tile in others[:MOST_NAMED])
            rest = f" and {len(others) - MOST_NAMED:,} more" if len(others) > MOST_NAMED else ""
            more = f"\nother tiles on which requests do not fit: {named}{rest}"
        super().__init__(f"{failure}{more}")


def _verdict(bound: int, capacity: int) -> str:
    if bound > capacity:
        return f"{bound - capacity:,} too many for any arrangement"
    return "enough room, as far as pieces and neighbours allow"


def _life(block: LiveBlock) -> str:
    return life_text(block.first, block.last, block.resident)
