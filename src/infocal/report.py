"""The report on a set of probabilities: every measure of the paper's tables, as a mapping that prints as a table."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .metrics.calibration import Reliability, class_errors, class_thresholds, one_table, pooled_table
from .metrics.scores import check_samples
from .records import Vector, record
from .tally import Tally, tally, tally_blocks

__all__ = ["Report", "evaluate"]


@record
class Report(Mapping[str, float]):
    """Measures by name, in the order of the paper's tables, of `n` samples and `n_classes` classes.

    `top1` and `classwise` are the reliability tables behind them: of the confidences, and of the probabilities above
    1 / K of all classes together.
    """

    names: tuple[str, ...]
    scores: Vector
    n: int
    n_classes: int
    top1: Reliability
    classwise: Reliability

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise KeyError(name)
        return float(self.scores[self.names.index(name)])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        width = max(map(len, self))
        lines = [f"{self.n} samples, {self.n_classes} classes"]
        return "\n".join([*lines, *(f"{name:<{width}}  {value:9.6f}" for name, value in self.items())])

    def to_json(self) -> str:
        """The measures as a JSON object."""
        return json.dumps(dict(self), indent=2)

    def to_latex(self) -> str:
        """The measures as a LaTeX table, with the rules of booktabs."""
        rows = [f"{name.replace('_', chr(92) + '_')} & {value:.4f} \\\\" for name, value in self.items()]
        return "\n".join([r"\begin{tabular}{lr}", r"\toprule", *rows, r"\bottomrule", r"\end{tabular}"])

    def to_frame(self) -> Any:
        """The measures as a data frame of one row; needs pandas."""
        import pandas

        return pandas.DataFrame([dict(self)])


def evaluate(
    probs: Any,
    labels: npt.ArrayLike | None = None,
    ties: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> Report:
    """Every measure of probabilities (n, K) against labels (n,), in one pass over them.

    `ties` (n, K), usually the raw logits, ranks classes of equal probability; without it the lower class comes first,
    as in the paper's main tables. A sample of weight 2 counts as two. Class-wise errors carry their threshold in the
    name (`cw_ece_0` has none); all errors use 100 bins of equal size.

    Arrays may be memory-mapped. In place of arrays, an iterable of blocks of them can be given: (probs, labels[, ties[,
    weights]]). Of an iterator, which can be gone through but once, `cw_ece_prior` is left out: its thresholds need all
    labels first.

    >>> report = evaluate([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]], [0, 1, 1])
    >>> round(report["accuracy"], 3), round(report["top1_ece"], 3)
    (0.667, 0.433)
    """
    if labels is None:
        if ties is not None or weights is not None:
            raise ValueError("ties, weights: expected those of blocks in the blocks: (probs, labels, ties, weights)")
        return _report(tally_blocks(probs))
    p, y, z, w = check_samples(probs, labels, ties, weights)
    return _report(tally(p, y, z, w, class_thresholds("prior", y, w, p.shape[1])))


def _report(counted: Tally) -> Report:
    K = counted.reading.excess.shape[0]
    top1, classwise = one_table(*counted.top1), pooled_table(counted.reading, counted.bins, 0)
    errors = class_errors(counted.reading, counted.bins, counted.mass)
    means = counted.scores
    scores = {
        "accuracy": means["accuracy"],
        **({"accuracy_top5": means["accuracy_top5"]} if K >= 5 else {}),
        "top1_ece": float(top1.errors()[0]),
        **{f"cw_ece_{name}": float(e.mean()) for name, e in zip(("0", *counted.thresholds), errors, strict=True)},
        **{name: means[name] for name in ("nll", "nll_normalised", "brier_top1", "brier")},
    }
    return Report(tuple(scores), np.array(list(scores.values())), counted.n, K, top1, classwise)
