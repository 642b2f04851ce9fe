"""The faults that the vendor's assembler tests name: each is one error at its place.

`«` and `»` enclose the text that the message points at.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.elf.asm.conftest import Assemble, OneFault

STATEMENTS = [
    # Mnemonics and number of operands.
    ("«frobnicate» $m0, $m1", "unknown instruction 'frobnicate'"),
    ("«ADD» $m0, $m1, 1", "unknown instruction 'ADD'; did you mean 'add'?"),
    ("«add» $m0, $m1", "too few operands: 'add' takes 3, got 2"),
    ("«br»", "too few operands"),
    ("add $m0, $m1, 2, «3»", "too many operands: 'add' takes 3, got 4"),
    ("nop «$m0»", "too many operands"),
    ("exitz $mzero, «0»", "too many operands"),
    # Registers.
    ("add «$m16», $m0, 1", "no register $m16"),
    ("add $m0, «$m99», 1", "no register $m99"),
    ("f32add $a0, $a1, «$a16»", "no register $a16"),
    ("add «m1», $m2, 3", "registers are written with '$'"),
    ("add $m1, «m2», 3", "registers are written with '$'"),
    ("add «1», $m2, 3", "expected a $m register"),
    ("add $m1, «2», 3", "expected a $m register"),
    ("f32add $a0, $a1, «2»", "expected an $a register"),
    ("f32add $a0, «$m1», $a2", "expected an $a register"),
    ("brneg «$a0», 8", "expected a $m register"),
    ("f16v4add «$a0», $a2:3, $a4:5", "expected an $a pair"),
    ("f16v8acc «$a0:1»", "expected an $a quad"),
    # Immediates.
    ("add $m0, $m1, «4294967296»", "out of range"),
    ("add $m0, $m1, «-4294967296»", "out of range"),
    ("add $m0, $m1, «65536»", "out of range"),
    ("add $m0, $m1, «-32769»", "out of range"),
    ("cmpult $m0, $m1, «-1»", "out of range"),
    ("cmpult $m0, $m1, «65536»", "out of range"),
    ("cmpult $m0, $m1, «65530 + 6»", "out of range"),
    ("cmpult $m0, $m1, «later»\n.set later, 65536", "out of range"),
    ("setzi $m0, «1 << 20»", "out of range"),
    ("or $m0, $m0, «0x1001»", "out of range"),
    ("sub $m0, $m1, «32768»", "out of range"),
    ("sub $m0, $m1, «-32768»", "out of range"),
    ("sub $m0, $m1, «later»\n.set later, 32768", "out of range"),
    ("sub $m0, $m1, «later»\n.set later, -32768", "out of range"),
    # Branch targets (byte addresses; the word index 1 << 19 is the byte address 1 << 21).
    ("bri «$m0»", "expected a byte address"),
    ("call $m0, «$m1»", "expected a byte address"),
    ("brnzdec $m0, «$m1»", "expected a byte address"),
    ("bri «1 << 21»", "out of range"),
    ("brz $m0, «1 << 21»", "out of range"),
    (".set known, 1 << 21\nbri «known»", "out of range"),
    ("bri «-4»", "out of range"),
    ("bri «6»", "multiple of 4"),
    ("call $m0, «1 << 22»", "out of range"),
    # Memory operands.
    ("ld32 $m0, $m1, $mzero, «elsewhere»", "must be a constant; 'elsewhere' is not defined"),
    ("ld32 $m0, $m1, $mzero, «place»\nplace:", "must be a constant; 'place' is an address"),
    ("ld32 $m0, $m1, $mzero, «4096»", "out of range: expected a number from 0 to 4095"),
    ("ld32 $m0, $m1, $mzero, «-1»", "out of range"),
    ("st32step $m0, $m1, $m2+=, «128»", "out of range: expected a number from -128 to 127"),
    ("ld32 $m0, $m1, «$m2++», 1", "invalid suffix '++'"),
    ("ld64 $a0:1, $m1, «$m2+=», 1", "invalid suffix '+='"),
    ("ld32 $m0, $m1 «$»m2, 1", "missing comma after $m1"),
    ("ld32 $m0 «$»m1, $m2, 1", "missing comma after $m0"),
    # Suffixes.
    ("ld32step $m0, $m1, «$m2», 1", "missing suffix '+='"),
    ("ld32step $m0, $m1, «$m2++», 1", "invalid suffix '++': expected '+='"),
    ("ld32step $m0, $m1, «$m2@», 1", "invalid suffix '@': expected '+='"),
    ("ld32step $m0, $m1, «$m2>>», 1", "invalid suffix '>>': expected '+='"),
    ("ld2x64pace $a0:1, $a2:3, «$m0:1», $m4, 0", "missing suffix '+='"),
    ("st64pace $a0:1, «$m0:1++», $m4, 0", "invalid suffix '++': expected '+='"),
    ("ld64a32 $a0:3, «$m0», $m1, $m2", "missing suffix '++'"),
    ("ldd16a32 $a0, $m0++, $m1, «$m2»", "missing suffix '@'"),
    ("ldb16b16 $a0:1, $m0, $m1++, «$m2»", "missing suffix '>>'"),
    ("add «$m0++», $m1, $m2", "invalid suffix '++'"),
    ("add $m0, «$m1@», $m2", "invalid suffix '@'"),
    ("add $m0, «$m1>>», $m2", "invalid suffix '>>'"),
    ("f32add $a0, «$a1+=», $a2", "invalid suffix '+='"),
    # Stray characters.
    ("add $m0, $m1«<<», $m2", "unexpected '<<' after register $m1"),
    ("add $m0, $m1«>=», $m2", "unexpected '>='"),
    ("add $m0, $m1«?», $m2", "unexpected '?'"),
    # Groups.
    ("f16v4add «$a0:x», $a2:3, $a4:5", "no register group $a0:x"),
    ("f16v4add «$a0:2», $a2:3, $a4:5", "no register group $a0:2"),
    ("f16v4add «$a1:0», $a2:3, $a4:5", "no register group $a1:0"),
    ("tapack «$m0:3», $m4, $m5, $m6", "no register group $m0:3: there are pairs"),
    ("f16v4add «$a1:2», $a2:3, $a4:5", "misaligned: it must start at a multiple of 2"),
    ("f16v8acc «$a2:5»", "misaligned: it must start at a multiple of 4"),
    ("tapack «$m1:2», $m4, $m5, $m6", "misaligned"),
    ("f16v4add $a0:1, «$a15:16», $a4:5", "no register $a15:16"),
    # Real numbers.
    ("setzi $m0, «1.0»", "without the suffix 'h'"),
    (".half «1.0»", "without the suffix 'h'"),
    (".half «1.0f»", "without the suffix 'h'"),
    (".half «.5»", "without the suffix 'h'"),
    (".half «$m0»", "not a register"),
    (".half «$a0:1»", "not a register"),
    (".half 1, «$a3»", "not a register"),
    # ldconst.
    ("ldconst $m0, «nowhere»", "needs a value that is known here"),
    ("ldconst $m0, «later»\n.set later, 5", "needs a value that is known here"),
    ("here: ldconst $m0, «here»", "cannot load the address"),
    ("ldconst $m0, «0x100000000»", "loads 32 bits"),
    ("ldconst $m0, «-0x80000001»", "loads 32 bits"),
    ("«ldconst» $m0", "too few operands"),
    ("ldconst «1», 1", "expected a $m or $a register"),
    ("ldconst «$a0:1», 1", "expected a $m or $a register"),
    ("ldconst $m0, «$m1»", "expected a number"),
    # Directives.
    (".size foo «4»", "comma"),
    (".size foo« »", "needs a comma"),
    (".type foo «@function»", "comma"),
]


@pytest.mark.parametrize(("source", "message"), STATEMENTS)
def test_statement_error(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


BUNDLES = [
    ("«{» nop }", "too few instructions"),
    ("«{»\n  nop\n}", "too few instructions"),
    ("«{» nop ; fnop ; fnop }", "too many instructions"),
    ("«{»\n  nop\n  fnop\n  fnop\n}", "too many instructions"),
    ("«{» }", "empty"),
    ("«{»}", "empty"),
    ("«{»\n\n}", "empty"),
    ("«{» /* nothing */ }", "empty"),
    ("nop\n«}»", "'}' without '{'"),
    ("{ nop ; fnop } «}»", "'}' without '{'"),
    ("{ nop\n«{» nop ; fnop }", "'{' inside a bundle"),
    ("«{» nop ; fnop", "no '}'"),
    ("nop\n«{»", "no '}'"),
    ("{ nop ; «add» $m0, $m0, 1 }", "must be an aux one"),
    ("{ «fnop» ; fnop }", "must be a main one"),
    ("{ «f32add» $a0, $a1, $a2 ; add $m0, $m0, 1 }", "main instruction comes first"),
    ("{ «exitz» $mzero ; fnop }", "cannot be part of a bundle"),
    ("{ «ldconst» $m0, 1 ; fnop }", "cannot be in a bundle"),
    ("{ nop ; «ldconst» $a0, 0x12345678 }", "cannot be in a bundle"),
    # Destinations: one register, one inside a pair, a quad, the zero registers.
    ("{ ld32 $a0, $m0, 0 ; «f32add» $a0, $a1, $a2 }", "same destination $a0"),
    ("{ ld32 $a1, $m0, 0 ; «f16v4add» $a0:1, $a2:3, $a4:5 }", "same destination $a1"),
    ("{ ld64 $a2:3, $m0, 0 ; «f32add» $a3, $a4, $a5 }", "same destination $a3"),
    ("{ ld64 $a2:3, $m0, 0 ; «f16v4add» $a2:3, $a4:5, $a6:7 }", "same destination $a2"),
    ("{ ld128 $a4:7, $m0, 0 ; «f32add» $a6, $a0, $a1 }", "same destination $a6"),
    ("{ ld128 $a4:7, $m0, 0 ; «f16v4add» $a6:7, $a0:1, $a2:3 }", "same destination $a6"),
    ("{ ld32 $a15, $m0, 0 ; «f32add» $a15, $a1, $a2 }", "same destination $a15"),
    ("{ ld32 $a15, $m0, 0 ; «f16v4add» $a14:15, $a0:1, $a2:3 }", "same destination $a15"),
    ("{ ld64 $a14:15, $m0, 0 ; «f32add» $a14, $a1, $a2 }", "same destination $a14"),
    ("{ ld2x64pace $a0:1, $a2:3, $m0:1+=, $m2, 0 ; «f32add» $a2, $a8, $a9 }", "destination $a2"),
]


@pytest.mark.parametrize(("source", "message"), BUNDLES)
def test_bundle_error(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


MODES = [
    (".supervisor\n«f32add» $a0, $a1, $a2", "'f32add' is a worker instruction"),
    (".supervisor\n«exitz» $mzero", "'exitz' is a worker instruction"),
    (".supervisor\n«ld64» $a0:1, $m0, 0", "'ld64' is a worker instruction"),
    (".supervisor\n«setzi» $a0, 0", "'setzi' is a worker instruction"),
    (".supervisor\n{ nop ; «fnop» }", "'fnop' is a worker instruction"),
    (".supervisor\n«rpt» $m0, 0", "'rpt' is a worker instruction"),
    (".supervisor\n«ldconst» $a0, 1", "'ldconst' is a worker instruction"),
    ("«run» $m0, $m1, 0", "'run' is a supervisor instruction; this is worker code"),
    ("«runall» $m0, $m1, 0", "'runall' is a supervisor instruction"),
    ("«sync» 1", "'sync' is a supervisor instruction"),
    ("«ld128putcs» 0", "'ld128putcs' is a supervisor instruction"),
    (".supervisor\n.worker\n«sync» 1", "'sync' is a supervisor instruction"),
    # Control registers: name and mode.
    ("get $m0, «$FP_ICTL»", "$FP_ICTL belongs to supervisor"),
    ("put «$CCCSLOAD», $m0", "$CCCSLOAD belongs to supervisor"),
    ("get $m0, «$CTXT_STS»", "$CTXT_STS belongs to supervisor"),
    (".supervisor\nget $m0, «$WSR»", "$WSR belongs to worker; 'get' in supervisor code"),
    (".supervisor\nput «$COUNT_L», $m0", "$COUNT_L belongs to worker"),
    (".supervisor\nget $m0, «$FP_CTL»", "$FP_CTL belongs to worker"),
    # The upper space of workers is reached by $a registers only.
    ("get $m0, «$FP_CLR»", "$FP_CLR belongs to worker (upper space)"),
    ("get $a0, «$WSR»", "$WSR belongs to worker"),
    ("uput «$WORKER_BASE», $a0", "$WORKER_BASE belongs to worker"),
    (".supervisor\nld64putcs «$FP_ICTL»", "$FP_ICTL belongs to supervisor"),
    ("add $m0, $m1, «$WSR»", "$WSR is a control register"),
]


@pytest.mark.parametrize(("source", "message"), MODES)
def test_mode_error(one_fault: "OneFault", source: str, message: str) -> None:
    one_fault(source, message)


BODIES = {
    "solo": ("{ nop ; fnop }\nnop\nnop", 2, "outside a bundle"),
    "control": ("{ bri 0 ; fnop }", 1, "control instruction"),
    "control, aux side free": ("{ nop ; fnop }\n{ brnzdec $m0, 0 ; fnop }", 2, "control"),
    "get": ("{ get $m0, 1 ; fnop }", 1, "system instruction"),
    "put": ("{ put 1, $m0 ; fnop }", 1, "system instruction"),
    "uput": ("{ nop ; uput 1, $a0 }", 1, "system instruction"),
    "trap": ("{ trap 0 ; fnop }", 1, "system instruction"),
    "data": (".long 1, 2", 1, "data"),
}
"""Body, its bundles, and what is wrong."""

SIZES = pytest.mark.parametrize("literal", [True, False], ids=["literal", "difference"])


def repeat(opening: str, body: str, bundles: int, literal: bool) -> str:
    """A repeat of `body`, with its size as a number or as the distance of labels."""
    size = str(bundles - 1) if literal else "(2f - 1f) / 8 - 1"
    return f"{opening.format(size=size)}\n1:\n{body}\n2:\nexitz $mzero\n"


@SIZES
@pytest.mark.parametrize("name", BODIES)
def test_repeat_body_error(one_fault: "OneFault", name: str, literal: bool) -> None:
    body, bundles, message = BODIES[name]
    source = repeat("nop\n«rpt» $m0, {size}", body, bundles, literal)
    one_fault(source, message)


@SIZES
def test_misaligned_repeat_body(one_fault: "OneFault", literal: bool) -> None:
    body = "{ nop ; fnop }"
    bare = repeat("«rpt» $m0, {size}", body, 1, literal)
    one_fault(bare, "bundle the rpt with 'fnop'")
    bundled = repeat("nop\n{{ «rpt» 5, {size} ; fnop }}", body, 1, literal)
    one_fault(bundled, "put a 'nop' before")


@SIZES
@pytest.mark.parametrize("name", BODIES)
def test_repeat_switch_lets_every_body_pass(assembly: "Assemble", name: str, literal: bool) -> None:
    body, bundles, _ = BODIES[name]
    source = repeat("rpt $m0, {size}", body, bundles, literal)
    alone = assembly(f"{body}\n").data()
    found = assembly(".allow_invalid_repeat\n" + source).data()
    assert found[4 : 4 + len(alone)] == alone
    assert int.from_bytes(found[:4], "little") == 0x4300A000 + bundles - 1


ACCEPTED = [
    (".set after use", "setzi $m0, x\n.set x, 0x42000", [0x19042000]),
    ("names with $", ".set $k, 50\nsetzi $m0, $k", [0x19000032]),
    ("names with @", "a@b = 3\nsetzi $m0, a@b", [0x19000003]),
    ("lr both ways", "br $lr\nbr $m10", [0x43A00000, 0x43A00000]),
    ("azeros both ways", "f16v4acc $azeros\nf16v4acc $a14:15", [0x59E08000, 0x59E08000]),
    ("brace after the last operand", "{nop;f32add $a0,$a1,$a2}", [0x99E00000, 0xD8102000]),
    ("brace after a mnemonic", "{nop\nfnop}", [0x99E00000, 0x9AD00000]),
    ("call ignores bit 19", "call $m0, 1 << 21", [0x18080000]),
    ("forward difference", "setzi $m0, b - a\na: nop\nb:", [0x19000004, 0x19E00000]),
    (
        "comments between the members",
        "{ // one\n nop # main\n /* { } */\n fnop // aux\n}",
        [0x99E00000, 0x9AD00000],
    ),
]


@pytest.mark.parametrize(
    ("source", "words"), [each[1:] for each in ACCEPTED], ids=[each[0] for each in ACCEPTED]
)
def test_accepted(assembly: "Assemble", source: str, words: list[int]) -> None:
    assert assembly(source).words() == words
