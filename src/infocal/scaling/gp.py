"""Latent Gaussian process calibration (Wenger, Kjellström & Triebel, AISTATS 2020): one curve for the scores of all
classes.

    p_k = softmax_k(f(x_1), ..., f(x_K)),   x = log softmax(t z),   f ~ GP(x, x x' + s^2 m(|x - x'| / l))

Where the paper feeds raw logits z, which a row may shift at will, the scores x are log-probabilities at the best
inverse temperature t: temperature scaling is the mean of the process, and answers do not depend on the scale of the
logits. m is the Matérn kernel of smoothness 5/2. f is linear between its values at equally spaced inducing points, so
that the loss is convex in its slopes; these stay above a small part of the mean's, and f keeps the ranking of a row.

Answers are those of the most probable curve. The deviation s and the length l are the most probable ones as well: by
Laplace's approximation of the evidence, and an exponential prior on s (Simpson et al., 2017) that leads back to
temperature scaling where the labels ask for nothing else.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from .. import kernels
from ..arrays import Array, Floats, Ints, check_count
from ..numerics import softmax, tops
from ..records import Vector, record
from .temperature import fit_temperature

__all__ = ["GaussianProcess", "fit_gp"]

BLOCK = 1 << 16  # scores held at a time: they stay in the cache
MOST = 128  # inducing points
REACH = 32.0  # inducing points end here: beyond, a score is a probability below 1e-13
FLATTEST = 1e-3  # least standard deviation of a row's scaled logits
SLOWEST = 0.05  # least slope of the curve: order survives rounding
JITTER = 1e-6  # variance of a slope that no kernel explains: every covariance has an inverse
DEVIATIONS = 2.0 ** np.arange(-6.0, 4.5, 0.5)  # in nats
ROUNDS = 10  # of choosing the kernel and finding its curve
STEPS = 100  # of Newton's method
TOLERANCE = 1e-11  # of the gradient, per unit of mass


@record
class GaussianProcess:
    """Probabilities (n, K) of logits (n, K): the softmax of one increasing curve of the log-probabilities.

    The curve has `values` (M,) at M points from -`depth` to 0, is linear between them, and goes on below as it begins;
    its argument is the log-softmax of `inverse` times the logits. `deviation` and `length` are the kernel's, in nats.
    `loss` is the mean loss of the fit, `evidence` its log marginal likelihood, and `gradient` what is left, per unit of
    mass, of the gradient of the log posterior in the slopes that are free to move.

    `separable`: every label has the largest logit. Then, of a mass of n samples, each label counts as (n + 1) / (n + 2)
    of a sample, and the rest is spread over the possible classes.
    """

    inverse: float
    depth: float
    values: Vector
    deviation: float
    length: float
    loss: float
    evidence: float
    gradient: float
    separable: bool

    def check(self) -> None:
        if not (0 < self.inverse < np.inf and 0 < self.depth < np.inf):
            raise ValueError("GaussianProcess: expected a positive inverse temperature and a positive depth")
        if len(self.values) < 2 or not (np.isfinite(self.values).all() and (np.diff(self.values) > 0).all()):
            raise ValueError("GaussianProcess.values: expected at least 2 finite numbers that increase")

    def __call__(self, logits: Array) -> Array:
        return self._by_blocks(logits, softmax)

    def scores(self, logits: Array) -> Array:
        """Logits (n, K) of the calibrated probabilities."""
        return self._by_blocks(logits, lambda scores: scores)

    def _by_blocks(self, logits: Array, answer: Callable[[Floats], Floats]) -> Array:
        out = np.empty(logits.shape, dtype=logits.dtype)
        top = tops(logits).astype(np.float64)
        line = _Line(self.depth, len(self.values) - 1)
        slopes = np.diff(self.values) / line.width
        for rows in _blocks(logits):
            x = self.inverse * (logits[rows].astype(np.float64) - top[rows, None])
            x -= np.log(np.exp(x).sum(axis=1, keepdims=True))
            out[rows] = answer(line.curve(slopes, *line.place(x)))
        return out


def fit_gp(logits: Array, labels: Ints, weights: Floats | None = None, *, n_inducing: int = 24) -> GaussianProcess:
    """The most probable curve, with values at `n_inducing` points. Samples whose label has a logit of -inf cannot be
    explained by any curve and are left out; where none remain, the answer is the softmax itself.

    >>> logits = np.log([[0.8, 0.2], [0.8, 0.2], [0.8, 0.2], [0.2, 0.8]])
    >>> fit_gp(logits, np.array([0, 0, 1, 1]))(logits[:1]).round(2).tolist()  # 0.8 came true in 3 of 4
    [[0.75, 0.25]]
    """
    cells = check_count("n_inducing", n_inducing, 2, MOST) - 1
    samples = _samples_of(logits, labels, weights)
    if samples is None:
        return GaussianProcess(1.0, 1.0, np.array([-1.0, 0.0]), 0.0, 1.0, 0.0, 0.0, 0.0, True)
    inverse = _inverse(samples)
    likelihood = _likelihood(samples, inverse, cells)
    posterior, curve, (deviation, length) = _best_curve(likelihood)
    return GaussianProcess(
        inverse=inverse,
        depth=likelihood.line.depth,
        values=likelihood.line.heights(curve.slopes),
        deviation=float(deviation),
        length=float(length),
        loss=curve.plain.loss / samples.mass,
        evidence=posterior.evidence(curve),
        gradient=posterior.gradient(curve),
        separable=samples.softened > 0,
    )


# -- samples -------------------------------------------------------------------------------------------------------


class _Samples(NamedTuple):
    """Samples that take part, the largest logit (n,) of each, and the share of its label that is spread over the
    possible classes."""

    logits: Array
    labels: Ints
    weights: Floats
    tops: Floats
    softened: float

    @property
    def mass(self) -> float:
        return float(self.weights.sum())

    def aims(self, rows: slice) -> Floats:
        """Wanted probabilities (n, K)."""
        possible = self.logits[rows] > -np.inf
        aims = possible * (self.softened / possible.sum(axis=1, keepdims=True))
        aims[np.arange(len(aims)), self.labels[rows]] += 1 - self.softened
        return np.asarray(aims)


def _samples_of(logits: Array, labels: Ints, weights: Floats | None) -> _Samples | None:
    """Samples of positive weight whose label is possible; None where there are none."""
    top = tops(logits).astype(np.float64)
    told = logits[np.arange(len(labels)), labels]
    w = np.ones(len(labels)) if weights is None else weights
    kept = (told > -np.inf) & (w > 0)
    if not kept.any():
        return None
    softened = 1 / (w[kept].sum() + 2) if (told[kept] == top[kept]).all() else 0.0
    if kept.all():
        return _Samples(logits, labels, w, top, softened)
    return _Samples(logits[kept], labels[kept], w[kept], top[kept], softened)


def _blocks(logits: Array) -> Iterator[slice]:
    size = max(1, BLOCK // logits.shape[1])
    return (slice(start, min(start + size, len(logits))) for start in range(0, len(logits), size))


def _inverse(samples: _Samples) -> float:
    """The best inverse temperature, but above 0 however little the logits say of the labels."""
    flat = kernels.tempered(samples.logits, samples.labels, samples.weights, 0.0)
    least = FLATTEST * np.sqrt(flat.mass / flat.variance) if flat.variance else 0.0
    return max(fit_temperature(samples.logits, samples.labels, samples.weights).inverse, float(least))


# -- curves --------------------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    """Scores from -depth to 0 in equal cells (J), the lowest of which has no lower end. A curve that is linear in each
    cell and 0 at 0 is its slopes (J,)."""

    depth: float
    cells: int

    @property
    def width(self) -> float:
        return self.depth / self.cells

    def heights(self, slopes: Floats) -> Floats:
        """Values (J + 1,) of a curve at the ends of the cells."""
        return np.append(-np.cumsum(slopes[::-1] * self.width)[::-1], 0.0)

    def place(self, x: Floats) -> tuple[Ints, Floats]:
        """Cell of each score, and its (negative) distance from the upper end."""
        cell = np.clip(x * (1 / self.width) + self.cells, 0, self.cells - 1).astype(np.int64)
        rest: Floats = x - (cell - (self.cells - 1)) * self.width
        return cell, rest

    def curve(self, slopes: Floats, cell: Ints, rest: Floats) -> Floats:
        return slopes.take(cell) * rest + self.heights(slopes)[1:].take(cell)

    def features(self, cell: Ints, rest: Floats, probs: Floats) -> tuple[Floats, Floats]:
        """Means (n, J) of the curve's derivatives by its slopes, under the probabilities of each row, and their masses
        (n, J) below each cell."""
        n, at = len(cell), (cell + self.cells * np.arange(len(cell))[:, None]).ravel()
        mass = np.bincount(at, probs.ravel(), n * self.cells).reshape(n, self.cells)
        inside = np.bincount(at, (probs * rest).ravel(), n * self.cells).reshape(n, self.cells)
        below = (np.cumsum(mass, axis=1) - mass).astype(np.float64, copy=False)
        return inside - self.width * below, below


# -- likelihood ----------------------------------------------------------------------------------------------------


class _Point(NamedTuple):
    """The loss, sum of w_i [log sum_k e^f(x_ik) - f(x_iy)], its gradient (J,) and Hessian (J, J) in the slopes."""

    loss: float
    gradient: Floats
    hessian: Floats


class _Likelihood(NamedTuple):
    """Samples at the scores x = scale * logits - shift; `told` (J,) is the derivative of sum w_i f(x_iy)."""

    samples: _Samples
    scale: float
    shift: Floats
    line: _Line
    told: Floats

    def __call__(self, slopes: Floats) -> _Point:
        loss, outer = 0.0, np.zeros((self.line.cells, self.line.cells))
        mean, below, squares = np.zeros((3, self.line.cells))
        for rows in _blocks(self.samples.logits):
            w = self.samples.weights[rows]
            cell, rest, masked = self.placed(rows)
            f = self.line.curve(slopes, cell, rest)
            f[masked] = -np.inf
            top = f.max(axis=1, keepdims=True)
            probs = np.exp(f - top)
            total = probs.sum(axis=1, keepdims=True)
            probs *= w[:, None] / total
            features, under = self.line.features(cell, rest, probs)
            loss += w @ (np.log(total) + top)[:, 0]
            mean += features.sum(axis=0)
            below += under.sum(axis=0)
            squares += np.bincount(cell.ravel(), (probs * rest * rest).ravel(), self.line.cells)
            outer += (features.T / w) @ features
        return _Point(float(loss - self.told @ slopes), mean - self.told, self._products(mean, below, squares) - outer)

    def placed(self, rows: slice) -> tuple[Ints, Floats, Array]:
        """Cells of the scores, their distances from the upper ends, and which classes are impossible."""
        z = self.samples.logits[rows].astype(np.float64)
        masked = np.isneginf(z)
        return *self.line.place(np.where(masked, 0.0, self.scale * z - self.shift[rows, None])), masked

    def _products(self, mean: Floats, below: Floats, squares: Floats) -> Floats:
        """Mean products (J, J) of the curve's derivatives: where the one of cell j is not 0, those of higher cells are
        -width."""
        j = np.arange(self.line.cells)
        products = -self.line.width * mean[np.minimum.outer(j, j)]
        products[j, j] = squares + self.line.width**2 * below
        return products


def _likelihood(samples: _Samples, inverse: float, cells: int) -> _Likelihood:
    """Samples at the log-softmax of their scaled logits, over cells that reach down to the lowest of them."""
    shift, depth = np.empty(len(samples.logits)), 1.0
    for rows in _blocks(samples.logits):
        x = inverse * (samples.logits[rows].astype(np.float64) - samples.tops[rows, None])
        log_sum = np.log(np.exp(x).sum(axis=1))
        shift[rows] = inverse * samples.tops[rows] + log_sum
        depth = max(depth, float((log_sum[:, None] - x)[x > -np.inf].max()))
    line = _Line(min(depth, REACH), cells)
    likelihood, told = _Likelihood(samples, inverse, shift, line, np.zeros(cells)), np.zeros(cells)
    for rows in _blocks(samples.logits):
        cell, rest, _ = likelihood.placed(rows)
        told += samples.weights[rows] @ line.features(cell, rest, samples.aims(rows))[0]
    return likelihood._replace(told=told)


# -- the curve and its kernel --------------------------------------------------------------------------------------


class _Curve(NamedTuple):
    """Slopes (J,), and the loss there without and with the prior's half square distance from 1."""

    slopes: Floats
    plain: _Point
    whole: _Point


class _Posterior(NamedTuple):
    """A likelihood and a normal prior on the slopes, of mean 1 and this precision (J, J), cut off below the slowest."""

    likelihood: _Likelihood
    precision: Floats

    def __call__(self, slopes: Floats) -> _Curve:
        plain = self.likelihood(slopes)
        pull = self.precision @ (slopes - 1)
        loss = plain.loss + float(pull @ (slopes - 1)) / 2
        return _Curve(slopes, plain, _Point(loss, plain.gradient + pull, plain.hessian + self.precision))

    def free(self, curve: _Curve) -> Array:
        """Which slopes (J,) may still follow their gradient down."""
        return (curve.slopes > SLOWEST) | (curve.whole.gradient < 0)

    def gradient(self, curve: _Curve) -> float:
        """Largest component of the gradient that may still be followed, per unit of mass."""
        left = np.abs(curve.whole.gradient[self.free(curve)]).max(initial=0.0)
        return float(left) / self.likelihood.samples.mass

    def evidence(self, curve: _Curve) -> float:
        """Log marginal likelihood by Laplace's approximation at the mode."""
        wide, narrow = np.linalg.slogdet(self.precision)[1], np.linalg.slogdet(curve.whole.hessian)[1]
        return float((wide - narrow) / 2 - curve.whole.loss)


def _mode(posterior: _Posterior, slopes: Floats) -> _Curve:
    """The most probable curve, by Newton's method in the free slopes (Bertsekas, 1982)."""
    curve = posterior(slopes)
    for _ in range(STEPS):
        if posterior.gradient(curve) <= TOLERANCE:
            break
        free = posterior.free(curve)
        step = np.zeros_like(slopes)
        step[free] = np.linalg.solve(curve.whole.hessian[np.ix_(free, free)], -curve.whole.gradient[free])
        before, curve = curve, _lower(posterior, curve, step)
        if posterior.gradient(curve) >= posterior.gradient(before) and curve.whole.loss >= before.whole.loss:
            return before  # rounding hides the rest
    return curve


def _lower(posterior: _Posterior, curve: _Curve, step: Floats) -> _Curve:
    """A curve of enough less loss along the step, which is halved until there is one; rounding may hide the fall."""
    slack = 1e-14 * abs(curve.whole.loss)
    for scale in 0.5 ** np.arange(40):
        tried = posterior(np.maximum(curve.slopes + scale * step, SLOWEST))
        fall = float(curve.whole.gradient @ (tried.slopes - curve.slopes))
        if tried.whole.loss <= curve.whole.loss + 1e-4 * fall + slack:
            return tried
    return curve


def _best_curve(likelihood: _Likelihood) -> tuple[_Posterior, _Curve, Floats]:
    """The most probable curve under the most probable kernel: the posterior, its mode, the kernel's two parameters.

    Each round expands the loss to second order at the last curve, which gives the evidence of every kernel at once
    (MacKay, 1992).
    """
    choices, covariances = _kernels(likelihood.line)
    slopes = np.ones(likelihood.line.cells)
    plain, seen = likelihood(slopes), []
    for _ in range(ROUNDS):
        best = int(np.argmax(_evidences(plain, slopes, covariances) - choices[:, 0]))
        if best in seen:
            break
        seen.append(best)
        posterior = _Posterior(likelihood, np.linalg.inv(covariances[best]))
        curve = _mode(posterior, slopes)
        slopes, plain = curve.slopes, curve.plain
    return posterior, curve, choices[seen[-1]]


def _kernels(line: _Line) -> tuple[Floats, Floats]:
    """Deviation and length (R, 2) of the kernels to choose from, and covariances (R, J, J) of the slopes under each.

    Lengths go from the width of a cell to twice the depth. Slopes are differences of the curve's values over the width
    of a cell; the one that all share has variance 1.
    """
    lengths = line.width * 2 ** np.arange(0, np.log2(2 * line.cells) + 0.25, 0.5)
    choices = np.array([(s, length) for length in lengths for s in DEVIATIONS])
    apart = line.width * np.abs(np.subtract.outer(np.arange(line.cells + 1), np.arange(line.cells + 1)))
    u = np.sqrt(5) * apart / lengths[:, None, None]
    matern = (1 + u + u * u / 3) * np.exp(-u)
    shapes = np.diff(np.diff(matern, axis=1), axis=2) / line.width**2
    stretched = (DEVIATIONS[:, None, None] ** 2 * shapes[:, None]).reshape(-1, line.cells, line.cells)
    return choices, stretched + 1.0 + JITTER * np.eye(line.cells)


def _evidences(point: _Point, slopes: Floats, covariances: Floats) -> Floats:
    """Log evidence (R,) of priors of mean 1, but for a constant, where the loss is the quadratic expanded here."""
    pull = point.hessian @ (slopes - 1) - point.gradient
    both = np.eye(len(slopes)) + covariances @ point.hessian
    gain = np.linalg.solve(both, (covariances @ pull)[..., None])[..., 0] @ pull
    return (gain - np.linalg.slogdet(both)[1]) / 2
