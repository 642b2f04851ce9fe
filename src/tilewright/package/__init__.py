"""Packages (`.ipuexe`): whole-device programs as files, and cycle profiles (`.ipuprof`).

- programs: `Application` with `Segments`, `Tensor`, `Shards`, `HostPlan` and what they consist of;
  their bytes: `BlobBuilder`, `Blobs`
- files: `write_package`, `open_package`; what is wrong: `validate`, `Fault`, `PackageError`; in
  words: `summary`, `differences`
- loading: `TileImages`, `with_parameters`
- code and its origin: `Debug`, `write_debug`
- cycles: `ProfilePlan`, `write_profile_plan`, `Steps`; `Profile`, `read_profile`, `write_profile`

Tiles are given by physical ids, addresses, offsets and sizes in bytes. Tables are dataclasses of
columns: read-only arrays with one entry per row. See docs/package.md.
"""

from tilewright.package.application import (
    Application,
    Completion,
    Configuration,
    SegmentKind,
    Segments,
    Shards,
    When,
)
from tilewright.package.blobs import BlobBuilder, Blobs
from tilewright.package.checks.application import validate
from tilewright.package.debug import (
    CodeOfTiles,
    Debug,
    Lines,
    Origins,
    Place,
    Ranges,
    Symbols,
    write_debug,
)
from tilewright.package.differences import differences
from tilewright.package.faults import Fault, PackageError
from tilewright.package.host_plan import (
    STOP_COMMAND,
    Batches,
    Call,
    CommandWord,
    Direction,
    EntryPoint,
    Group,
    HostPlan,
    Pages,
    Slices,
)
from tilewright.package.image import TileImages, with_parameters
from tilewright.package.profile import Profile, read_profile, write_profile
from tilewright.package.reader import open_package
from tilewright.package.steps import (
    Activities,
    ActivityKind,
    ListOfTiles,
    Notes,
    ProfilePlan,
    StepKind,
    Steps,
    StepTable,
    write_profile_plan,
)
from tilewright.package.summary import summary
from tilewright.package.tables import NONE
from tilewright.package.tensors import ElementType, Role, Source, Tensor
from tilewright.package.writer import write_package

__all__ = [  # noqa: RUF022 - grouped by subject, not sorted
    # programs
    "Application",
    "Segments",
    "SegmentKind",
    "Tensor",
    "ElementType",
    "Role",
    "Source",
    "Shards",
    "Configuration",
    "When",
    "Completion",
    "BlobBuilder",
    "Blobs",
    "NONE",
    # what the host does
    "HostPlan",
    "Pages",
    "Call",
    "Group",
    "Batches",
    "Direction",
    "Slices",
    "EntryPoint",
    "CommandWord",
    "STOP_COMMAND",
    # files
    "write_package",
    "open_package",
    "validate",
    "Fault",
    "PackageError",
    "summary",
    "differences",
    # loading
    "TileImages",
    "with_parameters",
    # where code comes from
    "Debug",
    "CodeOfTiles",
    "Symbols",
    "Lines",
    "Ranges",
    "Origins",
    "Place",
    "write_debug",
    # cycles
    "ProfilePlan",
    "Steps",
    "ListOfTiles",
    "StepTable",
    "StepKind",
    "Activities",
    "ActivityKind",
    "Notes",
    "write_profile_plan",
    "Profile",
    "read_profile",
    "write_profile",
]
