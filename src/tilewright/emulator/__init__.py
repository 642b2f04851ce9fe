"""The emulated chip: tiles that execute machine code, from bytes alone.

- `chip`: all tiles together; `barriers`: who waits for whom; `fabric`: the exchange between tiles
- `running`: tiles that run alone from barrier to barrier, on an engine that `engines` chooses
- `images`: what is loaded; `memory`: SRAM of all tiles; `state`: the state of contexts
- `records`, `events`: registers, schedules and logs of all tiles, which engines share
- `reference`: the reference engine; `llvm`, `compiled`, `supervised`: compiled code
- `supervisor_time`: when supervisors issue; `kernel`: one kernel on one tile, with NumPy operands
- `inspection`: trace, breakpoints, watchpoints, steps; `disassembly`: code in memory as text
- `snapshots`: memory set aside and put back, for `Chip.save` and `restore`
- `faults`: what emulated code can do wrong
"""
