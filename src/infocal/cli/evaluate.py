"""`infocal evaluate`: every measure of a file."""

import argparse

from ..numerics import softmax
from ..report import evaluate
from .common import DATA, Commands, read, working

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Enter the command."""
    parser = commands.add_parser("evaluate", help="measure accuracy and calibration of probabilities or logits")
    parser.add_argument("data", metavar="DATA", help=DATA)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_evaluate)


def _evaluate(options: argparse.Namespace) -> None:
    data = read(options.data)
    with working("evaluating"):
        probs = softmax(data.logits) if data.probs is None else data.probs
        report = evaluate(probs, data.require_labels())
    print(report.to_json() if options.json else report)
