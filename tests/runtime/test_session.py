"""Packages on devices: runs, what is refused, failures, and the end."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import save_file

from tests.driver import programs
from tests.driver.wrapping import Interrupted, MarkStuck, PagesLost, Recording
from tilewright.driver import SyncGroup, Transport
from tilewright.driver.emulated import LOADER, EmulatedTransport
from tilewright.files import FileError
from tilewright.package import (
    Application,
    ElementType,
    PackageError,
    ProfilePlan,
    Source,
    write_profile_plan,
)
from tilewright.package.blobs import ExtendedBlobs
from tilewright.runtime import (
    DeviceTimeout,
    InputError,
    Limits,
    SessionError,
    TileError,
    open_device,
)
from tilewright.runtime.device import Device
from tilewright.runtime.parameters import bind_parameters

Numbers = NDArray[np.int32]


@contextmanager
def device_of(transports: Iterator[Transport], limits: Limits | None = None) -> Iterator[Device]:
    """A device whose loadings are given these transports."""
    with Device(lambda _: next(transports), LOADER, limits=limits) as device:
        yield device


# -- runs -----------------------------------------------------------------------------------------


def test_runs(package: Application, w: Numbers, x: Numbers) -> None:
    with open_device("emulator") as device, device.load(package, {"layer.w": w}) as session:
        assert [each.name for each in session.inputs] == ["x"]
        assert [each.name for each in session.outputs] == ["y"]
        first = session.run({"x": x})
        assert first.outputs.keys() == {"y"}
        assert np.array_equal(first.outputs["y"], x + w)
        again = session.run({"x": x.astype(np.int64)}, entry="run")
        assert np.array_equal(again.outputs["y"], first.outputs["y"])
        assert again.graph_cycles == first.graph_cycles
        assert first.cycles == first.graph_cycles + first.host_cycles


def test_the_profile_of_a_run(package: Application, w: Numbers, x: Numbers) -> None:
    with open_device() as device, device.load(package, {"layer.w": w}) as session:
        with pytest.raises(SessionError, match="no profile"):
            session.profile()
        result = session.run({"x": x})
        profile = session.profile()
    assert result.profile is profile
    assert profile.steps.strings == ("add", "add_words")
    assert profile.cycles().shape == (64,)
    assert 0 < profile.cycles_of(7)[0] < result.graph_cycles
    assert profile.clock == 1_500_000_000


def test_several_packages_one_after_the_other_and_at_once(w: Numbers, x: Numbers) -> None:
    small, large = (programs.application(rows, Source.BLOB) for rows in (1, 2))
    with open_device() as device:
        with device.load(small) as session:
            assert np.array_equal(session.run({"x": x}).outputs["y"], x + w)
        with device.load(large) as session, open_device() as other, other.load(small) as beside:
            both = np.concatenate([x, x])
            y = session.run({"x": both}).outputs["y"]
            assert np.array_equal(y[:64], beside.run({"x": x}).outputs["y"])
            assert np.array_equal(y[64:], x + w + w.size)


def test_threads_take_turns(package: Application, w: Numbers, x: Numbers) -> None:
    wrong = []
    with open_device() as device, device.load(package, {"layer.w": w}) as session:

        def work(number: int) -> None:
            for _ in range(3):
                if not np.array_equal(session.run({"x": x + number}).outputs["y"], x + number + w):
                    wrong.append(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_another_engine_and_number_of_threads(package: Application, w: Numbers, x: Numbers) -> None:
    results = []
    for options in ({"engine": "reference"}, {"threads": 1}, {"threads": 3}):
        with open_device(**options) as device:
            result = device.load(package, {"layer.w": w}).run({"x": x})
        results.append((result.cycles, result.outputs["y"].tobytes()))
    assert len(set(results)) == 1


# -- what is refused ------------------------------------------------------------------------------


def test_inputs_are_all_named(package: Application, w: Numbers, x: Numbers) -> None:
    with open_device() as device, device.load(package, {"layer.w": w}) as session:
        with pytest.raises(InputError) as raised:
            session.run({"z": x})
        assert "'x' is missing: int32 (64, 16)" in str(raised.value)
        assert "there is no input 'z'" in str(raised.value)
        with pytest.raises(InputError, match=r"tensor 'x' has shape \(64, 16\), not \(64, 15\)"):
            session.run({"x": x[:, 1:]})
        with pytest.raises(InputError, match="tensor 'x' holds int32: it takes integers"):
            session.run({"x": x.astype(np.float32)})
        with pytest.raises(InputError, match="tensor 'x' is given as no array: setting"):
            session.run({"x": [[1, 2], [3]]})
        with pytest.raises(InputError, match="inputs are arrays by name, a dict"):
            session.run(x)  # type: ignore[arg-type] # which is wrong
        assert np.array_equal(session.run({"x": x}).outputs["y"], x + w), "the session is well"


def test_entry_points(package: Application, w: Numbers, x: Numbers) -> None:
    with (
        open_device() as device,
        device.load(package, {"layer.w": w}) as session,
        pytest.raises(SessionError, match="no entry point 'train'; there are: 'run'"),
    ):
        session.run({"x": x}, entry="train")


def test_one_package_at_a_time(package: Application, w: Numbers) -> None:
    with (
        open_device() as device,
        device.load(package, {"layer.w": w}),
        pytest.raises(SessionError, match="runs a package already"),
    ):
        device.load(package, {"layer.w": w})


def test_what_is_closed(package: Application, w: Numbers, x: Numbers) -> None:
    device = open_device()
    session = device.load(package, {"layer.w": w})
    session.close()
    session.close()
    with pytest.raises(SessionError, match="the session is closed"):
        session.run({"x": x})
    with pytest.raises(SessionError, match="the session is closed"):
        session.reset()
    device.close()
    device.close()
    with pytest.raises(SessionError, match="the device is closed"):
        device.load(package, {"layer.w": w})


def test_other_devices() -> None:
    with pytest.raises(SessionError, match="no device '/dev/ipu0': only 'emulator'"):
        open_device("/dev/ipu0")
    with pytest.raises(SessionError, match="no engine 'fast'; there are: llvm, reference"):
        open_device(engine="fast")


# -- parameters -----------------------------------------------------------------------------------


def test_parameters_from_a_file(
    tmp_path: Path, package: Application, w: Numbers, x: Numbers
) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"layer.w": w, "other": np.zeros(3)}, path)
    with open_device() as device:
        session = device.load(package, path)
        assert np.array_equal(session.run({"x": x}).outputs["y"], x + w)


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_parameters_of_eight_bits(tmp_path: Path, package: Application, dtype: type) -> None:
    """The library that reads such files makes no arrays of them."""
    numbers: NDArray[Any] = np.array([[1, -0.5, 240, 0]], dtype)
    kind = {"float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}[numbers.dtype.name]
    path = tmp_path / "model.safetensors"
    [w] = (each for each in package.tensors if each.name == "w")
    halves = replace(w, element=ElementType.F16, shape=(1, 4))
    application = Application(tensors=(halves,))
    for told, pads in ((kind, b""), (kind, b"1234")):
        _write_tensors(path, {"layer.w": (told, numbers), "a": ("U8", np.frombuffer(pads, "u1"))})
        bound = bind_parameters(application, path)
        content = bound.blobs[bound.tensors[0].blob].tobytes()
        assert content == numbers.astype(np.float16).tobytes()
    _write_tensors(path, {"layer.w": ("F8_E8M0", numbers)})
    with pytest.raises(FileError, match=r"'layer\.w' is F8_E8M0; of floats with 8 bits, F8_E4M3"):
        bind_parameters(application, path)


def _write_tensors(path: Path, tensors: dict[str, tuple[str, NDArray[Any]]]) -> None:
    head, data = {}, b""
    for name, (kind, array) in sorted(tensors.items()):
        place = [len(data), len(data) + array.nbytes]
        head[name] = {"dtype": kind, "shape": array.shape, "data_offsets": place}
        data += array.tobytes()
    text = json.dumps(head).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def test_parameters_that_do_not_fit(tmp_path: Path, package: Application, w: Numbers) -> None:
    path = tmp_path / "model.safetensors"
    save_file({"layer.v": w}, path)
    with open_device() as device:
        with pytest.raises(InputError, match=r"expects 1 parameters .*'layer.w'"):
            device.load(package)
        with pytest.raises(InputError, match=r"'layer\.w' is missing: int32 \(64, 16\)"):
            device.load(package, path)
        with pytest.raises(InputError, match=r"'layer\.w': tensor 'w' has shape"):
            device.load(package, {"layer.w": w[1:]})
        path.write_bytes(b"nonsense")
        with pytest.raises(FileError, match="cannot read parameters"):
            device.load(package, path)
        with pytest.raises(FileError, match="nowhere"):
            device.load(package, tmp_path / "nowhere")
        with pytest.raises(InputError, match="holds all its parameters"):
            device.load(programs.application(parameters=Source.BLOB), {"w": w})
        with pytest.raises(InputError, match="holds all its parameters"):
            device.load(programs.application(parameters=Source.BLOB), path)


# -- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [programs.BAD_ADDRESS, programs.WORKER_FAULT])
def test_a_session_can_be_reset_after_a_tile_has_excepted(
    package: Application, w: Numbers, x: Numbers, word: int
) -> None:
    bad = x.copy()
    bad[9, 0] = word
    with open_device() as device, device.load(package, {"layer.w": w}) as session:
        with pytest.raises(TileError) as raised:
            session.run({"x": bad})
        assert raised.value.tile == 9
        assert raised.value.context is not None
        assert raised.value.context.place is not None
        assert raised.value.context.place.operation == "sum"
        with pytest.raises(SessionError, match=r"failed \(TileError\); reset it first"):
            session.run({"x": x})
        session.reset()
        assert np.array_equal(session.run({"x": x}).outputs["y"], x + w)


def test_a_trap_is_told_even_if_the_debug_tables_are_broken(w: Numbers, x: Numbers) -> None:
    """And a run that fails leaves no profile of an earlier one."""
    package = programs.application(parameters=Source.BLOB)
    blobs = ExtendedBlobs(package.blobs, [np.arange(100, dtype=np.uint8)])
    broken = replace(package, blobs=blobs, debug_blob=blobs.added[0])
    bad = x.copy()
    bad[9, 0] = programs.BAD_ADDRESS
    with open_device() as device, device.load(broken) as session:
        session.run({"x": x})
        session.profile()
        with pytest.raises(TileError, match="code has no names: the debug table") as raised:
            session.run({"x": bad})
        assert raised.value.tile == 9
        with pytest.raises(SessionError, match="there is no profile"):
            session.profile()


def test_a_profile_plan_that_does_not_fit_is_refused_before_loading(package: Application) -> None:
    """Its samples could not be told apart after the run."""
    plan = package.profile_plan
    assert plan is not None
    longer = replace(plan.steps, table=plan.steps.table[np.array([0, 0])])
    fewer = replace(plan.steps, tiles=plan.steps.tiles[:63])
    for steps, told in (
        (longer, r"tiles\[0\]: 2 steps take 12 bytes of samples; it has 8"),
        (fewer, r"tiles\[63\]: it has no steps, but 8 bytes of samples"),
    ):
        content = np.frombuffer(write_profile_plan(ProfilePlan(steps)), np.uint8)
        blobs = ExtendedBlobs(package.blobs, [content])
        wrong = replace(package, blobs=blobs, profile_plan_blob=blobs.added[0])
        with device_of(iter(())) as device, pytest.raises(PackageError, match=told):
            device.load(wrong, {"layer.w": np.zeros((64, programs.WORDS), np.int32)})


def test_loading_is_repeated_after_a_timeout(package: Application, w: Numbers, x: Numbers) -> None:
    transports: list[Transport] = [PagesLost(EmulatedTransport(64)), EmulatedTransport(64)]
    with device_of(iter(transports), Limits(mark=0.01)) as device:
        session = device.load(package, {"layer.w": w})
        assert np.array_equal(session.run({"x": x}).outputs["y"], x + w)


def test_a_run_is_repeated_after_a_timeout_with_all_before_it(
    package: Application, w: Numbers, x: Numbers
) -> None:
    first = MarkStuck(EmulatedTransport(64), SyncGroup.PROGRAM, 7)
    second = Recording(EmulatedTransport(64))
    with device_of(iter([first, second]), Limits(mark=0.01)) as device:
        session = device.load(package, {"layer.w": w})
        assert np.array_equal(session.run({"x": x}).outputs["y"], x + w)
        assert second.log[0][0] == "mailbox"


def test_an_attempt_is_repeated_once_only(package: Application, w: Numbers) -> None:
    transports = iter([PagesLost(EmulatedTransport(64)) for _ in range(2)])
    with device_of(transports, Limits(mark=0.01)) as device:
        with pytest.raises(DeviceTimeout, match="loading tiles 0 to 63"):
            device.load(package, {"layer.w": w})
        assert next(transports, None) is None


@pytest.mark.parametrize("reads", [3, 11, 25])
def test_an_interrupt_while_loading_or_running(
    package: Application, w: Numbers, x: Numbers, reads: int
) -> None:
    """Nothing is left behind; the device, or the session, can be used again."""
    first = Recording(Interrupted(EmulatedTransport(64), reads))
    with device_of(iter([first, EmulatedTransport(64)])) as device:
        with pytest.raises(KeyboardInterrupt):
            device.load(package, {"layer.w": w}).run({"x": x})
        assert first.log[-1] == ("close",)
        if device._session is None:
            session = device.load(package, {"layer.w": w})
        else:
            session = device._session
            session.reset()
        assert np.array_equal(session.run({"x": x}).outputs["y"], x + w)


def test_an_error_of_the_user_passes_through(package: Application, w: Numbers) -> None:
    """And the program is not asked to end, of which nobody knows the state."""
    transport = Recording(EmulatedTransport(64))

    def use() -> None:
        with device_of(iter([transport])) as device, device.load(package, {"layer.w": w}):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        use()
    marks = [each for each in transport.log if each[:2] == ("write", 0x3030)]
    assert len(marks) == 1 + 1 + 4, "cleared, begun, parameters in two batches"
    assert transport.log[-1] == ("close",)
