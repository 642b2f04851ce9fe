"""Graphs that commands are given: text files, or examples by name."""

from pathlib import Path

from tilewright.cli.examples import EXAMPLES
from tilewright.errors import TilewrightError
from tilewright.files import read_bytes
from tilewright.graph import ComputeGraph, parse_graph


def read_graph(name: str) -> ComputeGraph:
    """A graph of a file, or an example. Raises `TilewrightError`."""
    path = Path(name)
    if name in EXAMPLES and not path.exists():
        return EXAMPLES[name]()
    if not path.exists():
        raise TilewrightError(
            f"there is no file '{name}', and no example of that name; examples are: "
            + ", ".join(EXAMPLES)
        )
    try:
        text = read_bytes(path).decode()
    except UnicodeDecodeError as fault:
        raise TilewrightError(f"{path} is not text in UTF-8: {fault}") from fault
    return parse_graph(text, str(path))
