"""What a matrix product takes: launches of workers, one or two for each block of weights."""

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.device.kernels.launches import launch_end
from tilewright.device.kernels.spec import Sizes
from tilewright.target.geometry import WORKERS


@dataclass(frozen=True, slots=True)
class WorkerSteps:
    """Steps of a worker with no rows, one, two; and of one with more, beyond those of its rows."""

    none: int
    one: int
    two: int
    more: int
    row: int = 4

    def of(self, rows: int) -> int:
        few = (self.none, self.one, self.two)
        return few[rows] if rows < len(few) else self.more + self.row * rows


@dataclass(frozen=True, slots=True)
class Supervision:
    """Cycles of the supervisor around launches, with weights in interleaved memory.

    From the call to the first launch; from the end of a launch to that of the next block in the
    same columns, or in the next ones, or to the return. `narrow` is added per launch for other
    weights. `second` is the way to a block's second launch, if it has two; `last` that to the last
    of several blocks, if it is another.
    """

    first: int
    block: int
    column: int
    narrow: int
    end: int
    second: int | None = None
    last: int | None = None
    before_sync: tuple[int, ...] = (2,)

    def cycles(
        self, sizes: Sizes, narrow: bool, taking: int, launches: Sequence[WorkerSteps]
    ) -> int:
        """Of a call whose blocks of 16 columns take these launches.

        Workers take `taking` more steps in the first of all, which shares out the rows.
        """
        rows = [(sizes["rows"] + WORKERS - 1 - worker) // WORKERS for worker in range(WORKERS)]
        steps = {each: [each.of(count) for count in rows] for each in launches}
        extra = self.narrow if narrow else 0
        cycle, way, taken = 0, self.first, taking
        for _ in range(sizes["columns"]):
            for number, launch in enumerate(launches):
                if self.last is not None and 0 < number == len(launches) - 1:
                    way = self.last
                counts = [count + taken for count in steps[launch]]
                cycle = launch_end(cycle + way + extra, counts, self.before_sync[0])
                taken = 0
                if self.second is not None:
                    start = cycle + self.second + extra
                    cycle = launch_end(start, steps[launch], self.before_sync[1])
                way = self.block
            way = self.column
        return cycle + self.end
