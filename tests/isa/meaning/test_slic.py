"""SLIC: 1x4 and 1x3 convolutions of small integers, equal to direct sums of products."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest

from tilewright.emulator.faults import OperandFault
from tilewright.target.flags import ASSUMED_FLAGS

if TYPE_CHECKING:
    from tests.isa.meaning.conftest import Bench

Array = npt.NDArray[Any]

DONT_CARE = 99
"""A partial sum that must not count."""
NAN_WEIGHTS = 0x7FC0_7FC0_7FC0_7FC0


@dataclass(frozen=True)
class Form:
    """A form of the instruction; each set in use has two output channels."""

    mnemonic: str
    lanes: int
    sets: int
    partial: type[Any]
    result: type[Any]

    def text_with(self, flags: int) -> str:
        words: dict[type[Any], int] = {np.float16: self.sets, np.float32: 2}
        destination = "$a0:1" if words[self.result] == 2 else "$a0"
        x = "$a2" if self.lanes == 2 else "$a2:3"
        partial = "$a4:5" if words[self.partial] == 2 else "$a4"
        return f"{self.mnemonic} {destination}, {x}, {partial}, {flags}"


HIHO = Form("f16v4hihoslic", 4, 1, np.float16, np.float16)
SIHO = Form("f16v4sihoslic", 4, 1, np.float32, np.float16)
SISO = Form("f16v4sisoslic", 4, 1, np.float32, np.float32)
HIHO_V4 = Form("f16v4hihov4slic", 4, 2, np.float16, np.float16)
QUARTER = Form("f8v8hihov4slic", 8, 2, np.float16, np.float16)
VECTORS = [HIHO, SIHO, SISO, HIHO_V4, QUARTER]
SINGLE = Form("f32sisoslic", 2, 1, np.float32, np.float32)
"""Two inputs, one in each of two steps."""
SINGLE_V2 = Form("f32sisov2slic", 2, 1, np.float32, np.float32)

each_vector_form = pytest.mark.parametrize("form", VECTORS, ids=lambda form: form.mnemonic)
each_width = pytest.mark.parametrize("width", [4, 3])
each_column = pytest.mark.parametrize("column", [0, 1])


@cache
def quarter_codes(is_f143: bool) -> dict[float, int]:
    """Codes of the normal numbers, and of 0."""
    fraction_bits, bias = (3, 8) if is_f143 else (2, 16)
    codes = {0.0: 0}
    for code in range(1 << fraction_bits, 128):
        fraction = code % (1 << fraction_bits) / (1 << fraction_bits)
        number = (1 + fraction) * 2.0 ** ((code >> fraction_bits) - bias)
        codes |= {number: code, -number: code | 0x80}
    return codes


def encoded(form: Form, values: Array, is_f143: bool = False) -> Array:
    if form is QUARTER:
        codes = quarter_codes(is_f143)
        flat = [codes[float(value)] for value in values.reshape(-1)]
        return np.array(flat, np.uint8).reshape(values.shape)
    return values.astype(np.float32 if form.lanes == 2 else np.float16)


def integers(seed: int, *shape: int, limit: int = 4) -> Array:
    return np.random.default_rng(seed).integers(-limit, limit + 1, shape).astype(np.float64)


def set_weights(
    worker: "Bench", form: Form, w: Array, column: int, *, is_f143: bool = False
) -> None:
    """Weights [element, input, channel]: element 0 belongs to the units where sums come in.

    So for 1x4 and set 0 the entries are 24, 28; 16, 20; 8, 12; 0, 4. All others are NaN.
    """
    width, _, channels = w.shape
    worker.tile["weights"] = NAN_WEIGHTS
    stored = encoded(form, w, is_f143)
    for element in range(width):
        for channel in range(channels):
            group, place = divmod(channel, 2)
            index = 32 * group + 8 * (width - 1 - element) + 4 * place + column
            entry = np.ascontiguousarray(stored[element, :, channel])
            worker.tile["weights"][index] = entry.view(np.uint64)[0]


def load(worker: "Bench", register: int, lanes: Array) -> None:
    words = np.ascontiguousarray(lanes).view(np.uint32)
    worker.state["a"][register : register + len(words)] = words


def step(worker: "Bench", form: Form, flag: str, x: Array, partial: Array) -> Array:
    load(worker, 2, x)
    load(worker, 4, partial.astype(form.partial))
    worker.issue(form.text_with(ASSUMED_FLAGS[flag]))
    words: Array = worker.state["a"][:2].copy()
    results: Array = words.view(form.result)
    return results[: 2 * form.sets]


def convolution(x: Array, w: Array, partials: Array) -> Array:
    """out[t] = partials[t] + the sum over elements e of x[t + e] · w[e]."""
    outputs = len(partials)
    products = np.array([x[e : e + outputs] @ w[e] for e in range(len(w))])
    total: Array = partials + products.sum(axis=0)
    return total


def run_vectors(
    worker: "Bench",
    form: Form,
    x: Array,
    partials: Array,
    width: int,
    column: int,
    *,
    is_f143: bool = False,
) -> Array:
    """One step for each input vector, and one for the last result, `width` steps after its sum."""
    flag = f"TSLIC_F16V4_1x{width}_W{column}"
    results = []
    lanes = encoded(form, np.concatenate([x, np.zeros((1, form.lanes))]), is_f143)
    for time, vector in enumerate(lanes):
        dont_care = np.full(partials.shape[1], DONT_CARE)
        incoming = partials[time] if time < len(partials) else dont_care
        results.append(step(worker, form, flag, vector, incoming))
    return np.array(results[width:])


@each_vector_form
@each_width
@each_column
def test_convolution(worker: "Bench", form: Form, width: int, column: int) -> None:
    """What the accumulators held before leaves in the first steps and does not count."""
    channels = 2 * form.sets
    x, w = integers(1, 10, form.lanes), integers(2, width, form.lanes, channels)
    partials = integers(3, 10 - width + 1, channels, limit=9)
    worker.state["accumulators"] = 0x42C8_0000
    worker.set(a1=0x11111111, a6=0x22222222)
    set_weights(worker, form, w, column)
    found = run_vectors(worker, form, x, partials, width, column)
    assert found.tolist() == convolution(x, w, partials).tolist()
    assert worker.a[6] == 0x22222222
    if form in (HIHO, SIHO):
        assert worker.a[1] == 0x11111111
    assert int(worker.state["float_status"]) == 0


@each_vector_form
@each_width
def test_other_accumulators_stay(worker: "Bench", form: Form, width: int) -> None:
    """Odd ones, those of unused sets, and with 1x3 the last two of a set."""
    numbers = worker.state["accumulators"].view(np.float32)
    numbers[:] = np.arange(32) + 0.5
    x, w = np.ones((3, form.lanes)), np.full((width, form.lanes, 2 * form.sets), 3.0)
    set_weights(worker, form, w, 0)
    run_vectors(worker, form, x, np.full((3, 2 * form.sets), 1000.0), width, 0)
    used = {16 * group + 2 * unit for group in range(form.sets) for unit in range(2 * width)}
    for place, number in enumerate(numbers.tolist()):
        assert (number == place + 0.5) == (place not in used)


@pytest.mark.parametrize("inputs_f143", [False, True])
@pytest.mark.parametrize("weights_f143", [False, True])
@pytest.mark.parametrize("scale", [0, 2, -3])
def test_formats_and_scale_of_quarters(
    worker: "Bench", inputs_f143: bool, weights_f143: bool, scale: int
) -> None:
    x, w = integers(6, 7, 8, limit=3), integers(7, 4, 8, 4, limit=3)
    partials = integers(8, 4, 4, limit=9)
    worker.state["number_format"] = weights_f143 | inputs_f143 << 1
    worker.state["number_scale"] = scale & 0x3F
    set_weights(worker, QUARTER, w, 0, is_f143=weights_f143)
    found = run_vectors(worker, QUARTER, x, partials, 4, 0, is_f143=inputs_f143)
    assert found.tolist() == convolution(x * 2.0**scale, w, partials).tolist()


@each_width
def test_half_results_are_rounded_once(worker: "Bench", width: int) -> None:
    """2048 + 1 + 2 leaves as 2052 where results are halves: sums are singles all the way."""
    w = np.zeros((width, 4, 2))
    w[0, 0], w[1, 0] = 1, 2
    x = np.array([[1.0, 0, 0, 0]] * width)
    partials = np.full((1, 2), 2048.0)
    for form, result in ((HIHO, 2052), (SIHO, 2052), (SISO, 2051)):
        set_weights(worker, form, w, 1)
        found = run_vectors(worker, form, x, partials, width, 1)
        assert found.tolist() == [[result, result]]


# -- single inputs ----------------------------------------------------------------------------


def run_singles(
    worker: "Bench", form: Form, x: Array, partials: Array, width: int, column: int
) -> Array:
    """Two steps for each pair of inputs; results leave, and sums enter, in the first of them."""
    flag = f"TSLIC_F32_1x{width}_W{column}"
    results = []
    zeros = np.zeros((1, 2))
    for time, (low, high) in enumerate(np.concatenate([x, zeros]).astype(np.float32)):
        incoming = partials[time] if time < len(partials) else np.full(2, DONT_CARE)
        results.append(step(worker, form, f"{flag}_L", np.array([low]), incoming))
        step(worker, form, f"{flag}_U", np.array([high]), np.zeros(2))
    return np.array(results[width:])


@each_width
@each_column
def test_convolution_of_singles(worker: "Bench", width: int, column: int) -> None:
    x, w = integers(9, 10, 2), integers(10, width, 2, 2)
    partials = integers(11, 10 - width + 1, 2, limit=9)
    worker.state["accumulators"] = 0x42C8_0000
    set_weights(worker, SINGLE, w, column)
    found = run_singles(worker, SINGLE, x, partials, width, column)
    assert found.tolist() == convolution(x, w, partials).tolist()


def test_the_second_step_moves_nothing(worker: "Bench") -> None:
    numbers = worker.state["accumulators"].view(np.float32)
    numbers[:] = range(32)
    w = integers(12, 4, 2, 2)
    set_weights(worker, SINGLE, w, 0)
    step(worker, SINGLE, "TSLIC_F32_1x4_W0_U", np.array([3], np.float32), np.zeros(2))
    # Units 0, 1 have element 3, …, units 6, 7 element 0; the high word is input 1.
    added = 3 * w[::-1, 1, :].reshape(8)
    assert numbers[:16:2].tolist() == (np.arange(0, 16, 2) + added).tolist()
    assert numbers[1:16:2].tolist() == list(range(1, 16, 2))


def test_two_sets_of_singles(worker: "Bench") -> None:
    """Nothing public uses this form: results are those of set 0, set 1 keeps its own."""
    x, w = integers(13, 4, 2), integers(14, 4, 2, 4)
    partials = integers(15, 1, 2)
    set_weights(worker, SINGLE_V2, w, 0)
    found = run_singles(worker, SINGLE_V2, x, partials, 4, 0)
    assert found.tolist() == convolution(x, w[:, :, :2], partials).tolist()
    set_weights(worker, SINGLE_V2, w, 0)
    worker.state["accumulators"] = 0
    for time, (low, high) in enumerate(x.astype(np.float32)):
        incoming = partials[0] if time == 0 else np.full(2, DONT_CARE)
        step(worker, SINGLE_V2, "TSLIC_F32_1x4_W0_L", np.array([low]), incoming)
        step(worker, SINGLE_V2, "TSLIC_F32_1x4_W0_U", np.array([high]), np.zeros(2))
    of_set_1 = worker.state["accumulators"].view(np.float32)[[16, 18]]
    assert of_set_1.tolist() == convolution(x, w[:, :, 2:], partials)[0].tolist()


# -- faults -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [*VECTORS, SINGLE, SINGLE_V2], ids=lambda form: form.mnemonic)
def test_unknown_flags_are_refused(worker: "Bench", form: Form) -> None:
    """Every number that has no name; forms without two steps do not know the upper word."""
    family = "TSLIC_F32_" if form.lanes == 2 else "TSLIC_F16V4_"
    named = {flags for name, flags in ASSUMED_FLAGS.items() if name.startswith(family)}
    assert len(named) == (8 if form.lanes == 2 else 4)
    for flags in set(range(64)) - named:
        worker.check_fault(OperandFault, "unknown SLIC flags", form.text_with(flags), a0=1, a2=2)
