"""All kernels by name, and the names of those that plans may want but nobody wrote yet."""

from collections.abc import Mapping
from types import MappingProxyType

from tilewright.device.kernels.binary import BINARY
from tilewright.device.kernels.casts import CASTS
from tilewright.device.kernels.gemm import GEMM
from tilewright.device.kernels.movement import MOVEMENT
from tilewright.device.kernels.rows import WITH_COLUMN, WITH_ROW
from tilewright.device.kernels.rowwise import ROWWISE, SPLIT
from tilewright.device.kernels.softmax import SOFTMAX
from tilewright.device.kernels.spec import Kernel, KernelFault
from tilewright.device.kernels.terms import TERMS
from tilewright.device.kernels.unary import UNARY
from tilewright.device.kernels.weights import WEIGHTS

_FAMILIES = (
    BINARY,
    WITH_ROW,
    WITH_COLUMN,
    UNARY,
    CASTS,
    SOFTMAX,
    ROWWISE,
    SPLIT,
    GEMM,
    MOVEMENT,
    TERMS,
    WEIGHTS,
)

KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {kernel.name: kernel for family in _FAMILIES for kernel in family}
)

REQUIRED: frozenset[str] = frozenset(
    {
        *("cast_f32_f8", "cast_f8_f32"),
        *("epilogue_f16", "epilogue_f32", "reduce_f16", "reduce_f32"),
        *("softmax_apply_f16", "softmax_apply_f32"),
        *("softmax_statistics_f16", "softmax_statistics_f32"),
    }
)
"""Wanted by plans and not written: a plan with one of them can be priced, not built."""


def find_kernel(name: str) -> Kernel:
    """Raises `KernelFault` for a name that is not registered."""
    if name in KERNELS:
        return KERNELS[name]
    if name in REQUIRED:
        raise KernelFault(f"the kernel {name} is required by plans, but not written yet")
    raise KernelFault(f"no kernel {name}; 'tilewright kernel list' names them")
