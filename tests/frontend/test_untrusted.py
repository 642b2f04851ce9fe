"""Files that nobody vouches for: each either loads or is refused with a `CheckpointError`."""

import json
import shutil
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.examples import examples
from tilewright.errors import TilewrightError
from tilewright.frontend import Checkpoint, CheckpointError, TextError, load_checkpoint

FILES = (
    "config.json",
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
    "tokenizer.json",
)
WEIGHTS = "model.safetensors"

_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
_quick = examples(60, allow=[HealthCheck.function_scoped_fixture])


def _refused(folder: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(folder)
    assert len(str(caught.value)) < 20_000
    return str(caught.value)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"0",
        b"\xff\xfe{}",
        b'{"a": NaN}',
        b"[" * 500_000,
        b'{"a":' * 200_000,
        b"1" * 100_000,
        b" " * (2 << 20),
    ],
    ids=str.split("empty open null list number utf nan lists objects digits large"),
)
def test_files_that_are_no_settings(copied: Path, name: str, content: bytes) -> None:
    (copied / name).write_bytes(content)
    assert name in _refused(copied)


@pytest.mark.parametrize("name", FILES)
def test_folders_in_place_of_files(copied: Path, name: str) -> None:
    (copied / name).unlink()
    (copied / name).mkdir()
    assert name in _refused(copied)


def test_sizes_are_looked_at_before_contents(copied: Path) -> None:
    settings = copied / "config.json"
    settings.write_bytes(settings.read_bytes() + b" " * (1 << 20))
    content = (copied / WEIGHTS).read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = content[8 : 8 + length] + b" " * (8 << 20)
    (copied / WEIGHTS).write_bytes(_weights(header, content[8 + length :]))
    message = _refused(copied)
    assert "config.json: larger than 1048576 bytes" in message
    assert f"a header of {length + (8 << 20)} bytes; at most 8388608 are read" in message


@_quick
@given(data=st.data())
def test_any_value_of_any_setting(folder: Path, copied: Path, data: st.DataObject) -> None:
    """Whatever loads can be worked with."""
    name = data.draw(st.sampled_from(FILES[:-1]))
    values = json.loads((folder / name).read_text())
    target = values if isinstance(values, dict) else values[data.draw(st.integers(0, 2))]
    target[data.draw(st.sampled_from(sorted(target)))] = data.draw(_json)
    (copied / name).write_text(json.dumps(values))
    try:
        with suppress(TilewrightError):
            load_checkpoint(copied).tokenise(["a text"])
    finally:
        shutil.copy(folder / name, copied / name)


def _paths(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Where there are values in a tree, but for the long list of words."""
    if not isinstance(value, dict | list) or path[-1:] == ("vocab",):
        return [path]
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(each for key, part in parts for each in _paths(part, (*path, key)))]


@_quick
@given(data=st.data())
def test_any_value_in_a_tokeniser(folder: Path, copied: Path, data: st.DataObject) -> None:
    values = json.loads((folder / "tokenizer.json").read_text())
    *inner, last = data.draw(st.sampled_from(_paths(values)[1:]))
    target = values
    for key in inner:
        target = target[key]
    target[last] = data.draw(_json)
    (copied / "tokenizer.json").write_text(json.dumps(values))
    with suppress(CheckpointError, TextError):
        load_checkpoint(copied).tokenise(["a text", "ümläut", "\0"])


@_quick
@given(data=st.data())
def test_any_damage_to_the_header(folder: Path, copied: Path, data: st.DataObject) -> None:
    content = bytearray((folder / WEIGHTS).read_bytes())
    (length,) = struct.unpack_from("<Q", content)
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, 7 + length))] = data.draw(st.integers(0, 255))
    (copied / WEIGHTS).write_bytes(content)
    with suppress(CheckpointError):
        load_checkpoint(copied)


@_quick
@given(keep=st.floats(0, 0.999))
def test_files_cut_short(folder: Path, copied: Path, keep: float) -> None:
    content = (folder / WEIGHTS).read_bytes()
    (copied / WEIGHTS).write_bytes(content[: int(len(content) * keep)])
    assert WEIGHTS in _refused(copied)


def _weights(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(
    "content",
    [
        struct.pack("<Q", 1 << 62) + b"{}",
        struct.pack("<Q", 50 << 20) + b" " * (50 << 20),
        _weights(b"[" * 100_000),
        _weights([]),
        _weights({"a": 1}),
        _weights({"a": {"dtype": "F32", "shape": [1 << 62, 1 << 62], "data_offsets": [0, 4]}}),
        _weights({"a": {"dtype": "F32", "shape": [0, 1 << 62], "data_offsets": [0, 0]}}),
        _weights({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, bytes(4)),
        _weights({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 1 << 60]}}, bytes(4)),
        _weights({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, bytes(99)),
        _weights({"a" * 900_000: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
        _weights(
            {"\x1b[2J\n" * 99: {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, bytes(8)
        ),
        _weights({"\x1b[2J\n": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, bytes(4)),
        _weights(
            {
                f"t{i}": {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]}
                for i in range(50_000)
            },
            bytes(50_000),
        ),
    ],
)
def test_headers_that_are_wrong_or_much(copied: Path, content: bytes) -> None:
    (copied / WEIGHTS).write_bytes(content)
    assert "\x1b" not in _refused(copied)


def test_a_tokeniser_that_panics(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rust's panics reach Python as exceptions that are no `Exception`."""

    class PanicException(BaseException):
        pass

    class Panicking:
        def enable_truncation(self, most: int, direction: str) -> None:
            pass

        def encode_batch(self, texts: list[str]) -> None:
            raise PanicException("index out of bounds")

    monkeypatch.setattr(checkpoint.tokeniser, "_tokenizer", Panicking())
    with pytest.raises(TextError, match="does not take a text: index out of bounds"):
        checkpoint.tokenise(["a text"])


@pytest.mark.parametrize("path", ["..", "../other", "/etc", "a/../../b", "\0", 5])
def test_modules_outside_of_the_folder(copied: Path, path: object) -> None:
    modules = json.loads((copied / "modules.json").read_text())
    modules[1]["path"] = path
    (copied / "modules.json").write_text(json.dumps(modules))
    assert "is none inside of the checkpoint's folder" in _refused(copied)
