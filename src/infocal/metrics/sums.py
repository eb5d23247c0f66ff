"""Measures by what each sample adds to them: what resampling needs in place of the probabilities."""

from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, Floats, Ints
from .calibration import Reliability, ask, ece, reliability, size_edges, tables
from .scores import Samples, accuracy, brier, brier_top1, nll, samples_of

__all__ = ["MEASURES", "Sums", "debiased_again", "sums_of"]

SCORES: dict[Any, Callable[..., Array]] = {
    accuracy: Samples.among,
    nll: Samples.surprise,
    brier: Samples.distance,
    brier_top1: Samples.distance_top1,
}
MEASURES = (*SCORES, ece)


class Sums(NamedTuple):
    """A measure that sees samples through sums alone: the cell (n,) each adds to, the numbers (n, V) it adds there, and
    the measure (R,) of such sums (R, C, V); `redrawn` is the measure of resampled sums where this is another (see
    `debiased_again`)."""

    cell: Ints
    values: Floats
    measure: Callable[[Floats], Floats]
    redrawn: Callable[[Floats], Floats] | None = None

    def whole(self) -> Floats:
        """Sums (1, C, V) of all samples."""
        return self.of(np.zeros(len(self.cell), dtype=np.int64), np.arange(len(self.cell)), 1)

    def of(self, part: Ints, rows: Ints, count: int) -> Floats:
        """Sums (count, C, V) of rows, each in the set that `part` says."""
        cells = int(self.cell.max()) + 1
        place = part * cells + self.cell[rows]
        sums = np.stack([np.bincount(place, column[rows], count * cells) for column in self.values.T], axis=-1)
        return np.asarray(sums, dtype=np.float64).reshape(count, cells, -1)


def sums_of(metric: Any, probs: Array, labels: Array, **options: Any) -> Sums | None:
    """What samples add to one of the `MEASURES` with these options, which it has checked; None where bins depend on
    more than a sample's own answer, or samples answer many questions."""
    call = signature(metric).bind(probs, labels, **options)
    call.apply_defaults()
    given = dict(list(call.arguments.items())[2:])
    return _of_errors(probs, labels, **given) if metric is ece else _of_scores(metric, probs, labels, **given)


def _of_scores(metric: Any, probs: Array, labels: Array, **options: Any) -> Sums:
    ties, weights = options.pop("ties", None), options.pop("weights")
    rows = samples_of(probs, labels, ties, weights)
    w = np.ones(len(rows.rank)) if weights is None else weights
    values = np.stack((w * SCORES[metric](rows, **options), w), axis=1)
    return Sums(np.zeros(len(w), dtype=np.int64), values, lambda sums: sums[:, 0, 0] / sums[:, 0, 1])


def _of_errors(
    probs: Array, labels: Array, *, scheme: str, n_bins: int, norm: int | str, debiased: bool, **question: Any
) -> Sums | None:
    if question["kind"] != "top1" or scheme not in {"size", "own"}:
        return None
    asked = ask(probs, labels, **question)
    x, correct = asked.probs[:, 0], asked.labels == 0
    w = np.ones(len(x)) if asked.weights is None else asked.weights
    if asked.thresholds is not None:
        w = w * (x > asked.thresholds[0])
    edges = size_edges(n_bins) if scheme == "size" else np.unique(x)[1:]
    values = np.stack((w * (x - correct), w, w * correct), axis=1)
    parts = Sums(np.searchsorted(edges, x, side="right"), values, lambda sums: _table(sums).errors(norm, debiased))
    if not debiased:
        return parts
    noise = _table(parts.whole()).noise()
    return parts._replace(redrawn=lambda sums: _table(sums).debiased_errors(noise))


def _table(sums: Floats) -> Reliability:
    """Sums (R, C, 3) of excess, weight and hits as the bins of R questions."""
    return tables(*np.moveaxis(sums, -1, 0))


def debiased_again(probs: Array, labels: Array, **options: Any) -> Callable[[Floats], float]:
    """The debiased error as a function of the weights (n,) that redrawing gives the samples: labels drawn again add
    their chance to the sample's own, which is in every gap already, so both are taken off."""
    asked = {name: value for name, value in options.items() if name not in {"norm", "debiased", "weights"}}
    noise = reliability(probs, labels, weights=options["weights"], **asked).noise()
    return lambda w: float(reliability(probs, labels, weights=w, **asked).debiased_errors(noise).mean())
