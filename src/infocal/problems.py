"""One-vs-rest problems: from K classes to binary questions on the log-odds line (paper, sec. 3.2).

`groups (K,)` says whose columns are stacked into one question: every class its own (classwise), all together (shared:
one binning for all classes, so that a thousand samples suffice), or classes of similar prior. A weighted point is a
sample or a cell of a fine histogram; everything downstream takes either.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from . import kernels
from .arrays import Array, Floats, Ints, check_count, check_groups
from .numerics import entropy, logit, sigmoid, sigmoids
from .records import Vector, record

__all__ = [
    "CELLS_PER_UNIT",
    "REACH",
    "Binary",
    "Stack",
    "are_many",
    "between",
    "binary",
    "compress",
    "from_stacks",
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
TOGETHER = 64  # classes that are read at a time, since their logits share lines of the cache and pages; of many samples
HELD = 1 << 23  # as many as have so many log-odds

Made = TypeVar("Made")


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

    @cached_property
    def hidden(self) -> float:
        """Bound on the information (nats per point) inside the cells, which no edge between them can keep: 0 where
        points are points.

        In a cell of this width the posterior p varies by a factor of e^width in its odds, so the divergence of a
        point's label from the cell's is at most p (1 - p) width^2 / 8 at the cell's largest p (1 - p).
        """
        if not self.width:
            return 0.0
        p, q = sigmoids(self.logodds)
        told = p * q * np.exp(self.width) * self.width**2 / 8
        beyond = np.abs(self.logodds) >= REACH - self.width
        told[beyond] = entropy(p[beyond], q[beyond])
        return float(np.average(told, weights=self.weights))

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
        return between(left, right)


def between(left: Floats, right: Floats) -> Floats:
    """Midway between points of the line, above the left ones; one unit from the finite one beside certainty."""
    with np.errstate(invalid="ignore"):
        middle = left + (right - left) / 2
    middle = np.where(np.isneginf(left), right - 1.0, np.where(np.isposinf(right), left + 1.0, middle))
    return np.where(middle > left, middle, right)


def binary(logodds: Floats, hits: Floats, weights: Floats | None = None) -> Binary:
    """A question from samples in any order; samples of equal log-odds become one point, those of no weight none."""
    weights = np.ones(len(logodds)) if weights is None else weights
    kept = weights > 0
    order = np.argsort(logodds[kept], kind="stable")
    x, w, h = logodds[kept][order], weights[kept][order], hits[kept][order]
    first = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
    mass = np.add.reduceat(w, first)
    return Binary(x[first], np.add.reduceat(w * h, first) / mass, mass)


def are_many(n: int, groups: Ints) -> bool:
    """Whether a question of n samples has so many points that cells of the line tell enough of them."""
    return n * int(np.bincount(groups).max()) > MANY


def questions(logits: Array, labels: Ints, groups: Ints, weights: Floats | None = None) -> list[Binary]:
    """The question of each group: of all points where these are few, in cells of the line where they are many."""
    many = logits.size > max(MANY, CELLS * (int(groups.max()) + 1))
    return (summarised if many else split)(logits, labels, groups, weights)


def split(logits: Array, labels: Ints, groups: Ints, weights: Floats | None = None) -> list[Binary]:
    """The question of each group, of all points: columns of its classes stacked."""
    return [question for found in from_stacks(Stack.questions, logits, labels, groups, weights) for question in found]


@dataclass(frozen=True)
class Stack:
    """Questions of some groups one behind the other: their points, increasing, some maybe equal; and those of them that
    are hits."""

    points: kernels.Points
    told: kernels.Points

    def questions(self) -> list[Binary]:
        """Each with distinct points."""
        return [_question(*pair) for pair in zip(_parts(self.points), _parts(self.told), strict=True)]


def _parts(points: kernels.Points) -> list[tuple[Floats, Floats | None]]:
    x, weights, starts = points
    spans = [slice(*span) for span in pairwise(starts.tolist())]
    return [(x[span], None if weights is None else weights[span]) for span in spans]


def _question(points: tuple[Floats, Floats | None], told: tuple[Floats, Floats | None]) -> Binary:
    x, weights = points
    first = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
    mass = np.diff(first, append=len(x)) if weights is None else np.add.reduceat(weights, first)
    hits = _mass(np.searchsorted(x[first], told[0]), told[1], len(first))
    return Binary(x[first], np.minimum(hits / mass, 1.0), mass)


def from_stacks(
    make: Callable[[Stack], Made], logits: Array, labels: Ints, groups: Ints, weights: Floats | None = None
) -> Iterator[Made]:
    """What is made of the questions of a few groups at a time, until all are done; each on a thread."""
    if weights is not None and not weights.all():
        kept = weights > 0
        logits, labels, weights = logits[kept], labels[kept], weights[kept]
    facts = kernels.row_facts(logits)
    classes, asked = np.argsort(groups, kind="stable"), groups[labels]
    rows = np.argsort(asked, kind="stable")
    numbers = np.arange(int(groups.max()) + 2)
    first, first_told = np.searchsorted(groups[classes], numbers), np.searchsorted(asked[rows], numbers)
    place = np.argsort(classes)[labels]  # of each label's column

    def made(part: slice) -> Made:
        starts, told_starts = first[part], first_told[part]
        x = kernels.columns(logits, facts, classes[starts[0] : starts[-1]])
        hit = rows[told_starts[0] : told_starts[-1]]
        told = x[place[hit] - starts[0], hit]
        points = _in_order(x.ravel(), weights, (starts - starts[0]) * len(logits))
        own = None if weights is None else weights[hit]
        return make(Stack(points, kernels.Points(told, own, told_starts - told_starts[0])))

    return kernels.each(made, _stacks(first, min(TOGETHER, max(HELD // len(logits), 1))))


def _stacks(first: Ints, enough: int) -> list[slice]:
    """Groups that are read together, as places of their first classes and of the end: as few as have enough classes."""
    parts, start = [], 0
    for g in range(1, len(first)):
        if first[g] - first[start] >= enough or g == len(first) - 1:
            parts.append(slice(start, g + 1))
            start = g
    return parts


def _in_order(x: Floats, weights: Floats | None, starts: Ints) -> kernels.Points:
    """Points of questions whose samples are in any order."""
    spans = [slice(*span) for span in pairwise(starts.tolist())]
    if weights is None:
        for span in spans:
            x[span].sort()
        return kernels.Points(x, None, starts)
    mass = np.tile(weights, len(x) // len(weights))
    for span in spans:
        order = np.argsort(x[span], kind="stable")
        x[span], mass[span] = x[span][order], mass[span][order]
    return kernels.Points(x, mass, starts)


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
