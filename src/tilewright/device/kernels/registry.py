"""All kernels by name."""

from collections.abc import Mapping
from types import MappingProxyType

from tilewright.device.kernels.binary import BINARY
from tilewright.device.kernels.casts import CASTS
from tilewright.device.kernels.gemm import GEMM
from tilewright.device.kernels.movement import MOVEMENT
from tilewright.device.kernels.norms import NORMS
from tilewright.device.kernels.norms_split import SPLIT_NORMS
from tilewright.device.kernels.reduce import REDUCE
from tilewright.device.kernels.rows import WITH_COLUMN, WITH_ROW
from tilewright.device.kernels.softmax import SOFTMAX
from tilewright.device.kernels.softmax_split import SPLIT_SOFTMAX
from tilewright.device.kernels.spec import Kernel, KernelFault
from tilewright.device.kernels.strided import STRIDED
from tilewright.device.kernels.terms import TERMS
from tilewright.device.kernels.unary import UNARY
from tilewright.device.kernels.weights import WEIGHTS

_FAMILIES = (
    *(BINARY, WITH_ROW, WITH_COLUMN, STRIDED, UNARY, CASTS, REDUCE, SOFTMAX, SPLIT_SOFTMAX),
    *(NORMS, SPLIT_NORMS, GEMM, MOVEMENT, TERMS, WEIGHTS),
)

KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {kernel.name: kernel for family in _FAMILIES for kernel in family}
)


def find_kernel(name: str) -> Kernel:
    """Raises `KernelFault` for a name that is not registered."""
    if name in KERNELS:
        return KERNELS[name]
    raise KernelFault(f"no kernel {name}; 'tilewright kernel list' names them")
