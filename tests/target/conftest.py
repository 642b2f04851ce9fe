"""Times between tiles that a third party's stack gives, for 3,000 pairs."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tilewright.target.topology import IntArray


@dataclass(frozen=True, slots=True)
class TimedPairs:
    """The columns of exchange_timing.tsv."""

    logical_source: IntArray
    logical_receiver: IntArray
    source: IntArray
    receiver: IntArray
    direction: IntArray
    time: IntArray
    paired_time: IntArray


@pytest.fixture(scope="session")
def timed_pairs() -> TimedPairs:
    path = Path(__file__).with_name("exchange_timing.tsv")
    return TimedPairs(*np.loadtxt(path, dtype=np.int32, skiprows=1, unpack=True))
