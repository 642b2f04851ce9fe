"""What tiles do, in order: phases of the exchange, local copies, kernel calls, repeats.

Every step works on buffers: memory that all tiles of a group set aside alike. Steps have neither
addresses, nor encoded rows, nor linked kernels; placement and emission give them these.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

import numpy as np

from tilewright.codegen.low.moves import Copies, Moves, Origin
from tilewright.codegen.mid import Layout, MemoryClass, Slot, Storage, WorkProvenance
from tilewright.codegen.mid.orders import Indices

ATOM = 8
"""Bytes: buffers are whole atoms of memory, as kernels take them."""


class BufferKind(Enum):
    SOURCE = "source"
    """Loaded before the program runs: parameters, constants, inputs."""
    VALUE = "value"
    WORK = "work"
    """Lives while one operation runs."""


@dataclass(frozen=True, slots=True)
class Block:
    """One of a sequence of equal blocks, or, without a number, the one of the current iteration."""

    sequence: int
    number: int | None


@dataclass(slots=True)
class Buffer:
    """`bytes` on each of the first `tiles` tiles, for what `slot` says.

    `alignment` and `tail` (bytes that may be read behind it) are the most that any use asks for.
    `may_take` are buffers whose memory it may have, if their last use is the step that fills it. A
    buffer with a `block` has no memory of its own but is part of a sequence.
    """

    id: int
    slot: Slot
    kind: BufferKind
    value: int
    """Id of the graph value that it holds, or helps to make."""
    alignment: int = 8
    tail: int = 0
    may_take: tuple[int, ...] = ()
    block: Block | None = None

    @property
    def name(self) -> str:
        return self.slot.name

    @property
    def bytes(self) -> int:
        """Whole atoms of memory."""
        return -(-self.slot.tile_bytes // ATOM) * ATOM

    @property
    def tiles(self) -> int:
        return self.slot.tiles

    @property
    def memory(self) -> MemoryClass:
        return self.slot.storage.format.memory

    @property
    def layout(self) -> Layout:
        """Of what is stored; of a slot with steps, tiles of later ones follow."""
        return self.slot.storage.layout

    def shard_numbers(self, window: int = 0) -> Indices:
        """By tile, which shard of the layout it holds; of a slot with steps, in step `window`."""
        step = window if self.slot.steps > 1 else 0
        return np.arange(self.tiles) + step * self.tiles

    def __str__(self) -> str:
        return f"b{self.id}"


@dataclass(frozen=True, slots=True)
class Sequence:
    """Memory for `count` equal blocks, one after the other, for the iterations of a repeat.

    The stride from one to the next is a multiple of the blocks' alignment, and has room for their
    tail: so an iteration goes to the next block by adding to a pointer.
    """

    id: int
    count: int
    blocks: tuple[int, ...]
    """Buffers, in order; the last is that of the current iteration."""


@dataclass(frozen=True, slots=True, eq=False)
class ExchangeStep:
    """One phase: each target buffer is filled from a source buffer."""

    moves: tuple[tuple[int, int, Moves], ...]
    """(source buffer, target buffer, words)."""
    provenance: WorkProvenance
    window: int = 0
    """Of targets with steps, the step whose shards are filled."""
    seen: tuple[Storage, ...] = ()
    """For each move, its source as the operation sees it: the buffer, or a view of it."""


@dataclass(frozen=True, slots=True, eq=False)
class CopyStep:
    """Words that tiles copy from one buffer to another; all of it, if `copies` is None."""

    source: int
    target: int
    copies: Copies | None
    provenance: WorkProvenance
    window: int = 0
    """Of a target with steps, the step whose shards are filled."""
    seen: Storage | None = None
    """The source as the operation sees it, if `copies` says which words go where."""


@dataclass(frozen=True, slots=True)
class KernelStep:
    """One call on each of the first `tiles` tiles, on the shard of each buffer that it holds."""

    kernel: str
    mode: str
    operands: tuple[int, ...]
    result: int
    tiles: int
    fused: tuple[str, ...]
    numbers: tuple[float, ...]
    """What the kernel is told beside its operands."""
    provenance: WorkProvenance
    origins: tuple[Origin, ...] = ()
    """Of a kernel that picks elements out of words: where its operand's words came from."""
    window: int = 0
    """Of buffers with steps, the step whose shards they hold."""


@dataclass(frozen=True, slots=True, eq=False)
class RepeatStep:
    """`body`, `count` times, the same code each time; `sequences` go on by a block each time."""

    count: int
    body: "tuple[LowStep, ...]"
    sequences: tuple[int, ...]
    provenance: WorkProvenance


LowStep: TypeAlias = ExchangeStep | CopyStep | KernelStep | RepeatStep


@dataclass(frozen=True, slots=True, eq=False)
class TileSchedule:
    """The steps of a graph on `tiles` tiles.

    `sources` and `outputs` are names with buffers, `apart` pairs of buffers that must not share a
    memory element while both hold something.
    """

    name: str
    tiles: int
    buffers: tuple[Buffer, ...]
    sequences: tuple[Sequence, ...]
    steps: tuple[LowStep, ...]
    sources: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]
    apart: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        return "\n".join(_lines(self))


@dataclass(slots=True)
class Uses:
    """Buffers that a step reads and writes, in order."""

    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)


def uses(step: LowStep) -> Uses:
    """What a step reads and writes; of a repeat nothing: look at its body."""
    match step:
        case ExchangeStep():
            return Uses([move[0] for move in step.moves], [move[1] for move in step.moves])
        case CopyStep():
            return Uses([step.source], [step.target])
        case KernelStep():
            read = [*step.operands]
            if step.mode == ACCUMULATE:
                read.append(step.result)
            return Uses(read, [step.result])
        case RepeatStep():
            return Uses()


ACCUMULATE = "accumulate"
"""The mode of a matrix kernel that adds to its result."""


def _lines(schedule: TileSchedule) -> Iterator[str]:
    yield f'schedule "{schedule.name}" for {schedule.tiles} tiles'
    for buffer in schedule.buffers:
        where = "" if buffer.block is None else f", block of s{buffer.block.sequence}"
        yield (
            f"  {buffer} {buffer.name}: {buffer.kind.value}, {buffer.bytes} bytes on "
            f"{buffer.tiles} tiles, {buffer.memory.value}{where}"
        )
    for sequence in schedule.sequences:
        yield f"  s{sequence.id}: {sequence.count} blocks of b{sequence.blocks[0]}"
    yield from _step_lines(schedule.steps, "  ")


def _step_lines(steps: tuple[LowStep, ...], indent: str) -> Iterator[str]:
    for step in steps:
        why = f"  # {step.provenance.operation}: {step.provenance.reason}"
        match step:
            case ExchangeStep():
                moved = ", ".join(
                    f"b{source} → b{target} ({moves.sent_words:,} words)"
                    for source, target, moves in step.moves
                )
                yield f"{indent}exchange {moved}{why}"
            case CopyStep():
                yield f"{indent}copy b{step.source} → b{step.target}{why}"
            case KernelStep():
                given = (*(f"b{operand}" for operand in step.operands), *map(str, step.numbers))
                operands = ", ".join(given)
                fused = f" with {', '.join(step.fused)}" if step.fused else ""
                yield (
                    f"{indent}call {step.kernel}[{step.mode}]({operands}) → b{step.result} "
                    f"on {step.tiles} tiles{fused}{why}"
                )
            case RepeatStep():
                over = ", ".join(f"s{sequence}" for sequence in step.sequences)
                yield f"{indent}repeat {step.count} times over {over or 'nothing'}{why}"
                yield from _step_lines(step.body, indent + "  ")
