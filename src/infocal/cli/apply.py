"""`infocal apply`: calibrated probabilities of logits."""

import argparse

from ..arrays import check_logits
from ..calibrator import Calibrator
from ..files import Data, check_format, check_output, write_probs
from ..recipes import load
from .common import Commands, add_command, add_reading, add_running, answer, read, working

__all__ = ["add", "open_both"]

EXAMPLES = (
    "infocal apply cal.json test.npz -o probs.npz",
    "infocal apply cal.json test.csv -o - | infocal evaluate -",
)


def add(commands: Commands) -> None:
    """Enter the command."""
    parser = add_command(commands, "apply", "Calibrate logits with a saved calibrator.", *EXAMPLES)
    parser.add_argument("calibrator", metavar="CAL.json", help="a calibrator saved by fit; - is the standard input")
    add_reading(parser, "DATA", labels=False)
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="the .npz, .npy, .csv or .parquet file to write: probs, and labels; - prints CSV",
    )
    add_running(parser)
    parser.set_defaults(run=_apply)


def _apply(options: argparse.Namespace) -> None:
    check_output(options.output, options.calibrator, options.data)
    check_format(options.output)
    calibrator, data = open_both(options)
    with working("calibrating"):
        probs = data.rows.through(lambda x: calibrator.method(check_logits(x, calibrator.n_classes)))
        write_probs(options.output, probs, data.labels, data.classes)
    n, K = data.rows.shape
    text = f"{n:,} samples of {K} classes written to {options.output}"
    answer(options, text, {"n_samples": n, "n_classes": K, "output": options.output})


def open_both(options: argparse.Namespace) -> tuple[Calibrator, Data]:
    """The calibrator and the data of a command, the classes of the data in the order of the calibrator's."""
    if options.calibrator == options.data == "-":
        raise ValueError("expected a calibrator or data on the standard input, got - for both")
    calibrator = load("/dev/stdin" if options.calibrator == "-" else options.calibrator)
    data, names = read(options.data, options), calibrator.fit_info.get("classes")
    if names is None:
        return calibrator, data
    if len(names) != calibrator.n_classes or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{options.calibrator}: expected the names of {calibrator.n_classes} classes")
    return calibrator, data.ordered(names)
