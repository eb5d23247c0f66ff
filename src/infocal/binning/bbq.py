"""Bayesian binning into quantiles: equal-mass binnings of many sizes, each weighed by how likely it makes the labels
(Naeini et al., 2015).

In a binning of B bins, the hits of a bin are drawn with a frequency of its own that has a Beta(a, b) prior: of strength
a + b = 2 / B and centred on the middle of the bin. Integrating the frequencies out gives

    log P(hits | binning) = sum over bins of  log Beta(a + hits, b + misses) - log Beta(a, b).
"""

import numpy as np

from ..arrays import Array, Floats, Ints
from ..numerics import bin_of, sigmoid
from ..problems import Binary
from ..records import IntVector, Vector, record
from .edges import quantiles
from .histogram import Histogram

__all__ = ["Bbq", "fit_bbq"]

STRENGTH = 2.0  # of the prior, in points, over all bins
REACH = 10.0  # numbers of bins from n^(1/3) / REACH to n^(1/3) REACH, as in the paper
NEGLIGIBLE = 1e-6  # weights below this share of the largest


@record
class Bbq:
    """The mean of binnings, which is itself constant between the edges of all of them: bin m of log-odds is
    [edges[m-1], edges[m]) and answers with `representatives[m]`. `sizes` and `weights` are the numbers of bins of the
    binnings and their shares in the mean."""

    edges: Vector
    representatives: Vector
    sizes: IntVector
    weights: Vector

    def check(self) -> None:
        Histogram(self.edges, self.representatives, self.representatives)

    def __call__(self, logodds: Array) -> Floats:
        return self.representatives[bin_of(logodds, self.edges)]


def fit_bbq(problem: Binary) -> Bbq:
    """The mean of the binnings of a question, without those whose weight is negligible."""
    root = problem.weights.sum() ** (1 / 3)
    sizes = np.arange(max(2, int(root / REACH)), max(2, int(np.ceil(root * REACH))) + 1)
    sizes = sizes[sizes <= max(2, len(problem.logodds))]
    edges, representatives, evidence = _binnings(problem, sizes)
    weights = np.exp(evidence - evidence.max())
    kept = np.flatnonzero(weights >= NEGLIGIBLE)
    shares = weights[kept] / weights[kept].sum()
    union = np.unique(np.concatenate([edges[i] for i in kept]))
    starts = np.append(-np.inf, union)
    answers = (s * representatives[i][bin_of(starts, edges[i])] for s, i in zip(shares, kept, strict=True))
    return Bbq(union, np.minimum(np.asarray(sum(answers)), 1.0), sizes[kept], shares)


def _binnings(problem: Binary, sizes: Ints) -> tuple[list[Floats], list[Floats], Floats]:
    """Edges and representatives of the binnings of these sizes, and the log-likelihood of the hits under each. All
    bins of all sizes are laid out behind one another."""
    from scipy.special import betaln

    shares = np.concatenate([np.linspace(1 / size, 1 - 1 / size, size - 1) for size in sizes])
    last = np.cumsum(sizes - 1)[:-1]
    edges = np.split(quantiles(problem, shares), last)
    ends = np.concatenate([np.concatenate(([-np.inf], e, [np.inf])) for e in edges])
    reached = np.stack((problem.weights, problem.weights * problem.hits)).cumsum(axis=1)
    reached = np.concatenate((np.zeros((2, 1)), reached), axis=1)
    inner = np.delete(np.arange(len(ends) - 1), np.cumsum(sizes + 1)[:-1] - 1)  # not from one binning to the next
    weights, hits = np.maximum(np.diff(reached[:, np.searchsorted(problem.logodds, ends)])[:, inner], 0.0)
    centre = np.clip((sigmoid(ends[1:]) + sigmoid(ends[:-1]))[inner] / 2, 1e-9, 1 - 1e-9)
    strength = STRENGTH / np.repeat(sizes, sizes)
    a, b = strength * centre, strength * (1 - centre)
    hits = np.minimum(hits, weights)
    first = np.cumsum(sizes) - sizes
    evidence = np.add.reduceat(betaln(a + hits, b + weights - hits) - betaln(a, b), first)
    return edges, np.split((a + hits) / (strength + weights), first[1:]), evidence
