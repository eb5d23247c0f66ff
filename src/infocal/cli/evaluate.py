"""`infocal evaluate`: every measure of a file."""

import argparse

from ..numerics import softmax
from ..report import evaluate
from .apply import open_both
from .common import Commands, add_command, add_reading, add_running, answer, read, working

__all__ = ["add"]

EXAMPLES = (
    "infocal evaluate probs.npz",
    "infocal evaluate test.npz --calibrator cal.json --json",
)


def add(commands: Commands) -> None:
    """Enter the command."""
    about = "Measure accuracy and calibration of probabilities or logits."
    parser = add_command(commands, "evaluate", about, *EXAMPLES)
    add_reading(parser, "DATA")
    parser.add_argument("--calibrator", metavar="CAL.json", help="measure what this calibrator makes of the logits")
    add_running(parser)
    parser.set_defaults(run=_evaluate)


def _evaluate(options: argparse.Namespace) -> None:
    if options.calibrator is None:
        data = read(options.data, options)
        probs = softmax(data.logits) if data.probs is None else data.probs
    else:
        calibrator, data = open_both(options)
        probs = calibrator(data.logits)
    labels = data.require_labels()
    with working("evaluating"):
        report = evaluate(probs, labels, ties=data.logits, weights=data.weights)
    answer(options, str(report), dict(report))
