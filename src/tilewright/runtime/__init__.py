"""Running packages: open a device, load a package, run it with NumPy arrays.

    with open_device("emulator") as device, device.load("model.ipuexe") as session:
        result = session.run({"x": x})
        result.outputs["y"], result.cycles

- `open_device` gives a `Device`, `Device.load` a `HostSession`, `HostSession.run` a `RunResult`
- `check_inputs` tells before a package is loaded what a run would say of its inputs
- what can go wrong: `InputError`, `SessionError`, and the driver's errors, of which `TileError` is
  for tiles that have excepted

A device and its session may be used by several threads, whose calls follow one after the other.
Different devices know nothing of each other. See docs/runtime.md.
"""

from tilewright.driver import DeviceHang, DeviceTimeout, DriverError, Limits, TileError
from tilewright.runtime.device import Device, open_device
from tilewright.runtime.errors import InputError, SessionError
from tilewright.runtime.session import HostSession, RunResult
from tilewright.runtime.streams import check_inputs

__all__ = [  # noqa: RUF022 - grouped by subject, not sorted
    "open_device",
    "Device",
    "HostSession",
    "RunResult",
    "check_inputs",
    "Limits",
    # errors
    "InputError",
    "SessionError",
    "DriverError",
    "TileError",
    "DeviceTimeout",
    "DeviceHang",
]
