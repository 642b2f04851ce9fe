"""Instructions: a mnemonic and its operands become words, and operands that must wait."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.elf.asm.diagnostics import Fault
from tilewright.elf.asm.expressions import (
    Node,
    Number,
    Scope,
    Value,
    bind,
    evaluate,
    first_name,
)
from tilewright.elf.asm.matching import (
    OperandMismatch,
    find_spellings,
    out_of_range,
    subtrahend_fault,
    unknown_mnemonic,
)
from tilewright.elf.asm.operands import (
    ImmediateOperand,
    OperandParser,
    RegisterOperand,
    TextOperand,
    operand_spans,
    split_operands,
)
from tilewright.elf.asm.symbols import SymbolTable
from tilewright.isa import (
    FORM_BY_NAME,
    SPELLINGS,
    EncodingError,
    Form,
    Kind,
    Mode,
    Spelling,
    encode,
)
from tilewright.target.csr import Csr, Space


@dataclass(slots=True)
class Switches:
    """What the directives of section "switches" in docs/assembly.md turn on, and compatibility.

    `word_targets`: a number as branch target is a word index, as in the vendor's assembler.
    """

    mode: Mode = Mode.WORKER
    allow_optimizations: bool = False
    relax_bundles: bool = False
    allow_invalid_operands: bool = False
    allow_invalid_mode: bool = False
    allow_invalid_repeat: bool = False
    word_targets: bool = False


@dataclass(frozen=True, slots=True)
class Pending:
    """The operands of an instruction of which some are not known yet.

    `values` are those of the text: numbers, or trees that wait; `spans` are their columns.
    `subtracts`: the last one is encoded with the other sign.
    """

    spellings: tuple[Spelling, ...]
    values: tuple[int | Node, ...]
    spans: tuple[tuple[int, int], ...]
    subtracts: bool = False


@dataclass(frozen=True, slots=True)
class Encoded:
    """One instruction word; operands that wait are 0 in it."""

    form: Form
    word: int
    pending: Pending | None = None


def encode_first(
    spellings: Sequence[Spelling], values: Sequence[int], allow_overlong: bool
) -> tuple[Form, int] | None:
    """Form and word of the first spelling that can hold the values, None if none can.

    With `allow_overlong`, branch targets lose the bits that do not fit.
    """
    for spelling in spellings:
        form = spelling.form
        expanded = spelling.expand(values)
        if allow_overlong:
            expanded = tuple(
                value & operand.maximum if operand.kind is Kind.TARGET else value
                for operand, value in zip(form.operands, expanded, strict=True)
            )
        try:
            return form, encode(form, expanded)
        except EncodingError:
            continue
    return None


class InstructionAssembler:
    """Assembles single instructions under the current switches.

    Instructions without names in them are remembered, since kernels repeat them.
    """

    def __init__(
        self, switches: Switches, symbols: SymbolTable, warn: Callable[[str, int, int], None]
    ) -> None:
        """`warn` takes a message and columns in the operands' text."""
        self._symbols = symbols
        self._warn = warn
        self.change_switches(switches)

    def change_switches(self, switches: Switches) -> None:
        """Use other switches from here on."""
        self.switches = switches
        self._parser = OperandParser(switches.allow_invalid_operands)
        self._literal: dict[tuple[str, str], list[Encoded]] = {}

    def assemble(self, mnemonic: str, text: str, scope: Scope) -> list[Encoded]:
        """The words of one instruction.

        Raises `Fault` with columns in `text`, or without columns where the mnemonic is at fault.
        """
        known = self._literal.get((mnemonic, text))
        if known is not None:
            return known
        operands = self._operands(text)
        encoded = self._encode(mnemonic, text, operands, scope)
        if all(isinstance(each, RegisterOperand) or each.is_literal for each in operands):
            self._literal[mnemonic, text] = encoded
        return encoded

    # -- operands -----------------------------------------------------------------------------

    def _operands(self, text: str) -> list[TextOperand]:
        pieces = split_operands(text)
        try:
            return [self._parser.parse(piece) for piece in pieces]
        except Fault:
            raise self._first_bad_operand(text) from None

    def _first_bad_operand(self, text: str) -> Fault:
        for start, end in operand_spans(text):
            try:
                self._parser.parse(text[start:end])
            except Fault as fault:
                return fault.shifted(start, end - start)
        raise AssertionError("one of the operands is faulty")

    # -- encoding -----------------------------------------------------------------------------

    def _encode(
        self, mnemonic: str, text: str, operands: Sequence[TextOperand], scope: Scope
    ) -> list[Encoded]:
        if mnemonic == "ldconst":
            return self._load_constant(text, operands, scope)
        if mnemonic not in SPELLINGS:
            raise Fault(unknown_mnemonic(mnemonic))
        signature = tuple(operand.signature for operand in operands)
        if mnemonic == "sub" and signature == ("m", "m", "i"):
            return [self._subtract_immediate(text, operands, scope)]
        try:
            spellings = find_spellings(mnemonic, operands)
        except OperandMismatch as mismatch:
            raise self._at_operand(mismatch.message, text, mismatch.position) from None
        self._check_mode(mnemonic, spellings[0].form)
        return [self._encode_as(spellings, text, operands, scope)]

    def _encode_as(
        self,
        spellings: tuple[Spelling, ...],
        text: str,
        operands: Sequence[TextOperand],
        scope: Scope,
    ) -> Encoded:
        values = [
            operand.first
            if isinstance(operand, RegisterOperand)
            else self._immediate(spellings, position, operand, text, scope)
            for position, operand in enumerate(operands)
        ]
        known = [value if isinstance(value, int) else 0 for value in values]
        result = encode_first(spellings, known, self.switches.allow_invalid_operands)
        if result is None:
            raise self._value_fault(spellings, known, text)
        form, word = result
        if all(isinstance(value, int) for value in values):
            return Encoded(form, word)
        waiting = Pending(spellings, tuple(values), tuple(operand_spans(text)))
        return Encoded(form, word, waiting)

    def _immediate(
        self,
        spellings: Sequence[Spelling],
        position: int,
        operand: ImmediateOperand,
        text: str,
        scope: Scope,
    ) -> int | Node:
        """The operand's value, or what is known of it so far."""
        target = spellings[0].text_operands[position]
        if operand.warns:
            self._warn("C would read this otherwise; add parentheses", *self._span(text, position))
        if operand.csr is not None:
            self._check_csr(operand.csr, spellings[0], text, position)
        node = self._bound(operand, text, position, scope)
        if not isinstance(node, Number | Value) or (isinstance(node, Value) and not node.is_number):
            return node
        number = node.value if isinstance(node, Number) else node.offset
        if target.kind is Kind.VERTEX_OFFSET and not operand.is_literal:
            # A name stands for an address, and only the linker turns addresses into offsets.
            return self._symbols.as_address(operand.node, number)
        if target.kind is Kind.TARGET and self.switches.word_targets:
            return 4 * number
        return number

    def _bound(self, operand: ImmediateOperand, text: str, position: int, scope: Scope) -> Node:
        try:
            return bind(operand.node, scope)
        except Fault as fault:
            start, end = self._span(text, position)
            raise fault.shifted(start, end - start) from None

    # -- pseudo-instructions ------------------------------------------------------------------

    def _load_constant(
        self, text: str, operands: Sequence[TextOperand], scope: Scope
    ) -> list[Encoded]:
        """`ldconst`: the low 20 bits, then the high 12 if they are not zero."""
        if len(operands) != 2:
            amount = "few" if len(operands) < 2 else "many"
            raise Fault(f"too {amount} operands: 'ldconst' takes 2, got {len(operands)}")
        register, immediate = operands
        if not isinstance(register, RegisterOperand) or register.signature not in ("m", "a"):
            raise self._at_operand("expected a $m or $a register", text, 0)
        if not isinstance(immediate, ImmediateOperand) or immediate.csr is not None:
            raise self._at_operand("expected a number", text, 1)
        value = self._known_number(immediate, text, scope) & 0xFFFF_FFFF
        file = register.file
        low = FORM_BY_NAME[f"setzi {file},x20"]
        high = FORM_BY_NAME[f"or {file},{file},u12<<20"]
        self._check_mode("ldconst", low)
        words = [Encoded(low, encode(low, (register.first, value & 0xF_FFFF)))]
        if value >> 20:
            combined = encode(high, (register.first, register.first, value & 0xFFF0_0000))
            words.append(Encoded(high, combined))
        return words

    def _known_number(self, operand: ImmediateOperand, text: str, scope: Scope) -> int:
        node = self._bound(operand, text, 1, scope)
        if isinstance(node, Number | Value):
            value = evaluate(node)
            if not value.is_number:
                raise self._at_operand("'ldconst' cannot load the address of a symbol", text, 1)
            if not -(1 << 31) <= value.offset < 1 << 32:
                message = f"'ldconst' loads 32 bits, got {value.offset:#x}"
                raise self._at_operand(message, text, 1)
            return value.offset
        name = first_name(node)
        message = f"'ldconst' needs a value that is known here; '{name}' is not defined so far"
        raise self._at_operand(message, text, 1)

    def _subtract_immediate(
        self, text: str, operands: Sequence[TextOperand], scope: Scope
    ) -> Encoded:
        """`sub $d, $s, imm` is `add $d, $s, -imm`."""
        destination, source, immediate = operands
        assert isinstance(destination, RegisterOperand)
        assert isinstance(source, RegisterOperand)
        assert isinstance(immediate, ImmediateOperand)
        spellings = SPELLINGS["adds"]["m", "m", "i"]
        value = self._immediate(spellings, 2, immediate, text, scope)
        known = value if isinstance(value, int) else 0
        message = subtrahend_fault(known)
        if message is not None:
            raise self._at_operand(message, text, 2)
        form = spellings[0].form
        word = encode(form, (destination.first, source.first, -known))
        if isinstance(value, int):
            return Encoded(form, word)
        values = (destination.first, source.first, value)
        waiting = Pending(spellings, values, tuple(operand_spans(text)), subtracts=True)
        return Encoded(form, word, waiting)

    # -- checks -------------------------------------------------------------------------------

    def _check_mode(self, mnemonic: str, form: Form) -> None:
        if form.mode.allows(self.switches.mode) or self.switches.allow_invalid_mode:
            return
        raise Fault(
            f"'{mnemonic}' is a {form.mode.value} instruction; this is "
            f"{self.switches.mode.value} code (.{form.mode.value} switches)"
        )

    def _check_csr(self, csr: Csr, spelling: Spelling, text: str, position: int) -> None:
        if spelling.text_operands[position].kind is not Kind.CSR:
            message = f"${csr.name} is a control register, not a number for '{spelling.mnemonic}'"
            raise self._at_operand(message, text, position)
        allowed = self._reachable_spaces(spelling.form)
        if csr.space not in allowed:
            message = (
                f"control register ${csr.name} belongs to {csr.space.value}; "
                f"'{spelling.mnemonic}' in {self.switches.mode.value} code does not reach it"
            )
            raise self._at_operand(message, text, position)

    def _reachable_spaces(self, form: Form) -> tuple[Space, ...]:
        if form.mnemonic in ("uget", "uput"):
            return (Space.WORKER_UPPER,)
        if form.mnemonic in ("ld64putcs", "ld128putcs"):
            return (Space.WEIGHTS,)
        if self.switches.allow_invalid_mode:
            return (Space.COMMON, Space.WORKER, Space.SUPERVISOR)
        if self.switches.mode is Mode.SUPERVISOR:
            return (Space.COMMON, Space.SUPERVISOR)
        return (Space.COMMON, Space.WORKER)

    def _value_fault(
        self, spellings: Sequence[Spelling], values: Sequence[int], text: str
    ) -> Fault:
        for position, value in enumerate(values):
            choices = [each.text_operands[position] for each in spellings]
            if any(operand.accepts(value) for operand in choices):
                continue
            if choices[0].is_register:
                message = f"expected {choices[0].describe()}"
            else:
                message = out_of_range(spellings, position, value)
            return self._at_operand(message, text, position)
        raise AssertionError("one of the values does not fit")

    def _at_operand(self, message: str, text: str, position: int | None) -> Fault:
        if position is None:
            return Fault(message)
        start, end = self._span(text, position)
        return Fault(message, start, max(end, start + 1))

    @staticmethod
    def _span(text: str, position: int) -> tuple[int, int]:
        """First and last column of an operand."""
        return list(operand_spans(text))[position]
