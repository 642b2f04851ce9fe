"""`ComputeGraph`: a model as shaped, structured SSA, from its making to its evaluation.

    graph = ComputeGraph("mlp")
    x = graph.input("x", (128, 384))
    w = graph.parameter("w", (384, 1536))
    graph.output("y", graph.gelu(x @ w, name="ffn up"))
    graph.verify()
    print(graph)
    evaluate(graph, {"x": …}, {"w": …}, Precision.F32)["y"]

See docs/graph.md.
"""

from tilewright.graph import operators
from tilewright.graph.builder import Builder
from tilewright.graph.evaluate import Precision, evaluate
from tilewright.graph.faults import (
    EvaluationError,
    GraphError,
    GraphTextError,
    OperatorError,
    VerificationError,
)
from tilewright.graph.graph import ComputeGraph
from tilewright.graph.operator import REGISTRY, Formula, Operator, register
from tilewright.graph.operators import Repeat
from tilewright.graph.repeats import RepeatBuilder
from tilewright.graph.rounding import round_to
from tilewright.graph.structure import Operation, Output, Region, Source, SourceKind
from tilewright.graph.tensor import Tensor
from tilewright.graph.text import parse_graph, print_graph
from tilewright.graph.types import DType, NumberFormat, Shape, ValueType
from tilewright.graph.values import Location, Value
from tilewright.graph.verify import Fault, find_faults
from tilewright.graph.walk import Uses, regions, values_of, walk

__all__ = [  # noqa: RUF022 - grouped by subject, not sorted
    # the graph, and building it
    "ComputeGraph",
    "Tensor",
    "RepeatBuilder",
    "Builder",
    # types of values
    "DType",
    "NumberFormat",
    "Shape",
    "ValueType",
    "round_to",
    # parts
    "Value",
    "Source",
    "SourceKind",
    "Operation",
    "Region",
    "Output",
    "Location",
    # operators
    "operators",
    "Operator",
    "Formula",
    "Repeat",
    "REGISTRY",
    "register",
    # walking
    "walk",
    "regions",
    "values_of",
    "Uses",
    # rules, text, meaning
    "find_faults",
    "Fault",
    "print_graph",
    "parse_graph",
    "evaluate",
    "Precision",
    # errors
    "GraphError",
    "OperatorError",
    "VerificationError",
    "GraphTextError",
    "EvaluationError",
]
