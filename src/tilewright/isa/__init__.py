"""The IPU21 instruction set as one table, and everything that is derived from it.

`instructions.txt` has one line per instruction form. What each instruction does is stated in
`tilewright.isa.meaning`, once, by mnemonic.

- forms: `FORMS`, `FORM_BY_NAME`, `Form`, `Operand`, `Field`, `Kind`, `Lane`, `Mode`, `Evidence`
- words: `encode`, `encode_words`, `decode`, `decode_words`, `Instruction`, `UNKNOWN`, `COISSUE`,
  `EncodingError`
- the second word of `sendpicp`: `CONTROL_SOURCE`, `CONTROL_POINTER`, `CONTROL_IS_PAIRED`
- bundles: `bundle_faults`, `written_registers`
- text: `instruction_text`, `SPELLINGS`, `Spelling`, `spelling_of`
- registers: `parse_register`, `register_name`, `RegisterError`
"""

from tilewright.isa.bundles import bundle_faults, written_registers
from tilewright.isa.codec import UNKNOWN, Instruction, decode, decode_words, encode, encode_words
from tilewright.isa.controls import CONTROL_IS_PAIRED, CONTROL_POINTER, CONTROL_SOURCE
from tilewright.isa.fields import Field
from tilewright.isa.forms import (
    COISSUE,
    EncodingError,
    Evidence,
    Form,
    Kind,
    Lane,
    Mode,
    Operand,
)
from tilewright.isa.registers import RegisterError, parse_register, register_name
from tilewright.isa.spellings import SPELLINGS, Spelling, instruction_text, spelling_of
from tilewright.isa.table import FORM_BY_NAME, FORMS

__all__ = [
    "COISSUE",
    "CONTROL_IS_PAIRED",
    "CONTROL_POINTER",
    "CONTROL_SOURCE",
    "FORMS",
    "FORM_BY_NAME",
    "SPELLINGS",
    "UNKNOWN",
    "EncodingError",
    "Evidence",
    "Field",
    "Form",
    "Instruction",
    "Kind",
    "Lane",
    "Mode",
    "Operand",
    "RegisterError",
    "Spelling",
    "bundle_faults",
    "decode",
    "decode_words",
    "encode",
    "encode_words",
    "instruction_text",
    "parse_register",
    "register_name",
    "spelling_of",
    "written_registers",
]
