"""What the commands share: parsers, the options of reading and fitting, answers, and a sign of life at a terminal."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np

from ..files import Data, read_data

__all__ = [
    "REPORT",
    "Commands",
    "Parser",
    "add_command",
    "add_reading",
    "add_running",
    "add_settings",
    "answer",
    "one_by_one",
    "read",
    "settings",
    "threads",
    "working",
]

REPORT = "write a page with the verdict, tables and pictures, complete in one file"
DATA = ".npz, .npy, .csv or .parquet with logits (or probs) and labels; - is the standard input"


class Parser(argparse.ArgumentParser):
    """A parser that raises on bad usage, as everything else does on bad input."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def add_command(commands: Commands, name: str, about: str, *examples: str) -> Parser:
    """Enter a command with examples that run as they stand, after those of the commands before."""
    return commands.add_parser(
        name,
        help=about[0].lower() + about[1:].split(". ")[0].rstrip("."),
        description=about,
        epilog="\n  ".join(["examples:", *examples]) if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_reading(parser: Parser, *names: str, labels: bool = True, weights: bool = False) -> None:
    """The data files of a command, and what to read in them."""
    for name in names:
        text = DATA if labels else f"{DATA.replace('and labels', 'and perhaps labels')}"
        parser.add_argument(name.lower(), metavar=name, help=text)
    group = parser.add_argument_group("reading")
    group.add_argument("--probs", action="store_true", help="the columns of a table are probabilities, not logits")
    group.add_argument("--label", metavar="NAME", help="the column of labels in a table (default: label)")
    if weights:
        group.add_argument("--weights", metavar="NAME", help="the array or column with the weight of each sample")


def add_settings(parser: Parser) -> None:
    """The settings that every fit takes."""
    group = parser.add_argument_group("settings of the fit")
    group.add_argument("--bins", type=int, default=15, metavar="M", help="number of bins (default: 15)")
    group.add_argument(
        "--groups",
        default="shared",
        metavar="WHICH",
        help="classes that share one calibrator: shared (all), classwise (none), prior (those of similar frequency), "
        "a number for each class as 0,0,1, or a file of such numbers (default: shared)",
    )
    group.add_argument("--n-groups", type=int, metavar="G", help="number of groups of prior (default: as data ask)")
    group.add_argument("--seed", type=int, default=0, help="of what a recipe draws at random (default: 0)")


def add_running(parser: Parser) -> None:
    """The options of every command."""
    group = parser.add_argument_group("running")
    group.add_argument("--json", action="store_true", help="answer in JSON")
    group.add_argument("--threads", type=int, metavar="N", help="threads to use (default: one per core)")


def read(path: str, options: argparse.Namespace | None = None) -> Data:
    """Data of a file that a command was given, by its options of `add_reading`."""
    given = {} if options is None else vars(options)
    chosen = {name: given[name] for name in ("probs", "label", "weights") if name in given}
    with working(f"reading {path}"):
        return read_data(path, **chosen)


def settings(options: argparse.Namespace) -> dict[str, Any]:
    """Keywords of `fit` from the options of `add_settings`."""
    given = {"groups": _groups(options.groups), "n_bins": options.bins, "rng": options.seed}
    return given | ({} if options.n_groups is None else {"n_groups": options.n_groups})


def _groups(text: str) -> str | list[int]:
    listed = "," in text
    if not listed and not Path(text).is_file():
        return text
    words = (text if listed else Path(text).read_text(encoding="utf-8", errors="replace")).replace(",", " ").split()
    wrong = next((word for word in words if not word.isdecimal()), None)
    if wrong is not None or not words:
        where = "" if listed else f" in {text}"
        raise ValueError(f"--groups: expected shared, classwise, prior or numbers as 0,0,1, got {wrong!r}{where}")
    return [int(word) for word in words]


@contextmanager
def threads(wanted: int | None) -> Iterator[None]:
    """Let the native loops use this many threads; None leaves the choice to them."""
    if wanted is None:
        yield
        return
    if wanted < 1:
        raise ValueError(f"--threads: expected a whole number of at least 1, got {wanted}")
    name = "INFOCAL_NUM_THREADS"
    before = os.environ.get(name)
    os.environ[name] = str(wanted)
    try:
        yield
    finally:
        os.environ.pop(name)
        os.environ.update({} if before is None else {name: before})


def answer(options: argparse.Namespace, text: str, facts: Mapping[str, Any]) -> None:
    """Tell what a command found or did, to the standard output or, where that takes the results, to the other one."""
    taken = getattr(options, "output", None) == "-"
    print(json.dumps(facts, indent=2, default=_plain) if options.json else text, file=sys.stderr if taken else None)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else str(value)


@contextmanager
def working(on: str) -> Iterator[None]:
    """Tells a person at a terminal what takes so long; nothing where the output is read by a program."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(on):
        yield


def one_by_one(names: Iterable[str], doing: str) -> Iterable[str]:
    """The names in turn, with a bar for a person at a terminal that says how many are done."""
    if not sys.stderr.isatty():
        return names
    from rich.console import Console
    from rich.progress import track

    return track(list(names), description=doing, console=Console(stderr=True), transient=True)
