"""Numeric flags of AMP, SLIC and accumulator instructions, and the sync zones.

The numbers of the TAMP, TSLIC, TSTACC and TISTACC flags are ASSUMED: their names are public, their
values are not. The values here are ours, in this one table, so that the owner of a vendor SDK can
replace them (docs/fidelity.md, `flag-enc`). Sync zones are documented.
"""

from typing import NamedTuple

SYNC_ZONES: dict[str, int] = {
    "RECEIVE": 0,
    "ANS": 1,
    "LOCAL": 2,
    "INTERNAL": 3,
    "GS1": 4,
    "GS1H": 5,
    "GS2": 6,
    "GS2H": 7,
    "GS1_MASTER": 12,
    "GS1H_MASTER": 13,
    "GS2_MASTER": 14,
    "GS2H_MASTER": 15,
}

_ENGINE_CODE = {1: 0, 2: 1, 4: 2}


def amp_flag(engines: int, phase: int) -> int:
    """ASSUMED: phase in bits 2:0, log2 of the number of engines in bits 4:3."""
    return phase + 8 * _ENGINE_CODE[engines]


def amp_parts(flag: int) -> tuple[int, int] | None:
    """(engines, phase) of an AMP flag, None if it is none of `amp_flag`'s."""
    engines = {code: number for number, code in _ENGINE_CODE.items()}.get(flag >> 3)
    return None if engines is None else (engines, flag & 7)


def _amp_flags() -> dict[str, int]:
    flags = {}
    for engines in _ENGINE_CODE:
        # Half and quarter inputs take one phase per engine, single inputs two.
        for name, phases in (("F16V4", engines), ("F8V8", engines), ("F32", 2 * engines)):
            for phase in range(phases):
                flags[f"TAMP_{name}_E{engines}_P{phase}"] = amp_flag(engines, phase)
    return flags


def slic_flag(kernel_width: int, column: int, upper: bool = False) -> int:
    """ASSUMED: weight column in bit 0, kernel width 3 instead of 4 in bit 1, high word in bit 2."""
    return column + 2 * (kernel_width == 3) + 4 * upper


class SlicParts(NamedTuple):
    """What a SLIC flag selects: kernel width, column of the weight store, word of the entry."""

    kernel_width: int
    column: int
    upper: bool


def slic_parts(flag: int) -> SlicParts | None:
    """The parts of a SLIC flag, None if it is none of `slic_flag`'s."""
    if flag >> 3:
        return None
    return SlicParts(3 if flag & 2 else 4, flag & 1, bool(flag & 4))


def _slic_flags() -> dict[str, int]:
    flags = {}
    for width in (4, 3):
        for column in (0, 1):
            stem = f"1x{width}_W{column}"
            flags[f"TSLIC_F16V4_{stem}"] = slic_flag(width, column)
            flags[f"TSLIC_F32_{stem}_L"] = slic_flag(width, column)
            flags[f"TSLIC_F32_{stem}_U"] = slic_flag(width, column, upper=True)
    return flags


ASSUMED_FLAGS: dict[str, int] = {
    **_amp_flags(),
    **_slic_flags(),
    "TSTACC_P0": 0,
    "TSTACC_P1": 1,
    "TISTACC_P0": 0,
    "TISTACC_P1": 1,
}
"""Flag names that kernels use → our values."""
