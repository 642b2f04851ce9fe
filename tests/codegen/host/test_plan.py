"""What packages say of plans."""

from dataclasses import replace

import numpy as np
import pytest

from tests.codegen.host.examples import even
from tilewright.codegen.host import TABLES, HostCall, plan_exchange
from tilewright.package import (
    NONE,
    Application,
    BlobBuilder,
    ElementType,
    Group,
    Role,
    SegmentKind,
    Segments,
    Shards,
    Source,
    Tensor,
    validate,
)
from tilewright.target.host import LOADER_BATCH_TILES

_START, _TILES = 0x4C010, 64


def _application(calls: list[HostCall]) -> Application:
    """Tensor 0 is a parameter that is sent, 1 an input, 2 an output."""
    exchange = plan_exchange(calls)
    blobs = BlobBuilder()
    code = blobs.add(np.zeros(16, "<u4"))
    rows: list[tuple[int, ...]] = []
    for tile in range(_TILES):
        table = exchange.tables.of(tile)
        blob = blobs.add(np.frombuffer(table, np.uint8)) if table else NONE
        rows.append((tile, _START, 64, SegmentKind.CODE, code, 0, 64))
        if table:
            rows.append((tile, TABLES, len(table), SegmentKind.PACKETS, blob, 0, len(table)))
    shards = [table for call in calls for table in (call.sent, call.fetched)]
    columns = {
        name: np.concatenate([getattr(each, name) for each in shards]) for name in Shards.columns()
    }
    sizes = [int(columns["size"][columns["tensor"] == tensor].sum()) for tensor in range(3)]
    shapes = [(size // 4,) for size in sizes]
    roles = (Role.PARAMETER, Role.INPUT, Role.OUTPUT)
    tensors = [
        Tensor(role.name.lower(), role, ElementType.F32, shape)
        for role, shape in zip(roles, shapes, strict=True)
    ]
    stream = blobs.add(np.zeros(sizes[0], np.uint8))
    tensors[0] = Tensor(
        "parameter", roles[0], ElementType.F32, shapes[0], source=Source.BLOB, blob=stream
    )
    return Application(
        entries=[_START] * _TILES,
        segments=Segments(*np.array(rows).T),
        blobs=blobs.build(),
        tensors=tuple(tensors),
        shards=Shards(**columns),
        host=replace(exchange.plan, startup_mark=_TILES // LOADER_BATCH_TILES),
    )


@pytest.mark.parametrize("size", [4, 68, 40_000])
def test_packages_with_plans_are_valid(size: int) -> None:
    tiles = range(_TILES)
    load = HostCall("load", 2, even(0, tiles, 0x60000, size), group=Group.LOAD)
    run = HostCall("run", 1, even(1, tiles, 0x70000, size), even(2, tiles, 0x80000, size))
    assert validate(_application([load, run]), hashes=True) == ()
