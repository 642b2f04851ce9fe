"""What a package is built with, beside what the pipeline is told."""

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from tilewright.codegen.emit import Environment
from tilewright.codegen.emit.linking import assembled
from tilewright.codegen.mid import KernelPolicy, PipelineConfig
from tilewright.device.runtime import RUNTIME
from tilewright.elf.object import ObjectFile
from tilewright.elf.popc import compile_with_popc
from tilewright.elf.writer import write_object
from tilewright.files import write_atomically


class Toolchain(Enum):
    """What makes objects of assembly."""

    BUILT_IN = "built-in"
    POPC = "popc"
    """The vendor's compiler (`tilewright.elf.popc`)."""


def _pipeline() -> PipelineConfig:
    return PipelineConfig(policy=KernelPolicy.BUILD)


@dataclass(frozen=True, slots=True)
class PackageConfig:
    """The pipeline's configuration, and the build environment.

    `runtime` is the source of the functions of `static_runtime.S`. The objects of runtime and
    kernels are put into `build_folder`, if there is one, for whoever wants to look at them.
    """

    pipeline: PipelineConfig = field(default_factory=_pipeline)
    toolchain: Toolchain = Toolchain.BUILT_IN
    runtime: Path = RUNTIME
    build_folder: Path | None = None

    def environment(self) -> Environment:
        """What code is made with."""
        return Environment(self.runtime, self._object)

    def _object(self, source: Path) -> ObjectFile:
        is_popc = self.toolchain is Toolchain.POPC
        made = compile_with_popc(source) if is_popc else assembled(source)
        if self.build_folder is not None:
            self.build_folder.mkdir(parents=True, exist_ok=True)
            write_atomically(self.build_folder / f"{source.stem}.o", write_object(made))
        return made
