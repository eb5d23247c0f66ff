"""Logits of networks trained in the three ways of tab:during_training_calibration."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import datasets
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
    load: Any = getattr(datasets, "load_fashion", None)
    if load is None:
        return {}
    found = {}
    for training in PARTS:
        (logits, labels), (more_logits, more_labels) = (data := load(training)).cal, data.test
        samples = Samples(data.name, np.concatenate((logits, more_logits)), np.concatenate((labels, more_labels)))
        found[training] = Lab(samples, lab.splits, lab.solver, lab.store)
    return found
