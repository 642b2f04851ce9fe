"""What is known of an address."""

from dataclasses import replace

import numpy as np
import pytest

from tests.package import examples
from tests.package.examples import START, TILES
from tilewright.package import (
    Application,
    BlobBuilder,
    CodeOfTiles,
    Debug,
    Lines,
    PackageError,
    write_debug,
)
from tilewright.package.debug import read_debug
from tilewright.package.summary import symbols_data

DEBUG = examples.debug()


def test_round_trip() -> None:
    assert read_debug(write_debug(DEBUG)) == DEBUG
    assert read_debug(write_debug(Debug())) == Debug()


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (START - 4, ""),
        (START, "_start, add.S:10"),
        (START + 12, "_start+0xc, add.S:11"),
        (START + 16, "add_f16, add (kernel), model:3"),
        (START + 20, "add_f16+0x4, add (kernel), model:3"),
        (START + 24, "add_f16+0x8"),
    ],
)
def test_places(address: int, expected: str) -> None:
    place = DEBUG.place(3, address)
    assert str(place) == expected
    assert place.value == ("y" if "add (kernel)" in expected else None)


def test_symbols_end() -> None:
    """Where a symbol has a size, nothing behind it belongs to it."""
    alone = replace(DEBUG, symbols=DEBUG.symbols[:1])
    assert alone.place(0, START + 16).symbol is None


def test_tiles_without_code() -> None:
    some = replace(DEBUG, tiles=CodeOfTiles([3, 9], [0, 0], [0, 0]))
    assert some.place(3, START).symbol == "_start"
    for tile in (0, 4, 10, TILES):
        assert str(some.place(tile, START)) == ""
        assert len(some.symbols_of(tile)) == 0


def test_images_are_apart() -> None:
    """The last line of one code image says nothing of the next one."""
    two = replace(
        DEBUG,
        tiles=CodeOfTiles([0, 1], [0, 1], [0, 1]),
        lines=Lines([0, 1], [START, START + 8], [2, 2], [7, 8]),
    )
    assert two.place(0, START + 100).line == "add.S:7"
    assert two.place(1, START).line is None
    assert two.place(1, START + 8).line == "add.S:8"


def test_size() -> None:
    content = np.zeros((64 << 20) + 1, np.uint8)
    with pytest.raises(PackageError, match="67,108,865 bytes; the limit is 67,108,864"):
        read_debug(content)


def test_faults() -> None:
    wrong = replace(
        DEBUG,
        lines=Lines([0, 0], [8, 4], [2, 99], [1, 1]),
        origins=replace(DEBUG.origins, operation=[50]),
    )
    with pytest.raises(PackageError) as found:
        write_debug(wrong)
    assert [str(fault) for fault in found.value.faults] == [
        "lines[1]: rows are not ordered by code, then address",
        "lines[1].file: 99 does not exist; there are 7",
        "origins[0].operation: 50 does not exist; there are 7",
    ]


def test_images_may_have_any_number() -> None:
    """What lists symbols does not count up to it."""
    code = 0xFFFFFFF0
    far = replace(
        DEBUG,
        tiles=replace(DEBUG.tiles, tile_code=[code] * len(DEBUG.tiles)),
        symbols=replace(DEBUG.symbols, code=[code] * len(DEBUG.symbols)),
    )
    blobs = BlobBuilder()
    number = blobs.add(write_debug(far))
    rows = symbols_data(Application(blobs=blobs.build(), debug_blob=number))
    assert [row["tiles"] for row in rows] == [len(DEBUG.tiles)] * len(DEBUG.symbols)
