"""Rows word for word, and the limits of instructions."""

import numpy as np
import pytest

from tilewright.exchange import ExchangePhase, PhaseError, Rows, Transfer, encode, schedule
from tilewright.isa import decode
from tilewright.target.topology import physical_tile

SOURCE, WINDOW = 0x60000, 0x50000
"""Rows of a third party have source address 0: bases make ours alike."""

GOLDEN = [
    (
        (0, (274, 1286), 3, SOURCE, 0),
        {
            0: "40a00016 78400003",
            274: "64000000 64008640 61814000 40a00007",
            1286: "64000000 64008640 61814000 40a00007",
        },
    ),
    (
        (0, (2, 3), 128, SOURCE, WINDOW),
        {
            0: "40a0001e 7fe00005",
            2: "64002000 61a40001 60080000 64022640 61a40000 40a00006",
            3: "61ac0001 60080000 61ec0000 40a00006",
        },
    ),
    (
        (2, (0, 1), 128, SOURCE, WINDOW),
        {
            2: "40a0001a 7fe00005",
            0: "64002040 61940001 60080000 6402a640 61940000 40a00006",
            1: "619c0001 60080000 61ec0000 40a00006",
        },
    ),
    (
        (0, (46, 47), 128, SOURCE, WINDOW),
        {
            0: "40a00045 7fe00005",
            46: "62fc0001 60080000 61ec0000 40a00006",
            47: "64002002 640fe640 60f40001 60080000 61ec0000 40a00006",
        },
    ),
]
"""(source, receivers, words, bases of sources and destinations), and rows by logical tile."""


def rows_of(
    source: int, receivers: tuple[int, ...], words: int, outgoing: int, incoming: int
) -> Rows:
    transfer = Transfer(
        physical_tile(source),
        SOURCE,
        words,
        [(physical_tile(tile), WINDOW) for tile in receivers],
    )
    return encode(schedule(ExchangePhase.of([transfer])), incoming, outgoing)


@pytest.mark.parametrize(("case", "expected"), GOLDEN)
def test_rows_of_a_third_party(
    case: tuple[int, tuple[int, ...], int, int, int], expected: dict[int, str]
) -> None:
    rows = rows_of(*case)
    for tile, words in expected.items():
        found = " ".join(f"{word:08x}" for word in rows.row(physical_tile(tile)).tolist())
        assert found == words, tile


def test_partners_that_lend_their_bus_wait() -> None:
    rows = rows_of(0, (46, 47), 128, SOURCE, WINDOW)
    (word,) = rows.row(physical_tile(1)).tolist()
    waiting = decode(word)
    assert waiting is not None
    assert (waiting.form.mnemonic, waiting.values) == ("delay", (133,))
    assert rows.events[physical_tile(1)] == 134


def test_tiles_without_part_have_no_row() -> None:
    rows = rows_of(0, (274,), 3, 0, 0)
    assert np.flatnonzero(rows.is_active).tolist() == sorted(map(physical_tile, (0, 274)))


@pytest.mark.parametrize(
    ("outgoing", "incoming", "reason"),
    [
        (SOURCE + 4, 0, "a source"),
        (0, WINDOW + 4, "a destination"),
        (SOURCE - 2, 0, "a source"),
        (-0x100000, 0, "a source"),
        (0, -0x100000, "a destination"),
    ],
)
def test_addresses_out_of_reach_of_their_base(outgoing: int, incoming: int, reason: str) -> None:
    with pytest.raises(PhaseError, match=reason) as raised:
        rows_of(0, (274,), 3, outgoing, incoming)
    assert "transfer 0 " in str(raised.value)


def test_bases_may_differ_between_tiles() -> None:
    phase = ExchangePhase.of([Transfer(0, SOURCE, 3, [(64, WINDOW)])])
    incoming, outgoing = np.zeros(1472, np.int64), np.zeros(1472, np.int64)
    incoming[64], outgoing[0] = WINDOW, SOURCE - 8
    rows = encode(schedule(phase), incoming, outgoing)
    held = [
        decoded.values[1]
        for tile, mnemonic in ((0, "send"), (64, "delaypic"))
        for word in rows.row(tile).tolist()
        if (decoded := decode(word)) is not None and decoded.form.mnemonic == mnemonic
    ]
    # Of the send its address in words; of the pointer its selector, before the address.
    assert held == [2, 0]
    assert rows.row(64)[2] & 0x3FFFF == 0


def test_each_address_has_its_owner() -> None:
    phase = ExchangePhase.of(
        [
            Transfer(0, SOURCE, 200, [(64, WINDOW), (128, WINDOW)]),
            Transfer(64, SOURCE, 100, [(0, WINDOW)]),
        ]
    )
    rows = encode(schedule(phase))
    of_tile = np.repeat(np.arange(1472), np.diff(rows.start))
    for word in np.flatnonzero(rows.reads >= 0).tolist():
        assert phase.source_tile[rows.reads[word]] == of_tile[word]
    for word in np.flatnonzero(rows.writes >= 0).tolist():
        assert phase.receiver_tile[rows.writes[word]] == of_tile[word]
    assert set(rows.reads[rows.reads >= 0].tolist()) == {0, 1}
    assert sorted(rows.writes[rows.writes >= 0].tolist()) == [0, 1, 2]


def test_the_same_phase_gives_the_same_words() -> None:
    first, second = (rows_of(0, (274, 1286, 5), 77, 0, 0) for _ in range(2))
    assert first.words.tobytes() == second.words.tobytes()
