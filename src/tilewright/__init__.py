"""tilewright: an open toolchain for Graphcore IPU21 processors.

The rooms, in the order in which data passes (docs/architecture.md):

- `tilewright.target`: facts about the chip
- `tilewright.isa`: the instruction set as one table; encode, decode, print
- `tilewright.elf`: assembler, disassembler, Colossus objects, linker
- `tilewright.cli`: the `tilewright` command
"""

__version__ = "0.1.0"
