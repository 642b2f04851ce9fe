"""What the chip and its loader ask of the host, restated."""

from tilewright.target import host


def test_loader() -> None:
    assert host.LOADER_BATCH_TILES == 64
    assert host.LOADER_FRAME_PAYLOAD == 992
    assert (host.LOADER_FRAMES[0], host.LOADER_FRAMES[-1]) == (17, 643)
    # The least payload that was found to work takes exactly the least number of frames.
    assert -(-0x4134 // host.LOADER_FRAME_PAYLOAD) == 17


def test_host_exchange() -> None:
    assert (host.HOST_PAGE, host.HOST_WORD, host.HOST_SPACE) == (4096, 4, 0x8000000)
    assert host.PACKET_WINDOW == (0x50000, 0x54000)


def test_registers() -> None:
    assert host.CONFIGURATION_SPACE == 0x80000
    assert host.HOST_SYNC_CONTROL == (0x302C, 0x3030)
