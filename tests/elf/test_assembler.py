"""The assembler as a whole: published words, every form and boundary, files and options."""

import csv
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.for_each import for_each
from tilewright.elf.assembler import AssemblyError, assemble, assemble_file
from tilewright.errors import TilewrightError
from tilewright.isa import (
    COISSUE,
    FORMS,
    SPELLINGS,
    EncodingError,
    Form,
    Instruction,
    Kind,
    Lane,
    Mode,
    Operand,
    decode,
    encode,
    instruction_text,
)

PAIRS = list(
    csv.DictReader(
        (Path(__file__).parents[1] / "isa" / "pairs.tsv").read_text("utf-8").splitlines(),
        delimiter="\t",
    )
)


def words_of(text: str, mode: Mode = Mode.WORKER, word_targets: bool = False) -> list[int]:
    """The words of `.text`."""
    data = assemble(text, mode=mode).sections[0].data
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]


# -- published words ------------------------------------------------------------------------------


def modes(row: dict[str, str]) -> list[Mode]:
    both = [Mode.WORKER, Mode.SUPERVISOR]
    return both if row["mode"] == "both" else [Mode(row["mode"])]


def solo(word: int) -> int:
    """A word of a bundle as it would stand alone; bit 31 belongs to sendpicp's opcode."""
    return word if word >> 28 == 0xF else word & ~COISSUE


@for_each(PAIRS, name=lambda row: f"{row['word']} {row['text']}")
def test_text_assembles_to_its_word(row: dict[str, str]) -> None:
    expected = [solo(int(row["word"], 16))]
    for mode in modes(row):
        assert words_of(row["text"], mode) == expected
        assert words_of(f".{mode.value}\n{row['text']}") == expected


# -- every form -----------------------------------------------------------------------------------

every_form = for_each(FORMS, name=lambda form: form.name)

NO_CHECKS = ".allow_invalid_repeat\n"
"""Repeats stand among other instructions here, which are no body."""


def mode_of(form: Form) -> Mode:
    return Mode.SUPERVISOR if form.mode is Mode.SUPERVISOR else Mode.WORKER


def boundaries(operand: Operand) -> list[int]:
    """The ends of the range, one step inside, and around 0."""
    low, high, step = operand.minimum, operand.maximum, operand.step
    candidates = {low, low + step, -step, 0, step, high - step, high}
    return sorted(value for value in candidates if low <= value <= high)


def boundary_values(form: Form) -> Iterator[tuple[int, ...]]:
    """One operand at each boundary and the others in the middle; all combinations of the ends."""
    choices = [boundaries(operand) for operand in form.operands]
    middle = [values[len(values) // 2] for values in choices]
    rows = {tuple(middle)}
    for place, values in enumerate(choices):
        rows |= {(*middle[:place], value, *middle[place + 1 :]) for value in values}
    rows |= set(product(*((values[0], values[-1]) for values in choices)))
    return iter(sorted(rows))


@every_form
def test_boundary_words_come_back(form: Form) -> None:
    words = [encode(form, values) for values in boundary_values(form)]
    instructions = [decode(word) for word in words]
    text = "".join(f"{instruction_text(each)}\n" for each in instructions if each)
    assert words_of(NO_CHECKS + text, mode_of(form)) == words


@every_form
def test_boundary_words_come_back_in_bundles(form: Form) -> None:
    if form.is_solo or form.mode is Mode.SUPERVISOR:
        return
    # Partners that write no register of the other file: f32mac $a0, $a1 and nop.
    main, aux = ("{}", "f32mac $a0, $a1") if form.lane is Lane.MAIN else ("nop", "{}")
    partner = 0x5A001180 if form.lane is Lane.MAIN else 0x19E00000
    text = NO_CHECKS
    expected: list[int] = []
    for values in boundary_values(form):
        words = [encode(form, values, coissue=True), partner | COISSUE]
        expected += words if form.lane is Lane.MAIN else reversed(words)
        shown = instruction_text(Instruction(form, values, coissue=True))
        text += f"{{ {main.format(shown)} ; {aux.format(shown)} }}\n"
    assert words_of(text) == expected


@every_form
def test_solo_forms_are_refused_in_bundles(form: Form) -> None:
    if not form.is_solo:
        return
    text = instruction_text(Instruction(form, tuple(each.maximum for each in form.operands)))
    with pytest.raises(AssemblyError, match=r"cannot be part of a bundle|worker instruction"):
        assemble(f"{{ {text} ; fnop }}", mode=mode_of(form))
    with pytest.raises(EncodingError):
        encode(form, [each.maximum for each in form.operands], coissue=True)


def same_text(form: Form) -> list[Form]:
    """The forms that are written with the same mnemonic and kinds of operands."""
    return [
        other
        for other in FORMS
        if (other.mnemonic, other.signature) == (form.mnemonic, form.signature)
    ]


def refused_values(forms: list[Form], place: int) -> list[int]:
    """Numbers just outside the ranges of an operand, which no form of the text holds."""
    operands = [form.operands[place] for form in forms]
    values = set()
    for each in operands:
        values |= {each.minimum - 1, each.maximum + 1, each.maximum + each.step}
        if each.step > 1:
            values |= {each.minimum + 1, each.maximum - 1}
    return sorted(value for value in values if not any(each.accepts(value) for each in operands))


IMMEDIATES = [
    (form, place)
    for form in FORMS
    for place, operand in enumerate(form.operands)
    if not operand.is_register
]


@for_each(IMMEDIATES, name=lambda immediate: f"{immediate[0].name} {immediate[1]}")
def test_numbers_outside_the_range_are_refused(immediate: tuple[Form, int]) -> None:
    form, place = immediate
    middle = [boundaries(operand)[0] for operand in form.operands]
    refused = refused_values(same_text(form), place)
    assert len(refused) >= 2
    for value in refused:
        operands = [each.text(number) for each, number in zip(form.operands, middle, strict=True)]
        operands[place] = str(value)
        with pytest.raises(AssemblyError) as caught:
            assemble(f"{form.mnemonic} {', '.join(operands)}", mode=mode_of(form))
        (diagnostic,) = caught.value.diagnostics
        assert "out of range" in diagnostic.message
        assert diagnostic.place is not None
        shown = diagnostic.place.line.text[diagnostic.place.start : diagnostic.place.end]
        assert shown == str(value)


@every_form
def test_wrong_registers_are_refused(form: Form) -> None:
    """The other register file, a stray character, a number out of range, no register at all."""
    texts = [operand.text(boundaries(operand)[0]) for operand in form.operands]
    for place, operand in enumerate(form.operands):
        if not operand.is_register:
            continue
        other_file = "a" if operand.file == "m" else "m"
        wrong = [texts[place] + "%", "$m16", "2 3"]
        signature = (*form.signature[:place], other_file, *form.signature[place + 1 :])
        if signature not in SPELLINGS[form.mnemonic]:
            wrong.append(f"${other_file}2")
        for text in wrong:
            operands = ", ".join([*texts[:place], text, *texts[place + 1 :]])
            with pytest.raises(AssemblyError):
                assemble(f"{form.mnemonic} {operands}", mode=mode_of(form))


# -- files and options ----------------------------------------------------------------------------


def test_suffix_decides_about_the_preprocessor(tmp_path: Path) -> None:
    text = "X = 3\n#define X 5\nsetzi $m0, X\n"
    for suffix, value in ((".S", 5), (".s", 3), (".asm", 3)):
        path = tmp_path / f"source{suffix}"
        path.write_text(text)
        assert assemble_file(path).object.sections[0].data == bytes([value, 0, 0, 0x19])


@pytest.mark.parametrize("suffix", [".s", ".S"])
def test_mode_of_the_start(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"source{suffix}"
    path.write_text("sync 1\n.worker\nexitz $mzero\n")
    data = assemble_file(path, mode=Mode.SUPERVISOR).object.sections[0].data
    assert data == bytes.fromhex("01008041 0040f043")
    with pytest.raises(AssemblyError, match="'sync' is a supervisor instruction"):
        assemble_file(path)


def test_names_of_objects_and_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kernel.s").write_text("nop\n")
    assert assemble_file(Path("kernel.s")).object.name == "kernel.s"
    assert assemble("nop", "given").name == "given"
    with pytest.raises(AssemblyError, match=r"^given:1:1: error: "):
        assemble("frob", "given")


def test_missing_file_is_an_error_of_the_family(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match=r"nowhere\.S"):
        assemble_file(tmp_path / "nowhere.S")


def test_warnings_are_returned(tmp_path: Path) -> None:
    path = tmp_path / "source.s"
    path.write_text('nop\n.warning "one"\nnop\n.warning "two"\n')
    warnings = assemble_file(path).warnings
    assert [str(each).splitlines()[0] for each in warnings] == [
        f"{path}:2:10: warning: .warning: one",
        f"{path}:4:10: warning: .warning: two",
    ]


def test_text_that_is_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / "source.s"
    path.write_bytes(b'nop # \xff\xfe\n.ascii "\xe4\xff"\n.half 0\n')
    data = assemble_file(path).object.sections[0].data
    assert data == b"\0\0\xe0\x19\xe4\xff\0\0"


def test_word_targets(tmp_path: Path) -> None:
    """Numbers that are known count words, names of places and later numbers bytes."""
    path = tmp_path / "source.s"
    path.write_text(
        """
        .set known, 0x19500
        call $m0, 524288
        bri 0x19500
        bri known
        bri known + 1
        bri later
        bri place + 4
        .set later, 0x65434
        place:
        """
    )
    section = assemble_file(path, word_targets=True).object.sections[0]
    words = [int.from_bytes(section.data[at : at + 4], "little") for at in range(0, 24, 4)]
    assert words == [
        0x18080000,
        0x40819500,
        0x40819500,
        0x40819501,
        0x40800000 | 0x65434 >> 2,
        0x40800000,
    ]
    assert [(each.offset, each.addend) for each in section.relocations] == [(20, 4)]


@pytest.mark.parametrize("operand", ["1 << 19", "524288", "-1", "known"])
def test_word_targets_out_of_range(tmp_path: Path, operand: str) -> None:
    path = tmp_path / "source.s"
    path.write_text(f".set known, 524288\nbri {operand}\n")
    with pytest.raises(AssemblyError, match="out of range") as caught:
        assemble_file(path, word_targets=True)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.place is not None
    assert (diagnostic.place.line.number, diagnostic.place.start) == (2, 4)


def test_word_targets_of_call_have_a_bit_to_spare(tmp_path: Path) -> None:
    path = tmp_path / "source.s"
    path.write_text("call $m0, (1 << 20) - 1")
    assert assemble_file(path, word_targets=True).object.sections[0].data == b"\xff\xff\x0f\x18"
    path.write_text("call $m0, 1 << 20")
    with pytest.raises(AssemblyError):
        assemble_file(path, word_targets=True)


def test_kinds_that_may_be_symbols_are_few() -> None:
    """Every immediate but targets, setzi, cmpult and run's vertex refuses an external symbol."""
    for form in FORMS:
        for place, operand in enumerate(form.operands):
            if operand.is_register:
                continue
            texts = [each.text(boundaries(each)[0]) for each in form.operands]
            texts[place] = "elsewhere"
            source = f"{form.mnemonic} {', '.join(texts)}"
            if operand.kind in (Kind.TARGET, Kind.VALUE, Kind.VERTEX_OFFSET):
                assert assemble(source, mode=mode_of(form)).sections[0].relocations
            else:
                with pytest.raises(AssemblyError, match="must be a constant"):
                    assemble(source, mode=mode_of(form))
