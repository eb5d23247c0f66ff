"""One-vs-rest problems: from K classes to binary questions on the log-odds line (paper, sec. 3.2).

`groups (K,)` says whose columns are stacked into one question: every class its own (classwise), all together (shared:
one binning for all classes, so that a thousand samples suffice), or classes of similar prior. A weighted point is a
sample or a cell of a fine histogram; everything downstream takes either.
"""

import numpy as np
import numpy.typing as npt

from . import kernels
from .arrays import Array, Floats, Ints, check_count, check_groups
from .numerics import entropy, logit, sigmoid
from .records import Vector, record

__all__ = [
    "CELLS_PER_UNIT",
    "REACH",
    "Binary",
    "binary",
    "compress",
    "group_classes",
    "in_cells",
    "prior_groups",
    "questions",
    "split",
    "summarised",
]

REACH = 32.0  # cells end here: beyond, a point holds less than 1e-12 nats
CELLS_PER_UNIT = 256  # cell width 1/256: the information inside a cell is below p (1 - p) / 2^19 of its mass
CELLS = round(2 * REACH * CELLS_PER_UNIT)
MANY = 1 << 20  # points


@record
class Binary:
    """A binary question: points on the log-odds line, increasing and distinct.

    A point is one or more samples of equal log-odds, or a cell of the line of this `width`; then its log-odds are
    those of the mean sigmoid of the samples in it.
    """

    logodds: Vector
    hits: Vector
    weights: Vector
    width: float = 0.0

    @property
    def hidden(self) -> float:
        """Bound on the information (nats per point) inside the cells, which no edge between them can keep: 0 where
        points are points.

        In a cell of this width the posterior p varies by a factor of e^width in its odds, so the divergence of a
        point's label from the cell's is at most p (1 - p) width^2 / 8 at the cell's largest p (1 - p).
        """
        if not self.width:
            return 0.0
        spread = sigmoid(self.logodds) * sigmoid(-self.logodds) * np.exp(self.width)
        inner = np.abs(self.logodds) < REACH - self.width
        beyond = entropy(sigmoid(self.logodds), sigmoid(-self.logodds))
        return float(np.average(np.where(inner, spread * self.width**2 / 8, beyond), weights=self.weights))

    def parted_by(self, edges: Floats) -> bool:
        """Whether edges stand between points and not inside cells, so that sums over points are sums over samples."""
        return not self.width or bool(np.all(edges % self.width == 0))

    def aligned(self, edges: Floats) -> Floats:
        """Edges inside cells moved to the end of the cell that leaves its point on the side where it was."""
        if not self.width:
            return edges
        start = np.floor(edges / self.width) * self.width
        after = np.append(self.logodds, np.inf)[np.searchsorted(self.logodds, edges)]
        stays = (edges == start) | (after < start + self.width)
        return np.asarray(np.where(stays, start, start + self.width))

    def separators(self, points: Ints | None = None) -> Floats:
        """Where an edge stands that parts each of these points, or of all but the first, from the one before: midway,
        or on a cell boundary."""
        at = np.arange(1, len(self.logodds)) if points is None else points
        left, right = self.logodds[at - 1], self.logodds[at]
        if self.width:
            cells = np.floor(left / self.width) + np.floor(right / self.width)
            return np.asarray(np.ceil((cells + 1) / 2) * self.width)
        with np.errstate(invalid="ignore"):
            middle = left + (right - left) / 2
        middle = np.where(np.isneginf(left), right - 1.0, np.where(np.isposinf(right), left + 1.0, middle))
        return np.where(middle > left, middle, right)


def binary(logodds: Floats, hits: Floats, weights: Floats | None = None) -> Binary:
    """A question from samples in any order; samples of equal log-odds become one point, those of no weight none."""
    if weights is None and not hits.any():  # only where points are, and how many
        x = np.sort(logodds)
        first = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
        return Binary(x[first], np.zeros(len(first)), np.diff(first, append=len(x)))
    weights = np.ones(len(logodds)) if weights is None else weights
    kept = weights > 0
    order = np.argsort(logodds[kept], kind="stable")
    x, w, h = logodds[kept][order], weights[kept][order], hits[kept][order]
    first = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
    mass = np.add.reduceat(w, first)
    return Binary(x[first], np.add.reduceat(w * h, first) / mass, mass)


def questions(logits: Array, labels: Ints, groups: Ints, weights: Floats | None = None) -> list[Binary]:
    """The question of each group: of all points where these are few, in cells of the line where they are many."""
    many = logits.size > max(MANY, CELLS * (groups.max() + 1))
    return (summarised if many else split)(logits, labels, groups, weights)


def split(logits: Array, labels: Ints, groups: Ints, weights: Floats | None = None) -> list[Binary]:
    """The question of each group, of all points: columns of its classes stacked."""
    logodds = kernels.logodds(logits)
    told = logodds[np.arange(len(labels)), labels]
    return [
        _question(logodds[:, groups == g], told, groups[labels] == g, weights) for g in range(int(groups.max()) + 1)
    ]


def _question(logodds: Floats, told: Floats, own: Array, weights: Floats | None) -> Binary:
    """The question of columns (n, k), where the label's log-odds (n,) were `told`, and are among the `own`."""
    mass = None if weights is None else np.repeat(weights, logodds.shape[1])
    points = binary(logodds.ravel(), np.zeros(logodds.size), mass)
    kept = own if weights is None else own & (weights > 0)
    place = np.searchsorted(points.logodds, told[kept])
    hits = _mass(place, None if weights is None else weights[kept], len(points.weights))
    return Binary(points.logodds, np.minimum(hits / points.weights, 1.0), points.weights)


def summarised(logits: Array, labels: Ints, groups: Ints, weights: Floats | None = None) -> list[Binary]:
    """The question of each group in cells of the log-odds line, without ever holding the log-odds."""
    points, hits, smaller = kernels.summarise(logits, labels, weights, groups, REACH, CELLS_PER_UNIT)
    return [in_cells(*row) for row in zip(points, hits, smaller, strict=True)]


def compress(problem: Binary) -> Binary:
    """The same question in cells of the log-odds line; a cell that stands alone keeps its point."""
    place = np.clip((problem.logodds + REACH) * CELLS_PER_UNIT, 0, CELLS - 1).astype(np.int64)
    small = np.minimum(sigmoid(problem.logodds), sigmoid(-problem.logodds))
    w = problem.weights
    points, hits, smaller = (_mass(place, v, CELLS) for v in (w, w * problem.hits, w * small))
    return in_cells(points, hits, smaller)


def _mass(place: Ints, weights: Floats | None, cells: int) -> Floats:
    return np.bincount(place, weights, minlength=cells).astype(np.float64)


def in_cells(points: Floats, hits: Floats, smaller: Floats, per_unit: float = CELLS_PER_UNIT) -> Binary:
    """The question whose cells hold these masses: of points, of hits, of the smaller of sigmoid and complement."""
    full = np.flatnonzero(points)
    start = full / per_unit - REACH
    mean = logit(smaller[full] / points[full])
    # rounding of the mean may not push a point over its cell's boundary
    inside = np.clip(np.where(start < 0, mean, -mean), start, np.nextafter(start + 1 / per_unit, -np.inf))
    return Binary(inside, hits[full] / points[full], points[full], 1 / per_unit)


def group_classes(
    groups: npt.ArrayLike, labels: Ints, n_classes: int, weights: Floats | None, n_groups: int | None = None
) -> Ints:
    """Group of each class (K,) from "shared", "classwise", "prior" or an array of groups."""
    if n_groups is not None and not (isinstance(groups, str) and groups == "prior"):
        raise ValueError('n_groups: only groups="prior" takes a number of groups')
    if not isinstance(groups, str):
        return check_groups(groups, n_classes)
    if groups == "shared":
        return np.zeros(n_classes, dtype=np.int64)
    if groups == "classwise":
        return np.arange(n_classes, dtype=np.int64)
    if groups == "prior":
        return prior_groups(_mass(labels, weights, n_classes), n_groups)
    raise ValueError(f'groups: expected "shared", "classwise", "prior" or an array (K,), got {groups!r}')


def prior_groups(counts: Floats, n_groups: int | None = None) -> Ints:
    """Group of each class (K,), classes of similar prior together; group 0 holds the rarest.

    Priors are similar when they agree within a factor of two, give or take the noise of their counts (bounds that
    hold for all classes at once in at least 90 % of samples).
    The fewest groups that this allows are taken, or `n_groups`; they are cut where the squared distances of the log
    priors within groups are least.

    >>> prior_groups(np.array([100, 110, 400, 390, 105])).tolist()
    [0, 0, 1, 1, 0]
    """
    order = np.argsort(counts, kind="stable")
    smoothed = np.asarray(counts, dtype=np.float64)[order] + 0.5
    wanted = _fewest_groups(smoothed) if n_groups is None else check_count("n_groups", n_groups, 1, len(counts))
    sums = kernels.running(np.log(smoothed), np.ones(len(counts)))
    cuts = kernels.solve_edges("squares", *sums, wanted)[0]
    groups = np.empty(len(counts), dtype=np.int64)
    groups[order] = np.searchsorted(cuts, np.arange(len(counts)), side="right")
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def _fewest_groups(increasing: Floats) -> int:
    # a normal deviate exceeds sqrt(2 log(2 / a)) with a probability below a, here 0.1 / K; log counts have this spread
    noise = np.sqrt(2 * np.log(20 * len(increasing))) / np.sqrt(increasing)
    low, high = np.log(increasing) - noise, np.log(increasing) + noise
    groups, ceiling = 0, -np.inf
    for k in range(len(increasing)):
        if low[k] > ceiling:
            groups, ceiling = groups + 1, high[k] + np.log(2.0)
    return groups
