"""Images: what fits into a tile, and names for addresses."""

import pytest

from tilewright.emulator.images import ImageError, Piece, TileImage

FIRST, END = 0x4C000, 0xE8000


@pytest.mark.parametrize(
    ("address", "size"), [(FIRST, 4), (END - 4, 4), (FIRST, END - FIRST), (END, 0), (FIRST, 0)]
)
def test_what_fits(address: int, size: int) -> None:
    image = TileImage((Piece(address, bytes(size)),), FIRST)
    assert image.pieces[0].address == address


@pytest.mark.parametrize(
    ("address", "size"),
    [(FIRST - 4, 4), (END - 4, 8), (END, 1), (0, 4), (FIRST, END - FIRST + 1), (-4, 4)],
)
def test_what_does_not(address: int, size: int) -> None:
    with pytest.raises(ImageError, match=rf"{size} bytes at {address:#x}.*0x4c000 to 0xe8000"):
        TileImage((Piece(FIRST, b""), Piece(address, bytes(size))), FIRST)


NAMED = TileImage((), FIRST, {"second": 0x4D000, "first": 0x4C100, "third": 0x4D010})


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (0x4C100, "first"),
        (0x4C104, "first+0x4"),
        (0x4CFFC, "first+0xefc"),
        (0x4D000, "second"),
        (0x4D00C, "second+0xc"),
        (0x4D010, "third"),
        (0x60000, "third+0x12ff0"),
        (0x4C0FC, ""),
    ],
)
def test_nearest_symbol(address: int, name: str) -> None:
    assert NAMED.nearest_symbol(address) == name


def test_no_symbols() -> None:
    assert TileImage((), FIRST).nearest_symbol(0x4C100) == ""


def test_two_names_of_one_address() -> None:
    image = TileImage((), FIRST, {"b": 0x4C100, "a": 0x4C100})
    assert image.nearest_symbol(0x4C100) in ("a", "b")
