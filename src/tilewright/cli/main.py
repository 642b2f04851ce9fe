"""The `tilewright` command: one module per subcommand, loaded when it is used.

Faults are printed as one clear message.
"""

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from tilewright.cli.terminal import print_anything, printable
from tilewright.errors import TilewrightError

COMMANDS = {
    "asm": "Assemble a file into a Colossus object.",
    "disasm": "Print machine code as text that assembles back to the same bytes.",
    "link": "Link objects into an executable for one tile.",
    "objdump": "Print headers, sections, symbols, relocations and code of object files.",
    "emulate": "Run executables on the emulated chip.",
    "exchange": "Timed exchange phases.",
    "kernel": "List kernels, and run them against their references.",
    "plan": "Plan a graph: formats, grids, predicted cycles and memory.",
    "check": "Find the first stage of a build that goes wrong, and the operation.",
    "compile": "Compile the encoder of a checkpoint into a package.",
    "run": "Run a package on a device, and print or write its outputs.",
    "embed": "Embed sentences on an emulated chip, and print the nearest of each with its cosine.",
    "profile": "Print where the cycles of a run go.",
    "inspect": "Print what a package holds.",
    "diff": "Print how two packages differ.",
    "demo": "Embed sentences on a whole emulated chip, and compare with a reference.",
    "bench": "Run benchmarks and print their figures.",
}
"""By name, with what help says. The module of the same name has a function, or an app, of it."""

_INTERRUPTED = 130
"""The status after Ctrl-C."""


class _Commands(TyperGroup):
    """Knows the names of commands without their modules, so that help comes at once.

    Contexts have the type of typer's own copy of click, or of click, as its version has it.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        if cmd_name not in COMMANDS:
            return None
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, found, rest = super().resolve_command(ctx, args)
        return name, found if name is None else load(name), rest


def load(name: str) -> Any:
    """The command proper, with its module."""
    module = import_module(f"tilewright.cli.{name}")
    if hasattr(module, "app"):
        return typer.main.get_command(module.app)
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name)(getattr(module, name))
    return typer.main.get_command(app)


app = typer.Typer(
    cls=_Commands,
    help="An open toolchain for Graphcore IPU21 processors.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _tilewright() -> None:
    """An open toolchain for Graphcore IPU21 processors."""


def _end_at_once() -> NoReturn:
    """Without waiting for threads, which may be in the midst of a minute of compiling."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError):  # streams may be closed, or none
            stream.flush()
    os._exit(_INTERRUPTED)


def main() -> None:
    """Run the command line.

    A `TilewrightError`, and what the system refuses, become a message and exit status 1.
    """
    print_anything()
    try:
        try:
            app()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except SystemExit as ended:
        if ended.code == _INTERRUPTED:
            _end_at_once()
        raise
    except TilewrightError as error:
        print(printable(f"{error.heading}{error}"), file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader of our output went away: `tilewright disasm … | head`
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:  # a name that is too long, or no room for what we print
        _drop_unwritten()
        where = "" if error.filename is None else f"{error.filename}: "
        what = f"{TilewrightError.heading}{where}{error.strerror or error}"
        print(printable(what), file=sys.stderr)
        sys.exit(1)


def _drop_unwritten() -> None:
    """Close an output that takes nothing more, or Python tries again at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            sys.stdout.close()
