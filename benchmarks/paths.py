"""The operations that are timed, and how this library does each of them.

An operation is prepared outside the clock and returns the call that is timed. `TARGETS` are what each may cost on
10,000 x 1,000 float32 logits and one thread, as a multiple of copying them.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

import infocal
from infocal import kernels

from .measure import Call

__all__ = ["OPERATIONS", "OURS", "TARGETS", "Inputs", "Prepare"]

OPERATIONS = (
    "apply, shared bins",
    "apply, classwise bins",
    "apply, temperature",
    "log-odds",
    "predict",
    "rank 5",
    "fit, shared bins",
    "fit, prior bins",
    "fit, classwise bins",
    "fit, temperature",
    "evaluate",
)
TARGETS = {
    "apply, shared bins": 2.5,
    "apply, classwise bins": 5.0,
    "apply, temperature": 4.0,
    "fit, shared bins": 8.0,
    "fit, prior bins": 10.0,
    "fit, classwise bins": 250.0,
    "fit, temperature": 40.0,
    "evaluate": 8.0,
}


class Inputs:
    """Float32 logits (n, K) of a classifier that is right three times out of four, labels of classes of unequal
    frequency, and the softmax; made once, outside the clock."""

    def __init__(self, n: int, n_classes: int, n_bins: int = 15) -> None:
        rng = np.random.default_rng(0)
        share = np.geomspace(1.0, 8.0, n_classes)
        self.n_bins = n_bins
        self.labels = rng.choice(n_classes, size=n, p=share / share.sum())
        self.logits = 3 * rng.standard_normal((n, n_classes), dtype=np.float32)
        self.logits[np.arange(n), self.labels] += 3.5 * np.sqrt(2 * np.log(n_classes))

    @cached_property
    def probs(self) -> np.ndarray[Any, Any]:
        """The classifier's own softmax (n, K), float32."""
        return kernels.softmax(self.logits)

    def fitted(self, recipe: str, groups: str = "shared") -> infocal.Calibrator:
        """A calibrator of the first thousand rows."""
        return infocal.fit(recipe, self.logits[:1000], self.labels[:1000], groups=groups, n_bins=self.n_bins)


Prepare = Callable[[Inputs], Call]


def _apply(recipe: str, groups: str = "shared") -> Prepare:
    def prepare(data: Inputs) -> Call:
        calibrator = data.fitted(recipe, groups)
        return lambda: calibrator(data.logits)

    return prepare


def _rank(k: int) -> Prepare:
    def prepare(data: Inputs) -> Call:
        calibrator = data.fitted("imax")
        return (lambda: calibrator.predict(data.logits)) if k == 1 else (lambda: calibrator.rank(data.logits, k))

    return prepare


def _fit(recipe: str, groups: str = "shared") -> Prepare:
    def prepare(data: Inputs) -> Call:
        return lambda: infocal.fit(recipe, data.logits, data.labels, groups=groups, n_bins=data.n_bins)

    return prepare


def _evaluate(data: Inputs) -> Call:
    probs = data.fitted("imax")(data.logits)
    return lambda: infocal.evaluate(probs, data.labels)


OURS: dict[str, Prepare] = {
    "apply, shared bins": _apply("imax"),
    "apply, classwise bins": _apply("imax", "classwise"),
    "apply, temperature": _apply("temperature"),
    "log-odds": lambda data: lambda: kernels.logodds(data.logits),
    "predict": _rank(1),
    "rank 5": _rank(5),
    "fit, shared bins": _fit("imax"),
    "fit, prior bins": _fit("imax", "prior"),
    "fit, classwise bins": _fit("imax", "classwise"),
    "fit, temperature": _fit("temperature"),
    "evaluate": _evaluate,
}
