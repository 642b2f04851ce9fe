"""The emulated chip: tiles that execute machine code, from bytes alone.

- `images`: what is loaded; `memory`: SRAM of all tiles; `state`: the state of contexts
- `reference`: the reference engine; `kernel`: one kernel on one tile, with NumPy operands
- `faults`: what emulated code can do wrong
"""
