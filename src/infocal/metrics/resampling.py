"""How far a measure can be trusted: bootstrap confidence intervals of any measure (Efron & Tibshirani, 1993)."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array, Floats, Ints, check_count, check_weights
from .scores import check_level
from .sums import MEASURES, Sums, debiased_again, sums_of

__all__ = ["Interval", "Resampling", "bootstrap", "check_resampling", "weighted_interval"]

METHODS = ("bca", "percentile", "basic")
GROUPS = 200  # at most so many groups of samples are left out in turn
BLOCK = 1 << 20  # samples drawn at a time


class Interval(NamedTuple):
    """A measure of the samples, and the ends of its confidence interval; arrays where the measure is one."""

    estimate: Any
    low: Any
    high: Any


class Resampling(NamedTuple):
    """How an interval is found."""

    alpha: float
    n_resamples: int
    method: str
    rng: np.random.Generator


def bootstrap(
    metric: Callable[..., Any],
    *samples: npt.ArrayLike,
    level: float = 0.9,
    n_resamples: int = 1000,
    method: str = "bca",
    rng: int | np.random.Generator = 0,
    **options: Any,
) -> Interval:
    """Confidence interval of metric(*samples, **options), a number or an array, where all `samples` are resampled
    together. A level of 0.9 is 90 %.

    `percentile` takes the quantiles of the resampled measures; `basic` reflects them in the estimate, which takes off
    the bias that resampling shows; `bca` (Efron, 1987) corrects the quantiles for bias and skewness, the best choice
    for measures of little bias. A calibration error of norm 1 is biased by more than any of them can mend where its
    bins hold few samples: `norm=2, debiased=True` has intervals that cover the truth.

    The measures of this package (scores and `ece`) take all their options here, `ties` and `weights` included, and are
    resampled from what each sample adds to them where they are sums, hundreds of times faster.

    >>> from infocal.metrics import accuracy
    >>> bootstrap(accuracy, [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]] * 30, [0, 1, 1] * 30).estimate
    0.6666666666666666
    """
    settings = check_resampling(level, n_resamples, method, rng)
    arrays = [np.asarray(x) for x in samples]
    n = _common_length(arrays)
    if metric not in MEASURES:
        return interval(lambda drawn: metric(*(x[drawn] for x in arrays), **options), np.arange(n), settings)
    metric(*arrays, **options)  # says what is wrong with the samples or the options
    weights = check_weights(options.pop("weights", None), n)
    parts = sums_of(metric, *arrays, weights=weights, **options)
    if parts is not None:
        return _of_sums(parts, rows_of(n, weights), settings)
    redrawn = debiased_again(*arrays, weights=weights, **options) if options.get("debiased") else None
    return weighted_interval(lambda w: metric(*arrays, weights=w, **options), n, weights, settings, redrawn)


def check_resampling(level: float, n_resamples: int, method: str, rng: int | np.random.Generator) -> Resampling:
    """Settings that make sense."""
    if method not in METHODS:
        raise ValueError(f'method: expected "bca", "percentile" or "basic", got {method!r}')
    count = check_count("n_resamples", n_resamples, 2)
    return Resampling(1 - check_level(level), count, method, np.random.default_rng(rng))


def _common_length(arrays: list[Array]) -> int:
    lengths = {x.shape[0] if x.ndim else 0 for x in arrays}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError(f"samples: expected arrays with one row per sample, got lengths {sorted(lengths)}")
    return int(lengths.pop())


def weighted_interval(
    measure: Callable[[Floats], Any],
    n: int,
    weights: Floats | None,
    settings: Resampling,
    redrawn: Callable[[Floats], Any] | None = None,
) -> Interval:
    """Interval of a measure of weights (n,): drawing a sample twice is giving it twice its weight."""
    own = np.ones(n) if weights is None else weights

    def of_rows(measure: Callable[[Floats], Any]) -> Callable[[Ints], Any]:
        return lambda drawn: measure(own * np.bincount(drawn, minlength=n))

    return interval(of_rows(measure), rows_of(n, weights), settings, of_rows(redrawn or measure))


def rows_of(n: int, weights: Floats | None) -> Ints:
    """Rows to draw from: a sample of no weight is none."""
    return np.arange(n) if weights is None else np.flatnonzero(weights)


def interval(
    measure: Callable[[Ints], Any], rows: Ints, settings: Resampling, redrawn: Callable[[Ints], Any] | None = None
) -> Interval:
    """Interval of a measure of rows; `redrawn` is the measure of resampled ones where this is another."""

    def measured(drawn: Ints, of: Callable[[Ints], Any] = measure) -> Floats:
        return np.asarray(of(drawn), dtype=np.float64)

    n, rng, again = len(rows), settings.rng, redrawn or measure
    drawn = np.stack([measured(rows[rng.integers(0, n, n)], again) for _ in range(settings.n_resamples)])
    left_out = drawn
    if settings.method == "bca" and n > 1:
        group = _groups(n, rng)
        left_out = np.stack([measured(rows[group != g]) for g in range(group.max() + 1)])
    return _ends(measured(rows), drawn, left_out, settings)


def _groups(n: int, rng: np.random.Generator) -> Ints:
    """Group of each sample, to be left out in turn."""
    return rng.permutation(n) % min(n, GROUPS)


def _ends(estimate: Floats, drawn: Floats, left_out: Floats, settings: Resampling) -> Interval:
    """The interval (...) of resampled measures (B, ...) and of measures without some samples (J, ...)."""
    flat = drawn.reshape(len(drawn), -1)
    ends = np.array([settings.alpha / 2, 1 - settings.alpha / 2])[:, None]
    levels = np.broadcast_to(ends, (2, estimate.size))
    if settings.method == "bca":
        levels = _corrected(ends, estimate.ravel(), flat, left_out.reshape(len(left_out), -1))
    low, high = (
        np.array([np.quantile(x, q) for x, q in zip(flat.T, row, strict=True)]).reshape(estimate.shape)
        for row in levels
    )
    if settings.method == "basic":
        low, high = 2 * estimate - high, 2 * estimate - low
    return Interval(*(float(x) if x.ndim == 0 else x for x in (estimate, low, high)))


def _corrected(ends: Floats, estimate: Floats, drawn: Floats, left_out: Floats) -> Floats:
    """Levels (2, m) of the quantiles, with the bias z0 and the acceleration a of Efron (1987)."""
    from scipy.special import ndtr, ndtri

    level = np.isclose(drawn, estimate, rtol=1e-12, atol=0.0)  # the order of sums may not part equal measures
    below = (~level & (drawn < estimate)).mean(axis=0) + level.mean(axis=0) / 2
    z0 = ndtri(np.clip(below, 0.5 / len(drawn), 1 - 0.5 / len(drawn)))
    pull = left_out.mean(axis=0) - left_out
    spread = (pull**2).sum(axis=0)
    a = (pull**3).sum(axis=0) / (6 * np.where(spread > 0, spread, 1.0) ** 1.5)
    z = z0 + ndtri(ends)
    return np.asarray(ndtr(z0 + z / np.maximum(1 - a * z, 1e-3)))


# -- measures of sums over samples ----------------------------------------------------------------------------------


def _of_sums(parts: Sums, rows: Ints, settings: Resampling) -> Interval:
    n, rng, redrawn = len(rows), settings.rng, parts.redrawn or parts.measure
    drawn = [
        redrawn(parts.of(np.repeat(np.arange(count), n), rows[rng.integers(0, n, count * n)], count))
        for count in _batches(settings.n_resamples, n)
    ]
    left_out = []
    if settings.method == "bca" and n > 1:
        group, first = _groups(n, rng), 0
        for count in _batches(int(group.max()) + 1, n):
            part, kept = np.nonzero(group != np.arange(first, first + count)[:, None])
            left_out.append(parts.measure(parts.of(part, rows[kept], count)))
            first += count
    return _ends(parts.measure(parts.whole())[0], np.concatenate(drawn), np.concatenate(left_out or drawn), settings)


def _batches(total: int, n: int) -> Iterator[int]:
    """Parts of a number of resamples that are drawn at a time."""
    size = max(1, BLOCK // n)
    for done in range(0, total, size):
        yield min(size, total - done)
