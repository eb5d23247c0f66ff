"""Scaling of one class's log-odds: Platt's line, beta calibration and isotonic regression.

Each map takes log-odds x of any shape to probabilities. What is certain stays so: -inf stays 0 and inf stays 1. Such
points teach nothing and are left out of the fit.
"""

import numpy as np

from ..arrays import Array, Floats
from ..logistic import Line, fit_line, fit_plane, parted, softened
from ..numerics import log_sigmoid, logit, sigmoid
from ..problems import Binary
from ..records import Vector, record

__all__ = ["Beta", "Isotonic", "Platt", "fit_beta", "fit_isotonic", "fit_platt"]

FACES: tuple[list[int], ...] = ([0, 1], [0], [1], [])  # which of a and b are above 0


# -- Platt ---------------------------------------------------------------------------------------------------------


@record
class Platt:
    """sigmoid(slope x + shift) (Platt, 1999); see `Line` for what it says of itself."""

    line: Line

    def __call__(self, logodds: Array) -> Floats:
        return sigmoid(self.logodds(logodds))

    @property
    def gradient(self) -> float:
        """What is left of the gradient, per point."""
        return self.line.gradient

    @property
    def separable(self) -> bool:
        """Whether no finite line is best."""
        return self.line.separable

    def logodds(self, logodds: Array) -> Floats:
        """Log-odds of the calibrated probabilities."""
        return _certain(logodds, self.line(_finite(logodds)))


def fit_platt(problem: Binary) -> Platt:
    """The most likely line of a question."""
    told = _told(problem)
    if told is None:
        return Platt(Line(1.0, 0.0, 0.0, True))
    return Platt(fit_line(told.logodds, told.hits, told.weights))


# -- beta ----------------------------------------------------------------------------------------------------------


@record
class Beta:
    """sigmoid(a log q - b log(1 - q) + c) of q = sigmoid(x), with a and b of at least 0 (Kull et al., 2017).

    `gradient` is the largest component of the gradient that a and b, kept from falling below 0, could still follow.
    `separable`: one place parts all misses below from all hits above, so that no finite answer is best; then hits and
    misses are softened as in `Line`.
    """

    a: float
    b: float
    c: float
    gradient: float
    separable: bool

    def __call__(self, logodds: Array) -> Floats:
        return sigmoid(self.logodds(logodds))

    def logodds(self, logodds: Array) -> Floats:
        """Log-odds of the calibrated probabilities."""
        x = _finite(logodds)
        return _certain(logodds, self.a * log_sigmoid(x) - self.b * log_sigmoid(-x) + self.c)


def fit_beta(problem: Binary) -> Beta:
    """The most likely map of a question. The least over a, b >= 0 is that of one of the faces a, b > 0, b = 0, a = 0
    and a = b = 0, so the best of those that stay inside is taken."""
    told = _told(problem)
    if told is None:
        return Beta(1.0, 1.0, 0.0, 0.0, True)
    x, hits, weights = told.logodds, told.hits, told.weights
    separable = parted(x, hits, weights)
    aims = softened(hits, weights) if separable else hits
    features = np.stack((log_sigmoid(x), -log_sigmoid(-x)))
    best = np.inf, np.zeros(3)
    for face in FACES:
        plane = fit_plane(features[face], aims, weights)
        if (plane.slopes >= 0).all() and plane.loss < best[0]:
            theta = np.zeros(3)
            theta[face], theta[2] = plane.slopes, plane.shift
            best = plane.loss, theta
            if len(face) == 2:
                break
    a, b, c = best[1].tolist()
    return Beta(a, b, c, _gradient(features, aims, weights, best[1]), separable)


def _gradient(features: Floats, aims: Floats, weights: Floats, theta: Floats) -> float:
    errors = weights / weights.sum() * (sigmoid(theta[:2] @ features + theta[2]) - aims)
    slope = features @ errors
    free = np.where(theta[:2] == 0, np.minimum(slope, 0.0), slope)
    return float(max(np.abs(free).max(), abs(errors.sum())))


# -- isotonic ------------------------------------------------------------------------------------------------------


@record
class Isotonic:
    """The best map that never decreases (Zadrozny & Elkan, 2002): straight lines between `probs` at `knots`, in the
    probability q = sigmoid(x), and level beyond the ends."""

    knots: Vector
    probs: Vector

    def __call__(self, logodds: Array) -> Floats:
        x = _finite(logodds)
        right = np.clip(np.searchsorted(self.knots, x, side="right"), 1, len(self.knots) - 1)
        low, high = self.knots[right - 1], self.knots[right]
        share = _rise(low, np.clip(x, low, high)) / np.maximum(_rise(low, high), 1e-300)
        left = self.probs[right - 1]
        return _certain(logodds, left + share * (self.probs[right] - left), 0.0, 1.0)

    def logodds(self, logodds: Array) -> Floats:
        """Log-odds of the calibrated probabilities."""
        return logit(np.minimum(self(logodds), 1.0))


def fit_isotonic(problem: Binary) -> Isotonic:
    """Isotonic regression of a question, by pooling adjacent violators; points between equal neighbours are left out
    of the answer."""
    from scipy.optimize import isotonic_regression

    told = _told(problem)
    if told is None:
        return Isotonic(np.zeros(2), np.full(2, 0.5))
    blocks = isotonic_regression(told.hits, weights=told.weights).blocks
    mass, hits = (np.add.reduceat(m, blocks[:-1]) for m in (told.weights, told.weights * told.hits))
    probs = np.repeat(np.minimum(hits / mass, 1.0), np.diff(blocks))
    same = probs[1:] == probs[:-1]
    kept = ~(np.append(False, same) & np.append(same, False))
    x, probs = told.logodds[kept], probs[kept]
    return Isotonic(np.resize(x, max(len(x), 2)), np.resize(probs, max(len(x), 2)))


def _rise(low: Floats, high: Floats) -> Floats:
    """sigmoid(high) - sigmoid(low), from the side where nothing cancels."""
    return np.where(low > 0, sigmoid(-low) - sigmoid(-high), sigmoid(high) - sigmoid(low))


# -- certainty -----------------------------------------------------------------------------------------------------


def _told(problem: Binary) -> Binary | None:
    """The points that are not certain; None where there are none."""
    finite = np.isfinite(problem.logodds)
    if finite.all():
        return problem
    if not finite.any():
        return None
    return Binary(problem.logodds[finite], problem.hits[finite], problem.weights[finite], problem.width)


def _finite(logodds: Array) -> Floats:
    x = np.asarray(logodds, dtype=np.float64)
    return np.where(np.isfinite(x), x, 0.0)


def _certain(logodds: Array, answer: Floats, never: float = -np.inf, always: float = np.inf) -> Floats:
    return np.where(np.isneginf(logodds), never, np.where(np.isposinf(logodds), always, answer))
