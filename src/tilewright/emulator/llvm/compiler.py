"""From a module to machine code: optimisation, objects, and functions that Python can call."""

import ctypes
import threading
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from tilewright.emulator.llvm.frame import ENTRY_NAME
from tilewright.emulator.llvm.host import Host, target_machine

_SPEED_LEVEL = 2

RunFunction = Any
"""A ctypes function, called without the interpreter's lock: see `frame`."""

_WORKER_SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_uint32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_uint32,
    ctypes.c_uint64,
    ctypes.c_uint64,
    ctypes.c_void_p,
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """A function in memory, and what keeps it there."""

    run: RunFunction
    address: int
    engine: Any


class Compiler:
    """Compiles for one host. LLVM is used by one thread at a time."""

    def __init__(self, host: Host) -> None:
        self._lock = threading.Lock()
        self._machine = target_machine(host)

    def compile(self, module: ir.Module) -> bytes:
        """The object file of a module."""
        module.triple = self._machine.triple
        module.data_layout = str(self._machine.target_data)
        text = str(module)
        with self._lock:
            parsed = llvm.parse_assembly(text)
            self._optimise(parsed)
            return bytes(self._machine.emit_object(parsed))

    def assembly(self, module: ir.Module) -> str:
        """The machine code as text, to look at."""
        module.triple = self._machine.triple
        module.data_layout = str(self._machine.target_data)
        with self._lock:
            parsed = llvm.parse_assembly(str(module))
            self._optimise(parsed)
            return str(self._machine.emit_assembly(parsed))

    def load(self, content: bytes, signature: Any = _WORKER_SIGNATURE) -> Loaded:
        """The function of an object file; `signature` is its type for ctypes."""
        with self._lock:
            empty = llvm.parse_assembly(f'target triple = "{self._machine.triple}"')
            engine = llvm.create_mcjit_compiler(empty, _machine_of(self._machine))
            engine.add_object_file(llvm.ObjectFileRef.from_data(content))
            engine.finalize_object()
            address = engine.get_function_address(ENTRY_NAME)
        return Loaded(signature(address), int(address), engine)

    def _optimise(self, parsed: Any) -> None:
        options = llvm.create_pipeline_tuning_options(speed_level=_SPEED_LEVEL)
        options.loop_vectorization = False
        options.slp_vectorization = False
        options.loop_unrolling = False
        passes = llvm.create_pass_builder(self._machine, options)
        passes.getModulePassManager().run(parsed, passes)


def _machine_of(machine: Any) -> Any:
    """The engine takes over its machine, so it gets one of its own."""
    return llvm.Target.from_triple(machine.triple).create_target_machine(jit=True)
