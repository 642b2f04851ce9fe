"""`tilewright kernel list` and `tilewright kernel run`: kernels against their references."""

import importlib.util
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from tilewright.device.kernels import (
    KERNELS,
    Array,
    Kernel,
    KernelFault,
    Memory,
    Trial,
    find_kernel,
    place_arrays,
    try_kernel,
)
from tilewright.device.kernels.spec import Sizes
from tilewright.emulator.engines import Engine
from tilewright.errors import TilewrightError
from tilewright.target.timing import seconds

app = typer.Typer(help="List kernels, and run them against their references.", no_args_is_help=True)

_ASSEMBLY = (".S", ".s")
_MICROSECONDS = 1e6


@app.command("list")
def list_kernels(
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """Name all kernels, with their sizes and what they compute."""
    kernels = [KERNELS[name] for name in sorted(KERNELS)]
    if as_json:
        print(json.dumps([_description(kernel) for kernel in kernels], indent=2))
        return
    names = [f"{kernel.name} {' '.join(size.name for size in kernel.sizes)}" for kernel in kernels]
    width = max(map(len, names))
    for name, kernel in zip(names, kernels, strict=True):
        print(f"{name:{width}}  {kernel.summary}")


@app.command("run")
def run(
    kernel: Annotated[
        str, typer.Argument(metavar="NAME|FILE.S", help="A registered kernel, or your assembly.")
    ],
    sizes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SIZE=VALUE[,VALUE]...]...",
            help="Sizes of the call: n=1,64,4096. Several values each are run in all combinations.",
        ),
    ] = None,
    spec: Annotated[
        Path | None,
        typer.Option(help="Python file with the specification of FILE.S: Kernel objects."),
    ] = None,
    symbol: Annotated[
        str | None, typer.Option(help="Which kernel of the specification, if there are several.")
    ] = None,
    memory: Annotated[
        Memory, typer.Option(help="Where arrays lie that may lie anywhere: 'any' is region 0.")
    ] = Memory.INTERLEAVED,
    last: Annotated[
        str | None, typer.Option(metavar="ARRAY", help="An array that ends where SRAM ends.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the inputs.")] = 0,
    engine: Annotated[Engine, typer.Option(help="What runs worker code.")] = Engine.LLVM,
    as_json: Annotated[bool, typer.Option("--json", help="Print the runs as JSON.")] = False,
) -> None:
    """Run a kernel on an emulated tile, compare with its reference and its cycle formula.

    The exit status is 1 if a result is wrong.
    """
    chosen = _find(kernel, spec, symbol)
    if last is not None and last not in [array.name for array in chosen.arrays]:
        raise KernelFault(f"{chosen.name} has no array {last}")
    trials = []
    for each in _combinations(chosen, sizes or []):
        chosen.check_sizes(each)
        places = place_arrays(chosen, each, memory=memory, last=last)
        trials.append(try_kernel(chosen, each, places=places, seed=seed, engine=engine))
    if as_json:
        print(json.dumps([_as_json(chosen, trial) for trial in trials], indent=2))
    else:
        print("\n".join(line for trial in trials for line in _lines(chosen, trial)))
    if any(trial.faults for trial in trials):
        raise typer.Exit(1)


def _find(name: str, spec: Path | None, symbol: str | None) -> Kernel:
    """A registered kernel; or one of a specification, with the assembly given."""
    if not name.endswith(_ASSEMBLY):
        if spec is not None or symbol is not None:
            raise KernelFault(f"--spec and --symbol are for assembly files, and {name} is none")
        return find_kernel(name)
    if spec is None:
        raise KernelFault(f"{name} needs --spec, a Python file that describes its kernel")
    if not Path(name).is_file():
        raise KernelFault(f"{name}: no such file")
    described = {each.name: each for each in _kernels_in(spec)}
    if not described:
        raise KernelFault(f"{spec} holds no Kernel, neither by itself nor in a tuple or list")
    if symbol is None and len(described) > 1:
        raise KernelFault(f"{spec} describes {', '.join(described)}; choose with --symbol")
    if symbol is not None and symbol not in described:
        raise KernelFault(f"{spec} describes {', '.join(described)}, not {symbol}")
    found = described[symbol] if symbol is not None else next(iter(described.values()))
    return replace(found, source=Path(name))


def _kernels_in(path: Path) -> Iterator[Kernel]:
    """The kernels that a Python file holds as variables, or in tuples and lists."""
    module_spec = importlib.util.spec_from_file_location("kernel_specification", path)
    if module_spec is None or module_spec.loader is None or not path.is_file():
        raise KernelFault(f"{path} is no Python file")
    module = importlib.util.module_from_spec(module_spec)
    try:
        module_spec.loader.exec_module(module)
    except TilewrightError:
        raise
    except Exception as error:  # whatever the user's file does
        raise KernelFault(f"{path}: {type(error).__name__}: {error}") from error
    for value in vars(module).values():
        members = value if isinstance(value, tuple | list) else [value]
        yield from (each for each in members if isinstance(each, Kernel))


def _combinations(kernel: Kernel, texts: Sequence[str]) -> Iterator[dict[str, int]]:
    """The calls that `name=value,…` texts ask for; sizes left out are the kernel's usual ones."""
    wanted = {size.name: [size.usual] for size in kernel.sizes}
    for text in texts:
        name, equals, values = text.partition("=")
        try:
            numbers = [int(value, 0) for value in values.split(",")]
        except ValueError:
            numbers = []
        if not equals or not numbers:
            raise KernelFault(f"{text}: expected SIZE=VALUE or SIZE=VALUE,VALUE,…")
        if name not in wanted:
            raise KernelFault(f"{kernel.name} has no size {name}; it has {', '.join(wanted)}")
        wanted[name] = numbers
    for values_of in product(*wanted.values()):
        yield dict(zip(wanted, values_of, strict=True))


def _lines(kernel: Kernel, trial: Trial) -> Iterator[str]:
    microseconds = seconds(trial.cycles) * _MICROSECONDS
    off = 100 * (trial.predicted / trial.cycles - 1)
    verdict = "WRONG" if trial.faults else _agreement(kernel, trial)
    yield (
        f"{kernel.name} {_text(trial.sizes)}: {trial.cycles} cycles ({off:+.1f} % predicted, "
        f"{microseconds:.2f} µs, {trial.cycles / trial.elements:.3g} per element), {verdict}"
    )
    yield from (f"  {fault}" for fault in trial.faults)


def _agreement(kernel: Kernel, trial: Trial) -> str:
    if kernel.accuracy.is_exact:
        return "equal to the reference"
    return f"at most {trial.worst_error:.2g} from the reference"


def _text(sizes: Sizes) -> str:
    return " ".join(f"{name}={value}" for name, value in sizes.items())


def _as_json(kernel: Kernel, trial: Trial) -> dict[str, object]:
    return {
        "kernel": kernel.name,
        "sizes": dict(trial.sizes),
        "cycles": trial.cycles,
        "predicted": trial.predicted,
        "elements": trial.elements,
        "worst_error": trial.worst_error,
        "faults": list(trial.faults),
    }


def _description(kernel: Kernel) -> dict[str, object]:
    return {
        "name": kernel.name,
        "summary": kernel.summary,
        "source": str(kernel.source),
        "sizes": [
            {
                "name": size.name,
                "minimum": size.minimum,
                "maximum": size.maximum,
                "multiple": size.multiple,
            }
            for size in kernel.sizes
        ],
        "operands": [
            {
                "register": f"$m{number}",
                "name": operand.name,
                "kind": operand.role.value if isinstance(operand, Array) else "scalar",
                "dtype": operand.dtype if isinstance(operand, Array) else None,
            }
            for number, operand in enumerate(kernel.operands, 2)
        ],
        "accuracy": {
            "absolute": kernel.accuracy.absolute,
            "relative": kernel.accuracy.relative,
        },
    }
