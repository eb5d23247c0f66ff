"""Logistic regression on the log-odds line: the slope and shift under which a question's hits are most likely."""

from typing import NamedTuple

import numpy as np

from .arrays import Floats
from .numerics import logit, sigmoid
from .records import record

__all__ = ["Line", "Plane", "fit_line", "fit_plane", "parted", "softened"]

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
    """The most likely line."""
    separable = parted(x, hits, weights) or parted(-x, hits, weights)
    plane = fit_plane(x[None], softened(hits, weights) if separable else hits, weights)
    return Line(float(plane.slopes[0]), plane.shift, plane.gradient, separable)


class Plane(NamedTuple):
    """slopes (p,) @ features (p, n) + shift as log-odds of a hit, its mean loss, and what is left of the gradient."""

    slopes: Floats
    shift: float
    loss: float
    gradient: float


def fit_plane(features: Floats, aims: Floats, weights: Floats) -> Plane:
    """The most likely plane, by Newton's method on centred features; one that is constant has slope 0."""
    w = weights / weights.sum()
    middle = features @ w
    spread = np.sqrt(((features - middle[:, None]) ** 2) @ w)
    scale = np.where(spread > 0, spread, 1.0)
    design = np.concatenate(((features - middle[:, None]) / scale[:, None], np.ones((1, len(w)))))
    start = np.append(np.zeros(len(features)), logit(w @ aims))
    theta, loss, gradient = _newton(design, aims, w, start)
    slopes = theta[:-1] / scale
    return Plane(slopes, float(theta[-1] - slopes @ middle), loss, gradient)


def parted(x: Floats, hits: Floats, weights: Floats) -> bool:
    """Whether no miss lies above any hit."""
    hit, miss = x[weights * hits > 0], x[weights * (1 - hits) > 0]
    return not len(hit) or not len(miss) or bool(miss.max() <= hit.min())


def softened(hits: Floats, weights: Floats) -> Floats:
    """What hits and misses count as where they are parted; see `Line`."""
    h, m = weights @ hits, weights @ (1 - hits)
    return hits * (h + 1) / (h + 2) + (1 - hits) / (m + 2)


def _newton(design: Floats, aims: Floats, weights: Floats, theta: Floats) -> tuple[Floats, float, float]:
    """Minimum of the mean loss from `theta`; a step that raises the loss beyond its rounding is halved."""
    loss = _loss(design, aims, weights, theta)
    for _ in range(STEPS):
        p = sigmoid(theta @ design)
        gradient = design @ (weights * (p - aims))
        if np.abs(gradient).max() <= TOLERANCE:
            break
        curvature = (design * (weights * p * (1 - p))) @ design.T
        damped = curvature + (1e-14 * np.trace(curvature) + 1e-300) * np.eye(len(theta))  # features may agree
        step = np.linalg.solve(damped, gradient)
        scale = 1.0
        while scale > 1e-9 and not (tried := _loss(design, aims, weights, theta - scale * step)) <= loss * (1 + 1e-15):
            scale /= 2
        if scale <= 1e-9:
            break
        theta, loss = theta - scale * step, tried
    return theta, loss, float(np.abs(gradient).max())


def _loss(design: Floats, aims: Floats, weights: Floats, theta: Floats) -> float:
    z = theta @ design
    return float(weights @ (np.logaddexp(0.0, z) - aims * z))
