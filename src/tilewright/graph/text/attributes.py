"""Reading types, and an operator's attributes as its class annotates them."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from enum import Enum
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from tilewright.graph.faults import GraphError
from tilewright.graph.operator import Operator
from tilewright.graph.text.lexer import TokenReader, fault_at
from tilewright.graph.types import DType, NumberFormat, ValueType
from tilewright.graph.values import Location

_DTYPES = {dtype.value: dtype for dtype in DType}


def read_type(reader: TokenReader) -> ValueType:
    """`f16[2, 3]`."""
    location = reader.location
    format = read_format(reader)
    shape = reader.bracketed(lambda: reader.integer("an extent"))
    try:
        return ValueType(format, tuple(shape))
    except GraphError as fault:
        raise fault_at(location, str(fault)) from None


def read_format(reader: TokenReader) -> NumberFormat:
    """`f16`, or with a scale `f8f143*2^-4`."""
    location = reader.location
    if not reader.is_at(*_DTYPES):
        reader.fail(f"a number format ({', '.join(_DTYPES)})")
    dtype = _DTYPES[reader.take("word", "a number format").text]
    scale = 0
    if reader.accept("*"):
        if reader.integer("the base 2 of a scale") != 2:
            raise fault_at(location, "a scale is a power of 2")
        reader.expect("^")
        scale = reader.integer("the exponent of a scale")
    try:
        return NumberFormat(dtype, scale)
    except GraphError as fault:
        raise fault_at(location, str(fault)) from None


def read_attributes(reader: TokenReader, operator: type[Operator]) -> dict[str, Any]:
    """`{name=value, flag}`, or nothing."""
    if not reader.accept("{"):
        return {}
    kinds = {name: kind for name, kind in _kinds(operator).items() if kind is not ValueType}
    attributes: dict[str, Any] = {}
    for name, location, value in reader.several(lambda: _attribute(reader, operator, kinds)):
        if name in attributes:
            raise fault_at(location, f"the attribute {name} comes twice")
        attributes[name] = value
    reader.expect("}")
    return attributes


def make_operator(
    operator: type[Operator],
    attributes: dict[str, Any],
    result: ValueType,
    location: Location,
) -> Operator:
    """The operator; a field that is a `ValueType` is the type of its result."""
    given = dict(attributes)
    kinds = _kinds(operator)
    for field in fields(operator):
        if kinds[field.name] is ValueType:
            given[field.name] = result
        elif field.name not in given and field.default is MISSING:
            raise fault_at(location, f"{operator.mnemonic} needs the attribute {field.name}")
    try:
        return operator(**given)
    except GraphError as fault:
        raise fault_at(location, f"{operator.mnemonic}: {fault}") from None


@cache
def _kinds(operator: type[Operator]) -> dict[str, Any]:
    """The fields as they are annotated."""
    hints = get_type_hints(operator)
    return {field.name: hints[field.name] for field in fields(operator)}


def _attribute(
    reader: TokenReader, operator: type[Operator], kinds: dict[str, Any]
) -> tuple[str, Location, Any]:
    token = reader.take("word", "an attribute")
    if token.text not in kinds:
        known = f"its attributes are {', '.join(kinds)}" if kinds else "it has none"
        raise fault_at(
            token.location, f"{operator.mnemonic} has no attribute {token.text}; {known}"
        )
    kind = kinds[token.text]
    if kind is bool and not reader.is_at("="):
        return token.text, token.location, True
    reader.expect("=")
    return token.text, token.location, _reader_of(reader, kind)()


def _reader_of(reader: TokenReader, kind: Any) -> Callable[[], Any]:
    if kind is bool:
        return lambda: _choice(reader, {"true": True, "false": False})
    if kind is int:
        return lambda: reader.integer("a whole number")
    if kind is float:
        return lambda: float(reader.number("a number"))
    if kind is NumberFormat:
        return lambda: read_format(reader)
    if get_origin(kind) is tuple:
        # Elements are read as they are written: a constant's may be whole or not.
        element = get_args(kind)[0]
        read_one = reader.integer if element is int else reader.number
        return lambda: tuple(reader.bracketed(lambda: read_one("a number")))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda: _choice(reader, {each.value: each for each in kind})
    raise TypeError(f"the text form has no attributes of type {kind}")


def _choice(reader: TokenReader, choices: dict[str, Any]) -> Any:
    if not reader.is_at(*choices):
        reader.fail(" or ".join(choices))
    return choices[reader.take("word", "a word").text]
