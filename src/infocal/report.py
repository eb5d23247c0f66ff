"""The report on a set of probabilities: every measure of the paper's tables, as a mapping that prints as a table."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from . import kernels
from .kernels import ClassBins
from .metrics.calibration import (
    Reliability,
    class_errors,
    class_thresholds,
    pooled_table,
    size_edges,
    top1_table,
)
from .metrics.scores import check_samples, read
from .records import Vector, record

__all__ = ["Report", "evaluate"]

N_BINS = 100  # equal-size bins of every calibration error in the report, as in the paper
THRESHOLDS = (0, "1/K", "prior", 0.5)


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
    probs: npt.ArrayLike,
    labels: npt.ArrayLike,
    ties: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> Report:
    """Every measure of probabilities (n, K) against labels (n,), in one pass over them.

    `ties` (n, K), usually the raw logits, ranks classes of equal probability; without it the lower class comes first,
    as in the paper's main tables. A sample of weight 2 counts as two. Class-wise errors carry their threshold in the
    name (`cw_ece_0` has none); all errors use 100 bins of equal size.

    >>> report = evaluate([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]], [0, 1, 1])
    >>> round(report["accuracy"], 3), round(report["top1_ece"], 3)
    (0.667, 0.433)
    """
    p, y, z, w = check_samples(probs, labels, ties, weights)
    n, K = p.shape
    least = [class_thresholds(threshold, y, w, K) for threshold in THRESHOLDS[1:]]
    bins = ClassBins(size_edges(N_BINS)[None], np.array(least))
    reading = kernels.reliability(p, y, w, z, bins, pooled=True)
    rows, mass = read(reading, K, w), float(n if w is None else w.sum())
    top1, classwise = top1_table(rows, bins.edges[0]), pooled_table(reading, bins, 0)
    errors = class_errors(reading, bins, mass)
    scores = {
        "accuracy": rows.mean(rows.among()),
        **({"accuracy_top5": rows.mean(rows.among(5))} if K >= 5 else {}),
        "top1_ece": float(top1.errors()[0]),
        **{f"cw_ece_{name}": float(error.mean()) for name, error in zip(THRESHOLDS, errors, strict=True)},
        "nll": rows.mean(rows.surprise()),
        "nll_normalised": rows.mean(rows.surprise(normalised=True)),
        "brier_top1": rows.mean(rows.distance_top1()),
        "brier": rows.mean(rows.distance()),
    }
    return Report(tuple(scores), np.array(list(scores.values())), n, K, top1, classwise)
