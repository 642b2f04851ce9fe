"""docs/package.md against the code."""

import re
from pathlib import Path

from tilewright.package.checks.host import MAX_BATCHES, MAX_CALLS, MAX_PAGES
from tilewright.package.checks.tensors import MAX_LOOPS, MAX_RANK, MAX_TENSORS
from tilewright.package.layout import MAX_FILE, MAX_MANIFEST
from tilewright.package.manifest import MAJOR, MAX_REST, MINOR
from tilewright.package.message import MAX_NAME, MAX_TABLES, schema
from tilewright.package.steps import MAX_SAMPLES

DOCS = (Path(__file__).parents[2] / "docs" / "package.md").read_text()


def test_limits() -> None:
    for row in (
        f"| file | {MAX_FILE >> 30} GiB |",
        f"| manifest | {MAX_MANIFEST >> 20} MiB |",
        f"slices and registers | {MAX_REST >> 20} MiB |",
        "| tensors, calls, entry points, batches, pages | "
        f"{MAX_TENSORS:,}; {MAX_CALLS:,}; {MAX_CALLS:,}; {MAX_BATCHES:,}; {MAX_PAGES:,} |",
        f"| axes and loops of a tensor, bytes of a stream | {MAX_RANK} and {MAX_LOOPS}; 4 GiB |",
        f"| length of a text | {MAX_NAME:,} characters |",
        f"| profile plan, debug tables | {MAX_TABLES >> 20} MiB each |",
        f"| samples of all tiles | {MAX_SAMPLES:,} |",
    ):
        assert row in DOCS
    assert f"version of the format, {MAJOR}.{MINOR}" in DOCS


def test_every_field_is_explained() -> None:
    package = schema("package")
    for name in ("Package", "Blobs", "Segments", "Tensor", "Shards", "Host", "Call", "Slices"):
        for field in getattr(package, name).schema.fieldnames:
            assert re.search(rf"\b{field}\b", DOCS), f"{name}.{field}"
    for kind in package.SegmentKind.schema.enumerants:
        assert f"`{kind}`" in DOCS
