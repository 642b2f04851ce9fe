"""The chip's number formats, and their arithmetic on bit patterns.

This is the specification: Python integers only, exact until one rounding at the end, the same on
every host. The reference engine runs it, and the other engine is compared with it.

Every operation takes patterns and gives a `Result`: a pattern, and the flags it raises. Operations
that round to half or quarter are told by `nanoo` what overflow does. Whatever the chip's documents
leave open is ASSUMED in one named place (docs/fidelity.md).
"""

from tilewright.target.formats import f16, f32
from tilewright.target.formats.binary import F16, F32, BinaryFormat
from tilewright.target.formats.classes import NumberClass, classify_quarter
from tilewright.target.formats.conversion import f8_to_f16, f16_to_f8, f16_to_f32, f32_to_f16
from tilewright.target.formats.quarter import F143, F152, QUARTER_FORMATS, QuarterFormat
from tilewright.target.formats.rounding import Rounding
from tilewright.target.formats.status import Flags, Result
from tilewright.target.formats.sums import (
    absacc_f16,
    absacc_f32,
    acc_f16,
    acc_f32,
    dot_f8,
    dot_f16,
    dot_f32,
    sqacc_f16,
    sqacc_f32,
    sum_f16,
)

__all__ = [  # noqa: RUF022 - grouped by subject, not sorted
    # formats
    "BinaryFormat",
    "F16",
    "F32",
    "QuarterFormat",
    "F143",
    "F152",
    "QUARTER_FORMATS",
    # results and modes
    "Result",
    "Flags",
    "Rounding",
    "NumberClass",
    "classify_quarter",
    # arithmetic: modules of operations
    "f16",
    "f32",
    # conversions
    "f16_to_f32",
    "f32_to_f16",
    "f8_to_f16",
    "f16_to_f8",
    # sums rounded once
    "dot_f32",
    "dot_f16",
    "dot_f8",
    "acc_f32",
    "acc_f16",
    "absacc_f32",
    "absacc_f16",
    "sqacc_f32",
    "sqacc_f16",
    "sum_f16",
]
