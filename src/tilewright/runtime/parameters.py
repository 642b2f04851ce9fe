"""Parameters that a package expects when it is loaded, from a safetensors file or from arrays."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from tilewright.files import FileError
from tilewright.package import Application, Source, with_parameters
from tilewright.runtime.errors import InputError
from tilewright.runtime.numbers import to_stored

_EIGHTS: Mapping[str, str] = MappingProxyType(
    {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}
)
"""Of floats that the library does not give as arrays: safetensors' name → that of `ml_dtypes`."""
_LENGTH_BYTES = 8
"""Of the length of a file's head, which precedes it."""
_LISTED = 20
"""Faults that a message lists."""
Parameters: TypeAlias = Mapping[str, npt.ArrayLike] | str | Path
"""Arrays by the names that the package has for them in a file, or the file."""


def bind_parameters(application: Application, parameters: Parameters | None) -> Application:
    """The application with the parameters that it expects, converted to how they are stored.

    Raises `InputError`, `PackageError` or `FileError`, which name what is missing or does not fit.
    """
    wanted = [each for each in application.tensors if each.source is Source.FILE]
    if not wanted:
        if parameters is None:
            return application
        raise InputError("the package holds all its parameters; none can be given")
    if parameters is None:
        listed = ", ".join(repr(each.source_name) for each in wanted[:5])
        raise InputError(
            f"the package expects {len(wanted)} parameters when it is loaded ({listed}"
            f"{', …' if len(wanted) > 5 else ''}): give arrays or a safetensors file"
        )
    names = {each.source_name for each in wanted}
    given = _read(Path(parameters), names) if isinstance(parameters, str | Path) else parameters
    stored: dict[str, NDArray[Any]] = {}
    wrong = []
    for tensor in wanted:
        name = tensor.source_name
        if name not in given:
            wrong.append(f"'{name}' is missing: {tensor.element.dtype} {tensor.shape}")
            continue
        try:
            stored[name] = to_stored(tensor, given[name])
        except ValueError as error:
            wrong.append(str(error) if name == tensor.name else f"'{name}': {error}")
    if wrong:
        more = [f"and {len(wrong) - _LISTED:,} more"] if len(wrong) > _LISTED else []
        raise InputError("\n  ".join(["parameters do not fit:", *wrong[:_LISTED], *more]))
    return with_parameters(application, stored)


def _read(path: Path, names: set[str]) -> dict[str, NDArray[Any]]:
    """The tensors of these names that a file has."""
    import ml_dtypes  # noqa: F401 - NumPy then knows the narrow floats that files may hold

    try:
        with safe_open(path, framework="np") as file:
            return {name: _tensor(file, path, name) for name in sorted(names & set(file.keys()))}
    except (OSError, SafetensorError, TypeError, ValueError) as error:
        raise FileError(f"cannot read parameters from {path}: {error}") from error


def _tensor(file: Any, path: Path, name: str) -> NDArray[Any]:
    """A tensor of an open file, whose head has been found sound."""
    kind = file.get_slice(name).get_dtype()
    if not kind.startswith("F8"):
        return np.asarray(file.get_tensor(name))
    if kind not in _EIGHTS:
        raise ValueError(
            f"'{name}' is {kind}; of floats with 8 bits, {', '.join(_EIGHTS)} are read"
        )
    with path.open("rb") as opened:
        head = opened.read(int.from_bytes(opened.read(_LENGTH_BYTES), "little"))
        entry = json.loads(head)[name]
        first, last = entry["data_offsets"]
        opened.seek(_LENGTH_BYTES + len(head) + first)
        content = opened.read(last - first)
    return np.frombuffer(content, _EIGHTS[kind]).reshape(entry["shape"])
