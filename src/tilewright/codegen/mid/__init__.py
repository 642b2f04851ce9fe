"""The layout-aware middle of code generation: from a `ComputeGraph` to a plan for every operator.

    planned = plan(graph, PipelineConfig(tiles=1472))
    print(planned.graph)                    # every value with its format, every operation's plan
    report(planned, config).total           # predicted cycles
    evaluate_mid(planned.graph, inputs, parameters)

See docs/planning.md.
"""

from tilewright.codegen.mid.budget import MemoryUse, memory_use
from tilewright.codegen.mid.caches import forget
from tilewright.codegen.mid.candidates import OperandSpec, OperatorCandidate
from tilewright.codegen.mid.config import PipelineConfig, Profiling, tile_budget
from tilewright.codegen.mid.cost import (
    CONSERVATIVE,
    EMULATED,
    MEASURED,
    CostModel,
    OperatorBytes,
    OperatorCost,
    cost_model,
)
from tilewright.codegen.mid.dispatch import (
    Gather,
    KernelCall,
    Loop,
    OperatorDispatch,
    Scatter,
    Slot,
    Step,
)
from tilewright.codegen.mid.evaluate import evaluate_mid
from tilewright.codegen.mid.faults import DoesNotFit, FormatError, PlanError, VerifyError
from tilewright.codegen.mid.formats import (
    AxisTiling,
    Digit,
    Indivisible,
    MemoryClass,
    TensorFormat,
    padded,
)
from tilewright.codegen.mid.kernels import CATALOGUE, KernelPolicy, KernelSpec, KernelStatus
from tilewright.codegen.mid.layout import Layout, resolve
from tilewright.codegen.mid.midgraph import (
    CAST,
    REARRANGE,
    VIEW,
    Carried,
    Iterated,
    MidGraph,
    MidOperation,
    MidRepeat,
    MidSource,
    MidStep,
    MidValue,
    OperatorPlan,
    WorkProvenance,
    walk_steps,
)
from tilewright.codegen.mid.orders import ElementOrder, Precision
from tilewright.codegen.mid.planner import Planned, plan
from tilewright.codegen.mid.report import PlanReport, ReportRow, report
from tilewright.codegen.mid.storage import Storage, View
from tilewright.codegen.mid.text import print_dispatch, print_mid
from tilewright.codegen.mid.verify import find_faults, verify

__all__ = [  # noqa: RUF022 - grouped by subject, not sorted
    # planning
    "plan",
    "Planned",
    "PipelineConfig",
    "Profiling",
    "tile_budget",
    "forget",
    # what it says
    "report",
    "PlanReport",
    "ReportRow",
    "memory_use",
    "MemoryUse",
    # formats and layouts
    "Precision",
    "ElementOrder",
    "TensorFormat",
    "AxisTiling",
    "Indivisible",
    "padded",
    "Digit",
    "MemoryClass",
    "Layout",
    "resolve",
    "Storage",
    "View",
    # candidates and costs
    "OperatorCandidate",
    "OperandSpec",
    "OperatorCost",
    "OperatorBytes",
    "CostModel",
    "EMULATED",
    "MEASURED",
    "CONSERVATIVE",
    "cost_model",
    "KernelSpec",
    "KernelStatus",
    "KernelPolicy",
    "CATALOGUE",
    # dispatches
    "OperatorDispatch",
    "Slot",
    "Step",
    "Gather",
    "Scatter",
    "KernelCall",
    "Loop",
    # the planned graph
    "MidGraph",
    "MidSource",
    "MidStep",
    "MidOperation",
    "MidRepeat",
    "MidValue",
    "Carried",
    "Iterated",
    "OperatorPlan",
    "WorkProvenance",
    "CAST",
    "REARRANGE",
    "VIEW",
    "walk_steps",
    # meaning, rules, text
    "evaluate_mid",
    "verify",
    "find_faults",
    "print_mid",
    "print_dispatch",
    # errors
    "FormatError",
    "PlanError",
    "DoesNotFit",
    "VerifyError",
]
