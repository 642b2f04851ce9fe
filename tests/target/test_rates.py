"""Rates for planning agree with each other and with the vendor's peak rates."""

import pytest

from tilewright.target import rates
from tilewright.target.geometry import TILES
from tilewright.target.rates import Rate
from tilewright.target.timing import CLOCK, Cost

COSTS = [each for each in vars(rates).values() if isinstance(each, Cost)]
RATES = [
    *(each for each in vars(rates).values() if isinstance(each, Rate)),
    *(rate for table in (rates.POINTWISE_F16, rates.REPACK) for rate in table.values()),
]


def test_a_block_at_full_rate_gives_the_multiply_adds_of_the_peak() -> None:
    assert 16 * 16 / rates.AMP_ROW_F16.value == rates.MACS_F16.value
    assert 8 * 16 / rates.AMP_ROW_F32.value == rates.MACS_F32.value


@pytest.mark.parametrize(("macs", "teraflops"), [(rates.MACS_F16, 280), (rates.MACS_F32, 70)])
def test_all_tiles_at_their_peak_give_the_vendors_figure(macs: Cost, teraflops: int) -> None:
    assert 2 * macs.value * TILES * CLOCK.value / 1e12 == pytest.approx(teraflops, rel=0.02)


def test_a_pair_of_tiles_receives_no_more_together_than_it_could_send() -> None:
    assert rates.PAIRED_BYTES_PER_CYCLE == 2 * rates.EXCHANGE_BYTES_PER_CYCLE


@pytest.mark.parametrize("figure", [*COSTS, *RATES], ids=lambda figure: figure.name)
def test_a_figure_lies_in_the_span_of_what_was_seen(figure: Cost | Rate) -> None:
    value = figure.value if isinstance(figure, Cost) else figure.cycles
    assert value > 0
    if figure.span is not None:
        assert figure.span[0] <= value <= figure.span[1]
