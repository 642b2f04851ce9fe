"""A tile's supervisor code, as bytes.

Rows of the exchange stand in the code, where they run: behind the barrier that starts their time,
at even words.
"""

from functools import lru_cache

from tilewright.isa import FORM_BY_NAME, encode
from tilewright.target.csr import CSRS
from tilewright.target.geometry import RUNTIME_STATE, WORKERS
from tilewright.target.topology import NEUTRAL_MUX

_SCRATCH, _LINK, _STACK = 0, 10, 11
_FIRST_ARGUMENT = 2
_WORKER_SCRATCH = 0x100
_STACK_TOP = RUNTIME_STATE[1] - WORKERS * _WORKER_SCRATCH
_INTERNAL, _INTERNAL_ACKNOWLEDGED = 3, 1
"""Barriers of all tiles: as one that takes part, and as one that has acknowledged already."""
_START = {"FP_ICTL": 0, "INCOMING_MUX": NEUTRAL_MUX, "INCOMING_BASE": 0, "OUTGOING_BASE": 0}
"""Registers that rows and kernels count on."""


class TileCode:
    """Code that grows instruction by instruction, from `address` (a multiple of 8 bytes) on."""

    def __init__(self, address: int) -> None:
        self.address = address
        self._code = bytearray()

    def start(self) -> None:
        """Registers as everything behind expects them."""
        for register, value in _START.items():
            self._put(register, value)
        for worker in range(WORKERS):
            self._put(f"WORKER{worker}_BASE", _STACK_TOP + worker * _WORKER_SCRATCH)
        self._set(_STACK, _STACK_TOP)

    def call(self, target: int, values: tuple[int, ...]) -> None:
        """Call a function with values in `$m2`, `$m3`, …"""
        for number, value in enumerate(values):
            self._set(_FIRST_ARGUMENT + number, value)
        self._add("call m,t20", _LINK, target)

    def exchange(self, row: bytes) -> None:
        """Take part in a phase with a row; without one, let it pass."""
        if not row:
            self._add("sans u19", 0)
            self._add("sync u4", _INTERNAL_ACKNOWLEDGED)
            return
        self._put("INCOMING_DCOUNT", 1)
        if len(self._code) % 8 == 0:
            self._set(_SCRATCH, 1)
        self._add("sync u4", _INTERNAL)
        self._code += row

    def end(self) -> None:
        """Stop."""
        self._add("trap u4", 0)

    def __bytes__(self) -> bytes:
        return bytes(self._code)

    def _put(self, register: str, value: int) -> None:
        self._set(_SCRATCH, value)
        self._add("put c8,m", CSRS[register].index, _SCRATCH)

    def _set(self, register: int, value: int) -> None:
        self._add("setzi m,x20", register, value)

    def _add(self, form: str, *values: int) -> None:
        self._code += _word(form, *values)


@lru_cache(maxsize=65536)
def _word(form: str, *values: int) -> bytes:
    return encode(FORM_BY_NAME[form], values).to_bytes(4, "little")
