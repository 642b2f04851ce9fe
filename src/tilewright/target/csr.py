"""The control and status registers of a tile, by name, and the fields inside them.

Evidence: names and indices marked DOCUMENTED are public (assembler tests for IPU21);
FIRST_GENERATION ones come from notes on the first generation's headers and boot code, and several
are known to work on IPU21. Field positions are first-generation header constants
(docs/fidelity.md).
"""

from dataclasses import dataclass
from enum import Enum


class Space(Enum):
    """Which instructions reach a register."""

    COMMON = "both modes"
    """`get`/`put` of either mode."""
    WORKER = "worker"
    """`get`/`put` in worker code."""
    WORKER_UPPER = "worker (upper space)"
    """`uget`/`uput`; the index counts from 0x100."""
    SUPERVISOR = "supervisor"
    """`get`/`put` in supervisor code."""
    WEIGHTS = "weight store"
    """`ld64putcs`/`ld128putcs`."""


class CsrEvidence(Enum):
    """How a name and its index are known."""

    DOCUMENTED = "documented"
    FIRST_GENERATION = "first generation"


@dataclass(frozen=True, slots=True)
class Csr:
    """A register: `index` is what the instruction's 8-bit field holds."""

    name: str
    index: int
    space: Space
    evidence: CsrEvidence


@dataclass(frozen=True, slots=True)
class CsrField:
    """Bits of a register: `size` bits from bit `shift` up."""

    register: str
    name: str
    shift: int
    size: int

    @property
    def mask(self) -> int:
        """The field's mask, not shifted."""
        return (1 << self.size) - 1


def _documented(space: Space, **indices: int) -> list[Csr]:
    return [Csr(name, index, space, CsrEvidence.DOCUMENTED) for name, index in indices.items()]


def _first_generation(space: Space, **indices: int) -> list[Csr]:
    evidence = CsrEvidence.FIRST_GENERATION
    return [Csr(name, index, space, evidence) for name, index in indices.items()]


WEIGHT_ROWS, WEIGHT_COLUMNS = 16, 4
"""The weight store has 16 × 4 entries of 64 bits; CWEI_m_n is entry 4m + n."""

_ALL: list[Csr] = [
    *_documented(Space.COMMON, PC=0, DBG_DATA=0x70, DBG_BRK_ID=0x71),
    *_documented(
        Space.WORKER,
        WSR=1,
        VERTEX_BASE=2,
        WORKER_BASE=3,
        REPEAT_COUNT=4,
        REPEAT_FIRST=5,
        REPEAT_END=6,
        COUNT_L=0x60,
        COUNT_U=0x61,
    ),
    *_documented(
        Space.WORKER_UPPER,
        FP_STS=0,
        FP_CLR=1,
        FP_CTL=2,
        PRNG_0_0=3,
        PRNG_0_1=4,
        PRNG_1_0=5,
        PRNG_1_1=6,
        PRNG_SEED=7,
        TAS=8,
        FP_NFMT=9,
        FP_SCL=10,
    ),
    *_documented(
        Space.SUPERVISOR, FP_ICTL=0x20, FP_INFMT=0x31, FP_ISCL=0x33, CCCSLOAD=0x50, CTXT_STS=0x72
    ),
    *_documented(
        Space.WEIGHTS,
        **{
            f"CWEI_{row}_{column}": WEIGHT_COLUMNS * row + column
            for row in range(WEIGHT_ROWS)
            for column in range(WEIGHT_COLUMNS)
        },
    ),
    *_first_generation(
        Space.SUPERVISOR,
        SSR=1,
        CR=2,
        TILE_ID=3,
        **{f"WORKER{worker}_BASE": 0x21 + worker for worker in range(6)},
        SCOUNT_L=0x60,
        SCOUNT_U=0x61,
        DBG_CTL=0x73,
        DBG_ECSR=0x74,
        DBG_ECLR=0x75,
        DBG_IBRK0_CTL=0x80,
        DBG_IBRK0_PC=0x81,
        DBG_IBRK0_VERT=0x82,
        DBG_DBRK0_CTL=0x90,
        DBG_DBRK0_BASE=0x91,
        DBG_DBRK0_SIDA=0x92,
        INCOMING_MUX=0xA0,
        INCOMING_MUXPAIR=0xA1,
        INCOMING_DELTA=0xA2,
        INCOMING_FORMAT=0xA3,
        INCOMING_BASE=0xA4,
        INCOMING_SINIT=0xA5,
        INCOMING_DCOUNT=0xA6,
        OUTGOING_BASE=0xA7,
        OUTGOING_DELTA=0xA8,
        EXCHANGE_CTL=0xA9,
        ANS_DCOUNT=0xAA,
        EXCHANGE_ADJ=0xAB,
    ),
]

CSRS: dict[str, Csr] = {csr.name: csr for csr in _ALL}
"""Name (without `$`) → register. Names are unique across spaces."""

assert len(CSRS) == len(_ALL)


def _fields(register: str, **places: tuple[int, int]) -> list[CsrField]:
    return [CsrField(register, name, shift, size) for name, (shift, size) in places.items()]


_FLOAT_CONTROL = {"INV": (0, 1), "DIV0": (1, 1), "OFLO": (2, 1), "RND": (16, 3), "ESR": (19, 1)} | {
    "NANOO": (20, 1)
}

FIELDS: tuple[CsrField, ...] = (
    *_fields("WSR", CTXTID_M1=(0, 3), ETYPE=(4, 4), ERPT=(9, 1)),
    *_fields("FP_STS", INV=(0, 1), DIV0=(1, 1), OFLO=(2, 1)),
    *_fields("FP_CLR", INV=(0, 1), DIV0=(1, 1), OFLO=(2, 1), ZAACC=(3, 1)),
    *_fields("FP_CTL", **_FLOAT_CONTROL),
    *_fields("TAS", F16_0=(0, 16), F16_16=(16, 16)),
    *_fields("FP_NFMT", CWEI_FMT=(0, 1), ARF_FMT=(1, 1)),
    *_fields("FP_SCL", SCALE=(0, 6)),
    *_fields("FP_ICTL", **_FLOAT_CONTROL),
    *_fields("FP_INFMT", CWEI_FMT=(0, 1), ARF_FMT=(1, 1)),
    *_fields("FP_ISCL", SCALE=(0, 6)),
    *_fields("SSR", LC=(0, 1), GC=(1, 1), ANS=(2, 1), RAERR=(3, 1), ETYPE=(4, 4), PERR=(9, 1)),
    *_fields("CR", LC_CLR=(0, 1), LC_SET=(1, 1), ZCWEI=(2, 1)),
    *_fields("TILE_ID", TILE_ID=(0, 11)),
    *_fields("INCOMING_MUX", MUX=(0, 11)),
    *_fields("INCOMING_FORMAT", FORMAT=(0, 2)),
    *_fields("INCOMING_DCOUNT", DCOUNT=(0, 17)),
    *_fields("EXCHANGE_CTL", ACTV=(0, 1), SEV=(1, 1), SWV=(2, 1), S64=(3, 1), ATMC=(4, 1)),
    *_fields("ANS_DCOUNT", DCOUNT=(0, 19)),
    *_fields("EXCHANGE_ADJ", COFF=(0, 4), SEWS=(4, 1)),
)
"""The fields of registers that software sets or reads; unlisted bits read 0."""


def space_letter(csr: Csr) -> str:
    """The letter of `CSR_<letter>_<NAME>__INDEX` constants: W, S or C (common compute store)."""
    match csr.space:
        case Space.SUPERVISOR:
            return "S"
        case Space.WEIGHTS:
            return "C"
        case _:
            return "W"
