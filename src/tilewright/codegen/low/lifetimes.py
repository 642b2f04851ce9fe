"""When the buffers of a schedule hold something that is still needed.

Steps are numbered in the order of the text, bodies of repeats once. What a body finds from outside,
hands to its next iteration or leaves behind, is live throughout the repeat. A result may lie where
an operand does that the step which makes it is the last to read.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tilewright.codegen.low.schedule import (
    Buffer,
    BufferKind,
    KernelStep,
    LowStep,
    RepeatStep,
    TileSchedule,
    uses,
)
from tilewright.codegen.mid.orders import Indices

_NO_REPEAT = -1


@dataclass(frozen=True, slots=True, eq=False)
class Lifetimes:
    """Per buffer, the first and the last step in which it is live; `steps` counts all steps.

    Sources are live from step 0 on, outputs up to the last. A buffer that no step touches has
    `last` before `first`.
    """

    first: Indices
    last: Indices
    steps: int


def taken_over(schedule: TileSchedule, life: Lifetimes) -> Iterator[tuple[int, int]]:
    """Results with the operands whose memory they may have (`Buffer.may_take`), one each.

    These lie alike, the step that fills the result is the last that uses the operand, and neither
    a later iteration nor whoever reads outputs wants it.
    """
    kept = {output for _, output in schedule.outputs}
    for number, (step, repeat) in enumerate(_flat(schedule.steps, 0, _NO_REPEAT)):
        if not isinstance(step, KernelStep) or life.first[step.result] != number:
            continue
        result = schedule.buffers[step.result]
        for operand in result.may_take:
            if operand in kept or life.last[operand] != number or life.first[operand] <= repeat:
                continue
            if _lies_alike(step, schedule.buffers[operand], result):
                yield step.result, operand
                break


def _flat(steps: tuple[LowStep, ...], start: int, repeat: int) -> list[tuple[LowStep, int]]:
    """Steps in the order of their numbers, with the first of the innermost repeat around each."""
    found: list[tuple[LowStep, int]] = []
    for step in steps:
        if isinstance(step, RepeatStep):
            first = start + len(found)
            found += _flat(step.body, first, first)
        else:
            found.append((step, repeat))
    return found


def _lies_alike(step: KernelStep, operand: Buffer, result: Buffer) -> bool:
    """Whether the step finds its only use of the operand where it puts the result."""
    if step.operands.count(operand.id) != 1 or operand.block or result.block:
        return False
    if max(operand.slot.steps, result.slot.steps) > 1:
        return False
    seen = step.seen[step.operands.index(operand.id)]
    return (
        seen == operand.slot.storage == result.slot.storage == step.seen[-1]
        and operand.bytes == result.bytes
    )


@dataclass(slots=True)
class _Range:
    first: int
    last: int


def lifetimes(schedule: TileSchedule) -> Lifetimes:
    """The lifetimes of all buffers; blocks of a sequence have that of the whole sequence."""
    found: dict[int, _Range] = {}
    blocks = {sequence.blocks[-1]: sequence.blocks[:-1] for sequence in schedule.sequences}
    steps = _number(schedule.steps, 0, found, blocks)
    last_step = max(steps - 1, 0)
    for buffer in schedule.buffers:
        if buffer.kind is BufferKind.SOURCE and buffer.id in found:
            found[buffer.id].first = 0
    for _, output in schedule.outputs:
        found.setdefault(output, _Range(0, last_step)).last = last_step
    for sequence in schedule.sequences:
        ranges = [found[block] for block in sequence.blocks[:-1] if block in found]
        for each in ranges:
            each.first = min(other.first for other in ranges)
            each.last = max(other.last for other in ranges)
    none = _Range(0, -1)
    ordered = [found.get(buffer.id, none) for buffer in schedule.buffers]
    return Lifetimes(
        np.array([each.first for each in ordered], dtype=np.int64),
        np.array([each.last for each in ordered], dtype=np.int64),
        steps,
    )


def _number(
    steps: tuple[LowStep, ...],
    start: int,
    found: dict[int, _Range],
    blocks: dict[int, tuple[int, ...]],
) -> int:
    """Take in what `steps` touch, the first of them being number `start`; returns the next."""
    number = start
    for step in steps:
        if isinstance(step, RepeatStep):
            number = _repeat(step, number, found, blocks)
            continue
        used = uses(step)
        for buffer in (*used.reads, *used.writes):
            for each in blocks.get(buffer, (buffer,)):
                range_ = found.setdefault(each, _Range(number, number))
                range_.last = number
        number += 1
    return number


def _repeat(
    repeat: RepeatStep, start: int, found: dict[int, _Range], blocks: dict[int, tuple[int, ...]]
) -> int:
    before = set(found)
    inside: dict[int, _Range] = {}
    end = _number(repeat.body, start, inside, blocks)
    handed_on: set[int] = set()
    _read_before_written(repeat.body, set(), handed_on)
    for current in handed_on & set(blocks):
        handed_on.update(blocks[current])
    for buffer, range_ in inside.items():
        if buffer in before or buffer in handed_on:
            range_ = _Range(start, end - 1)
        found.setdefault(buffer, range_).last = range_.last
    return end


def _read_before_written(steps: tuple[LowStep, ...], written: set[int], found: set[int]) -> None:
    """Add buffers that `steps` read before they write them: the iteration before has."""
    for step in steps:
        if isinstance(step, RepeatStep):
            _read_before_written(step.body, written, found)
            continue
        used = uses(step)
        found.update(set(used.reads) - written)
        written.update(used.writes)
