"""What every command shares: the parser, reading data, and a sign of life at a terminal."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeAlias

from ..files import Data, read_data

__all__ = ["DATA", "Commands", "Parser", "read", "working"]

DATA = "an .npz file with the arrays logits (n, K) (or probs) and labels (n,)"


class Parser(argparse.ArgumentParser):
    """A parser that raises on bad usage, as everything else does on bad input."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def read(path: str) -> Data:
    """Data of a file that a command was given."""
    with working(f"reading {path}"):
        return read_data(path)


@contextmanager
def working(on: str) -> Iterator[None]:
    """Tells a person at a terminal what takes so long; nothing where the output is read by a program."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(on):
        yield
