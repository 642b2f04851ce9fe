"""Mid graphs with something wrong are refused, and the fault is named."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tilewright.cli.examples import deep_perceptron
from tilewright.codegen.mid import (
    ElementOrder,
    MemoryClass,
    MidGraph,
    MidOperation,
    MidRepeat,
    OperatorPlan,
    PipelineConfig,
    VerifyError,
    plan,
    verify,
)
from tilewright.codegen.mid.dispatch import KernelCall, OperatorDispatch


def _planned() -> MidGraph:
    return plan(deep_perceptron(24, 256, 3), PipelineConfig(tiles=64)).graph


def _body(graph: MidGraph) -> tuple[MidRepeat, MidOperation]:
    (repeat,) = (step for step in graph.steps if isinstance(step, MidRepeat))
    gemm = next(
        step for step in repeat.body if isinstance(step, MidOperation) and step.kind == "gemm"
    )
    return repeat, gemm


def _with_gemm(change: Callable[[MidOperation], MidOperation]) -> MidGraph:
    """The planned graph with its product changed."""
    graph = _planned()
    repeat, gemm = _body(graph)
    body = tuple(change(gemm) if step is gemm else step for step in repeat.body)
    steps = tuple(replace(repeat, body=body) if step is repeat else step for step in graph.steps)
    return replace(graph, steps=steps)


def _with_plan(change: Callable[[OperatorPlan], OperatorPlan]) -> MidGraph:
    def changed(step: MidOperation) -> MidOperation:
        assert step.plan is not None
        return replace(step, plan=change(step.plan))

    return _with_gemm(changed)


def _with_dispatch(change: Callable[[OperatorDispatch], OperatorDispatch]) -> MidGraph:
    return _with_plan(lambda plan: replace(plan, dispatch=change(plan.dispatch)))


def _calls(
    dispatch: OperatorDispatch, change: Callable[[KernelCall], KernelCall]
) -> OperatorDispatch:
    steps = tuple(change(step) if isinstance(step, KernelCall) else step for step in dispatch.steps)
    return replace(dispatch, steps=steps)


def test_a_planned_graph_is_valid() -> None:
    verify(_planned())


def test_a_plan_is_needed() -> None:
    with pytest.raises(VerifyError, match="gemm of layer has no plan"):
        verify(_with_gemm(lambda step: replace(step, plan=None)))


def test_operands_are_made_before() -> None:
    def changed(step: MidOperation) -> MidOperation:
        return replace(step, operands=(replace(step.operands[0], id=999), step.operands[1]))

    with pytest.raises(VerifyError, match="uses %999, which is not made before"):
        verify(_with_gemm(changed))


def test_shapes_are_those_of_the_operator() -> None:
    def changed(step: MidOperation) -> MidOperation:
        return replace(step, operands=(step.operands[0], step.operands[0]))

    with pytest.raises(VerifyError, match="inner extents differ"):
        verify(_with_gemm(changed))


def test_slots_are_where_the_operands_are() -> None:
    def changed(dispatch: OperatorDispatch) -> OperatorDispatch:
        slots = tuple(
            replace(slot, storage=dispatch.slot("result").storage)
            if slot.name == "operand 1"
            else slot
            for slot in dispatch.slots
        )
        return replace(dispatch, slots=slots)

    with pytest.raises(VerifyError, match="operand 1 lies otherwise than its slot"):
        verify(_with_dispatch(changed))


def test_the_matrix_engine_takes_its_own_orders() -> None:
    def changed(dispatch: OperatorDispatch) -> OperatorDispatch:
        slots = []
        for slot in dispatch.slots:
            if slot.name in ("left", "right"):
                format = slot.storage.format.with_order(ElementOrder.ROW_MAJOR)
                slot = replace(slot, storage=replace(slot.storage, format=format))
            slots.append(slot)
        return replace(dispatch, slots=tuple(slots))

    with pytest.raises(VerifyError, match="operand of gemm_f16 is in order row"):
        verify(_with_dispatch(changed))


def test_results_of_the_matrix_engine_lie_in_interleaved_memory() -> None:
    def changed(dispatch: OperatorDispatch) -> OperatorDispatch:
        slots = []
        for slot in dispatch.slots:
            format = replace(slot.storage.format, memory=MemoryClass.STANDARD)
            inside = slot.name == "sums"
            slots.append(
                replace(slot, storage=replace(slot.storage, format=format)) if inside else slot
            )
        return replace(dispatch, slots=tuple(slots))

    with pytest.raises(VerifyError, match="does not lie in interleaved memory"):
        verify(_with_dispatch(changed))


def test_kernels_and_modes_are_in_the_catalogue() -> None:
    unknown = _with_dispatch(lambda d: _calls(d, lambda call: replace(call, kernel="gem_f16")))
    with pytest.raises(VerifyError, match="there is no kernel gem_f16"):
        verify(unknown)
    wrong = _with_dispatch(lambda d: _calls(d, lambda call: replace(call, modes=("twice",))))
    with pytest.raises(VerifyError, match="has no mode 'twice'"):
        verify(wrong)


def test_slots_are_filled_before_they_are_read() -> None:
    def changed(dispatch: OperatorDispatch) -> OperatorDispatch:
        return replace(dispatch, steps=dispatch.steps[1:])

    with pytest.raises(VerifyError, match="is read before it is filled"):
        verify(_with_dispatch(changed))


def test_something_makes_the_result() -> None:
    def changed(dispatch: OperatorDispatch) -> OperatorDispatch:
        return replace(dispatch, steps=dispatch.steps[:-1])

    with pytest.raises(VerifyError, match="nothing makes the result"):
        verify(_with_dispatch(changed))


def test_carried_values_stay_where_they_are() -> None:
    graph = _planned()
    repeat, gemm = _body(graph)
    carried = replace(repeat.carried[0], yielded=gemm.operands[1])
    steps = tuple(
        replace(repeat, carried=(carried,)) if step is repeat else step for step in graph.steps
    )
    with pytest.raises(VerifyError, match="does not stay where it is"):
        verify(replace(graph, steps=steps))


def test_no_slot_needs_more_tiles_than_there_are() -> None:
    with pytest.raises(VerifyError, match="tiles of 2"):
        verify(replace(_planned(), tiles=2))
