"""Offsets of registers, against the published ones."""

import pytest

from tilewright.driver import SyncGroup, TransportError
from tilewright.driver.emulated import EmulatedTransport
from tilewright.driver.registers import EAST_REQUESTS, WEST_REQUESTS, tile_of, tile_register
from tilewright.target.debug import DebugRegister


def test_offsets() -> None:
    assert (SyncGroup.LOADER.control, SyncGroup.PROGRAM.control) == (0x302C, 0x3030)
    assert (WEST_REQUESTS[0], WEST_REQUESTS[7]) == (0x5404, 0x5404 + 7 * 0x400)
    assert (EAST_REQUESTS[0], EAST_REQUESTS[7]) == (0x1B804, 0x1B804 + 7 * 0x400)
    assert tile_register(0, DebugRegister.CONTEXT_STATUS) == 0x30000
    assert tile_register(1471, DebugRegister.CONTROL) == 0x30000 + 1471 * 0x40 + 12 * 4
    assert tile_of(0x30000 + 1471 * 0x40 + 12 * 4) == (1471, 12)


def test_the_emulated_space_keeps_what_has_no_meaning() -> None:
    transport = EmulatedTransport(64)
    transport.attach_process()
    transport.write(0xA400, 0x12345678)
    assert transport.read(0xA400) == 0x12345678
    transport.mailbox((0x4078020E, 0, 0, 0, 0))
    assert transport.read(0xA400) == 0


def test_registers_of_tiles_that_a_larger_device_has_do_nothing() -> None:
    """Configuration images and packages may write them: they are part of the space."""
    transport = EmulatedTransport(64)
    transport.attach_process()
    for tile in (64, 1471, 5000):
        transport.write(tile_register(tile, DebugRegister.EXCEPTION_CLEAR), 1)
        assert transport.read(tile_register(tile, DebugRegister.CONTEXT_STATUS)) == 0


@pytest.mark.parametrize("offset", [-4, 2, 0x80000])
def test_offsets_that_no_register_has(offset: int) -> None:
    transport = EmulatedTransport(64)
    transport.attach_process()
    with pytest.raises(TransportError, match="no register"):
        transport.read(offset)


def test_a_process_has_to_attach_first_and_not_to_close() -> None:
    transport = EmulatedTransport(64)
    with pytest.raises(TransportError, match="attached"):
        transport.read(0)
    transport.attach_process()
    transport.close()
    with pytest.raises(TransportError, match="closed"):
        transport.write(0, 0)
