"""The memory that the loader fills, and parameters given at load time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.package import examples
from tests.package.examples import FACTORS, START, STATE, TILES
from tilewright.package import (
    HostPlan,
    PackageError,
    Shards,
    Source,
    TileImages,
    open_package,
    validate,
    with_parameters,
    write_package,
)

WEIGHTS = np.arange(TILES * 8, dtype="<f2").reshape(TILES, 8)


def test_an_image_holds_segments_and_parameters() -> None:
    application = with_parameters(examples.application(), {"encoder.w": WEIGHTS})
    image = TileImages(application)[5]
    assert image.size == FACTORS + 4 - START
    assert image[:64].view("<u4").tolist() == list(range(16))
    assert image[64:80].view("<u4").tolist() == [20, 21, 22, 23]
    assert image[FACTORS - START :].view("<f4").tolist() == [5.0]
    image[: 64 + 16] = 0
    image[FACTORS - START :] = 0
    assert not image.any()  # weights go by a call, state is zero, scratch is not loaded


def test_parameters_without_a_call_are_loaded() -> None:
    application = with_parameters(examples.application(), {"encoder.w": WEIGHTS})
    host = application.host
    alone = replace(
        application,
        host=replace(
            host,
            calls=host.calls[1:],
            batches=replace(host.batches[2:], call=[0, 0]),
            slices=replace(host.slices[2:], batch=[0, 1, 1]),
            entry_points=(),
        ),
    )
    assert validate(alone) == ()
    image = TileImages(alone)[7]
    place = examples.WEIGHTS - START
    assert image[place : place + 16].view("<f2").tolist() == WEIGHTS[7].tolist()


def test_zeros_after_data_are_part_of_the_image() -> None:
    application = examples.application(Source.BLOB)
    only = replace(application, tensors=(), shards=Shards(), host=HostPlan())
    assert TileImages(only)[0].size == STATE + 64 - START


def test_parameters_come_into_packages(tmp_path: Path) -> None:
    path = tmp_path / "a.ipuexe"
    write_package(examples.application(), path)
    with open_package(path) as bare, pytest.raises(PackageError, match=r"be given: encoder\.w"):
        TileImages(bare)
    with open_package(path) as bare:
        full = with_parameters(bare, {"encoder.w": WEIGHTS, "another": WEIGHTS})
        assert validate(full, hashes=True) == ()
        write_package(full, tmp_path / "full.ipuexe")
    with open_package(tmp_path / "full.ipuexe") as read:
        tensor = read.tensors[2]
        assert (tensor.source, tensor.source_name) == (Source.BLOB, "")
        assert np.array_equal(tensor.from_stream(read.blobs[tensor.blob]), WEIGHTS)


def test_applications_without_a_file_stay_as_they_are() -> None:
    application = examples.application(Source.BLOB)
    assert with_parameters(application, {}) == application


def test_wrong_parameters() -> None:
    application = examples.application()
    with pytest.raises(PackageError, match=r"the file lacks parameters: encoder\.w"):
        with_parameters(application, {"w": WEIGHTS})
    with pytest.raises(PackageError, match="'w' is float16 of shape"):
        with_parameters(application, {"encoder.w": WEIGHTS.astype("<f4")})


def test_tiles_that_are_not_there() -> None:
    images = TileImages(examples.application(Source.BLOB))
    assert len(images) == TILES
    with pytest.raises(IndexError, match="no tile 64"):
        images[TILES]
