"""`infocal evaluate`: every measure of a file."""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..arrays import Array, Floats, Ints
from ..files import Data
from ..mapped import is_mapped, row_blocks
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
    answered: Callable[[Array], Array] = softmax
    if options.calibrator is None:
        data = read(options.data, options)
    else:
        answered, data = open_both(options)
    labels, own = data.require_labels(), data.probs if options.calibrator is None else None
    with working("evaluating"):
        if own is None and is_mapped(data.logits) and options.level is None:
            report = evaluate(_Blocks(data, labels, answered))
        else:
            given = {"ties": data.logits, "weights": data.weights, "level": options.level, "rng": options.seed}
            report = evaluate(answered(data.logits) if own is None else own, labels, **given)
    answer(options, str(report), json.loads(report.to_json()))


@dataclass(frozen=True)
class _Blocks:
    """What is answered to the rows of a mapped file, block by block, as often as it is gone through."""

    data: Data
    labels: Ints
    answered: Callable[[Array], Array]

    def __iter__(self) -> Iterator[tuple[Array, Ints, Array, Floats | None]]:
        x, w = self.data.logits, self.data.weights
        for rows in row_blocks(x):
            yield self.answered(x[rows]), self.labels[rows], x[rows], None if w is None else w[rows]
