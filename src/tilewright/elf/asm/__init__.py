"""The assembler's parts; `tilewright.elf.assembler` is the way in.

Data flows one way: `preprocess` and `source` make lines, `macros` and `conditionals` expand them,
`directives` and `instructions` turn statements into bytes and fixups in `sections`, and `finish`
resolves what had to wait for the end of the file.
"""
