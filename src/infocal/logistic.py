"""Logistic regression on the log-odds line: the slope and shift under which a question's hits are most likely."""

import numpy as np

from .arrays import Floats
from .numerics import logit, sigmoid
from .records import record

__all__ = ["Line", "fit_line"]

STEPS = 100
TOLERANCE = 1e-12  # of the gradient, per unit of mass and of spread


@record
class Line:
    """slope * x + shift as log-odds of a hit; `gradient` is what is left of it per point.

    `separable`: one place on the line parts all hits from all misses, so that no finite line is best. Then each hit
    counts as (h + 1) / (h + 2) and each miss as 1 / (m + 2) of a hit, with h hits and m misses (Platt, 1999).
    """

    slope: float
    shift: float
    gradient: float
    separable: bool

    def __call__(self, x: Floats) -> Floats:
        return self.slope * x + self.shift


def fit_line(x: Floats, hits: Floats, weights: Floats) -> Line:
    """The most likely line, by Newton's method on centred points."""
    mass = weights.sum()
    middle = np.average(x, weights=weights)
    spread = np.sqrt(np.average((x - middle) ** 2, weights=weights))
    separable = _separable(x, hits, weights)
    aims = _softened(hits, weights) if separable else hits
    if spread == 0:
        return Line(0.0, float(logit(np.average(aims, weights=weights))), 0.0, separable)
    u, w = (x - middle) / spread, weights / mass
    theta = np.array([0.0, float(logit(w @ aims))])
    theta, gradient = _newton(np.stack((u, np.ones_like(u))), aims, w, theta)
    slope = theta[0] / spread
    return Line(float(slope), float(theta[1] - slope * middle), gradient, separable)


def _separable(x: Floats, hits: Floats, weights: Floats) -> bool:
    hit, miss = x[weights * hits > 0], x[weights * (1 - hits) > 0]
    return not len(hit) or not len(miss) or bool(miss.max() <= hit.min() or hit.max() <= miss.min())


def _softened(hits: Floats, weights: Floats) -> Floats:
    h, m = weights @ hits, weights @ (1 - hits)
    return hits * (h + 1) / (h + 2) + (1 - hits) / (m + 2)


def _newton(design: Floats, aims: Floats, weights: Floats, theta: Floats) -> tuple[Floats, float]:
    """Minimum of the mean loss from `theta`; a step that raises the loss beyond its rounding is halved."""
    loss = _loss(design, aims, weights, theta)
    for _ in range(STEPS):
        p = sigmoid(theta @ design)
        gradient = design @ (weights * (p - aims))
        if np.abs(gradient).max() <= TOLERANCE:
            break
        step = np.linalg.solve((design * (weights * p * (1 - p))) @ design.T + 1e-300 * np.eye(2), gradient)
        scale = 1.0
        while scale > 1e-9 and not (tried := _loss(design, aims, weights, theta - scale * step)) <= loss * (1 + 1e-15):
            scale /= 2
        if scale <= 1e-9:
            break
        theta, loss = theta - scale * step, tried
    return theta, float(np.abs(gradient).max())


def _loss(design: Floats, aims: Floats, weights: Floats, theta: Floats) -> float:
    z = theta @ design
    return float(weights @ (np.logaddexp(0.0, z) - aims * z))
