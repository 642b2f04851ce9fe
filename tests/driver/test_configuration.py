"""Configuration images: files, what is refused, and what is written."""

import struct
from pathlib import Path

import numpy as np
import pytest

from tests.driver.wrapping import Recording
from tilewright.driver import ConfigurationError, ConfigurationImage, read_configuration
from tilewright.driver.emulated import EmulatedTransport


def content(*records: tuple[int, int]) -> bytes:
    body = b"".join(struct.pack("<II", *each) for each in records)
    return b"IPUCFG1\0" + struct.pack("<I", len(records)) + body


def test_records_are_written_in_order_without_marks(tmp_path: Path) -> None:
    """The marks of host sync are left over from whoever recorded the image."""
    path = tmp_path / "device.ipucfg"
    path.write_bytes(content((0x403C, 1), (0x302C, 23), (0x403C, 0), (0x3030, 1), (0x5404, 9)))
    transport = Recording(EmulatedTransport(64))
    transport.attach_process()
    read_configuration(path).replay(transport)
    assert transport.log == [
        ("write", 0x403C, 1),
        ("write", 0x403C, 0),
        ("write", 0x5404, 9),
    ]
    assert transport.read(0x5404) == 9
    assert (transport.read(0x302C), transport.read(0x3030)) == (0, 0)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"IPUCFG2\0" + bytes(4), "no configuration image"),
        (b"IPUCFG1\0", "no configuration image"),
        (content((4, 1)) + b"\0", "has 21 bytes; its 1 records ask for 20"),
        (content((4, 1))[:-4], "has 16 bytes; its 1 records ask for 20"),
        (b"IPUCFG1\0" + b"\xff" * 4, "its 4294967295 records ask for"),
        (content((4, 1), (6, 1)), "record 1 .*no register at 0x6"),
        (content((0x80000, 1)), "record 0 .*no register at 0x80000"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "device.ipucfg"
    path.write_bytes(data)
    with pytest.raises(ConfigurationError, match=told):
        read_configuration(path)


def test_an_empty_image_writes_nothing() -> None:
    transport = Recording(EmulatedTransport(64))
    ConfigurationImage(np.zeros((0, 2), np.uint32)).replay(transport)
    assert transport.log == []
