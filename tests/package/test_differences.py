"""How packages differ, in words."""

from dataclasses import replace

import numpy as np

from tests.package import examples
from tests.package.examples import START, TILES
from tilewright.package import (
    Application,
    BlobBuilder,
    Configuration,
    SegmentKind,
    Source,
    differences,
    summary,
)

ONE = examples.application()


def _renumbered(application: Application) -> Application:
    """The same package with its blobs in reverse order."""
    blobs = BlobBuilder()
    count = len(application.blobs.sizes)
    blobs.add_all(application.blobs[blob] for blob in reversed(range(count)))
    segments = application.segments
    blob = segments.blob.astype(np.int64)
    blob[blob < count] = count - 1 - blob[blob < count]
    return replace(
        application,
        blobs=blobs.build(),
        segments=replace(segments, blob=blob),
        tensors=tuple(
            replace(each, blob=count - 1 - each.blob) if each.source is Source.BLOB else each
            for each in application.tensors
        ),
        profile_plan_blob=count - 1 - application.profile_plan_blob,
        debug_blob=count - 1 - application.debug_blob,
    )


def test_no_difference() -> None:
    assert differences(ONE, examples.application()) == []
    assert differences(ONE, _renumbered(ONE)) == []
    assert _renumbered(ONE) != ONE


def test_tiles_that_differ() -> None:
    row = 17 * 4 + 1
    kind, blob = ONE.segments.kind.copy(), ONE.segments.blob.copy()
    blob[row] = blob[row + 4]
    kind[3] = SegmentKind.DATA
    other = replace(ONE, segments=replace(ONE.segments, blob=blob, kind=kind))
    assert differences(ONE, other) == [
        "constant: of tile 17",
        "data: of tile 0",
        "scratch: of tile 0",
    ]
    moved = replace(ONE, entries=[START + 8] * TILES)
    assert differences(ONE, moved) == ["entries: of tiles 0, 1, 2, 3, 4, 5, 6, 7 and 56 more"]


def test_tensors_that_differ() -> None:
    tensors = list(ONE.tensors)
    tensors[0] = replace(tensors[0], name="z")
    tensors[1] = replace(tensors[1], shape=(8, TILES))
    shards = replace(ONE.shards, address=ONE.shards.address + (ONE.shards.tensor == 3) * 4)
    found = differences(ONE, replace(ONE, tensors=tuple(tensors), shards=shards))
    assert found == [
        "tensor 'x': gone",
        "tensor 'z': new",
        "tensor 'y': shape (64, 8) → (8, 64), order ((0, 64), (1, 8)) → ((0, 8), (1, 64))",
        "tensor 'k': places",
    ]
    assert differences(ONE, examples.application(Source.BLOB)) == [
        "tensor 'w': source_name encoder.w → , source file → blob, content"
    ]


def test_the_rest() -> None:
    host = replace(ONE.host, startup_mark=2, slices=replace(ONE.host.slices, size=[4] * 5))
    other = replace(
        ONE,
        producer="other",
        host=host,
        configuration=Configuration([0], [0], [0]),
        completion=None,
        debug_blob=0,
        profile_plan_blob=0xFFFFFFFF,
    )
    assert differences(ONE, other) == [
        "producer: 'tilewright test' → 'other'",
        "host slices: 5 of 5 rows differ, the first is 0",
        "host startup mark: 1 → 2",
        "configuration: 2 → 1 rows",
        "completion: Completion(address=360448, value=1) → None",
        "profile plan: gone",
        "debug tables: differ",
    ]


def test_summary() -> None:
    text = summary(ONE)
    assert "tiles     64, with 256 segments" in text
    assert "call run (run): 1 batches to the device, 1 from it, 3 phases" in text
    assert "has       profile plan and debug tables" in text
