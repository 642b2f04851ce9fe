"""Cycles of shipped kernels on an emulated tile: deterministic, so one run each."""

from tilewright.cli.bench.figure import Figure
from tilewright.device.kernels import KERNELS, try_kernel

_MACS = 64
"""Multiply-adds of halves that the matrix engine does in a cycle at most."""
_GEMM_ROWS = (64, 256, 2048)
_ELEMENTWISE = {
    "add_f16": {"n": 4096},
    "gelu_f16": {"n": 4096},
    "softmax_f16": {"rows": 24, "n": 196, "first": 196},
    "layer_norm_f16": {"rows": 24, "n": 768},
}


def kernel_figures() -> list[Figure]:
    """Shares of the engine's peak that a product of one block reaches; cycles per element."""
    gemm = KERNELS["gemm_f16.zero"]
    figures = []
    for rows in _GEMM_ROWS:
        sizes = {"rows": rows, "inner": 1, "columns": 1}
        share = gemm.elements(sizes) / try_kernel(gemm, sizes).cycles / _MACS
        figures.append(Figure(f"kernels.gemm_f16_share_{rows}", share, "ratio"))
    for name, sizes in _ELEMENTWISE.items():
        cycles = try_kernel(KERNELS[name], sizes).cycles / KERNELS[name].elements(sizes)
        figures.append(Figure(f"kernels.{name}", cycles, "cycles/element"))
    return figures
