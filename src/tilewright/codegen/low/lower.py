"""From a planned graph to what tiles do: `lower`."""

from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from tilewright.codegen.low.moves import Moves, Origin, Part, gathered, scattered
from tilewright.codegen.low.schedule import (
    Block,
    Buffer,
    BufferKind,
    CopyStep,
    ExchangeStep,
    KernelStep,
    LowStep,
    RepeatStep,
    Sequence,
    TileSchedule,
)
from tilewright.codegen.mid import (
    Gather,
    KernelCall,
    Loop,
    MidGraph,
    MidOperation,
    MidRepeat,
    MidStep,
    MidValue,
    OperatorDispatch,
    Scatter,
    Slot,
    Step,
    Storage,
    WorkProvenance,
    walk_steps,
)
from tilewright.tracing import span


def lower(graph: MidGraph) -> TileSchedule:
    """The schedule of a planned graph. Groups of tiles start at tile 0.

    Raises `LoweringError` for words that the exchange cannot move.
    """
    with span("codegen.low.lower") as this:
        schedule = _Lowering(graph).schedule()
        this.set(buffers=len(schedule.buffers), steps=len(schedule.steps))
    return schedule


class _Lowering:
    def __init__(self, graph: MidGraph) -> None:
        self._graph = graph
        self._buffers: list[Buffer] = []
        self._sequences: list[Sequence] = []
        self._of_value: dict[int, int] = {}
        self._apart: dict[tuple[int, int], None] = {}
        self._roots = _roots(graph)
        self._reads = _reads(graph, self._roots)
        self._own: set[int] = set()
        """Buffers that hold what the region being lowered has made, or carries."""
        self._along: list[int] = []
        """Sequences that the repeats around go along."""

    def schedule(self) -> TileSchedule:
        sources = [
            (source.name, self._define(source.value, BufferKind.SOURCE).id)
            for source in self._graph.sources
        ]
        steps = self._lower(self._graph.steps)
        outputs = [(name, self._of_value[value.id]) for name, value in self._graph.outputs]
        return TileSchedule(
            self._graph.name,
            self._graph.tiles,
            tuple(self._buffers),
            tuple(self._sequences),
            tuple(steps),
            tuple(sources),
            tuple(outputs),
            tuple(self._apart),
        )

    # buffers

    def _define(self, value: MidValue, kind: BufferKind) -> Buffer:
        slot = Slot(value.name or str(value), value.storage)
        buffer = self._new(slot, kind, value.origin)
        self._of_value[value.id] = buffer.id
        self._own.add(buffer.id)
        return buffer

    def _new(self, slot: Slot, kind: BufferKind, value: int) -> Buffer:
        buffer = Buffer(len(self._buffers), slot, kind, value)
        self._buffers.append(buffer)
        return buffer

    def _buffer(self, value: MidValue) -> Buffer:
        return self._buffers[self._of_value[value.id]]

    # steps

    def _lower(self, steps: tuple[MidStep, ...]) -> list[LowStep]:
        found: list[LowStep] = []
        for step in steps:
            if isinstance(step, MidRepeat):
                found += self._repeat(step)
            elif step.plan is None:
                self._of_value[step.result.id] = self._of_value[step.operands[0].id]
            else:
                found += self._operation(step)
            for value in _operands(step):
                self._reads[self._roots.get(value.id, value.id)] -= 1
        return found

    def _operation(self, operation: MidOperation) -> Iterator[LowStep]:
        plan = operation.plan
        assert plan is not None
        dispatch = plan.dispatch
        result = self._define(operation.result, BufferKind.VALUE)
        result.may_take = tuple(
            self._of_value[operation.operands[index].id] for index in plan.aliases
        )
        named = {f"operand {i}": self._buffer(v) for i, v in enumerate(operation.operands)}
        named["result"] = result
        for slot in dispatch.work_slots():
            named[slot.name] = self._new(slot, BufferKind.WORK, operation.result.origin)
        for index, (alignment, tail) in enumerate(
            zip(plan.alignments, plan.access_tails, strict=True)
        ):
            _ask(named[f"operand {index}"], alignment, tail)
        for first, second in plan.apart:
            self._keep_apart(named[first], named[second])
        work = _Work(self, dispatch, named, operation.provenance)
        yield from work.steps(dispatch.steps, 0)

    def _keep_apart(self, first: Buffer, second: Buffer) -> None:
        self._apart[(min(first.id, second.id), max(first.id, second.id))] = None

    # repeats

    def _repeat(self, repeat: MidRepeat) -> Iterator[LowStep]:
        for carried in repeat.carried:
            yield from self._enter(carried.initial, carried.argument, repeat.provenance)
        for outer, argument in repeat.invariants:
            self._of_value[argument.id] = self._of_value[outer.id]
        sequences: list[int] = []
        for iterated in repeat.sequences:
            number = yield from self._sequence(
                iterated.values, iterated.argument, repeat.provenance
            )
            sequences.append(number)
        self._along += sequences
        outside, self._own = self._own, {self._buffer(each.argument).id for each in repeat.carried}
        body = self._lower(repeat.body)
        body += self._hand_on(repeat)
        self._own = outside
        del self._along[len(self._along) - len(sequences) :]
        for carried in repeat.carried:
            self._of_value[carried.result.id] = self._of_value[carried.argument.id]
        yield RepeatStep(
            repeat.count, tuple(body), tuple(dict.fromkeys(sequences)), repeat.provenance
        )

    def _enter(
        self, initial: MidValue, argument: MidValue, why: WorkProvenance
    ) -> Iterator[LowStep]:
        """A carried value lies where it lay before, unless that is needed afterwards."""
        buffer = self._buffer(initial)
        is_last = self._reads[self._roots.get(initial.id, initial.id)] == 1
        if is_last and buffer.id in self._own and buffer.kind is not BufferKind.SOURCE:
            self._of_value[argument.id] = buffer.id
            return
        own = self._define(argument, BufferKind.VALUE)
        yield CopyStep(buffer.id, own.id, None, why)

    def _hand_on(self, repeat: MidRepeat) -> Iterator[LowStep]:
        """What the body yields goes to where the next iteration looks for it.

        What is yielded in the place of another argument is set aside first.
        """
        why = repeat.provenance
        arguments = [self._buffer(each.argument).id for each in repeat.carried]
        pending = []
        for carried, argument in zip(repeat.carried, arguments, strict=True):
            yielded = self._buffer(carried.yielded).id
            if yielded == argument:
                continue
            if yielded in arguments:
                slot = Slot(f"{carried.yielded.name} aside", carried.yielded.storage)
                aside = self._new(slot, BufferKind.WORK, carried.yielded.origin)
                yield CopyStep(yielded, aside.id, None, why)
                yielded = aside.id
            pending.append(CopyStep(yielded, argument, None, why))
        yield from pending

    def _sequence(
        self, values: tuple[MidValue, ...], argument: MidValue, why: WorkProvenance
    ) -> Generator[LowStep, None, int]:
        """The number of the sequence that a repeat goes along; values that cannot be its blocks
        are copied."""
        blocks = [self._buffer(value) for value in values]
        known = self._known_sequence(blocks)
        if known is not None:
            self._of_value[argument.id] = known.blocks[-1]
            return known.id
        number = len(self._sequences)
        for place, block in enumerate(blocks):
            if block.block is not None:
                blocks[place] = self._new(block.slot, BufferKind.VALUE, block.value)
                yield CopyStep(block.id, blocks[place].id, None, why)
            blocks[place].block = Block(number, place)
        current = self._define(argument, blocks[0].kind)
        current.block = Block(number, None)
        identities = (*(block.id for block in blocks), current.id)
        self._sequences.append(Sequence(number, len(values), identities))
        return number

    def _known_sequence(self, blocks: list[Buffer]) -> Sequence | None:
        """The sequence of these blocks, if there is one and no repeat around goes along it."""
        first = blocks[0].block
        if first is None or first.sequence in self._along:
            return None
        known = self._sequences[first.sequence]
        return known if known.blocks[:-1] == tuple(block.id for block in blocks) else None


@dataclass(frozen=True, slots=True)
class _Move:
    """Words that fill a buffer from another, which is seen as `seen`."""

    source: Buffer
    seen: Storage
    target: Buffer
    moves: Moves


class _Work:
    """The steps of one operation."""

    def __init__(
        self,
        lowering: _Lowering,
        dispatch: OperatorDispatch,
        named: dict[str, Buffer],
        provenance: WorkProvenance,
    ) -> None:
        self._lowering = lowering
        self._dispatch = dispatch
        self._named = named
        self._provenance = provenance
        self._origins: dict[str, tuple[Origin, ...]] = {}
        """Of slots that have a word for each element of a finer source."""

    def steps(self, steps: tuple[Step, ...], window: int) -> Iterator[LowStep]:
        for step in steps:
            match step:
                case Loop():
                    # Each time, other tiles hold what is gathered: rows differ.
                    for each in range(step.count):
                        yield from self.steps(step.body, each)
                case Gather():
                    parts = list(self._parts(step.moves))
                    self._remember(step.moves, parts)
                    moves = [
                        self._gathered(*move, window, part)
                        for move, part in zip(step.moves, parts, strict=True)
                    ]
                    yield from self._exchange(moves, window)
                case Scatter():
                    moves = [self._scattered(step.source, step.arriving)]
                    moves += [self._gathered(*move, window) for move in step.extra]
                    yield from self._exchange(moves, window)
                case KernelCall():
                    yield self._call(step, window)

    def _remember(self, moves: tuple[tuple[str, str], ...], parts: list[Part | None]) -> None:
        for (source, target), part in zip(moves, parts, strict=True):
            of, to = self._dispatch.slot(source).storage, self._dispatch.slot(target).storage
            if of.format.precision.bytes < to.format.precision.bytes:
                self._origins[target] = (*self._origins.get(target, ()), Origin(of, part))

    def _parts(self, moves: tuple[tuple[str, str], ...]) -> Iterator[Part | None]:
        """What each move fills: parts of a concatenation one after the other."""
        start = 0
        for source, target in moves:
            part = self._dispatch.slot(source).storage.shape
            whole = self._dispatch.slot(target).storage.shape
            axes = [
                axis
                for axis, pair in enumerate(zip(part, whole, strict=True))
                if pair[0] != pair[1]
            ]
            if not axes:
                yield None
                continue
            (axis,) = axes
            yield Part(axis, start, part[axis])
            start += part[axis]

    def _gathered(self, source: str, target: str, window: int, part: Part | None = None) -> _Move:
        slots = self._dispatch.slot(source), self._dispatch.slot(target)
        moves = gathered(slots[0].storage, slots[1], window, part)
        return _Move(self._named[source], slots[0].storage, self._named[target], moves)

    def _scattered(self, source: str, target: str) -> _Move:
        slots = self._dispatch.slot(source), self._dispatch.slot(target)
        moves = scattered(slots[0].storage, slots[1].storage)
        return _Move(self._named[source], slots[0].storage, self._named[target], moves)

    def _exchange(self, moves: list[_Move], window: int) -> Iterator[LowStep]:
        for each in moves:
            copies = each.moves.copies
            if len(copies.tile):
                yield CopyStep(
                    each.source.id, each.target.id, copies, self._provenance, window, each.seen
                )
        sent = [each for each in moves if len(each.moves.words)]
        if not sent:
            return
        for source in sent:
            for target in sent:
                self._lowering._keep_apart(source.source, target.target)
        identified = tuple((each.source.id, each.target.id, each.moves) for each in sent)
        yield ExchangeStep(identified, self._provenance, window, tuple(each.seen for each in sent))

    def _call(self, call: KernelCall, window: int) -> KernelStep:
        mode = call.modes[0] if window == 0 else call.modes[-1]
        result = self._named[call.result]
        return KernelStep(
            call.kernel,
            mode,
            tuple(self._named[name].id for name in call.operands),
            result.id,
            result.tiles,
            call.fused,
            call.numbers,
            self._provenance,
            self._origins.get(call.operands[0], ()),
            window,
            tuple(self._dispatch.slot(name).storage for name in (*call.operands, call.result)),
        )


def _ask(buffer: Buffer, alignment: int, tail: int) -> None:
    buffer.alignment = max(buffer.alignment, alignment)
    buffer.tail = max(buffer.tail, tail)


def _operands(step: MidStep) -> Iterator[MidValue]:
    if isinstance(step, MidOperation):
        yield from step.operands
        return
    for carried in step.carried:
        yield carried.initial
    for outer, _ in step.invariants:
        yield outer
    for iterated in step.sequences:
        yield from iterated.values


def _roots(graph: MidGraph) -> dict[int, int]:
    """For values that are others seen in another way, or from inside a repeat, those others."""
    roots: dict[int, int] = {}
    for step, _ in walk_steps(graph.steps):
        if isinstance(step, MidRepeat):
            same = [(outer, argument) for outer, argument in step.invariants]
        elif step.plan is None:
            same = [(step.operands[0], step.result)]
        else:
            continue
        for value, seen in same:
            roots[seen.id] = roots.get(value.id, value.id)
    return roots


def _reads(graph: MidGraph, roots: dict[int, int]) -> Counter[int]:
    """How often each value is read, under whichever name."""
    values = [value for _, value in graph.outputs]
    for step, _ in walk_steps(graph.steps):
        values += _operands(step)
        if isinstance(step, MidRepeat):
            values += [carried.yielded for carried in step.carried]
    return Counter(roots.get(value.id, value.id) for value in values)
