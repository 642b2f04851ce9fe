"""Each rule of the validator: what breaks it, and what is said then."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.package import examples
from tests.package.examples import FACTORS, START, STATE, TILES
from tilewright.package import (
    NONE,
    Activities,
    Application,
    Batches,
    Call,
    CommandWord,
    Completion,
    Configuration,
    EntryPoint,
    Group,
    Notes,
    PackageError,
    Pages,
    ProfilePlan,
    Role,
    SegmentKind,
    Source,
    validate,
    write_profile_plan,
)
from tilewright.package.tables import Table

GOOD = examples.application()
CODE, CONSTANT, STATE_ROW, SCRATCH = range(4)
"""The segments of each tile in order."""
ROW = 17 * 4
"""The first segment of tile 17."""

Change = Callable[[Application], Application]


def with_row(table: Table, row: int, **values: int) -> Any:
    columns = {name: getattr(table, name).astype(np.int64) for name in table.columns()}
    for name, value in values.items():
        columns[name][row] = value
    return type(table)(**columns)


def segment(row: int, **values: int) -> Change:
    return lambda old: replace(old, segments=with_row(old.segments, row, **values))


def shard(row: int, **values: int) -> Change:
    return lambda old: replace(old, shards=with_row(old.shards, row, **values))


def tensor(number: int, **values: Any) -> Change:
    def change(old: Application) -> Application:
        tensors = list(old.tensors)
        tensors[number] = replace(tensors[number], **values)
        return replace(old, tensors=tuple(tensors))

    return change


def host(**values: Any) -> Change:
    return lambda old: replace(old, host=replace(old.host, **values))


def slices(row: int, **values: int) -> Change:
    return host(slices=with_row(GOOD.host.slices, row, **values))


def batches(row: int, **values: int) -> Change:
    return host(batches=with_row(GOOD.host.batches, row, **values))


def configuration(*rows: tuple[int, int, int]) -> Change:
    return lambda old: replace(old, configuration=Configuration(*np.array(rows).T))


RULES: list[tuple[Change, str]] = [
    # tiles and segments
    (lambda old: replace(old, entries=old.entries[:63]), "entries: the package is for 63 tiles"),
    (segment(ROW, tile=64), "segments[69]: rows do not strictly rise by tile, then address"),
    (segment(255, tile=64), "segments[255].tile: 64 does not exist; there are 64"),
    (segment(ROW, kind=8), "segments[68].kind: 8 does not exist"),
    (segment(ROW, blob=900), "segments[68].blob: 900 does not exist; there are 68"),
    (
        segment(ROW + SCRATCH, address=0xE7FF0),
        "tiles[17].segments[3].address: 0xe7ff0 to 0xe8030 is not within what can be used",
    ),
    (
        segment(ROW + SCRATCH, kind=SegmentKind.DATA, address=0xE7B80),
        "tiles[17].segments[3].address: 0xe7b80 to 0xe7bc0 is not within what can be loaded, "
        "0x4c010 to 0xe7bb0",
    ),
    (
        segment(ROW + STATE_ROW, size=0xFFFFFFFF),
        "tiles[17].segments[2].address: 0x58000 to 0x100057fff is not within",
    ),
    (
        segment(ROW + SCRATCH, kind=SegmentKind.ROW, address=0x80000),
        "tiles[17].segments[3].address: code at 0x80000 to 0x80040 has to lie below 0x80000",
    ),
    (
        segment(ROW + SCRATCH, kind=SegmentKind.CODE, address=0x5A002),
        "tiles[17].segments[3].address: code at 0x5a002",
    ),
    (segment(ROW + STATE_ROW, size=0), "tiles[17].segments[2].size: the segment is empty"),
    (
        segment(ROW + CONSTANT, data_size=40, size=32),
        "tiles[17].segments[1].data_size: the segment has more data than room",
    ),
    (
        segment(ROW + STATE_ROW, data_size=4),
        "tiles[17].segments[2].blob: a segment names a blob if and only if it has data",
    ),
    (
        segment(ROW + CONSTANT, offset=4),
        "tiles[17].segments[1].offset: the data do not lie within the blob",
    ),
    (
        segment(ROW + CONSTANT, offset=0xFFFFFFFC),
        "tiles[17].segments[1].offset: the data do not lie within the blob",
    ),
    (
        segment(ROW + SCRATCH, blob=0, data_size=4),
        "tiles[17].segments[3].data_size: scratch has no data",
    ),
    (
        segment(ROW + CONSTANT, address=START + 60),
        "tiles[17].segments[1].address: 0x4c04c lies within segments[0]",
    ),
    (
        segment(ROW, address=START + 4, size=60, data_size=60),
        "tiles[17].segments: the first segment has to be code at 0x4c010",
    ),
    (
        segment(ROW, kind=SegmentKind.DATA),
        "tiles[17].segments: the first segment has to be code at 0x4c010",
    ),
    (
        lambda old: replace(old, entries=[START + 64] * TILES),
        "entries[0]: 0x4c050 is no instruction in code",
    ),
    (
        lambda old: replace(old, entries=[START + 2] * TILES),
        "entries[0]: 0x4c012 is no instruction in code",
    ),
    (
        lambda old: replace(old, completion=Completion(START, 1)),
        "tiles[0]: no state or data at the completion word 0x4c010",
    ),
    (
        lambda old: replace(old, completion=Completion(STATE + 62, 1)),
        "completion.address: 0x5803e is no multiple of 4",
    ),
    (lambda old: replace(old, completion=Completion(-4, 1)), "completion.address: -4 is not in 0"),
    (lambda old: replace(old, completion=Completion(STATE, 1 << 32)), "completion.value: 42949672"),
    (lambda old: replace(old, producer="p" * 4097), "producer: a text of 4,097 characters"),
    (lambda old: replace(old, producer="\ud800"), "producer: no valid text: surrogates not allow"),
    # blobs
    (lambda old: replace(old, debug_blob=NONE), "blobs[66]: nothing uses the blob"),
    (lambda old: replace(old, debug_blob=70), "debug_blob: there is no blob 70"),
    (lambda old: replace(old, debug_blob=-1), "debug_blob: there is no blob -1"),
    # tensors and shards
    (lambda old: replace(old, tensors=old.tensors * 2000), "tensors: 10,000 entries; the limit is"),
    (tensor(0, name="n" * 4097), "tensors[0].name: a text of 4,097 characters"),
    (tensor(0, blob=-1), "tensors[0].blob: -1 is not in 0"),
    (tensor(0, blob=0), "tensors[0].blob: there is one if and only if the source is a blob"),
    (tensor(0, shape=(-64, 8)), "tensors[0].shape: an axis is empty"),
    (tensor(0, loops=((-1, 5),)), "tensors[0].loops: a loop has no extent, or no axis of the 2"),
    (tensor(0, loops=((1, -8), (0, 64))), "tensors[0].loops: a loop has no extent"),
    (tensor(0, name=""), "tensors[0].name: the tensor has no name"),
    (tensor(0, name="y"), "tensors[1].name: 2 are named 'y'"),
    (tensor(0, shape=(0, 8)), "tensors[0].shape: an axis is empty"),
    (tensor(0, shape=(1,) * 17), "tensors[0].shape: at most 16 axes"),
    (tensor(0, loops=((2, 5),)), "tensors[0].loops: a loop has no extent, or no axis of the 2"),
    (
        tensor(0, loops=((0, 64), (1, 4))),
        "tensors[0].loops: they span (64, 4), less than the shape",
    ),
    (tensor(0, shape=(1 << 31, 2)), "tensors[0].shape: the stream is longer than"),
    (tensor(0, scale=3), "tensors[0].scale: 3 is no scale of F16"),
    (tensor(0, source=Source.SEGMENTS), "tensors[0].source: parameters have a source"),
    (tensor(2, source=Source.NONE, source_name=""), "tensors[2].source: parameters have a source"),
    (tensor(2, source_name=""), "tensors[2].source_name: there is one if and only if"),
    (tensor(3, blob=0), "tensors[3].blob: the blob has 64 bytes, the stream 256"),
    (tensor(3, blob=68), "tensors[3].blob: there is no blob 68"),
    (shard(3, offset=0), "shards[3]: rows are not ordered by tensor, then offset"),
    (shard(3, tile=64), "shards[3].tile: 64 does not exist"),
    (shard(319, tensor=5), "shards[319].tensor: 5 does not exist"),
    (shard(3, size=0), "tensors[0].shards[3]: the shard is empty"),
    (shard(63, size=20), "tensors[0].shards[63]: it is not within the tensor's stream"),
    (shard(66, address=0xE7FF4), "tensors[1].shards[2]: its addresses are not in memory"),
    (shard(66, address=0xFFFFFFF8), "tensors[1].shards[2]: its addresses are not in memory"),
    (shard(192, address=0xE7BB0), "tensors[3].shards[0]: its addresses are not in memory, or"),
    (shard(3, size=12), "tensors[0].shards: no shard holds byte 60 of 'x', whose stream has 1024"),
    (shard(192, address=STATE), "tensors[3].shards[0]: it overlaps a segment"),
    (shard(3, address=START + 48), "tensors[0].shards[3]: it overlaps code, rows, packets"),
    (shard(3, address=START - 8), "tensors[0].shards[3]: it overlaps code, rows, packets"),
    (shard(130, address=START + 64), "tensors[2].shards[2]: it overlaps code, rows, packets"),
    (shard(193, tile=0), "tensors[3].shards[1]: it overlaps another shard that is loaded"),
    (
        tensor(3, source=Source.SEGMENTS, blob=NONE),
        "tensors[3].shards[0]: no segment's data hold it",
    ),
    # the host's plan
    (batches(2, call=0), "tensors[0]: no run sends byte 0 of 'x'"),
    (batches(3, call=2), "host.batches[3].call: 2 does not exist; there are 2"),
    (batches(0, call=1), "host.batches[1]: rows are not ordered by call"),
    (batches(0, direction=2), "host.batches[0].direction: 2 does not exist"),
    (
        batches(2, direction=1),
        "host.calls[1].batches[0].slices[0]: its tensor's role does not allow from device",
    ),
    (
        batches(3, direction=0),
        "host.calls[1].batches[1].slices[0]: its tensor's role does not allow to device",
    ),
    (slices(4, batch=4), "host.slices[4].batch: 4 does not exist"),
    (slices(2, tensor=9), "host.slices[2].tensor: 9 does not exist"),
    (slices(2, page=2), "host.slices[2].page: 2 does not exist"),
    (slices(2, size=0), "host.calls[1].batches[0].slices[0]: the slice is empty"),
    (slices(2, offset=2, size=1020), "slices[0]: offsets and size have to be multiples of 4"),
    (slices(2, size=1028), "slices[0]: it is not within the tensor's stream"),
    (slices(2, offset=0xFFFFFFFC), "slices[0]: it is not within the tensor's stream"),
    (slices(2, page_offset=8192), "slices[0]: it is not within its page"),
    (slices(2, page_offset=0xFFFFFFFC), "slices[0]: it is not within its page"),
    (
        lambda old: host(command_word=None)(slices(1, batch=0)(old)),
        "host.batches[1]: the batch has no slices, nor a command to pass",
    ),
    (slices(4, page_offset=1020), "host.calls[1].batches[1].slices[0]: it overlaps one of"),
    (slices(2, size=512), "tensors[0]: no run sends byte 512 of 'x', whose stream has 1024"),
    (slices(3, size=512), "tensors[1]: no call fetches byte 512 of 'y', whose stream has 1024"),
    (slices(0, size=508), "tensors[2]: no load sends byte 508 of 'w'"),
    (slices(4, tensor=1), "host.calls[1].batches[1].slices[1]: the call fetches these bytes twice"),
    (slices(2, page=0), "host.calls[1].batches[0].slices[0]: it overlaps the command word"),
    (host(pages=Pages([0, 1], [4096, 100])), "host.pages[1].size: 100 is no positive multiple"),
    (host(pages=Pages([0, 2], [4096, 8192])), "host.pages[1].index: index 2 is not where"),
    (host(pages=Pages([0, 0], [4096, 8192])), "host.pages[1].index: index 0 is not where"),
    (host(pages=Pages([0, 1], [4096, 1 << 27])), "host.pages: 134,221,824 bytes; the device"),
    (host(pages=Pages([0] * 4097, [0] * 4097)), "host.pages: 4,097 entries; the limit is 4,096"),
    (
        host(batches=Batches([0] * 65_537, [0] * 65_537)),
        "host.batches: 65,537 entries; the limit is 65,536",
    ),
    (host(calls=GOOD.host.calls * 2049), "host.calls: 4,098 entries; the limit is 4,096"),
    (
        host(entry_points=GOOD.host.entry_points * 2049),
        "host.entry_points: 4,098 entries; the limit is 4,096",
    ),
    (host(entry_points=(EntryPoint("a", (0,), -1),)), "host.entry_points[0].command: -1 is not"),
    (
        host(entry_points=(EntryPoint("a", (-1,)),)),
        "host.entry_points[0].calls: there is no call -1",
    ),
    (host(command_word=CommandWord(-1, 0)), "host.command_word.page: there is no page -1"),
    (host(command_word=CommandWord(0, -4)), "host.command_word.offset: -0x4 is no word"),
    (host(startup_mark=23), "host.startup_mark: 23; loaders of 1 rows of tiles end with 1"),
    (slices(0, tensor=0), "host.calls[0].batches[0].slices[0]: calls for loading send parameters"),
    (
        host(calls=(Call("a", Group.LOAD), Call("b", Group.LOAD))),
        "host.calls[1].batches[1].slices[0]: calls for loading send parameters",
    ),
    (
        host(entry_points=(EntryPoint("a", (0, 1), 7),)),
        "host.entry_points[0].calls: calls of several groups: load, run",
    ),
    (
        host(entry_points=(EntryPoint("a", (1,), 7),)),
        "host.calls[0]: it is for loading, but no entry point makes it",
    ),
    (
        host(entry_points=(EntryPoint("a", (1,), 7), EntryPoint("b", (0,), 0))),
        "host.calls[0]: it is for loading, but no entry point makes it",
    ),
    (host(command_word=None), "host.entry_points: without a command word there can be only one"),
    (host(command_word=CommandWord(2, 0)), "host.command_word.page: there is no page 2"),
    (host(command_word=CommandWord(0, 4096)), "host.command_word.offset: 0x1000 is no word"),
    (host(command_word=CommandWord(0, 6)), "host.command_word.offset: 0x6 is no word"),
    (
        host(entry_points=(EntryPoint("a", (0,)), EntryPoint("b", (1,)))),
        "host.entry_points[0].command: several have the command 0",
    ),
    (host(entry_points=(EntryPoint("a", (2,)),)), "host.entry_points[0].calls: there is no call 2"),
    (host(entry_points=(EntryPoint("a", ()),)), "host.entry_points[0].calls: it makes no calls"),
    (
        host(entry_points=(EntryPoint("a", (0,) * 4097),)),
        "host.entry_points[0].calls: it makes 4,097 calls; the limit is 4,096",
    ),
    (host(entry_points=(EntryPoint("", (0,)),)), "host.entry_points[0].name: it has no name"),
    (
        host(calls=(Call("a", Group.LOAD), Call("a", Group.RUN))),
        "host.calls[0].name: 2 are named 'a'",
    ),
    # configuration
    (configuration((2, 0, 0)), "configuration[0]: 0x2: registers lie at multiples of 4"),
    (configuration((0x80000, 0, 0)), "configuration[0]: 0x80000: there are no registers so far"),
    (configuration((0x3030, 0, 0)), "configuration[0]: 0x3030: the marks of host sync belong"),
    (configuration((4, 0, 0), (4, 1, 0)), "configuration[1]: 0x4: the register is written twice"),
    (configuration((4, 0, 2)), "configuration[0].when: 2 does not exist"),
]


def test_the_example_is_good() -> None:
    assert validate(GOOD, hashes=True) == ()


@pytest.mark.parametrize(("change", "expected"), RULES, ids=[each for _, each in RULES])
def test_rule(change: Change, expected: str) -> None:
    found = [str(fault) for fault in validate(change(GOOD))]
    assert any(expected in each for each in found), found


def test_what_may_be() -> None:
    """Changes near the rules that break none."""
    for change in (
        segment(ROW + SCRATCH, address=0xE7FC0),
        segment(ROW + SCRATCH, kind=SegmentKind.DATA, address=0xE7BB0 - 64),
        segment(ROW + SCRATCH, kind=SegmentKind.ROW, address=0x80000 - 64),
        shard(66, address=0xE7FF0),
        shard(255, address=FACTORS - 4),
        tensor(1, role=Role.OUTPUT, loops=((0, 8), (1, 8), (0, 8))),
        slices(4, page_offset=4096),
        host(calls=(Call("initialise", Group.LOAD), Call("run", Group.RUN))),
        configuration((4, 0, 0), (4, 1, 1), (0x7FFFC, 0, 0)),
        lambda old: replace(old, completion=Completion(STATE + 60, 1)),
    ):
        assert validate(change(GOOD)) == ()


def test_all_faults_are_reported_together() -> None:
    wrong = segment(ROW, size=0)(GOOD)
    wrong = segment(9 * 4 + CONSTANT, offset=4)(wrong)
    paths = {fault.path for fault in validate(host(startup_mark=0)(wrong))}
    assert {
        "tiles[17].segments[0].size",
        "tiles[9].segments[1].offset",
        "host.startup_mark",
    } <= paths


def test_faults_of_all_parts_are_told_at_once() -> None:
    """What cannot be looked up in one part hides nothing in the others."""
    wrong = segment(ROW, address=0x4C000)(host(startup_mark=0)(shard(0, tile=64)(GOOD)))
    wrong = configuration((2, 0, 0))(wrong)
    paths = [fault.path for fault in validate(wrong)]
    assert paths[:2] == ["shards[0].tile", "configuration[0]"]
    assert "tiles[17].segments[0].address" in paths
    wrong = host(command_word=CommandWord(2, 0))(segment(ROW, kind=9)(GOOD))
    assert [fault.path for fault in validate(wrong)] == [
        f"segments[{ROW}].kind",
        "host.command_word.page",
    ]


def test_faults_of_one_kind_are_counted() -> None:
    wrong = replace(GOOD, segments=replace(GOOD.segments, kind=[9] * 256))
    found = [fault for fault in validate(wrong) if "kind" in fault.path or "more" in fault.message]
    assert len(found) == 101
    assert str(found[-1]) == "segments: and 156 more faults of this kind"


def test_profile_plans_need_room_for_samples() -> None:
    steps = examples.steps()
    more = replace(steps, tiles=replace(steps.tiles, tile_list=[1] * TILES))
    wrong = examples.application(plan=ProfilePlan(more))
    assert validate(wrong) == ()
    found = [str(fault) for fault in validate(wrong, hashes=True)]
    assert found[0] == "profile_plan.tiles[0]: 3 steps take 16 bytes of samples; it has 12"
    assert len(found) == TILES // 2


@pytest.mark.parametrize(
    ("name", "message"), [("z", "the package has no tensor 'z'"), ("w", "'w' is no output")]
)
def test_profile_plans_need_an_output(name: str, message: str) -> None:
    wrong = examples.application(plan=ProfilePlan(examples.steps(), name))
    assert message in [fault.message for fault in validate(wrong, hashes=True)]


def test_profile_plans_know_all_tiles_with_samples() -> None:
    steps = examples.steps()
    wrong = examples.application(plan=ProfilePlan(replace(steps, tiles=steps.tiles[:-1])))
    [found] = validate(wrong, hashes=True)
    assert str(found) == "profile_plan.tiles[63]: it has no steps, but 16 bytes of samples"


def test_profile_plans_have_a_limit_of_samples() -> None:
    steps = examples.steps()
    rows = np.sort(np.append(np.zeros(600_000, np.int64), np.arange(5)))
    longer = replace(steps, table=steps.table[rows], activities=Activities(), notes=Notes())
    with pytest.raises(PackageError, match=r"steps\.tiles: 19,200,224 samples of all tiles"):
        write_profile_plan(ProfilePlan(longer))


def test_equal_contents_are_no_two_blobs() -> None:
    class Doubled:
        digests = np.concatenate([GOOD.blobs.digests, GOOD.blobs.digests[:1]])
        sizes = np.append(GOOD.blobs.sizes, GOOD.blobs.sizes[0])

    wrong = replace(GOOD, blobs=Doubled())  # type: ignore[arg-type] # no builder makes that
    found = [str(fault) for fault in validate(wrong)]
    assert "blobs[68]: an earlier blob has the same content" in found
