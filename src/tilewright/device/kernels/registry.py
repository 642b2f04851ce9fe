"""All kernels by name, and the names of those that plans may want but nobody wrote yet."""

from collections.abc import Mapping
from types import MappingProxyType

from tilewright.device.kernels.binary import BINARY
from tilewright.device.kernels.casts import CASTS
from tilewright.device.kernels.gemm import GEMM
from tilewright.device.kernels.movement import MOVEMENT
from tilewright.device.kernels.rows import WITH_ROW
from tilewright.device.kernels.rowwise import ROWWISE
from tilewright.device.kernels.spec import Kernel, KernelFault
from tilewright.device.kernels.unary import UNARY
from tilewright.device.kernels.weights import WEIGHTS

KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {
        kernel.name: kernel
        for kernel in (*BINARY, *WITH_ROW, *UNARY, *CASTS, *ROWWISE, *GEMM, *MOVEMENT, *WEIGHTS)
    }
)

REQUIRED: frozenset[str] = frozenset(
    f"{name}_{precision}"
    for precision in ("f16", "f32")
    for name in (
        "epilogue",
        "reduce",
        "row_statistics",
        "row_apply",
        "softmax_statistics",
        "softmax_apply",
    )
) | {"cast_f8_f32", "cast_f32_f8"}
"""Wanted by plans and not written: a plan with one of them can be priced, not built."""


def find_kernel(name: str) -> Kernel:
    """Raises `KernelFault` for a name that is not registered."""
    if name in KERNELS:
        return KERNELS[name]
    if name in REQUIRED:
        raise KernelFault(f"the kernel {name} is required by plans, but not written yet")
    raise KernelFault(f"no kernel {name}; 'tilewright kernel list' names them")
