"""`tilewright run FILE --input NAME=FILE.npy …`: a package on a device, with arrays."""

from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from tilewright.cli.cycles import cycles_text
from tilewright.cli.progress import progress
from tilewright.errors import TilewrightError
from tilewright.files import FileError, check_writable, writing_atomically
from tilewright.package import Role, open_package, write_profile
from tilewright.runtime import open_device


def run(
    file: Annotated[Path, typer.Argument(help="A package (.ipuexe).")],
    inputs: Annotated[
        list[str] | None, typer.Option("--input", help="NAME=FILE.npy, for each input.")
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option("--output", help="NAME=FILE.npy, or a folder for all outputs."),
    ] = None,
    parameters: Annotated[
        Path | None,
        typer.Option(help="A safetensors file, for parameters that the package does not hold."),
    ] = None,
    profile: Annotated[
        Path | None, typer.Option(help="Write cycles by step and tile (.ipuprof).")
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Run so often, with the same inputs.")] = 1,
    device: Annotated[str, typer.Option(help="The device to run on.")] = "emulator",
) -> None:
    """Run a package on a device, and print or write its outputs."""
    arrays = dict(_read_input(each) for each in inputs or [])
    with open_package(file) as application:
        plan = application.profile_plan
        if profile is not None and plan is None:
            raise TilewrightError(f"{file} takes no cycle samples; compile it with --profile")
        names = [each.name for each in application.tensors if each.role is Role.OUTPUT]
        places = _places(
            outputs or [], [name for name in names if plan is None or name != plan.tensor]
        )
        for place in (*places.values(), *([] if profile is None else [profile])):
            check_writable(place)
        with (
            progress(),
            open_device(device) as opened,
            opened.load(application, parameters) as session,
        ):
            for _ in range(repeat):
                start = perf_counter()
                result = session.run(arrays)
                seconds = perf_counter() - start
                print(f"{cycles_text([result])}; emulated in {seconds:.2f} s")
            if profile is not None:
                write_profile(session.profile(), profile)
    _put(result.outputs, places)


def _read_input(text: str) -> tuple[str, NDArray[Any]]:
    name, place = _named_file(text, "--input")
    try:
        array = np.load(place, allow_pickle=False)
    except OSError as error:
        raise FileError(f"cannot read {place}: {error.strerror or error}") from error
    except (ValueError, EOFError) as error:
        raise FileError(f"{place} is no array in NumPy's .npy format: {error}") from error
    if not isinstance(array, np.ndarray):
        raise FileError(f"{place} holds several arrays; expected one, in NumPy's .npy format")
    return name, array


def _named_file(text: str, option: str) -> tuple[str, Path]:
    name, separator, place = text.partition("=")
    if not (name and separator and place):
        raise TilewrightError(f"{option} has '{text}'; expected NAME=FILE.npy")
    return name, Path(place)


def _places(texts: list[str], names: list[str]) -> dict[str, Path]:
    """Where outputs are written, by name; those that are not named are printed."""
    places: dict[str, Path] = {}
    for text in texts:
        if "=" not in text:
            folder = Path(text)
            if not folder.is_dir():
                raise FileError(f"--output {text}: there is no such folder")
            places |= {name: folder / f"{name}.npy" for name in names}
            continue
        name, place = _named_file(text, "--output")
        if name not in names:
            raise TilewrightError(f"the package has no output '{name}'; it has: {', '.join(names)}")
        places[name] = place
    return places


def _put(outputs: Mapping[str, NDArray[Any]], places: Mapping[str, Path]) -> None:
    for name, array in outputs.items():
        shape = " × ".join(map(str, array.shape)) or "scalar"
        if name in places:
            with writing_atomically(places[name]) as file:
                np.save(file, array, allow_pickle=False)
            print(f"{name}: {array.dtype} {shape} → {places[name]}")
        else:
            print(f"{name}: {array.dtype} {shape}\n{array}")
