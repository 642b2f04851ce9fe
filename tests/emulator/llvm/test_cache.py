"""Compiled code: found again in memory and on disk, and never when it is another's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright.caching import DIRECTORY_VARIABLE
from tilewright.emulator.llvm import LlvmWorkers, ObjectCache
from tilewright.emulator.llvm import workers as driver
from tilewright.emulator.llvm.cache import default_cache
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.state import TILE
from tilewright.isa import FORM_BY_NAME, encode

CODE = 0x50000


def _run(workers: LlvmWorkers, number: int, memory: TileMemory | None = None) -> int:
    """Run `add $m0, $m15, number; exitz $m15`; gives $m0."""
    memory = memory or TileMemory(1)
    words = [
        encode(FORM_BY_NAME["add m,m,u16"], (0, 15, number)),
        encode(FORM_BY_NAME["exitz m"], (15,)),
    ]
    memory.write(0, CODE, b"".join(word.to_bytes(4, "little") for word in words))
    state = np.zeros(1, TILE)[0]
    state["workers"][0]["pc"] = CODE
    assert workers.run_worker(state, memory, 0, 0).exit_status is True
    return int(state["workers"][0]["m"][0])


def _forbid_translation(monkeypatch: pytest.MonkeyPatch) -> None:
    def translate(*arguments: Any) -> None:
        raise AssertionError("translated again")

    monkeypatch.setattr(driver, "translate", translate)


def test_code_is_translated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = LlvmWorkers(ObjectCache(None))
    assert _run(workers, 7) == 7
    _forbid_translation(monkeypatch)
    assert _run(workers, 7) == 7


def test_other_code_at_the_same_address_is_other_code() -> None:
    workers, memory = LlvmWorkers(ObjectCache(None)), TileMemory(1)
    assert [_run(workers, number, memory) for number in (7, 8, 7)] == [7, 8, 7]


def test_another_process_finds_it_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(LlvmWorkers(ObjectCache(tmp_path)), 7) == 7
    _forbid_translation(monkeypatch)
    assert _run(LlvmWorkers(ObjectCache(tmp_path)), 7) == 7


@pytest.mark.parametrize("damage", ["short", "changed", "empty"])
def test_a_damaged_entry_counts_as_missing(tmp_path: Path, damage: str) -> None:
    assert _run(LlvmWorkers(ObjectCache(tmp_path)), 7) == 7
    (entry,) = tmp_path.iterdir()
    content = entry.read_bytes()
    changed = content[:-1] + bytes([content[-1] ^ 1])
    entry.write_bytes({"short": content[:-9], "changed": changed, "empty": b""}[damage])
    assert _run(LlvmWorkers(ObjectCache(tmp_path)), 7) == 7
    assert entry.read_bytes() == content


def test_a_directory_that_cannot_be_made_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert _run(LlvmWorkers(ObjectCache(tmp_path / "file" / "cache")), 7) == 7


def test_the_environment_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path))
    assert _run(LlvmWorkers(default_cache()), 7) == 7
    assert list((tmp_path / "worker-code").iterdir())
