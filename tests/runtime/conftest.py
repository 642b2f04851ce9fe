"""The program of the driver's tests as a package for the runtime."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.driver import programs
from tilewright.package import Application

Numbers = NDArray[np.int32]


@pytest.fixture(scope="session")
def package() -> Application:
    """y = x + w on 64 tiles; w, which the file calls `layer.w`, is given when it is loaded."""
    return programs.application()


@pytest.fixture
def w() -> Numbers:
    return np.arange(64 * programs.WORDS, dtype=np.int32).reshape(64, -1)


@pytest.fixture
def x() -> Numbers:
    return np.random.default_rng(1).integers(-1000, 1000, (64, programs.WORDS), np.int32)
