"""The `tilewright` command: one file per subcommand, faults printed as one clear message."""

import sys

import typer

from tilewright.cli import asm, bench, demo, disasm, emulate, kernel, link, objdump
from tilewright.errors import TilewrightError

app = typer.Typer(
    help="An open toolchain for Graphcore IPU21 processors.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("asm")(asm.asm)
app.command("disasm")(disasm.disasm)
app.command("link")(link.link)
app.command("objdump")(objdump.objdump)
app.command("emulate")(emulate.emulate)
app.add_typer(kernel.app, name="kernel")
app.command("demo")(demo.demo)
app.command("bench")(bench.bench)


def main() -> None:
    """Run the command line; a `TilewrightError` becomes a message and exit status 1."""
    try:
        app()
    except TilewrightError as error:
        print(f"{error.heading}{error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader of our output went away: `tilewright disasm … | head`
        sys.stderr.close()
        sys.exit(141)
