"""Support functions of a module: each is emitted once, when it is first called."""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from tilewright.emulator.llvm.lanes import Emitted

_INLINED_USES = 24

Body = Callable[..., Emitted]
"""Takes a builder and the parameters, emits the function and gives its result."""


class Library:
    """The support functions of `module`. Their names say what they do and for which widths."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._functions: dict[str, Any] = {}
        self._inlined = 0

    def call(
        self,
        builder: ir.IRBuilder,
        name: str,
        body: Body,
        result: Any,
        arguments: Sequence[Emitted],
        attributes: Sequence[str] = (),
    ) -> Emitted:
        """Call the function `name`, whose result has the type `result`."""
        function = self._functions.get(name)
        if function is None:
            kinds = [argument.type for argument in arguments]
            function = self._define(name, body, result, kinds, attributes)
        return builder.call(function, list(arguments))

    def inlines(self, in_repeat: bool) -> bool:
        """Whether one more use of a long function shall be inlined.

        In repeats, where time is spent, and in a few other places: compiling takes long enough.
        """
        self._inlined += 1
        return in_repeat or self._inlined <= _INLINED_USES

    def _define(
        self, name: str, body: Body, result: Any, kinds: list[Any], attributes: Sequence[str]
    ) -> Any:
        function = ir.Function(self._module, ir.FunctionType(result, kinds), name=name)
        function.linkage = "internal"
        function.attributes.add("nounwind")
        for attribute in attributes:
            function.attributes.add(attribute)
        self._functions[name] = function
        inner = ir.IRBuilder(function.append_basic_block())
        inner.ret(body(inner, *function.args))
        return function


def unlikely(
    builder: ir.IRBuilder,
    condition: Emitted,
    usual: Sequence[Emitted],
    otherwise: Callable[[], Emitted],
) -> Emitted:
    """The result structure of patterns and their flags, `usual`; or, if an unlikely condition
    holds, the structure that `otherwise` emits."""
    origin = builder.block
    with builder.if_then(condition, likely=False):
        other = otherwise()
        parts = [builder.extract_value(other, place) for place in range(len(usual))]
        other_block = builder.block
    # Values are merged and not the structure, which LLVM would take long to take apart.
    merged = []
    for quick, slow in zip(usual, parts, strict=True):
        phi = builder.phi(quick.type)
        phi.add_incoming(quick, origin)
        phi.add_incoming(slow, other_block)
        merged.append(phi)
    whole = ir.Constant(other.type, ir.Undefined)
    for place, part in enumerate(merged):
        whole = builder.insert_value(whole, part, place)
    return whole
