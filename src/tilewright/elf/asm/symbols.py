"""The names of one source file: labels, numeric labels, variables, and what is said about them."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tilewright.elf.asm.diagnostics import Diagnostics, Fault, Place
from tilewright.elf.asm.expressions import (
    Name,
    Node,
    Number,
    Value,
    bind,
    evaluate,
    first_name,
)
from tilewright.elf.asm.sections import SectionBuilder
from tilewright.elf.asm.source import Line
from tilewright.elf.object import Binding, Symbol, Visibility
from tilewright.target.csr import CSRS

PRIVATE_PREFIX = ".L"
"""Labels with this prefix stay out of the symbol table."""


class Poisoned(Exception):
    """A value that depends on a faulty definition, which has been reported already."""


@dataclass(slots=True)
class SymbolTable:
    """Labels and variables by name, and their attributes.

    A variable is what `.set` last gave it; None after a faulty `.set`, whose uses stay quiet.
    """

    _labels: dict[str, Symbol] = field(default_factory=dict)
    _variables: dict[str, Node | None] = field(default_factory=dict)
    _numeric: dict[str, list[Symbol]] = field(default_factory=dict)
    _externals: dict[str, Symbol] = field(default_factory=dict)
    _absolutes: dict[tuple[str, int], Symbol] = field(default_factory=dict)
    _lines: dict[str, Line] = field(default_factory=dict)
    _resolving: list[str] = field(default_factory=list)
    bindings: dict[str, Binding] = field(default_factory=dict)
    visibilities: dict[str, Visibility] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, tuple[Node, Place]] = field(default_factory=dict)
    final_sizes: dict[str, int] = field(default_factory=dict)

    # -- definitions --------------------------------------------------------------------------

    def define_label(self, name: str, section: SectionBuilder, line: Line) -> None:
        """Put a label at the location counter. Raises `Fault` if the name is taken."""
        if name.isdecimal():
            numbered = self._numeric.setdefault(name, [])
            numbered.append(Symbol(f"{name}:", section.section, section.size))
            return
        if name in self._labels or name in self._variables:
            raise Fault(f"'{name}' is defined already, {self._where(name)}")
        self._labels[name] = Symbol(name, section.section, section.size)
        self._lines[name] = line

    def set_variable(self, name: str, node: Node | None, line: Line) -> None:
        """Give a variable its value from here on. Raises `Fault` if `name` is a label."""
        if name in self._labels:
            raise Fault(f"'{name}' is a label already, {self._where(name)}")
        self._variables[name] = node
        self._lines[name] = line

    def is_defined(self, name: str) -> bool:
        """Whether the name has been given a place or a value so far."""
        return name in self._labels or name in self._variables

    def label(self, name: str) -> Symbol | None:
        """The label of that name, if there is one."""
        return self._labels.get(name)

    # -- look-up ------------------------------------------------------------------------------

    def lookup(self, name: Name) -> Node | None:
        """What `name` stands for now; None if that is not known yet.

        Raises `Poisoned`, and `Fault` for a numeric label that is not there.
        """
        if name.is_local:
            return self._lookup_numeric(name)
        if name.text in self._variables:
            node = self._variables[name.text]
            if node is None:
                raise Poisoned
            return node
        label = self._labels.get(name.text)
        if label is not None:
            return Value(0, label)
        if not name.is_quoted and name.text.startswith("$") and name.text[1:] in CSRS:
            return Number(CSRS[name.text[1:]].index)
        return None

    def resolve(self, node: Node) -> Value:
        """The value at the end of the file: names without a definition are external symbols.

        Raises `Fault` for what has no value, and `Poisoned`.
        """
        return evaluate(bind(node, _FinalScope(self)))

    def resolve_name(self, name: Name) -> Value:
        """The value of a name at the end of the file; as `resolve`."""
        if name.text in self._resolving:
            raise Fault(f"the value of '{name.text}' depends on itself")
        found = self.lookup(name)
        if found is not None:
            self._resolving.append(name.text)
            try:
                return self.resolve(found)
            finally:
                self._resolving.pop()
        if name.is_local:
            raise Fault(f"there is no label '{name.text[:-1]}:' after this", name.start, name.end)
        is_local = self.bindings.get(name.text) is Binding.LOCAL
        if is_local or name.text.startswith(PRIVATE_PREFIX):
            message = f"'{name.text}' is not defined, and no other file can define it"
            raise Fault(message, name.start, name.end)
        external = Symbol(name.text, binding=Binding.GLOBAL)
        return Value(0, self._externals.setdefault(name.text, external))

    def absolute(self, name: str, value: int) -> Symbol:
        """A symbol with a variable's value, for a relocation that is left to the linker."""
        symbol = Symbol(name, value=value, is_absolute=True)
        return self._absolutes.setdefault((name, value), symbol)

    def as_address(self, node: Node, number: int) -> Value:
        """`number` as an address: an absolute symbol, named after the variable in `node`."""
        name = first_name(node)
        variable = self._variables.get(name) if name is not None else None
        value = None if variable is None else self.resolve(variable)
        if name is None or value is None or not value.is_number:
            return Value(0, self.absolute(f"{number:#x}", number))
        return Value(number - value.offset, self.absolute(name, value.offset))

    # -- the object's symbols -----------------------------------------------------------------

    def report_faulty_variables(self, diagnostics: Diagnostics) -> None:
        """Report variables that can be no symbols; what uses them stays quiet."""
        for name in self._variables:
            if name.startswith(PRIVATE_PREFIX):
                continue
            try:
                self._variable_symbol(name)
            except Fault as fault:
                line = self._lines[name]
                start = len(line.text) - len(line.text.lstrip())
                diagnostics.error(fault.message, Place(line, start, len(line.text.rstrip())))
                self._variables[name] = None
            except Poisoned:
                continue

    def finished(self) -> Iterator[Symbol]:
        """The symbols of the object, attributes applied: labels, variables, external symbols.

        A binding alone makes an external symbol of a name that is not defined.
        """
        for name, binding in self.bindings.items():
            if binding is not Binding.LOCAL and not self.is_defined(name):
                self._externals.setdefault(name, Symbol(name))
        for name, symbol in self._labels.items():
            if not name.startswith(PRIVATE_PREFIX) or name in self.bindings:
                yield self._attributed(symbol)
        variables = [
            self._variable_symbol(name)
            for name in self._variables
            if not name.startswith(PRIVATE_PREFIX)
        ]
        yield from map(self._attributed, variables)
        # Values that a variable had before, and to which a relocation refers.
        yield from (symbol for symbol in self._absolutes.values() if symbol not in variables)
        yield from map(self._attributed, self._externals.values())

    def _variable_symbol(self, name: str) -> Symbol:
        value = self.resolve_name(Name(name, 0, 0))
        if value.symbol is None:
            return self.absolute(name, value.offset)
        if value.symbol.section is None:
            raise Fault(f"'{name}' cannot stand for an address in another object")
        section = value.symbol.section
        return Symbol(name, section, value.symbol.value + value.offset)

    def _attributed(self, symbol: Symbol) -> Symbol:
        name = symbol.name
        symbol.binding = self.bindings.get(name, symbol.binding)
        symbol.visibility = self.visibilities.get(name, symbol.visibility)
        symbol.type = self.types.get(name, symbol.type)
        symbol.size = self.final_sizes.get(name, symbol.size)
        return symbol

    def _where(self, name: str) -> str:
        line = self._lines[name]
        return f"at {line.file}:{line.number}"

    def _lookup_numeric(self, name: Name) -> Node | None:
        label = name.text[:-1]
        numbered = self._numeric.get(label, [])
        if name.text.endswith("b"):
            if not numbered:
                raise Fault(f"there is no label '{label}:' before this", name.start, name.end)
            return Value(0, numbered[-1])
        if name.instance is None:
            return replace(name, instance=len(numbered))
        return Value(0, numbered[name.instance]) if name.instance < len(numbered) else None


@dataclass(frozen=True, slots=True)
class _FinalScope:
    """Every name has a value, or is a symbol of another object."""

    symbols: SymbolTable

    def here(self) -> Value:
        raise AssertionError("the location counter is bound when a statement is read")

    def lookup(self, name: Name) -> Node:
        return self.symbols.resolve_name(name)


@dataclass(frozen=True, slots=True)
class CurrentScope:
    """What is known at the statement being read; `location` is the location counter."""

    symbols: SymbolTable
    location: Value

    def here(self) -> Value:
        return self.location

    def lookup(self, name: Name) -> Node | None:
        return self.symbols.lookup(name)
