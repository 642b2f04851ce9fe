"""The operators, one class each: attributes, shape rule, meaning in NumPy.

docs/graph.md has the table of them, and tells how to add one.
"""

from tilewright.graph.operators.attention import Attention
from tilewright.graph.operators.cast import Cast
from tilewright.graph.operators.constant import Constant
from tilewright.graph.operators.gemm import Gemm
from tilewright.graph.operators.normalise import LayerNorm, RmsNorm, Softmax
from tilewright.graph.operators.pointwise import (
    Add,
    Div,
    Exp,
    Gelu,
    GeluTanh,
    Mul,
    Relu,
    Sigmoid,
    Silu,
    Sqrt,
    Sub,
    Tanh,
)
from tilewright.graph.operators.reduce import Reduce, Reduction
from tilewright.graph.operators.repeat import Repeat, RepeatParts
from tilewright.graph.operators.views import (
    Broadcast,
    Concat,
    MergeHeads,
    Reshape,
    Slice,
    SplitHeads,
    Transpose,
)

__all__ = [  # noqa: RUF022 - grouped by subject, not sorted
    # matrices and attention
    "Gemm",
    "Attention",
    # element by element
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Gelu",
    "GeluTanh",
    "Relu",
    "Silu",
    "Sigmoid",
    "Tanh",
    "Exp",
    "Sqrt",
    # along axes
    "Softmax",
    "LayerNorm",
    "RmsNorm",
    "Reduce",
    "Reduction",
    # views
    "Reshape",
    "Transpose",
    "Slice",
    "SplitHeads",
    "MergeHeads",
    "Concat",
    "Broadcast",
    # number formats, constants
    "Cast",
    "Constant",
    # structure
    "Repeat",
    "RepeatParts",
]
