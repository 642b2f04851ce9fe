"""From graphs to packages.

- `build_package`: a graph as an `Application` that drivers load and `write_package` writes
- `PackageConfig`, `Toolchain`: the pipeline's configuration and the build environment
- what can go wrong: `BuildError`, and the errors of the passes

See docs/building.md.
"""

from tilewright.codegen.build.config import PackageConfig, Toolchain
from tilewright.codegen.build.faults import BuildError
from tilewright.codegen.build.package import build_package

__all__ = ["BuildError", "PackageConfig", "Toolchain", "build_package"]
