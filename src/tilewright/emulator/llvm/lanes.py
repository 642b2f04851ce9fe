"""Vectors of lanes in LLVM IR: bit vectors of the machine, taken apart and put together.

A value of the machine is an integer as wide as its bits. Arithmetic on lanes casts it to a vector,
which costs nothing, and back.
"""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

Emitted = Any
"""An `ir.Value`; llvmlite has no types."""

BIT, BYTE, HALF_WORD = ir.IntType(1), ir.IntType(8), ir.IntType(16)
WORD, LONG = ir.IntType(32), ir.IntType(64)
HALF, SINGLE, DOUBLE = ir.HalfType(), ir.FloatType(), ir.DoubleType()
POINTER = ir.PointerType()


def vector(element: Any, lanes: int) -> Any:
    """The type of a vector."""
    return ir.VectorType(element, lanes)


def splat(element: Any, lanes: int, number: float) -> Emitted:
    """A vector with the same constant in all lanes."""
    if isinstance(element, ir.IntType):
        number = int(number) & ((1 << element.width) - 1)
    return ir.Constant(vector(element, lanes), [number] * lanes)


def like(other: Emitted, number: float) -> Emitted:
    """A constant of the type of `other`, the same in all lanes."""
    if isinstance(other.type, ir.VectorType):
        return splat(other.type.element, other.type.count, number)
    return ir.Constant(other.type, int(number) & ((1 << other.type.width) - 1))


def spread(builder: ir.IRBuilder, scalar: Emitted, lanes: int) -> Emitted:
    """A vector with the same value in all lanes."""
    kind = vector(scalar.type, lanes)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), scalar, WORD(0))
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), splat(WORD, lanes, 0))


def pick(builder: ir.IRBuilder, source: Emitted, places: Sequence[int]) -> Emitted:
    """The lanes of a vector at `places`."""
    undefined = ir.Constant(source.type, ir.Undefined)
    mask = ir.Constant(vector(WORD, len(places)), list(places))
    return builder.shuffle_vector(source, undefined, mask)


def gather(builder: ir.IRBuilder, scalars: Sequence[Emitted]) -> Emitted:
    """A vector of scalars of one type."""
    kind = vector(scalars[0].type, len(scalars))
    result = ir.Constant(kind, ir.Undefined)
    for place, scalar in enumerate(scalars):
        result = builder.insert_element(result, scalar, WORD(place))
    return result


def unpacked(builder: ir.IRBuilder, value: Emitted, width: int) -> Emitted:
    """An integer as a vector of integer lanes of `width` bits, lowest first."""
    lanes = value.type.width // width
    return builder.bitcast(value, vector(ir.IntType(width), lanes))


def packed(builder: ir.IRBuilder, lanes: Emitted) -> Emitted:
    """A vector of integers as one integer."""
    return builder.bitcast(lanes, ir.IntType(lanes.type.count * lanes.type.element.width))


def any_lane(builder: ir.IRBuilder, conditions: Emitted) -> Emitted:
    """Whether a vector of bits has one that is set."""
    bits = builder.bitcast(conditions, ir.IntType(conditions.type.count))
    return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))


def intrinsic(
    builder: ir.IRBuilder, name: str, result: Any, arguments: Sequence[Emitted]
) -> Emitted:
    """Call an intrinsic of LLVM by its full name."""
    module = builder.module
    function = module.globals.get(name)
    if function is None:
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        function = ir.Function(module, kind, name=name)
    return builder.call(function, list(arguments))


def suffix(kind: Any) -> str:
    """How the names of intrinsics call a type: `v4f32`."""
    names = {"half": "f16", "float": "f32", "double": "f64"}
    if isinstance(kind, ir.VectorType):
        return f"v{kind.count}{suffix(kind.element)}"
    return names.get(str(kind), str(kind))


def same_type_intrinsic(builder: ir.IRBuilder, name: str, *arguments: Emitted) -> Emitted:
    """Call an intrinsic whose operands and result have one type: `llvm.fma` and the like."""
    kind = arguments[0].type
    return intrinsic(builder, f"llvm.{name}.{suffix(kind)}", kind, arguments)
