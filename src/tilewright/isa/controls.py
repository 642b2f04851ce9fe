"""The second word of `sendpicp`: the values of both controls.

Evidence: rows of the vendor's compiler. One sheet gives bits 31:18 to the source; bit 31 selects
whether the source is set for the pair.
"""

from tilewright.isa.fields import Field

CONTROL_IS_PAIRED = Field.parse("31")
CONTROL_SOURCE = Field.parse("30:18")
CONTROL_POINTER = Field.parse("17:0")
