"""`infocal apply`: calibrated probabilities of logits."""

import argparse

from ..files import write_arrays
from ..recipes import load
from .common import DATA, Commands, read, working

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Enter the command."""
    parser = commands.add_parser("apply", help="calibrate logits with a saved calibrator")
    parser.add_argument("calibrator", metavar="CAL.json", help="a calibrator saved by fit")
    parser.add_argument("data", metavar="DATA", help=f"{DATA}; labels may be missing")
    parser.add_argument(
        "-o", "--output", metavar="OUT", required=True, help="the .npz file to write: probs, and labels"
    )
    parser.set_defaults(run=_apply)


def _apply(options: argparse.Namespace) -> None:
    calibrator, data = load(options.calibrator), read(options.data)
    with working("calibrating"):
        arrays = {"probs": calibrator(data.logits)} | ({} if data.labels is None else {"labels": data.labels})
        write_arrays(options.output, **arrays)
    print(f"{len(data.logits):,} samples of {calibrator.n_classes} classes written to {options.output}")
