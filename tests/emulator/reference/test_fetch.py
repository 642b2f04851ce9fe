"""What cannot be fetched: addresses, words, modes, and what is no bundle."""

from typing import TYPE_CHECKING

import pytest

from tests.for_each import for_each
from tilewright.emulator.faults import (
    InstructionFault,
    OperandFault,
    ProgramCounterFault,
    TileFault,
)
from tilewright.emulator.reference.fetch import check_code_address, fetch
from tilewright.isa import COISSUE, FORM_BY_NAME, FORMS, Form, Lane, Mode, encode

if TYPE_CHECKING:
    from tests.emulator.conftest import MakeProgram

FIRST, END = 0x4C000, 0x80000
NOP = encode(FORM_BY_NAME["setzi m,x20"], (14, 0))
FNOP = encode(FORM_BY_NAME["setzi a,x20"], (13, 0))
UNKNOWN_WORDS = (0, 0x00FFFFFF, 0x3FFFFFFF, 0x80000000)


def lowest(form: Form) -> int:
    """A word of the form, with the lowest operands."""
    return encode(form, [operand.minimum for operand in form.operands])


@pytest.mark.parametrize("address", [FIRST, FIRST + 4, END - 4])
def test_code_addresses(address: int) -> None:
    check_code_address(address)


@pytest.mark.parametrize("address", [FIRST + 1, FIRST + 2, FIRST + 3, 0x4D006])
def test_misaligned_pc(address: int) -> None:
    with pytest.raises(ProgramCounterFault, match="not aligned"):
        check_code_address(address)


@pytest.mark.parametrize("address", [0, FIRST - 4, END, 0xE7FFC, 0xE8000, 1 << 21 | FIRST])
def test_pc_outside_executable_memory(address: int) -> None:
    with pytest.raises(ProgramCounterFault, match="outside"):
        check_code_address(address)


@pytest.mark.parametrize("mode", [Mode.WORKER, Mode.SUPERVISOR])
@pytest.mark.parametrize("address", [0x4D002, FIRST - 4, END, 0xE8000])
def test_the_fault_leaves_the_pc(program: "MakeProgram", mode: Mode, address: int) -> None:
    context = program("trap 0").context(mode)
    context.registers.state["pc"] = address
    with pytest.raises(ProgramCounterFault):
        context.issue()
    assert context.pc == address
    assert int(context.registers.state["exception"]) == 10


@pytest.mark.parametrize("mode", [Mode.WORKER, Mode.SUPERVISOR])
@pytest.mark.parametrize("word", UNKNOWN_WORDS)
def test_words_that_are_no_instruction(mode: Mode, word: int) -> None:
    with pytest.raises(InstructionFault, match=f"{word:#010x} is no instruction"):
        fetch(word, NOP, mode)


@for_each(FORMS, name=lambda form: form.name)
def test_every_form_in_either_mode(form: Form) -> None:
    """A word of the form alone decodes in its modes and faults in the other."""
    for mode in (Mode.WORKER, Mode.SUPERVISOR):
        if form.mode in (mode, Mode.BOTH):
            fetched = fetch(lowest(form), NOP, mode)
            assert [member.form for member in fetched.members] == [form]
            assert not fetched.is_bundle
            assert fetched.size == 4 * form.words
        else:
            with pytest.raises(InstructionFault, match=f"met by a {mode.value}"):
                fetch(lowest(form), NOP, mode)


def test_memory_that_nobody_wrote_faults(program: "MakeProgram") -> None:
    context = program("trap 0").context()
    context.registers.state["pc"] = 0x70000
    with pytest.raises(InstructionFault):
        context.issue()


def test_a_bundle() -> None:
    fetched = fetch(NOP | COISSUE, FNOP | COISSUE, Mode.WORKER)
    assert [member.form.lane for member in fetched.members] == [Lane.MAIN, Lane.AUX]
    assert (fetched.is_bundle, fetched.size) == (True, 8)


@pytest.mark.parametrize(
    ("first", "second", "kind", "cause"),
    [
        (NOP | COISSUE, FNOP, InstructionFault, "no half of one"),
        (NOP | COISSUE, NOP, InstructionFault, "no half of one"),
        (FNOP | COISSUE, FNOP | COISSUE, InstructionFault, "second half"),
        (FNOP | COISSUE, NOP | COISSUE, InstructionFault, "second half"),
        (NOP | COISSUE, NOP | COISSUE, OperandFault, "must be an aux one"),
        (NOP | COISSUE, 0, InstructionFault, "is no instruction"),
    ],
)
def test_halves_that_make_no_bundle(
    first: int, second: int, kind: type[TileFault], cause: str
) -> None:
    with pytest.raises(TileFault, match=cause) as caught:
        fetch(first, second, Mode.WORKER)
    assert type(caught.value) is kind


SOLO = [form for form in FORMS if form.is_solo and not form.mnemonic.startswith("send")]
"""With bit 31 set, a send is the one of two words."""


@for_each(SOLO, name=lambda form: form.name)
def test_solo_instructions_have_no_bit_of_a_bundle(form: Form) -> None:
    for mode in (Mode.WORKER, Mode.SUPERVISOR):
        with pytest.raises(InstructionFault):
            fetch(lowest(form) | COISSUE, FNOP | COISSUE, mode)


def test_supervisors_have_no_bundles() -> None:
    with pytest.raises(InstructionFault, match="met by a supervisor"):
        fetch(NOP | COISSUE, FNOP | COISSUE, Mode.SUPERVISOR)


LOADS = {
    "one": ("ld32 a,m,m,u12", 0),
    "pair": ("ld64 aa,m,m,u12", 2),
    "quad": ("ld128 aq,m,m,u12", 4),
}


@pytest.mark.parametrize(
    ("load", "register"),
    [("one", 0), ("pair", 2), ("pair", 3), ("quad", 4), ("quad", 7)],
)
def test_equal_destinations_of_a_bundle(load: str, register: int) -> None:
    name, destination = LOADS[load]
    main = encode(FORM_BY_NAME[name], (destination, 0, 15, 0), coissue=True)
    aux = encode(FORM_BY_NAME["setzi a,x20"], (register, 1), coissue=True)
    with pytest.raises(OperandFault, match=rf"same destination \$a{register}"):
        fetch(main, aux, Mode.WORKER)
    other = encode(FORM_BY_NAME["setzi a,x20"], (1, 1), coissue=True)
    assert fetch(main, other, Mode.WORKER).is_bundle or (load, register) == ("one", 1)


def test_equal_zero_destinations_of_a_bundle() -> None:
    main = encode(FORM_BY_NAME["ld64 aa,m,m,u12"], (14, 0, 15, 0), coissue=True)
    aux = encode(FORM_BY_NAME["or64 aa,aa,aa"], (14, 0, 0), coissue=True)
    with pytest.raises(OperandFault, match="same destination"):
        fetch(main, aux, Mode.WORKER)


def test_the_unchanged_first_register_of_a_quad_counts_too() -> None:
    main = encode(FORM_BY_NAME["ld64a32 aq,m++,m,m"], (4, 0, 1, 2), coissue=True)
    aux = encode(FORM_BY_NAME["setzi a,x20"], (4, 1), coissue=True)
    with pytest.raises(OperandFault, match="same destination"):
        fetch(main, aux, Mode.WORKER)


def test_code_ends_with_the_executable_memory(program: "MakeProgram") -> None:
    """The last word may be an instruction, but not the first half of a bundle."""
    made = program("trap 0")
    context = made.context()
    bundle = (NOP | COISSUE).to_bytes(4, "little") + (FNOP | COISSUE).to_bytes(4, "little")
    made.load(END - 8, bundle)
    context.registers.state["pc"] = END - 8
    context.issue()
    assert context.pc == END
    with pytest.raises(ProgramCounterFault):
        context.issue()
    made.load(END - 4, bundle)
    context.registers.state["pc"] = END - 4
    with pytest.raises(ProgramCounterFault):
        context.issue()
    assert context.pc == END - 4
    made.load(END - 4, NOP.to_bytes(4, "little"))
    context.issue()
    assert context.pc == END
