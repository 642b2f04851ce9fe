"""The host's processor: for which code is generated, and what it offers."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from tilewright.errors import TilewrightError

_OPTIMISATION = 2


class HostError(TilewrightError):
    """A processor for which no code can be generated."""


@dataclass(frozen=True, slots=True)
class Host:
    """Name and features as LLVM has them."""

    processor: str
    features: str
    has_avx512: bool

    @property
    def signature(self) -> str:
        """Tells apart hosts and compilers whose code is not interchangeable."""
        version = ".".join(map(str, llvm.llvm_version_info))
        return f"{self.processor} {self.features} llvmlite {llvmlite.__version__} llvm {version}"


@lru_cache(maxsize=1)
def this_host() -> Host:
    """The processor on which this process runs. Raises `HostError`."""
    features = llvm.get_host_cpu_features()
    if not features.get("f16c", True):
        raise HostError("emulation needs a processor that converts half precision (F16C)")
    has_avx512 = all(features.get(f"avx512{part}") for part in ("f", "dq", "vl", "bw"))
    return Host(llvm.get_host_cpu_name(), features.flatten(), has_avx512)


@lru_cache(maxsize=1)
def initialise() -> None:
    """Make LLVM ready to generate code for the host."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def target_machine(host: Host) -> Any:
    """A code generator for the host. Objects are loaded whole, so the small model does."""
    initialise()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=host.processor,
        features=host.features,
        opt=_OPTIMISATION,
        reloc="pic",
        codemodel="small",
        jit=True,
    )
