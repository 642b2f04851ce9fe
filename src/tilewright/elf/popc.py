"""Driver of the vendor's compiler `popc`, for those who have it: C++ or assembly to an object."""

import importlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.elf.archive import is_archive, read_archive
from tilewright.elf.object import ObjectFile
from tilewright.errors import TilewrightError
from tilewright.files import read_bytes

CONTAINER_MAGIC = b"GC_EXE_3"
_SIZE_BYTES = 8
_SIZES = 4
"""After the magic: archive raw, archive compressed, metadata raw, metadata compressed."""
_LARGEST_ARCHIVE = 1 << 30
_MOST_OUTPUT_LINES = 20


class PopcError(TilewrightError):
    """`popc` is missing, failed, or made something that cannot be read."""


def find_popc() -> Path:
    """The compiler: `$TILEWRIGHT_POPC`, else that of an enabled SDK, else on PATH.

    Raises `PopcError`, which tells where it looked.
    """
    looked: list[str] = []
    for variable, below in (
        ("TILEWRIGHT_POPC", ""),
        ("POPLAR_SDK_ENABLED", "bin/popc"),
        ("POPLAR_SDK", "bin/popc"),
    ):
        value = os.environ.get(variable)
        if not value:
            looked.append(f"${variable}, which is not set")
            continue
        path = Path(value, below)
        if path.is_file() and os.access(path, os.X_OK):
            return path
        looked.append(f"${variable}, but {path} is not an executable file")
    found = shutil.which("popc")
    if found:
        return Path(found)
    looked.append("PATH, which has no popc")
    places = "\n".join(f"  {place}" for place in looked)
    raise PopcError(
        f"the compiler popc was not found; looked at:\n{places}\n"
        "Install the Poplar SDK and enable it, or set TILEWRIGHT_POPC to the path of popc."
    )


def compile_with_popc(
    source: Path,
    *,
    defines: Mapping[str, str | int] | None = None,
    include_dirs: Sequence[Path] = (),
    optimise: str = "-O2",
    target: str = "ipu21",
) -> ObjectFile:
    """The object that `popc` makes of `source`. Raises `PopcError`, `ObjectError`, `FileError`."""
    command = [str(find_popc()), "--target", target, optimise]
    command += [f"-D{name}={value}" for name, value in (defines or {}).items()]
    command += [f"-I{folder}" for folder in include_dirs]
    with tempfile.TemporaryDirectory(prefix="tilewright-popc-") as folder:
        output = Path(folder, "out.gp")
        _run([*command, str(source), "-o", str(output)])
        if not output.is_file():
            raise PopcError(f"popc succeeded on {source}, but wrote no output")
        return object_in_container(read_bytes(output), str(source))


def object_in_container(data: bytes, name: str) -> ObjectFile:
    """The one object in a vendor container, which messages call `name`.

    Raises `PopcError` and `ObjectError`.
    """
    archive = read_container(data, name)
    if not is_archive(archive):
        raise PopcError(f"{name}: the container holds no archive of objects")
    objects = read_archive(archive, name)
    if len(objects) != 1:
        names = ", ".join(each.name for each in objects) or "none"
        raise PopcError(f"{name}: expected one object in the container, found {names}")
    return objects[0]


def read_container(data: bytes, name: str) -> bytes:
    """The archive in a vendor container; its metadata is not read. Raises `PopcError`."""
    if not data.startswith(CONTAINER_MAGIC):
        raise PopcError(f"{name}: not a vendor container, which starts with GC_EXE_3")
    start = len(CONTAINER_MAGIC) + _SIZES * _SIZE_BYTES
    sizes = [
        int.from_bytes(data[offset : offset + _SIZE_BYTES], "little")
        for offset in range(len(CONTAINER_MAGIC), start, _SIZE_BYTES)
    ]
    raw, compressed = sizes[:2]
    if start + compressed + sizes[3] > len(data):
        raise PopcError(f"{name}: the container is cut off after {len(data)} bytes")
    if raw > _LARGEST_ARCHIVE:
        raise PopcError(f"{name}: the container claims an archive of {raw} bytes")
    archive = _decompress(data[start : start + compressed], raw, name)
    if len(archive) != raw:
        raise PopcError(f"{name}: the archive has {len(archive)} bytes, expected {raw}")
    return archive


def _run(command: Sequence[str]) -> None:
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise PopcError(f"cannot run {command[0]}: {error.strerror}") from error
    if result.returncode:
        lines = (result.stderr or result.stdout).splitlines()[:_MOST_OUTPUT_LINES]
        raise PopcError(
            "\n".join([f"popc failed with status {result.returncode}: {' '.join(command)}", *lines])
        )


def _decompress(data: bytes, size: int, name: str) -> bytes:
    """The content of LZ4 frames that follow each other, up to one byte more than `size`."""
    frames = _lz4_frames()
    out = b""
    while data and len(out) <= size:
        frame = frames.LZ4FrameDecompressor()
        try:
            out += frame.decompress(data, max_length=size + 1 - len(out))
        except RuntimeError as error:
            raise PopcError(f"{name}: the container is damaged: {error}") from error
        if not frame.eof:
            break
        data = frame.unused_data or b""
    return out


def _lz4_frames() -> Any:
    try:
        return importlib.import_module("lz4.frame")
    except ImportError as error:
        raise PopcError(
            "reading the output of popc needs the package lz4; "
            "install it with: pip install 'tilewright[popc]'"
        ) from error
