"""Macros and repeated blocks: `.macro`, `.rept`, `.irp`, `.irpc`.

A definition keeps the lines of its body; an expansion gives lines with the parameters put in, each
knowing the line that asked for it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tilewright.elf.asm.diagnostics import Fault
from tilewright.elf.asm.source import Line, Origin

MAX_DEPTH = 100
"""Macro expansions inside each other; more means endless recursion."""
MAX_EXPANDED_LINES = 1 << 20
"""Lines of all expansions together; more cannot fit into any tile."""

_NAME = r"[A-Za-z_.$][\w.$]*"
_PARAMETER = re.compile(rf"\s*,?\s*({_NAME})(?::(req|vararg))?\s*(?:=\s*)?")
_USE = re.compile(r"\\(?:(\(\))|(@)|([A-Za-z_.$][\w.$]*))")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a macro; `default` stands in for an argument that is not given."""

    name: str
    default: str = ""
    is_required: bool = False
    takes_rest: bool = False


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro: its parameters and the lines between `.macro` and `.endm`."""

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Line, ...]

    def expand(self, arguments: str, caller: Line, number: int) -> Iterator[Line]:
        """The body for one call; `number` is what `\\@` becomes. Raises `Fault`."""
        values = self._bind(arguments)
        return substitute(
            self.body, values, Origin(f"in macro '{self.name}', used", caller), number
        )

    def _bind(self, text: str) -> dict[str, str]:
        """The value of each parameter; one that takes the rest of `text` takes it as it is."""
        names = {parameter.name for parameter in self.parameters}
        values: dict[str, str] = {}
        positional: list[tuple[str, int]] = []
        for argument, start, _ in _arguments(text):
            name, equals, value = argument.partition("=")
            if equals and name.strip() in names:
                values[name.strip()] = unquoted(value.strip())
            else:
                positional.append((argument, start))
        waiting = [parameter for parameter in self.parameters if parameter.name not in values]
        for parameter, (argument, start) in zip(waiting, positional, strict=False):
            rest = text[start:].strip()
            values[parameter.name] = rest if parameter.takes_rest else unquoted(argument)
        if len(positional) > len(waiting) and not (waiting and waiting[-1].takes_rest):
            count = len(self.parameters)
            takes = f"takes {count} argument{'' if count == 1 else 's'}"
            raise Fault(f"macro '{self.name}' {takes}, got more: {positional[len(waiting)][0]}")
        return {
            each.name: self._or_default(each, values.get(each.name, "")) for each in self.parameters
        }

    def _or_default(self, parameter: Parameter, value: str) -> str:
        if not value and parameter.is_required:
            raise Fault(f"macro '{self.name}' needs the argument '{parameter.name}'")
        return value or parameter.default


def parse_header(text: str) -> tuple[str, tuple[Parameter, ...]]:
    """Name and parameters from what follows `.macro`. Raises `Fault`."""
    match = re.match(rf"({_NAME})\s*,?\s*", text)
    if match is None:
        raise Fault(".macro needs a name", 0, max(len(text), 1))
    name, place = match[1], match.end()
    parameters: list[Parameter] = []
    while place < len(text):
        parameter = _PARAMETER.match(text, place)
        if parameter is None:
            raise Fault("expected the name of a parameter", place, len(text))
        place = parameter.end()
        default = ""
        if parameter[0].rstrip().endswith("="):
            default, place = _default(text, place)
        if any(parameter[1] == earlier.name for earlier in parameters):
            raise Fault(f"parameter '{parameter[1]}' is there twice", *parameter.span(1))
        parameters.append(
            Parameter(parameter[1], default, parameter[2] == "req", parameter[2] == "vararg")
        )
        place += len(text[place:]) - len(text[place:].lstrip())
    if any(parameter.takes_rest for parameter in parameters[:-1]):
        raise Fault("only the last parameter can be 'vararg'", 0, len(text))
    return name, tuple(parameters)


def _default(text: str, start: int) -> tuple[str, int]:
    """The default value that starts at `start`, and where it ends."""
    for argument, _, end in _arguments(text[start:]):
        return unquoted(argument), start + end
    return "", start


def split_arguments(text: str) -> list[str]:
    """The arguments of a call: separated by commas or blanks, which quotes and parentheses hide.

    Blanks beside an operator do not separate: `a + b` is one argument.
    """
    return [argument for argument, _, _ in _arguments(text)]


def _arguments(text: str) -> Iterator[tuple[str, int, int]]:
    """Each argument with its first and last column; empty ones between commas too."""
    place, length = 0, len(text)
    expects_more = False
    while True:
        while place < length and text[place].isspace():
            place += 1
        start = place
        place = _end_of_argument(text, place)
        argument = text[start:place].strip()
        if argument or expects_more or (place < length and text[place] == ","):
            yield argument, start, place
        rest = place + len(text[place:]) - len(text[place:].lstrip())
        expects_more = rest < length and text[rest] == ","
        place = rest + expects_more
        if place >= length:
            if expects_more:
                yield "", place, place
            return


_BEFORE_OPERAND = "+-*/%|&^<>=~!("
_OPERATORS = "+-*/%|&^<>=!"


def _end_of_argument(text: str, place: int) -> int:
    """Where the argument that starts at `place` ends."""
    depth = 0
    while place < len(text):
        char = text[place]
        if char == '"':
            place = _end_of_string(text, place)
            continue
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif depth <= 0 and (char == "," or (char.isspace() and _separates(text, place))):
            break
        place += 1
    return place


def _separates(text: str, blank: int) -> bool:
    """Whether the blank at that column ends an argument, rather than stands beside an operator."""
    before, after = text[:blank].rstrip(), text[blank:].lstrip()
    if not after or after[0] == ",":
        return True
    if before[-1:] and before[-1] in _BEFORE_OPERAND:
        # `$m4+= 3`: an operand suffix is no operator.
        return before.endswith(("+=", "++", ">>")) and "$" in before.split()[-1]
    spaced = after[1:2].isspace() or after[:2] in ("<<", ">>", "==", "!=", "&&", "||")
    return not (after[0] in _OPERATORS and spaced)


def _end_of_string(text: str, start: int) -> int:
    place = start + 1
    while place < len(text) and text[place] != '"':
        place += 2 if text[place] == "\\" else 1
    return min(place + 1, len(text))


def unquoted(argument: str) -> str:
    """An argument without the quotes that kept it together."""
    if len(argument) >= 2 and argument[0] == argument[-1] == '"':
        return argument[1:-1]
    return argument


MAX_REPEATS = 1 << 20
"""More in one `.rept` than any tile can hold."""


def iterations(directive: str, operands: str, count: int) -> list[dict[str, str]]:
    """The parameter values of each turn of `.rept` (`count` of them), `.irp` or `.irpc`.

    Raises `Fault` with columns in `operands`.
    """
    if directive == ".rept":
        if not 0 <= count <= MAX_REPEATS:
            raise Fault(f".rept takes 0 to {MAX_REPEATS}, got {count}", 0)
        return [{}] * count
    name, *values = split_arguments(operands) or [""]
    if not re.fullmatch(_NAME, name):
        raise Fault(f"{directive} needs the name of a parameter", 0)
    if directive == ".irpc":
        values = list("".join(map(unquoted, values)))
    return [{name: unquoted(value)} for value in values]


def substitute(
    body: Iterable[Line], values: Mapping[str, str], origin: Origin, number: int
) -> Iterator[Line]:
    """The lines of `body` with `\\name`, `\\@` and `\\()` replaced."""

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return ""
        if match[2]:
            return str(number)
        return _value_of(match[3], values)

    for line in body:
        text = _USE.sub(replace, line.text) if "\\" in line.text else line.text
        is_rewritten = line.is_rewritten or text != line.text
        yield Line(text, line.file, line.number, origin, is_rewritten)


def _value_of(name: str, values: Mapping[str, str]) -> str:
    """The value for `\\name`; `\\name.rest` and `\\name$rest` mean the parameter `name`."""
    if name in values:
        return values[name]
    for place in range(len(name) - 1, 0, -1):
        if name[place] in ".$" and name[:place] in values:
            return values[name[:place]] + name[place:]
    return "\\" + name
