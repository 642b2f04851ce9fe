"""The kernels that ship with tilewright: assembly, specification, reference and cost of each.

- `KERNELS`, `find_kernel`: the registry
- `Kernel`, `Array`, `Scalar`, `Size`, `Role`, `Memory`, `Accuracy`, `EXACT`: to describe a kernel
- `try_kernel`, `Trial`, `place_arrays`, `sample_inputs`: to run one against its reference
- `KernelFault`: a kernel used as its specification does not allow
"""

from tilewright.device.kernels.registry import KERNELS, find_kernel
from tilewright.device.kernels.spec import (
    EXACT,
    Accuracy,
    Array,
    Kernel,
    KernelFault,
    Memory,
    Role,
    Scalar,
    Size,
)
from tilewright.device.kernels.trial import Trial, place_arrays, sample_inputs, try_kernel

__all__ = [
    "EXACT",
    "KERNELS",
    "Accuracy",
    "Array",
    "Kernel",
    "KernelFault",
    "Memory",
    "Role",
    "Scalar",
    "Size",
    "Trial",
    "find_kernel",
    "place_arrays",
    "sample_inputs",
    "try_kernel",
]
