"""Conversions: any format to any other, through words of the exchange."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.codegen.mid.strategies import formats
from tests.examples import examples
from tilewright.codegen.mid import MEASURED, Gather, KernelCall, Precision, Storage
from tilewright.codegen.mid.candidates import OperandSpec
from tilewright.codegen.mid.conversions import conversions, total
from tilewright.codegen.mid.layout import Shape
from tilewright.codegen.mid.storage import WORD, moves_whole_words
from tilewright.graph.operators import Transpose


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Storage, Storage]:
    """Two storages of one value in one precision, the first perhaps seen through a view."""
    shape: Shape = draw(st.lists(st.integers(1, 24), min_size=1, max_size=3).map(tuple))
    precision = draw(st.sampled_from(Precision))
    if draw(st.booleans()) and len(shape) > 1:
        order = tuple(draw(st.permutations(range(len(shape)))))
        base = tuple(shape[order.index(axis)] for axis in range(len(shape)))
        source = Storage(draw(formats(base)).with_precision(precision), base)
        source = source.viewed(Transpose(order), shape)
    else:
        source = Storage(draw(formats(shape)).with_precision(precision), shape)
    return source, Storage(draw(formats(shape)).with_precision(precision), shape)


def _whole_words(source: Storage, target: Storage) -> bool:
    """By looking at every tile: elements of one word are moved from one word, by whole words."""
    layout = target.layout
    group = WORD // target.format.precision.bytes
    offset = np.arange(layout.shard_elements)
    for tile in range(layout.format.tiles):
        coordinates, held = layout.coordinates(np.full_like(offset, tile), offset)
        there, place = source.locate(tuple(each[held] for each in coordinates))
        shift = place - offset[held]
        words: dict[int, list[int]] = {}
        for word, *origin in zip(offset[held] // group, there, shift, strict=True):
            if words.setdefault(word, origin) != origin:
                return False
        if np.any(shift % group):
            return False
    return True


@examples(80)
@given(pairs())
def test_what_the_probe_calls_whole_is_so_on_the_tiles_it_probes(
    pair: tuple[Storage, Storage],
) -> None:
    """The probe looks at two tiles, so it may only be too hopeful."""
    source, target = pair
    if _whole_words(source, target):
        assert moves_whole_words(source, target)


@examples(150)
@given(pairs())
def test_a_conversion_ends_where_it_should_and_moves_words(pair: tuple[Storage, Storage]) -> None:
    source, target = pair
    spec = OperandSpec(target.format.precision, target, target)
    steps = conversions(source, spec, 0, MEASURED)
    assert [step.target for step in steps[-1:]] == [target] * (source != target)
    assert total(steps).total > 0 or source == target
    for step in steps:
        slots = {slot.name: slot.storage for slot in step.dispatch.slots}
        for action in step.dispatch.steps:
            if not isinstance(action, Gather):
                assert isinstance(action, KernelCall)
                continue
            for here, there in action.moves:
                if slots[here].format.precision is slots[there].format.precision:
                    assert moves_whole_words(slots[here], slots[there])


@examples(40)
@given(pairs())
def test_a_cast_keeps_every_element_in_place(pair: tuple[Storage, Storage]) -> None:
    source, _ = pair
    for precision in (Precision.F16, Precision.F32):
        spec = OperandSpec(precision, None, source)
        steps = conversions(source, spec, 0, MEASURED)
        if source.format.precision is precision:
            assert steps == ()
            continue
        (cast,) = steps
        coordinates = tuple(np.indices(source.shape, sparse=True))
        for before, after in zip(
            source.locate(coordinates), cast.target.locate(coordinates), strict=True
        ):
            assert np.array_equal(before, after)
