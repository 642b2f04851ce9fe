"""Permutes, against published vectors and pictures of their lanes."""

from typing import TYPE_CHECKING

import pytest

from tilewright.isa import FORMS

if TYPE_CHECKING:
    from tests.isa.meaning.conftest import Bench

A, B = 0x33221100, 0x77665544
"""Byte i of A is 0xii, of B 0xii with i counted on."""

PUBLISHED = {
    "sort4x16lo": 0x55441100,
    "sort4x16hi": 0x77663322,
    "sort8x8lo": 0x66442200,
    "sort8x8hi": 0x77553311,
    "shuf8x8lo": 0x55114400,
    "shuf8x8hi": 0x77336622,
    "roll16": 0x55443322,
    "roll8r": 0x44332211,
    # Of roll8l only the direction is a guess: a's highest byte comes first, then b's lower three.
    "roll8l": 0x66554433,
    "sort8": 0x33112200,
    "swap8": 0x22330011,
}
ONE_SOURCE = ("sort8", "swap8")


@pytest.mark.parametrize("file", ["m", "a"])
@pytest.mark.parametrize("mnemonic", PUBLISHED)
def test_vectors(worker: "Bench", mnemonic: str, file: str) -> None:
    sources = f"${file}0" if mnemonic in ONE_SOURCE else f"${file}0, ${file}1"
    worker.issue(f"{mnemonic} ${file}2, {sources}", **{f"{file}0": A, f"{file}1": B})
    assert [int(word) for word in worker.state[file][:3]] == [A, B, PUBLISHED[mnemonic]]


@pytest.mark.parametrize("mnemonic", PUBLISHED)
def test_supervisors_permute_too(supervisor: "Bench", mnemonic: str) -> None:
    sources = "$m0" if mnemonic in ONE_SOURCE else "$m0, $m1"
    supervisor.issue(f"{mnemonic} $m2, {sources}", m0=A, m1=B)
    assert supervisor.m[2] == PUBLISHED[mnemonic]


def test_every_permute_is_compared() -> None:
    names = ("sort", "shuf", "roll", "swap")
    found = {form.mnemonic for form in FORMS if form.mnemonic.startswith(names)}
    assert found == {*PUBLISHED, "roll32", "sort4x32lo", "sort4x32hi"}
    on_a_registers = {
        form.mnemonic for form in FORMS if form.mnemonic in PUBLISHED and form.name[-1] == "a"
    }
    assert on_a_registers == set(PUBLISHED)


@pytest.mark.parametrize(
    ("mnemonic", "words"),
    [("sort4x32lo", (1, 3)), ("sort4x32hi", (2, 4)), ("roll32", (2, 3))],
)
def test_words_of_pairs(worker: "Bench", mnemonic: str, words: tuple[int, int]) -> None:
    """The sources hold the words 1, 2 and 3, 4."""
    worker.issue(f"{mnemonic} $a4:5, $a0:1, $a2:3", a0=1, a1=2, a2=3, a3=4)
    assert worker.a == [1, 2, 3, 4, *words, 0, 0]


def test_broadcast_sources(worker: "Bench") -> None:
    worker.issue("sort4x16lo $a2, $a0:BU, $a1", a0=0xBBBBAAAA, a1=0xDDDDCCCC)
    assert worker.a[2] == 0xCCCCBBBB
    worker.issue("sort4x16hi $a2, $a0:BL, $a1")
    assert worker.a[2] == 0xDDDDAAAA


def test_a_register_with_itself(worker: "Bench") -> None:
    """`swap16` of kernels; and the destination may be a source."""
    worker.issue("roll16 $m0, $m0, $m0", m0=0x12345678)
    assert worker.m[0] == 0x56781234
    worker.issue("roll8r $m0, $m0, $m0")
    assert worker.m[0] == 0x34567812
    worker.issue("roll8l $m0, $m0, $m0")
    assert worker.m[0] == 0x56781234
    worker.issue("roll32 $a0:1, $a0:1, $a0:1", a0=1, a1=2)
    assert worker.a[:2] == [2, 1]
