"""Faults of emulated code: one class per kind of exception of the chip, and our own stricter ones.

Numbers and names of the chip's exceptions are documented; which cause raises which is assumed for
most of them (`etype-map`, docs/fidelity.md).
"""

from typing import ClassVar

from tilewright.errors import TilewrightError


class TileFault(TilewrightError):
    """An instruction that raised an exception. It has changed nothing.

    `number` is what ETYPE of the context's status register shows.
    """

    number: ClassVar[int] = 0
    name: ClassVar[str] = "NONE"
    is_debug: ClassVar[bool] = False

    def __init__(self, cause: str, place: str = "") -> None:
        self.cause = cause
        self.place = place
        super().__init__(f"{place}: {self.name}: {cause}" if place else f"{self.name}: {cause}")

    def at(self, place: str) -> "TileFault":
        """The same fault with the place where it happened."""
        return type(self)(self.cause, place)


class RetirementBreakFault(TileFault):
    """The debug port asked the context to stop."""

    number, name, is_debug = 1, "RBRK", True


class Break0Fault(TileFault):
    """`trap` with an even number."""

    number, name, is_debug = 2, "PBRK0", True


class Break1Fault(TileFault):
    """`trap` with an odd number."""

    number, name, is_debug = 3, "PBRK1", True


class FloatFault(TileFault):
    """A floating-point exception that the context has enabled."""

    number, name = 5, "FP"


class ConflictFault(TileFault):
    """Two accesses of one instruction in one memory element."""

    number, name = 6, "CONFLICT"


class ExchangeConfigurationFault(TileFault):
    """Exchange or synchronisation set up in a way that the chip refuses."""

    number, name = 7, "EXCONF"


class AddressFault(TileFault):
    """A data address that is misaligned, outside tile memory or in the wrong region."""

    number, name = 8, "INVALID_ADDR"


class OperandFault(TileFault):
    """Operands that an instruction does not allow, or a control register that is not there."""

    number, name = 9, "INVALID_OP"


class ProgramCounterFault(TileFault):
    """An instruction address that is misaligned, outside memory or not executable."""

    number, name = 10, "INVALID_PC"


class InstructionFault(TileFault):
    """A word that is no instruction, of the other mode, or not allowed in a repeat body."""

    number, name = 12, "INVALID_INSTR"


# Of the exchange between tiles. They come up when the words of a phase are moved, after the rows
# that caused them have run, so they carry a tile and an event instead of a place in the code.


class ExchangeFault(TilewrightError):
    """An exchange that the chip reports, or that only looks as if it worked.

    `tile` is a physical id, `event` counts cycles of its row from 1 (None: of no single event) and
    `pc` is the address of the instruction, where one is known. `number` is what ETYPE shows and
    `receive_error` the code in CTXT_STS; both are 0 for what only the emulator notices. `others`
    are the further faults of the same phase.

    The instruction is of tile `code_tile`, the partner if that has set the sources of both; `code`
    tells it as text, with its symbol and source line, as far as they are known.
    """

    number: ClassVar[int] = 0
    receive_error: ClassVar[int] = 0
    name: ClassVar[str] = "EXCHANGE"

    def __init__(
        self, cause: str, *, tile: int, event: int | None = None, pc: int | None = None
    ) -> None:
        self.cause = cause
        self.tile = tile
        self.event = event
        self.pc = pc
        self.code_tile = tile
        self.code = ""
        self.others: tuple[ExchangeFault, ...] = ()
        super().__init__(cause)

    def __str__(self) -> str:
        where = f"tile {self.tile}"
        if self.event is not None:
            where += f", event {self.event}"
        if self.pc is not None:
            where += f", pc {self.pc:#x}"
        of = f" of tile {self.code_tile}" if self.code and self.code_tile != self.tile else ""
        more = f" (and {len(self.others)} more faults in this phase)" if self.others else ""
        return f"{where}: {self.name}: {self.cause}{self.code}{of}{more}"


class MuxRangeFault(ExchangeFault):
    """A source that is no tile, no endpoint of the host and not neutral."""

    number, name = 7, "EXCONF"


class ExternalMuxFault(ExchangeFault):
    """An endpoint of the host selected in a phase between tiles."""

    number, name = 7, "EXCONF"


class InternalMuxFault(ExchangeFault):
    """A barrier with the host while a tile listens to another tile."""

    number, name = 7, "EXCONF"


class ReceiveCountFault(ExchangeFault):
    """More words from the host than INCOMING_DCOUNT announced."""

    number, name = 7, "EXCONF"


class PairedMuxClashFault(ExchangeFault):
    """A paired write of sources meets a write of the partner's own."""

    number, name = 7, "EXCONF"


class SharedControlFault(ExchangeFault):
    """A paired source or a format set in the same event as another control."""

    number, name = 7, "EXCONF"


class FormatValueFault(ExchangeFault):
    """An incoming format that does not exist."""

    number, name = 7, "EXCONF"


class SendAddressFault(ExchangeFault):
    """A send from a misaligned address or from outside tile memory."""

    number, name = 8, "INVALID_ADDR"


class SendConflictFault(ExchangeFault):
    """A send from a memory element that holds the code of the row."""

    number, name = 6, "CONFLICT"


class ReceiveClashFault(ExchangeFault):
    """A word written to a memory element that a send reads."""

    number, receive_error, name = 13, 1, "EXERR CLASH_INSTR"


class ReceiveFetchClashFault(ExchangeFault):
    """A word written to a memory element that holds the code of the row."""

    number, receive_error, name = 13, 2, "EXERR CLASH_IFETCH"


class ReceiveAddressFault(ExchangeFault):
    """A word for a misaligned address or one outside tile memory."""

    number, receive_error, name = 13, 3, "EXERR ADDR"


class ReceiveWorkersFault(ExchangeFault):
    """A tile waits for words of the host while its workers run."""

    number, receive_error, name = 13, 4, "EXERR WORKERS"


class ReceiveConfigurationFault(ExchangeFault):
    """An item of one size for a receiver that is set up for the other."""

    number, receive_error, name = 13, 6, "EXERR CONF"


class PairingFault(ExchangeFault):
    """A 64-bit item that does not reach both members of a pair, each from its own lane."""

    number, receive_error, name = 13, 6, "EXERR CONF"


class ReceiveModeFault(ExchangeFault):
    """An incoming format changed while items of the other size were on their way to memory."""

    number, receive_error, name = 13, 7, "EXERR MODI"


class SilentBusFault(ExchangeFault):
    """A tile listens while nothing is sent to it; it writes zeros (assumed, `silent-bus`)."""

    name = "SILENT"


class ConnectedAtStartFault(ExchangeFault):
    """A phase starts while a tile listens to something, or has a 64-bit format."""

    name = "CONNECTED_AT_START"


class ConnectedAtEndFault(ExchangeFault):
    """A row ends while its tile listens to something, or has a 64-bit format."""

    name = "CONNECTED_AT_END"


class ShortRowFault(ExchangeFault):
    """A row that ends before its words have left, or have reached memory."""

    name = "SHORT_ROW"


class ReceiveOverlapFault(ExchangeFault):
    """Two items that would be written in one event."""

    name = "OVERLAP"


class LentLaneFault(ExchangeFault):
    """The partner of a tile that sends 64-bit items does not lend it its lane."""

    name = "LENT_LANE"


class UnsettledReadFault(ExchangeFault):
    """A send reads a word while it is on its way from the exchange to memory."""

    name = "UNSETTLED_READ"


class NoStreamFault(ExchangeFault):
    """A row goes on with a stream that it has not started."""

    name = "NO_STREAM"


class RowOriginFault(ExchangeFault):
    """A row that starts at another distance from the barrier than those of other tiles."""

    name = "ROW_ORIGIN"


class OutsidePhaseFault(ExchangeFault):
    """Exchange instructions that no barrier of all tiles precedes."""

    name = "OUTSIDE_PHASE"


# Of packets between tiles and the host. The chip reports few of them: its exchange blocks note some
# in registers of their own, and the host waits in vain for the rest.


class UnexpectedRequestFault(ExchangeFault):
    """A request that the host does not expect: of a tile that owns nothing, or has not said so at
    the barrier, or has sent one already."""

    name = "UNEXPECTED_XREQ"


class MissingRequestFault(ExchangeFault):
    """Packets of a tile for which no owner has asked, or an owner that has not asked at all."""

    name = "NO_XREQ"


class PacketFault(ExchangeFault):
    """Words sent to the host that are no packet."""

    name = "MALFORMED_PACKET"


class PacketDirectionFault(ExchangeFault):
    """Words sent to the host with another direction control than that for both directions."""

    name = "HOST_DIRECTION"


class HostMuxFault(ExchangeFault):
    """Packets of a tile that does not listen to its endpoint of the host."""

    number, name = 7, "EXCONF"


class HostControlFault(ExchangeFault):
    """Controls of a receiver in a phase with the host, where packets say where words go."""

    name = "HOST_CONTROL"


class PacketWindowFault(ExchangeFault):
    """A read whose words would land outside the window for packets (`packet-window`)."""

    name = "PACKET_WINDOW"


class PageCrossingFault(ExchangeFault):
    """A packet that crosses the end of a page of host memory."""

    name = "PAGE_CROSSING"


class PageFault(ExchangeFault):
    """A packet for host memory that is not attached, or beyond what can be."""

    name = "PAGE_NOT_ATTACHED"


class UnawaitedWordsFault(ExchangeFault):
    """A tile comes to a barrier while words of the host are on their way to it."""

    name = "UNAWAITED"


class HostRaceFault(ExchangeFault):
    """Packets of one time for the same host memory, of which one writes: their order is open."""

    name = "HOST_RACE"


class PayloadIntervalFault(ExchangeFault):
    """A payload that is followed too soon (`payload-interval`)."""

    name = "PAYLOAD_INTERVAL"


class StreamEndFault(ExchangeFault):
    """A stream of packets that its last read does not end, or that goes on after its end."""

    name = "STREAM_END"
