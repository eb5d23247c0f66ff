"""The report on a set of probabilities: every measure of the paper's tables, as a mapping that prints as a table."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .metrics.calibration import Reliability, class_errors, class_tables, one_table, pooled_table, priors
from .metrics.resampling import Interval, check_resampling, weighted_interval
from .metrics.scores import check_samples
from .records import Square, record
from .tally import Tally, tally, tally_blocks, tally_rows

__all__ = ["Report", "evaluate"]

LATEX = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"})


@record
class Report(Mapping[str, float]):
    """Measures by name, in the order of the paper's tables, of `n` samples and `n_classes` classes.

    `top1` and `classwise` are the reliability tables behind them: of the confidences, and of the probabilities above
    1 / K of all classes together. `per_class`, where it was asked for, holds one question for each class, with all its
    probabilities. `scores` (1, m) are the measures; where a `level` was asked for, two more rows hold the ends of
    their intervals.
    """

    names: tuple[str, ...]
    scores: Square
    n: int
    n_classes: int
    top1: Reliability
    classwise: Reliability
    per_class: Reliability | None = None
    level: float | None = None

    @property
    def intervals(self) -> dict[str, Interval]:
        """Confidence interval of each measure; empty where no `level` was asked for."""
        if self.level is None:
            return {}
        return {name: Interval(*ends) for name, ends in zip(self.names, self.scores.T.tolist(), strict=True)}

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise KeyError(name)
        return float(self.scores[0, self.names.index(name)])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        width = max(map(len, self))
        title = f"{self.n} samples, {self.n_classes} classes"
        title += f", {100 * self.level:.4g} % confidence intervals" if self.level else ""
        rows = zip(self.names, self.scores.T.tolist(), strict=True)
        return "\n".join([title, *(f"{name:<{width}}  {_cells(values)}" for name, values in rows)])

    def to_json(self) -> str:
        """The measures as a JSON object; their intervals, if any, as [low, high] under "intervals"."""
        ends = {name: [low, high] for name, (_, low, high) in self.intervals.items()}
        return json.dumps(dict(self) | ({"level": self.level, "intervals": ends} if ends else {}), indent=2)

    def to_latex(self) -> str:
        """The measures as a LaTeX table, with the rules of booktabs."""
        cells = zip(self.names, self.scores.T.tolist(), strict=True)
        rows = [" & ".join([name.translate(LATEX), *(f"{x:.4f}" for x in values)]) + r" \\" for name, values in cells]
        columns = "l" + "r" * len(self.scores)
        return "\n".join([rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *rows, r"\bottomrule", r"\end{tabular}"])

    def to_frame(self) -> Any:
        """The measures as a data frame of one row, and the ends of their intervals, if any, as `_low` and `_high`;
        needs pandas."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_frame needs pandas: install it, or use dict(report) or to_json()") from None
        ends = [{f"{name}_low": low, f"{name}_high": high} for name, (_, low, high) in self.intervals.items()]
        return pandas.DataFrame([{k: v for part in (dict(self), *ends) for k, v in part.items()}])


def _cells(values: list[float]) -> str:
    estimate, *ends = (f"{value:9.6f}" for value in values)
    return f"{estimate}  [{ends[0]}, {ends[1]}]" if ends else estimate


def evaluate(
    probs: Any,
    labels: npt.ArrayLike | None = None,
    ties: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    *,
    per_class: bool = False,
    level: float | None = None,
    method: str = "basic",
    n_resamples: int = 1000,
    rng: int | np.random.Generator = 0,
) -> Report:
    """Every measure of probabilities (n, K) against labels (n,), in one pass over them.

    `ties` (n, K), usually the raw logits, ranks classes of equal probability; without it the lower class comes first,
    as in the paper's main tables. A sample of weight 2 counts as two. Class-wise errors carry their threshold in the
    name (`cw_ece_0` has none); all errors use 100 bins of equal size. `per_class` keeps a reliability table of each
    class.

    A `level`, such as 0.9, asks for bootstrap intervals of all measures as well, at the price of `n_resamples` passes;
    `infocal.metrics.bootstrap` explains `method`, and finds the interval of a single measure far faster. The interval
    of a calibration error may lie below it: chance adds to the error of perfect probabilities, and `basic` takes that
    off.

    Arrays may be memory-mapped. In place of arrays, an iterable of blocks of them can be given: (probs, labels[, ties[,
    weights]]). Of an iterator of these, which can be gone through but once, `cw_ece_prior` is left out: its thresholds
    need all labels first. So give it blocks of probs, or of (probs, ties), and all `labels` and `weights` as arrays.

    >>> report = evaluate([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]], [0, 1, 1])
    >>> round(report["accuracy"], 3), round(report["top1_ece"], 3)
    (0.667, 0.433)
    """
    if labels is None:
        if ties is not None or weights is not None or level is not None:
            raise ValueError(
                "ties, weights, level: expected none beside blocks, which bring (probs, labels, ties, weights)"
            )
        return _report(tally_blocks(probs, per_class))
    if isinstance(probs, Iterator):
        if ties is not None or level is not None:
            raise ValueError("ties, level: expected none beside an iterator, whose blocks bring (probs, ties)")
        return _report(tally_rows(probs, labels, weights, per_class))
    p, y, z, w = check_samples(probs, labels, ties, weights)
    settings = None if level is None else check_resampling(level, n_resamples, method, rng)
    report = _report(tally(p, y, z, w, priors(y, w, p.shape[1]), per_class))
    if settings is None:
        return report
    again = lambda drawn: _report(tally(p, y, z, drawn, priors(y, drawn, p.shape[1]))).scores[0]  # noqa: E731
    return replace(report, scores=np.maximum(weighted_interval(again, len(p), w, settings), 0.0), level=level)


def _report(counted: Tally) -> Report:
    K = len(counted.reading.excess)
    top1, classwise = one_table(*counted.top1), pooled_table(counted.reading, counted.bins, 0)
    per_class = class_tables(counted.reading, counted.bins) if counted.per_class else None
    errors = class_errors(counted.reading, counted.bins, counted.mass)
    means = counted.scores
    scores = {
        **{name: means[name] for name in ("accuracy", *(("accuracy_top5",) if K >= 5 else ()))},
        "top1_ece": float(top1.errors()[0]),
        **{f"cw_ece_{name}": float(e.mean()) for name, e in zip(("0", *counted.thresholds), errors, strict=True)},
        **{name: means[name] for name in ("nll", "nll_normalised", "brier_top1", "brier")},
    }
    return Report(tuple(scores), np.array([list(scores.values())]), counted.n, K, top1, classwise, per_class)
