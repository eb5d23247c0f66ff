"""`infocal compare`: recipes beside each other, as a table, as JSON or as a page."""

import argparse

from ..comparison import compare
from ..files import check_output
from .common import Commands, add_command, add_reading, add_running, add_settings, answer, one_by_one, read, settings

__all__ = ["RECIPES", "add"]

RECIPES = ("identity", "temperature", "gp", "eqmass", "imax", "imax+gp")
EXAMPLES = (
    "infocal compare val.npz test.npz",
    "infocal compare val.npz test.npz --recipes identity,imax --json",
)


def add(commands: Commands) -> None:
    """Enter the command."""
    about = "Fit recipes to one file and judge them on another."
    parser = add_command(commands, "compare", about, *EXAMPLES)
    add_reading(parser, "VAL", "TEST")
    parser.add_argument("--recipes", metavar="A,B,C", help=f"(default: {','.join(RECIPES)})")
    parser.add_argument("--report", metavar="FILE.html", help="write a page with pictures")
    add_settings(parser)
    add_running(parser)
    parser.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> None:
    if options.report:
        check_output(options.report, options.val, options.test)
    recipes = options.recipes.split(",") if options.recipes else RECIPES
    val, test = read(options.val, options), read(options.test, options)
    test = test if val.classes is None else test.ordered(val.classes)
    sets = [(data.logits, data.require_labels()) for data in (val, test)]
    table = compare(one_by_one(recipes, "fitting"), *sets, **settings(options))
    text = f"{table}\n\nnext: infocal fit {options.val} -o CAL.json --recipe NAME"
    answer(options, text, {recipe: dict(report) for recipe, report in table.items()})
