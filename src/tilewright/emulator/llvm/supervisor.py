"""Runs tiles in compiled code, supervisors and workers, as far as that goes without Python."""

import ctypes
import hashlib

import numpy as np

from tilewright.emulator.llvm.cache import CompiledCode, ObjectCache, default_cache
from tilewright.emulator.llvm.compiler import Compiler
from tilewright.emulator.llvm.host import Host, this_host
from tilewright.emulator.llvm.supervisor_turns import build_tiles
from tilewright.emulator.llvm.translations import NO_TRANSLATIONS, Translations
from tilewright.emulator.memory import TileMemory
from tilewright.emulator.records import Ending, TileRecords, Tiles

_LAST_CYCLE = (1 << 64) - 1
_SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_uint32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_uint64,
    ctypes.c_uint64,
    ctypes.c_void_p,
    ctypes.c_uint64,
)


class LlvmSupervisors:
    """Runs supervisors of any tiles. Threads may share one."""

    def __init__(self, cache: ObjectCache | None = None, host: Host | None = None) -> None:
        """With a cache of its own, or for another host than this one's best."""
        host = host or this_host()
        content = _compiled_loop(default_cache() if cache is None else cache, host)
        self._loaded = Compiler(host).load(content, _SIGNATURE)

    def run(
        self,
        records: TileRecords,
        memory: TileMemory,
        tiles: Tiles,
        limit: int,
        translations: Translations = NO_TRANSLATIONS,
    ) -> None:
        """Let each of `tiles` execute what issues before cycle `limit`.

        Workers run what `translations` has. How each tile has ended is in its schedule. Nothing but
        these tiles may run meanwhile.
        """
        states, schedules = records.states, records.schedules
        pending = np.ascontiguousarray(tiles, np.uint32)
        while pending.size:
            self._loaded.run(
                states.ctypes.data,
                memory.bytes.ctypes.data,
                schedules.ctypes.data,
                pending.ctypes.data,
                len(pending),
                min(limit, _LAST_CYCLE),
                translations.address,
                translations.mask,
            )
            pending = pending[schedules["ending"][pending] == Ending.FULL]
            for tile in pending.tolist():
                records.make_room(tile)


def _compiled_loop(cache: ObjectCache, host: Host) -> bytes:
    """The object file, kept under a hash of what it is compiled from."""
    module = build_tiles()
    key = hashlib.sha256(f"{host.signature}\n{module}".encode()).hexdigest()[:32]
    found = cache.find(key, lambda words: True)
    if found is not None:
        return found.content
    content = Compiler(host).compile(module)
    cache.store(key, CompiledCode(content, (), {}))
    return content
