"""Exact bounds on the true rates of a binned calibrator's bins, and on the calibration error that they allow."""

import numpy as np
import numpy.typing as npt

from ..arrays import Floats
from ..records import IntVector, Vector, record
from .calibration import reliability
from .scores import check_level

__all__ = ["Band", "band", "clopper_pearson"]


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
