"""Slow and obviously right twins of the fast code: plain loops over the definitions."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from infocal.arrays import Array, Floats, Ints

# -- the spine -----------------------------------------------------------------------------------------------------


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def logsumexp(values: Sequence[float]) -> float:
    top = max(values)
    return -math.inf if top == -math.inf else top + math.log(math.fsum(math.exp(v - top) for v in values))


def logodds(logits: Array) -> Floats:
    """z_k - log sum of e^z_j over the others, class by class."""
    out = np.empty(logits.shape)
    for i, row in enumerate(logits.tolist()):
        for k, z in enumerate(row):
            rest = logsumexp(row[:k] + row[k + 1 :])
            out[i, k] = z if z == -math.inf else math.inf if rest == -math.inf else z - rest
    return out


def bin_of(x: float, edges: Sequence[float]) -> int:
    """Bin m is [edges[m-1], edges[m])."""
    return sum(x >= edge for edge in edges)


def apply(logits: Array, edges: list[Floats], values: list[Floats], groups: Ints) -> Floats:
    """Value of the bin of each class's log-odds."""
    x = logodds(logits.astype(np.float64))
    out = np.empty(x.shape)
    for i, k in np.ndindex(*x.shape):
        out[i, k] = values[groups[k]][bin_of(x[i, k], edges[groups[k]])]
    return out


def summarise(
    logits: Array, labels: Ints, weights: Floats, groups: Ints, reach: float, per_unit: float
) -> tuple[Floats, Floats, Floats]:
    """Masses per group and cell, sample by sample."""
    x = logodds(logits.astype(np.float64))
    cells = round(2 * reach * per_unit)
    points, hits, smaller = np.zeros((3, groups.max() + 1, cells))
    for i, k in np.ndindex(*x.shape):
        cell = min(max(math.floor((x[i, k] + reach) * per_unit), 0), cells - 1) if math.isfinite(x[i, k]) else 0
        cell = cells - 1 if x[i, k] == math.inf else cell
        points[groups[k], cell] += weights[i]
        hits[groups[k], cell] += weights[i] * (labels[i] == k)
        smaller[groups[k], cell] += weights[i] * sigmoid(-abs(x[i, k]))
    return points, hits, smaller


def reached(logits: Array, labels: Ints, weights: Floats | None, groups: Ints, shift: float) -> Floats:
    """Masses of points, of hits, and of the smaller of sigmoid and its complement (3, G, 16384) below the upper end of
    each of 256 cells per unit from -32 to 32, every end moved by `shift`; the last one is beyond all points."""
    x, ends = logodds(logits.astype(np.float64)), np.append(np.arange(1, 16384) / 256 - 32 + shift, np.inf)
    mass = np.ones(len(x)) if weights is None else weights
    out = np.zeros((3, groups.max() + 1, 16384))
    for i, k in np.ndindex(*x.shape):
        first = np.searchsorted(ends, x[i, k], side="right") if x[i, k] < np.inf else 16383
        for row, term in zip(out, (1.0, float(labels[i] == k), sigmoid(-abs(x[i, k]))), strict=True):
            row[groups[k], first] += mass[i] * term
    return out.cumsum(axis=2)


def rank(probs: Array, ties: Array, k: int) -> list[list[int]]:
    """Best classes first; equal probabilities by ties, then by index."""
    return [
        sorted(range(len(p)), key=lambda j, p=p, z=z: (-p[j], -z[j], j))[:k]  # type: ignore[misc]
        for p, z in zip(probs.tolist(), ties.tolist(), strict=True)
    ]


def information_cost(hits: Floats, misses: Floats) -> float:
    """W h(P / W) of one bin that holds these masses, point by point."""
    p, q = math.fsum(hits), math.fsum(misses)
    return sum(part * math.log((p + q) / part) for part in (p, q) if part > 0)


def squares_cost(x: Floats, weights: Floats) -> float:
    """Weighted squared distances to the mean of one bin."""
    mass = math.fsum(weights)
    if mass == 0:
        return 0.0
    mean = math.fsum(weights * x) / mass
    return math.fsum(weights * (x - mean) ** 2)


def best_partition(costs: dict[tuple[int, int], float], n: int, n_bins: int) -> float:
    """Least total cost of all ways to cut n points into consecutive bins, empty ones allowed."""
    cuts = itertools.combinations_with_replacement(range(n + 1), n_bins - 1)
    return min(sum(costs[start, end] for start, end in itertools.pairwise((0, *cut, n))) for cut in cuts)


# -- scaling -------------------------------------------------------------------------------------------------------


def softmax(row: Sequence[float], inverse: float = 1.0) -> list[float]:
    """e^(t z) over their sum; a masked class has 0."""
    powers = [math.exp(inverse * (z - max(row))) if z > -math.inf else 0.0 for z in row]
    return [p / math.fsum(powers) for p in powers]


def softmax_loss(scores: Array, labels: Ints, weights: Floats | None = None) -> float:
    """Weighted mean of -log softmax at the label, over samples whose label is possible."""
    mass = np.ones(len(labels)) if weights is None else weights
    told = [
        (w, logsumexp(row) - row[label])
        for row, label, w in zip(scores.tolist(), labels.tolist(), mass.tolist(), strict=True)
        if row[label] > -math.inf
    ]
    return math.fsum(w * loss for w, loss in told) / math.fsum(w for w, _ in told)


def tempered(logits: Array, labels: Ints, weights: Floats, inverse: float) -> list[float]:
    """Mass, log sums, means, variances, labels and beaten mass, sample by sample."""
    total = [0.0] * 6
    for row, label, w in zip(logits.tolist(), labels.tolist(), weights.tolist(), strict=True):
        u = [z - max(row) for z in row]
        if w == 0 or u[label] == -math.inf:
            continue
        p = softmax(row, inverse)
        mean = math.fsum(a * b for a, b in zip(p, u, strict=True) if a)
        square = math.fsum(a * (b - mean) ** 2 for a, b in zip(p, u, strict=True) if a)
        log_sum = math.log(math.fsum(math.exp(inverse * b) for b in u if b > -math.inf))
        for j, term in enumerate((1.0, log_sum, mean, square, u[label], float(u[label] < 0))):
            total[j] += w * term
    return total


# -- the latent Gaussian process -----------------------------------------------------------------------------------


def curve_of_log_probs(logits: Array, inverse: float, knots: Sequence[float], values: Sequence[float]) -> Floats:
    """A curve, linear between its values at the knots and beyond them, of each log-probability."""
    out = np.empty(logits.shape)
    for i, row in enumerate((inverse * logits.astype(np.float64)).tolist()):
        log_sum = logsumexp(row)
        for k, z in enumerate(row):
            x = z - log_sum
            j = max(sum(x > knot for knot in knots[1:-1]), 0)
            slope = (values[j + 1] - values[j]) / (knots[j + 1] - knots[j])
            out[i, k] = -math.inf if x == -math.inf else values[j] + slope * (x - knots[j])
    return out


def curve_covariance(knots: Sequence[float], deviation: float, length: float) -> Floats:
    """Covariance of the values at the knots: x x' and a Matérn kernel of smoothness 5/2."""

    def kernel(x: float, y: float) -> float:
        u = math.sqrt(5) * abs(x - y) / length
        return x * y + deviation**2 * (1 + u + u**2 / 3) * math.exp(-u)

    return np.array([[kernel(x, y) for y in knots] for x in knots])


# -- information ---------------------------------------------------------------------------------------------------


def shannon(masses: Sequence[float]) -> float:
    """Entropy of a distribution, given as masses of any sum."""
    total = math.fsum(masses)
    return math.fsum(m / total * math.log(total / m) for m in masses if m > 0)


def bin_information(x: Floats, hits: Floats, weights: Floats, edges: Floats) -> tuple[float, float]:
    """I(y; bin) and H(bin) of samples, from the table of their joint masses."""
    joint = {(m, y): 0.0 for m in range(len(edges) + 1) for y in (0, 1)}
    for at, hit, w in zip(x, hits, weights, strict=True):
        joint[bin_of(at, edges), 1] += w * hit
        joint[bin_of(at, edges), 0] += w * (1 - hit)
    bins = [joint[m, 0] + joint[m, 1] for m in range(len(edges) + 1)]
    labels = [math.fsum(v for (_, y), v in joint.items() if y == side) for side in (0, 1)]
    return shannon(bins) + shannon(labels) - shannon(list(joint.values())), shannon(bins)


def best_objective(posterior: Floats, share: Floats, beta: float, steps: int = 4000) -> tuple[float, float]:
    """Bounds on the largest I(y; m) - I(x; m) / beta over codes of points, each code telling of a posterior on a fixed
    grid: Blahut's iteration on the shares of the codes alone, a convex problem, and its dual."""
    told = np.sin(np.linspace(0, np.pi / 2, 801)[1:-1]) ** 2
    p = posterior[:, None]
    surprise = p * np.log(p / told) + (1 - p) * np.log((1 - p) / (1 - told))
    kernel, of_code = np.exp(-beta * surprise), np.full(len(told), 1 / len(told))
    for _ in range(steps):
        of_code *= (share / (kernel @ of_code)) @ kernel
    base = float(share @ posterior)
    whole = shannon([base, 1 - base])
    limit = whole - math.fsum(s * shannon([q, 1 - q]) for s, q in zip(share, posterior, strict=True))
    found = limit + float(share @ np.log(kernel @ of_code)) / beta
    return found, found + math.log(((share / (kernel @ of_code)) @ kernel).max()) / beta


# -- measures ------------------------------------------------------------------------------------------------------


def top1(probs: Array, labels: Ints, ties: Array | None = None) -> tuple[Floats, Floats]:
    """Confidences and whether they are correct, row by row."""
    order = rank(probs, np.zeros(probs.shape) if ties is None else ties, 1)
    confidence = [row[first[0]] for row, first in zip(probs.tolist(), order, strict=True)]
    return np.array(confidence), np.array([first[0] == y for first, y in zip(order, labels, strict=True)], dtype=float)


def accuracy(probs: Array, labels: Ints, weights: Floats, k: int = 1, ties: Array | None = None) -> float:
    """Mass whose label is among the k first."""
    order = rank(probs, np.zeros(probs.shape) if ties is None else ties, k)
    right = [w for first, y, w in zip(order, labels, weights, strict=True) if y in first]
    return math.fsum(right) / math.fsum(weights)


def nll(probs: Array, labels: Ints, weights: Floats, normalised: bool = False) -> float:
    """Mean of -log p of the label, clipped; a row of zeros, normalised, is 1 / K each."""
    total = 0.0
    for row, y, w in zip(probs.tolist(), labels, weights, strict=True):
        mass = math.fsum(row) if normalised else 1.0
        told = row[y] / mass if mass else 1 / len(row)
        total -= w * math.log(max(told, 2.220446049250313e-16))
    return total / math.fsum(weights)


def brier(probs: Array, labels: Ints, weights: Floats) -> float:
    """Mean squared distance from the label's indicator."""
    each = [
        w * math.fsum((p - (k == y)) ** 2 for k, p in enumerate(row))
        for row, y, w in zip(probs.tolist(), labels, weights, strict=True)
    ]
    return math.fsum(each) / math.fsum(weights)


def binned_error(
    x: Floats, hits: Floats, weights: Floats, bins: Sequence[int], norm: int | str = 1, debiased: bool = False
) -> float:
    """Norm of the gaps of bins, bin by bin."""
    whole, gaps = math.fsum(weights), []
    for m in sorted(set(bins)):
        here = [i for i in range(len(x)) if bins[i] == m and weights[i] > 0]
        mass = math.fsum(weights[i] for i in here)
        if not here:
            continue
        mean, rate = (math.fsum(weights[i] * v[i] for i in here) / mass for v in (x, hits))
        chance = rate * (1 - rate) / (mass - 1) if debiased and mass > 1 else 0.0
        gaps.append((mass / whole, 0.0 if debiased and mass <= 1 else abs(mean - rate), chance))
    if norm == "max":
        return max((gap for _, gap, _ in gaps), default=0.0)
    total = math.fsum(share * (gap**norm - chance) for share, gap, chance in gaps)
    return max(total, 0.0) ** (1 / norm)


def size_bins(x: Floats, n_bins: int) -> list[int]:
    """Bin m is [m / M, (m + 1) / M), the last one closed."""
    return [sum(p >= m / n_bins for m in range(1, n_bins)) for p in x.tolist()]


def mass_bins(x: Floats, weights: Floats, n_bins: int) -> list[int]:
    """The bin that the share of mass below an answer falls into, equal answers in one bin."""
    whole = math.fsum(weights)
    return [math.floor(n_bins * (math.fsum(w for v, w in zip(x, weights, strict=True) if v < p) / whole)) for p in x]


def smooth_error(
    x: Floats, told: Floats, hits: Floats, weights: Floats, half: float, norm: int | str = 1, folded: bool = False
) -> float:
    """Norm of |mean answer - rate of hits| under a triweight kernel on the line of x, which may be folded at 0, 1."""

    def kernel(distance: float) -> float:
        return max(1 - (distance / half) ** 2, 0.0) ** 3

    gaps = []
    for at in x.tolist():
        images = (at, -at, 2 - at) if folded else (at,)
        near = [w * math.fsum(kernel(v - i) for i in images) for v, w in zip(x.tolist(), weights, strict=True)]
        gaps.append(abs(math.fsum(k * (p - h) for k, p, h in zip(near, told, hits, strict=True))) / math.fsum(near))
    if norm == "max":
        return max(gaps)
    return (math.fsum(w * g**norm for w, g in zip(weights, gaps, strict=True)) / math.fsum(weights)) ** (1 / norm)
