"""Moves of a planned graph as phases: on the emulated chip, and beside what the plan predicted."""

import pytest

from tests.codegen.low.test_moves import GRAPHS, moves_of
from tests.exchange.on_chip import assert_carried_out
from tilewright.codegen.low import Placed, exchange_phase, gathered, scattered
from tilewright.codegen.mid import Gather, OperatorDispatch, Scatter, Step
from tilewright.exchange import ExchangePhase, check, encode, schedule
from tilewright.target.geometry import REGION1_BASE

SOURCES, TARGETS, APART = 0x5C000, REGION1_BASE, 0x8000


def phase_of(dispatch: OperatorDispatch, step: Step, window: int) -> ExchangePhase:
    """Each tensor in memory elements of its own."""
    placed = []
    if isinstance(step, Scatter):
        source, arriving = (dispatch.slot(name).storage for name in (step.source, step.arriving))
        placed.append(Placed(scattered(source, arriving), SOURCES, TARGETS))
        others = step.extra
    else:
        assert isinstance(step, Gather)
        others = step.moves
    for number, (name, target) in enumerate(others, start=1):
        moves = gathered(dispatch.slot(name).storage, dispatch.slot(target), window)
        places = (SOURCES + number * APART, TARGETS + number * APART)
        placed.append(Placed(moves, *places))
    return exchange_phase(placed)


@pytest.mark.parametrize("name", GRAPHS)
def test_phases_carry_out_on_the_chip(name: str) -> None:
    for dispatch, step, window in moves_of(GRAPHS[name], 24):
        phase = phase_of(dispatch, step, window)
        rows = encode(schedule(phase))
        check(rows)
        assert_carried_out(phase, rows)
