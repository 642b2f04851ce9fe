"""Control registers: a sample of the names, indices and fields by hand."""

import pytest

from tilewright.target.csr import CSRS, FIELDS, CsrEvidence, Space, space_letter

SAMPLE = [
    ("PC", 0, Space.COMMON),
    ("DBG_DATA", 112, Space.COMMON),
    ("DBG_BRK_ID", 113, Space.COMMON),
    ("WSR", 1, Space.WORKER),
    ("REPEAT_END", 6, Space.WORKER),
    ("COUNT_L", 96, Space.WORKER),
    ("COUNT_U", 97, Space.WORKER),
    ("FP_STS", 0, Space.WORKER_UPPER),
    ("FP_CLR", 1, Space.WORKER_UPPER),
    ("PRNG_SEED", 7, Space.WORKER_UPPER),
    ("TAS", 8, Space.WORKER_UPPER),
    ("FP_SCL", 10, Space.WORKER_UPPER),
    ("FP_ICTL", 32, Space.SUPERVISOR),
    ("FP_INFMT", 49, Space.SUPERVISOR),
    ("FP_ISCL", 51, Space.SUPERVISOR),
    ("CCCSLOAD", 80, Space.SUPERVISOR),
    ("CTXT_STS", 114, Space.SUPERVISOR),
    ("INCOMING_MUX", 0xA0, Space.SUPERVISOR),
    ("OUTGOING_BASE", 0xA7, Space.SUPERVISOR),
    ("WORKER5_BASE", 0x26, Space.SUPERVISOR),
    ("CWEI_0_3", 3, Space.WEIGHTS),
    ("CWEI_9_2", 38, Space.WEIGHTS),
    ("CWEI_15_3", 63, Space.WEIGHTS),
]


@pytest.mark.parametrize(("name", "index", "space"), SAMPLE)
def test_index_and_space(name: str, index: int, space: Space) -> None:
    assert (CSRS[name].index, CSRS[name].space) == (index, space)


def test_spaces_hold_what_is_documented() -> None:
    documented: dict[Space, int] = {}
    for csr in CSRS.values():
        if csr.evidence is CsrEvidence.DOCUMENTED:
            documented[csr.space] = documented.get(csr.space, 0) + 1
    assert documented == {
        Space.COMMON: 3,
        Space.WORKER: 8,
        Space.WORKER_UPPER: 11,
        Space.SUPERVISOR: 5,
        Space.WEIGHTS: 64,
    }


def test_an_index_names_one_register_of_what_an_instruction_reaches() -> None:
    for space in (Space.WORKER, Space.SUPERVISOR, Space.WORKER_UPPER, Space.WEIGHTS):
        # `get` and `put` reach the common registers too.
        shares = (Space.COMMON,) if space in (Space.WORKER, Space.SUPERVISOR) else ()
        indices = [csr.index for csr in CSRS.values() if csr.space in (space, *shares)]
        assert len(set(indices)) == len(indices)
        assert all(0 <= index < 256 for index in indices)


PLACES = {
    ("WSR", "CTXTID_M1"): (0, 3),
    ("WSR", "ETYPE"): (4, 4),
    ("WSR", "ERPT"): (9, 1),
    ("FP_CLR", "ZAACC"): (3, 1),
    ("FP_ICTL", "INV"): (0, 1),
    ("FP_ICTL", "RND"): (16, 3),
    ("FP_CTL", "ESR"): (19, 1),
    ("FP_CTL", "NANOO"): (20, 1),
    ("TAS", "F16_16"): (16, 16),
    ("FP_NFMT", "ARF_FMT"): (1, 1),
    ("FP_SCL", "SCALE"): (0, 6),
    ("CR", "ZCWEI"): (2, 1),
    ("TILE_ID", "TILE_ID"): (0, 11),
    ("INCOMING_DCOUNT", "DCOUNT"): (0, 17),
    ("EXCHANGE_CTL", "S64"): (3, 1),
}


def test_places_of_fields() -> None:
    found = {(each.register, each.name): (each.shift, each.size) for each in FIELDS}
    assert {key: found[key] for key in PLACES} == PLACES


def test_fields_lie_in_their_register_and_do_not_overlap() -> None:
    used: dict[str, int] = {}
    for each in FIELDS:
        assert each.register in CSRS
        bits = each.mask << each.shift
        assert 0 < bits < 1 << 32
        assert not used.get(each.register, 0) & bits
        used[each.register] = used.get(each.register, 0) | bits


def test_masks_are_not_shifted() -> None:
    masks = {(each.register, each.name): each.mask for each in FIELDS}
    assert masks["FP_CTL", "RND"] == 7
    assert masks["WSR", "CTXTID_M1"] == 7
    assert masks["TAS", "F16_16"] == 0xFFFF


def test_letters_of_spaces() -> None:
    letters = {name: space_letter(CSRS[name]) for name in ("WSR", "FP_CLR", "FP_ICTL", "CWEI_1_1")}
    assert letters == {"WSR": "W", "FP_CLR": "W", "FP_ICTL": "S", "CWEI_1_1": "C"}
    assert space_letter(CSRS["PC"]) == "W"
