"""Packages that were built before."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.package import examples
from tilewright.cli.build_cache import BuildCache, build_key, default_build_cache
from tilewright.cli.examples import product
from tilewright.codegen.build import PackageConfig, Toolchain
from tilewright.codegen.mid import PipelineConfig

WEIGHT = {"w": np.zeros((4, 8), np.float16)}


def test_a_key_depends_on_all_that_is_built_from(tmp_path: Path) -> None:
    config = PackageConfig(PipelineConfig(tiles=16))
    key = build_key(product(2, 4, 8), config, WEIGHT)
    same = PackageConfig(PipelineConfig(tiles=16), runtime=tmp_path / "runtime.S")
    same.runtime.write_bytes(config.runtime.read_bytes())
    assert build_key(product(2, 4, 8), same, dict(WEIGHT)) == key
    other = replace(same, runtime=tmp_path / "other.S")
    other.runtime.write_bytes(config.runtime.read_bytes() + b"\n")
    others = [
        build_key(product(2, 4, 9), config, WEIGHT),
        build_key(product(2, 4, 8), PackageConfig(PipelineConfig(tiles=17)), WEIGHT),
        build_key(product(2, 4, 8), other, WEIGHT),
        build_key(product(2, 4, 8), replace(config, toolchain=Toolchain.POPC), WEIGHT),
        build_key(product(2, 4, 8), config, {"w": WEIGHT["w"] + 1}),
        build_key(product(2, 4, 8), config, {"w": WEIGHT["w"].reshape(8, 4)}),
        build_key(product(2, 4, 8), config, {"w": WEIGHT["w"].view(np.int16)}),
        build_key(product(2, 4, 8), config, {"v": WEIGHT["w"]}),
        build_key(product(2, 4, 8), config, None),
    ]
    assert len({key, *others}) == 10


def test_what_is_kept_is_found(tmp_path: Path) -> None:
    cache = BuildCache(tmp_path / "packages")
    assert cache.find("a") is None
    cache.keep("a", examples.application(), {"passes": [1]})
    found = cache.find("a")
    assert found is not None
    with found[0] as application:
        assert application == examples.application()
    assert found[1] == {"passes": [1]}


@pytest.mark.parametrize("kind", ["ipuexe", "notes"])
def test_what_is_damaged_is_not_found_and_goes(tmp_path: Path, kind: str) -> None:
    cache = BuildCache(tmp_path)
    for damage in (lambda content: content[:-1] + bytes([content[-1] ^ 1]), lambda content: b""):
        cache.keep("a", examples.application(), {"passes": [7]})
        (file,) = tmp_path.glob(f"*.{kind}")
        file.write_bytes(damage(file.read_bytes()))
        assert cache.find("a") is None
    assert list(tmp_path.iterdir()) == []


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    cache = BuildCache(tmp_path)
    for name in "abc":
        cache.keep(name, examples.application(), {})
    size = (tmp_path / "a.ipuexe").stat().st_size
    for time, name in enumerate("abc"):
        os.utime(tmp_path / f"{name}.ipuexe", (time, time))
    found = cache.find("a")  # which makes it the newest
    assert found is not None
    found[0].close()
    BuildCache(tmp_path, limit=2 * size).keep("d", examples.application(), {})
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{name}.{kind}" for name in "ad" for kind in ("ipuexe", "notes")
    }
    BuildCache(tmp_path, limit=1).keep("e", examples.application(), {})
    assert {path.stem for path in tmp_path.iterdir()} == {"e"}


def test_without_a_folder_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", "")
    cache = default_build_cache()
    assert cache.folder is None
    cache.keep("a", examples.application(), {})
    assert cache.find("a") is None
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    assert default_build_cache().folder == tmp_path / "packages"
    (tmp_path / "packages").write_text("a file")
    default_build_cache().keep("a", examples.application(), {})
    assert default_build_cache().find("a") is None
