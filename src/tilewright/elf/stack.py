"""Stack need of linked code, from what objects record about their functions.

`.stack_sizes` holds the complete need of a function, callees included; `.stack_sizes.own` its own
frame, to which the largest need of its callees is added. Callees are found by the relocations of
branch and call targets (19_S2). Code that a supervisor starts on workers runs on other stacks, and
calls through registers leave no relocation, so neither is followed. A function without a record
makes the need unknown, and recursion makes it unbounded; neither is ever taken for 0.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.elf.faults import LinkError
from tilewright.elf.inputs import InputFile, InputSection, Reference
from tilewright.elf.object import Binding, Relocation, Section, SymbolType
from tilewright.elf.relocate import Values
from tilewright.elf.relocations import RelocationType

STACK_SIZES = ".stack_sizes"
STACK_SIZES_OWN = ".stack_sizes.own"

_ADDRESS_SIZE = 4
_LONGEST_ULEB128 = 10
_OPCODE_SHIFT, _OPCODE_MASK = 24, 0x7F
_CALL_OPCODE = 0x18


@dataclass(frozen=True, slots=True)
class StackNeed:
    """What calling `entry` takes: `size` bytes, or why that is not known."""

    entry: str
    size: int | None
    unknown: tuple[str, ...] = ()
    """Functions that it reaches and that have no record."""
    cycle: tuple[str, ...] = ()
    """Functions that call each other in turn; the last is the first again."""

    def __str__(self) -> str:
        if self.size is not None:
            return f"{self.size} bytes"
        reasons = []
        if self.cycle:
            reasons.append(f"unbounded: {' calls '.join(self.cycle)}")
        if self.unknown:
            reasons.append(f"unknown for: {', '.join(self.unknown)}")
        return "; ".join(reasons)


@dataclass(frozen=True, slots=True)
class StackRecord:
    """One entry of a `.stack_sizes` section; `relocation` refers to the function."""

    relocation: Relocation
    size: int
    is_own: bool


def stack_needs(
    entries: Iterable[str], files: Sequence[InputFile], values: Values
) -> tuple[StackNeed, ...]:
    """The need of each entry. Raises `LinkError` for malformed records."""
    frames = _frames(files, values)
    code = _Code(files, values, recorded=frames)
    return tuple(_need(entry, values.of_name(entry), code, frames) for entry in entries)


def stack_records(file: InputFile) -> Iterator[StackRecord]:
    """All records of an object. Raises `LinkError` for malformed ones."""
    for section in file.file.sections:
        if section.name in (STACK_SIZES, STACK_SIZES_OWN):
            yield from _section_records(file.name, section)


def _section_records(file_name: str, section: Section) -> Iterator[StackRecord]:
    relocations = {each.offset: each for each in section.relocations}
    offset = 0
    while offset < len(section.data):
        relocation = relocations.get(offset)
        if relocation is None or relocation.type != RelocationType.ABS_32:
            raise LinkError(
                f"{file_name}: {section.name}+{offset:#x}: expected the address of a function"
            )
        size, end = _uleb128(section.data, offset + _ADDRESS_SIZE)
        if end is None:
            raise LinkError(f"{file_name}: {section.name}+{offset:#x}: the stack size is cut off")
        yield StackRecord(relocation, size, is_own=section.name == STACK_SIZES_OWN)
        offset = end


def _uleb128(data: bytes, start: int) -> tuple[int, int | None]:
    """The number at `start` and where it ends, `None` if it does not end in the data."""
    number = 0
    for index in range(start, min(len(data), start + _LONGEST_ULEB128)):
        number |= (data[index] & 0x7F) << 7 * (index - start)
        if not data[index] & 0x80:
            return number, index + 1
    return number, None


@dataclass(frozen=True, slots=True)
class _Frame:
    size: int
    is_own: bool


def _frames(files: Iterable[InputFile], values: Values) -> dict[int, _Frame]:
    """What is recorded, by function address; a complete need goes before an own frame."""
    frames: dict[int, _Frame] = {}
    for file in files:
        for record in stack_records(file):
            address = _recorded_function(file, record.relocation, values)
            if address is None:
                continue
            known = frames.get(address)
            frame = _Frame(record.size, record.is_own)
            if known is None or (known.is_own, -known.size) > (frame.is_own, -frame.size):
                frames[address] = frame
    return frames


def _recorded_function(file: InputFile, relocation: Relocation, values: Values) -> int | None:
    """The address of the function that a record is about, `None` if it was not kept.

    A symbol of this object means its own definition, even if another object's overrides it.
    """
    symbol = relocation.symbol
    if symbol.section is None:
        base = symbol.value if symbol.is_absolute else values.of_name(symbol.name)
        return None if base is None else base + relocation.addend
    base = values.addresses.get(file.input_section(symbol.section))
    return None if base is None else base + symbol.value + relocation.addend


class _Code:
    """The functions of the placed code: where each starts and what it calls.

    A function starts where a FUNC symbol, a call or a stack record points and at the start of each
    section, and ends where the next one starts.
    """

    def __init__(self, files: Sequence[InputFile], values: Values, recorded: Iterable[int]) -> None:
        self._values = values
        self._sections = {
            address: each
            for each, address in values.addresses.items()
            if each.section.is_executable and each.section.size
        }
        self._section_starts = sorted(self._sections)
        self._labels = _labels(files, values.addresses)
        starts = dict.fromkeys((*self._section_starts, *recorded))
        starts |= dict.fromkeys(
            address for address, (rank, _) in self._labels.items() if rank < _FIRST_LABEL_RANK
        )
        for each in self._sections.values():
            for reference in _branches(each):
                if _is_call(each, reference):
                    starts[self._target(reference)] = None
        self._starts = sorted(start for start in starts if self.section_at(start))
        self._outside: dict[int, str] = {}

    def section_at(self, address: int) -> InputSection | None:
        """The code section that holds `address`."""
        index = bisect_right(self._section_starts, address) - 1
        if index < 0:
            return None
        start = self._section_starts[index]
        each = self._sections[start]
        return each if address < start + each.section.size else None

    def function_at(self, address: int) -> int:
        """The start of the function that holds `address`; itself where there is no code."""
        if self.section_at(address) is None:
            return address
        return self._starts[bisect_right(self._starts, address) - 1]

    def callees(self, function: int) -> list[int]:
        """The functions that the one at this address calls or branches to, each once."""
        each = self.section_at(function)
        if each is None:
            return []
        base = self._values.addresses[each]
        index = bisect_right(self._starts, function)
        end = self._starts[index] if index < len(self._starts) else base + each.section.size
        found: dict[int, None] = {}
        for reference in _branches(each):
            if not function <= base + reference.offset < end:
                continue
            target = self._target(reference)
            callee = self.function_at(target)
            if callee != function or _is_call(each, reference):
                found[callee] = None
            if self.section_at(target) is None:
                self._outside[target] = str(reference)
        return list(found)

    def name(self, function: int) -> str:
        """What messages call the function at this address."""
        if function in self._labels:
            return self._labels[function][1]
        each = self.section_at(function)
        if each is None:
            return self._outside.get(function, f"{function:#x}")
        return f"{each.section.name}+{function - self._values.addresses[each]:#x}"

    def _target(self, reference: Reference) -> int:
        return (self._values.of_reference(reference) or 0) + reference.addend


_FIRST_LABEL_RANK = 2
"""Labels below this rank are functions."""


def _labels(
    files: Iterable[InputFile], addresses: Mapping[InputSection, int]
) -> dict[int, tuple[int, str]]:
    """The best name of each address in code, with its rank: functions first, globals first."""
    labels: dict[int, tuple[int, str]] = {}
    for file in files:
        for symbol in file.file.symbols:
            if symbol.section is None or symbol.type == SymbolType.SECTION or not symbol.name:
                continue
            base = addresses.get(file.input_section(symbol.section))
            if base is None or not symbol.section.is_executable:
                continue
            rank = 0 if symbol.type == SymbolType.FUNC else _FIRST_LABEL_RANK
            rank += symbol.binding == Binding.LOCAL
            label = (rank, symbol.name)
            address = base + symbol.value
            labels[address] = min(label, labels.get(address, label))
    return labels


def _branches(each: InputSection) -> Iterator[Reference]:
    """The references of a section that are targets of branches and calls."""
    return (
        reference for reference in each.references if reference.type == RelocationType.ABS_19_S2
    )


def _is_call(each: InputSection, reference: Reference) -> bool:
    """Whether the instruction is a `call`, and not a branch."""
    word = each.section.data[reference.offset : reference.offset + 4]
    return int.from_bytes(word, "little") >> _OPCODE_SHIFT & _OPCODE_MASK == _CALL_OPCODE


def _need(entry: str, address: int | None, code: _Code, frames: Mapping[int, _Frame]) -> StackNeed:
    if address is None or code.section_at(address) is None:
        return StackNeed(entry, None, unknown=(entry,))
    order, cycle = _callees_first(code.function_at(address), code, frames)
    unknown = tuple(code.name(function) for function in order if function not in frames)
    if unknown or cycle:
        names = tuple(code.name(function) for function in cycle)
        return StackNeed(entry, None, tuple(sorted(unknown)), names)
    totals: dict[int, int] = {}
    for function in order:
        below = [totals[callee] for callee in _followed(function, code, frames)]
        totals[function] = frames[function].size + max(below, default=0)
    return StackNeed(entry, totals[order[-1]])


def _followed(function: int, code: _Code, frames: Mapping[int, _Frame]) -> list[int]:
    """Callees that add to a function's need: none if its record is complete."""
    frame = frames.get(function)
    return code.callees(function) if frame is None or frame.is_own else []


def _callees_first(
    start: int, code: _Code, frames: Mapping[int, _Frame]
) -> tuple[list[int], list[int]]:
    """All functions reached, callees before callers, and one cycle of calls if there is any."""
    order: list[int] = []
    cycle: list[int] = []
    path = [start]
    seen = {start}
    waiting = [iter(_followed(start, code, frames))]
    while path:
        callee = next(waiting[-1], None)
        if callee is None:
            order.append(path.pop())
            waiting.pop()
        elif callee in path and not cycle:
            cycle = [*path[path.index(callee) :], callee]
        elif callee not in seen:
            seen.add(callee)
            path.append(callee)
            waiting.append(iter(_followed(callee, code, frames)))
    return order, cycle
