"""Functions compiled to machine code: loops over many small things that arrays cannot express.

numba, a library over llvmlite, compiles a function when it is first called with arguments of a
kind, and keeps the code on disk. It sees changes in the function's own file only; so the folder is
named after the text of all that this file imports, and no process runs code of another version.

Most of the time that compiling takes goes into what stands around a function so that Python can
call it. What only compiled functions call is a part of these: it is compiled with them and needs
nothing of the kind.

Importing this takes numba's 0.4 s: modules with compiled functions are imported where they are
needed, not by packages on behalf of their users.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import numba
from numba.extending import register_jitable

from tilewright.caching import cache_directory, imports_digest

_Function = TypeVar("_Function", bound=Callable[..., object])


def compiled(function: _Function) -> _Function:
    """Compile `function`, which Python calls and which must keep to what numba supports.

    It runs without the GIL.
    """
    directory = _directory(function.__module__)
    others = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = directory or others
    try:
        compiling: Callable[[_Function], _Function]
        compiling = numba.njit(nogil=True, cache=directory is not None, no_cfunc_wrapper=True)
        return compiling(function)
    finally:
        numba.config.CACHE_DIR = others


def compiled_part(function: _Function) -> _Function:
    """Let compiled functions call `function`. For Python it stays as it is."""
    available: _Function = register_jitable(function)
    return available


@lru_cache
def _directory(module: str) -> str | None:
    """None if there is none, or none that can be written."""
    folder = cache_directory("compiled")
    if folder is None:
        return None
    try:
        place = folder / imports_digest(module)[:32]
        place.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError):
        return None
    return str(place)
