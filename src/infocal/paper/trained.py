"""Logits of networks trained in the three ways of tab:during_training_calibration."""

from collections.abc import Sequence

import numpy as np

from ..datasets import load_fashion
from .lab import Lab
from .splits import Samples

__all__ = ["PARTS", "give_parts"]

PARTS = {"plain": "No Train Calibration", "entropy": "Entr. Reg.", "mixup": "Mixup"}


def give_parts(labs: Sequence[Lab]) -> None:
    """Give every lab those for the three parts: sets whose names end in _plain, _entropy and _mixup, or else the
    packaged ones."""
    given = {training: lab for lab in labs for training in PARTS if lab.samples.name.endswith(f"_{training}")}
    found = given if given.keys() == PARTS.keys() else _packaged(labs[0])
    for lab in labs:
        lab.parts = {PARTS[training]: part for training, part in found.items()}


def _packaged(lab: Lab) -> dict[str, Lab]:
    """Both parts of the packaged sets together, under the same protocol."""
    found = {}
    for training in PARTS:
        data = load_fashion(training)
        logits, labels = (np.concatenate(parts) for parts in zip(data.cal, data.test, strict=True))
        found[training] = Lab(Samples(data.name, logits, labels), lab.splits, lab.solver, lab.store)
    return found
