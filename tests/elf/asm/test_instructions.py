"""Instructions: the choice among encodings, targets, control registers, pseudo-instructions."""

from typing import TYPE_CHECKING

import pytest

from tilewright.elf.relocations import RelocationType
from tilewright.isa import Mode

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Assemble, OneFault

NOP = 0x19E00000


# -- immediates with two encodings ----------------------------------------------------------------

OPCODES = {"add": (0x22, 0x20), "cmpeq": (0x28, 0x26), "max": (0x30, 0x2E), "min": (0x33, 0x31)}
"""First byte of the sign-extended and of the zero-extended form."""

SIGNED_FIRST = {-32768: 0, -1: 0, 0: 0, 1: 0, 32767: 0, 32768: 1, 65535: 1}
"""Value → which of the two is taken."""


@pytest.mark.parametrize("value", SIGNED_FIRST)
@pytest.mark.parametrize("mnemonic", OPCODES)
def test_sign_extension_is_tried_first(assembly: "Assemble", mnemonic: str, value: int) -> None:
    opcode = OPCODES[mnemonic][SIGNED_FIRST[value]]
    word = opcode << 24 | 2 << 20 | 1 << 16 | value & 0xFFFF
    assert assembly(f"{mnemonic} $m1, $m2, {value}").words() == [word]
    assert assembly(f"{mnemonic} $m1, $m2, x\n.set x, {value}").words() == [word]


@pytest.mark.parametrize("value", SIGNED_FIRST)
def test_subtraction_from_an_immediate(assembly: "Assemble", value: int) -> None:
    opcode = (0x39, 0x37)[SIGNED_FIRST[value]]
    word = opcode << 24 | 2 << 20 | 1 << 16 | value & 0xFFFF
    assert assembly(f"sub $m1, {value}, $m2").words() == [word]


@pytest.mark.parametrize("mnemonic", OPCODES)
def test_suffix_forces_the_encoding(
    assembly: "Assemble", one_fault: "OneFault", mnemonic: str
) -> None:
    signed, unsigned = OPCODES[mnemonic]
    source = f"{mnemonic}s $m1, $m2, 5\n{mnemonic}z $m1, $m2, 5"
    assert assembly(source).words() == [signed << 24 | 0x210005, unsigned << 24 | 0x210005]
    one_fault(f"{mnemonic}s $m1, $m2, «32768»", "out of range")
    one_fault(f"{mnemonic}z $m1, $m2, «-1»", "out of range")


def test_suffix_forces_the_encoding_of_sub(assembly: "Assemble") -> None:
    assert assembly("subs $m1, 5, $m2\nsubz $m1, 5, $m2").words() == [0x39210005, 0x37210005]


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("or $m1, $m2, 0", 0x42219000),
        ("or $m1, $m2, 0xfff", 0x42219FFF),
        ("or $m1, $m2, 0x100000", 0x4221C001),
        ("or $m1, $m2, 0xfff00000", 0x4221CFFF),
        ("or $a1, $a2, 0xfff", 0x52219FFF),
        ("or $a1, $a2, 0xfff00000", 0x5221DFFF),
        ("and $m1, $m2, 0xfff", 0x42218FFF),
        ("and $a1, $a2, 0xfff", 0x52218FFF),
        ("and $a1, $a2, 0x80000000", 0x5221C800),
        ("andc $m1, $m2, 0xfff", 0x4221BFFF),
        ("andc $a1, $a2, 0xfff", 0x5221BFFF),
        ("andc $a1, $a2, 0x80000000", 0x5221F800),
        ("or $m1, $m2, x\n.set x, 0x300000", 0x4221C003),
    ],
)
def test_logical_immediates_are_low_or_high(assembly: "Assemble", source: str, word: int) -> None:
    assert assembly(source).words() == [word]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("or $m1, $m2, «0x1000»", "out of range"),
        ("or $m1, $m2, «0x100001»", "out of range"),
        ("or $m1, $m2, «0x100000000»", "out of range"),
        ("or $m1, $m2, «-1»", "out of range"),
        ("and $m1, $m2, «0x100000»", "out of range"),
        ("andc $m1, $m2, «0x100000»", "out of range"),
        ("shl $m1, $m2, «4096»", "out of range"),
        ("mul $m1, $m2, «32768»", "out of range"),
        ("cmpslt $m1, $m2, «-32769»", "out of range"),
        ("trap «16»", "out of range"),
        ("setzi $m0, «-1»", "out of range"),
        ("put «256», $m0", "out of range"),
    ],
)
def test_immediate_fault(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


def test_registers_are_tried_before_immediates(assembly: "Assemble") -> None:
    assert assembly("add $m1, $m2, $m3\nand $a1, $a2, $a3").words() == [0x44203011, 0x58203610]


# -- targets --------------------------------------------------------------------------------------

BRANCHES = {
    "bri": 0x40800000,
    "call $m0,": 0x18000000,
    "brz $m0,": 0x13000000,
    "brnz $m0,": 0x11000000,
    "brneg $m0,": 0x10000000,
    "brpos $m0,": 0x12000000,
    "brnzdec $m0,": 0x13080000,
}


@pytest.mark.parametrize("branch", BRANCHES)
def test_targets_are_byte_addresses(assembly: "Assemble", branch: str) -> None:
    source = f"{branch} 0x4c010\n.set x, 0x4c014\n{branch} x\n{branch} y + 4\n.set y, 0x4c014\n"
    base = BRANCHES[branch]
    assert assembly(source).words() == [
        base | 0x4C010 // 4,
        base | 0x4C014 // 4,
        base | 0x4C018 // 4,
    ]
    made = assembly(f"{branch} sym + 8")
    assert made.words() == [base]
    assert made.relocations() == [(0, RelocationType.ABS_19_S2, "sym", 8)]


def test_last_target(assembly: "Assemble") -> None:
    assert assembly("bri (1 << 21) - 4").words() == [0x40800000 | (1 << 19) - 1]
    # The field of `call` is a bit wider; the hardware ignores that bit.
    assert assembly("call $m0, (1 << 22) - 4").words() == [0x18000000 | (1 << 20) - 1]


# -- other operands that may be symbols -----------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("setzi $m0, sym + 4", RelocationType.ABS_20),
        ("setzi $a0, sym + 4", RelocationType.ABS_20),
        ("cmpult $m0, $m1, sym + 4", RelocationType.ABS_16),
        (".supervisor\nrun $m0, $m1, sym + 4", RelocationType.RUN),
    ],
)
def test_symbols_in_operands(assembly: "Assemble", source: str, kind: RelocationType) -> None:
    assert assembly(source).relocations() == [(0, kind, "sym", 4)]


@pytest.mark.parametrize(
    "operands",
    [
        "add $m0, $m1, «sym»",
        "shl $m0, $m1, «sym»",
        "ld32 $m0, $m1, «sym»",
        "ld32step $m0, $m1, $m2+=, «sym»",
        "put «sym», $m0",
        "trap «sym»",
        "rpt «sym», 0",
        "f16v4hihov4amp $a0:1, $a2:3, $a4:5, «sym»",
        "sub $m0, $m1, «sym»",
        "sub $m0, «sym», $m1",
    ],
)
def test_operands_that_must_be_constants(one_fault: "OneFault", operands: str) -> None:
    one_fault(operands, "must be a constant; 'sym' is not defined in this file")
    one_fault(f"{operands}\nsym:", "must be a constant; 'sym' is an address")


@pytest.mark.parametrize(
    "variable", [".set x, 0x4c010\nrun $m0, $m1, x\n", "run $m0, $m1, x\n.set x, 0x4c010\n"]
)
def test_vertex_of_run_is_always_left_to_the_linker(assembly: "Assemble", variable: str) -> None:
    # Only the linker knows where memory starts.
    made = assembly(f"{variable}run $m0, $m1, x + 8\n.globl x\n", Mode.SUPERVISOR)
    assert made.words() == [0x14001000, 0x14001000]
    symbol = made.symbol("x")
    assert (symbol.value, symbol.is_absolute) == (0x4C010, True)
    assert made.relocations() == [
        (0, RelocationType.RUN, "x", 0),
        (4, RelocationType.RUN, "x", 8),
    ]


def test_vertex_of_run_as_a_number_is_an_offset_in_words(assembly: "Assemble") -> None:
    made = assembly("run $m1, $m2, 0xfabc\nrunall $m1, $m2, 0x1234", Mode.SUPERVISOR)
    assert made.words() == [0x141F2ABC, 0x15112234]


def test_halves_where_integers_are_accepted(assembly: "Assemble") -> None:
    made = assembly("setzi $a0, -2.0h\nsetzi $m0, infh\nldconst $a1, 1.0h\ncmpult $m0, $m1, 1.0h")
    assert made.words() == [0x1A00C000, 0x19007C00, 0x1A103C00, 0x2A103C00]


# -- control registers ----------------------------------------------------------------------------

WORKER = {
    "PC": 0,
    "WSR": 1,
    "VERTEX_BASE": 2,
    "WORKER_BASE": 3,
    "REPEAT_COUNT": 4,
    "REPEAT_FIRST": 5,
    "REPEAT_END": 6,
    "COUNT_L": 0x60,
    "COUNT_U": 0x61,
    "DBG_DATA": 0x70,
    "DBG_BRK_ID": 0x71,
}
WORKER_UPPER = {
    "FP_STS": 0,
    "FP_CLR": 1,
    "FP_CTL": 2,
    "PRNG_0_0": 3,
    "PRNG_0_1": 4,
    "PRNG_1_0": 5,
    "PRNG_1_1": 6,
    "PRNG_SEED": 7,
    "TAS": 8,
    "FP_NFMT": 9,
    "FP_SCL": 10,
}
SUPERVISOR = {
    "PC": 0,
    "FP_ICTL": 0x20,
    "FP_INFMT": 0x31,
    "FP_ISCL": 0x33,
    "CCCSLOAD": 0x50,
    "DBG_DATA": 0x70,
    "DBG_BRK_ID": 0x71,
    "CTXT_STS": 0x72,
}


def test_names_of_control_registers(assembly: "Assemble") -> None:
    for name, index in WORKER.items():
        words = assembly(f"get $m1, ${name}\nput ${name}, $m1").words()
        assert words == [0x41010000 | index, 0x43108000 | index]
    for name, index in WORKER_UPPER.items():
        source = f"get $a1, ${name}\nput ${name}, $a1\nuget $a1, ${name}\nuput ${name}, $a1"
        words = assembly(source).words()
        assert words == [0x51010800 | index, 0x51108000 | index] * 2
    for name, index in SUPERVISOR.items():
        source = f"get $m1, ${name}\nput ${name}, $m1"
        words = assembly(source, Mode.SUPERVISOR).words()
        assert words == [0x41010000 | index, 0x43108000 | index]


def test_names_of_the_weight_store(assembly: "Assemble") -> None:
    names = [(n, k) for n in range(16) for k in range(4)]
    source = "\n".join(f"ld64putcs $CWEI_{n}_{k}" for n, k in names)
    words = assembly(source, Mode.SUPERVISOR).words()
    assert words == [0x4100C000 | 4 * n + k for n, k in names]


def test_control_registers_by_number(assembly: "Assemble") -> None:
    made = assembly("get $m0, 0xa0\nput 0x73, $m0\nput 255, $m0", Mode.SUPERVISOR)
    assert made.words() == [0x410000A0, 0x43008073, 0x430080FF]


def test_control_register_names_are_numbers_in_data(assembly: "Assemble") -> None:
    assert assembly(".byte $FP_SCL, $TAS + 1").data() == bytes([10, 9])


# -- aliases and pseudo-instructions --------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nop", [0x19E00000]),
        ("fnop", [0x1AD00000]),
        ("mov $m1, $m2", [0x42219000]),
        ("mov $a1, $a2", [0x52219000]),
        ("mov $m1, $a2", [0x5D010020]),
        ("mov $a2:3, $a4:5", [0x5840EE21]),
        ("zero $m3", [0x44F0F331]),
        ("zero $a3", [0x58F0FE30]),
        ("zero $a2:3", [0x58E0EE21]),
        ("movz $m1, $m2, $m3", [0x47231A00]),
        ("movnz $m1, $m2, $m3", [0x47231A00]),
        ("swap16 $m1, $m2", [0x44202312]),
        ("strap", [0x43F080FF]),
        ("f16v4sisov2amp $a0:1, $a2:3, $a4:5, 1", [0x5B402701]),
        ("f16v4sisov2slic $a0:1, $a2:3, $a4:5, 1", [0x5B402601]),
        ("sub $m1, $m2, 5", [0x2221FFFB]),
        ("sub $m1, $m2, -5", [0x22210005]),
        ("sub $m1, $m2, 0", [0x22210000]),
        ("sub $m1, $m2, 32767", [0x22218001]),
        ("sub $m1, $m2, -32767", [0x22217FFF]),
        ("sub $m1, $m2, x\n.set x, 7", [0x2221FFF9]),
        ("sub $m1, $m2, b - a\na: nop\nb:", [0x2221FFFC, NOP]),
        ("{ sub $m1, $m2, 5 ; fnop }", [0xA221FFFB, 0x9AD00000]),
        ("ldconst $m1, 0", [0x19100000]),
        ("ldconst $m1, 0xfffff", [0x191FFFFF]),
        ("ldconst $m1, 0x100000", [0x19100000, 0x4211C001]),
        ("ldconst $m1, 0x12345678", [0x19145678, 0x4211C123]),
        ("ldconst $m1, 0xffffffff", [0x191FFFFF, 0x4211CFFF]),
        ("ldconst $m1, -1", [0x191FFFFF, 0x4211CFFF]),
        ("ldconst $m1, -0x80000000", [0x19100000, 0x4211C800]),
        ("ldconst $a1, 0x12345678", [0x1A145678, 0x5211D123]),
        ("ldconst $a1, 1.0h", [0x1A103C00]),
        (".set x, 0x100000\nldconst $m1, x + 1", [0x19100001, 0x4211C001]),
        ("a: nop\nb: ldconst $m1, b - a", [NOP, 0x19100004]),
        ("ld32 $m1, $m2, 5", [0x0121F005]),
        ("ld32 $m1, $m2, $m3", [0x4D23F010]),
        ("ld64 $a2:3, $m2, 5", [0x0922F005]),
        ("ld128 $a4:7, $m2, 5", [0x0B24F005]),
        ("ldb16 $a4, $m2, 5", [0x0E24F005]),
        ("lds8 $m4, $m2, 5", [0x0524F005]),
        ("ldz16 $m4, $m2, $m5", [0x4D25F144]),
        ("st32 $m1, $m2, 5", [0x4F21F005]),
        ("st32 $a1, $m2, 0x123", [0x5E22F113]),
        ("st64 $a2:3, $m2, 0x123", [0x5F22F123]),
        ("st64 $a2:3, $m2, $m3", [0x5423F120]),
        ("stm32 $m1, $m2, $m3", [0x4C213000]),
        ("stm32step $m1, $m2, $m3", [0x47312900]),
        ("stm32step $m1, $m2+=, $m3", [0x47312900]),
    ],
)
def test_other_ways_to_write(assembly: "Assemble", source: str, words: list[int]) -> None:
    assert assembly(source).words() == words


def test_constants_in_supervisor_code(assembly: "Assemble") -> None:
    made = assembly("ldconst $m1, 0x12345678\nsub $m0, $m1, 1\nzero $m0", Mode.SUPERVISOR)
    assert made.words() == [0x19145678, 0x4211C123, 0x2210FFFF, 0x44F0F301]


def test_instructions_are_remembered_per_switch(
    assembly: "Assemble", one_fault: "OneFault"
) -> None:
    # The same text means other things, or nothing, after a switch.
    one_fault("exitz $m0\n.supervisor\n«exitz» $m0", "worker instruction")
    one_fault("get $m0, $WSR\n.supervisor\nget $m0, «$WSR»", "belongs to worker")
    source = ".allow_invalid_operands\nf16v4acc $a1:2\n.error_on_invalid_operands\n"
    one_fault(source + "f16v4acc «$a1:2»", "misaligned")


def test_names_are_looked_up_each_time(assembly: "Assemble") -> None:
    source = ".set x, 1\nadd $m0, $m0, x\n.set x, 2\nadd $m0, $m0, x\n.set x, 3\n"
    assert assembly(source).words() == [0x22000001, 0x22000002]
