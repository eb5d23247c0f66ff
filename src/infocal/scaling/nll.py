"""The one minimiser of scaling methods whose scores are linear in what is fitted.

    loss(theta) = sum_i w_i [ log sum_k e^(s_ik) - sum_k aims_ik s_ik ] + sum ridge theta^2,   s = scores(theta)

is convex. Newton's method needs few steps; each is solved by conjugate gradients, which need only products with the
Hessian, so that a million parameters are as possible as twenty.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from ..arrays import Array, Floats, Ints

__all__ = ["Minimum", "Samples", "Scores", "Solver", "endless", "minimise"]

STEPS = 100
INNER = 250  # conjugate gradient steps in one step of Newton's
ENDLESS = 1e-3  # what a step still gains, over the gradient: about 1 on the way to infinity, ever less to a least

Solver = Callable[[Floats], Floats]


class Scores(Protocol):
    """A linear map from parameters to what they add to the scores `base` (n, K)."""

    base: Floats

    def __call__(self, theta: Floats) -> Floats: ...

    def adjoint(self, errors: Floats) -> Floats:
        """Derivative with respect to the parameters of sum errors * scores."""
        ...

    def hessian(self, probs: Floats, weights: Floats) -> Solver:
        """Product of parameters with the Hessian of the loss, at these probabilities (n, K)."""
        ...

    def preconditioner(self, probs: Floats, weights: Floats, ridge: Floats) -> Solver:
        """Rough solution of the equations of that Hessian, penalties included."""
        ...


class Samples(NamedTuple):
    """Samples that take part: log-probabilities (n, K), 0 where a class is masked; which those are, where any is;
    labels; weights of sum 1, and the mass that they share."""

    logits: Floats
    masked: Array | None
    labels: Ints
    weights: Floats
    mass: float

    def aims(self, softened: float = 0.0) -> Floats:
        """Wanted probabilities (n, K): the label's, less a share `softened` spread over the possible classes."""
        possible = np.ones(self.logits.shape) if self.masked is None else 1.0 - self.masked
        aims = possible * (softened / possible.sum(axis=1, keepdims=True))
        aims[np.arange(len(aims)), self.labels] += 1 - softened
        return aims

    def softened(self) -> Floats:
        """Wanted probabilities of which, of a mass of n samples, each label has (n + 1) / (n + 2)."""
        return self.aims(1 / (self.mass + 2))


class Minimum(NamedTuple):
    """Where the loss is least, and the largest component of the gradient there."""

    theta: Floats
    loss: float
    gradient: float


class Point(NamedTuple):
    loss: float
    gradient: Floats
    probs: Floats


def minimise(
    scores: Scores, samples: Samples, aims: Floats, ridge: Floats, theta: Floats, tolerance: float = 1e-9
) -> Minimum:
    """The least of the loss, from `theta` on, to a gradient whose largest component is `tolerance`."""
    now = _at(scores, samples, aims, ridge, theta)
    for _ in range(STEPS):
        if _size(now) <= tolerance:
            break
        step = _newton(scores, samples, ridge, now)
        tried, scale = _down(scores, samples, aims, ridge, theta, step, now)
        if scale == 0:
            break
        theta, now = theta + scale * step, tried
    return Minimum(theta, now.loss, _size(now))


def endless(
    scores: Scores, samples: Samples, aims: Floats, ridge: Floats, least: Minimum, tolerance: float = 1e-9
) -> bool:
    """Whether the loss, from what `minimise` found, falls for ever, ever more slowly: on the way to infinity each step
    leaves a third of the gradient; to a finite least, soon next to nothing."""
    if ridge.all() or least.gradient <= tolerance / 100:
        return False
    now = _at(scores, samples, aims, ridge, least.theta)
    gain = -float(np.vdot(now.gradient, _newton(scores, samples, ridge, now)))
    return gain > ENDLESS * least.gradient


def _size(point: Point) -> float:
    return float(np.abs(point.gradient).max())


def _newton(scores: Scores, samples: Samples, ridge: Floats, now: Point) -> Floats:
    hessian = scores.hessian(now.probs, samples.weights)
    solver = scores.preconditioner(now.probs, samples.weights, ridge)
    return _conjugate(hessian, solver, ridge, -now.gradient, min(0.1, _size(now) ** 0.5))


def _at(scores: Scores, samples: Samples, aims: Floats, ridge: Floats, theta: Floats) -> Point:
    s = scores.base + scores(theta)
    told = np.einsum("ik,ik->i", aims, s)
    if samples.masked is not None:
        s[samples.masked] = -np.inf
    top = s.max(axis=1)
    s -= top[:, None]
    probs = np.exp(s, out=s)
    total = probs.sum(axis=1)
    probs /= total[:, None]
    loss = samples.weights @ (np.log(total) + top - told) + (ridge * theta * theta).sum()
    gradient = scores.adjoint(samples.weights[:, None] * (probs - aims)) + 2 * ridge * theta
    return Point(float(loss), gradient, probs)


def _conjugate(hessian: Solver, solver: Solver, ridge: Floats, aim: Floats, tolerance: float) -> Floats:
    """Newton's step by preconditioned conjugate gradients, to a residual relative to what it was."""
    x, rest = np.zeros_like(aim), aim
    direction = near = solver(rest)
    start = size = np.vdot(rest, near)
    for _ in range(INNER):
        image = hessian(direction) + 2 * ridge * direction
        bend = np.vdot(direction, image)
        if not bend > 0:
            break
        x = x + size / bend * direction
        rest = rest - size / bend * image
        near = solver(rest)
        before, size = size, np.vdot(rest, near)
        if size <= tolerance**2 * start:
            break
        direction = near + size / before * direction
    return x


def _down(
    scores: Scores, samples: Samples, aims: Floats, ridge: Floats, theta: Floats, step: Floats, now: Point
) -> tuple[Point, float]:
    """A share of the step that lowers the loss enough, halved until it does; 0 where rounding lets none."""
    fall, scale = float(np.vdot(now.gradient, step)), 1.0
    while scale > 1e-6:
        tried = _at(scores, samples, aims, ridge, theta + scale * step)
        if tried.loss <= now.loss + 1e-4 * scale * fall + 4e-16 * abs(now.loss):
            return tried, scale
        scale /= 2
    return now, 0.0
