"""The auto-loader: what is written to its registers, what it refuses, and loaders in files."""

from pathlib import Path

import pytest

from tests.driver.wrapping import Recording, StuckGo
from tilewright.driver import (
    Board,
    DeviceTimeout,
    LoaderError,
    LoaderImage,
    install_loader,
    read_loader,
)
from tilewright.driver.emulated import LOADER, EmulatedTransport
from tilewright.elf.arenas import Arena
from tilewright.elf.assembler import assemble
from tilewright.elf.linker import Linker
from tilewright.elf.writer import write_object

CONTROL, TARGET, DATA = 0x2068, 0x206C, 0x2070


def board(transport: EmulatedTransport | Recording | StuckGo) -> Board:
    transport.attach_process()
    return Board(transport)


def test_the_registers() -> None:
    """A loader of 1,200 bytes takes 2 KiB: 512 words, of which every 32 the device is looked at."""
    transport = Recording(EmulatedTransport(64))
    install_loader(board(transport), LoaderImage(bytes(range(240)) * 5))
    assert transport.log[0] == ("write", CONTROL, 0)
    data = transport.log[1 : 1 + 512 + 16]
    assert data[32::33] == [("read", CONTROL)] * 16
    words = [each for each in data if each != ("read", CONTROL)]
    assert words[0] == ("write", DATA, 0x03020100)
    assert words[299:301] == [("write", DATA, 0xEFEEEDEC), ("write", DATA, 0)]
    assert transport.log[1 + 512 + 16 :] == [
        ("write", TARGET, 32 << 20 | 2 << 10 | 0),
        ("write", CONTROL, 1 << 20 | 1 << 8 | 511 & 63),
        ("read", CONTROL),
        ("write", TARGET, 32 << 20 | 624 << 10 | 2),
        ("write", CONTROL, 63 << 9 | 1 << 8 | 511 & 63),
        ("read", CONTROL),
    ]


def test_a_whole_device_has_its_last_tile_in_the_second_run() -> None:
    transport = Recording(EmulatedTransport())
    install_loader(board(transport), LOADER)
    assert transport.writes(CONTROL)[-1] == (CONTROL, 1471 << 9 | 1 << 8 | 255 & 63)


def test_a_run_that_never_ends() -> None:
    transport = StuckGo(EmulatedTransport(64))
    started = transport.clock.now()
    with pytest.raises(DeviceTimeout, match=r"auto-loader.* more than 2 s"):
        install_loader(board(transport), LOADER)
    assert transport.clock.now() - started == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize(
    ("target", "control", "why"),
    [
        (31 << 20 | 1 << 10, 1 << 20 | 1 << 8 | 63, "zone 31"),
        (32 << 20 | 2 << 10, 1 << 20 | 1 << 8 | 63, "256 words for KiB 0 to 2"),
        (32 << 20 | 1 << 10, 1 << 20 | 1 << 8 | 62, "load pointer"),
        (32 << 20 | 624 << 10 | 1, 63 << 9 | 1 << 8 | 63, "a second run"),
    ],
)
def test_the_emulated_one_takes_what_is_known_to_work(target: int, control: int, why: str) -> None:
    transport = EmulatedTransport(64)
    transport.attach_process()
    for _ in range(256):
        transport.write(DATA, 0)
    transport.write(TARGET, target)
    transport.write(CONTROL, control)
    assert transport.read(CONTROL) & 1 << 8
    assert why in transport.findings()[0]


@pytest.mark.parametrize("size", [0, 4097])
def test_loaders_have_at_most_a_page(size: int) -> None:
    with pytest.raises(LoaderError, match=f"a tile loader of {size} bytes; it has 1 to 4096"):
        LoaderImage(bytes(size))


def linked(path: Path, start: int, text: str) -> Path:
    arena = Arena("loader", start, start + 0x4000, is_executable=True)
    image = Linker(arenas=[arena]).link([assemble(text)])
    path.write_bytes(write_object(image.to_object()))
    return path


SOURCE = """
.section .text._start, "ax"
.globl _start
.globl failing
.supervisor
_start: setzi $m0, 1
failing: trap 1
"""


def test_a_loader_from_a_file(tmp_path: Path) -> None:
    loader = read_loader(linked(tmp_path / "loader.elf", 0x4C000, SOURCE))
    assert loader.content == bytes.fromhex("01000019 01108041")
    assert loader.symbol(0x4C004) == "failing"
    assert loader.symbol(0x4C000) == "_start"
    assert loader.symbol(0x50000) is None


@pytest.mark.parametrize(
    ("start", "text", "why"),
    [
        (0x4C010, SOURCE, "has to be one, at 0x4c000"),
        (0x4C000, SOURCE + ".space 5000", "bytes of loader; at most 4096"),
    ],
)
def test_files_that_are_no_loaders(tmp_path: Path, start: int, text: str, why: str) -> None:
    with pytest.raises(LoaderError, match=why):
        read_loader(linked(tmp_path / "loader.elf", start, text))
