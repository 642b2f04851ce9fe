"""Byte offsets of what translated code reads and writes in a tile's record."""

from tilewright.emulator.state import SUPERVISOR, TILE, WORKER
from tilewright.target.csr import CSRS


def _worker_offset(field: str) -> int:
    assert WORKER.fields is not None
    return int(WORKER.fields[field][1])


def _tile_offset(field: str) -> int:
    assert TILE.fields is not None
    return int(TILE.fields[field][1])


def _debug_data() -> int:
    assert SUPERVISOR.fields is not None
    in_supervisor = int(SUPERVISOR.fields["csr"][1]) + 4 * CSRS["DBG_DATA"].index
    return _tile_offset("supervisor") + in_supervisor


OFFSETS: dict[str, int] = {name: _worker_offset(name) for name in WORKER.names or ()}
"""Field of a worker's record → offset in it."""
WORKERS_OFFSET = _tile_offset("workers")
WORKER_SIZE = WORKER.itemsize
WEIGHTS_OFFSET = _tile_offset("weights")
DEBUG_DATA_OFFSET = _debug_data()
