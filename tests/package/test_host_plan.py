"""What follows from a host plan."""

from dataclasses import replace

from tests.package import examples
from tilewright.package import HostPlan

PLAN = examples.application().host


def test_rows_of_calls_and_batches() -> None:
    assert [PLAN.batches_of(call) for call in range(2)] == [range(2), range(2, 4)]
    assert [PLAN.slices_of(batch) for batch in range(4)] == [
        range(1),
        range(1, 2),
        range(2, 3),
        range(3, 5),
    ]


def test_phases() -> None:
    """Entry and completion of each batch; the last completion of a run is left to the host."""
    assert [PLAN.phases(call) for call in range(2)] == [4, 3]
    closed = replace(PLAN, calls=tuple(replace(call, ends_open=False) for call in PLAN.calls))
    assert [closed.phases(call) for call in range(2)] == [4, 4]
    idle = HostPlan(calls=(replace(PLAN.calls[1], name="idle"),))
    assert idle.phases(0) == 0


def test_pages_used_again() -> None:
    assert PLAN.reuses_pages(0)
    assert not PLAN.reuses_pages(1)
    apart = replace(PLAN, slices=replace(PLAN.slices, page_offset=[0, 512, 0, 1024, 2048]))
    assert not apart.reuses_pages(0)
    other_page = replace(PLAN, slices=replace(PLAN.slices, page=[0, 1, 1, 1, 1]))
    assert not other_page.reuses_pages(0)
