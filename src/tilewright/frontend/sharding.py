"""Which files hold a checkpoint's tensors: one, or several that an index names."""

from pathlib import Path

from tilewright.frontend.json_files import quoted, read_settings, shown
from tilewright.frontend.tensor_file import StoredTensor, open_tensors

SUFFIX = ".safetensors"
USUAL = f"model{SUFFIX}"
INDEX = f"{USUAL}.index.json"
"""Says which file holds which tensor."""

_OTHER_FORMATS = ("*.bin", "*.pt", "*.ckpt", "*.msgpack", "*.h5", "*.onnx", "*.gguf")


def find_tensors(path: Path, folder: Path, faults: list[str]) -> dict[str, StoredTensor] | None:
    """The tensors of the file at `path`, or else of those in `folder`; `None` if faults say why.

    Of several files in the folder, the usual one counts, then those of the index.
    """
    if path.is_file():
        return open_tensors(path, faults)
    found = sorted(each for each in folder.glob(f"*{SUFFIX}") if each.is_file())
    usual = [each for each in found if each.name == USUAL]
    if not usual and (folder / INDEX).exists():
        return _open_shards(folder, faults)
    if len(found) == 1 or usual:
        return open_tensors((usual or found)[0], faults)
    if found:
        names = ", ".join(each.name for each in found)
        faults.append(
            f"there are several safetensors files ({names}), and no {INDEX}; name one of them"
        )
    else:
        faults.append(_none_found(folder))
    return None


def _none_found(folder: Path) -> str:
    others = sorted({each.name for form in _OTHER_FORMATS for each in folder.glob(form)})
    if not others:
        return f"there is no safetensors file in {folder}; other formats are not read"
    return (
        f"there is no safetensors file in {folder}, and {shown(', '.join(others))} cannot be read; "
        "save the model with save_pretrained(…, safe_serialization=True) of transformers"
    )


def _open_shards(folder: Path, faults: list[str]) -> dict[str, StoredTensor] | None:
    """The tensors of all files that the index names, each from the file that it names for it."""
    settings = read_settings(folder / INDEX, INDEX, faults)
    places = settings.values.get("weight_map") if settings else None
    if settings is None:
        return None
    if not isinstance(places, dict) or not places:
        settings.fault("weight_map", f"is {quoted(places)}; it must name the file of each tensor")
        return None
    files = list(dict.fromkeys(map(str, places.values())))
    outside = [name for name in files if not _is_beside(name)]
    for name in outside:
        settings.fault("weight_map", f"names the file {quoted(name)}, which is none in its folder")
    opened = {name: open_tensors(folder / name, faults) for name in files if name not in outside}
    if outside or None in opened.values():
        return None
    tensors = {}
    for name, file in places.items():
        tensor = (opened[str(file)] or {}).get(name)
        if tensor is None:
            settings.fault(
                "weight_map", f"says that {shown(str(file))} holds {shown(name)}; it does not"
            )
        else:
            tensors[name] = tensor
    return tensors


def _is_beside(name: str) -> bool:
    return Path(name).name == name and name.endswith(SUFFIX) and "\0" not in name
