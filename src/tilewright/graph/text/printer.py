"""Graphs as text, one operation per line."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, fields
from enum import Enum
from typing import Any

from tilewright.graph.graph import ComputeGraph
from tilewright.graph.operator import Operator
from tilewright.graph.operators import Repeat
from tilewright.graph.structure import Operation
from tilewright.graph.types import ValueType
from tilewright.graph.values import Location, Value, quoted

_INDENT = "  "


def print_graph(graph: ComputeGraph, locations: bool = False) -> str:
    """The text form, which `parse_graph` reads. `locations` adds the user's lines as comments."""
    lines = [f"graph {quoted(graph.name)} {{"]
    for source in graph.sources:
        line = f"{_id(source.value)} = {source.kind.value} {quoted(source.name)}"
        lines.append(_with_place(f"{line} : {source.value.type}", source.location, locations))
    for operation in graph.operations:
        lines.extend(_operation(operation, locations))
    for output in graph.outputs:
        line = f"output {quoted(output.name)} = {_id(output.value)}"
        lines.append(_with_place(line, output.location, locations))
    return "\n".join([lines[0], *(_INDENT + line for line in lines[1:]), "}", ""])


def _operation(operation: Operation, locations: bool) -> Iterator[str]:
    operator = operation.operator
    if isinstance(operator, Repeat):
        yield from _repeat(operation, operator, locations)
        return
    words = [operator.mnemonic]
    if operation.operands:
        words.append(_ids(operation.operands))
    attributes = list(_attributes(operator))
    if attributes:
        words.append(f"{{{', '.join(attributes)}}}")
    yield _with_place(
        f"{_ids(operation.results)} = {' '.join(words)} : {_types(operation.results)}",
        operation.location,
        locations,
    )


def _repeat(operation: Operation, repeat: Repeat, locations: bool) -> Iterator[str]:
    head = f"repeat {repeat.count} : {_types(operation.results)} {{"
    yield _with_place(f"{_ids(operation.results)} = {head}", operation.location, locations)
    for line in (*_arguments(operation, repeat), *_body(repeat, locations)):
        yield _INDENT + line
    yield "}"


def _arguments(operation: Operation, repeat: Repeat) -> Iterator[str]:
    given, arguments = repeat.parts(operation.operands), repeat.arguments
    for word, outside, inside in (
        ("carried", given.carried, arguments.carried),
        ("invariant", given.invariants, arguments.invariants),
    ):
        for outer, argument in zip(outside, inside, strict=True):
            yield f"{word} {_id(argument)} = {_id(outer)} : {_typed(argument)}"
    for values, (argument,) in zip(given.sequences, arguments.sequences, strict=True):
        yield f"sequence {_id(argument)} = [{_ids(values)}] : {_typed(argument)}"


def _body(repeat: Repeat, locations: bool) -> Iterator[str]:
    for operation in repeat.body.operations:
        yield from _operation(operation, locations)
    yield f"yield {_ids(repeat.body.results)}"


def _attributes(operator: Operator) -> Iterator[str]:
    """Fields that do not have their default; a `ValueType` is printed as that of the result."""
    for field in fields(operator):
        value = getattr(operator, field.name)
        if isinstance(value, ValueType) or (
            field.default is not MISSING and value == field.default
        ):
            continue
        yield field.name if value is True else f"{field.name}={_attribute(value)}"


def _attribute(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(map(repr, value))}]"
    if isinstance(value, Enum):
        return str(value.value)
    return repr(value) if isinstance(value, int | float) else str(value)


def _id(value: Value) -> str:
    return f"%{value.id}"


def _ids(values: Iterable[Value]) -> str:
    return ", ".join(map(_id, values))


def _types(values: Sequence[Value]) -> str:
    return ", ".join(map(_typed, values))


def _typed(value: Value) -> str:
    return f"{value.type}  {quoted(value.name)}" if value.name else str(value.type)


def _with_place(line: str, location: Location | None, wanted: bool) -> str:
    if not wanted or location is None:
        return line
    place = str(location)
    return f"{line}  # {place if place.isprintable() else ascii(place)}"
