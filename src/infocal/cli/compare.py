"""`infocal compare`: recipes beside each other, as a table, as JSON or as a page."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from ..arrays import Array, Ints
from ..comparison import Comparison, compare
from ..files import check_output
from .common import (
    REPORT,
    Commands,
    add_command,
    add_reading,
    add_running,
    add_settings,
    answer,
    one_by_one,
    read,
    settings,
    working,
)

__all__ = ["RECIPES", "add", "narrow", "write_page"]

RECIPES = ("identity", "temperature", "gp", "eqmass", "imax", "imax+gp")
EXAMPLES = (
    "infocal compare val.npz test.npz --report report.html",
    "infocal compare val.npz test.npz --recipes identity,imax --json",
)


def add(commands: Commands) -> None:
    """Enter the command."""
    about = "Fit recipes to one file and judge them on another."
    parser = add_command(commands, "compare", about, *EXAMPLES)
    add_reading(parser, "VAL", "TEST")
    parser.add_argument("--recipes", metavar="A,B,C", help=f"(default: {','.join(RECIPES)})")
    parser.add_argument("--report", metavar="FILE.html", help=REPORT)
    add_settings(parser)
    add_running(parser)
    parser.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> None:
    if options.report:
        check_output(options.report, options.val, options.test)
    recipes = [name.strip() for name in options.recipes.split(",")] if options.recipes else RECIPES
    val, test = read(options.val, options), read(options.test, options)
    test = test if val.classes is None else test.ordered(val.classes)
    cal, judged = ((data.logits, data.require_labels()) for data in (val, test))
    chosen = settings(options)
    table = compare(one_by_one(recipes, "fitting"), cal, judged, **chosen)
    if options.report:
        record = chosen | {"calibration samples": options.val, "test samples": options.test}
        write_page(options.report, table, judged, val.classes, record)
    told = f"report written to {options.report}; " if options.report else ""
    text = f"{_fitting(table)}\n\n{told}next: infocal fit {options.val} -o CAL.json --recipe NAME"
    answer(options, text, {recipe: dict(report) for recipe, report in table.items()})


def _fitting(table: Comparison) -> str:
    """The table, less what a terminal has no room for."""
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    wide = str(table)
    return wide if room is None or max(map(len, wide.splitlines())) <= room else narrow(table)


def narrow(table: Comparison) -> str:
    """The measures alone, in 80 columns."""
    return str(Comparison(table, table.calibrators))


def write_page(
    path: str, table: Comparison, test: tuple[Array, Ints], classes: Sequence[str] | None, record: dict[str, Any]
) -> None:
    """Write the report, whose door opens only here."""
    from ..html import write_report

    with working("writing the report"):
        write_report(table, path, test, classes=classes, settings=record)
