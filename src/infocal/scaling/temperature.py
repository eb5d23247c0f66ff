"""Temperature scaling (Guo et al., 2017) and its relatives: an ensemble of three temperatures, a temperature per bin.

One number t > 0 multiplies all logits, so that ranking and accuracy stay. The mean loss

    L(t) = mean_i [ log sum_k e^(t z_ik) - t z_iy ]

is convex in t, the inverse temperature; Newton's method in a bracket finds its least.
"""

import numpy as np

from .. import kernels
from ..arrays import Array, Floats, Ints
from ..numerics import bin_of, bounded
from ..records import Vector, record

__all__ = ["BinwiseTemperature", "Temperature", "TemperatureEnsemble", "fit_bws", "fit_ets", "fit_temperature"]

SAMPLE = 1024  # rows, at even distances, that tell where to start in many more
STEPS = 60
BLOCK = 1 << 20  # log-odds held at a time
# what is left of the mean loss when the search ends; single precision has no more to say
TOLERANCE = {"f": 1e-14, "d": 1e-22}


@record
class Temperature:
    """softmax(inverse * logits), the inverse temperature being what the fit looks for.

    `loss` is the mean loss there and `gradient` the size of its derivative. `separable`: every label has the largest
    logit, so that no finite `inverse` is best. Then, of a mass of n samples, each label counts as (n + 1) / (n + 2) of
    a sample, and the rest is spread over the possible classes. Where the logits say less than nothing of the labels,
    `inverse` is 0 and every possible class is as likely as any other.
    """

    inverse: float
    loss: float
    gradient: float
    separable: bool

    def __call__(self, logits: Array) -> Array:
        return kernels.softmax(logits, self.inverse)

    def scores(self, logits: Array) -> Array:
        """Logits (n, K) of the calibrated probabilities; here and below, a masked class stays at -inf."""
        return _scaled(logits, self.inverse)

    @property
    def temperature(self) -> float:
        """What logits are divided by."""
        return 1 / self.inverse if self.inverse else float("inf")


def _scaled(logits: Array, inverse: float | Floats) -> Array:
    """inverse * logits in their type, -inf staying so where `inverse` is 0."""
    masked = np.isneginf(logits)
    scaled = np.where(masked, 0.0, logits) * inverse
    return np.where(masked, -np.inf, scaled).astype(logits.dtype)


def fit_temperature(logits: Array, labels: Ints, weights: Floats | None = None) -> Temperature:
    """The temperature of least mean loss. Samples whose label has a logit of -inf cannot be explained at any
    temperature and are left out.

    >>> logits = np.log([[0.8, 0.2], [0.8, 0.2], [0.8, 0.2], [0.2, 0.8]])
    >>> round(fit_temperature(logits, np.array([0, 0, 1, 1])).temperature, 4)  # 0.8 came true in 3 of 4
    1.2619
    """
    stride = len(logits) // SAMPLE
    start = 0.0
    if stride > 1:
        mass = None if weights is None else weights[::stride].copy()
        start = _optimum(logits[::stride], labels[::stride].copy(), mass, 0.0, 1e-5).inverse
    return _optimum(logits, labels, weights, start, TOLERANCE[logits.dtype.char])


def _optimum(logits: Array, labels: Ints, weights: Floats | None, t: float, tolerance: float) -> Temperature:
    sums = kernels.tempered(logits, labels, weights, t)
    if not sums.mass:
        return Temperature(1.0, 0.0, 0.0, True)
    separable, label, mass = sums.beaten == 0, sums.label, sums.mass
    if separable:
        label += (kernels.tempered(logits, labels, weights, 0.0).mean - label) / (mass + 2)
    low, high = -1.0, np.inf  # the least is in (low, high); low < 0 while 0 has not been tried
    for _ in range(STEPS):
        slope, curvature = (sums.mean - label) / mass, sums.variance / mass
        if slope**2 <= 2 * tolerance * curvature or (t == 0 and slope >= 0):
            break
        low, high = (t, high) if slope < 0 else (low, t)
        t = _newton(t, slope, curvature, low, high)
        if t in (low, high):
            break
        sums = kernels.tempered(logits, labels, weights, t)
    if t == curvature == 0:  # nothing depends on the temperature
        t = 1.0
    gradient = 0.0 if t == 0 else abs(slope)
    return Temperature(t, (sums.log_sum - t * label) / mass, gradient, separable)


def _newton(t: float, slope: float, curvature: float, low: float, high: float) -> float:
    """Newton's step where it stays in the bracket, and no more than four times as far out; else the middle."""
    aim = t - slope / curvature if curvature > 0 else np.copysign(np.inf, -slope)
    if t > 0:
        aim = min(aim, 4 * t)
    if low < 0:
        aim = max(aim, 0.0)
    if low < aim < high:
        return float(aim)
    return (low + high) / 2 if np.isfinite(high) else t


# -- three temperatures --------------------------------------------------------------------------------------------


@record
class TemperatureEnsemble:
    """Mean of three softmaxes (Zhang et al., 2020): at the best inverse temperature, at 1, and at 0, where every
    possible class is as likely as any other.

    `weights` (3,) are theirs, none negative, with sum 1. `gap` bounds how much lower the mean loss could be with other
    weights.
    """

    inverse: float
    weights: Vector
    loss: float
    gap: float
    separable: bool

    def __call__(self, logits: Array) -> Array:
        parts = (share * kernels.softmax(logits, t) for share, t in zip(self.weights, self._inverses, strict=True))
        return np.minimum(np.asarray(sum(parts), dtype=logits.dtype), 1)

    def scores(self, logits: Array) -> Array:
        """Logits (n, K) of the calibrated probabilities: their logarithms."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self(logits)))

    @property
    def _inverses(self) -> tuple[float, float, float]:
        return self.inverse, 1.0, 0.0


def fit_ets(logits: Array, labels: Ints, weights: Floats | None = None) -> TemperatureEnsemble:
    """Weights of least mean loss at the best temperature; samples of impossible labels are left out."""
    scaled = fit_temperature(logits, labels, weights)
    rows = np.arange(len(labels))
    parts = np.stack([kernels.softmax(logits, t)[rows, labels] for t in (scaled.inverse, 1.0, 0.0)], axis=1)
    mass = np.ones(len(labels)) if weights is None else weights
    kept = (mass > 0) & (parts[:, 2] > 0)
    if not kept.any():
        return TemperatureEnsemble(scaled.inverse, np.array([1.0, 0.0, 0.0]), 0.0, 0.0, True)
    shares, loss, gap = _mixture(parts[kept].astype(np.float64), mass[kept] / mass[kept].sum())
    return TemperatureEnsemble(scaled.inverse, shares, loss, gap, scaled.separable)


def _mixture(parts: Floats, weights: Floats) -> tuple[Floats, float, float]:
    """Shares (J,) of the mixture of least loss, that loss and its gap, from the probabilities (n, J) that each part
    gives to what happened. A barrier that keeps shares positive is lowered until it does not matter."""
    shares = np.full(parts.shape[1], 1 / parts.shape[1])
    for barrier in 10.0 ** -np.arange(1, 14):
        for _ in range(STEPS):
            ratio = parts / (parts @ shares)[:, None]
            slope = -(weights @ ratio) - barrier / shares
            curvature = (ratio.T * weights) @ ratio + np.diag(barrier / shares**2)
            toward = np.linalg.solve(curvature, np.stack((slope, np.ones_like(slope)), axis=1))
            step = toward[:, 1] * toward[:, 0].sum() / toward[:, 1].sum() - toward[:, 0]  # sums to 0
            decrement = -slope @ step
            room = -(step / shares).min()
            # a full step where the decrement is small against the barrier, by which the loss is self-concordant
            size = 1 / (1 + np.sqrt(max(decrement, 0.0) / barrier))
            shares = shares + min(size, 0.9 / room if room > 0 else size) * step
            if decrement <= 1e-3 * barrier:
                break
    shares = np.where(shares < 1e-10, 0.0, shares)
    shares /= shares.sum()
    mixed = parts @ shares
    gap = (weights @ (parts / mixed[:, None])).max() - 1
    return shares, float(-weights @ np.log(mixed)), float(max(gap, 0.0))


# -- a temperature per bin -----------------------------------------------------------------------------------------


@record
class BinwiseTemperature:
    """A temperature for each bin of confidence (Ji et al., 2019).

    `edges` (M-1,) part the log-odds of the most likely class; `inverses` (M,) are the bins' inverse temperatures, each
    fitted to the samples in it. `gradient` is the largest of theirs, `separable` says whether any bin was.
    """

    edges: Vector
    inverses: Vector
    gradient: float
    separable: bool

    def __call__(self, logits: Array) -> Array:
        out = np.empty(logits.shape, dtype=logits.dtype)
        bins = bin_of(_confidence(logits), self.edges)
        for m in np.unique(bins):
            out[bins == m] = kernels.softmax(logits[bins == m], float(self.inverses[m]))
        return out

    def scores(self, logits: Array) -> Array:
        """Logits (n, K) of the calibrated probabilities."""
        return _scaled(logits, self.inverses[bin_of(_confidence(logits), self.edges)][:, None])


def fit_bws(logits: Array, labels: Ints, weights: Floats | None = None, *, n_bins: int = 15) -> BinwiseTemperature:
    """Bins of equal mass, and the temperature of least mean loss in each. A bin in which no sample tells anything has
    the temperature of all samples."""
    confidence = _confidence(logits)
    edges = _quantiles(confidence, np.ones(len(labels)) if weights is None else weights, n_bins)
    bins = bin_of(confidence, edges)
    whole = fit_temperature(logits, labels, weights)
    fits = []
    for m in range(n_bins):
        rows = bins == m
        told = rows.any() and (weights is None or weights[rows].any())
        w = None if weights is None else weights[rows]
        fits.append(fit_temperature(logits[rows], labels[rows], w) if told else whole)
    return BinwiseTemperature(
        edges,
        np.array([fit.inverse for fit in fits]),
        max(fit.gradient for fit in fits),
        any(fit.separable for fit in fits),
    )


def _confidence(logits: Array) -> Floats:
    """Log-odds (n,) of the most likely class, made finite."""
    size = max(1, BLOCK // logits.shape[1])
    tops = [kernels.logodds(logits[i : i + size]).max(axis=1) for i in range(0, len(logits), size)]
    return bounded(np.concatenate(tops))


def _quantiles(x: Floats, weights: Floats, n_bins: int) -> Floats:
    """Where the mass of points x (n,) is m / M of the whole, for the interior m."""
    order = np.argsort(x, kind="stable")
    reached = np.cumsum(weights[order])
    cuts = np.searchsorted(reached, reached[-1] * np.arange(1, n_bins) / n_bins, side="right")
    return x[order][np.minimum(cuts, len(x) - 1)]
