"""Arithmetic, comparison, selection and functions, against NumPy with the chip's ways.

Sums and products of halves are exact in double, so NumPy rounds them once. Every instruction runs
on special numbers and on any patterns; wherever registers hold more than its operands, they hold
other numbers.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest

from tilewright.device import Output, run_kernel
from tilewright.elf.assembler import assemble
from tilewright.emulator.faults import FloatFault, OperandFault
from tilewright.isa import FORMS, Form

if TYPE_CHECKING:
    from tests.isa.meaning.conftest import Bench

Lanes = npt.NDArray[Any]
"""Numbers of an operand, float16 or float32, lane 0 first."""
Kind = type[Any]
"""A type of NumPy."""

INV, DIV0, OFLO = 1, 2, 4
NANOO = 1 << 20
SIGNALLING_F16, SIGNALLING_F32 = 0x7C01, 0xFFA00000

SHAPES: dict[str, tuple[Kind, int]] = {
    "f32": (np.float32, 1),
    "f32v2": (np.float32, 2),
    "f16v2": (np.float16, 2),
    "f16v4": (np.float16, 4),
}
WORD: dict[Kind, Kind] = {np.float16: np.uint16, np.float32: np.uint32}
SPECIAL: dict[Kind, list[int]] = {
    np.float16: [
        *(0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3800, 0x3C00, 0xBC00, 0x3C01, 0x7BFF, 0xFBFF),
        *(0x7C00, 0xFC00, 0x7E00, 0xFE01, SIGNALLING_F16),
    ],
    np.float32: [
        *(0, 0x80000000, 1, 0x807FFFFF, 0x800000, 0x800001, 0x3F000000, 0x3F800000, 0xBF800000),
        *(0x3F800001, 0x5F000000, 0x1F800000, 0x7F7FFFFF, 0xFF7FFFFF),
        *(0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, SIGNALLING_F32),
    ],
}


@pytest.fixture(autouse=True)
def _quiet_numpy() -> Any:
    with np.errstate(all="ignore"):
        yield


def numbers(kind: Kind, seed: int, count: int) -> Lanes:
    """Special numbers, any patterns, and numbers near 1."""
    generator = np.random.default_rng(seed)
    word = WORD[kind]
    width = 8 * np.dtype(word).itemsize
    patterns = generator.integers(0, 1 << width, count, dtype=np.uint64)
    special = generator.choice(np.array(SPECIAL[kind], np.uint64), count)
    near = generator.normal(0, 4, count).astype(kind)
    chosen = generator.integers(0, 3, count)
    mixed = np.where(chosen == 0, special, np.where(chosen == 1, patterns, near.view(word)))
    return mixed.astype(word).view(kind)


def flushed(x: Lanes) -> Lanes:
    """What single arithmetic makes of subnormal numbers."""
    if x.dtype != np.float32:
        return x
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


def signalling(x: Lanes) -> npt.NDArray[np.bool_]:
    kind = x.dtype.type
    quiet_bit = WORD[kind](1 << np.finfo(kind).nmant - 1)
    found: npt.NDArray[np.bool_] = np.isnan(x) & (x.view(WORD[kind]) & quiet_bit == 0)
    return found


def canonical(x: Lanes) -> Lanes:
    """The patterns of the numbers, with the chip's NaN for every NaN."""
    kind = x.dtype.type
    nan = 0x7E00 if kind is np.float16 else 0x7FC00000
    return np.where(np.isnan(x), WORD[kind](nan), np.ascontiguousarray(x).view(WORD[kind]))


def halves_from(exact: Lanes, nanoo: bool) -> tuple[Lanes, int]:
    """Doubles as halves; there is no way to an infinity. And the flag."""
    rounded = exact.astype(np.float16)
    instead = np.float16(np.nan) if nanoo else np.copysign(np.float16(65504), rounded)
    over = np.isinf(rounded)
    return np.where(over, instead, rounded), OFLO if over.any() else 0


def arithmetic(
    function: Callable[..., Lanes], operands: list[Lanes], nanoo: bool
) -> tuple[Lanes, int]:
    """Results and flags of a function that IEEE 754 defines."""
    given_nan = np.logical_or.reduce([np.isnan(each) for each in operands])
    invalid = np.logical_or.reduce([signalling(each) for each in operands])
    if operands[0].dtype == np.float16:
        exact = function(*(each.astype(np.float64) for each in operands))
        result, flags = halves_from(exact, nanoo)
        invalid |= np.isnan(exact) & ~given_nan
    else:
        inputs = [flushed(each) for each in operands]
        result = flushed(function(*inputs))
        finite = np.logical_and.reduce([np.isfinite(each) for each in inputs])
        flags = OFLO if (np.isinf(result) & finite).any() else 0
        invalid |= np.isnan(result) & ~given_nan
    return canonical(result), flags | (INV if invalid.any() else 0)


def greater(a: Lanes, b: Lanes) -> Lanes:
    """The larger number: a number rather than a NaN, and +0 rather than -0."""
    a_wins = (a > b) | ((a == b) & ~np.signbit(a)) | np.isnan(b)
    return np.where(np.isnan(a), b, np.where(a_wins, a, b))


def lesser(a: Lanes, b: Lanes) -> Lanes:
    return -greater(-a, -b)


def selection(function: Callable[..., Lanes], operands: list[Lanes]) -> tuple[Lanes, int]:
    invalid = any(signalling(each).any() for each in operands)
    result = function(*(flushed(each) for each in operands))
    return canonical(result), INV if invalid else 0


def comparison(function: Callable[..., Lanes], operands: list[Lanes]) -> tuple[Lanes, int]:
    a, b = (flushed(each) for each in operands)
    word = WORD[a.dtype.type]
    masks = np.where(function(a, b), word(~word(0)), word(0))
    return masks, INV if (np.isnan(a) | np.isnan(b)).any() else 0


ARITHMETIC: dict[str, Callable[..., Lanes]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "absadd": lambda a, b: np.abs(a) + np.abs(b),
}
SELECTIONS: dict[str, Callable[..., Lanes]] = {
    "max": greater,
    "min": lesser,
    "absmax": lambda a, b: greater(np.abs(a), np.abs(b)),
}
COMPARISONS: dict[str, Callable[..., Lanes]] = {
    "cmpeq": np.equal,
    "cmpne": np.not_equal,
    "cmpgt": np.greater,
    "cmpge": np.greater_equal,
    "cmplt": np.less,
    "cmple": np.less_equal,
}
BINARY = [*ARITHMETIC, *SELECTIONS, *COMPARISONS]


def split(mnemonic: str) -> tuple[str, str]:
    """Shape and operation."""
    shape = max((each for each in SHAPES if mnemonic.startswith(each)), key=len, default="")
    return shape, mnemonic.removeprefix(shape)


BINARY_FORMS = [
    form for form in FORMS if split(form.mnemonic)[0] and split(form.mnemonic)[1] in BINARY
]


def load(worker: "Bench", register: int, lanes: Lanes) -> None:
    words = np.ascontiguousarray(lanes).view(np.uint32)
    worker.state["a"][register : register + len(words)] = words


def result_lanes(worker: "Bench", register: int, kind: Kind, count: int) -> Lanes:
    words = worker.state["a"][register : register + -(-count * np.dtype(kind).itemsize // 4)]
    lanes: Lanes = words.copy().view(WORD[kind])
    return lanes[:count]


def group(register: int, words: int) -> str:
    return f"$a{register}" if words == 1 else f"$a{register}:{register + words - 1}"


def broadcast(lanes: Lanes, suffix: str, count: int) -> Lanes:
    """`lanes` of one register, spread."""
    return lanes if not suffix else np.full(count, lanes[1 if suffix == ":BU" else 0])


# -- two operands -----------------------------------------------------------------------------


def test_all_forms_of_two_operands_are_there() -> None:
    without = {form.mnemonic for form in BINARY_FORMS if not form.operands[1].broadcast}
    assert without == {shape + operation for shape in SHAPES for operation in BINARY}
    spread = {(form.mnemonic, form.operands[1].broadcast) for form in BINARY_FORMS} - {
        (mnemonic, "") for mnemonic in without
    }
    suffixes = {"f32v2": [":B"], "f16v2": [":BL", ":BU"], "f16v4": [":BL", ":BU"]}
    assert spread == {
        (shape + operation, suffix)
        for shape, each in suffixes.items()
        for suffix in each
        for operation in ("add", "sub", "mul", *COMPARISONS)
    }


@pytest.mark.parametrize("form", BINARY_FORMS, ids=lambda form: form.name)
def test_two_operands(worker: "Bench", form: Form) -> None:
    shape, operation = split(form.mnemonic)
    kind, count = SHAPES[shape]
    words = count * np.dtype(kind).itemsize // 4
    suffix = form.operands[1].broadcast
    in_first = count // words if suffix else count
    first = f"$a4{suffix}" if suffix else group(4, words)
    text = f"{form.mnemonic} {group(0, words)}, {first}, {group(6, words)}"
    rows = 40
    first_numbers = numbers(kind, 1, rows * in_first).reshape(rows, in_first)
    second_numbers = numbers(kind, 2, rows * count).reshape(rows, count)
    for row, (one, b) in enumerate(zip(first_numbers, second_numbers, strict=True)):
        nanoo = row % 2 == 1
        worker.state["a"] = 0x12345678
        worker.state["float_control"] = NANOO if nanoo else 0
        worker.state["float_status"] = 0
        load(worker, 4, one)
        load(worker, 6, b)
        worker.issue(text)
        a = broadcast(one, suffix, count)
        if operation in ARITHMETIC:
            expected, flags = arithmetic(ARITHMETIC[operation], [a, b], nanoo)
        elif operation in SELECTIONS:
            expected, flags = selection(SELECTIONS[operation], [a, b])
        else:
            expected, flags = comparison(COMPARISONS[operation], [a, b])
        found = result_lanes(worker, 0, kind, count)
        assert found.tolist() == expected.tolist(), (text, a, b)
        assert int(worker.state["float_status"]) == flags, (text, a, b)
        assert worker.a[words:4] == [0x12345678] * (4 - words)


def test_the_upper_lower_and_only_lanes(worker: "Bench") -> None:
    worker.set(
        a4=0x4000_4200, a5=0x3C00_4700, a6=0x3C00_4400, a7=0x0000_4500
    )  # 3, 2; …; 4, 1, 5, 0
    worker.issue("f16v4sub $a0:1, $a4:BL, $a6:7")
    assert worker.a[:2] == [0x4000_BC00, 0x4200_C000]  # -1, 2, -2, 3
    worker.issue("f16v4sub $a0:1, $a4:BU, $a6:7")
    assert worker.a[:2] == [0x3C00_C000, 0x4000_C200]  # -2, 1, -3, 2
    worker.issue("f16v4sub $a0:1, $a5:BU, $a6:7")
    assert worker.a[:2] == [0x0000_C200, 0x3C00_C400]  # -3, 0, -4, 1
    worker.issue("f16v2cmpgt $a0, $a4:BU, $a6")
    assert worker.a[0] == 0xFFFF_0000
    worker.set(a5=0x40A00000, a6=0x3F800000, a7=0x40000000)  # 5; 1, 2
    worker.issue("f32v2sub $a0:1, $a5:B, $a6:7")
    assert worker.a[:2] == [0x40800000, 0x40400000]


def test_operands_are_read_before_the_result_is_written(worker: "Bench") -> None:
    worker.set(a4=0x40000000, a5=0x40400000)
    worker.issue("f32v2mul $a4:5, $a5:B, $a4:5")
    assert worker.a[4:6] == [0x40C00000, 0x41100000]  # 3 * 2, 3 * 3


def test_zero_registers(worker: "Bench") -> None:
    worker.set(a4=0x40000000, a5=0x40400000)
    worker.issue("f32v2add $azeros, $a4:5, $a4:5")
    worker.issue("f32v2sub $a0:1, $azeros, $a4:5")
    assert worker.a[:6] == [0xC0000000, 0xC0400000, 0, 0, 0x40000000, 0x40400000]


# -- clamp ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_clamp(worker: "Bench", shape: str) -> None:
    """Singles take their bounds from a pair, halves from the halves of one register."""
    kind, count = SHAPES[shape]
    words = count * np.dtype(kind).itemsize // 4
    bounds_register = "$a6:7" if kind is np.float32 else "$a6"
    text = f"{shape}clamp {group(0, words)}, {group(4, words)}, {bounds_register}"
    rows = 60
    lanes = numbers(kind, 3, rows * count).reshape(rows, count)
    for a, bounds in zip(lanes, numbers(kind, 4, 2 * rows).reshape(rows, 2), strict=True):
        worker.state["a"][7] = 0x7BFF7BFF
        load(worker, 4, a)
        load(worker, 6, bounds)
        worker.state["float_status"] = 0
        worker.issue(text)
        low, high = (np.full(count, bound) for bound in bounds)
        expected, _ = selection(lambda x, y, z: lesser(greater(x, y), z), [a, low, high])
        invalid = signalling(np.concatenate([a, bounds])).any()
        assert result_lanes(worker, 0, kind, count).tolist() == expected.tolist(), (a, bounds)
        assert int(worker.state["float_status"]) == (INV if invalid else 0)


# -- classes ----------------------------------------------------------------------------------


def class_codes(x: Lanes) -> list[int]:
    """Subnormal numbers stay what they are."""
    negative = np.signbit(x).astype(int)
    subnormal = (np.abs(x) < np.finfo(x.dtype).tiny) & (x != 0)
    codes = np.select(
        [signalling(x), np.isnan(x), np.isinf(x), x == 0, subnormal],
        [1, 2, 4 - negative, 6 - negative, 8 - negative],
        10 - negative,
    )
    return [int(code) for code in codes]


@pytest.mark.parametrize("shape", SHAPES)
def test_class(worker: "Bench", shape: str) -> None:
    """One byte for each lane, whatever the shape."""
    kind, count = SHAPES[shape]
    words = count * np.dtype(kind).itemsize // 4
    seen = set()
    special = np.array(SPECIAL[kind] * 4, WORD[kind]).view(kind)
    for a in np.concatenate([special, numbers(kind, 5, 40 * count)]).reshape(-1, count):
        load(worker, 4, a)
        worker.issue(f"{shape}class $a0, {group(4, words)}")
        codes = class_codes(a)
        seen |= set(codes)
        assert worker.a[0] == int.from_bytes(bytes(codes), "little"), a
    assert seen == set(range(1, 11))
    assert int(worker.state["float_status"]) == 0


@pytest.mark.parametrize(
    ("format_bits", "codes"),
    [
        # 0, smallest, largest subnormal; then smallest normal, largest; NaN, -smallest, -largest
        (0b00, {0x00: 6, 0x01: 8, 0x03: 8, 0x04: 10, 0x07: 10, 0x80: 2, 0x81: 7, 0xFF: 9}),
        (0b01, {0x00: 6, 0x03: 8, 0x04: 10, 0x07: 10, 0x80: 2, 0x83: 7, 0x84: 9, 0xFF: 9}),
        (0b10, {0x00: 6, 0x01: 8, 0x07: 8, 0x08: 10, 0x7F: 10, 0x80: 2, 0x87: 7, 0x88: 9}),
        (0b11, {0x00: 6, 0x04: 8, 0x07: 8, 0x08: 10, 0x78: 10, 0x80: 2, 0x81: 7, 0xFF: 9}),
    ],
)
def test_class_of_quarters(worker: "Bench", format_bits: int, codes: dict[int, int]) -> None:
    """The registers' format counts, not that of the weights."""
    worker.state["number_format"] = format_bits
    for place in (0, 4):
        four = list(codes)[place : place + 4]
        worker.set(a4=int.from_bytes(bytes(four), "little"))
        worker.issue("f8v4class $a0, $a4")
        assert list(worker.a[0].to_bytes(4, "little")) == [codes[each] for each in four]


# -- within a vector --------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 4])
def test_sum(worker: "Bench", count: int) -> None:
    """Neighbours, exactly, rounded once to single."""
    lanes = numbers(np.float16, 6, 400)
    for a in lanes[~np.isinf(lanes)][:320].reshape(-1, count):
        load(worker, 4, a)
        worker.state["float_status"] = 0
        words = count // 2
        worker.issue(f"f16v{count}sum {group(0, words)}, {group(4, words)}")
        exact = a.astype(np.float64)
        expected = canonical((exact[::2] + exact[1::2]).astype(np.float32))
        assert result_lanes(worker, 0, np.float32, words).tolist() == expected.tolist(), a
        assert int(worker.state["float_status"]) == (INV if signalling(a).any() else 0)


def test_sum_keeps_what_a_half_could_not(worker: "Bench") -> None:
    worker.set(a4=0x7BFF_7BFF, a5=0x0001_6400)  # 65504 twice; 1024 and 2**-24
    worker.issue("f16v4sum $a0:1, $a4:5")
    found = worker.state["a"][:2].copy().view(np.float32)
    assert found.tolist() == [131008.0, 1024.0]
    assert int(worker.state["float_status"]) == 0


def test_largest_of_two_and_of_pairs(worker: "Bench") -> None:
    for a in numbers(np.float16, 7, 160).reshape(-1, 4):
        load(worker, 4, a)
        low, high = (int(canonical(greater(a[i : i + 1], a[i + 1 : i + 2]))[0]) for i in (0, 2))
        worker.issue("f16v4maxc $a0, $a4:5")
        assert worker.a[0] == high << 16 | low, a
        worker.issue("f16v2maxc $a0, $a5")
        assert worker.a[0] == high << 16 | high, a


# -- uniform numbers --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "value"), [(0x0000, -0.5), (0x8000, 2.0**-17), (0x7FFF, -(2.0**-17)), (0xFFFF, 0.5)]
)
def test_uniform_of_half_vectors(worker: "Bench", pattern: int, value: float) -> None:
    """-0.49999237 rounds to -0.5."""
    worker.set(a4=pattern << 16 | 0x8000)
    worker.issue("f16v2sufromui $a0, $a4")
    assert worker.state["a"][:1].copy().view(np.float16).tolist() == [2.0**-17, value]


@pytest.mark.parametrize("shape", SHAPES)
def test_uniform(worker: "Bench", shape: str) -> None:
    """(2u + 1 - 2**N) / 2**(N + 1)."""
    kind, count = SHAPES[shape]
    width = 8 * np.dtype(kind).itemsize
    words = count * width // 32
    generator = np.random.default_rng(8)
    middle, end = 1 << width - 1, (1 << width) - 1
    samples = np.concatenate(
        [[0, end, middle, middle - 1], generator.integers(0, end + 1, 156, dtype=np.uint64)]
    ).astype(WORD[kind])
    for u in samples.reshape(-1, count):
        load(worker, 4, u)
        worker.issue(f"{shape}sufromui {group(0, words)}, {group(4, words)}")
        exact = (2 * u.astype(np.float64) + 1 - 2.0**width) / 2.0 ** (width + 1)
        found = result_lanes(worker, 0, kind, count)
        assert found.tolist() == exact.astype(kind).view(WORD[kind]).tolist()


# -- functions of one number ------------------------------------------------------------------


def sigmoid(x: Lanes) -> Lanes:
    return 1 / (1 + np.exp(-x))


FUNCTIONS: dict[str, Callable[[Lanes], Lanes]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "ln": np.log,
    "log2": np.log2,
    "tanh": np.tanh,
    "sigm": sigmoid,
}
SINGLE_FUNCTIONS: dict[str, Callable[[Lanes], Lanes]] = FUNCTIONS | {
    "sqrt": np.sqrt,
    "oox": lambda x: 1 / x,
    "oorx": lambda x: 1 / np.sqrt(x),
}


@pytest.mark.parametrize("name", SINGLE_FUNCTIONS)
def test_functions_of_singles(worker: "Bench", name: str) -> None:
    """Correctly rounded: NumPy's doubles are close enough to tell."""
    generator = np.random.default_rng(9)
    positive = np.abs(generator.normal(0, 8, 40)).astype(np.float32)
    x = positive if name in ("ln", "log2", "sqrt", "oorx") else positive - np.float32(6)
    expected = SINGLE_FUNCTIONS[name](x.astype(np.float64)).astype(np.float32)
    for argument, value in zip(x, expected, strict=True):
        load(worker, 4, np.array([argument]))
        worker.issue(f"f32{name} $a0, $a4")
        assert worker.a[0] == int(value.view(np.uint32)), argument
    assert int(worker.state["float_status"]) == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_halves(worker: "Bench", name: str) -> None:
    generator = np.random.default_rng(10)
    positive = np.abs(generator.normal(0, 4, (40, 2))).astype(np.float16)
    x = positive if name in ("ln", "log2") else positive - np.float16(3)
    expected = FUNCTIONS[name](x.astype(np.float64)).astype(np.float16)
    for arguments, values in zip(x, expected, strict=True):
        load(worker, 4, arguments)
        worker.issue(f"f16v2{name} $a0, $a4")
        found = result_lanes(worker, 0, np.float16, 2)
        assert found.tolist() == values.view(np.uint16).tolist(), arguments
    assert int(worker.state["float_status"]) == 0


INF, NEGATIVE_INF, NAN = 0x7F800000, 0xFF800000, 0x7FC00000


@pytest.mark.parametrize(
    ("name", "argument", "result", "flags"),
    [
        ("oox", 0, INF, DIV0),
        ("oox", 0x80000000, NEGATIVE_INF, DIV0),
        ("oox", 1, INF, DIV0),  # a subnormal number counts as 0
        ("oox", NEGATIVE_INF, 0x80000000, 0),
        ("oorx", 0, INF, DIV0),
        ("oorx", INF, 0, 0),
        ("oorx", 0xBF800000, NAN, INV),
        ("sqrt", 0xBF800000, NAN, INV),
        ("sqrt", 0x80000000, 0x80000000, 0),
        ("ln", 0, NEGATIVE_INF, DIV0),
        ("ln", 0xBF800000, NAN, INV),
        ("log2", 0, NEGATIVE_INF, DIV0),
        ("log2", NEGATIVE_INF, NAN, INV),
        ("exp", 0x43000000, INF, OFLO),
        ("exp2", 0xC3160000, 0, 0),  # 2**-150
        ("exp", NEGATIVE_INF, 0, 0),
        ("tanh", NEGATIVE_INF, 0xBF800000, 0),
        ("sigm", 0x80000000, 0x3F000000, 0),
        ("tanh", SIGNALLING_F32, NAN, INV),
        ("exp", 0xFFC00001, NAN, 0),
    ],
)
def test_functions_at_their_ends(
    worker: "Bench", name: str, argument: int, result: int, flags: int
) -> None:
    worker.issue(f"f32{name} $a0, $a4", a4=argument)
    assert worker.a[0] == result
    assert int(worker.state["float_status"]) == flags


def test_division(worker: "Bench") -> None:
    a, b = numbers(np.float32, 11, 300), numbers(np.float32, 12, 300)
    for one, other in zip(a.reshape(-1, 1), b.reshape(-1, 1), strict=True):
        worker.state["float_status"] = 0
        load(worker, 4, one)
        load(worker, 6, other)
        worker.issue("f32div $a0, $a4, $a6")
        expected, flags = arithmetic(lambda x, y: x / y, [one, other], False)
        if flushed(other)[0] == 0 and np.isfinite(one[0]) and flushed(one)[0] != 0:
            flags = DIV0
        assert worker.a[0] == int(expected[0]), (one, other)
        assert int(worker.state["float_status"]) == flags, (one, other)


# -- to integral values -----------------------------------------------------------------------


def away_from_zero(x: Lanes) -> Lanes:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


ROUNDINGS: list[Callable[[Lanes], Lanes]] = [np.rint, np.ceil, np.floor, np.trunc, away_from_zero]
INTEGRAL = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, -0.3, 0.7, 7.0, -7.9, 8388607.5, 1e30]


@pytest.mark.parametrize("mode", range(5))
def test_rounding_to_integral(worker: "Bench", mode: int) -> None:
    for number in np.array([*INTEGRAL, np.inf, -np.inf], np.float32):
        load(worker, 4, np.array([number]))
        worker.issue(f"f32int $a0, $a4, {mode}")
        expected = ROUNDINGS[mode](np.array(number, np.float64)).astype(np.float32)
        assert worker.a[0] == int(expected.view(np.uint32)), number
    assert int(worker.state["float_status"]) == 0


@pytest.mark.parametrize("mode", range(5, 16))
def test_other_rounding_modes_are_refused(worker: "Bench", mode: int) -> None:
    worker.check_fault(
        OperandFault, f"no rounding direction {mode}", f"f32int $a0, $a4, {mode}", a4=0x3FC00000
    )


# -- flags and exceptions ---------------------------------------------------------------------

ONE, LARGEST = 0x3F800000, 0x7F7FFFFF
RAISING = {
    "f32oox $a0, $a4": (DIV0, {"a4": 0}),
    "f32sub $a0, $a4, $a4": (INV, {"a4": INF}),
    "f32add $a0, $a4, $a4": (OFLO, {"a4": LARGEST}),
    "f16v2mul $a0, $a4, $a4": (OFLO, {"a4": 0x7BFF_3C00}),
    "f32tof16 $a0, $a4": (OFLO, {"a4": LARGEST}),
    "f16v2tof8 $a0, $a4": (OFLO, {"a4": 0x7BFF}),
    "f32toi32 $a0, $a4": (INV, {"a4": LARGEST}),
    "f32cmpeq $a0, $a4, $a5": (INV, {"a4": NAN}),
    "f32mac $a4, $a4": (OFLO, {"a4": LARGEST}),
    "f16v4acc $a4:5": (INV, {"a4": 0x7C00}),
    "f16v2gina $a0, $a4, 0": (OFLO, {"a4": 0}),
    "f16v4hihov4amp $a0:1, $a4:5, $a6:7, 0": (OFLO, {"a4": 0}),
    "f16v4sisoslic $a0:1, $a4:5, $a6:7, 0": (INV, {"a4": 0x7C00}),
}


@pytest.mark.parametrize("text", RAISING)
def test_a_flag_stays_set(worker: "Bench", text: str) -> None:
    flag, registers = RAISING[text]
    worker.state["accumulators"] = LARGEST
    worker.state["float_control"] = (INV | DIV0 | OFLO) & ~flag  # the other exceptions enabled
    worker.issue(text, **registers)
    worker.issue("f32add $a0, $a1, $a1", a1=ONE)
    assert int(worker.state["float_status"]) == flag
    assert worker.a[0] == 0x40000000


@pytest.mark.parametrize("text", RAISING)
def test_an_enabled_exception(worker: "Bench", text: str) -> None:
    """Nothing happens but that the flag is set and the exception raised."""
    flag, registers = RAISING[text]
    worker.state["accumulators"] = LARGEST
    worker.state["random"] = [3, 5]
    worker.state["float_control"] = flag | 1 << 19  # stochastic rounding
    worker.state["float_status"] = 0b111 & ~flag
    worker.set(a0=0x1111, a1=0x2222, **registers)
    before = worker.tile.copy()
    with pytest.raises(FloatFault, match={INV: "INV", DIV0: "DIV0", OFLO: "OFLO"}[flag]):
        worker.issue(text)
    assert int(worker.state["float_status"]) == 0b111
    assert int(worker.state["exception"]) == 5
    worker.state["float_status"] = 0b111 & ~flag
    worker.state["exception"] = 0
    worker.state["pc"] = 0
    assert worker.tile == before


def test_an_exception_stops_both_halves_of_a_bundle(worker: "Bench") -> None:
    worker.state["float_control"] = DIV0
    worker.set(m0=0x4D000, m1=7, a4=0, a5=0x2222)
    with pytest.raises(FloatFault):
        worker.issue("{ ld32step $a0, $mzero, $m0+=, 1 ; f32oox $a5, $a4 }")
    assert worker.m[0] == 0x4D000
    assert worker.a == [0, 0, 0, 0, 0, 0x2222, 0, 0]


def test_flags_gather_and_are_cleared_one_by_one(worker: "Bench") -> None:
    worker.issue("f32oox $a0, $a4", a4=0)
    worker.issue("f32add $a0, $a4, $a4", a4=LARGEST)
    worker.issue("f32sub $a0, $a4, $a4", a4=INF)
    worker.issue("uget $a1, $FP_STS")
    assert worker.a[1] == 0b111
    worker.issue("uput $FP_CLR, $a4", a4=DIV0 | OFLO)
    worker.issue("uget $a1, $FP_STS")
    assert worker.a[1] == INV


def test_integer_work_and_moves_raise_nothing(worker: "Bench") -> None:
    worker.state["float_control"] = 0b111
    worker.issue("or $a0, $a4, $azero", a4=SIGNALLING_F32)
    worker.issue("f32class $a1, $a4")
    assert worker.a[:2] == [SIGNALLING_F32, 1]
    assert int(worker.state["float_status"]) == 0


# -- at launch --------------------------------------------------------------------------------

LAUNCH = """
  .section .text.launched, "ax"
  .globl launched
  .supervisor
  .align 8
launched:
  put     $FP_ICTL, $m3
  put     $FP_INFMT, $m4
  put     $FP_ISCL, $m5
  setzi   $m6, worker
  runall  $m6, $m2, 4
  sync    2
  put     $FP_ICTL, $mzero
  put     $FP_INFMT, $mzero
  put     $FP_ISCL, $mzero
  add     $m2, $m2, 96
  runall  $m6, $m2, 4
  sync    2
  br      $lr
  .worker
  .align 8
worker:
  uget    $a0, $FP_CTL
  uget    $a1, $FP_NFMT
  uget    $a2, $FP_SCL
  uget    $a3, $FP_STS
  st32    $a0, $mvertex_base, $mzero, 0
  st32    $a1, $mvertex_base, $mzero, 1
  st32    $a2, $mvertex_base, $mzero, 2
  st32    $a3, $mvertex_base, $mzero, 3
  uput    $FP_CTL, $azero
  setzi   $a4, 3
  uput    $FP_SCL, $a4
  f32oox  $a5, $azero
  exitz   $mzero
"""
"""Two launches of six workers that each store what they find, and then change it."""


def launched(control: int, formats: int, scale: int) -> Lanes:
    """FP_CTL, FP_NFMT, FP_SCL and FP_STS as each worker finds them at each launch."""
    inputs: list[Output | int] = [Output((2, 6, 4), np.uint32), control, formats, scale]
    found = run_kernel([assemble(LAUNCH)], "launched", inputs).arrays[0]
    assert found is not None
    return found


def test_a_launch_copies_control_formats_and_scale_and_clears_flags() -> None:
    first, second = launched(0x1D0005, 2, 0x3D)
    assert first.tolist() == [[0x1D0005, 2, 0x3D, 0]] * 6
    assert second.tolist() == [[0, 0, 0, 0]] * 6


def test_bits_that_do_not_exist_are_not_copied() -> None:
    """Kernels write a whole byte of metadata to the scale, with the format in its top bit."""
    first, _ = launched(0xFFFFFFFF, 0xFF, 0xFD)
    assert first.tolist() == [[0x1F0007, 3, 0x3D, 0]] * 6
