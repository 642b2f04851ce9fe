"""When a launch of six workers ends, slot by slot, as `target.timing` has it."""

from collections.abc import Sequence

from tilewright.target.timing import (
    RUN,
    SLOTS,
    WORKER_EXIT,
    first_worker_issue,
    local_sync_end,
    worker_cycles,
)


def launch_end(launch: int, steps: Sequence[int], before_sync: int = 0) -> int:
    """The cycle in which the supervisor goes on after `runall` in cycle `launch`, and `sync`.

    `steps` are those of each worker, exit included; `before_sync` the independent instructions that
    the supervisor issues between the two, in the slots that workers left.
    """
    exits = [
        first_worker_issue(launch, worker) + worker_cycles(count - 1)
        for worker, count in enumerate(steps)
    ]
    free = [exit_cycle + WORKER_EXIT.value for exit_cycle in exits]
    cycle = launch + RUN.value - 1
    for _ in range(before_sync + 1):
        cycle = _next_free(cycle + 1, free)
    return local_sync_end(cycle, max(exits))


def _next_free(cycle: int, free: Sequence[int]) -> int:
    """The first cycle from `cycle` on whose slot no worker owns."""
    return min(max(cycle, at) + (slot - max(cycle, at)) % SLOTS for slot, at in enumerate(free))
