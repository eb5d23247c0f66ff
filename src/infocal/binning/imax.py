"""I-Max: bin edges that keep the most information about the label (Patel et al., ICLR 2021, eq. 3).

Under a posterior model, a bin of mass W that holds P of the hits costs W h(P / W) of the label's entropy, so edges are
best where the total cost is least. `exact` finds the least by a dynamic programme over the sorted points;
`alternating` is the paper's Algorithm 1, which descends from a k-means++ start (with the Jensen-Shannon divergence) by
the closed-form updates of eq. 5, to a local optimum.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .. import kernels
from ..arrays import Floats, Ints
from ..numerics import bounded, entropy, sigmoid
from ..problems import Binary, Stack, between
from ..records import Square, Vector, record
from .edges import edges_at
from .histogram import Sums
from .posterior import Posterior, fit_posterior

__all__ = [
    "SOLVERS",
    "Binning",
    "Binnings",
    "Masses",
    "Trace",
    "alternate",
    "fit_imax",
    "fit_imax_stack",
    "kept",
    "masses",
    "measured",
    "start",
]

SOLVERS = ("exact", "alternating")
FACTS = ("information", "information_limit", "information_gap")
STEPS = 200  # of the alternating updates, as in the paper


@dataclass(frozen=True)
class Masses:
    """Running sums (n + 1,) of the masses of hits before each point and of misses from it on, under a posterior, and
    the cost of all points, each a bin of its own.

    Each is summed from its small end: one running sum over both would lose the rare label in the tails.
    """

    hits: Floats
    misses: Floats
    limit: float

    @staticmethod
    def of(hits: Floats, misses: Floats) -> "Masses":
        """Those of points that have these masses (n,)."""
        return Masses(*kernels.running(hits, misses), float(entropy(hits, misses).sum()))

    @property
    def mass(self) -> float:
        """Mass of all points."""
        return float(self.hits[-1] + self.misses[0])

    def of_bins(self, cuts: Ints) -> tuple[Floats, Floats]:
        """Masses of hits and misses (M,) of the bins that start at these points."""
        ends = np.concatenate(([0], cuts, [len(self.hits) - 1]))
        return np.diff(self.hits[ends]), -np.diff(self.misses[ends])


@record
class Trace:
    """The alternating updates step by step: edges (steps, M-1) and phi (steps + 1, M), both in posterior log-odds."""

    edges: Square
    phi: Square


@record
class Binning:
    """Edges (M-1,) of a binning; what it keeps of the label under the posterior it was fitted with, and the limit
    I(y; logodds) of any binning, in nats per point.

    No binning into as many bins keeps more than `information + information_gap`: 0 at the optimum, what cells hide
    where points are cells, infinite where nothing is known of the optimum.
    """

    edges: Vector
    information: float
    information_limit: float
    information_gap: float = np.inf
    trace: Trace | None = None


def fit_imax(
    problem: Binary,
    n_bins: int,
    *,
    solver: str = "exact",
    posterior: str = "sigmoid",
    rng: np.random.Generator | None = None,
) -> Binning:
    """The binning of a question into `n_bins`; only the alternating solver's start uses `rng`."""
    model = fit_posterior(problem, posterior)
    sums = masses(problem, model)
    if solver == "exact":
        cuts = kernels.cut_points(problem.logodds, problem.weights, sums.hits, sums.misses, sums.limit, n_bins)
        return Binning(edges_at(problem, cuts), *kept(sums, cuts), problem.hidden)
    trace = alternate(model, sums, start(problem, model, n_bins, rng or np.random.default_rng(0)))
    edges = _edges_in_logodds(problem, model, trace.edges[-1])
    return Binning(edges, *kept(sums, _cuts_at(problem, edges)), trace=trace)


@dataclass(frozen=True)
class Binnings:
    """The binnings of several questions: edges (G, M-1), totals (G, M) of their bins, and what `Binning` tells (G,)."""

    edges: Floats
    sums: Sums
    information: Floats
    information_limit: Floats
    information_gap: Floats

    @staticmethod
    def of(found: list[Binning], sums: list[Sums]) -> "Binnings":
        """Single ones and their totals."""
        facts = [np.array([getattr(one, name) for one in found]) for name in FACTS]
        return Binnings(np.array([one.edges for one in found]), Sums.stacked(sums, np.array), *facts)

    @staticmethod
    def joined(parts: Iterable["Binnings"]) -> "Binnings":
        """Those of all parts."""
        each = list(parts)
        edges, *facts = (np.concatenate([getattr(part, name) for part in each]) for name in ("edges", *FACTS))
        return Binnings(edges, Sums.stacked([part.sums for part in each], np.concatenate), *facts)


def fit_imax_stack(stack: Stack, n_bins: int) -> Binnings:
    """The best binnings of questions under the classifier's own sigmoid, with the totals of hits."""
    sides, masses, limits = kernels.bin_questions(stack.points, stack.told, n_bins)
    hits, misses, weights, told = np.moveaxis(masses, 1, 0)
    whole = entropy(hits.sum(axis=1), misses.sum(axis=1))
    mass = weights.sum(axis=1)
    information = (whole - entropy(hits, misses).sum(axis=1)) / mass
    edges = bounded(between(sides[:, 0], sides[:, 1]))
    return Binnings(edges, Sums(weights, told, hits), information, (whole - limits) / mass, np.zeros(len(mass)))


def measured(problem: Binary, edges: Floats) -> Binning:
    """Edges from elsewhere, with what they keep under the classifier's own sigmoid."""
    return Binning(edges, *kept(masses(problem, fit_posterior(problem, "sigmoid")), _cuts_at(problem, edges)))


def masses(problem: Binary, model: Posterior) -> Masses:
    """Running sums of the hits and misses that a posterior expects."""
    return Masses(*kernels.expect(model.logodds, problem.weights))


def _cuts_at(problem: Binary, edges: Floats) -> Ints:
    """First point (M-1,) at or above each edge."""
    return np.searchsorted(problem.logodds, edges, side="left")


def kept(sums: Masses, cuts: Ints) -> tuple[float, float]:
    """I(y; bin) of the bins that start at these points, and I(y; logodds), in nats per point (eq. 3)."""
    whole = entropy(sums.hits[-1], sums.misses[0])
    bins = entropy(*sums.of_bins(cuts)).sum()
    return float((whole - bins) / sums.mass), float((whole - sums.limit) / sums.mass)


# -- alternating ---------------------------------------------------------------------------------------------------


def alternate(model: Posterior, sums: Masses, phi: Floats, steps: int = STEPS) -> Trace:
    """Algorithm 1 from these representatives (M,) in log-odds, until nothing moves or the steps are over."""
    edges, trace = [], [phi]
    for _ in range(steps):
        edges.append(_edges_between(trace[-1]))
        cuts = np.searchsorted(model.logodds, edges[-1], side="left")
        hits, misses = sums.of_bins(cuts)
        full = (hits > 0) & (misses > 0)
        # a bin without points keeps its own centre
        moved = np.log(np.where(full, hits, 1.0)) - np.log(np.where(full, misses, 1.0))
        trace.append(np.where(full, moved, trace[-1]))
        if np.array_equal(trace[-1], trace[-2]):
            break
    return Trace(np.array(edges), np.array(trace))


def _edges_between(phi: Floats) -> Floats:
    """g (M-1,): where both neighbours describe the label equally well (eq. 5)."""
    up, down = np.logaddexp(0.0, phi), np.logaddexp(0.0, -phi)
    rise, fall = np.diff(up), -np.diff(down)
    apart = (rise > 0) & (fall > 0)
    return np.where(apart, np.log(np.where(apart, rise, 1.0) / np.where(apart, fall, 1.0)), phi[1:])


def _edges_in_logodds(problem: Binary, model: Posterior, edges: Floats) -> Floats:
    if model.slope:
        return (edges - model.shift) / model.slope
    return edges_at(problem, np.searchsorted(model.logodds, edges, side="left"))


def start(problem: Binary, model: Posterior, n_bins: int, rng: np.random.Generator) -> Floats:
    """k-means++ (Arthur & Vassilvitskii, 2007) with the Jensen-Shannon divergence between the points' posteriors in
    place of the squared distance (sec. A.3.4): representatives (M,) in log-odds, increasing."""
    p, w = sigmoid(model.logodds), problem.weights
    own = entropy(p, sigmoid(-model.logodds))
    trials = 2 + int(np.log(n_bins))
    centres = [_draw(w, 1, rng)[0]]
    nearest = _divergence(model.logodds, own, centres[0])
    while len(centres) < n_bins:
        drawn = _draw(w * nearest if nearest.any() else w, trials, rng)
        closer = [np.minimum(nearest, _divergence(model.logodds, own, i)) for i in drawn]
        best = int(np.argmin([w @ distance for distance in closer]))
        centres.append(drawn[best])
        nearest = closer[best]
    return np.sort(model.logodds[centres])


def _draw(weights: Floats, count: int, rng: np.random.Generator) -> Ints:
    reached = np.cumsum(weights)
    return np.minimum(np.searchsorted(reached, rng.random(count) * reached[-1], side="right"), len(weights) - 1)


def _divergence(logodds: Floats, own: Floats, centre: int) -> Floats:
    """Jensen-Shannon divergence (nats) of each point's label distribution from that of one of them."""
    hits = (sigmoid(logodds) + sigmoid(logodds[centre])) / 2
    misses = (sigmoid(-logodds) + sigmoid(-logodds[centre])) / 2
    return np.maximum(entropy(hits, misses) - (own + own[centre]) / 2, 0.0)
