"""AMP: C + A · B of small integers, step by step as kernels do it, equal to NumPy's."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest

from tilewright.device import run_kernel
from tilewright.emulator.faults import OperandFault
from tilewright.emulator.kernel import Operand
from tilewright.target.flags import ASSUMED_FLAGS

if TYPE_CHECKING:
    from tests.isa.meaning.conftest import Bench

Array = npt.NDArray[Any]

INV, OFLO = 1, 4
NANOO = 1 << 20
DONT_CARE = 99
"""A partial sum that must not count."""


@dataclass(frozen=True)
class Form:
    """A form of the instruction: `partial` and `result` are formats, `sets` are those in use."""

    mnemonic: str
    family: str
    sets: int
    partial: type[Any]
    result: type[Any]

    @property
    def lanes(self) -> int:
        """Inputs of one step."""
        return {"F16V4": 4, "F8V8": 8, "F32": 1}[self.family]

    @property
    def entry_inputs(self) -> int:
        """Inputs whose weights share an entry of the weight store."""
        return {"F16V4": 4, "F8V8": 8, "F32": 2}[self.family]

    def phases(self, engines: int) -> int:
        return 2 * engines if self.family == "F32" else engines

    def channels(self, engines: int) -> int:
        return 2 * engines * self.sets

    def inputs(self, engines: int) -> int:
        return self.lanes * self.phases(engines)

    def exchanged(self, phase: int) -> slice:
        """The channels whose partial sums come in, and whose results go out, in a step."""
        if self.family == "F32" and self.sets == 1:
            return slice(phase, phase + (0 if phase % 2 else 2))
        width = 2 if self.family == "F32" else 2 * self.sets
        return slice(width * phase, width * (phase + 1))

    def text(self, engines: int, phase: int) -> str:
        return self.text_with(ASSUMED_FLAGS[f"TAMP_{self.family}_E{engines}_P{phase}"])

    def text_with(self, flags: int) -> str:
        values: dict[type[Any], int] = {np.float16: 2 * self.sets, np.float32: 2}
        words = {kind: count * np.dtype(kind).itemsize // 4 for kind, count in values.items()}
        destination = "$a0:1" if words[self.result] == 2 else "$a0"
        x = "$a2" if self.family == "F32" else "$a2:3"
        partial = "$a4:5" if words[self.partial] == 2 else "$a4"
        return f"{self.mnemonic} {destination}, {x}, {partial}, {flags}"


HIHO = Form("f16v4hihoamp", "F16V4", 1, np.float16, np.float16)
SIHO = Form("f16v4sihoamp", "F16V4", 1, np.float32, np.float16)
SISO = Form("f16v4sisoamp", "F16V4", 1, np.float32, np.float32)
HIHO_V4 = Form("f16v4hihov4amp", "F16V4", 2, np.float16, np.float16)
QUARTER = Form("f8v8hihov4amp", "F8V8", 2, np.float16, np.float16)
SINGLE = Form("f32sisoamp", "F32", 1, np.float32, np.float32)
SINGLE_V2 = Form("f32sisov2amp", "F32", 2, np.float32, np.float32)
FORMS = [HIHO, SIHO, SISO, HIHO_V4, QUARTER, SINGLE, SINGLE_V2]

each_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: form.mnemonic)
each_engine = pytest.mark.parametrize("engines", [1, 2, 4])


def accumulators(worker: "Bench") -> Array:
    words: Array = worker.state["accumulators"]
    return words.view(np.float32)


def quarter_value(code: int, is_f143: bool) -> float:
    fraction_bits, bias = (3, 8) if is_f143 else (2, 16)
    exponent, fraction = (code & 0x7F) >> fraction_bits, code & ((1 << fraction_bits) - 1)
    share = fraction / (1 << fraction_bits)
    magnitude = (1 + share) * 2.0 ** (exponent - bias) if exponent else share * 2.0 ** (1 - bias)
    return -magnitude if code & 0x80 else magnitude


@cache
def quarter_codes(is_f143: bool) -> dict[float, int]:
    return {quarter_value(code, is_f143): code for code in range(256) if code != 0x80}


def quarters(values: Array, is_f143: bool) -> Array:
    """Codes of numbers that have one."""
    codes = quarter_codes(is_f143)
    flat = [codes[float(value)] for value in values.reshape(-1)]
    return np.array(flat, np.uint8).reshape(values.shape)


def integers(seed: int, *shape: int, limit: int = 4) -> Array:
    return np.random.default_rng(seed).integers(-limit, limit + 1, shape).astype(np.float64)


def row_of_units(form: Form, channel: int) -> int:
    """The unit that serves a channel, so that results leave in order; 8 and up are of set 1."""
    if form.sets == 1:
        return channel
    return 2 * (channel >> 2) + (channel & 1) + 8 * (channel >> 1 & 1)


def set_weights(worker: "Bench", form: Form, b: Array, is_f143: bool = False) -> None:
    """Weights [input, channel] into the store."""
    inputs, channels = b.shape
    kind = {"F16V4": np.float16, "F8V8": np.uint8, "F32": np.float32}[form.family]
    stored = quarters(b, is_f143) if kind is np.uint8 else b.astype(kind)
    entries = np.zeros((64, form.entry_inputs), kind)
    for channel in range(channels):
        for k in range(inputs):
            entry = 4 * row_of_units(form, channel) + k // form.entry_inputs
            entries[entry, k % form.entry_inputs] = stored[k, channel]
    worker.tile["weights"] = entries.view(np.uint64)[:, 0]


def load(worker: "Bench", register: int, lanes: Array) -> None:
    words = np.ascontiguousarray(lanes).view(np.uint32)
    worker.state["a"][register : register + len(words)] = words


def step(worker: "Bench", form: Form, engines: int, phase: int, x: Array, partial: Array) -> Array:
    """One instruction; gives its result."""
    load(worker, 2, x)
    load(worker, 4, partial.astype(form.partial))
    worker.issue(form.text(engines, phase))
    words: Array = worker.state["a"][:2].copy()
    results: Array = words.view(form.result)
    return results[: form.exchanged(0).stop]


def inputs_of(form: Form, a: Array, is_f143: bool) -> Array:
    if form.family == "F8V8":
        return quarters(a, is_f143)
    return a.astype(np.float32 if form.family == "F32" else np.float16)


def product(
    worker: "Bench",
    form: Form,
    engines: int,
    a: Array,
    c: Array | None,
    *,
    is_f143: bool = False,
) -> Array:
    """C + A · B with the weights in the store; without C, rows start at once and at 0.

    Partial sums enter in the steps of the row before, results leave in those of the row after.
    """
    rows = len(a)
    phases = form.phases(engines)
    x = inputs_of(form, a, is_f143)
    zeros = np.zeros(form.lanes, x.dtype)
    results = np.full((rows, form.channels(engines)), np.nan)
    lead = 0 if c is None else 1
    for number in range(phases * (rows + 1 + lead)):
        row, phase = divmod(number, phases)
        channels = form.exchanged(phase)
        width = form.exchanged(0).stop
        incoming = np.full(width, 0 if c is None else DONT_CARE)
        if c is not None and row < rows and channels.stop > channels.start:
            incoming = c[row, channels]
        is_real = 0 <= row - lead < rows
        lanes = x[row - lead, form.lanes * phase : form.lanes * (phase + 1)] if is_real else zeros
        found = step(worker, form, engines, phase, lanes, incoming)
        if channels.stop == channels.start:
            assert found.tolist() == [0, 0]
        elif row > lead:
            results[row - lead - 1, channels] = found
    return results


# -- products ---------------------------------------------------------------------------------


@each_form
@each_engine
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_product_with_partial_sums(worker: "Bench", form: Form, engines: int, rows: int) -> None:
    inputs, channels = form.inputs(engines), form.channels(engines)
    a, b, c = integers(1, rows, inputs), integers(2, inputs, channels), integers(3, rows, channels)
    worker.set(a1=0x11111111, a6=0x22222222, a7=0x33333333)
    worker.state["number_format"] = 0b11  # F143 for both
    set_weights(worker, form, b, is_f143=True)
    found = product(worker, form, engines, a, c, is_f143=True)
    assert found.tolist() == (c + a @ b).tolist()
    assert worker.a[6:] == [0x22222222, 0x33333333]
    if form in (HIHO, SIHO):
        assert worker.a[1] == 0x11111111
    assert int(worker.state["float_status"]) == 0


@each_form
@each_engine
def test_product_without_partial_sums(worker: "Bench", form: Form, engines: int) -> None:
    inputs, channels = form.inputs(engines), form.channels(engines)
    a, b = integers(4, 3, inputs), integers(5, inputs, channels)
    set_weights(worker, form, b)
    assert product(worker, form, engines, a, None).tolist() == (a @ b).tolist()


@each_form
def test_two_products_in_succession(worker: "Bench", form: Form) -> None:
    """Accumulators and the chain stay as they are; clearing them starts afresh."""
    set_weights(worker, form, b := integers(6, form.inputs(4), form.channels(4)))
    for seed in (7, 8):
        a, c = integers(seed, 2, form.inputs(4)), integers(seed + 2, 2, form.channels(4))
        worker.issue("uput $FP_CLR, $a0", a0=1 << 3)
        assert product(worker, form, 4, a, c).tolist() == (c + a @ b).tolist()


@each_form
@pytest.mark.parametrize("engines", [1, 2])
def test_other_units_are_left_alone(worker: "Bench", form: Form, engines: int) -> None:
    accumulators(worker)[:] = np.arange(32) + 0.5
    worker.tile["weights"] = 0x3C00_3C00_3C00_3C00
    for phase in range(form.phases(engines)):
        lanes = np.ones(form.lanes, np.uint8 if form.family == "F8V8" else np.float16)
        if form.family == "F32":
            lanes = np.ones(1, np.float32)
        step(worker, form, engines, phase, lanes, np.ones(form.exchanged(0).stop))
    used = {16 * group + i for group in range(form.sets) for i in range(4 * engines)}
    for place, number in enumerate(accumulators(worker)):
        assert (number == place + 0.5) == (place not in used)


def test_the_warm_up_may_repeat_a_phase_that_is_not_0(worker: "Bench") -> None:
    """While x is 0 only the chain matters, which moves alike in all phases."""
    a, b, c = integers(11, 2, 32), integers(12, 32, 16), integers(13, 1, 16)
    set_weights(worker, QUARTER, b)
    x = quarters(a, False)
    zeros = np.zeros(8, np.uint8)
    for atom in range(4):
        step(worker, QUARTER, 4, 1, zeros, c[0, 4 * atom : 4 * atom + 4])
    for phase in range(4):
        step(worker, QUARTER, 4, phase, x[0, 8 * phase : 8 * phase + 8], np.zeros(4))
    found = [step(worker, QUARTER, 4, phase, zeros, np.zeros(4)) for phase in range(4)]
    assert np.concatenate(found).tolist() == (c[0] + a[0] @ b).tolist()


def test_the_chain_and_the_sums_of_the_worked_example(worker: "Bench") -> None:
    """Set 0, two rows; C1's pairs enter while row 0 is summed up."""
    a, b, c = integers(14, 2, 16), integers(15, 16, 16), integers(16, 2, 16)
    set_weights(worker, HIHO_V4, b)
    of_set_0 = [0, 1, 4, 5, 8, 9, 12, 13]
    c0, c1 = c[:, of_set_0]
    rows = a.astype(np.float16)
    zeros, nothing = np.zeros(4, np.float16), np.zeros(4)

    def sums() -> list[float]:
        return [float(number) for number in accumulators(worker)[0:16:2]]

    def chain() -> list[float]:
        return [float(number) for number in accumulators(worker)[1:16:2]]

    for phase in range(4):
        step(worker, HIHO_V4, 4, phase, zeros, c[0, 4 * phase : 4 * phase + 4])
    assert chain() == c0.tolist()
    assert sums() == [0] * 8
    for phase in range(4):
        lanes = rows[0, 4 * phase : 4 * phase + 4]
        step(worker, HIHO_V4, 4, phase, lanes, c[1, 4 * phase : 4 * phase + 4])
        inputs = 4 * phase + 4
        assert sums() == (c0 + a[0, :inputs] @ b[:inputs][:, of_set_0]).tolist()
        assert chain() == [0] * (6 - 2 * phase) + c1[: 2 * phase + 2].tolist()
    row_0 = c0 + a[0] @ b[:, of_set_0]
    result = step(worker, HIHO_V4, 4, 0, rows[1, :4], nothing)
    assert result[:2].tolist() == row_0[:2].tolist()
    assert chain() == [*row_0[2:], 0, 0]
    assert sums() == (c1 + a[1, :4] @ b[:4][:, of_set_0]).tolist()


# -- weights ----------------------------------------------------------------------------------

NATURAL_ORDER = {
    4: [first + entry for first in (0, 32, 8, 40, 16, 48, 24, 56) for entry in range(8)],
    2: [0, 1, 4, 5, 32, 33, 36, 37, 8, 9, 12, 13, 40, 41, 44, 45],
    1: [0, 4, 32, 36],
}
"""Entries of the weight store in the order in which weights lie in memory, by engines."""
WEIGHTS_AT = 0x90000


@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize("form", [HIHO_V4, SINGLE_V2, QUARTER], ids=lambda form: form.mnemonic)
def test_weights_in_natural_order(supervisor: "Bench", form: Form, width: int) -> None:
    """Channel by channel, inputs in a row: one sequence of loads for every format."""
    b = integers(17, form.inputs(4), 16)
    kind = {"F16V4": np.float16, "F8V8": np.uint8, "F32": np.float32}[form.family]
    stored = quarters(b, False) if kind is np.uint8 else b.astype(kind)
    content = np.ascontiguousarray(stored.T).tobytes()
    assert len(content) == 512
    supervisor.memory.write(0, WEIGHTS_AT, content)
    supervisor.issue("put $CCCSLOAD, $m0", m0=WEIGHTS_AT)
    for entry in NATURAL_ORDER[4][:: width // 64]:
        supervisor.issue(f"ld{width}putcs {entry}")
    loaded = supervisor.tile["weights"].copy()
    set_weights(supervisor, form, b)
    assert loaded.tolist() == supervisor.tile["weights"].tolist()
    supervisor.issue("get $m1, $CCCSLOAD")
    assert supervisor.m[1] == WEIGHTS_AT + 512


@each_engine
def test_weights_in_natural_order_for_fewer_engines(supervisor: "Bench", engines: int) -> None:
    b = integers(18, HIHO_V4.inputs(engines), HIHO_V4.channels(engines))
    content = np.ascontiguousarray(b.T.astype(np.float16)).tobytes()
    supervisor.memory.write(0, WEIGHTS_AT, content)
    supervisor.issue("put $CCCSLOAD, $m0", m0=WEIGHTS_AT)
    for entry in NATURAL_ORDER[engines]:
        supervisor.issue(f"ld64putcs {entry}")
    loaded = supervisor.tile["weights"].copy()
    set_weights(supervisor, HIHO_V4, b)
    assert loaded.tolist() == supervisor.tile["weights"].tolist()


def test_weights_in_the_order_of_the_store(worker: "Bench") -> None:
    """Then step p gives channels 2p, 2p+1 and 8+2p, 9+2p."""
    a, b = integers(19, 2, 16), integers(20, 16, 16)
    plain = np.ascontiguousarray(b.T.astype(np.float16)).view(np.uint64)
    worker.tile["weights"] = plain.reshape(64)
    found = product(worker, HIHO_V4, 4, a, None)
    order = [channel for p in range(4) for channel in (2 * p, 2 * p + 1, 8 + 2 * p, 9 + 2 * p)]
    assert found.tolist() == (a @ b)[:, order].tolist()


# -- quarters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weights_f143", [False, True])
@pytest.mark.parametrize("inputs_f143", [False, True])
@pytest.mark.parametrize("scale", [0, 3, -2])
def test_formats_and_scale_of_quarters(
    worker: "Bench", inputs_f143: bool, weights_f143: bool, scale: int
) -> None:
    """Products are scaled, partial sums are not."""
    a, b = integers(21, 2, 32, limit=3), integers(22, 32, 16, limit=3)
    c = integers(23, 2, 16, limit=9)
    worker.state["number_format"] = weights_f143 | inputs_f143 << 1
    worker.state["number_scale"] = scale & 0x3F
    set_weights(worker, QUARTER, b, weights_f143)
    found = product(worker, QUARTER, 4, a, c, is_f143=inputs_f143)
    assert found.tolist() == (c + a @ b * 2.0**scale).tolist()


def test_a_quarter_nan_reaches_the_sum(worker: "Bench") -> None:
    worker.tile["weights"] = 0
    step(worker, QUARTER, 4, 0, np.array([0x80, 0, 0, 0, 0, 0, 0, 0], np.uint8), np.zeros(4))
    assert np.isnan(accumulators(worker)[::2]).all()
    assert not np.isnan(accumulators(worker)[1::2]).any()
    assert int(worker.state["float_status"]) == 0


# -- rounding ---------------------------------------------------------------------------------


def test_only_half_results_are_rounded_to_halves(worker: "Bench") -> None:
    """Sums are singles all the way: 2048 + 1 and 2048 + 3 are none, or not all, of the halves."""
    expected = {HIHO: [2048, 2052], SIHO: [2048, 2052], SISO: [2049, 2051]}
    for form, results in expected.items():
        worker.state["accumulators"] = 0
        b = np.zeros((16, 8))
        b[0, :2], b[1, :2] = 2048, [1, 3]
        set_weights(worker, form, b)
        found = product(worker, form, 4, np.array([[1.0, 1.0] + [0.0] * 14]), None)
        assert found[0, :2].tolist() == results


@pytest.mark.parametrize(("nanoo", "result"), [(0, 65504.0), (NANOO, np.nan)])
def test_overflow_of_half_results(worker: "Bench", nanoo: int, result: float) -> None:
    worker.state["float_control"] = nanoo
    accumulators(worker)[1] = 1e6
    found = step(worker, HIHO_V4, 4, 1, np.zeros(4, np.float16), np.zeros(4))
    assert np.array_equal(found, [result, 0, 0, 0], equal_nan=True)
    assert int(worker.state["float_status"]) == OFLO


def test_a_step_adds_exactly_and_rounds_once(worker: "Bench") -> None:
    worker.tile["weights"] = 0x0000_3C00_7800_7800  # 2**15, 2**15, 1, 0
    x = np.array([2.0**15, -(2.0**15), 1, 7], np.float16)
    step(worker, SISO, 4, 0, x, np.zeros(2))
    assert accumulators(worker)[:16:2].tolist() == [1] * 8


# -- state and faults -------------------------------------------------------------------------


@each_form
def test_only_forms_with_single_inputs_use_tas(worker: "Bench", form: Form) -> None:
    worker.state["tas"] = 0x1234
    load(worker, 2, np.array([1.5, 0], np.float32))
    worker.issue(form.text(4, 0))
    assert (int(worker.state["tas"]) != 0x1234) == (form.family == "F32")


@each_form
def test_unknown_flags_are_refused(worker: "Bench", form: Form) -> None:
    """Every number that has no name: among them phases beyond those of the engines."""
    named = {
        ASSUMED_FLAGS[f"TAMP_{form.family}_E{engines}_P{phase}"]
        for engines in (1, 2, 4)
        for phase in range(form.phases(engines))
    }
    assert len(named) == (14 if form.family == "F32" else 7)
    for flags in set(range(64)) - named:
        worker.check_fault(OperandFault, "unknown AMP flags", form.text_with(flags), a0=1, a2=2)


# -- a whole kernel ---------------------------------------------------------------------------

GEMM = Path(__file__).with_name("kernels") / "gemm_f16.S"


@cache
def gemm(rows: int) -> tuple[Array, Array, int]:
    """Result and expected result of the kernel, and its cycles."""
    a = integers(24, rows, 16).astype(np.float16)
    b = integers(25, 16, 16).astype(np.float16)
    c = integers(26, rows, 16, limit=9).astype(np.float16)
    operands: list[Operand] = [c, a, np.ascontiguousarray(b.T), rows]
    run = run_kernel([GEMM], "gemm_f16", operands)
    assert run.arrays[0] is not None
    return run.arrays[0], c + a @ b, run.cycles


@pytest.mark.parametrize("rows", range(14))
def test_gemm(rows: int) -> None:
    """Six workers, uneven shares, workers without rows; what lies behind A and C is NaN."""
    found, expected, _ = gemm(rows)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("rows", range(1, 8))
def test_six_more_rows_take_a_gemm_24_cycles(rows: int) -> None:
    """Four bundles a row, in each of six workers at once."""
    assert gemm(rows + 6)[2] - gemm(rows)[2] == 24
