"""`infocal completion`: what a shell needs to complete commands and options."""

import argparse
from collections.abc import Iterator

from ..recipes import RECIPES
from .common import Commands, Parser, add_command

__all__ = ["add"]

FILES = ("VAL", "TEST", "DATA", "CAL.json", "OUT", "FILE", "DIR")  # what arguments that are files are called
SHELLS = ("bash", "zsh", "fish")
EXAMPLES = (
    "infocal completion bash > ~/.local/share/bash-completion/completions/infocal",
    "infocal completion zsh > ~/.zfunc/_infocal",
    "infocal completion fish > ~/.config/fish/completions/infocal.fish",
)


def add(commands: Commands) -> None:
    """Enter the command."""
    about = "Print a script that lets a shell complete commands and options."
    parser = add_command(commands, "completion", about, *EXAMPLES)
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=_complete)


def _complete(options: argparse.Namespace) -> None:
    import shtab

    for parser in _every(options.parser):
        for action in parser._actions:
            if isinstance(action.metavar, str) and action.metavar.startswith(FILES):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
            if action.dest == "recipe":
                action.choices = tuple(RECIPES)
    print(shtab.complete(options.parser, options.shell))


def _every(parser: Parser) -> Iterator[Parser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()
