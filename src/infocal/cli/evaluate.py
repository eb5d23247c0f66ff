"""`infocal evaluate`: every measure of a file."""

import argparse
import json

from ..numerics import softmax
from ..report import evaluate
from .apply import open_both
from .common import Commands, add_command, add_reading, add_running, answer, read, working

__all__ = ["add"]

EXAMPLES = (
    "infocal evaluate probs.npz",
    "infocal evaluate test.npz --calibrator cal.json --level 0.9 --json",
)


def add(commands: Commands) -> None:
    """Enter the command."""
    about = "Measure accuracy and calibration of probabilities or logits."
    parser = add_command(commands, "evaluate", about, *EXAMPLES)
    add_reading(parser, "DATA", weights=True)
    parser.add_argument("--calibrator", metavar="CAL.json", help="measure what this calibrator makes of the logits")
    group = parser.add_argument_group("intervals")
    group.add_argument("--level", type=float, metavar="X", help="add bootstrap intervals of this level, as 0.9")
    group.add_argument("--seed", type=int, default=0, help="of their resampling (default: 0)")
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
        report = evaluate(probs, labels, ties=data.logits, weights=data.weights, level=options.level, rng=options.seed)
    answer(options, str(report), json.loads(report.to_json()))
