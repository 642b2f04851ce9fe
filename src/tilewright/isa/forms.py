"""Instruction forms and their operands: what one line of `instructions.txt` says."""

import dataclasses
import re
from dataclasses import dataclass
from enum import Enum

from tilewright.errors import TilewrightError
from tilewright.isa.fields import Field
from tilewright.isa.registers import FILE_SIZE, MZERO, register_name

COISSUE = 1 << 31
"""Set in both words of a bundle."""


class EncodingError(TilewrightError):
    """An operand value that an instruction form cannot hold."""


class Mode(Enum):
    """Which contexts may execute an instruction."""

    BOTH = "both"
    WORKER = "worker"
    SUPERVISOR = "supervisor"

    def allows(self, other: "Mode") -> bool:
        """Whether code of mode `other` (worker or supervisor) may use the instruction."""
        return self in (Mode.BOTH, other)


class Lane(Enum):
    """The half of a bundle in which an instruction issues."""

    MAIN = "main"
    AUX = "aux"


class Evidence(Enum):
    """How an encoding is known; see the head of `instructions.txt`."""

    WORDS = "words"
    DEFINED = "defined"
    INFERRED = "inferred"


class Kind(Enum):
    """What an operand denotes; the letters of `instructions.txt`."""

    REGISTER = "register"
    UNSIGNED = "u"
    SIGNED = "s"
    VALUE = "x"
    TARGET = "t"
    VERTEX_OFFSET = "r"
    CSR = "c"
    FLAGS = "f"


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of a form. Its value is an int.

    For registers the value is the number of the first register of the group. For immediates it is
    the number in the text: branch targets in bytes, offsets in units of `unit` bytes (0: no unit).
    """

    kind: Kind
    field: Field
    reads: bool
    writes: bool
    file: str = ""
    count: int = 0
    suffix: str = ""
    broadcast: str = ""
    shift: int = 0
    unit: int = 0
    signature: str = dataclasses.field(init=False)
    """How the operand looks in text: `m`, `mm+=`, `aq`, `a:BL`, or `i` for an immediate."""
    minimum: int = dataclasses.field(init=False)
    maximum: int = dataclasses.field(init=False)
    step: int = dataclasses.field(init=False)
    """Values are multiples of this, from `minimum` to `maximum` inclusive."""
    stored_shift: int = dataclasses.field(init=False)
    """The field holds the value shifted right by this; a narrow register field its upper bits."""

    def __post_init__(self) -> None:
        bits = self.field.width - (self.kind is Kind.SIGNED)
        if self.is_register:
            group = {1: self.file, 2: self.file * 2, 4: self.file + "q"}[self.count]
            signature = group + self.suffix + self.broadcast
            # $m12 to $m15 are read-only views and make no pairs.
            registers = MZERO - 3 if (self.file, self.count) == ("m", 2) else FILE_SIZE
            minimum, maximum, step = 0, registers - self.count, self.count
        else:
            signature = "i"
            minimum = -1 << bits if self.kind is Kind.SIGNED else 0
            maximum, step = ((1 << bits) - 1) << self.shift, 1 << self.shift
        for name, value in (
            ("signature", signature),
            ("minimum", minimum),
            ("maximum", maximum),
            ("step", step),
            ("stored_shift", 4 - self.field.width if self.is_register else self.shift),
        ):
            object.__setattr__(self, name, value)

    @property
    def is_register(self) -> bool:
        return self.kind is Kind.REGISTER

    def accepts(self, value: int) -> bool:
        """Whether the operand can hold `value`."""
        return self.minimum <= value <= self.maximum and value % self.step == 0

    def encode(self, value: int) -> int:
        """The word's bits for `value`. Raises `EncodingError` if it does not fit."""
        if not self.accepts(value):
            raise EncodingError(f"{self.describe()} cannot be {self.show(value)}")
        return self.field.insert((value >> self.stored_shift) & ((1 << self.field.width) - 1))

    def decode(self, word: int) -> int:
        """The value held by a word, whether or not it is one the operand accepts."""
        stored = self.field.extract(word)
        if self.kind is Kind.SIGNED and stored >> (self.field.width - 1):
            stored -= 1 << self.field.width
        return stored << self.stored_shift

    @property
    def has_unused_numbers(self) -> bool:
        """Whether the field can hold aligned register numbers that name no group ($m12:13)."""
        return self.is_register and self.maximum < FILE_SIZE - self.count

    def show(self, value: int) -> str:
        """`value` as text, without suffix: registers by name, targets in hexadecimal."""
        if self.is_register:
            if 0 <= value <= FILE_SIZE - self.count:
                return register_name(self.file, value, self.count)
            return f"register number {value}"
        return f"{value:#x}" if self.kind is Kind.TARGET else str(value)

    def text(self, value: int) -> str:
        """`value` as operand text, suffix and broadcast included."""
        return self.show(value) + self.suffix + self.broadcast

    def describe(self) -> str:
        """What is expected here, for messages: `an $a pair such as $a2:3`."""
        if self.is_register:
            return self._describe_register()
        if self.kind is Kind.TARGET:
            return f"a byte address, multiple of 4, from 0 to {self.maximum:#x}"
        noun = {Kind.CSR: "a register number", Kind.FLAGS: "flags"}.get(self.kind, "a number")
        multiple = f", multiple of {self.step:#x}," if self.shift else ""
        high = f"{self.maximum:#x}" if self.shift else str(self.maximum)
        return f"{noun}{multiple} from {self.minimum} to {high}"

    def _describe_register(self) -> str:
        noun = {1: "register", 2: "pair", 4: "quad"}[self.count]
        article = "a" if self.file == "m" else "an"
        example = register_name(self.file, self.count, self.count) + self.suffix + self.broadcast
        return f"{article} ${self.file} {noun} such as {example}"


_OPERAND = re.compile(
    r"(?P<access>[=&]?)"
    r"(?:(?P<file>mm?|a[aq]?)(?P<suffix>\+=|\+\+|>>|@)?(?P<broadcast>:B[LU]?)?"
    r"|(?P<kind>[usxtrcf])(?P<width>\d+)(?:<<(?P<shift>\d+))?(?:\*(?P<unit>\d+))?)"
    r"\[(?P<bits>[\d:,]+)\]"
)


def parse_operand(text: str) -> Operand:
    """From the notation of `instructions.txt`. Raises `ValueError`."""
    match = _OPERAND.fullmatch(text)
    if match is None:
        raise ValueError(f"no operand: {text}")
    field = Field.parse(match["bits"])
    access = match["access"]
    if match["file"]:
        return Operand(
            kind=Kind.REGISTER,
            field=field,
            reads=access != "=",
            writes=access in ("=", "&"),
            file=match["file"][0],
            count={"m": 1, "a": 1, "mm": 2, "aa": 2, "aq": 4}[match["file"]],
            suffix=match["suffix"] or "",
            broadcast=match["broadcast"] or "",
        )
    if int(match["width"]) != field.width:
        raise ValueError(f"{text} places {field.width} bits")
    kind = Kind(match["kind"])
    shift = 2 if kind is Kind.TARGET else int(match["shift"] or 0)
    unit = int(match["unit"] or 0)
    return Operand(kind, field, reads=True, writes=False, shift=shift, unit=unit)


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """One instruction form. `index` is its place in the table; identity is equality.

    `base` holds the fixed bits that are 1. A word is of this form if `word & mask == base` and
    each register field names a register that exists.
    """

    index: int
    mnemonic: str
    operands: tuple[Operand, ...]
    mode: Mode
    lane: Lane
    base: int
    is_control: bool
    is_system: bool
    is_solo: bool
    evidence: Evidence
    mask: int

    @property
    def signature(self) -> tuple[str, ...]:
        """The operands as they look in text; see `Operand.signature`."""
        return tuple(operand.signature for operand in self.operands)

    @property
    def name(self) -> str:
        """Unique and stable: mnemonic and operand kinds, `add m,m,s16`."""
        kinds = (
            operand.signature
            if operand.is_register
            else f"{operand.kind.value}{operand.field.width}"
            + (f"<<{operand.shift}" if operand.kind is Kind.UNSIGNED and operand.shift else "")
            for operand in self.operands
        )
        return f"{self.mnemonic} {','.join(kinds)}".rstrip()

    @property
    def words(self) -> int:
        """Length in words; `sendpicp` is followed by a word of data."""
        return 2 if self.mnemonic == "sendpicp" else 1

    def __repr__(self) -> str:
        return f"<Form {self.name}>"


def parse_form(index: int, line: str) -> Form:
    """From one line of `instructions.txt`. Raises `ValueError`."""
    mnemonic, *operand_texts, mode, lane, fixed, traits, evidence = line.split()
    operands = tuple(parse_operand(text) for text in operand_texts if text != "-")
    marks = set() if traits == "-" else set(traits.split(","))
    if not marks <= {"control", "system", "solo"}:
        raise ValueError(f"unknown traits: {traits}")
    base = int(fixed, 16)
    form = Form(
        index=index,
        mnemonic=mnemonic,
        operands=operands,
        mode=Mode(mode),
        lane=Lane(lane),
        base=base,
        is_control="control" in marks,
        is_system="system" in marks,
        is_solo="solo" in marks,
        evidence=Evidence(evidence),
        mask=_fixed_mask(operands, may_coissue="solo" not in marks),
    )
    _check_bits(form)
    return form


def _fixed_mask(operands: tuple[Operand, ...], may_coissue: bool) -> int:
    """The bits that are the same in every word of a form: all but the operands' free bits."""
    free = COISSUE if may_coissue else 0
    for operand in operands:
        free |= operand.field.mask & ~_alignment_bits(operand)
    return ~free & 0xFFFF_FFFF


def _alignment_bits(operand: Operand) -> int:
    """The bits of a register field that are 0 because groups are aligned."""
    if not operand.is_register:
        return 0
    return operand.field.insert((operand.count - 1) >> (4 - operand.field.width))


def _check_bits(form: Form) -> None:
    seen = 0
    for operand in form.operands:
        if seen & operand.field.mask:
            raise ValueError(f"operands overlap at bits {seen & operand.field.mask:#010x}")
        if operand.is_register and (1 << (4 - operand.field.width)) > operand.count:
            raise ValueError(f"a field of {operand.field.width} bits cannot name {operand}")
        seen |= operand.field.mask
    if seen & form.base:
        raise ValueError(f"fixed bits inside an operand: {seen & form.base:#010x}")
    if not form.is_solo and form.base & COISSUE:
        raise ValueError("bit 31 is the co-issue flag of a form that may share a bundle")
