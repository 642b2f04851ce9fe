"""Where everything lies in the memory of each tile.

- what is asked for: `Requests`, `MemoryNeed`; `joined_aliases` for memory that is used again
- where it may lie: `MemoryPolicy` of `Arena` and `Reservation`
- where it lies: `place`, `Placement`, `memory_map`
- judged apart from how it was found: `check_placement`, `placement_faults`
- what is wrong: `RequestError`, `PolicyError`, `PlacementCheckError`; what does not fit, with
  what would: `PlacementError`, which holds a `PlacementFailure` of `LiveBlock` and `Remedy`

Addresses and sizes are in bytes, lifetimes in steps of the schedule. See docs/placement.md.
"""

from tilewright.codegen.place.check import check_placement, placement_faults
from tilewright.codegen.place.failure import LiveBlock, PlacementError, PlacementFailure, Remedy
from tilewright.codegen.place.faults import PlacementCheckError, PolicyError, RequestError
from tilewright.codegen.place.maps import memory_map
from tilewright.codegen.place.placement import Placement
from tilewright.codegen.place.placing import place
from tilewright.codegen.place.policy import Arena, MemoryNeed, MemoryPolicy, Reservation
from tilewright.codegen.place.requests import Requests, joined_aliases

__all__ = [
    "Arena",
    "LiveBlock",
    "MemoryNeed",
    "MemoryPolicy",
    "Placement",
    "PlacementCheckError",
    "PlacementError",
    "PlacementFailure",
    "PolicyError",
    "Remedy",
    "RequestError",
    "Requests",
    "Reservation",
    "check_placement",
    "joined_aliases",
    "memory_map",
    "place",
    "placement_faults",
]
