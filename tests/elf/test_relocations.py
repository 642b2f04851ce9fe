"""What each relocation type computes, where it writes, and what it refuses."""

import pytest

from tilewright.elf.relocations import RULES, RelocationError, RelocationType, relocation_name

# type, lowest and highest target, step between targets, width in bytes
LIMITS = [
    (RelocationType.ABS_8, 0, 0xFF, 1),
    (RelocationType.ABS_16, 0, 0xFFFF, 1),
    (RelocationType.ABS_20, 0, 0xFFFFF, 1),
    (RelocationType.ABS_32, 0, 0xFFFFFFFF, 1),
    (RelocationType.ABS_64, 0, 0xFFFFFFFF_FFFFFFFF, 1),
    (RelocationType.RELATIVE_16_S2, 0x4C000, 0x8BFFC, 4),
    (RelocationType.ABS_18_S2, 0, 0xFFFFC, 4),
    (RelocationType.ABS_19_S2, 0, 0x1FFFFC, 4),
    (RelocationType.RUN, 0x4C000, 0x8BFFC, 4),
    (RelocationType.ABS_16_S3, 0, 0x7FFF8, 8),
    (RelocationType.ABS_16_S4, 0, 0xFFFF0, 16),
    (RelocationType.ABS_16_S5, 0, 0x1FFFE0, 32),
    (RelocationType.ABS_21, 0, 0x1FFFFF, 1),
]
LIMIT_IDS = [each[0].name for each in LIMITS]

# type, bytes before, target, bytes after; words are written as numbers
WORDS = [
    (RelocationType.ABS_20, 0xFFF00000, 0xABCDE, 0xFFFABCDE),
    (RelocationType.ABS_20, 0x19000000, 0x42000, 0x19042000),
    (RelocationType.ABS_20, 0x19000000, 0xFFFFF, 0x190FFFFF),
    (RelocationType.ABS_20, 0xFFFFFFFF, 0, 0xFFF00000),
    (RelocationType.ABS_32, 0xFFFFFFFF, 0x12345678, 0x12345678),
    (RelocationType.ABS_18_S2, 0xFFFC0000, 0xFFFFC, 0xFFFFFFFF),
    (RelocationType.ABS_18_S2, 0xFFFFFFFF, 0, 0xFFFC0000),
    (RelocationType.ABS_19_S2, 0xFFF80000, 0x50120, 0xFFF94048),
    (RelocationType.ABS_19_S2, 0x18A00000, 0x1FFFFC, 0x18A7FFFF),
    (RelocationType.ABS_19_S2, 0xFFFFFFFF, 0, 0xFFF80000),
    (RelocationType.RUN, 0xFFF0F000, 0x50000, 0xFFF1F000),
    (RelocationType.RUN, 0x14000000, 0x4C000, 0x14000000),
    (RelocationType.RUN, 0x14000000, 0x4C004, 0x14000001),
    (RelocationType.RUN, 0x14000000, 0x50000, 0x14010000),
    (RelocationType.RUN, 0x14000000, 0x508D0, 0x14010234),
    (RelocationType.RUN, 0x14000000, 0x883C0, 0x140F00F0),
    (RelocationType.RUN, 0x14000000, 0x8BFFC, 0x140F0FFF),
    (RelocationType.ABS_21, 0, 0x7AE40, 0x0007AE40),
    (RelocationType.ABS_21, 0xFFE00000, 0x1FFFFF, 0xFFFFFFFF),
    (RelocationType.ABS_21, 0xFFFFFFFF, 0, 0xFFE00000),
]

# type, target, the bytes written
SHORTS = [
    (RelocationType.ABS_8, 0x45, "45"),
    (RelocationType.ABS_8, 0xFF, "ff"),
    (RelocationType.ABS_16, 0, "0000"),
    (RelocationType.ABS_16, 1, "0100"),
    (RelocationType.ABS_16, 0x45, "4500"),
    (RelocationType.ABS_16, 0x1234, "3412"),
    (RelocationType.ABS_16, 0xFFFF, "ffff"),
    (RelocationType.RELATIVE_16_S2, 0x508D0, "3412"),
    (RelocationType.RELATIVE_16_S2, 0x8BFFC, "ffff"),
    (RelocationType.ABS_16_S3, 0x7FFF8, "ffff"),
    (RelocationType.ABS_16_S3, 0x4C018, "0398"),
    (RelocationType.ABS_16_S4, 0x4C010, "014c"),
    (RelocationType.ABS_16_S5, 0x80020, "0140"),
    (RelocationType.ABS_64, 0x0102030405060708, "0807060504030201"),
]


def apply(type: RelocationType, data: bytes, target: int) -> bytes:
    out = bytearray(b"\xaa" + data + b"\xaa")
    RULES[type].apply(out, 1, target)
    assert (out[0], out[-1]) == (0xAA, 0xAA)
    return bytes(out[1:-1])


@pytest.mark.parametrize(("type", "before", "target", "after"), WORDS)
def test_word_fields(type: RelocationType, before: int, target: int, after: int) -> None:
    assert apply(type, before.to_bytes(4, "little"), target) == after.to_bytes(4, "little")


@pytest.mark.parametrize(("type", "target", "after"), SHORTS)
@pytest.mark.parametrize("fill", [0x00, 0xFF])
def test_whole_fields(type: RelocationType, target: int, after: str, fill: int) -> None:
    written = bytes.fromhex(after)
    assert apply(type, bytes([fill]) * len(written), target) == written


@pytest.mark.parametrize(("type", "low", "high", "step"), LIMITS, ids=LIMIT_IDS)
def test_range(type: RelocationType, low: int, high: int, step: int) -> None:
    rule = RULES[type]
    count = (high - low) // step
    assert [rule.value(low), rule.value(low + step)] == [0, 1]
    assert [rule.value(high - step), rule.value(high)] == [count - 1, count]
    for outside in (low - step, high + step):
        with pytest.raises(RelocationError, match=f"reaches {low:#x} to {high:#x}, got"):
            rule.value(outside)


@pytest.mark.parametrize(("type", "low", "high", "step"), [each for each in LIMITS if each[3] > 1])
def test_alignment(type: RelocationType, low: int, high: int, step: int) -> None:
    for excess in range(1, step):
        for target in (low + excess, high - step + excess):
            with pytest.raises(RelocationError, match=f"aligned to {step} bytes, got {target:#x}"):
                RULES[type].value(target)


def test_a_refused_value_leaves_the_data_alone() -> None:
    data = bytearray(b"\xff" * 4)
    with pytest.raises(RelocationError):
        RULES[RelocationType.ABS_19_S2].apply(data, 0, 0x200000)
    assert data == b"\xff" * 4


def test_alignment_is_that_of_the_address_not_of_its_distance_from_the_base() -> None:
    with pytest.raises(RelocationError, match="RUN needs an address aligned to 4 bytes"):
        RULES[RelocationType.RUN].value(0x4C002)


def test_every_assigned_type_has_a_rule() -> None:
    assert sorted(RULES) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15, 16, 17]


def test_names() -> None:
    assert [relocation_name(number) for number in (0, 4, 8, 9, 12)] == [
        "NONE",
        "32",
        "19_S2",
        "RUN",
        "type 12",
    ]
