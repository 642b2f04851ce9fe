"""`tilewright run FILE --input NAME=FILE.npy …`: a package on a device, with arrays."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any
from urllib.parse import quote

import numpy as np
import typer
from numpy.typing import NDArray

from tilewright.cli.cycles import cycles_text
from tilewright.cli.progress import progress
from tilewright.cli.terminal import printable
from tilewright.errors import TilewrightError
from tilewright.files import FileError, check_writable, writing_atomically
from tilewright.package import Role, open_package, write_profile
from tilewright.runtime import Limits, check_inputs, open_device


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
    limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds of the device's time for the program until it waits for the host."
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="The device to run on.")] = "emulator",
) -> None:
    """Run a package on a device, and print or write its outputs."""
    if limit is not None and not limit > 0:
        raise TilewrightError(f"--limit has {limit:g}; expected seconds above 0")
    files = _named_files(inputs or [], "--input")
    arrays = {name: _read_array(place) for name, place in files.items()}
    with open_package(file) as application:
        plan = application.profile_plan
        if profile is not None and plan is None:
            raise TilewrightError(f"{file} takes no cycle samples; compile it with --profile")
        names = [each.name for each in application.tensors if each.role is Role.OUTPUT]
        places = _places(
            outputs or [], [name for name in names if plan is None or name != plan.tensor]
        )
        written = [*places.values(), *([] if profile is None else [profile])]
        _check_written(written)
        limits = None if limit is None else Limits(mark=limit, completion=limit)
        with progress(), open_device(device, limits=limits) as opened:
            check_inputs(application, arrays)
            with opened.load(application, parameters) as session:
                for _ in range(repeat):
                    start = perf_counter()
                    result = session.run(arrays)
                    seconds = perf_counter() - start
                    print(f"{cycles_text([result])}; emulated in {seconds:.2f} s")
                if profile is not None:
                    write_profile(session.profile(), profile)
    _put(result.outputs, places)


def _read_array(place: Path) -> NDArray[Any]:
    try:
        array = np.load(place, allow_pickle=False)
    except OSError as error:
        raise FileError(f"cannot read {place}: {error.strerror or error}") from error
    except MemoryError as error:
        raise FileError(f"{place} holds an array that takes more memory than there is") from error
    except (ValueError, EOFError) as error:
        raise FileError(f"{place} holds no numbers in NumPy's .npy format") from error
    if not isinstance(array, np.ndarray):
        raise FileError(f"{place} holds several arrays; expected one, in NumPy's .npy format")
    return array


def _named_files(texts: list[str], option: str) -> dict[str, Path]:
    places: dict[str, Path] = {}
    for text in texts:
        name, place = _named_file(text, option)
        if name in places:
            raise TilewrightError(f"{option} has '{name}' twice")
        places[name] = place
    return places


def _named_file(text: str, option: str) -> tuple[str, Path]:
    name, separator, place = text.partition("=")
    if not (name and separator and place):
        raise TilewrightError(f"{option} has '{text}'; expected NAME=FILE.npy")
    return name, Path(place)


def _places(texts: list[str], names: list[str]) -> dict[str, Path]:
    """Where outputs are written, by name; those that are not named are printed."""
    places: dict[str, Path] = {}
    for folder in (Path(text) for text in texts if "=" not in text):
        places |= {name: folder / _file_name(name) for name in names}
    for name, place in _named_files([text for text in texts if "=" in text], "--output").items():
        if name not in names:
            raise TilewrightError(f"the package has no output '{name}'; it has: {', '.join(names)}")
        places[name] = place
    return places


def _check_written(places: list[Path]) -> None:
    """Whether all can be written, each to a file of its own."""
    for place in places:
        check_writable(place)
    counts = Counter(place.resolve() for place in places if place.is_file() or not place.exists())
    again = [str(place) for place, count in counts.items() if count > 1]
    if again:
        raise TilewrightError(f"{again[0]} would be written more than once")


def _file_name(name: str) -> str:
    """A file within a folder, whatever a tensor's name holds; names that differ give others."""
    safe = "".join(each if _is_plain(each) else quote(each, safe="") for each in name)
    return (f"%2E{safe[1:]}" if safe.startswith(".") else safe) + ".npy"


def _is_plain(character: str) -> bool:
    return character.isprintable() and character not in "/\\%"


def _put(outputs: Mapping[str, NDArray[Any]], places: Mapping[str, Path]) -> None:
    for name, array in outputs.items():
        shape = " × ".join(map(str, array.shape)) or "scalar"
        what = printable(f"{name}: {array.dtype} {shape}", "")
        if name in places:
            with writing_atomically(places[name]) as file:
                np.save(file, array, allow_pickle=False)
            print(f"{what} → {printable(str(places[name]), '')}")
        else:
            print(f"{what}\n{array}")
