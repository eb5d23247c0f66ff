"""How far a measure can be trusted: bootstrap intervals of any measure, and exact bands for binned calibrators."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array, Floats, check_count
from ..records import IntVector, Vector, record
from .calibration import reliability

__all__ = ["Band", "Interval", "band", "bootstrap", "check_level", "clopper_pearson"]

METHODS = ("bca", "percentile")
GROUPS = 200  # at most so many groups of samples are left out in turn


class Interval(NamedTuple):
    """A measure of the samples, and the ends of its confidence interval; arrays where the measure is one."""

    estimate: Any
    low: Any
    high: Any


@record
class Band:
    """The bins of a binned calibrator, one per distinct answer, with simultaneous bounds on their true rates.

    `error` is the observed calibration error; `upper` is the largest that rates within the bounds allow.
    """

    question: IntVector
    answers: Vector
    weights: Vector
    frequency: Vector
    low: Vector
    high: Vector
    level: float
    error: float
    upper: float


def bootstrap(
    metric: Callable[..., Any],
    *samples: npt.ArrayLike,
    level: float = 0.9,
    n_resamples: int = 1000,
    method: str = "bca",
    rng: int | np.random.Generator = 0,
) -> Interval:
    """Confidence interval of metric(*samples), a number or an array, where all `samples` are resampled together.

    `percentile` takes the quantiles of the resampled measures. `bca` (Efron, 1987) also corrects them for bias and
    skewness: the better choice for calibration errors, which resampling inflates. A level of 0.9 is 90 %.

    >>> from infocal.metrics import accuracy
    >>> bootstrap(accuracy, [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]] * 30, [0, 1, 1] * 30).estimate
    0.6666666666666666
    """
    if method not in METHODS:
        raise ValueError(f'method: expected "bca" or "percentile", got {method!r}')
    B, arrays = check_count("n_resamples", n_resamples, 2), [np.asarray(x) for x in samples]
    alpha, n = 1 - check_level(level), _common_length(arrays)
    rng = np.random.default_rng(rng)
    estimate = np.asarray(metric(*arrays), dtype=np.float64)
    drawn = np.stack([_measured(metric, arrays, rng.integers(0, n, n)) for _ in range(B)])
    ends = np.array([alpha / 2, 1 - alpha / 2])[:, None]
    levels = np.broadcast_to(ends, (2, estimate.size))
    if method == "bca":
        left_out = np.stack([_measured(metric, arrays, rows) for rows in _all_but_one_group(n, rng)])
        levels = _corrected(ends, estimate.ravel(), drawn.reshape(B, -1), left_out.reshape(len(left_out), -1))
    low, high = (
        np.array([np.quantile(x, q) for x, q in zip(drawn.reshape(B, -1).T, row, strict=True)]).reshape(estimate.shape)
        for row in levels
    )
    return Interval(*(float(x) if x.ndim == 0 else x for x in (estimate, low, high)))


def check_level(level: float) -> float:
    """A confidence level as a fraction."""
    if not 0 < level < 1:
        raise ValueError(f"level: expected a fraction between 0 and 1, such as 0.9 for 90 %, got {level!r}")
    return float(level)


def _common_length(arrays: list[Array]) -> int:
    lengths = {x.shape[0] if x.ndim else 0 for x in arrays}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError(f"samples: expected arrays with one row per sample, got lengths {sorted(lengths)}")
    return int(lengths.pop())


def _measured(metric: Callable[..., Any], arrays: list[Array], rows: Array) -> Floats:
    return np.asarray(metric(*(x[rows] for x in arrays)), dtype=np.float64)


def _all_but_one_group(n: int, rng: np.random.Generator) -> list[Array]:
    group = rng.permutation(n) % min(n, GROUPS)
    return [np.flatnonzero(group != g) for g in range(group.max() + 1)] if n > 1 else [np.zeros(1, dtype=int)]


def _corrected(ends: Floats, estimate: Floats, drawn: Floats, left_out: Floats) -> Floats:
    """Levels (2, m) of the quantiles, with the bias z0 and the acceleration a of Efron (1987)."""
    from scipy.special import ndtr, ndtri

    below = (drawn < estimate).mean(axis=0) + (drawn == estimate).mean(axis=0) / 2
    z0 = ndtri(np.clip(below, 0.5 / len(drawn), 1 - 0.5 / len(drawn)))
    pull = left_out.mean(axis=0) - left_out
    spread = (pull**2).sum(axis=0)
    a = (pull**3).sum(axis=0) / (6 * np.where(spread > 0, spread, 1.0) ** 1.5)
    z = z0 + ndtri(ends)
    return np.asarray(ndtr(z0 + z / np.maximum(1 - a * z, 1e-3)))


def band(
    probs: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    kind: str = "top1",
    level: float = 0.9,
    ties: npt.ArrayLike | None = None,
) -> Band:
    """Bounds on the true rate of every bin of a binned calibrator, all right at once with probability `level`.

    The answers must come from few distinct values, and the samples be other than those the calibrator was fitted to.
    Bins of one question are independent given their counts, so each gets a Clopper-Pearson interval (1934) of level
    (1 - alpha / G)^(1 / M) of the M bins of its question, where the G questions share alpha = 1 - level equally.
    `upper` weighs the bins by their observed shares.
    """
    alpha = 1 - check_level(level)
    table = reliability(probs, labels, kind=kind, scheme="own", ties=ties)
    bins = np.bincount(table.question, minlength=table.questions)[table.question]
    low, high = clopper_pearson(table.hits, table.weights, -np.expm1(np.log1p(-alpha / table.questions) / bins))
    worst = np.maximum(np.abs(table.mean - low), np.abs(table.mean - high))
    return Band(
        table.question,
        table.mean,
        table.weights,
        table.frequency,
        low,
        high,
        float(level),
        float(table.errors().mean()),
        float((table.share @ worst) / table.questions),
    )


def clopper_pearson(hits: Floats, trials: Floats, alpha: float | Floats) -> tuple[Floats, Floats]:
    """Ends of intervals that each hold the rate behind hits of trials with probability 1 - alpha (1934)."""
    from scipy.special import betaincinv

    misses = trials - hits
    some, most = np.maximum(hits, 1.0), np.maximum(misses, 1.0)
    low = np.where(hits > 0, betaincinv(some, misses + 1, alpha / 2), 0.0)
    high = np.where(misses > 0, betaincinv(hits + 1, most, 1 - alpha / 2), 1.0)
    return low, high
