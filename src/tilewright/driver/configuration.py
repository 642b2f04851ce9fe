"""Configuration images (`.ipucfg`): the registers that bring a reset device into use.

A file is 8 bytes of magic, the number of records, and for each its register's offset and value, all
words little endian.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tilewright.driver.errors import DriverError
from tilewright.driver.transport import Transport
from tilewright.files import read_bytes
from tilewright.target.host import CONFIGURATION_SPACE, HOST_SYNC_CONTROL

MAGIC = b"IPUCFG1\0"
_WORD = np.dtype("<u4")
_HEAD = len(MAGIC) + _WORD.itemsize
_RECORD = 2 * _WORD.itemsize


class ConfigurationError(DriverError):
    """A configuration image that cannot be used."""


@dataclass(frozen=True, eq=False)
class ConfigurationImage:
    """Registers in the order in which they are written: `records[:, 0]` offsets, `[:, 1]` values.

    Raises `ConfigurationError` for offsets that no register has.
    """

    records: NDArray[np.uint32]

    def __post_init__(self) -> None:
        offsets = self.records[:, 0]
        wrong = np.flatnonzero((offsets % _WORD.itemsize != 0) | (offsets >= CONFIGURATION_SPACE))
        if wrong.size:
            row = int(wrong[0])
            raise ConfigurationError(
                f"record {row} of the configuration image: there is no register at "
                f"{int(offsets[row]):#x}"
            )

    def replay(self, transport: Transport) -> None:
        """Write the registers, except the marks of host sync.

        Those are left over from whoever recorded the image, and would stay set.
        """
        is_mark = np.isin(self.records[:, 0], HOST_SYNC_CONTROL)
        for offset, value in self.records[~is_mark].tolist():
            transport.write(offset, value)


def read_configuration(path: Path) -> ConfigurationImage:
    """The image in a file. Raises `ConfigurationError` and `FileError`."""
    content = read_bytes(path)
    if not content.startswith(MAGIC) or len(content) < _HEAD:
        raise ConfigurationError(f"{path} is no configuration image: it starts with no 'IPUCFG1'")
    count = int(np.frombuffer(content, _WORD, 1, len(MAGIC))[0])
    if len(content) != _HEAD + _RECORD * count:
        raise ConfigurationError(
            f"{path} has {len(content)} bytes; its {count} records ask for "
            f"{_HEAD + _RECORD * count}"
        )
    records = np.frombuffer(content, _WORD, offset=_HEAD).reshape(count, 2)
    try:
        return ConfigurationImage(records)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None
