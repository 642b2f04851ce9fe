"""Statements in order: labels, assignments, directives, macros, bundles and instructions."""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from tilewright.elf.asm import conditionals
from tilewright.elf.asm.conditionals import Conditionals
from tilewright.elf.asm.diagnostics import Diagnostics, Fault, Place
from tilewright.elf.asm.directives import Directives
from tilewright.elf.asm.emission import (
    Written,
    emit,
    emit_bundle,
    emit_placeholder,
    in_bundle_order,
)
from tilewright.elf.asm.expressions import name_of
from tilewright.elf.asm.finish import StackUsage, finish_object
from tilewright.elf.asm.instructions import InstructionAssembler, Switches
from tilewright.elf.asm.macros import (
    MAX_DEPTH,
    MAX_EXPANDED_LINES,
    Macro,
    iterations,
    parse_header,
    substitute,
)
from tilewright.elf.asm.sections import Sections
from tilewright.elf.asm.source import Line, Origin, Statement, statements
from tilewright.elf.asm.symbols import CurrentScope, Poisoned, SymbolTable
from tilewright.elf.object import ObjectFile
from tilewright.isa import bundle_faults

_SYMBOL = r'[A-Za-z_.$][\w.$@]*|"(?:\\.|[^"\\])+"'
_LABEL = re.compile(rf"({_SYMBOL}|\d+)\s*:\s*")
_ASSIGNMENT = re.compile(rf"({_SYMBOL})\s*=(?!=)\s*")
_WORD = re.compile(r"([\w.$@]+)\s*")

_BLOCK_ENDS = {
    ".macro": (".endm", ".endmacro"),
    ".rept": (".endr",),
    ".irp": (".endr",),
    ".irpc": (".endr",),
}
_OPENINGS = {
    end: [name for name, ends in _BLOCK_ENDS.items() if end in ends]
    for ends in _BLOCK_ENDS.values()
    for end in ends
}


@dataclass(slots=True)
class _Bundle:
    """A bundle being read; `is_faulty`: one of its members was reported already."""

    place: Place
    members: list[Written] = field(default_factory=list)
    is_faulty: bool = False


@dataclass(slots=True)
class _Block:
    """The body of a macro or repetition being collected; `nesting` counts blocks inside it.

    `place` is that of the directive, `origin` the column of its operands.
    """

    directive: str
    operands: str
    place: Place
    origin: int
    body: list[Line] = field(default_factory=list)
    nesting: int = 0

    def add(self, line: Line, start: int, end: int) -> None:
        """Add the columns `start` to `end` of a line, which stay where they are."""
        if start > 0 or end < len(line.text):
            line = replace(line, text=" " * start + line.text[start:end])
        self.body.append(line)


class _ExitMacro(Exception):
    """`.exitm`: the rest of the expansion does not count."""


class StatementReader:
    """Reads lines in order and fills sections. It is the `Host` of the directives."""

    def __init__(self, switches: Switches, diagnostics: Diagnostics) -> None:
        self.sections = Sections()
        self.symbols = SymbolTable()
        self.stack_usages: list[StackUsage] = []
        self._diagnostics = diagnostics
        self._instructions = InstructionAssembler(switches, self.symbols, self.warn)
        self._directives = Directives(self)
        self._conditionals = Conditionals()
        self._macros: dict[str, Macro] = {}
        self._expansions = 0
        self._expanded_lines = 0
        self._depth = 0
        self._bundle: _Bundle | None = None
        self._block: _Block | None = None
        self._checks_repeats = True
        # The statement being read: its line, where it starts, and where its operands start.
        self._line = Line("", "", 0)
        self._start = 0
        self._column = 0

    # -- the host of directives ---------------------------------------------------------------

    @property
    def switches(self) -> Switches:
        return self._instructions.switches

    def change_switches(self, switches: Switches) -> None:
        self._instructions.change_switches(switches)
        self._checks_repeats = self._checks_repeats and not switches.allow_invalid_repeat

    def warn(self, message: str, start: int, end: int) -> None:
        self._diagnostics.warn(message, self.place(start, end))

    def place(self, start: int, end: int) -> Place:
        return Place(self._line, self._column + start, self._column + end)

    # -- lines --------------------------------------------------------------------------------

    def read(self, lines: Iterable[Line]) -> None:
        """Read lines of the file or of an expansion; blocks opened in them must close in them."""
        depth = self._conditionals.depth
        for line in lines:
            column = 0
            while column < len(line.text):
                if self._block is None:
                    column = self._read_statements(line, column)
                else:
                    column = self._collect(self._block, line, column)
        if self._block is not None:
            block, self._block = self._block, None
            ends = " or ".join(_BLOCK_ENDS[block.directive])
            self._diagnostics.error(f"{block.directive} without {ends}", block.place)
        for place in self._conditionals.unclosed(depth):
            self._diagnostics.error(".if without .endif", place)

    def finish(self, name: str) -> ObjectFile:
        """The object of all that was read."""
        if self._bundle is not None:
            self._diagnostics.error("this bundle has no '}'", self._bundle.place)
        return finish_object(
            name,
            self.sections,
            self.symbols,
            self.stack_usages,
            self._checks_repeats,
            self._diagnostics,
        )

    # -- statements ---------------------------------------------------------------------------

    def _read_statements(self, line: Line, start: int) -> int:
        """Read statements from column `start` on; the column where they, or a block, end."""
        for statement in statements(line.text, start):
            self._line = line
            self._statement(statement)
            if self._block is not None:
                return statement.end
        return len(line.text)

    def _statement(self, statement: Statement) -> None:
        text, column = statement.text, statement.column
        if self._is_conditional(text, column) or not self._conditionals.is_active:
            return
        while ":" in text and (match := _LABEL.match(text)):
            self._run(self._label, match[1], "", column, 0)
            column += match.end()
            text = text[match.end() :]
            if not text or self._is_conditional(text, column):
                return
        if text in ("{", "}"):
            self._brace(text, Place(self._line, column, column + 1))
        elif "=" in text and (match := _ASSIGNMENT.match(text)):
            self._run(self._assignment, match[1], text[match.end() :], column, match.end())
        elif match := _WORD.match(text):
            self._run(self._operation, match[1], text[match.end() :], column, match.end())
        else:
            place = Place(self._line, column, column + len(text))
            self._diagnostics.error("expected a label, directive, macro or instruction", place)

    def _run(
        self, action: Callable[[str, str], None], word: str, text: str, start: int, offset: int
    ) -> None:
        """Do `action(word, text)` for the statement at column `start`, and report its fault.

        `text` starts `offset` columns later; faults without columns are put at the word.
        """
        line = self._line
        self._start, self._column = start, start + offset
        try:
            action(word, text)
        except Fault as fault:
            first, last = start, start + len(word)
            if fault.start is not None and text:
                first = start + offset + fault.start
                last = start + offset + (len(text) if fault.end is None else fault.end)
            self._diagnostics.error(fault.message, Place(line, first, max(last, first + 1)))
        except Poisoned:
            return

    def _label(self, word: str, text: str) -> None:
        if self._bundle is not None:
            raise Fault("a label cannot stand inside a bundle")
        self.symbols.define_label(name_of(word), self.sections.current, self._line)

    def _assignment(self, word: str, text: str) -> None:
        self._directives.assign(name_of(word), text, 0)

    def _operation(self, word: str, text: str) -> None:
        macro = self._macros.get(word)
        if macro is not None:
            self._expand(macro, text)
        elif word[0] == ".":
            self._directive(word, text)
        else:
            self._instruction(word, text)

    # -- instructions and bundles -------------------------------------------------------------

    def _instruction(self, mnemonic: str, text: str) -> None:
        section, bundle = self.sections.current, self._bundle
        ahead = 4 * len(bundle.members) if bundle is not None else 0
        scope = CurrentScope(self.symbols, section.here(ahead))
        try:
            words = self._instructions.assemble(mnemonic, text, scope)
        except (Fault, Poisoned):
            if bundle is not None:
                bundle.is_faulty = True
            else:
                emit_placeholder(section, self._line, words=1)
            raise
        place = Place(self._line, self._start, self._start + len(mnemonic))
        written = [Written(encoded, mnemonic, place, self._column) for encoded in words]
        if bundle is None:
            for each in written:
                emit(section, each, self.switches)
        elif len(written) > 1 or mnemonic == "ldconst":
            bundle.is_faulty = True
            raise Fault(f"'{mnemonic}' can make two words and cannot be in a bundle")
        else:
            bundle.members += written

    def _brace(self, brace: str, place: Place) -> None:
        if brace == "{":
            if self._bundle is not None:
                self._diagnostics.error("'{' inside a bundle; is a '}' missing before?", place)
            self._bundle = _Bundle(place)
        elif self._bundle is None:
            self._diagnostics.error("'}' without '{'", place)
        else:
            bundle, self._bundle = self._bundle, None
            if not self._close_bundle(bundle):
                emit_placeholder(self.sections.current, self._line, words=2)

    def _close_bundle(self, bundle: _Bundle) -> bool:
        """Check and emit a bundle; False if it is faulty."""
        if bundle.is_faulty:
            return False
        count = len(bundle.members)
        if count != 2:
            problem = {0: "the bundle is empty", 1: "too few instructions in the bundle"}
            message = problem.get(count, "too many instructions in the bundle")
            message += f": it takes a main and an aux instruction, got {count}"
            self._diagnostics.error(message, bundle.place)
            return False
        main, aux = in_bundle_order(bundle.members, self.switches)
        instructions = (main.instruction, aux.instruction)
        is_sound = True
        for place, message in bundle_faults(instructions, (main.mnemonic, aux.mnemonic)):
            member = (main, aux)[place]
            if self.switches.relax_bundles and not member.encoded.form.is_solo:
                self._diagnostics.warn(message, member.place)
            else:
                self._diagnostics.error(message, member.place)
                is_sound = False
        if is_sound:
            try:
                emit_bundle(self.sections.current, main, aux, self.switches)
            except Fault as fault:
                self._diagnostics.error(fault.message, bundle.place)
        return is_sound

    # -- directives, macros and repetitions ---------------------------------------------------

    def _directive(self, word: str, text: str) -> None:
        if word in _BLOCK_ENDS:
            place = Place(self._line, self._start, self._start + len(word))
            self._block = _Block(word, text, place, self._column)
        elif word in _OPENINGS:
            raise Fault(f"{word} without {' or '.join(_OPENINGS[word])}")
        elif word == ".purgem":
            if self._macros.pop(text, None) is None:
                raise Fault(f"there is no macro '{text}'", 0)
        elif self._bundle is not None and self._directives.moves_location(word):
            raise Fault(f"{word} cannot stand inside a bundle")
        elif word == ".exitm":
            if self._depth == 0:
                raise Fault(".exitm outside a macro")
            raise _ExitMacro
        elif not self._directives.run(word, text):
            raise Fault(self._unknown_directive(word))

    def _unknown_directive(self, word: str) -> str:
        known = [*self._directives.names, *conditionals.DIRECTIVES, *_BLOCK_ENDS, *self._macros]
        close = difflib.get_close_matches(word, sorted(known), n=1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        return f"unknown directive '{word}'{hint}"

    def _collect(self, block: _Block, line: Line, start: int) -> int:
        """Add statements to the body of a block, or close it; the column where they end."""
        ends = _BLOCK_ENDS[block.directive]
        for statement in statements(line.text, start):
            match = _WORD.match(statement.text)
            word = match[1] if match else ""
            if _BLOCK_ENDS.get(word) == ends:
                block.nesting += 1
            elif word in ends:
                if block.nesting == 0:
                    block.add(line, start, statement.column)
                    self._block = None
                    self._close_block(block)
                    return statement.end
                block.nesting -= 1
        block.add(line, start, len(line.text))
        return len(line.text)

    def _close_block(self, block: _Block) -> None:
        action = self._define_macro if block.directive == ".macro" else self._repeat
        self._line = block.place.line
        start = block.place.start
        self._run(
            lambda word, text: action(block),
            block.directive,
            block.operands,
            start,
            block.origin - start,
        )

    def _define_macro(self, block: _Block) -> None:
        name, parameters = parse_header(block.operands)
        self._macros[name] = Macro(name, parameters, tuple(block.body))

    def _expand(self, macro: Macro, text: str) -> None:
        lines = macro.expand(text, self._line, self._expansions)
        self._expansions += 1
        self._read_expansion(lines, macro.name)

    def _repeat(self, block: _Block) -> None:
        origin = Origin(f"in {block.directive}", block.place.line)
        count = self._directives.number(block.operands) if block.directive == ".rept" else 0
        for values in iterations(block.directive, block.operands, count):
            lines = substitute(block.body, values, origin, self._expansions)
            self._expansions += 1
            if not self._read_expansion(lines, block.directive):
                return

    def _read_expansion(self, lines: Iterable[Line], word: str) -> bool:
        """Read what `word` stands for; False if `.exitm` ended it."""
        if self._depth >= MAX_DEPTH:
            message = f"macros are nested more than {MAX_DEPTH} deep; is this endless?"
            self._diagnostics.fatal(
                message, Place(self._line, self._start, self._start + len(word))
            )
        line, start, column = self._line, self._start, self._column
        depth = self._conditionals.depth
        is_complete = True
        self._depth += 1
        try:
            self.read(self._counted(lines))
        except _ExitMacro:
            is_complete = False
            self._conditionals.unclosed(depth)
        self._depth -= 1
        self._line, self._start, self._column = line, start, column
        return is_complete

    def _counted(self, lines: Iterable[Line]) -> Iterator[Line]:
        """The lines, as long as all expansions together stay within bounds."""
        for line in lines:
            self._expanded_lines += 1
            if self._expanded_lines > MAX_EXPANDED_LINES:
                message = f"macros and repetitions make more than {MAX_EXPANDED_LINES} lines"
                self._diagnostics.fatal(message, Place(line, 0, max(len(line.text), 1)))
            yield line

    # -- conditionals -------------------------------------------------------------------------

    def _is_conditional(self, text: str, column: int) -> bool:
        """Carry out a conditional directive; False if the statement is none."""
        match = _WORD.match(text) if text[0] == "." else None
        if match is None or match[1] not in conditionals.DIRECTIVES:
            return False
        self._run(self._conditional, match[1], text[match.end() :], column, match.end())
        return True

    def _conditional(self, word: str, text: str) -> None:
        place = Place(self._line, self._start, self._start + len(word))
        if word in conditionals.OPENING:
            self._open_conditional(word, text, place)
        elif word == ".elseif":
            wanted = self._conditionals.wants_condition
            self._conditionals.otherwise(wanted and self._directives.number(text) != 0)
        else:
            counts = self._conditionals.is_active
            if word == ".else":
                self._conditionals.otherwise(None)
            else:
                self._conditionals.close()
            if text and (counts or self._conditionals.is_active):
                raise Fault(f"{word} takes no operands", 0, len(text))

    def _open_conditional(self, word: str, text: str, place: Place) -> None:
        if not self._conditionals.is_active:
            self._conditionals.open(None, place)
            return
        try:
            condition = self._condition(word, text)
        except (Fault, Poisoned):
            self._conditionals.open(None, place)  # neither branch: no faults that follow from this
            raise
        self._conditionals.open(condition, place)

    def _condition(self, word: str, text: str) -> bool:
        if word in conditionals.COMPARISONS:
            return conditionals.COMPARISONS[word](self._directives.number(text))
        if word in (".ifdef", ".ifndef"):
            is_defined = self.symbols.is_defined(_only_symbol(word, text))
            return is_defined == (word == ".ifdef")
        if word in (".ifb", ".ifnb"):
            return (not text) == (word == ".ifb")
        return conditionals.texts_equal(word, text) == (word == ".ifc")


def _only_symbol(directive: str, text: str) -> str:
    """The symbol that is the only operand. Raises `Fault`."""
    match = re.match(rf"({_SYMBOL})\s*", text)
    if match is None:
        raise Fault(f"{directive} needs a symbol", 0)
    if match.end() < len(text):
        raise Fault(f"unexpected text after '{match[1]}'", match.end())
    return name_of(match[1])
