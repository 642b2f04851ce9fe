"""The text form read back to a graph."""

from dataclasses import dataclass, field
from difflib import get_close_matches

from tilewright.graph.faults import GraphTextError
from tilewright.graph.graph import ComputeGraph
from tilewright.graph.operator import REGISTRY, Operator
from tilewright.graph.operators import Repeat
from tilewright.graph.structure import Operation, Output, Region, Source, SourceKind
from tilewright.graph.text.attributes import make_operator, read_attributes, read_type
from tilewright.graph.text.lexer import TokenReader, fault_at
from tilewright.graph.types import ValueType
from tilewright.graph.values import Location, Value
from tilewright.graph.verify import find_faults

_SOURCES = {kind.value: kind for kind in SourceKind}

DEEPEST_REPEATS = 50
"""Repeats inside each other, beyond which text is refused."""

_TypeAndName = tuple[ValueType, str]


def parse_graph(text: str, file: str = "<text>") -> ComputeGraph:
    """The graph that `text` tells; operations remember their line and column in `file`.

    Raises `GraphTextError`, which names `file`, line and column: of the first thing that is not in
    the text form, or of all broken rules of the graph.
    """
    reader = TokenReader(text, file)
    start = reader.location
    graph = _Parser(reader).graph()
    faults = find_faults(graph)
    if faults:
        raise GraphTextError(
            "\n".join(f"{each.location or start}: {each.message}" for each in faults)
        )
    return graph


@dataclass(slots=True)
class _Body:
    """What is known of a repeat while its body is read."""

    arguments: list[tuple[str, Value, list[Value]]] = field(default_factory=list)
    """Each with its kind and its operands."""
    operations: list[Operation] = field(default_factory=list)


class _Parser:
    def __init__(self, reader: TokenReader) -> None:
        self._reader = reader
        self._visible: dict[int, Value] = {}
        self._taken: dict[int, Location] = {}
        self._depth = 0

    def graph(self) -> ComputeGraph:
        reader = self._reader
        reader.expect("graph")
        name = reader.string("the name of the graph in quotes")
        sources: list[Source] = []
        operations: list[Operation] = []
        outputs: list[Output] = []
        reader.expect("{")
        while not reader.accept("}"):
            if reader.is_at("output"):
                outputs.append(self._output())
            elif reader.next.kind == "id":
                self._definition(sources, operations)
            else:
                reader.fail("an operation, `output` or `}`")
        if reader.next.kind != "end":
            reader.fail("the end of the text after the graph")
        return ComputeGraph(name, sources, operations, outputs)

    def _output(self) -> Output:
        location = self._reader.location
        self._reader.expect("output")
        name = self._reader.string("the name of the output in quotes")
        self._reader.expect("=")
        return Output(name, self._use(), location)

    def _definition(self, sources: list[Source], operations: list[Operation]) -> None:
        location = self._reader.location
        ids = self._new_ids()
        if self._reader.is_at(*_SOURCES):
            sources.append(self._source(ids, location))
        else:
            operations.append(self._operation(ids, location))

    def _source(self, ids: list[int], location: Location) -> Source:
        kind = _SOURCES[self._reader.take("word", "a kind of input").text]
        name = self._reader.string("its name in quotes")
        self._reader.expect(":")
        (value,) = self._values(ids, [(read_type(self._reader), name)], location)
        return Source(kind, value, location)

    def _operation(self, ids: list[int], location: Location) -> Operation:
        operator = self._mnemonic()
        if issubclass(operator, Repeat):
            return self._repeat(ids, location)
        reader = self._reader
        operands = reader.several(self._use) if reader.next.kind == "id" else []
        attributes = read_attributes(reader, operator)
        results = self._result_types()
        made = make_operator(operator, attributes, results[0][0], location)
        return Operation(made, tuple(operands), self._values(ids, results, location), location)

    def _mnemonic(self) -> type[Operator]:
        token = self._reader.take("word", "an operator")
        if token.text not in REGISTRY:
            close = get_close_matches(token.text, [*REGISTRY, *_SOURCES], 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise fault_at(token.location, f"there is no operator {token.text}{hint}")
        return REGISTRY[token.text]

    # Repeats

    def _repeat(self, ids: list[int], location: Location) -> Operation:
        reader = self._reader
        count = reader.integer("the number of iterations")
        types = self._result_types()
        reader.expect("{")
        self._depth += 1
        if self._depth > DEEPEST_REPEATS:
            raise fault_at(location, f"more than {DEEPEST_REPEATS} repeats inside each other")
        outside, self._visible = self._visible, {}
        body = _Body()
        while reader.is_at(*_ARGUMENTS):
            self._argument(body, outside, count)
        while reader.next.kind == "id":
            operation_location = reader.location
            body.operations.append(self._operation(self._new_ids(), operation_location))
        yielded = self._yield(_count(body, "carried"))
        reader.expect("}")
        self._visible = outside
        self._depth -= 1
        repeat = Repeat(count, _count(body, "invariant"), _region(body, yielded))
        operands = tuple(value for _, _, values in body.arguments for value in values)
        return Operation(repeat, operands, self._values(ids, types, location), location)

    def _yield(self, carried: int) -> list[Value]:
        location = self._reader.location
        if not self._reader.accept("yield"):
            self._reader.fail("an operation or `yield`")
        yielded = self._reader.several(self._use)
        if len(yielded) != carried:
            raise fault_at(location, f"the body carries {carried} values and yields {len(yielded)}")
        return yielded

    def _argument(self, body: _Body, outside: dict[int, Value], count: int) -> None:
        reader = self._reader
        token = reader.take("word", "an argument of the body")
        kinds = [kind for kind, _, _ in body.arguments]
        if kinds and _ARGUMENTS.index(kinds[-1]) > _ARGUMENTS.index(token.text):
            raise fault_at(
                token.location, f"a body's arguments come in this order: {', '.join(_ARGUMENTS)}"
            )
        location = reader.location
        ids = self._new_ids()
        inside, self._visible = self._visible, outside
        given = reader.bracketed(self._use) if token.text == "sequence" else [self._use()]
        self._visible = inside
        if token.text == "sequence" and len(given) != count:
            raise fault_at(location, f"the sequence has {len(given)} values for {count} iterations")
        reader.expect(":")
        (argument,) = self._values(ids, [self._type_and_name()], location)
        body.arguments.append((token.text, argument, given))

    # Values

    def _new_ids(self) -> list[int]:
        """`%1, %2 =`."""
        ids = self._reader.several(self._reader.id)
        self._reader.expect("=")
        return ids

    def _use(self) -> Value:
        location = self._reader.location
        id = self._reader.id()
        if id in self._visible:
            return self._visible[id]
        if id not in self._taken:
            raise fault_at(location, f"%{id} is not defined before")
        raise fault_at(
            location,
            f"%{id} is of another region (line {self._taken[id].line}); a body sees its arguments "
            "and its own operations only",
        )

    def _result_types(self) -> list[_TypeAndName]:
        self._reader.expect(":")
        return self._reader.several(self._type_and_name)

    def _type_and_name(self) -> _TypeAndName:
        type = read_type(self._reader)
        named = self._reader.next.kind == "string"
        return type, self._reader.string("a label") if named else ""

    def _values(
        self, ids: list[int], types: list[_TypeAndName], location: Location
    ) -> tuple[Value, ...]:
        if len(ids) != len(types):
            raise fault_at(location, f"{len(ids)} values are defined with {len(types)} types")
        return tuple(
            self._define(id, type, name, location)
            for id, (type, name) in zip(ids, types, strict=True)
        )

    def _define(self, id: int, type: ValueType, name: str, location: Location) -> Value:
        if id in self._taken:
            raise fault_at(location, f"%{id} is defined already, in line {self._taken[id].line}")
        self._taken[id] = location
        self._visible[id] = Value(id, type, name)
        return self._visible[id]


_ARGUMENTS = ("carried", "invariant", "sequence")


def _count(body: _Body, wanted: str) -> int:
    return sum(kind == wanted for kind, _, _ in body.arguments)


def _region(body: _Body, yielded: list[Value]) -> Region:
    arguments = tuple(argument for _, argument, _ in body.arguments)
    return Region(arguments, tuple(body.operations), tuple(yielded))
