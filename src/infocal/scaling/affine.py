"""Vector and matrix scaling (Guo et al., 2017; Kull et al., 2019) and their structured kin (Berta et al., 2025).

All are softmax(u + M u + b) of the temperature-scaled log-probabilities u = log softmax(t z), with penalties on the
squares of M and b added to the mean loss:

    vector   M diagonal, no penalty           svs   M diagonal, K / n on it and on b
    matrix   M full, none on its diagonal     sms   M full, K / n on its diagonal and on b, K (K - 1) / n off it

where n is the mass of the samples; those of matrix scaling are asked for, or cross-validated. As u does not depend on
the unit of the logits, nor on what is added to all of a row, neither do the answers. A class whose logit is -inf
keeps probability 0 and adds nothing to the scores of the others. Every loss is convex; `gradient` is the largest
component of its gradient in M and b at the answer.
"""

import numpy as np

from .. import kernels
from ..arrays import Array, Floats, Ints
from ..numerics import tops
from ..records import Square, Vector, record
from .nll import Minimum, Samples, Scores, Solver, endless, minimise
from .temperature import Temperature, fit_temperature

__all__ = ["MatrixScaling", "VectorScaling", "fit_matrix", "fit_sms", "fit_svs", "fit_vector"]

FOLDS = 3
COARSE = 1e-4  # gradient that tells one strength from another
GRID = 10.0 ** np.arange(1, -3, -1)  # strengths that are tried, in units of those of sms


@record
class VectorScaling:
    """softmax(scale * u + bias) of u = log softmax(inverse * logits), with a scale and a bias (K,) for each class.

    `separable`: the labels can be told so well that no finite answer is best. Then, of a mass of n samples, each label
    counts as (n + 1) / (n + 2) of a sample, and the rest is spread over the possible classes.
    """

    inverse: float
    scale: Vector
    bias: Vector
    loss: float
    gradient: float
    separable: bool

    def __call__(self, logits: Array) -> Array:
        return kernels.softmax(self.scores(logits))

    def scores(self, logits: Array) -> Array:
        """Logits (n, K) of the calibrated probabilities."""
        u, masked = _log_probs(logits, self.inverse)
        return _with_masked((u * self.scale + self.bias).astype(logits.dtype), masked)


@record
class MatrixScaling:
    """softmax(matrix u + bias) of u = log softmax(inverse * logits), with a matrix (K, K) and a bias (K,).

    `off_diagonal` and `on_bias` are the strengths of the penalties that the fit used; `separable` as for
    `VectorScaling`.
    """

    inverse: float
    matrix: Square
    bias: Vector
    off_diagonal: float
    on_bias: float
    loss: float
    gradient: float
    separable: bool

    def __call__(self, logits: Array) -> Array:
        return kernels.softmax(self.scores(logits))

    def scores(self, logits: Array) -> Array:
        """Logits (n, K) of the calibrated probabilities."""
        u, masked = _log_probs(logits, self.inverse)
        return _with_masked((u @ self.matrix.T + self.bias).astype(logits.dtype), masked)


def fit_vector(logits: Array, labels: Ints, weights: Floats | None = None) -> VectorScaling:
    """A scale and a bias for each class, of least mean loss. Here and below, samples whose label has a logit of -inf
    are left out."""
    return _fit_diagonal(logits, labels, weights, structured=False)


def fit_svs(logits: Array, labels: Ints, weights: Floats | None = None) -> VectorScaling:
    """Structured vector scaling: a scale and a bias for each class that stay near those of temperature scaling."""
    return _fit_diagonal(logits, labels, weights, structured=True)


def fit_matrix(
    logits: Array,
    labels: Ints,
    weights: Floats | None = None,
    *,
    off_diagonal: float | None = None,
    on_bias: float | None = None,
) -> MatrixScaling:
    """A full matrix and a bias, with off-diagonal and intercept regularisation (ODIR): strengths `off_diagonal` and
    `on_bias` of the penalties on their squares. What is None is chosen by cross-validation in three parts, as a
    multiple of what structured matrix scaling takes (one multiple for both where both are None)."""
    scaled = fit_temperature(logits, labels, weights)
    samples = _samples(logits, labels, weights, scaled)
    if samples is None:
        return _nothing_known(logits.shape[1], scaled)
    strengths = off_diagonal, on_bias
    chosen = _strengths(samples, strengths, 1.0)
    if None in strengths:
        chosen = _strengths(samples, strengths, _cross_validated(samples, strengths))
    return _fit_full(samples, scaled, *chosen, 0.0)


def fit_sms(logits: Array, labels: Ints, weights: Floats | None = None) -> MatrixScaling:
    """Structured matrix scaling: a matrix and a bias that stay near temperature scaling, more so off the diagonal."""
    scaled = fit_temperature(logits, labels, weights)
    samples = _samples(logits, labels, weights, scaled)
    if samples is None:
        return _nothing_known(logits.shape[1], scaled)
    off_diagonal, on_bias = _strengths(samples, (None, None), 1.0)
    return _fit_full(samples, scaled, off_diagonal, on_bias, on_bias)


# -- what is fitted ------------------------------------------------------------------------------------------------


def _log_probs(logits: Array, inverse: float) -> tuple[Array, Array | None]:
    """log softmax(inverse * logits), 0 where a class is masked; and where that is, if anywhere."""
    masked = np.isneginf(logits)
    u = logits - tops(logits)[:, None]
    if masked.any():
        u = np.where(masked, -np.inf, np.where(masked, 0.0, u) * inverse).astype(logits.dtype)
    else:
        u *= logits.dtype.type(inverse)
    u -= np.log(np.exp(u).sum(axis=1, keepdims=True))
    if not masked.any():
        return u, None
    u[masked] = 0.0
    return u, masked


def _with_masked(scores: Array, masked: Array | None) -> Array:
    if masked is not None:
        scores[masked] = -np.inf
    return scores


def _samples(logits: Array, labels: Ints, weights: Floats | None, scaled: Temperature) -> Samples | None:
    """Samples of positive weight whose label is possible; None where there are none."""
    kept = np.isfinite(logits[np.arange(len(labels)), labels])
    w = np.ones(len(labels)) if weights is None else weights
    kept &= w > 0
    if not kept.any():
        return None
    u, masked = _log_probs(logits[kept].astype(np.float64), _base(scaled))
    mass = float(w[kept].sum())
    return Samples(u, masked, labels[kept], w[kept] / mass, mass)


def _base(scaled: Temperature) -> float:
    """Where the fit starts: at the best temperature, or at 1 where that would leave nothing to scale."""
    return scaled.inverse or 1.0


def _strengths(samples: Samples, given: tuple[float | None, float | None], multiple: float) -> tuple[float, float]:
    """Strengths off the diagonal and on the bias: those given, or a multiple of what sms takes."""
    K = samples.logits.shape[1]
    defaults = multiple * K * (K - 1) / samples.mass, multiple * K / samples.mass
    off, on = (float(d if g is None else g) for g, d in zip(given, defaults, strict=True))
    return off, on


def _fit_diagonal(logits: Array, labels: Ints, weights: Floats | None, structured: bool) -> VectorScaling:
    K = logits.shape[1]
    scaled = fit_temperature(logits, labels, weights)
    samples = _samples(logits, labels, weights, scaled)
    if samples is None:
        return VectorScaling(1.0, np.ones(K), np.zeros(K), 0.0, 0.0, True)
    ridge = np.full((2, K), K / samples.mass if structured else 0.0)
    least, separable = _least(Diagonal(samples.logits), samples, ridge, scaled.separable)
    return VectorScaling(_base(scaled), 1 + least.theta[0], least.theta[1], least.loss, least.gradient, separable)


def _fit_full(
    samples: Samples, scaled: Temperature, off_diagonal: float, on_bias: float, on_diagonal: float
) -> MatrixScaling:
    ridge = _ridge(samples.logits.shape[1], off_diagonal, on_bias, on_diagonal)
    least, separable = _least(Full(samples.logits), samples, ridge, scaled.separable)
    matrix = np.eye(len(ridge)) + least.theta[:, :-1]
    bias = least.theta[:, -1]
    return MatrixScaling(_base(scaled), matrix, bias, off_diagonal, on_bias, least.loss, least.gradient, separable)


def _nothing_known(K: int, scaled: Temperature) -> MatrixScaling:
    return MatrixScaling(_base(scaled), np.eye(K), np.zeros(K), 0.0, 0.0, 0.0, 0.0, True)


def _ridge(K: int, off_diagonal: float, on_bias: float, on_diagonal: float) -> Floats:
    ridge = np.full((K, K + 1), off_diagonal)
    ridge[np.arange(K), np.arange(K)] = on_diagonal
    ridge[:, -1] = on_bias
    return ridge


def _least(scores: Scores, samples: Samples, ridge: Floats, separable: bool) -> tuple[Minimum, bool]:
    """The least of the loss from M = 0 and b = 0, and whether softened labels were needed to make it finite."""
    theta = np.zeros(ridge.shape)
    absent = len(np.unique(samples.labels)) < samples.logits.shape[1]
    if ridge.all() or not (separable or absent):
        least = minimise(scores, samples, samples.aims(), ridge, theta)
        if not endless(scores, samples, samples.aims(), ridge, least):
            return least, False
    return minimise(scores, samples, samples.softened(), ridge, theta), True


def _cross_validated(samples: Samples, given: tuple[float | None, float | None]) -> float:
    """The multiple of the grid under which parts of the samples are best told by fits to the others: from the
    strongest on, each fit starting at the last, until they are told worse."""
    parts, K = _parts(samples), samples.logits.shape[1]
    folds = [(_taken(samples, parts != part), _taken(samples, parts == part)) for part in range(FOLDS)]
    thetas = [np.zeros((K, K + 1)) for _ in folds]
    chosen, best = float(GRID[0]), np.inf
    for multiple in GRID:
        ridge = _ridge(K, *_strengths(samples, given, float(multiple)), 0.0)
        loss = 0.0
        for i, (inside, outside) in enumerate(folds):
            thetas[i] = minimise(Full(inside.logits), inside, inside.softened(), ridge, thetas[i], COARSE).theta
            loss += outside.mass * _loss(thetas[i], outside)
        if loss >= best:
            break
        chosen, best = float(multiple), loss
    return chosen


def _parts(samples: Samples) -> Ints:
    """Part of each sample, alike in labels and in how well these are told, whatever the order of the samples."""
    told = samples.logits[np.arange(len(samples.labels)), samples.labels]
    order = np.lexsort((told, samples.labels))
    parts = np.empty(len(order), dtype=np.int64)
    parts[order] = np.arange(len(order)) % FOLDS
    return parts


def _taken(samples: Samples, rows: Array) -> Samples:
    share = samples.weights[rows].sum()
    masked = None if samples.masked is None else samples.masked[rows]
    weights = samples.weights[rows] / share
    return Samples(samples.logits[rows], masked, samples.labels[rows], weights, samples.mass * share)


def _loss(theta: Floats, samples: Samples) -> float:
    scores = _with_masked(samples.logits + Full(samples.logits)(theta), samples.masked)
    top = scores.max(axis=1)
    told = scores[np.arange(len(scores)), samples.labels]
    return float(samples.weights @ (np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top - told))


# -- their scores --------------------------------------------------------------------------------------------------


class Diagonal:
    """Scores v_k u_k + b_k; the parameters (2, K) are v and b."""

    def __init__(self, u: Floats) -> None:
        self.base = u

    def __call__(self, theta: Floats) -> Floats:
        return self.base * theta[0] + theta[1]

    def adjoint(self, errors: Floats) -> Floats:
        return np.stack((np.einsum("ik,ik->k", errors, self.base), errors.sum(axis=0)))

    def hessian(self, probs: Floats, weights: Floats) -> Solver:
        """With p = probs, the mean of a step's scores in each row takes two products of a matrix and a vector, and
        so does what comes back of it; the rest is diagonal."""
        pu = probs * self.base
        square, cross, one = self._moments(probs, pu, weights)

        def product(step: Floats) -> Floats:
            mean = weights * (pu @ step[0] + probs @ step[1])
            own = np.stack((square * step[0] + cross * step[1], cross * step[0] + one * step[1]))
            return own - np.stack((mean @ pu, mean @ probs))

        return product

    def preconditioner(self, probs: Floats, weights: Floats, ridge: Floats) -> Solver:
        """The 2 x 2 block of each class, solved exactly."""
        variances = probs * (1 - probs)
        square, cross, one = self._moments(variances, variances * self.base, weights)
        square, one = (m + 2 * r + 1e-12 * m.max() + 1e-300 for m, r in ((square, ridge[0]), (one, ridge[1])))
        rest = np.maximum(square * one - cross * cross, 1e-9 * square * one)
        return lambda g: np.stack((one * g[0] - cross * g[1], square * g[1] - cross * g[0])) / rest

    def _moments(self, values: Floats, first: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Sums over samples of values u^2, values u and values, with `first` = values u."""
        return np.einsum("i,ik,ik->k", weights, first, self.base), weights @ first, weights @ values


class Full:
    """Scores M u + b; the parameters (K, K + 1) are the rows of M, each with its b behind it."""

    def __init__(self, u: Floats) -> None:
        self.base = u
        self.design = np.concatenate((u, np.ones((len(u), 1))), axis=1)

    def __call__(self, theta: Floats) -> Floats:
        return self.design @ theta.T

    def adjoint(self, errors: Floats) -> Floats:
        return errors.T @ self.design

    def hessian(self, probs: Floats, weights: Floats) -> Solver:
        weighted = weights[:, None] * probs

        def product(step: Floats) -> Floats:
            scores = self(step)
            scores -= np.einsum("ik,ik->i", probs, scores)[:, None]
            scores *= weighted
            return self.adjoint(scores)

        return product

    def preconditioner(self, probs: Floats, weights: Floats, ridge: Floats) -> Solver:
        """Two rough solutions added up: of the block of each class, as if all were alike up to their size, and of
        the diagonal with b, which mostly has another penalty."""
        variances = weights[:, None] * probs * (1 - probs)
        whole, mass = variances.sum(axis=1), variances.sum(axis=0)[:, None]
        values, vectors = np.linalg.eigh((self.design.T * whole) @ self.design / (whole.sum() + 1e-300))
        bend = mass * values + 2 * np.median(ridge) + 1e-12 * mass.max() * values.max() + 1e-300
        k = np.arange(len(ridge))
        diagonal = Diagonal(self.base).preconditioner(probs, weights, np.stack((ridge[k, k], ridge[:, -1])))

        def solve(g: Floats) -> Floats:
            step = ((g @ vectors) / bend) @ vectors.T
            own, bias = diagonal(np.stack((g[k, k], g[:, -1])))
            step[k, k] += own
            step[:, -1] += bias
            return step

        return solve
