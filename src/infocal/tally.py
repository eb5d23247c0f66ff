"""What a report is made of, added up over blocks of samples, so that nobody needs to hold them all."""

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from . import kernels
from .arrays import Array, Floats, Ints, check_labels, check_logits, check_weights, rows_from
from .kernels import ClassBins, Reading
from .mapped import is_mapped, numbered, row_blocks
from .metrics.calibration import priors, size_edges, top1_totals
from .metrics.scores import Samples, check_samples, read

__all__ = ["N_BINS", "Tally", "tally", "tally_blocks", "tally_rows"]

N_BINS = 100  # equal-size bins of every calibration error in the report, as in the paper
BLOCK = 1 << 22  # elements of a file read at a time
FORM = "(probs, labels), (probs, labels, ties) or (probs, labels, ties, weights)"
ROWS = 1 << 16  # read at a time; a few numbers are kept of each


class Tally(NamedTuple):
    """Samples counted, their mass and mean scores by name; what was read of the bins of the classes; and sums over the
    bins of the confidences (3, M). `thresholds` names those of the bins."""

    n: int
    mass: float
    scores: dict[str, float]
    reading: Reading
    top1: Floats
    bins: ClassBins
    thresholds: tuple[str, ...]

    @property
    def per_class(self) -> bool:
        """Whether mass and hits are kept class by class."""
        return len(self.reading.mass) == len(self.reading.excess)

    def merged(self, other: "Tally") -> "Tally":
        """The tally of the samples of both."""
        mass = self.mass + other.mass
        share = other.mass / mass if mass else 0.0
        scores = {name: value + share * (other.scores[name] - value) for name, value in self.scores.items()}
        tables = [np.add(old, new, out=old) for old, new in zip(self.reading[2:], other.reading[2:], strict=True)]
        reading = Reading(*self.reading[:2], *tables)
        return self._replace(n=self.n + other.n, mass=mass, scores=scores, reading=reading, top1=self.top1 + other.top1)


def tally(
    probs: Array,
    labels: Ints,
    ties: Array | None,
    weights: Floats | None,
    priors: Floats | None,
    per_class: bool = False,
) -> Tally:
    """The tally of checked samples; without `priors` (K,) no threshold stands at them. `per_class` keeps mass and hits
    of each class, for a table of each."""
    K = probs.shape[1]
    least = {"1/K": np.full(K, 1 / K), **({} if priors is None else {"prior": priors}), "0.5": np.full(K, 0.5)}
    bins = ClassBins(size_edges(N_BINS)[None], np.array(list(least.values())))

    def part(rows: slice) -> Tally:
        z, w = None if ties is None else ties[rows], None if weights is None else weights[rows]
        with rows_from(rows.start):
            reading = kernels.reliability(probs[rows], labels[rows], w, z, bins, pooled=not per_class)
        return _counted(reading, w, bins, tuple(least))

    matrices = (probs,) if ties is None else (probs, ties)
    size = min(BLOCK, ROWS * K) if any(map(is_mapped, matrices)) else ROWS * K
    return reduce(Tally.merged, map(part, row_blocks(*matrices, size=size)))


def _counted(reading: Reading, weights: Floats | None, bins: ClassBins, thresholds: tuple[str, ...]) -> Tally:
    """The tally of one block."""
    n, K = len(reading.rank), len(reading.excess)
    mass = float(n if weights is None else weights.sum())
    scores = _scores(read(reading, K, weights if mass else None))  # of no mass they will not count
    top1 = top1_totals(read(reading, K, weights), bins.edges[0])
    kept = reading._replace(facts=reading.facts[:0].copy(), rank=reading.rank[:0].copy())
    return Tally(n, mass, scores, kept, top1, bins, thresholds)


def _scores(rows: Samples) -> dict[str, float]:
    """Mean scores of samples."""
    return {
        "accuracy": rows.accuracy(),
        "accuracy_top5": rows.accuracy(5),
        "nll": rows.nll(),
        "nll_normalised": rows.nll(normalised=True),
        "brier_top1": rows.brier_top1(),
        "brier": rows.brier(),
    }


def tally_blocks(blocks: Any, per_class: bool = False) -> Tally:
    """The tally of blocks: (probs, labels), (probs, labels, ties) or (probs, labels, ties, weights). Where they can be
    gone through but once, no threshold stands at the priors, which are not known before all labels are."""
    if isinstance(blocks, np.ndarray) or not isinstance(blocks, Iterable):
        raise ValueError("labels: expected the true class of each row, got none; only blocks bring theirs along")
    known = None if isinstance(blocks, Iterator) else _priors_of_blocks(blocks)
    total = None
    for i, block in enumerate(blocks):
        with numbered(i, FORM):
            part = tally(*_checked(block, None if total is None else len(total.reading.excess)), known, per_class)
        total = part if total is None else total.merged(part)
    if total is None:
        raise ValueError("probs: expected at least one block of (probs, labels), got none")
    return total


def tally_rows(blocks: Iterator[Any], labels: Any, weights: Any, per_class: bool = False) -> Tally:
    """The tally of blocks of probabilities, or of (probs, ties), one after the other, with the labels (n,) and weights
    (n,) of all of them."""
    n = len(np.asarray(labels))
    total, start = None, 0
    for i, block in enumerate(blocks):
        probs, ties = block if isinstance(block, tuple) else (block, None)
        with numbered(i, "probs or (probs, ties)"):
            p = check_logits(probs, None if total is None else len(total.reading.excess), "probs")
        rows = slice(start, start + len(p))
        if rows.stop > n:
            raise ValueError(f"labels: expected one label for each sample, got {n} and more samples")
        if total is None:
            y, w = check_labels(labels, n, p.shape[1]), check_weights(weights, n)
            known = priors(y, w, p.shape[1])
        z = check_samples(p, y[rows], ties, None)[2]
        with rows_from(start):
            part = tally(p, y[rows], z, None if w is None else w[rows], known, per_class)
        total, start = part if total is None else total.merged(part), rows.stop
    if total is None or start < n:
        raise ValueError(f"probs: expected a row for each of the {n} labels, got {start}")
    return total


def _checked(block: Any, n_classes: int | None) -> tuple[Array, Ints, Array | None, Floats | None]:
    probs, labels, ties, weights = (*block, None, None)[:4] if 2 <= len(block) <= 4 else block
    return check_samples(check_logits(probs, n_classes, "probs"), labels, ties, weights)


def _priors_of_blocks(blocks: Iterable[Any]) -> Floats | None:
    total, mass = None, 0.0
    for i, block in enumerate(blocks):
        with numbered(i, FORM):
            probs, labels, _, weights = _checked(block, None if total is None else len(total))
        part = float(len(labels) if weights is None else weights.sum())
        share = priors(labels, weights, probs.shape[1]) * part
        total, mass = share if total is None else total + share, mass + part
    return None if total is None else total / mass
