"""Where the bins are: equal size, equal mass and k-means edges, what I-Max is compared with (paper, sec. 3.2).

Each function takes a question and the number of bins and returns the interior edges (M - 1,) in log-odds, which never
decrease; they repeat, and leave bins empty, where the question has fewer distinct points than bins.
"""

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints
from ..numerics import bounded, logit
from ..problems import Binary

__all__ = ["edges_at", "eq_mass_edges", "eq_size_edges", "kmeans_edges", "quantiles"]


def eq_size_edges(n_bins: int) -> Floats:
    """Bins of equal width in probability: edges at logit(m / M), whatever the data (Zadrozny & Elkan, 2001)."""
    return logit(np.arange(1, n_bins) / n_bins)


def eq_mass_edges(problem: Binary, n_bins: int) -> Floats:
    """Bins of equal mass: edge m stands at the lower m / M quantile of the points (Zadrozny & Elkan, 2001)."""
    return quantiles(problem, np.linspace(1 / n_bins, 1 - 1 / n_bins, n_bins - 1))


def quantiles(problem: Binary, shares: Floats) -> Floats:
    """Edges below which these shares of the points lie."""
    reached = np.cumsum(problem.weights)
    # a quantile counts samples from zero: the last one is at mass - 1, or less where weights are fractions
    last = reached[-1] - min(1.0, reached[-1] / len(reached))
    aims = 100 * shares / 100 * last
    first = np.searchsorted(reached, aims, side="right")
    return edges_at(problem, first) if problem.width else bounded(problem.logodds[first])


def kmeans_edges(problem: Binary, n_bins: int) -> Floats:
    """Bins of least squared distance to their mean log-odds, by the exact programme: no start, no seed."""
    x = bounded(problem.logodds)
    centred = problem.weights * (x - np.average(x, weights=problem.weights))
    sums = kernels.running(centred, problem.weights)
    return edges_at(problem, kernels.solve_edges("squares", *sums, n_bins)[0])


def edges_at(problem: Binary, cuts: Ints) -> Floats:
    """Edges that make each of these points the first of its bin. A cut that parts nothing, before the first point or
    after the last, repeats the nearest edge."""
    last = len(problem.logodds) - 1
    if not last:
        return bounded(np.repeat(problem.logodds, len(cuts)))
    return bounded(problem.separators(np.clip(cuts, 1, last)))
