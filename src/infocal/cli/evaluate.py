"""`infocal evaluate`: every measure of a file."""

import argparse
import json
from collections.abc import Callable, Iterator
from typing import Any

from ..arrays import Array, rows_from
from ..files import Data, told_of
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
    answered: Callable[[Array], Array] | None = None
    if options.calibrator is None:
        data = read(options.data, options)
        answered = softmax if data.answers is None else None
    else:
        answered, data = open_both(options)
    labels = data.require_labels()
    with working("evaluating"), told_of(data.path):
        if data.held or options.level is not None:
            probs, ties = _whole(data, answered)
            report = evaluate(probs, labels, ties, data.weights, level=options.level, rng=options.seed)
        else:
            report = evaluate(_blocks(data, answered), labels, weights=data.weights)
    answer(options, str(report), json.loads(report.to_json()))


def _whole(data: Data, answered: Callable[[Array], Array] | None) -> tuple[Array, Array | None]:
    """What is answered to the logits, or the file's own probabilities; and logits that rank equal ones, which their
    logarithms do not."""
    if answered is not None:
        return answered(data.logits), data.logits
    assert data.probs is not None
    return data.probs, None if data.scores is None else data.logits


def _blocks(data: Data, answered: Callable[[Array], Array] | None) -> Iterator[Any]:
    """The same block by block."""
    if answered is not None:
        for rows, x in data.rows:
            with rows_from(rows.start):
                probs = answered(x)
            yield probs, x
        return
    assert data.answers is not None
    if data.scores is None:
        yield from data.answers.blocks()
    else:
        yield from zip(data.answers.blocks(), data.scores.blocks(), strict=True)
