"""A device as the driver meets it, emulated: a space of registers, some of which do something."""

import numpy as np
from numpy.typing import NDArray

from tilewright.driver import registers
from tilewright.driver.emulated.auto_loader import AutoLoader
from tilewright.driver.emulated.chip_side import ChipSide
from tilewright.driver.emulated.clock import ACCESS_SECONDS, EmulatedClock
from tilewright.driver.emulated.tile_loader import TileLoaders
from tilewright.driver.errors import TransportError
from tilewright.driver.registers import SyncGroup
from tilewright.driver.transport import MAILBOX_WORDS
from tilewright.emulator.engines import Engine
from tilewright.target.debug import NOT_QUIESCENT, DebugRegister
from tilewright.target.geometry import TILES
from tilewright.target.host import CONFIGURATION_SPACE, HOST_PAGE, HOST_SPACE, LOADER_BATCH_TILES

ENGINES = tuple(each.value for each in Engine)
"""Names of what can execute code."""
_WORD = 4
_WORD_MASK = 0xFFFFFFFF
_GROUPS = {group.control: group for group in SyncGroup}
"""The groups of host sync, by the registers of their marks."""


class EmulatedTransport:
    """A device of `tiles` tiles, whole rows of them, that is reset; with any tile loader.

    Registers without a meaning here keep what is written to them. `engine` names one of
    `Engine`, `threads` is as for `Chip`.
    """

    may_recover = False

    def __init__(
        self,
        tiles: int = TILES,
        *,
        engine: str = Engine.LLVM.value,
        threads: int | None = None,
    ) -> None:
        if not 0 < tiles <= TILES or tiles % LOADER_BATCH_TILES:
            raise TransportError(
                f"a device of {tiles} tiles; there can be 1 to {TILES // LOADER_BATCH_TILES} rows "
                f"of {LOADER_BATCH_TILES}"
            )
        self.tiles = tiles
        self.clock = EmulatedClock()
        self._engine, self._threads = Engine(engine), threads
        self._is_attached = self._is_closed = False
        self._pages: dict[int, NDArray[np.uint8]] = {}
        self._chip = self._new_chip()
        self._reset()

    def _new_chip(self) -> ChipSide:
        self._is_untouched = True
        return ChipSide(self.tiles, self._engine, self._threads, self.clock)

    def _reset(self) -> None:
        self._words = np.zeros(CONFIGURATION_SPACE // _WORD, np.uint32)
        if not self._is_untouched:
            self._chip = self._new_chip()
            for index, memory in self._pages.items():
                self._chip.attach(index, memory)
        self._auto_loader = AutoLoader(self.tiles, self._install_loader, self._begin_loading)
        self._loaders: TileLoaders | None = None

    # -- registers ------------------------------------------------------------------------------

    def read(self, offset: int) -> int:
        self._check(offset)
        self.clock.sleep(ACCESS_SECONDS)
        if offset in registers.TILE_WINDOW:
            return self._read_tile(*registers.tile_of(offset))
        if offset in _GROUPS:
            return self._mark(_GROUPS[offset])
        if offset == registers.AUTO_LOADER_CONTROL:
            return self._auto_loader.control
        return int(self._words[offset // _WORD])

    def write(self, offset: int, value: int) -> None:
        self._check(offset)
        if not 0 <= value <= _WORD_MASK:
            raise TransportError(f"{value:#x} for register {offset:#x}: registers are words")
        if offset in registers.TILE_WINDOW:
            self._write_tile(*registers.tile_of(offset), value)
            return
        self._words[offset // _WORD] = value
        if offset in _GROUPS:
            self._set_mark(_GROUPS[offset], value & registers.MARK_MASK)
            return
        match offset:
            case registers.AUTO_LOADER_CONTROL:
                self._auto_loader.command(value)
            case registers.AUTO_LOADER_TARGET:
                self._auto_loader.target = value
            case registers.AUTO_LOADER_DATA:
                self._auto_loader.push(value)

    def _check(self, offset: int) -> None:
        self._check_open()
        if not self._is_attached:
            raise TransportError("registers are for the process that has attached to the device")
        if offset % _WORD or not 0 <= offset < CONFIGURATION_SPACE:
            raise TransportError(f"there is no register at {offset:#x}")

    def _mark(self, group: SyncGroup) -> int:
        if group is SyncGroup.LOADER and self._loaders is not None and not self._loaders.is_done:
            return self._loaders.mark
        self._chip.advance()
        return self._chip.mark(group)

    def _set_mark(self, group: SyncGroup, value: int) -> None:
        loaders = self._loaders
        if group is SyncGroup.LOADER and loaders is not None and not loaders.is_done:
            loaders.write_mark(value)
            if loaders.is_done:
                self._chip.set_mark(group, loaders.mark)
            return
        self._chip.set_mark(group, value)

    def _read_tile(self, tile: int, register: int) -> int:
        self._check_tile(register)
        if self._has_program(tile):
            self._chip.advance()
            return self._chip.read_tile(tile, register)
        # Loaders wait at barriers, or have not begun; their contexts have no state (`early-debug`).
        return NOT_QUIESCENT if register == DebugRegister.STATUS else 0

    def _write_tile(self, tile: int, register: int, value: int) -> None:
        """What a configuration image writes to tiles that have not begun has no effect.

        Nor has what it writes to tiles that only a larger device has.
        """
        self._check_tile(register)
        if self._has_program(tile):
            self._chip.write_tile(tile, register, value)

    def _has_program(self, tile: int) -> bool:
        return tile < self.tiles and self._chip.has_program(tile)

    def _check_tile(self, register: int) -> None:
        if register not in DebugRegister._value2member_map_:
            raise TransportError(f"tiles have no debug register {register}")

    # -- loading --------------------------------------------------------------------------------

    def _install_loader(self, content: bytes) -> None:
        self._is_untouched = False
        code = np.frombuffer(content, np.uint8)
        self._chip.memory.bytes[:, : code.size] = code

    def _begin_loading(self) -> None:
        self._loaders = TileLoaders(self.tiles, self._chip, self._loader_memory)

    def _loader_memory(self) -> dict[int, NDArray[np.uint8]] | None:
        """The host memory that loaders reach, None if registers do not let them
        (`request-guard`)."""
        words = self._words
        is_paged = words[registers.EXCHANGE_WINDOW_BASE // _WORD] & registers.EXCHANGE_WINDOW_PAGED
        control = words[registers.CCSR // _WORD]
        is_guarded = not control & (registers.CCSR_NO_SNOOP | registers.CCSR_LINK_ECRC)
        requests = words[np.array(registers.WEST_REQUESTS) // _WORD]
        is_served = (requests >> registers.REQUEST_ID_SHIFT & registers.REQUEST_ID_MASK) == 0
        return self._pages if is_paged and is_guarded and is_served.all() else None

    # -- host memory ----------------------------------------------------------------------------

    def attach_page(self, index: int, memory: NDArray[np.uint8]) -> None:
        self._check_open()
        if memory.ctypes.data % HOST_PAGE:
            raise TransportError(f"page {index} does not start at a page of the system")
        if not 0 <= index < HOST_SPACE // HOST_PAGE or index in self._pages:
            raise TransportError(f"page {index} is attached, or beyond the host's space")
        self._chip.attach(index, memory)
        self._pages[index] = memory

    def detach_page(self, index: int) -> None:
        self._check_open()
        if self._pages.pop(index, None) is None:
            raise TransportError(f"page {index} is not attached")
        self._chip.detach(index)

    def detach_pages(self) -> None:
        for index in list(self._pages):
            self.detach_page(index)

    # -- control calls ----------------------------------------------------------------------------

    def attach_process(self) -> None:
        self._check_open()
        self._is_attached = True

    def set_identity(self, value: int) -> None:
        self._check_open()

    def set_secondary_identity(self, value: int) -> None:
        self._check_open()

    def stop_monitoring(self) -> None:
        self._check_open()

    def start_monitoring(self) -> None:
        self._check_open()

    def accumulate_errors(self) -> None:
        self._check_open()

    def announce_reset(self) -> None:
        self._check_open()

    def mailbox(self, request: tuple[int, ...]) -> tuple[int, ...]:
        """Any request is a reset, which is the only one known (`mailbox-reset`)."""
        self._check_open()
        if len(request) != MAILBOX_WORDS:
            raise TransportError(f"{len(request)} words for the mailbox; it takes {MAILBOX_WORDS}")
        self._reset()
        return (request[0], *([0] * (MAILBOX_WORDS - 1)))

    # -- what a card has not -----------------------------------------------------------------------

    def cycles(self) -> int | None:
        return self._chip.cycle

    def findings(self) -> tuple[str, ...]:
        sources = (self._auto_loader, self._loaders, self._chip)
        return tuple(each.finding for each in sources if each is not None and each.finding)

    def close(self) -> None:
        self._is_closed = True

    def _check_open(self) -> None:
        if self._is_closed:
            raise TransportError("the device is closed")
