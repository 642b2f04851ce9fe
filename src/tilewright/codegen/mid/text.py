"""A mid graph as text, for people and for tests of the planner."""

from collections.abc import Iterator

from tilewright.codegen.mid.dispatch import (
    Gather,
    KernelCall,
    Loop,
    OperatorDispatch,
    Scatter,
    Step,
)
from tilewright.codegen.mid.midgraph import MidGraph, MidOperation, MidRepeat, MidStep, MidValue


def print_mid(graph: MidGraph) -> str:
    """Sources, steps with formats, predicted cycles and candidate, outputs."""
    lines = [f'mid "{graph.name}" for {graph.tiles} tiles']
    for source in graph.sources:
        kind = source.kind.value if source.kind is not None else "constant"
        prepared = "".join(f" {view.mnemonic}" for view in source.prepared)
        lines.append(f'  {kind} "{source.name}"{prepared}: {_defined(source.value)}')
    lines += [f"  {line}" for line in _steps(graph.steps)]
    lines += [f'  output "{name}" = {value}' for name, value in graph.outputs]
    return "\n".join(lines) + "\n"


def print_dispatch(dispatch: OperatorDispatch) -> str:
    """Slots with their storage, then the steps."""
    lines = []
    for slot in dispatch.slots:
        extra = f", {slot.steps} steps" if slot.steps > 1 else ""
        extra += f", {slot.terms} terms" if slot.terms > 1 else ""
        shape = "×".join(map(str, slot.shape)) or "1"
        lines.append(f"{slot.name}: {shape} {slot.storage}, {slot.tile_bytes} bytes{extra}")
    return "\n".join([*lines, *_dispatch_steps(dispatch.steps)]) + "\n"


def _defined(value: MidValue) -> str:
    name = f' "{value.name}"' if value.name else ""
    shape = "×".join(map(str, value.storage.shape)) or "1"
    return f"{value}{name} {shape} {value.storage}"


def _steps(steps: tuple[MidStep, ...]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, MidRepeat):
            yield from _repeat(step)
        else:
            yield _operation(step)


def _operation(step: MidOperation) -> str:
    operands = ", ".join(map(str, step.operands))
    kind = step.kind
    for epilogue in step.epilogues:
        kind += f"+{epilogue.operator.mnemonic}"
    text = f"{_defined(step.result)} = {kind}({operands})"
    if step.plan is None:
        return text
    return f"{text}  # {step.plan.candidate}: {step.plan.cost.total:,.0f} cycles"


def _repeat(repeat: MidRepeat) -> Iterator[str]:
    yield f'repeat {repeat.count} "{repeat.provenance.operation}"'
    for carried in repeat.carried:
        yield f"  carried {_defined(carried.argument)} from {carried.initial}"
    for outer, argument in repeat.invariants:
        yield f"  invariant {_defined(argument)} = {outer}"
    for sequence in repeat.sequences:
        values = ", ".join(map(str, sequence.values))
        yield f"  each {_defined(sequence.argument)} of {values}"
    for line in _steps(repeat.body):
        yield f"  {line}"
    for carried in repeat.carried:
        yield f"  yield {carried.yielded}; in the end {carried.result}"


def _dispatch_steps(steps: tuple[Step, ...]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Loop):
            yield f"loop {step.count}"
            yield from (f"  {line}" for line in _dispatch_steps(step.body))
        elif isinstance(step, Gather):
            moves = ", ".join(f"{a} → {b}" for a, b in step.moves)
            paired = f" (64-bit: {', '.join(step.paired)})" if step.paired else ""
            yield f"gather {moves}{paired}"
        elif isinstance(step, Scatter):
            extra = "".join(f", {a} → {b}" for a, b in step.extra)
            yield f"scatter {step.source} → {step.arriving}{extra}"
        else:
            yield _call(step)


def _call(call: KernelCall) -> str:
    modes = "/".join(call.modes)
    fused = f" with {', '.join(call.fused)}" if call.fused else ""
    given = (*call.operands, *map(str, call.numbers))
    return f"call {call.kernel}[{modes}]({', '.join(given)}) → {call.result}{fused}"
