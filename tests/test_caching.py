"""What compiled code is said to depend on."""

import importlib
import sys
from pathlib import Path

import pytest

from tilewright import caching
from tilewright.caching import imports_digest


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of its own: `a` imports a name from `b`, `b` the module `c`; `d` is apart."""
    package = tmp_path / "depending"
    package.mkdir()
    texts = {
        "__init__": "",
        "a": "from depending.b import number\n",
        "b": "import os\nfrom depending import c\nnumber = c.number\n",
        "c": "number = 1\n",
        "d": "number = 2\n",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(caching, "_PACKAGE", "depending")
    importlib.invalidate_caches()
    for name in [each for each in sys.modules if each.startswith("depending")]:
        monkeypatch.delitem(sys.modules, name)
    return package


def digest() -> str:
    caching._source.cache_clear()
    caching._is_package.cache_clear()
    return imports_digest("depending.a")


@pytest.mark.parametrize(
    ("name", "counts"),
    [("a.py", True), ("b.py", True), ("c.py", True), ("d.py", False), ("table.txt", True)],
)
def test_a_module_depends_on_what_it_imports_however_far(
    modules: Path, name: str, counts: bool
) -> None:
    before = digest()
    assert digest() == before
    text = (modules / name).read_text() if (modules / name).exists() else ""
    (modules / name).write_text(text + "# changed\n")
    assert (digest() != before) == counts


def test_a_module_without_a_file(modules: Path) -> None:
    with pytest.raises(ValueError, match="module nowhere has no file"):
        imports_digest("nowhere")


def test_modules_of_this_package_are_found() -> None:
    """The fabric depends on the routes, not on the assembler."""
    caching._source.cache_clear()
    imports_digest("tilewright.emulator.fabric.phase")
    imports = caching._source("tilewright.emulator.fabric.arrivals").imports
    assert "tilewright.target.routes" in imports
    assert not any("elf" in name for name in imports)
