"""A device without a card: registers, loaders and host memory in front of the emulated chip.

- `transport`: `EmulatedTransport`, which the driver uses like any other
- `auto_loader`, `tile_loader`: what fills the tiles; `loader_program`: what is loaded as a loader
- `chip_side`: the chip with its host's side, run while the host waits
- `clock`: the device's time
"""

from tilewright.driver.emulated.clock import EmulatedClock
from tilewright.driver.emulated.loader_program import LOADER
from tilewright.driver.emulated.transport import EmulatedTransport

__all__ = ["LOADER", "EmulatedClock", "EmulatedTransport"]
