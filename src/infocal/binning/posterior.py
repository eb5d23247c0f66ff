"""What is believed of the label at a point of the log-odds line: the models of P(y = 1 | lambda) that I-Max trusts.

The paper takes the classifier at its word (`sigmoid`), offers a slope and a shift where it is over- or
under-confident (`affine`, eq. 22) and densities where its shape is wrong (`kde`, sec. A.3.5); `isotonic` is ours. Every
model here never decreases in lambda, as the exact programme needs; densities are made so by pooling.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..density import kde
from ..logistic import fit_line
from ..numerics import bounded, logit
from ..problems import Binary

__all__ = ["POSTERIORS", "Posterior", "fit_posterior"]


@dataclass(frozen=True)
class Posterior:
    """Posterior log-odds at each point of a question; where they are slope * lambda + shift, these two as well."""

    logodds: Floats
    slope: float = 0.0
    shift: float = 0.0


def fit_posterior(problem: Binary, model: str) -> Posterior:
    """The model of this name, fitted to the hits of a question."""
    return POSTERIORS[model](problem)


def _sigmoid(problem: Binary) -> Posterior:
    return Posterior(bounded(problem.logodds), slope=1.0)


def _affine(problem: Binary) -> Posterior:
    x = bounded(problem.logodds)
    line = fit_line(x, problem.hits, problem.weights)
    if line.slope <= 0:  # scores that say nothing, or the opposite: there is no line to trust more than the classifier
        return _sigmoid(problem)
    return Posterior(bounded(line(x)), line.slope, line.shift)


def _kde(problem: Binary) -> Posterior:
    x, w = np.clip(problem.logodds, -64.0, 64.0), problem.weights
    sides = (w * problem.hits, w * (1 - problem.hits))
    hits, misses = (mass.sum() * kde(x, mass, x) if mass.any() else np.zeros(len(x)) for mass in sides)
    return _pooled(hits / (hits + misses), w)


def _isotonic(problem: Binary) -> Posterior:
    return _pooled(problem.hits, problem.weights)


def _pooled(rates: Floats, weights: Floats) -> Posterior:
    from scipy.optimize import isotonic_regression

    return Posterior(bounded(logit(np.clip(isotonic_regression(rates, weights=weights).x, 0.0, 1.0))))


POSTERIORS: dict[str, Callable[[Binary], Posterior]] = {
    "sigmoid": _sigmoid,
    "affine": _affine,
    "kde": _kde,
    "isotonic": _isotonic,
}
