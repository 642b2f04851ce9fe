"""Where cycles go: questions to cycle profiles.

    analysis = analyse(read_profile(path))
    analysis.parts                      # cycles of the run: compute, exchange, sync, host, idle
    grouped(analysis, By.OPERATION)     # the same for each operation, measured beside planned
    write_trace(analysis, path)         # for Perfetto

See docs/profiling.md.
"""

from tilewright.profile.analysis import Analysis, analyse, planned_profile
from tilewright.profile.chip_steps import ChipSteps
from tilewright.profile.groups import By, Group, grouped
from tilewright.profile.parts import PARTS
from tilewright.profile.taken import Taken
from tilewright.profile.trace import write_trace

__all__ = [  # noqa: RUF022 - grouped by subject, not sorted
    "analyse",
    "planned_profile",
    "Analysis",
    "Taken",
    "ChipSteps",
    "PARTS",
    # by kernel, operation or phase
    "grouped",
    "By",
    "Group",
    # for Perfetto
    "write_trace",
]
