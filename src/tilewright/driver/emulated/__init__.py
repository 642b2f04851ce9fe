"""A device without a card: registers, loaders and host memory in front of the emulated chip.

- `transport`: `EmulatedTransport`, which the driver uses like any other
- `auto_loader`, `tile_loader`: what fills the tiles; `loader_program`: what is loaded as a loader
- `chip_side`: the chip with its host's side, run while the host waits
- `clock`: the device's time
- `ENGINES`: names of what can execute code; `LIMITS`: limits of time that an emulation can keep
"""

from tilewright.driver.emulated.clock import EmulatedClock
from tilewright.driver.emulated.loader_program import LOADER
from tilewright.driver.emulated.transport import ENGINES, EmulatedTransport
from tilewright.driver.waiting import Limits

__all__ = ["ENGINES", "LIMITS", "LOADER", "EmulatedClock", "EmulatedTransport"]

LIMITS = Limits(mark=0.02, completion=0.02)
"""30 million cycles between two moments at which the host is waited for. A card's ten seconds of a
tile that loops for ever would take hours to emulate."""
