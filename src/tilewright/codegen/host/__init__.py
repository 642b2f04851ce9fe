"""Host inputs and outputs as host phases: the plan for the host, tables and code for the tiles."""

from tilewright.codegen.host.command import STOP, STOP_CALL, command_rows
from tilewright.codegen.host.exchange import CallPhases, HostExchange, plan_exchange
from tilewright.codegen.host.faults import HostError
from tilewright.codegen.host.phases import COPY, Copies, HostPhase
from tilewright.codegen.host.plan import HostCall
from tilewright.codegen.host.window import COMMAND, TABLES

__all__ = [  # noqa: RUF022 - grouped by subject, not sorted
    # planning
    "plan_exchange",
    "HostCall",
    "HostExchange",
    "HostError",
    # code of tiles
    "CallPhases",
    "HostPhase",
    "Copies",
    "COPY",
    "TABLES",
    # the command
    "COMMAND",
    "STOP",
    "STOP_CALL",
    "command_rows",
]
