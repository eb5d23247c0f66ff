"""Calibration error: how far probabilities are from the frequencies they promise (paper, sec. 3.1 and A.8).

A question is a column of probabilities and whether each came true: the confidences and the correct ones (`top1`), or
each class's probabilities and whether it is the label (`classwise`; the errors of the K classes are averaged, a class
that keeps nothing counting 0). A scheme groups the answers of a question into bins, and the error is a norm, weighted
by mass, of the bins' |mean probability - frequency|:

- `size`: bins [m / M, (m + 1) / M), the last one closed; `mass`: equal mass, equal answers always in one bin;
  `kmeans`, `imax`: the binnings of these names on the log-odds of the answers; `own`: each distinct answer is a bin,
  which is exact for a binned calibrator.
- `kde`, `kde-logodds`: no bins, but densities of the answers of either label, on [0, 1] or on the log-odds line.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import kernels
from ..arrays import Array, Floats, Ints, check_count, check_probs
from ..binning.edges import kmeans_edges
from ..binning.imax import fit_imax
from ..numerics import bin_of, logit
from ..problems import binary
from ..records import IntVector, Vector, record
from .scores import Samples, check_samples, read
from .smooth import SPACES, smooth_gaps

__all__ = [
    "Questions",
    "Reliability",
    "ask",
    "class_errors",
    "class_tables",
    "class_thresholds",
    "ece",
    "one_table",
    "pooled_table",
    "priors",
    "reliability",
    "size_edges",
    "tables",
    "top1_totals",
]

KINDS = ("top1", "classwise")
NORMS = (1, 2, "max")
BLOCK = 1 << 20  # answers sorted at a time


@record
class Reliability:
    """Bins of one or more questions, those without mass left out: which question a bin belongs to, and its sums of
    weight * (probability - hit), weight, and weight * hit."""

    questions: int
    question: IntVector
    excess: Vector
    weights: Vector
    hits: Vector

    @property
    def share(self) -> Floats:
        """Mass of each bin as a share of its question's."""
        return self.weights / np.bincount(self.question, self.weights, minlength=self.questions)[self.question]

    @property
    def mean(self) -> Floats:
        """Mean probability in each bin."""
        return (self.excess + self.hits) / self.weights

    @property
    def frequency(self) -> Floats:
        """Observed rate of hits in each bin."""
        return self.hits / self.weights

    def of(self, question: int) -> "Reliability":
        """The bins of one question."""
        if check_count("question", question, 0) >= self.questions:
            raise ValueError(f"question: expected a number from 0 to {self.questions - 1}, got {question}")
        its = self.question == question
        return one_table(self.excess[its], self.weights[its], self.hits[its])

    def merged(self, edges: Floats) -> "Reliability":
        """The bins of all questions as one, merged where their means lie between the same of these edges."""
        place = np.searchsorted(edges, self.mean, side="right")
        sums = (np.bincount(place, values, len(edges) + 1) for values in (self.excess, self.weights, self.hits))
        return one_table(*(values.astype(np.float64) for values in sums))

    def errors(self, norm: int | str = 1, debiased: bool = False) -> Floats:
        """Calibration error of each question: mean (1), root mean square (2) or largest ("max") gap.

        `debiased` takes from each squared gap what the chance of the labels adds to it, f (1 - f) / (mass - 1) (Kumar
        et al., 2019), and reads a negative total as 0; a bin of mass 1 or less tells nothing then.
        """
        gap = np.abs(self.excess) / self.weights
        if norm == "max":
            most = np.zeros(self.questions)
            np.maximum.at(most, self.question, gap)
            return most
        if debiased:
            return self.debiased_errors()
        power = int(norm)
        total = np.bincount(self.question, self.share * gap**power, minlength=self.questions)
        return np.asarray(total ** (1 / power), dtype=np.float64)

    def debiased_errors(self, also: Floats | float = 0.0) -> Floats:
        """Root mean square gaps, debiased; `also` (G,) is taken from their squares besides."""
        gap = np.where(self.weights > 1, self.excess / self.weights, 0.0)
        total = np.bincount(self.question, self.share * gap**2, minlength=self.questions)
        return np.asarray(np.sqrt(np.maximum(total - self.noise() - also, 0.0)))

    def noise(self) -> Floats:
        """What the chance of the labels adds to the mean squared gap of each question."""
        known, rate = self.weights > 1, self.frequency
        each = known * rate * (1 - rate) / np.where(known, self.weights - 1, 1.0)
        return np.asarray(np.bincount(self.question, self.share * each, minlength=self.questions), dtype=np.float64)


class Questions(NamedTuple):
    """Answers (n, G), the question that came true for each sample (n,), and the thresholds (G,) answers must exceed."""

    probs: Array
    labels: Ints
    weights: Floats | None
    thresholds: Floats | None


def ece(
    probs: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    kind: str = "top1",
    scheme: str = "size",
    n_bins: int = 100,
    threshold: float | str | npt.ArrayLike = 0,
    norm: int | str = 1,
    debiased: bool = False,
    ties: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> float:
    """Expected calibration error of probabilities (n, K) against labels (n,).

    Only answers above `threshold` count: 0 is no threshold, "1/K" and "prior" (of the class, among these labels) are
    what ignorance would answer, a number holds for all classes and an array (K,) class by class, all strictly (one of
    zeros drops answers of exactly 0). `norm` is 1, 2 or "max"; `debiased` (norm 2, binned schemes) takes off what
    chance adds. Samples of `weights` count so many times.

    >>> ece([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], [0, 1, 1, 0], scheme="own")
    0.35
    """
    _check_norm(norm, debiased, scheme)
    check_count("n_bins", n_bins, 1)
    if scheme in SPACES:
        asked = ask(probs, labels, kind, threshold, ties, weights)
        return float(np.mean([_smooth_error(*question, scheme, norm) for question in _each(asked)]))
    table = reliability(
        probs, labels, kind=kind, scheme=scheme, n_bins=n_bins, threshold=threshold, ties=ties, weights=weights
    )
    return float(table.errors(norm, debiased).mean())


def reliability(
    probs: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    kind: str = "top1",
    scheme: str = "size",
    n_bins: int = 100,
    threshold: float | str | npt.ArrayLike = 0,
    ties: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> Reliability:
    """The bins behind `ece`, whose options these are: what a reliability diagram shows."""
    M = check_count("n_bins", n_bins, 1)
    if scheme not in SCHEMES:
        raise ValueError(f"scheme: expected one of {', '.join((*SCHEMES, *SPACES))}, got {scheme!r}")
    asked = ask(probs, labels, kind, threshold, ties, weights)
    if scheme == "size" and kind == "classwise":
        return _class_table(asked, size_edges(M))
    return _sorted_table(asked, SCHEMES[scheme], M)


def size_edges(n_bins: int) -> Floats:
    """Interior edges m / M of bins of equal size."""
    return np.arange(1, n_bins) / n_bins


def top1_totals(rows: Samples, edges: Floats) -> Floats:
    """Sums (3, M) over the bins of the confidences between these edges: of excess, weight and hits."""
    w = np.ones(len(rows.rank)) if rows.weights is None else rows.weights
    bins, correct = np.searchsorted(edges, rows.confidence, side="right"), rows.correct
    values = (w * (rows.confidence - correct), w, w * correct)
    return np.array([np.bincount(bins, value, len(edges) + 1) for value in values], dtype=np.float64)


def pooled_table(reading: kernels.Reading, bins: kernels.ClassBins, threshold: int) -> Reliability:
    """The bins of a reading, all classes together, above one of its thresholds, the same for all of them."""
    home, M = int(bins.home[threshold, 0]), bins.edges.shape[1] + 1
    place = np.concatenate(([M + threshold], np.arange(home + 1, M)))
    return one_table(*(table.sum(axis=0)[place] for table in (reading.excess, reading.mass, reading.hits)))


def class_tables(reading: kernels.Reading, bins: kernels.ClassBins) -> Reliability:
    """The bins of each class in a reading that is not pooled, without a threshold."""
    M = bins.edges.shape[1] + 1
    return tables(*(table[:, :M] for table in (reading.excess, reading.mass, reading.hits)))


def tables(excess: Floats, mass: Floats, hits: Floats) -> Reliability:
    """Bins of sums (G, M) each."""
    full = mass > 0
    return Reliability(len(mass), np.nonzero(full)[0], excess[full], mass[full], hits[full])


def one_table(excess: Floats, mass: Floats, hits: Floats) -> Reliability:
    """The bins of one question from its sums (M,)."""
    return tables(excess[None], mass[None], hits[None])


def class_errors(reading: kernels.Reading, bins: kernels.ClassBins, mass: float) -> list[Floats]:
    """Calibration errors (K,) without a threshold, then above each one. Uses up the reading's `excess`."""
    gaps, M = np.abs(reading.excess, out=reading.excess), bins.edges.shape[1] + 1
    errors = [gaps[:, :M].sum(axis=1) / mass]
    for t, (home, kept) in enumerate(zip(bins.home, reading.kept, strict=True)):
        above = gaps[:, :M].sum(axis=1, where=np.arange(M) > home[:, None]) + gaps[:, M + t]
        errors.append(above / np.where(kept > 0, kept, 1.0))
    return errors


def _check_norm(norm: int | str, debiased: bool, scheme: str) -> None:
    if norm not in NORMS:
        raise ValueError(f'norm: expected 1, 2 or "max", got {norm!r}')
    if debiased and (norm != 2 or scheme in SPACES):
        raise ValueError("debiased: expected norm=2 and a scheme with bins; other errors have no such correction")


def ask(
    probs: npt.ArrayLike,
    labels: npt.ArrayLike,
    kind: str,
    threshold: float | str | npt.ArrayLike,
    ties: npt.ArrayLike | None,
    weights: npt.ArrayLike | None,
) -> Questions:
    """The questions of samples as a caller gives them."""
    if kind not in KINDS:
        raise ValueError(f'kind: expected "top1" or "classwise", got {kind!r}')
    p, y, z, w = check_samples(probs, labels, ties, weights)
    least = class_thresholds(threshold, y, w, p.shape[1])
    if kind == "classwise":
        return Questions(check_probs(p), y, w, least)
    if np.ndim(threshold) or threshold == "prior":
        raise ValueError(f'threshold: expected "1/K" or a number for kind="top1", got {threshold!r}')
    rows = read(kernels.reliability(p, y, w, z), p.shape[1], w)
    return Questions(rows.confidence[:, None], np.where(rows.correct, 0, -1), w, None if least is None else least[:1])


def class_thresholds(
    threshold: float | str | npt.ArrayLike, labels: Ints, weights: Floats | None, n_classes: int
) -> Floats | None:
    """What each class's answers must exceed (K,); None for no threshold."""
    if isinstance(threshold, str):
        if threshold == "1/K":
            return np.full(n_classes, 1 / n_classes)
        if threshold == "prior":
            return priors(labels, weights, n_classes)
        raise ValueError(f'threshold: expected "1/K", "prior", a number or an array, got {threshold!r}')
    least = np.asarray(threshold, dtype=np.float64)
    if least.shape not in {(), (n_classes,)}:
        raise ValueError(f"threshold: expected one number or one for each of {n_classes} classes, got {least.shape}")
    if not ((least >= 0) & (least <= 1)).all():
        raise ValueError(f"threshold: expected numbers from 0 to 1, got {threshold!r}")
    return None if least.shape == () and least == 0 else np.broadcast_to(least, (n_classes,))


def priors(labels: Ints, weights: Floats | None, n_classes: int) -> Floats:
    """Share of each class in the mass of samples (K,)."""
    counts = np.bincount(labels, weights, minlength=n_classes)
    return np.asarray(counts / (len(labels) if weights is None else weights.sum()), dtype=np.float64)


def _class_table(asked: Questions, edges: Floats) -> Reliability:
    K = asked.probs.shape[1]
    least = np.empty((0, K)) if asked.thresholds is None else np.ascontiguousarray(asked.thresholds[None])
    bins = kernels.ClassBins(edges[None], least)
    reading = kernels.reliability(asked.probs, asked.labels, asked.weights, bins=bins)
    if not len(least):
        return class_tables(reading, bins)
    return tables(*(_above(table, bins.home[0]) for table in (reading.excess, reading.mass, reading.hits)))


def _above(table: Floats, home: Ints) -> Floats:
    """Sums (K, M) of what lies above the one threshold of a table (K, M + 1)."""
    M = table.shape[1] - 1
    bins = np.where(np.arange(M) > home[:, None], table[:, :M], 0.0)
    bins[np.arange(len(table)), home] = table[:, M]
    return bins


def _sorted_table(asked: Questions, scheme: Callable[[Floats, Floats, Floats, int], Array], n_bins: int) -> Reliability:
    """The bins of a scheme that looks at the answers of each question in increasing order."""
    n, G = asked.probs.shape
    size = max(1, BLOCK // n)
    parts = [_sorted_block(asked, scheme, n_bins, range(g, min(g + size, G))) for g in range(0, G, size)]
    question, excess, weights, hits = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Reliability(G, question[weights > 0], excess[weights > 0], weights[weights > 0], hits[weights > 0])


def _sorted_block(
    asked: Questions, scheme: Callable[[Floats, Floats, Floats, int], Array], n_bins: int, block: range
) -> tuple[Array, ...]:
    x, hits, w = _in_order(asked, block)
    bins = scheme(x, hits, w, n_bins)
    first = np.flatnonzero(np.diff(bins, axis=1, prepend=-1))
    sums = (np.add.reduceat(values.ravel(), first) for values in (w * (x - hits), w, w * hits))
    return (block.start + first // x.shape[1], *sums)


def _in_order(asked: Questions, block: range) -> tuple[Floats, Floats, Floats]:
    """Answers of some questions (g, n) in increasing order, their hits, and their weights, 0 where not kept."""
    answers = asked.probs[:, block.start : block.stop].T.astype(np.float64)
    order = np.argsort(answers, axis=1)
    x = np.take_along_axis(answers, order, axis=1)
    hits = (asked.labels[order] == np.array(block)[:, None]).astype(np.float64)
    w = np.ones_like(x) if asked.weights is None else asked.weights[order]
    if asked.thresholds is not None:
        w = w * (x > asked.thresholds[block.start : block.stop, None])
    return x, hits, w


def _each(asked: Questions) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Answers, hits and weights of each question in turn, of its kept samples."""
    for g in range(asked.probs.shape[1]):
        x, hits, w = (row[0] for row in _in_order(asked, range(g, g + 1)))
        yield x[w > 0], hits[w > 0], w[w > 0]


def _smooth_error(probs: Floats, hits: Floats, weights: Floats, space: str, norm: Any) -> float:
    if not len(probs):
        return 0.0
    gaps = smooth_gaps(probs, hits, weights, space)
    return float(gaps.max() if norm == "max" else np.average(gaps**norm, weights=weights) ** (1 / norm))


# -- schemes: the bin of each answer (g, n), never decreasing along the row ------------------------------------------


def _of_size(x: Floats, hits: Floats, w: Floats, n_bins: int) -> Array:
    return np.searchsorted(size_edges(n_bins), x, side="right")


def _of_own(x: Floats, hits: Floats, w: Floats, n_bins: int) -> Array:
    new = np.diff(x, axis=1, prepend=-1.0) > 0
    return np.cumsum(new, axis=1)


def _of_mass(x: Floats, hits: Floats, w: Floats, n_bins: int) -> Array:
    """The bin that the mass below an answer, as a share of all, falls into."""
    reached = np.cumsum(w, axis=1)
    new = np.diff(x, axis=1, prepend=-1.0) > 0
    below = np.maximum.accumulate(np.where(new, reached - w, 0.0), axis=1)
    return np.floor(n_bins * (below / np.maximum(reached[:, -1:], np.finfo(float).tiny)))


def _of_edges(edges_of: Callable[..., Floats]) -> Callable[[Floats, Floats, Floats, int], Array]:
    def bins(x: Floats, hits: Floats, w: Floats, n_bins: int) -> Array:
        rows = []
        for answers, hit, weight in zip(logit(x), hits, w, strict=True):
            edges = edges_of(binary(answers, hit, weight), n_bins) if weight.any() else np.empty(0)
            rows.append(bin_of(answers, edges))
        return np.array(rows)

    return bins


SCHEMES: dict[str, Callable[[Floats, Floats, Floats, int], Array]] = {
    "size": _of_size,
    "mass": _of_mass,
    "kmeans": _of_edges(kmeans_edges),
    "imax": _of_edges(lambda problem, n_bins: fit_imax(problem, n_bins).edges),
    "own": _of_own,
}
