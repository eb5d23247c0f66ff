"""The command line: `infocal fit | apply | evaluate | demo`. Bad usage and bad input end in one line and status 2.

Each command is a file here that enters itself with `add`.
"""

import sys
from collections.abc import Sequence

from .. import __version__
from . import apply, demo, evaluate, fit, reproduce
from .common import Parser

__all__ = ["main"]

COMMANDS = (demo, fit, apply, evaluate, reproduce)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 on success, 2 on bad usage or bad input."""
    try:
        options = _parser().parse_args(arguments)
        options.run(options)
    except (ValueError, OSError) as error:
        print(f"infocal: {_one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("infocal: stopped", file=sys.stderr)
        return 130
    return 0


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}" if error.filename else error.strerror
    return " ".join(str(error).split())


def _parser() -> Parser:
    parser = Parser(
        prog="infocal", description="Turn a classifier's logits into probabilities that mean what they say."
    )
    parser.add_argument("--version", action="version", version=f"infocal {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for command in COMMANDS:
        command.add(commands)
    return parser
