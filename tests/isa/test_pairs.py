"""Published pairs of text and word: each word prints as its text."""

import csv
from pathlib import Path

from tests.for_each import for_each
from tilewright.isa import (
    COISSUE,
    FORMS,
    Evidence,
    Mode,
    decode,
    instruction_text,
    parse_register,
    register_name,
)

PAIRS = Path(__file__).with_name("pairs.tsv")
"""`mode` is the context of the source, `confidence` whether the word itself was published."""

ROWS = list(csv.DictReader(PAIRS.read_text("utf-8").splitlines(), delimiter="\t"))

OTHER_NAMES = {
    "movz": "movnz",
    "uget": "get",
    "uput": "put",
    "atom": "mov",
    "f16v4sisov2amp": "f16v4sisoamp",
    "f16v4sisov2slic": "f16v4sisoslic",
}
"""Written → printed, where an instruction has two names."""

CONTROL_REGISTERS = {
    "$PC": 0,
    "$WSR": 1,
    "$VERTEX_BASE": 2,
    "$WORKER_BASE": 3,
    "$REPEAT_COUNT": 4,
    "$REPEAT_FIRST": 5,
    "$REPEAT_END": 6,
    "$FP_ICTL": 0x20,
    "$FP_INFMT": 0x31,
    "$FP_ISCL": 0x33,
    "$CCCSLOAD": 0x50,
    "$COUNT_L": 0x60,
    "$COUNT_U": 0x61,
    "$DBG_DATA": 0x70,
    "$DBG_BRK_ID": 0x71,
    "$CTXT_STS": 0x72,
    "$FP_STS": 0,
    "$FP_CLR": 1,
    "$FP_CTL": 2,
    "$PRNG_0_0": 3,
    "$PRNG_0_1": 4,
    "$PRNG_1_0": 5,
    "$PRNG_1_1": 6,
    "$PRNG_SEED": 7,
    "$TAS": 8,
    "$FP_NFMT": 9,
    "$FP_SCL": 10,
}


def normalised(text: str) -> tuple[str, ...]:
    """Mnemonic and operands with numbers as decimals and registers by number."""
    mnemonic, _, rest = text.partition(" ")
    operands = [each.strip() for each in rest.split(",")] if rest else []
    return OTHER_NAMES.get(mnemonic, mnemonic), *map(normalised_operand, operands)


def normalised_operand(text: str) -> str:
    if text in CONTROL_REGISTERS:
        return str(CONTROL_REGISTERS[text])
    register = parse_register(text)
    if register is not None:
        return register_name(*register)
    return text if text.startswith("$") else str(int(text, 0))


@for_each(ROWS, name=lambda row: f"{row['word']} {row['text']}")
def test_word_prints_as_its_text(row: dict[str, str]) -> None:
    instruction = decode(int(row["word"], 16))
    assert instruction is not None
    assert normalised(instruction_text(instruction)) == normalised(row["text"])


def test_modes_allow_the_instructions() -> None:
    refused = []
    for row in ROWS:
        instruction = decode(int(row["word"], 16))
        assert instruction is not None
        modes = [Mode.WORKER, Mode.SUPERVISOR] if row["mode"] == "both" else [Mode(row["mode"])]
        refused += [(row["text"], mode) for mode in modes if not instruction.form.mode.allows(mode)]
    assert refused == []


def test_bit_31_marks_halves_of_bundles() -> None:
    words = [int(row["word"], 16) for row in ROWS]
    marked = {word for word in words if (each := decode(word)) and each.coissue}
    # Bit 31 belongs to the opcode of sendpicp.
    assert marked == {word for word in words if word & COISSUE and word >> 28 != 0xF}


def test_every_form_has_a_pair() -> None:
    found = {each.form for row in ROWS if (each := decode(int(row["word"], 16)))}
    assert set(FORMS) - found == set()


def test_forms_said_to_be_known_from_words_have_a_published_one() -> None:
    published = [row for row in ROWS if row["confidence"] == "documented"]
    found = {each.form for row in published if (each := decode(int(row["word"], 16)))}
    claimed = {form for form in FORMS if form.evidence is Evidence.WORDS}
    assert claimed - found == set()
