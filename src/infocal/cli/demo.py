"""`infocal demo`: the packaged logits, several recipes, one screen."""

import argparse

from ..comparison import compare
from .common import Commands, working

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Enter the command."""
    demo = commands.add_parser("demo", help="calibrate the packaged logits with several recipes and compare them")
    demo.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> None:
    from ..datasets import load_quickdraw

    data = load_quickdraw()
    with working("fitting and judging"):
        table = compare(["identity", "eqsize", "eqmass", "imax"], data.cal, data.test)
    before, after = table["identity"], table["imax"]
    print(f"{data.about}.")
    print(f"{len(data.cal[1]):,} samples to fit each recipe, {len(data.test[1]):,} others to judge it.\n\n{table}\n")
    print(
        f"imax keeps the accuracy ({before['accuracy']:.1%} before, {after['accuracy']:.1%} after) and cuts the error "
        f"of the confidence\n(top-1 ECE) from {before['top1_ece']:.1%} to {after['top1_ece']:.1%}.\n{_NEXT}"
    )


_NEXT = """
Your own classifier: save logits and labels that it was not trained on, then fit, apply and judge.
  python -c 'import numpy; numpy.savez("val.npz", logits=..., labels=...)'
  infocal fit val.npz -o cal.json
  infocal apply cal.json test.npz -o probs.npz
  infocal evaluate probs.npz"""
