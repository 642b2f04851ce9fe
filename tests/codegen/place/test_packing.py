"""The packer in single orders: which gap a block takes."""

import numpy as np
import pytest

from tilewright.cli.bench.place import WHOLE
from tilewright.codegen.place import Requests
from tilewright.codegen.place.blocks import join
from tilewright.codegen.place.orders import ORDERS, portfolio, sorted_order
from tilewright.codegen.place.packing import BEST_FIT, FIRST_FIT, pack, pack_in_order
from tilewright.codegen.place.problem import Problem

BASE = 0x60000


@pytest.mark.parametrize(("fit", "expected"), [(FIRST_FIT, 0x4C000), (BEST_FIT, BASE + 0x140)])
def test_fits(fit: int, expected: int) -> None:
    """Gaps of 0x14000 bytes, of 0x100, of 0xc0, and all the rest; 0x80 are asked for."""
    problem = Problem(
        join(
            Requests.of(
                tile=0,
                size=[0x20, 0x20, 0x1000, 0x80],
                fixed=[BASE, BASE + 0x120, BASE + 0x200, -1],
                alignment=32,
            )
        ),
        WHOLE,
    )
    tile = problem.tile(0)
    found = pack_in_order(tile, problem.windows, problem.reserved, np.array([3]), fit)
    assert found.tolist() == [BASE, BASE + 0x120, BASE + 0x200, expected]


def test_orders() -> None:
    """The first is a resident, the last is fixed; 2 and 3 never meet, so only 3 is separated."""
    asked = Requests.of(
        tile=0,
        size=[8, 64, 48, 16, 8],
        alignment=[8, 8, 16, 32, 8],
        first=[0, 5, 0, 2, 0],
        last=[0, 5, 1, 9, 0],
        resident=[True, False, False, False, False],
        fixed=[-1, -1, -1, -1, 0x60000],
        separations=[(2, 3), (3, 0)],
    )
    problem = Problem(join(asked), WHOLE)
    tile = problem.tile(0)
    found = {
        name: sorted_order(tile, problem.windows, keys).tolist() for name, keys in ORDERS.items()
    }
    assert found == {
        "size, largest first": [0, 1, 2, 3],
        "alignment, then size": [0, 3, 2, 1],
        "size x lifetime, largest first": [0, 3, 2, 1],
        "particular memory, then size": [0, 1, 2, 3],
        "separated, then size": [0, 3, 1, 2],
        "longest lifetime first": [0, 3, 2, 1],
        "program order": [0, 2, 3, 1],
    }


def test_moves_improve_on_the_portfolio() -> None:
    """Thirty tiles of random blocks: never worse, and better in some."""
    random = np.random.default_rng(2)
    first = random.integers(0, 30, 30 * 40)
    asked = Requests.of(
        tile=np.repeat(np.arange(30), 40),
        size=random.integers(1, 2000, 30 * 40),
        alignment=1,
        first=first,
        last=first + random.integers(0, 12, 30 * 40),
    )
    problem = Problem(join(asked), WHOLE)
    peaks = []
    for number in range(30):
        tile = problem.tile(number)
        orders, fits = portfolio(tile, problem.windows)
        size = tile.size[: tile.blocks]
        for moves in (0, 50):
            found = pack(tile, problem.windows, problem.reserved, orders, fits, moves)
            peaks.append(int((found + size).max()))
    without, with_moves = np.array(peaks[::2]), np.array(peaks[1::2])
    assert np.all(with_moves <= without)
    assert np.any(with_moves < without)
