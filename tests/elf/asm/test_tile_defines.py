"""`tile_defines.h` says what the tables of `tilewright.target` say, and no more."""

import re
from pathlib import Path

import pytest

from tilewright.elf.asm.preprocess import INCLUDE_FOLDER
from tilewright.elf.assembler import assemble_file
from tilewright.target import geometry
from tilewright.target.csr import CSRS, FIELDS, Space
from tilewright.target.flags import ASSUMED_FLAGS, SYNC_ZONES

TEXT = (INCLUDE_FOLDER / "tile_defines.h").read_text("utf-8")


def parsed(text: str) -> dict[str, str]:
    """Name → value of each object-like macro, comments aside."""
    plain = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return dict(re.findall(r"^#define (\w+) (\S+)$", plain, flags=re.MULTILINE))


def numbers(text: str) -> dict[str, int]:
    found = parsed(text)
    return {name: int(value, 0) for name, value in found.items() if not value.startswith('"')}


CONSTANTS = numbers(TEXT)

LETTERS = {
    Space.COMMON: "W",
    Space.WORKER: "W",
    Space.WORKER_UPPER: "W",
    Space.SUPERVISOR: "S",
    Space.WEIGHTS: "C",
}

MEMORY = {
    "CTXT_WORKERS": geometry.WORKERS,
    "TMEM_REGION0_BASE_ADDR": geometry.MEMORY_BASE,
    "TMEM_REGION1_BASE_ADDR": geometry.REGION1_BASE,
    "TMEM_ELEMSIZE": geometry.ELEMENT_SIZE,
    "TMEM_BYTE_MAX_ADDRESS_WIDTH": geometry.ADDRESS_BITS,
    "TMEM_FULL_ADDRESS_MASK": (1 << geometry.ADDRESS_BITS) - 1,
}
COMPARISONS = {
    "TFPU_FP32_TRUE": 0xFFFFFFFF,
    "TFPU_FP32_FALSE": 0,
    "TFPU_FP16_TRUE": 0xFFFF,
    "TFPU_FP16_FALSE": 0,
}
ZONES = {f"TEXCH_SYNCZONE_{name}": zone for name, zone in SYNC_ZONES.items()}
INDICES = {f"CSR_{LETTERS[csr.space]}_{csr.name}__INDEX": csr.index for csr in CSRS.values()}
PLACES = {
    f"CSR_{LETTERS[CSRS[field.register].space]}_{field.register}__{field.name}__{what}": value
    for field in FIELDS
    for what, value in (("SHIFT", field.shift), ("SIZE", field.size), ("MASK", field.mask))
}

TABLES = [MEMORY, COMPARISONS, ZONES, INDICES, PLACES, ASSUMED_FLAGS]


def test_every_constant_is_in_a_table_and_every_table_in_the_header() -> None:
    expected = {name: value for table in TABLES for name, value in table.items()}
    assert expected == CONSTANTS
    assert sum(map(len, TABLES)) == len(CONSTANTS)


def test_no_constant_is_defined_twice() -> None:
    names = re.findall(r"^#define (\w+)", TEXT, flags=re.MULTILINE)
    assert len(names) == len(set(names))


BY_HAND = {
    "CTXT_WORKERS": 6,
    "TEXCH_SYNCZONE_LOCAL": 2,
    "TMEM_REGION0_BASE_ADDR": 0x4C000,
    "TMEM_ELEMSIZE": 16384,
    "TMEM_BYTE_MAX_ADDRESS_WIDTH": 21,
    "TMEM_FULL_ADDRESS_MASK": 0x1FFFFF,
    "CSR_W_WSR__CTXTID_M1__MASK": 7,
    "CSR_W_WSR__CTXTID_M1__SHIFT": 0,
    "CSR_W_FP_CLR__INDEX": 1,
    "CSR_W_FP_CLR__ZAACC__SHIFT": 3,
    "CSR_W_FP_CLR__ZAACC__MASK": 1,
    "CSR_S_FP_ICTL__INDEX": 0x20,
    "CSR_S_FP_ICTL__RND__SHIFT": 16,
    "CSR_S_FP_ICTL__RND__MASK": 7,
    "CSR_S_CCCSLOAD__INDEX": 0x50,
    "CSR_C_CWEI_3_2__INDEX": 14,
}


@pytest.mark.parametrize("name", BY_HAND)
def test_constant_by_hand(name: str) -> None:
    assert CONSTANTS[name] == BY_HAND[name]


def test_names_that_kernels_rely_on() -> None:
    amp = [f"TAMP_F16V4_E4_P{phase}" for phase in range(4)]
    amp += [f"TAMP_F32_E4_P{phase}" for phase in range(8)]
    amp += ["TAMP_F16V4_E1_P0", "TAMP_F16V4_E2_P1", "TAMP_F32_E1_P1", "TAMP_F32_E2_P3"]
    assert {*amp, "TEXCH_SYNCZONE_LOCAL"} <= CONSTANTS.keys()
    # Flags of one operation are told apart, and fit its field of six bits.
    assert len({CONSTANTS[name] for name in amp[:4]}) == 4
    assert len({CONSTANTS[name] for name in amp[4:12]}) == 8
    assert all(0 <= CONSTANTS[name] < 64 for name in amp)


def test_assumed_values_are_marked() -> None:
    """The comment above a group says ASSUMED where the names' values are not public."""
    marked = set()
    for comment, block in re.findall(r"/\*(.*?)\*/([^/]*)", TEXT, flags=re.DOTALL):
        if "ASSUMED:" in comment:
            marked |= set(re.findall(r"#define (\w+)", block))
    assert marked == {*ASSUMED_FLAGS, "FUNCTION_IS_WORKER"}


def test_function_is_worker_is_flags_of_a_section() -> None:
    assert parsed(TEXT)["FUNCTION_IS_WORKER"] == '"ax"'


@pytest.mark.parametrize(
    "header", ["tile_defines.h", "poplar/StackSizeDefs.hpp", "poplar/TileConstants.hpp"]
)
def test_headers_give_constants_and_macros(tmp_path: Path, header: str) -> None:
    path = tmp_path / "main.S"
    path.write_text(
        f'#include "{header}"\n#include "{header}"\n'
        '.section .text.f, "ax", FUNCTION_IS_WORKER\n'
        "f: get $m0, CSR_W_WSR__INDEX\n"
        "DEF_STACK_USAGE 16 f\nDEF_STACK_SIZE_OWN 4, .text.f\n"
    )
    obj = assemble_file(path).object
    records = {each.name: each.data for each in obj.sections if each.name.startswith(".stack")}
    assert records == {".stack_sizes": b"\0\0\0\0\x10", ".stack_sizes.own": b"\0\0\0\0\4"}
