"""`infocal demo`: the packaged logits, several recipes, one screen."""

import argparse
import textwrap

from ..comparison import Comparison, compare
from ..datasets import Dataset
from ..files import check_output
from .common import REPORT, Commands, add_command, add_running, answer, one_by_one
from .compare import narrow, write_page

__all__ = ["add"]

RECIPES = ("identity", "temperature", "eqmass", "imax")


def add(commands: Commands) -> None:
    """Enter the command."""
    about = "Calibrate the packaged logits with several recipes and compare them."
    parser = add_command(commands, "demo", about, "infocal demo", "infocal demo --report report.html")
    parser.add_argument("--report", metavar="FILE.html", help=REPORT)
    add_running(parser)
    parser.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> None:
    from ..datasets import load_quickdraw

    if options.report:
        check_output(options.report)
    data = load_quickdraw()
    table = compare(one_by_one(RECIPES, "fitting and judging"), data.cal, data.test)
    if options.report:
        write_page(options.report, table, data.test, None, {"samples": data.about})
    told = f"\n\nreport written to {options.report}" if options.report else ""
    answer(options, _screen(data, table) + told, {recipe: dict(report) for recipe, report in table.items()})


def _screen(data: Dataset, table: Comparison) -> str:
    before, after = table["identity"], table["imax"]
    many, others = f"{len(data.cal[1]):,} samples", f"{len(data.test[1]):,}"
    return f"""\
{textwrap.fill(f"{data.about}; {many} to fit each recipe, {others} others to judge it.", 80)}

{narrow(table)}

imax keeps the accuracy ({before["accuracy"]:.1%} before, {after["accuracy"]:.1%} after) and cuts the error
of the confidence (top-1 ECE) from {before["top1_ece"]:.1%} to {after["top1_ece"]:.1%}.
{_NEXT}"""


_NEXT = """
Your own classifier: from Python, save logits and labels it was not trained on:
  numpy.savez("val.npz", logits=logits, labels=labels)
Then fit, apply and judge, or see what would be best: infocal compare --help
  infocal fit val.npz -o cal.json
  infocal apply cal.json test.npz -o probs.npz
  infocal evaluate probs.npz"""
