"""The kernels that plans call: names, modes, memory needs, rates, and whether they exist.

All of the catalogue are written. One that a configuration calls `REQUIRED` is not:
`KernelPolicy.PREDICT` plans with it all the same, which is good for predictions; such a plan cannot
be built, and says so. `KernelPolicy.BUILD` refuses it. Rates are estimates from `target.rates`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import permutations
from types import MappingProxyType

from tilewright.codegen.mid.orders import Precision
from tilewright.target import rates
from tilewright.target.rates import Rate
from tilewright.target.timing import Cost


class KernelStatus(Enum):
    IMPLEMENTED = "implemented"
    REQUIRED = "required"
    """Named and priced, not written."""


class KernelPolicy(Enum):
    """Which kernels a plan may call."""

    PREDICT = "predict"
    BUILD = "build"


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """One kernel. `rate` and `call` price it; a matrix kernel has its formula in `gemm_scan`."""

    name: str
    modes: tuple[str, ...]
    status: KernelStatus
    rate: Rate | None = None
    call: Cost = rates.VECTOR_CALL
    factor: float = 1.0
    """On the rate, which is that of f16."""
    alignment: int = 8
    """Bytes, of every operand."""
    access_tail: int = 0
    """Bytes that it may read past its first operand."""
    results_interleaved: bool = False
    first_apart_from_result: bool = False
    """Whether first operand and result must lie in different memory elements."""

    @property
    def per_element(self) -> float:
        """Cycles per element."""
        return 0.0 if self.rate is None else self.rate.cycles * self.factor

    def cycles(self, elements: float) -> float:
        """Of one call over so many elements on one tile."""
        return self.call.value + self.per_element * elements


MATRIX_ALIGNMENT = 32
_STEP_MODES = ("initialise", "accumulate")


def _spec(
    name: str,
    modes: tuple[str, ...],
    rate: Rate | None = None,
    call: Cost = rates.VECTOR_CALL,
    factor: float = 1.0,
) -> KernelSpec:
    return KernelSpec(name, modes, KernelStatus.IMPLEMENTED, rate, call, factor)


def _matrix(name: str, tail: int) -> KernelSpec:
    return KernelSpec(
        name,
        _STEP_MODES,
        KernelStatus.IMPLEMENTED,
        call=rates.GEMM_CALL,
        alignment=MATRIX_ALIGNMENT,
        access_tail=tail,
        results_interleaved=True,
        first_apart_from_result=True,
    )


_ROW_OPERATORS = ("softmax", "layer_norm", "rms_norm")
_REDUCTIONS = ("reduce_sum", "reduce_max")
_ORDERS = ("row", "output", "outputᵀ")
_RATE_OF = {
    "rms_norm": "layer_norm",
    "reduce_sum": "row_reduce",
    "reduce_max": "row_reduce",
}
_POINTWISE = (
    *("add", "sub", "mul", "div", "gelu", "gelu_tanh", "relu", "silu", "sigmoid", "tanh"),
    *("exp", "sqrt"),
)
_SUFFIXES = {Precision.F16: 1.0, Precision.F32: rates.F32_FACTOR}
_CASTS = (
    *permutations((Precision.F8F143, Precision.F16, Precision.F32), 2),
    (Precision.I32, Precision.F32),
)


def _vector(operation: str, precision: Precision, modes: tuple[str, ...]) -> KernelSpec:
    rate = rates.POINTWISE_F16[_RATE_OF.get(operation, operation)]
    factor = _SUFFIXES[precision]
    return _spec(f"{operation}_{precision.value}", modes, rate, factor=factor)


def _specs() -> Iterable[KernelSpec]:
    yield _matrix("gemm_f16", 16)
    yield _matrix("gemm_f32", 32)
    yield _spec("sum_f16", ("plain", "fused"), rates.REDUCE_F16, rates.REDUCE_CALL)
    yield _spec("sum_f32", ("plain", "fused"), rates.REDUCE_F32, rates.REDUCE_CALL)
    for precision in _SUFFIXES:
        for operation in _POINTWISE:
            yield _vector(operation, precision, ("elementwise", "broadcast"))
        for operation in _ROW_OPERATORS:
            yield _vector(operation, precision, _ORDERS)
        for operation in _REDUCTIONS:
            yield _vector(operation, precision, ("row",))
            if precision is not Precision.F32:
                yield _spec(f"{operation}_f16_f32", ("row",), rates.POINTWISE_F16["row_reduce"])
        for stage in ("statistics", "apply"):
            yield _vector(f"row_{stage}", precision, _ORDERS)
            yield _vector(f"softmax_{stage}", precision, _ORDERS)
        yield _spec(f"epilogue_{precision.value}", ("fused",), factor=_SUFFIXES[precision])
    for source, target in _CASTS:
        yield _cast(source, target)
    yield _spec("copy", ("plain",), call=rates.COPY_CALL)
    for name in ("panel", "transpose", "unpack"):
        yield _spec(f"repack_{name}", ("2 bytes", "4 bytes"), rates.REPACK[name])


def _cast(source: Precision, target: Precision) -> KernelSpec:
    cycles = (source.bytes + target.bytes) / rates.CAST_BYTES_PER_CYCLE
    name = f"cast_{source.value}_{target.value}"
    rate = Rate(name, cycles, rates.VECTOR_CALL.evidence)
    return _spec(name, ("plain",), rate)


CATALOGUE: Mapping[str, KernelSpec] = MappingProxyType({spec.name: spec for spec in _specs()})
"""By name."""
