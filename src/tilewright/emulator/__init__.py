"""The emulated chip: tiles that execute machine code, from bytes alone.

- `chip`: all tiles together; `barriers`: who waits for whom; `fabric`: the exchange between tiles
- `images`: what is loaded; `memory`: SRAM of all tiles; `state`: the state of contexts
- `reference`: the reference engine; `kernel`: one kernel on one tile, with NumPy operands
- `inspection`: trace, breakpoints, watchpoints, steps; `disassembly`: code in memory as text
- `snapshots`: memory set aside and put back, for `Chip.save` and `restore`
- `faults`: what emulated code can do wrong
"""
