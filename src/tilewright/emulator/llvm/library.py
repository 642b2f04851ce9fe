"""Support functions of a module: each is emitted once, when it is first called."""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from tilewright.emulator.llvm.lanes import Emitted

Body = Callable[..., Emitted]
"""Takes a builder and the parameters, emits the function and gives its result."""


class Library:
    """The support functions of `module`. Their names say what they do and for which widths."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._functions: dict[str, Any] = {}

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
