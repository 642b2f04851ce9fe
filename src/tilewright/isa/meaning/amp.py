"""AMP and SLIC: accumulating matrix-vector products and slim convolutions.

Every step multiplies an input vector with weights of all units in use, passes partial sums along
the chain O, takes in new ones and gives finished ones. The accumulators are those of `accumulate`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.isa.meaning.machine import Bound, Machine, Value
from tilewright.isa.meaning.registry import Meaning, register_family
from tilewright.target.csr import CSRS
from tilewright.target.flags import amp_parts, slic_parts

_TAS = CSRS["TAS"].index
_UNITS = 8
"""Units of each of the two sets."""
_COLUMNS = 4
"""Entries of the weight store for each unit."""

Dot = Callable[[Value, Value, Value], Value]
"""accumulator, inputs, weights → accumulator"""


def _dot_halves(m: Machine) -> Dot:
    return m.f16.dot


def _dot_quarters(m: Machine) -> Dot:
    return m.f8.dot


def _halves_in(m: Machine, partials: Value) -> list[Value]:
    return m.split(m.f16.to_single(partials), 32)


def _singles_in(m: Machine, partials: Value) -> list[Value]:
    return m.split(partials, 32)


def _halves_out(m: Machine, results: list[Value]) -> Value:
    return m.f32.to_half(m.join(results))


def _singles_out(m: Machine, results: list[Value]) -> Value:
    return m.join(results)


@dataclass(frozen=True, slots=True)
class _Shape:
    """How partial sums come in and results go out, and how many sets take part."""

    sets: int
    dot: Callable[[Machine], Dot]
    incoming: Callable[[Machine, Value], list[Value]]
    outgoing: Callable[[Machine, list[Value]], Value]


_SHAPES = {
    "f16v4hiho": _Shape(1, _dot_halves, _halves_in, _halves_out),
    "f16v4siho": _Shape(1, _dot_halves, _singles_in, _halves_out),
    "f16v4siso": _Shape(1, _dot_halves, _singles_in, _singles_out),
    "f16v4hihov4": _Shape(2, _dot_halves, _halves_in, _halves_out),
    "f8v8hihov4": _Shape(2, _dot_quarters, _halves_in, _halves_out),
}


def _set_units(m: Machine, group: int, units: int) -> tuple[list[Value], list[Value]]:
    """E and O of the first `units` units of a set."""
    first = 2 * _UNITS * group
    sums = [m.accumulator(first + 2 * unit) for unit in range(units)]
    chain = [m.accumulator(first + 2 * unit + 1) for unit in range(units)]
    return sums, chain


def _put_units(m: Machine, group: int, sums: list[Value], chain: list[Value]) -> None:
    first = 2 * _UNITS * group
    for unit, (total, passed) in enumerate(zip(sums, chain, strict=True)):
        m.set_accumulator(first + 2 * unit, total)
        m.set_accumulator(first + 2 * unit + 1, passed)


def _weights(m: Machine, group: int, units: int, column: int) -> list[Value]:
    rows = range(_UNITS * group, _UNITS * group + units)
    return [m.weight(_COLUMNS * row + column) for row in rows]


def _start_row(
    sums: list[Value], chain: list[Value], phase: int
) -> tuple[list[Value], list[Value]]:
    """What is added to, and the chain: phase 0 finishes a row and takes up the next one."""
    return (chain, sums) if phase == 0 else (sums, chain)


def _amp(shape: _Shape) -> Meaning:
    def amp(m: Machine, d: Bound, x: Bound, partials: Bound, flags: Bound) -> None:
        parts = amp_parts(m.immediate(flags))
        if parts is None or parts[1] >= parts[0]:
            m.invalid_operands("unknown AMP flags")
            return
        engines, phase = parts
        units = 2 * engines
        inputs, dot = m.get(x), shape.dot(m)
        incoming = shape.incoming(m, m.get(partials))
        results: list[Value] = []
        for group in range(shape.sets):
            addends, chain = _start_row(*_set_units(m, group, units), phase)
            weights = _weights(m, group, units, phase)
            sums = [dot(*each) for each in zip(addends, [inputs] * units, weights, strict=True)]
            results += chain[:2]
            _put_units(m, group, sums, chain[2:] + incoming[2 * group : 2 * group + 2])
        m.set(d, shape.outgoing(m, results))

    return amp


register_family({f"{name}amp": (shape,) for name, shape in _SHAPES.items()}, _amp)


def _amp_single(sets: int) -> Meaning:
    """f32: one input and two phases for each entry; sets take turns to exchange partial sums."""

    def amp(m: Machine, d: Bound, x: Bound, partials: Bound, flags: Bound) -> None:
        parts = amp_parts(m.immediate(flags))
        if parts is None or parts[1] >= 2 * parts[0]:
            m.invalid_operands("unknown AMP flags")
            return
        engines, phase = parts
        units = 2 * engines
        inputs, incoming = m.get(x), m.split(m.get(partials), 32)
        # With a single set, odd phases exchange nothing and give zeros (assumed, `amp-odd`).
        results = [m.const(0), m.const(0)]
        for group in range(sets):
            addends, chain = _start_row(*_set_units(m, group, units), phase)
            entries = _weights(m, group, units, phase // 2)
            weights = [m.split(entry, 32)[phase % 2] for entry in entries]
            sums = [
                m.f32.dot(one, inputs, weight) for one, weight in zip(addends, weights, strict=True)
            ]
            if phase % 2 == group:
                results, chain = chain[:2], chain[2:] + incoming
            _put_units(m, group, sums, chain)
        m.set(d, m.join(results))
        m.write_csr(_TAS, inputs, upper=True)  # TAS is used as scratch (value assumed, `tas`)

    return amp


register_family({"f32sisoamp": (1,), "f32sisov2amp": (2,)}, _amp_single)


def _slic_step(
    m: Machine,
    group: int,
    width: int,
    products: list[Callable[[Value], Value]],
    incoming: list[Value],
) -> list[Value]:
    """Move the partial sums of a set one kernel element on; returns the finished ones.

    `products[j]` adds the product of unit j.
    """
    units = 2 * width
    first = 2 * _UNITS * group
    sums = [m.accumulator(first + 2 * unit) for unit in range(units)]
    for unit, source in enumerate(sums[2:] + incoming):
        m.set_accumulator(first + 2 * unit, products[unit](source))
    return sums[:2]


def _adder(dot: Dot, x: Value, weight: Value) -> Callable[[Value], Value]:
    return lambda accumulator: dot(accumulator, x, weight)


def _slic(shape: _Shape) -> Meaning:
    def slic(m: Machine, d: Bound, x: Bound, partials: Bound, flags: Bound) -> None:
        parts = slic_parts(m.immediate(flags))
        if parts is None or parts.upper:
            m.invalid_operands("unknown SLIC flags")
            return
        inputs, dot = m.get(x), shape.dot(m)
        incoming = shape.incoming(m, m.get(partials))
        results: list[Value] = []
        for group in range(shape.sets):
            weights = _weights(m, group, 2 * parts.kernel_width, parts.column)
            products = [_adder(dot, inputs, weight) for weight in weights]
            pair = incoming[2 * group : 2 * group + 2]
            results += _slic_step(m, group, parts.kernel_width, products, pair)
        m.set(d, shape.outgoing(m, results))

    return slic


register_family({f"{name}slic": (shape,) for name, shape in _SHAPES.items()}, _slic)


def _slic_single(sets: int) -> Meaning:
    """f32: a step for the low word of the entries, which moves, and one for the high word.

    No public code uses the form with two sets: it gives the results of set 0 (assumed, `slic-v2`).
    """

    def slic(m: Machine, d: Bound, x: Bound, partials: Bound, flags: Bound) -> None:
        parts = slic_parts(m.immediate(flags))
        if parts is None:
            m.invalid_operands("unknown SLIC flags")
            return
        units = 2 * parts.kernel_width
        inputs, incoming = m.get(x), m.split(m.get(partials), 32)
        results = [m.const(0), m.const(0)]
        for group in range(sets):
            entries = _weights(m, group, units, parts.column)
            weights = [m.split(entry, 32)[parts.upper] for entry in entries]
            if not parts.upper:
                products = [_adder(m.f32.dot, inputs, weight) for weight in weights]
                finished = _slic_step(m, group, parts.kernel_width, products, incoming)
                results = finished if group == 0 else results
                continue
            first = 2 * _UNITS * group
            for unit, weight in enumerate(weights):
                index = first + 2 * unit
                m.set_accumulator(index, m.f32.dot(m.accumulator(index), inputs, weight))
        m.set(d, m.join(results))

    return slic


register_family({"f32sisoslic": (1,), "f32sisov2slic": (2,)}, _slic_single)
