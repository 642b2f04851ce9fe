"""A package on a device: runs of it, with arrays in and out."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from tilewright.driver import CallTimes, Program, entries_of, repeated_once
from tilewright.package import (
    Application,
    Direction,
    Group,
    Profile,
    Role,
    Tensor,
)
from tilewright.runtime.errors import SessionError
from tilewright.runtime.numbers import from_stored
from tilewright.runtime.profiles import profile_of
from tilewright.runtime.streams import entry_point, passing, sent_streams
from tilewright.tracing import span

U8 = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run gave: outputs by name, when the device did what, and its cycle profile.

    `times` are those of the calls, none where the device does not tell; `profile` is None if the
    package has no plan.
    """

    outputs: Mapping[str, NDArray[Any]]
    times: tuple[CallTimes, ...]
    profile: Profile | None

    @property
    def cycles(self) -> int:
        """From the command to the end of the last transfer, without the host's own time.

        Raises `SessionError` where the device does not tell.
        """
        return sum(each.total for each in self._known)

    @property
    def graph_cycles(self) -> int:
        """Of those, between the last input and the first output."""
        return sum(each.graph for each in self._known)

    @property
    def host_cycles(self) -> int:
        """The others: transfers, and what prepares and follows them."""
        return sum(each.host for each in self._known)

    @property
    def _known(self) -> tuple[CallTimes, ...]:
        if not self.times:
            raise SessionError("the device does not tell its cycles; a profile may")
        return self.times


class HostSession:
    """A package that is loaded and waits for runs. Leaving its `with` ends the program.

    A run that fails leaves the session unusable until it is `reset`. After a time-out of a card the
    package is loaded again and the run repeated, once, by itself: what earlier runs left there is
    gone then. Calls of several threads follow one after the other.
    """

    def __init__(
        self,
        application: Application,
        digest: bytes,
        begin: Callable[[Application], Program],
        ended: Callable[[], None],
    ) -> None:
        """`begin` loads the application into a device, `ended` is told when the session is over."""
        self._application = application
        self._plan = application.profile_plan
        self._digest = digest
        self._begin, self._ended = begin, ended
        self._lock = RLock()
        self._program: Program | None = None
        self._failure: BaseException | None = None
        self._is_closed = False
        self._last: RunResult | None = None
        with self._failing():
            repeated_once(self._ready, self._drop)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What runs take."""
        return self._tensors(Role.INPUT)

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """What runs give, without the samples of a profile."""
        hidden = None if self._plan is None else self._plan.tensor
        return tuple(each for each in self._tensors(Role.OUTPUT) if each.name != hidden)

    def run(
        self, inputs: Mapping[str, npt.ArrayLike] | None = None, entry: str | None = None
    ) -> RunResult:
        """Run an entry point for runs or for saving; unless named, the only one for runs.

        Arrays are converted as `tilewright.runtime.numbers` says. Raises `InputError` before
        anything is done, `SessionError`, `TileError` for tiles that except, and other
        `DriverError`s.
        """
        with self._lock, span("runtime.run"):
            self._check_usable()
            point = entry_point(self._application, entry)
            sent = sent_streams(self._application, point, {} if inputs is None else inputs)
            self._last = None
            fetched = {  # zeros: an entry point may fetch a part of a tensor only
                number: np.zeros(self._application.tensors[number].stream_bytes, np.uint8)
                for number in passing(self._application, point, Direction.FROM_DEVICE)
            }
            with self._failing():
                times = repeated_once(
                    lambda: self._ready().call(point, sent, fetched),
                    self._drop,
                )
            self._last = self._result(fetched, times)
            return self._last

    def profile(self) -> Profile:
        """The cycle profile of the last run. Raises `SessionError` if there is none."""
        if self._last is None or self._last.profile is None:
            raise SessionError(
                "there is no profile: nothing has run, or the package was built without"
            )
        return self._last.profile

    def reset(self) -> None:
        """Load the package again, whatever has happened."""
        with self._lock:
            if self._is_closed:
                raise SessionError("the session is closed")
            self._drop()
            self._failure = None
            with self._failing():
                repeated_once(self._ready, self._drop)

    def close(self) -> None:
        """End the program, if it is well, and let go of the device. May be called again.

        Raises what goes wrong with the end; the device is let go of all the same.
        """
        with self._lock:
            self._close(is_orderly=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._close(is_orderly=error is None)

    # -- the program ------------------------------------------------------------------------------

    def _ready(self) -> Program:
        """The program, loaded if it is not, with its parameters sent."""
        if self._program is None:
            self._program = self._begin(self._application)
            for point in entries_of(self._application.host, Group.LOAD):
                self._program.call(point, sent_streams(self._application, point, {}), {})
        return self._program

    def _drop(self) -> None:
        program, self._program = self._program, None
        if program is not None:
            program.close()

    def _close(self, is_orderly: bool) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if is_orderly and self._program is not None:
                self._program.stop()
        finally:
            self._drop()
            self._ended()

    def _check_usable(self) -> None:
        if self._is_closed:
            raise SessionError("the session is closed")
        if self._failure is not None:
            raise SessionError(
                f"the session has failed ({type(self._failure).__name__}); reset it first"
            )

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """What is raised in the block, interrupts included, leaves the session unusable."""
        try:
            yield
        except BaseException as error:
            self._failure = error
            self._drop()
            raise

    # -- what passes ------------------------------------------------------------------------------

    def _tensors(self, role: Role) -> tuple[Tensor, ...]:
        return tuple(each for each in self._application.tensors if each.role is role)

    def _result(self, fetched: dict[int, U8], times: list[CallTimes | None]) -> RunResult:
        outputs: dict[str, NDArray[Any]] = {}
        profile = None
        for number, stream in fetched.items():
            tensor = self._application.tensors[number]
            if self._plan is not None and tensor.name == self._plan.tensor:
                profile = profile_of(self._application, self._plan, stream, self._digest)
            elif tensor.role is Role.OUTPUT:
                outputs[tensor.name] = from_stored(tensor, tensor.from_stream(stream))
        known = tuple(each for each in times if each is not None)
        return RunResult(outputs, known if len(known) == len(times) else (), profile)
