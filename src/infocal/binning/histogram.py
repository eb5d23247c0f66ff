"""Histogram binning: what each bin answers with (Zadrozny & Elkan, 2001; paper, sec. 3.2).

Edges decide only where the bins are. Representatives differ only in what is averaged inside a bin: the labels
(`frequency`), the classifier's own probabilities (`own`), or those of a scaling method. They are probabilities
throughout: a frequency of exactly 1 stays 1.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Array, Floats
from ..numerics import bin_of, bounded, sigmoid
from ..records import Vector, record

__all__ = ["Histogram", "Sums", "fit_histogram", "fit_histograms", "sums_of", "sums_of_sorted"]


@record
class Histogram:
    """A binned calibrator of one question: log-odds in, the representative of their bin out.

    `edges` (M-1,) in log-odds; `representatives` (M,) are probabilities; `weights` (M,) is the mass of the points each
    was fitted to.
    """

    edges: Vector
    representatives: Vector
    weights: Vector

    def check(self) -> None:
        if len(self.representatives) != len(self.edges) + 1 or len(self.weights) != len(self.edges) + 1:
            raise ValueError("Histogram: expected one representative and one weight more than edges")
        if not (np.isfinite(self.edges).all() and (np.diff(self.edges) >= 0).all()):
            raise ValueError("Histogram.edges: expected finite numbers that never decrease")
        if not ((self.representatives >= 0) & (self.representatives <= 1)).all():
            raise ValueError("Histogram.representatives: expected probabilities from 0 to 1")

    def __call__(self, logodds: Array) -> Floats:
        return self.representatives[bin_of(logodds, self.edges)]


@dataclass(frozen=True)
class Sums:
    """Totals (M,) over the points of each bin: their mass, and their mass times what is averaged and times the
    classifier's own probability."""

    weights: Floats
    values: Floats
    own: Floats

    @staticmethod
    def stacked(parts: "list[Sums]", stack: Callable[[list[Floats]], Floats]) -> "Sums":
        """All parts as one, a row or rows each."""
        return Sums(*(stack([getattr(part, name) for part in parts]) for name in ("weights", "values", "own")))

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.weights + other.weights, self.values + other.values, self.own + other.own)


def sums_of(edges: Floats, logodds: Floats, weights: Floats, values: Floats) -> Sums:
    """Totals of points in any order, `values` being what is averaged."""
    bins = bin_of(logodds, edges)
    masses = (weights, weights * values, weights * sigmoid(logodds))
    return Sums(*(np.bincount(bins, mass, minlength=len(edges) + 1).astype(np.float64) for mass in masses))


def sums_of_sorted(edges: Floats, logodds: Floats, weights: Floats, values: Floats) -> Sums:
    """The same of points that increase, of which every bin holds consecutive ones."""
    first = np.append(0, np.searchsorted(logodds, edges))
    full = np.diff(first, append=len(logodds)) > 0
    masses = np.zeros((3, len(logodds) + 1))  # the last point stands behind all, where empty bins may start
    np.stack((weights, weights * values, weights * sigmoid(logodds)), out=masses[:, :-1])
    return Sums(*np.where(full, np.add.reduceat(masses, first, axis=1), 0.0))


def fit_histogram(edges: Floats, sums: Sums, *, monotone: bool = False, prior_count: float = 0.0) -> Histogram:
    """Representatives of bins with these totals.

    `prior_count` adds that many points to each bin, which answer as the classifier itself does. A bin without points
    answers with the sigmoid of its middle. `monotone` pools neighbouring bins that would otherwise decrease.
    """
    return fit_histograms(edges[None], Sums.stacked([sums], np.array), monotone=monotone, prior_count=prior_count)[0]


def fit_histograms(edges: Floats, sums: Sums, *, monotone: bool = False, prior_count: float = 0.0) -> list[Histogram]:
    """The same for each row of edges (G, M-1) and of totals (G, M)."""
    middle = sigmoid(_middles(edges))
    full = sums.weights > 0
    own = np.where(full, sums.own / np.where(full, sums.weights, 1.0), middle)
    mass = sums.weights + prior_count
    told = mass > 0
    means = np.where(told, (sums.values + prior_count * own) / np.where(told, mass, 1.0), middle)
    means = np.clip(means, 0.0, 1.0)  # rounding may leave a mean of ones an ulp above
    if monotone:
        means = np.array([_pooled(*row) for row in zip(means, mass, strict=True)])
    return [Histogram(*row) for row in zip(edges, means, sums.weights, strict=True)]


def _middles(edges: Floats) -> Floats:
    """Middle of each bin; the outer ones are taken to be two units wide."""
    ends = np.concatenate((edges[:, :1] - 2.0, edges, edges[:, -1:] + 2.0), axis=1)
    return bounded((ends[:, :-1] + ends[:, 1:]) / 2)


def _pooled(means: Floats, mass: Floats) -> Floats:
    """The nearest means that never decrease; empty bins follow their neighbours."""
    from scipy.optimize import isotonic_regression

    full = mass > 0
    pooled = np.clip(isotonic_regression(means[full], weights=mass[full]).x, 0.0, 1.0)
    floor = np.concatenate(([0.0], pooled))[np.cumsum(full)]
    ceiling = np.concatenate((pooled, [1.0]))[np.cumsum(full) - full]
    return np.where(full, floor, np.maximum.accumulate(np.clip(means, floor, ceiling)))
