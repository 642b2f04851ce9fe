"""Files are replaced whole or not at all."""

import os
from pathlib import Path

import pytest

from tilewright import files
from tilewright.files import FileError, check_writable, write_atomically, writing_atomically


def test_content_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_atomically(path, "old")
    write_atomically(path, b"new\xff")
    assert path.read_bytes() == b"new\xff"
    assert list(tmp_path.iterdir()) == [path]


def test_both_ways_give_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_atomically(tmp_path / "unnamed", b"content")
    monkeypatch.setattr(files, "_unnamed_file", lambda path: None)
    write_atomically(tmp_path / "named", b"content")
    unnamed, named = tmp_path / "unnamed", tmp_path / "named"
    assert unnamed.read_bytes() == named.read_bytes()
    assert unnamed.stat().st_mode == named.stat().st_mode
    assert sorted(tmp_path.iterdir()) == [named, unnamed]


def test_what_is_no_file_is_written_to(tmp_path: Path) -> None:
    """As people expect of /dev/stdout; and links stay links."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, b"content")
    assert os.read(reader, 100) == b"content"
    os.close(reader)
    link.symlink_to(tmp_path / "file")
    write_atomically(link, b"content")
    assert link.is_symlink()
    assert (tmp_path / "file").read_bytes() == b"content"
    with pytest.raises(FileError, match="Is a directory"):
        write_atomically(tmp_path, b"content")


@pytest.mark.parametrize("has_unnamed", [True, False])
def test_an_exception_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_unnamed: bool
) -> None:
    if not has_unnamed:
        monkeypatch.setattr(files, "_unnamed_file", lambda path: None)
    path = tmp_path / "a"
    write_atomically(path, b"old")
    with pytest.raises(TypeError), writing_atomically(path) as file:
        file.writelines([b"half of the n", "ew"])  # type: ignore[list-item] # no bytes
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("has_unnamed", [True, False])
def test_nothing_has_a_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_unnamed: bool
) -> None:
    if not has_unnamed:
        monkeypatch.setattr(files, "_unnamed_file", lambda path: None)
    path = tmp_path / "a"
    with writing_atomically(path) as file:
        file.write(b"content")
        assert not path.exists()
    assert path.read_bytes() == b"content"


def test_faults_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot write .*missing/a: No such file"):
        write_atomically(tmp_path / "missing" / "a", b"")
    with pytest.raises(FileError, match="Is a directory"):
        write_atomically(tmp_path, b"")
    assert list(tmp_path.iterdir()) == []


def test_what_can_be_written_is_known_before(tmp_path: Path) -> None:
    """Devices too, wherever they are; and a name may be as long as the system has them."""
    link, longest = tmp_path / "link", tmp_path / (254 * "n")
    link.symlink_to(tmp_path / "missing" / "file")
    for fine in (tmp_path / "new", longest, Path("/dev/null")):
        check_writable(fine)
    write_atomically(longest, b"content")
    for wrong, why in (
        (tmp_path, "it is a folder"),
        (link, "there is no folder"),
        (longest / "file", "there is no folder"),
        (tmp_path / (300 * "n"), "name too long"),
        (Path("/proc/new"), "the folder /proc takes no file"),
    ):
        with pytest.raises(FileError, match=why):
            check_writable(wrong)
    assert sorted(tmp_path.iterdir()) == [link, longest]
