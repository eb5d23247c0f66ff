"""`infocal reproduce`: the paper's tables, figures and claims on any labelled logits."""

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..binning.imax import SOLVERS
from ..files import check_output, replaced
from .common import Commands, add_command, add_running, read

if TYPE_CHECKING:
    from ..paper.lab import Lab
    from ..paper.run import Findings

__all__ = ["add"]

FORMATS = ("text", "markdown", "latex", "json")
EXAMPLES = (
    "infocal reproduce --list",
    "infocal reproduce bigcomparison claims --data test.npz --splits 2",
    "infocal reproduce all --data cifar100.npz cifar10.npz --format markdown -o paper.md",
)


def add(commands: Commands) -> None:
    """Enter the command."""
    about = "Run the paper's tables, figures and claims on logits."
    parser = add_command(commands, "reproduce", about, *EXAMPLES)
    parser.add_argument("labels", metavar="LABEL", nargs="*", help="all, tables, figures, claims, or labels of --list")
    parser.add_argument("--data", metavar="PATH", nargs="+", help=".npz files with logits and labels, or their folder")
    parser.add_argument("--list", action="store_true", help="print every label and what is under it")
    parser.add_argument("--splits", type=int, default=5, help="number of random splits (default: 5)")
    parser.add_argument("--solver", choices=SOLVERS, default="alternating", help="of I-Max (default: the paper's)")
    parser.add_argument("--format", choices=FORMATS, default="text", help="of what is printed (default: text)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there; drawings go into a folder beside it")
    parser.add_argument(
        "--work",
        metavar="DIR",
        default="infocal-reproduced",
        help="folder of finished cells, where a stopped run goes on, and of drawings (default: infocal-reproduced)",
    )
    add_running(parser)
    parser.set_defaults(run=_reproduce)


def _reproduce(options: argparse.Namespace) -> None:
    from ..paper.run import reproduce, targets

    if options.list:
        print(_listing())
        return
    if not options.labels or not options.data:
        raise ValueError("reproduce: expected labels and --data, or --list (see infocal reproduce --help)")
    if options.output is not None:
        check_output(options.output)
    wanted, labs = targets(options.labels), _labs(options)
    with _progress() as tell:
        found = reproduce(wanted, labs, tell)
    _write(options, labs, found)


def _listing() -> str:
    from ..paper.figures import FIGURES
    from ..paper.tables import TABLES

    rows = [(table.label, f"{table.title} ({table.printed_for})") for table in TABLES.values()]
    rows += [(label, f"{entry.shows} ({entry.printed_for})") for label, entry in FIGURES.items()]
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {text}" for label, text in rows)


def _labs(options: argparse.Namespace) -> "list[Lab]":
    from ..arrays import check_count
    from ..paper.lab import Lab
    from ..paper.splits import read_samples
    from ..paper.store import Store
    from ..paper.trained import give_parts

    splits = check_count("--splits", options.splits, 1)
    store = Store(Path(options.work) / "cells")
    files = _files(options.data)
    labs = [Lab(read_samples(read(str(path)), path.stem), splits, options.solver, store) for path in files]
    give_parts(labs)
    return labs


def _files(paths: list[str]) -> list[Path]:
    found: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(path.glob("*.npz")) if path.is_dir() else [path]
        if not inside:
            raise ValueError(f"--data: expected .npz files in {path}, found none")
        found += inside
    return found


def _write(options: argparse.Namespace, labs: "list[Lab]", found: "Findings") -> None:
    from ..paper.document import document

    output = None if options.output is None else Path(options.output)
    folder = Path(options.work) / "figures" if output is None else output.with_suffix("")
    drawn = _draw(found, folder)
    link = folder.name if output is not None else str(folder)
    names = [Path(path).name for path in options.data]
    written = ["--format", options.format] + (["-o", output.name] if output else [])
    command = shlex.join(["infocal", "reproduce", *options.labels, "--data", *names, *written])
    form = "json" if options.json else options.format
    text = document(found, labs, form, command, link if drawn else "")
    if output is None:
        print(text, end="")
    else:
        with replaced(output) as file:
            file.write(text.encode())
    if drawn:
        print(f"{len(found.figures)} drawings in {folder}", file=sys.stderr)


def _draw(found: "Findings", folder: Path) -> bool:
    """Draw the figures into a folder, where matplotlib is there to do it."""
    if not found.figures:
        return False
    if find_spec("matplotlib") is None:
        print("figures are not drawn: pip install 'infocal[plot]'", file=sys.stderr)
        return False
    from ..paper.document import picture_name
    from ..paper.drawing import save

    folder.mkdir(parents=True, exist_ok=True)
    for _, figure in found.figures:
        save(figure, folder / picture_name(figure.label))
    return True


@contextmanager
def _progress() -> Iterator[Callable[[int, int, str], None]]:
    """A bar for a person at a terminal; for others a line at every tenth of the way."""
    if not sys.stderr.isatty():
        yield _tell_tenths
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, steps, name: bar.update(task, completed=done, total=steps, description=name)


def _tell_tenths(done: int, steps: int, name: str) -> None:
    if steps and (10 * done) // steps > (10 * (done - 1)) // steps:
        print(f"infocal reproduce: {done}/{steps} {name}", file=sys.stderr)
