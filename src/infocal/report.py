"""The report on a set of probabilities: every number of the contract, as a mapping that prints as a table."""

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import check_labels, check_logits, check_probs, check_weights
from .metrics.calibration import class_errors, size_edges, top1_error
from .metrics.scores import samples

__all__ = ["Report", "evaluate"]

N_BINS = 100  # equal-size bins of every calibration error in the report, as in the paper


class Report(Mapping[str, float]):
    """Measures by name, in the order of the paper's tables; frozen."""

    def __init__(self, scores: Mapping[str, float], n: int, n_classes: int) -> None:
        self._scores = MappingProxyType(dict(scores))
        self.n = n
        self.n_classes = n_classes

    def __getitem__(self, name: str) -> float:
        return self._scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def __repr__(self) -> str:
        width = max(map(len, self))
        return "\n".join(f"{name:<{width}}  {value:.6f}" for name, value in self.items())

    def to_json(self) -> str:
        """The measures as a JSON object."""
        return json.dumps(dict(self), indent=2)

    def to_latex(self) -> str:
        """The measures as a LaTeX table (booktabs)."""
        rows = [f"{name.replace('_', chr(92) + '_')} & {value:.4f} \\\\" for name, value in self.items()]
        return "\n".join(["\\begin{tabular}{lr}", "\\toprule", *rows, "\\bottomrule", "\\end{tabular}"])

    def to_frame(self) -> Any:
        """The measures as a pandas data frame of one row, where pandas is installed."""
        import pandas

        return pandas.DataFrame([dict(self)])


def evaluate(
    probs: npt.ArrayLike,
    labels: npt.ArrayLike,
    ties: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> Report:
    """Every measure of probabilities (n, K) against labels (n,)."""
    p = check_probs(probs)
    n, K = p.shape
    y, w = check_labels(labels, n, K), check_weights(weights, n)
    z = None if ties is None else check_logits(ties, K, "ties")
    prior = np.bincount(y, w, minlength=K) / (n if w is None else w.sum())
    edges = size_edges(N_BINS)
    rows = samples(p, y, z, w)
    thresholds = {"0": None, "1/K": np.full(K, 1 / K), "prior": prior, "0.5": np.full(K, 0.5)}
    scores = {
        "accuracy": rows.accuracy(),
        **({"accuracy_top5": rows.accuracy(5)} if K >= 5 else {}),
        "top1_ece": top1_error(rows, edges),
        **{f"cw_ece_{name}": float(class_errors(p, y, w, edges, t).mean()) for name, t in thresholds.items()},
        "nll": rows.nll(),
        "nll_normalised": rows.nll(normalised=True),
        "brier_top1": rows.brier_top1(),
        "brier": rows.brier(),
    }
    return Report(scores, n, K)
