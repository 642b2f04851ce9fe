"""Register names."""

import pytest

from tilewright.isa import RegisterError, parse_register, register_name


@pytest.mark.parametrize("file", ["m", "a"])
@pytest.mark.parametrize("number", range(16))
def test_single_registers(file: str, number: int) -> None:
    assert parse_register(f"${file}{number}") == (file, number, 1)


@pytest.mark.parametrize(
    ("file", "count"), [("m", 2), ("a", 2), ("a", 4), ("a", 8)], ids=lambda each: str(each)
)
def test_groups_start_at_multiples_of_their_size(file: str, count: int) -> None:
    for first in range(17 - count):
        text = register_name(file, first, count)
        if first % count == 0:
            assert parse_register(text) == (file, first, count)
            continue
        with pytest.raises(RegisterError, match=f"must start at a multiple of {count}"):
            parse_register(text)
        rounded = (file, first // count * count, count)
        assert parse_register(text, allow_misaligned=True) == rounded


@pytest.mark.parametrize(
    ("text", "register"),
    [
        ("$bp", ("m", 8, 1)),
        ("$fp", ("m", 9, 1)),
        ("$lr", ("m", 10, 1)),
        ("$sp", ("m", 11, 1)),
        ("$mworker_base", ("m", 12, 1)),
        ("$mvertex_base", ("m", 13, 1)),
        ("$mzero", ("m", 15, 1)),
        ("$azero", ("a", 15, 1)),
        ("$azeros", ("a", 14, 2)),
        ("$ap0", ("a", 0, 2)),
        ("$ap6", ("a", 12, 2)),
        ("$ap7", ("a", 14, 2)),
        ("$ap14", ("a", 14, 2)),
        ("$ap15", ("a", 14, 2)),
    ],
)
def test_aliases(text: str, register: tuple[str, int, int]) -> None:
    assert parse_register(text) == register


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$m16", "no register \\$m16: m registers are \\$m0 to \\$m15"),
        ("$a99", "no register \\$a99: a registers are \\$a0 to \\$a15"),
        ("$a14:16", "no register"),
        ("$m0:3", "there are pairs \\(\\$m0:1\\)"),
        ("$a0:2", "there are pairs .*, quads .* and octads"),
        ("$a1:0", "no register group"),
        ("$a4:4", "no register group"),
        ("$a0:15", "no register group"),
    ],
)
def test_malformed_registers(text: str, message: str) -> None:
    with pytest.raises(RegisterError, match=message):
        parse_register(text)


@pytest.mark.parametrize(
    "text", ["", "m0", "$", "$m", "$b0", "$m00", "$m01", "$m100", "$M0", "$m0:", "$m0 ", "$PC"]
)
def test_other_names_are_no_registers(text: str) -> None:
    assert parse_register(text) is None


def test_canonical_names() -> None:
    names = [register_name("m", 3, 1), register_name("a", 2, 2), register_name("a", 4, 4)]
    assert names == ["$m3", "$a2:3", "$a4:7"]
