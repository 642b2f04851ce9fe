"""Code that runs on tiles: kernels in assembly, and running one on an emulated tile.

- `kernel_source`: the path of a shipped kernel
- `run_kernel`, `Output`, `KernelRun`: call a kernel with NumPy operands
- `tile_image`, `executable_image`: from a linked image, or its file, to what the emulator loads
"""

from importlib import resources
from pathlib import Path

from tilewright.device.running import executable_image, run_kernel, tile_image
from tilewright.emulator.kernel import KernelRun, Output
from tilewright.errors import TilewrightError

__all__ = [
    "KernelRun",
    "Output",
    "executable_image",
    "kernel_source",
    "run_kernel",
    "tile_image",
]


def kernel_source(name: str) -> Path:
    """The path of a shipped assembly file, such as `add_f16.S`.

    Raises `TilewrightError` if there is none of that name.
    """
    device = resources.files("tilewright.device")
    for folder in ("kernels", "."):
        path = Path(str(device.joinpath(folder, name)))
        if path.is_file():
            return path
    raise TilewrightError(f"tilewright ships no assembly file {name}")
