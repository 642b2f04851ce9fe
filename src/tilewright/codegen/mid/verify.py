"""The rules of a mid graph, and who breaks them."""

from collections.abc import Iterator

from tilewright.codegen.mid.dispatch import (
    Gather,
    KernelCall,
    Loop,
    OperatorDispatch,
    Scatter,
    Slot,
    Step,
)
from tilewright.codegen.mid.faults import FormatError, VerifyError
from tilewright.codegen.mid.formats import MemoryClass
from tilewright.codegen.mid.kernels import CATALOGUE
from tilewright.codegen.mid.midgraph import (
    VIEW,
    MidGraph,
    MidOperation,
    MidRepeat,
    MidStep,
    MidValue,
)
from tilewright.codegen.mid.orders import ElementOrder, Precision
from tilewright.codegen.mid.storage import moves_whole_words
from tilewright.graph import DType, NumberFormat, OperatorError, ValueType

_LEFT = (ElementOrder.LEFT, ElementOrder.LEFT_TRANSPOSED)
_RIGHT = (ElementOrder.RIGHT, ElementOrder.RIGHT_TRANSPOSED)
_DTYPES = {
    Precision.F8F143: DType.F8F143,
    Precision.F16: DType.F16,
    Precision.F32: DType.F32,
    Precision.I32: DType.I32,
}


def verify(graph: MidGraph) -> None:
    """Raise VerifyError that lists every broken rule."""
    faults = list(find_faults(graph))
    if faults:
        lines = [f'planned graph "{graph.name}" is not valid:', *("  " + each for each in faults)]
        raise VerifyError("\n".join(lines))


def find_faults(graph: MidGraph) -> Iterator[str]:
    """One line for each broken rule."""
    known: dict[int, MidValue] = {}
    for source in graph.sources:
        yield from _define(known, source.value, graph.tiles)
    yield from _region(graph.steps, known, graph.tiles)
    for name, value in graph.outputs:
        if value.id not in known:
            yield f'output "{name}" is {value}, which nothing makes'


def _define(known: dict[int, MidValue], value: MidValue, tiles: int) -> Iterator[str]:
    if value.id in known:
        yield f"{value} is made twice"
    known[value.id] = value
    try:
        layout = value.storage.layout
    except FormatError as fault:
        yield f"{value}: {fault}"
        return
    if layout.format.tiles > tiles:
        yield f"{value} lies on {layout.format.tiles} tiles of {tiles}"


def _region(steps: tuple[MidStep, ...], known: dict[int, MidValue], tiles: int) -> Iterator[str]:
    for step in steps:
        if isinstance(step, MidRepeat):
            yield from _repeat(step, known, tiles)
            continue
        for operand in step.operands:
            if known.get(operand.id) != operand:
                yield f"{_name(step)} uses {operand}, which is not made before"
        yield from _define(known, step.result, tiles)
        yield from _operation(step, tiles)


def _repeat(repeat: MidRepeat, known: dict[int, MidValue], tiles: int) -> Iterator[str]:
    where = repeat.provenance.operation
    inner: dict[int, MidValue] = {}
    if repeat.count < 1:
        yield f"{where} repeats {repeat.count} times"
    for carried in repeat.carried:
        four = (carried.initial, carried.argument, carried.yielded, carried.result)
        if len({value.storage for value in four}) > 1:
            yield f"{where}: the carried value {carried.argument} does not stay where it is"
        yield from _define(inner, carried.argument, tiles)
    pairs = [*repeat.invariants]
    for sequence in repeat.sequences:
        if len(sequence.values) != repeat.count:
            yield f"{where}: a sequence has {len(sequence.values)} values"
        pairs += [(value, sequence.argument) for value in sequence.values]
    for outer, argument in pairs:
        if outer.storage != argument.storage:
            yield f"{where}: {argument} is given {outer}, which lies otherwise"
    for outer in [pair[0] for pair in pairs] + [each.initial for each in repeat.carried]:
        if outer.id not in known:
            yield f"{where} uses {outer}, which is not made before"
    arguments = [inside for _, inside in repeat.invariants]
    arguments += [sequence.argument for sequence in repeat.sequences]
    for argument in arguments:
        yield from _define(inner, argument, tiles)
    yield from _region(repeat.body, inner, tiles)
    for carried in repeat.carried:
        if carried.yielded.id not in inner:
            yield f"{where} yields {carried.yielded}, which its body does not make"
        yield from _define(known, carried.result, tiles)


def _name(step: MidOperation) -> str:
    return f"{step.kind} of {step.provenance.operation}"


def _operation(step: MidOperation, tiles: int) -> Iterator[str]:
    yield from _types(step)
    if step.kind == VIEW:
        if step.result.storage.layout != step.operands[0].storage.layout:
            yield f"{_name(step)} moves its operand"
        return
    if step.plan is None:
        yield f"{_name(step)} has no plan"
        return
    for fault in _dispatch(step, step.plan.dispatch, tiles):
        yield f"{_name(step)}: {fault}"


def _types(step: MidOperation) -> Iterator[str]:
    """Whether the operator makes of its operands what the result is said to be."""
    result = step.result.storage
    if step.operator is None:
        if step.operands[0].storage.shape != result.shape:
            yield f"{_name(step)} changes the shape"
        return
    first = step.operands
    if step.epilogues:
        first = first[: min(each.operand or len(first) for each in step.epilogues)]
    types = []
    for operand in first:
        format = operand.storage.format
        number = NumberFormat(_DTYPES[format.precision], format.scale)
        types.append(ValueType(number, operand.storage.shape))
    try:
        made = step.operator.infer(types)
    except OperatorError as fault:
        yield f"{_name(step)}: {fault}"
        return
    if made.shape != result.shape:
        yield f"{_name(step)} makes {list(made.shape)}, stored as {list(result.shape)}"


# dispatches


def _dispatch(step: MidOperation, dispatch: OperatorDispatch, tiles: int) -> Iterator[str]:
    slots = {slot.name: slot for slot in dispatch.slots}
    if len(slots) != len(dispatch.slots):
        yield "two slots have one name"
    for index, operand in enumerate(step.operands):
        slot = slots.get(f"operand {index}")
        if slot is None or slot.storage != operand.storage:
            yield f"operand {index} lies otherwise than its slot"
    result = slots.get("result")
    if result is None or result.storage != step.result.storage:
        yield "the result lies otherwise than its slot"
    for slot in dispatch.slots:
        try:
            _ = slot.storage.layout
        except FormatError as fault:
            yield f"slot {slot.name}: {fault}"
            return
        if slot.tiles > tiles:
            yield f"slot {slot.name} lies on {slot.tiles} tiles of {tiles}"
    filled = {name for name in slots if name.startswith("operand ")}
    yield from _steps(dispatch.steps, slots, filled)
    if "result" not in filled:
        yield "nothing makes the result"


def _steps(steps: tuple[Step, ...], slots: dict[str, Slot], filled: set[str]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Loop):
            if step.count < 2:
                yield f"a loop of {step.count}"
            yield from _steps(step.body, slots, filled)
            continue
        reads, writes = _accesses(step)
        for name in (*reads, *writes):
            if name not in slots:
                yield f"there is no slot {name}"
                return
        for name in reads:
            if name not in filled:
                yield f"slot {name} is read before it is filled"
        filled.update(writes)
        if isinstance(step, KernelCall):
            yield from _call(step, slots)
        elif isinstance(step, Gather):
            yield from _gather(step, slots)
        else:
            yield from _scatter(step, slots)


def _accesses(step: Gather | Scatter | KernelCall) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if isinstance(step, Gather):
        return tuple(a for a, _ in step.moves), tuple(b for _, b in step.moves)
    if isinstance(step, Scatter):
        reads = (step.source, *(a for a, _ in step.extra))
        return reads, (step.arriving, *(b for _, b in step.extra))
    return step.operands, (step.result,)


def _call(call: KernelCall, slots: dict[str, Slot]) -> Iterator[str]:
    spec = CATALOGUE.get(call.kernel)
    if spec is None:
        yield f"there is no kernel {call.kernel}"
        return
    for mode in call.modes:
        if mode not in spec.modes:
            yield f"kernel {call.kernel} has no mode '{mode}'"
    if spec.results_interleaved:
        yield from _matrix_roles(call, slots)


def _matrix_roles(call: KernelCall, slots: dict[str, Slot]) -> Iterator[str]:
    left, right = (slots[name].storage.format for name in call.operands[:2])
    compute = Precision(call.kernel.removeprefix("gemm_"))
    if left.order not in _LEFT and not _is_left_too(left.order, compute):
        yield f"the left operand of {call.kernel} is in order {left.order.value}"
    if right.order not in _RIGHT:
        yield f"the right operand of {call.kernel} is in order {right.order.value}"
    if slots[call.result].storage.format.memory is not MemoryClass.INTERLEAVED:
        yield f"the result of {call.kernel} does not lie in interleaved memory"
    for name, format in (("left", left), ("right", right)):
        if format.precision is not compute or format.packing is not compute:
            yield f"the {name} operand of {call.kernel} is {format.precision.value}"


def _is_left_too(order: ElementOrder, compute: Precision) -> bool:
    """An f16 result has the order of a left operand."""
    outputs = (ElementOrder.OUTPUT, ElementOrder.OUTPUT_TRANSPOSED)
    return compute is Precision.F16 and order in outputs


def _gather(gather: Gather, slots: dict[str, Slot]) -> Iterator[str]:
    for source, target in gather.moves:
        here, there = slots[source].storage, slots[target].storage
        if here.shape != there.shape or here.format.precision is not there.format.precision:
            continue  # parts of a concatenation; elements moved with the word around them
        if not moves_whole_words(here, there):
            yield f"the exchange cannot move {source} to {target}: words part"


def _scatter(scatter: Scatter, slots: dict[str, Slot]) -> Iterator[str]:
    source, arriving = slots[scatter.source], slots[scatter.arriving]
    if source.terms < 2 or arriving.shape[0] != source.terms - 1:
        yield f"{source.terms} terms do not arrive in {arriving.shape[0]} places"
