"""The text form: how it reads, and what is said about text that is none."""

import re

import pytest

from tilewright.graph import (
    ComputeGraph,
    DType,
    GraphTextError,
    Location,
    parse_graph,
    print_graph,
)

ENCODER = """\
graph "encoder" {
  %0 = input "x" : f16[2, 5, 8]
  %1 = host_input "tokens" : i32[2]
  %2 = parameter "layer.0.w" : f8f143*2^-4[8, 8]
  %3 = parameter "layer.1.w" : f8f143*2^-4[8, 8]
  %4 = parameter "norm" : f32[8]
  %19 = repeat 2 : f16[2, 5, 8]  "layers" {
    carried %5 = %0 : f16[2, 5, 8]  "x"
    invariant %9 = %1 : i32[2]  "tokens"
    invariant %15 = %4 : f32[8]  "norm"
    sequence %6 = [%2, %3] : f8f143*2^-4[8, 8]  "w"
    %7 = gemm %5, %6 {transpose_b} : f16[2, 5, 8]  "query"
    %8 = split_heads %7 {heads=2} : f16[2, 2, 5, 4]
    %10 = attention %8, %8, %8, %9 {scale=0.5} : f16[2, 2, 5, 4]
    %11 = merge_heads %10 : f16[2, 5, 8]
    %12 = constant {values=[2.0]} : f16[]
    %13 = mul %11, %12 : f16[2, 5, 8]
    %14 = add %5, %13 : f16[2, 5, 8]
    %16 = layer_norm %14, %15 {epsilon=1e-12} : f16[2, 5, 8]
    %17 = transpose %16 {order=[0, 1, 2]} : f16[2, 5, 8]
    %18 = cast %17 {to=f16} : f16[2, 5, 8]
    yield %18
  }
  %20 = reduce %19 {kind=max, axes=2, keep} : f16[2, 1, 1]  "the \\"greatest\\""
  output "y" = %20
}
"""


def _encoder() -> ComputeGraph:
    graph = ComputeGraph("encoder")
    x = graph.input("x", (2, 5, 8))
    tokens = graph.host_input("tokens", (2,), DType.I32)
    f8 = DType.F8F143.scaled(-4)
    weights = [graph.parameter(f"layer.{i}.w", (8, 8), f8) for i in range(2)]
    norm = graph.parameter("norm", (8,), DType.F32)
    with graph.repeat(2, "layers") as layer:
        h = layer.carry(x)
        query = graph.gemm(h, layer.each(weights, "w"), transpose_b=True, name="query")
        q = graph.split_heads(query, 2)
        h = h + graph.merge_heads(graph.attention(q, q, q, key_counts=tokens)) * 2
        h = graph.transpose(graph.layer_norm(h, norm, epsilon=1e-12), (0, 1, 2))
        layer.yields(h.cast(DType.F16))
    graph.output("y", graph.reduce_max(layer.result, 2, keep=True, name='the "greatest"'))
    return graph


def test_how_a_graph_prints() -> None:
    assert print_graph(_encoder()) == ENCODER
    assert str(_encoder()) == ENCODER


def test_how_it_reads() -> None:
    assert parse_graph(ENCODER) == _encoder()


def test_layout_is_free_and_comments_are_skipped() -> None:
    squeezed = re.sub(r"\s*\n\s*", " ", ENCODER)
    assert parse_graph(squeezed) == _encoder()
    spread = ENCODER.replace(", ", " # a comment\n  ,\t").replace("\n", "\r\n")
    assert parse_graph(spread) == _encoder()


def test_attributes_may_state_their_defaults() -> None:
    stated = ENCODER.replace("{transpose_b}", "{transpose_b=true, transpose_a=false}")
    assert parse_graph(stated) == _encoder()


def test_what_is_read_knows_its_place_and_can_grow() -> None:
    graph = parse_graph(ENCODER, "encoder.graph")
    repeat, reduce = graph.operations
    assert repeat.location == Location("encoder.graph", 7, 3)
    assert reduce.location == Location("encoder.graph", 24, 3)
    grown = graph.relu(graph.tensor(reduce.result))
    assert grown.value.id == 21


def test_users_lines_as_comments() -> None:
    text = print_graph(_encoder(), locations=True)
    (line,) = [line for line in text.splitlines() if " gemm " in line]
    assert re.fullmatch(rf'    %7 = gemm .* "query"  # {re.escape(__file__)}:\d+', line)
    assert parse_graph(text) == _encoder()


def test_several_results() -> None:
    graph = ComputeGraph("swap")
    x, y = graph.input("x", ()), graph.input("y", (2,))
    with graph.repeat(3) as body:
        a, b = body.carry(x), body.carry(y)
        body.yields(a, b)
    graph.output("z", body.results[1])
    assert '  %4, %5 = repeat 3 : f16[]  "x", f16[2]  "y" {' in str(graph).splitlines()
    assert parse_graph(str(graph)) == graph


def _text(*lines: str) -> str:
    return "\n".join(['graph "g" {', '%0 = input "x" : f16[2, 3]', *lines, 'output "y" = %0', "}"])


SYNTAX = [
    ("", "1:1: expected `graph`, found the end of the text"),
    ("graph {", "1:7: expected the name of the graph in quotes, found {"),
    ('graph "g" {', "1:12: expected an operation, `output` or `}`, found the end of the text"),
    (_text() + " more", "4:3: expected the end of the text after the graph, found more"),
    (_text("%1 = relu %0 : f16[2, 3] ;"), "3:26: found ';', which is no part of a graph"),
    (_text('%1 = relu %0 : f16[2, 3] "open'), "3:26: found a string that does not end"),
    (_text(r'%1 = relu %0 : f16[2, 3] "\q"'), r'3:26: "\q" is not a string: '),
    (_text("%1 = rleu %0 : f16[2, 3]"), "3:6: there is no operator rleu; did you mean relu?"),
    (_text('%1 = inptu "z" : f16[]'), "3:6: there is no operator inptu; did you mean input?"),
    (_text("%1 = relu %0"), "4:1: expected `:`, found output"),
    (_text("%1 = relu %0, : f16[2, 3]"), "3:15: expected a value such as %3, found :"),
    (_text("%1 = relu %0 : f17[2, 3]"), "3:16: expected a number format (f8f143, f16, f32, i32)"),
    (_text("%1 = relu %0 : f16*2^3[2, 3]"), "3:16: F16 has no scale, found 3"),
    (_text("%1 = relu %0 : f8f143*3^1[2]"), "3:16: a scale is a power of 2"),
    (_text("%1 = relu %0 : f8f143*2^99[2]"), "3:16: the scale of an F8F143 tensor is -32 to 31"),
    (_text("%1 = relu %0 : f16[2, 0]"), "3:16: each extent of a shape is at least 1"),
    (_text("%1 = relu %0 : f16[2, 1.5]"), "3:23: expected a whole number, found 1.5"),
    (_text(f"%1 = relu %0 : f16[{'9' * 5000}]"), "3:20: a number of 5000 digits is too long"),
    (_text(f"%1 = relu %0 : f16[{2**32}, {2**31}]"), f"3:16: a shape has at most {2**63 - 1} elem"),
    (_text("%1 = relu %0 {fast} : f16[2, 3]"), "3:15: relu has no attribute fast; it has none"),
    (
        _text("%1 = gemm %0, %0 {transpose} : f16[2, 2]"),
        "3:19: gemm has no attribute transpose; its attributes are transpose_a, transpose_b",
    ),
    (
        _text("%1 = gemm %0, %0 {transpose_b, transpose_b} : f16[2, 2]"),
        "3:32: the attribute transpose_b comes twice",
    ),
    (_text("%1 = gemm %0, %0 {transpose_b=2} : f16[]"), "3:31: expected true or false, found 2"),
    (_text("%1 = reduce %0 {kind=min} : f16[2]"), "3:22: expected sum or mean or max, found min"),
    (_text("%1 = reduce %0 {axes=1} : f16[2]"), "3:1: reduce needs the attribute kind"),
    (_text("%1 = constant {values=[0.5]} : i32[]"), "3:1: constant: 0.5 is not an I32"),
]

VALUES = [
    (_text("%1 = relu %2 : f16[2, 3]"), "3:11: %2 is not defined before"),
    (_text("%1 = relu %1 : f16[2, 3]"), "3:11: %1 is not defined before"),
    (_text("%0 = relu %0 : f16[2, 3]"), "3:1: %0 is defined already, in line 2"),
    (_text("%1, %2 = relu %0 : f16[2, 3]"), "3:1: 2 values are defined with 1 types"),
    (_text('%1, %2 = input "z" : f16[]'), "3:1: 2 values are defined with 1 types"),
]


def _repeat(*lines: str, head: str = "%9 = repeat 2 : f16[2, 3] {") -> str:
    return _text(head, *lines, "}")


CARRIED = "carried %1 = %0 : f16[2, 3]"

REPEATS = [
    (
        _repeat(CARRIED, "%2 = relu %0 : f16[2, 3]", "yield %2"),
        "5:11: %0 is of another region (line 2)",
    ),
    (_repeat(CARRIED, "yield %0"), "5:7: %0 is of another region"),
    (_repeat(CARRIED, "yield %1") + "%1 = ", "8:2: expected the end of the text"),
    (_repeat(CARRIED, "yield %1, %1"), "5:1: the body carries 1 values and yields 2"),
    (_repeat(CARRIED), "5:1: expected an operation or `yield`, found }"),
    (
        _repeat("invariant %2 = %0 : f16[2, 3]", CARRIED, "yield %1"),
        "5:1: a body's arguments come in this order",
    ),
    (
        _repeat(CARRIED, "sequence %2 = [%0] : f16[2, 3]", "yield %1"),
        "5:10: the sequence has 1 values for 2 iterations",
    ),
    (_repeat("carried %1 = %5 : f16[2, 3]", "yield %1"), "4:14: %5 is not defined before"),
    (_repeat("carried %0 = %0 : f16[2, 3]", "yield %0"), "4:9: %0 is defined already, in line 2"),
    (
        _repeat(CARRIED, "yield %1", head="%9 = repeat %0 : f16[2, 3] {"),
        "3:13: expected the number of iterations, found %0",
    ),
]


@pytest.mark.parametrize(("text", "message"), [*SYNTAX, *VALUES, *REPEATS])
def test_faults_name_line_and_column(text: str, message: str) -> None:
    with pytest.raises(GraphTextError) as caught:
        parse_graph(text, "g.graph")
    assert str(caught.value).startswith(f"g.graph:{message}")


def test_all_broken_rules_are_told_together() -> None:
    text = "\n".join(
        [
            'graph "g" {',
            '  %0 = input "x" : f16[2, 3]',
            '  %1 = input "x" : f16[3, 2]',
            "  %2 = gemm %0, %1 : f16[2, 3]",
            "  %3 = gemm %0, %0 : f16[2, 3]",
            "}",
        ]
    )
    with pytest.raises(GraphTextError) as caught:
        parse_graph(text, "g.graph")
    assert str(caught.value).splitlines() == [
        'g.graph:3:3: there is a second input or parameter "x"',
        "g.graph:4:3: gemm gives f16[2, 2]; its results are %2 f16[2, 3]",
        "g.graph:5:3: gemm: the inner extents differ: a is 2×3, b is 2×3",
        '    a = %0 "x" f16[2, 3]',
        '    b = %0 "x" f16[2, 3]',
        "g.graph:1:1: the graph has no outputs",
    ]


def test_repeats_inside_each_other_are_limited() -> None:
    depth = 2000
    text = 'graph "g" { %0 = input "x" : f16[]\n' + "".join(
        f"%{10_000 + i} = repeat 1 : f16[] {{ carried %{i + 1} = %{i} : f16[]\n"
        for i in range(depth)
    )
    with pytest.raises(GraphTextError, match=r"^<text>:52:1: more than 50 repeats inside each"):
        parse_graph(text)


def test_names_of_any_characters() -> None:
    graph = ComputeGraph('"\\\n\t\x00é✓\u2028\ud800')
    graph.output("%0 }", graph.relu(graph.input("#", (1,)), name="# no comment"))
    assert parse_graph(str(graph)) == graph
    str(graph).encode()  # lone surrogates are escaped
