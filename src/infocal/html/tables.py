"""The long tables of the page: a row for each class, and a row for each bin of the chosen calibrator."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import kernels
from ..arrays import Array, Floats, Ints
from ..binning.histogram import Histogram, Sums
from ..calibrator import Calibrator
from ..metrics import Reliability, reliability
from ..metrics.bands import clopper_pearson
from ..metrics.calibration import size_edges
from ..numerics import sigmoid
from ..onevsrest import OneVsRest, sums_of_rows
from ..tally import N_BINS

__all__ = ["BinRow", "Bins", "ClassRow", "Classes", "bin_table", "class_table"]

MOST_CLASSES = 1000  # rows; more would make a page that no reader scrolls and no mail takes
MOST_BINS = 300
MERGED = 20


class ClassRow(NamedTuple):
    """A class: its test samples, the share of them recognised, its calibration errors, and how much more probability
    than frequency its answers above 1/K hold on average."""

    name: str
    samples: int
    recall: float | None
    before: float
    after: float
    lean: float | None


@dataclass(frozen=True)
class Classes:
    """The rows, the worst after calibration first, and how many classes there are in all."""

    rows: tuple[ClassRow, ...]
    total: int


def class_table(before: Array, after: Array, logits: Array, labels: Ints, classes: Sequence[str]) -> Classes:
    """A row for each class; the mean of its errors is the class-wise ECE (1/K) of the report."""
    K = len(classes)
    old, new = (reliability(p, labels, kind="classwise", threshold="1/K", n_bins=N_BINS) for p in (before, after))
    samples = np.bincount(labels, minlength=K)
    right = np.bincount(labels[kernels.rank(after, logits, 1)[:, 0] == labels], minlength=K)
    errors, lean = new.errors(), _lean(new)
    rows = [
        ClassRow(classes[k], int(samples[k]), _ratio(right[k], samples[k]), float(old), float(errors[k]), lean[k])
        for k, old in enumerate(old.errors())
    ]
    worst = np.argsort(-errors, kind="stable")[:MOST_CLASSES]
    return Classes(tuple(rows[k] for k in worst), K)


def _lean(table: Reliability) -> list[float | None]:
    excess, mass = (np.bincount(table.question, x, table.questions) for x in (table.excess, table.weights))
    return [_ratio(*sums) for sums in zip(excess, mass, strict=True)]


def _ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole > 0 else None


class BinRow(NamedTuple):
    """A bin: its group, its ends, its answer, the points it was fitted to, and what became of its test answers."""

    group: int
    low: float
    high: float
    answer: float
    fitted: float | None
    seen: float
    rate: float | None
    bottom: float
    top: float

    @property
    def honest(self) -> bool:
        """Whether the answer lies in the interval of the true rate."""
        return self.bottom <= self.answer <= self.top


@dataclass(frozen=True)
class Bins:
    """The rows; whether they are the calibrator's `own` bins or those of a diagram; and the number of its groups."""

    rows: tuple[BinRow, ...]
    own: bool
    groups: int


def bin_table(calibrator: Calibrator, probs: Array, logits: Array, labels: Ints, level: float) -> Bins:
    """The bins of a binned calibrator, or of a reliability diagram where it has none or too many to list.

    Intervals are Clopper-Pearson's, wide enough to be right in all rows of a group at once with probability `level`.
    """
    method = calibrator.method
    binned = isinstance(method, OneVsRest) and all(isinstance(member, Histogram) for member in method.members)
    if binned and sum(len(values) for values in calibrator.representatives) <= MOST_BINS:
        return _own_bins(method, logits, labels, level)
    table = reliability(probs, labels, kind="classwise", n_bins=N_BINS).merged(size_edges(MERGED))
    place = np.searchsorted(size_edges(MERGED), table.mean, side="right")
    seen = Sums(table.weights, table.hits, table.weights)
    rows = _rows(0, place / MERGED, (place + 1) / MERGED, table.mean, [None] * len(place), seen, level)
    return Bins(tuple(rows), False, 1)


def _own_bins(method: Any, logits: Array, labels: Ints, level: float) -> Bins:
    classes = np.arange(logits.shape[1])
    hits = lambda rows, _: np.equal.outer(labels[rows], classes)  # noqa: E731
    rows: list[BinRow] = []
    for g, total in enumerate(sums_of_rows(logits, None, method.groups, method.edges, hits)):
        member = method.members[g]
        ends = np.concatenate(([0.0], sigmoid(member.edges), [1.0]))
        rows += _rows(g, ends[:-1], ends[1:], member.representatives, member.weights.tolist(), total, level)
    return Bins(tuple(rows), True, len(method.members))


def _rows(
    group: int, low: Floats, high: Floats, answers: Floats, fitted: Sequence[float | None], seen: Sums, level: float
) -> list[BinRow]:
    """The rows of one group; `seen` holds the test answers of each bin and how many of them came true."""
    bottom, top = _simultaneous(seen.values, seen.weights, level)
    return [
        BinRow(
            group,
            float(low[m]),
            float(high[m]),
            float(answers[m]),
            fitted[m],
            float(seen.weights[m]),
            _ratio(seen.values[m], seen.weights[m]),
            float(bottom[m]),
            float(top[m]),
        )
        for m in range(len(answers))
    ]


def _simultaneous(hits: Floats, trials: Floats, level: float) -> tuple[Floats, Floats]:
    """Intervals that are right all at once with probability `level`; [0, 1] where nothing was seen."""
    rows = max(1, np.count_nonzero(trials))
    low, high = clopper_pearson(hits, np.maximum(trials, 1.0), -np.expm1(np.log(level) / rows))
    return np.where(trials > 0, low, 0.0), np.where(trials > 0, high, 1.0)
