"""What the host does: marks of sync groups, and memory that it attaches."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.emulator.chip.host_programs import Bed
from tilewright.emulator.chip import End
from tilewright.emulator.host_port import HostLink
from tilewright.errors import TilewrightError


def run_marks(text: str) -> Bed:
    """All tiles run the same."""
    return Bed().load({}, text)


def passed(made: Bed) -> int:
    """Barriers that tiles have passed when they next wait for the host."""
    outcome = made.chip.run()
    assert outcome.end in (End.HOST, End.STOPPED), str(outcome)
    return int(made.chip.state(0)["supervisor"]["m"][2])


def barriers(zone: int, count: int) -> str:
    return f"sync {zone}\n add $m2, $m2, 1\n" * count


def test_a_loader_pass_of_23_batches_and_a_sentinel() -> None:
    """24 barriers per pass. The host fills the next batch only when the last one is held; 23 at the
    end lets all but the last of the second pass complete; the session's 1 lets that go."""
    made = run_marks(barriers(5, 48))
    link = made.link
    assert passed(made) == 0
    for batch in range(23):
        assert link.mark(1) == 0
        link.set_mark(1, 1)
        assert link.mark(1) == 1, "the tiles have not come to the next barrier yet"
        assert passed(made) == batch + 1
    link.set_mark(1, 1)
    assert passed(made) == 24
    assert link.mark(1) == 0
    link.set_mark(1, 23)
    assert passed(made) == 47
    assert link.mark(1) == 0
    link.set_mark(1, 1)
    assert passed(made) == 48
    assert made.chip.run().end is End.STOPPED


def test_a_session_start_and_a_call_of_two_phases() -> None:
    """The last barrier of the loader is of group 1, those of the application of group 2."""
    text = barriers(5, 1) + barriers(7, 4)
    made = run_marks(text)
    link = made.link
    assert passed(made) == 0
    assert (link.mark(1), link.mark(2)) == (0, 0)
    link.set_mark(1, 1)
    assert passed(made) == 1, "the application waits in its first barrier with the host"
    link.set_mark(2, 1)
    assert passed(made) == 2
    for phase in range(2):
        assert link.mark(2) == 0
        link.set_mark(2, 1)
        assert passed(made) == 3 + phase
    assert link.mark(1) == 1, "of group 1 nobody asks any more"


def test_a_mark_that_is_there_already_lets_barriers_pass() -> None:
    """A mark of 3 before any barrier: two pass, the third is held."""
    made = run_marks(barriers(7, 4))
    made.link.set_mark(2, 3)
    assert passed(made) == 2
    assert made.link.mark(2) == 0


def test_a_mark_of_zero_lets_nothing_go() -> None:
    made = run_marks(barriers(7, 3))
    assert passed(made) == 0
    made.link.set_mark(2, 0)
    assert passed(made) == 0
    made.link.set_mark(2, 2)
    assert passed(made) == 2, "one is let go, and one passes with the 2"
    made.link.set_mark(2, 0)
    assert passed(made) == 2


def test_the_mark_of_another_group_lets_nothing_go() -> None:
    made = run_marks(barriers(7, 1))
    made.link.set_mark(1, 1)
    assert passed(made) == 0


@pytest.mark.parametrize("zone", [4, 6])
def test_groups_without_the_host_need_no_mark(zone: int) -> None:
    made = run_marks(barriers(zone, 1))
    assert passed(made) == 1


@pytest.mark.parametrize(("group", "value"), [(0, 1), (3, 1), (1, -1), (2, 0x10000)])
def test_marks_that_there_are_not(group: int, value: int) -> None:
    with pytest.raises(TilewrightError, match=r"group|a mark of"):
        HostLink().set_mark(group, value)


# -- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "memory", "cause"),
    [
        (0x800, np.zeros(0x1000, np.uint8), "multiples of 4096"),
        (0, np.zeros(0x800, np.uint8), "in pages of 4096"),
        (0, np.zeros(0, np.uint8), "in pages of 4096"),
        (1 << 27, np.zeros(0x1000, np.uint8), "below 0x8000000"),
        (-0x1000, np.zeros(0x1000, np.uint8), "below 0x8000000"),
        (0, np.zeros(0x2000, np.uint8)[::2], "no plain array of bytes"),
        (0, np.frombuffer(bytes(0x1000), np.uint8), "cannot be written"),
        (0x2000, np.zeros(0x2000, np.uint8), "0x3000 to 0x4000 is attached already"),
        (0x3000, np.zeros(0x1000, np.uint8), "0x3000 to 0x4000 is attached already"),
    ],
)
def test_memory_that_cannot_be_attached(offset: int, memory: NDArray[np.uint8], cause: str) -> None:
    link = HostLink()
    link.attach(0x3000, np.zeros(0x1000, np.uint8))
    with pytest.raises(TilewrightError, match=cause):
        link.attach(offset, memory)


def test_memory_is_detached_by_its_offset() -> None:
    link = HostLink()
    link.attach(0x1000, np.zeros(0x2000, np.uint8))
    with pytest.raises(TilewrightError, match="no memory is attached at 0x2000"):
        link.detach(0x2000)
    link.detach(0x1000)
    link.attach(0x2000, np.zeros(0x1000, np.uint8))
