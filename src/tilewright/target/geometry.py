"""Sizes and addresses of an IPU21 (C600 card). Addresses and sizes are in bytes.

Evidence: public linker sources, debugger notes and a third-party C600 stack agree on the memory
map; docs/fidelity.md tells which figures are documented and which are inferred.
"""

ARCHITECTURE_VERSION = 21
"""What `__IPU_ARCH_VERSION__` says, and the architecture byte of objects in hexadecimal."""

TILES = 1472
WORKERS = 6

MEMORY_BASE = 0x4C000
"""First byte of tile memory; also the base `B` of the RUN and RELATIVE_16_S2 relocations."""
MEMORY_SIZE = 624 * 1024
MEMORY_END = MEMORY_BASE + MEMORY_SIZE
ADDRESS_BITS = 21

ELEMENT_SIZE = 0x4000
"""One memory element (bank); region 1 pairs them, so there an element acts as twice this size."""
REGION1_BASE = 0x80000
"""First byte of region 1: interleave factor 2, not executable."""
EXECUTABLE_END = REGION1_BASE
"""Instructions can be fetched from `MEMORY_BASE` up to here, exclusive."""

LOADER_FRAME_END = MEMORY_BASE + 0x10
"""The tile loader clobbers the bytes below this while it reads a frame."""
LOADABLE_END = 0xE7BB0
"""The tile loader cannot fill the bytes from here on."""
EXCHANGE_WINDOW = (0x50000, 0x58000)
"""Where host packets and exchange rows arrive in our layout; half open."""
RUNTIME_STATE = (0x58000, 0x5C000)
"""The memory element that holds completion word, supervisor stack and worker scratch; half open."""
WORKER_SCRATCH_SIZE = 0x100
STACK_TOP = RUNTIME_STATE[1] - WORKERS * WORKER_SCRATCH_SIZE
"""The supervisor's stack grows down from here, below the scratch memory of the workers."""

SUPERVISOR_FETCH_AHEAD = 64
"""The supervisor fetches up to this many bytes past the instruction it executes."""

assert MEMORY_END == 0xE8000
