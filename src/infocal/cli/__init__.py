"""The command line: `infocal demo | fit | apply | evaluate | compare`. Bad usage and bad input end in one line.

Each command is a file here that enters itself with `add`.
"""

import os
import sys
from collections.abc import Sequence

from .. import __version__
from . import apply, compare, completion, demo, evaluate, fit, reproduce
from .common import Parser, threads

__all__ = ["main", "parser"]

COMMANDS = (demo, fit, apply, evaluate, compare, reproduce, completion)
OK, BAD, INTERRUPTED, NOBODY_READS = 0, 2, 130, 141  # the last two as a shell counts SIGINT and SIGPIPE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 on success, 2 on bad usage or bad input, 130 when stopped from the keyboard."""
    try:
        _run(arguments)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python flushes when it ends
        return NOBODY_READS
    except ModuleNotFoundError as error:
        return _failed(f"{error.name} is not installed: pip install 'infocal[all]'")
    except MemoryError:
        return _failed("not enough memory for this")
    except (ValueError, OSError) as error:
        return _failed(_one_line(error))
    except KeyboardInterrupt:
        print("infocal: stopped", file=sys.stderr)
        return INTERRUPTED
    return OK


def _run(arguments: Sequence[str] | None) -> None:
    try:
        options = parser().parse_args(arguments)
        with threads(options.threads):
            options.run(options)
    finally:
        sys.stdout.flush()


def _failed(message: str) -> int:
    print(f"infocal: {message}", file=sys.stderr)
    return BAD


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}" if error.filename else error.strerror
    return " ".join(str(error).split())


def parser() -> Parser:
    """The parser of all commands."""
    whole = Parser(
        prog="infocal",
        description="Turn a classifier's logits into probabilities that mean what they say.",
        epilog="New here? Try: infocal demo. Then: infocal fit --help.",
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=f"infocal {__version__}")
    whole.set_defaults(parser=whole, threads=None)
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for command in COMMANDS:
        command.add(commands)
    return whole
