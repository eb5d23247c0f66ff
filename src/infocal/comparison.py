"""Recipes beside each other: each fitted on one set of samples and judged on another, with intervals."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import kernels
from .arrays import Array, Floats, Ints
from .calibrator import Calibrator
from .metrics.calibration import one_table, size_edges, top1_totals
from .metrics.resampling import Interval, bootstrap
from .metrics.scores import Samples as Rows
from .metrics.scores import check_level, check_samples, read
from .recipes import fit
from .report import Report, evaluate
from .tally import N_BINS

__all__ = ["Comparison", "compare"]

Samples = tuple[npt.ArrayLike, npt.ArrayLike]


class Column(NamedTuple):
    """How a measure is shown, and what the best of it is."""

    title: str
    form: str
    best: Callable[..., Any]


COLUMNS = {
    "accuracy": Column("accuracy", ".2%", max),
    "top1_ece": Column("top-1 ECE", ".4f", min),
    "cw_ece_1/K": Column("class-wise ECE", ".4f", min),
    "nll_normalised": Column("NLL", ".4f", min),
    "brier_top1": Column("Brier", ".4f", min),
}
SHARES = ("accuracy", "top1_ece", "cw_ece_1/K", "brier_top1")  # at most 1


class Comparison(Mapping[str, Report]):
    """Report of each recipe by name; prints as a table.

    `calibrators` holds what was fitted, `intervals` the confidence interval of each measure of the table for each
    recipe (empty where none were asked for), and `best` the recipe that is best in each measure.
    """

    def __init__(
        self,
        reports: Mapping[str, Report],
        calibrators: Mapping[str, Calibrator],
        intervals: Mapping[str, Mapping[str, Interval]] | None = None,
        level: float = 0.9,
    ) -> None:
        self._reports = MappingProxyType(dict(reports))
        self.calibrators = MappingProxyType(dict(calibrators))
        self.intervals = MappingProxyType(dict(intervals or {}))
        self.level = level

    def __getitem__(self, recipe: str) -> Report:
        return self._reports[recipe]

    def __iter__(self) -> Iterator[str]:
        return iter(self._reports)

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def best(self) -> dict[str, str]:
        """The recipe that is best in each measure of the table; the first of equals."""
        if not self:
            return {}
        return {key: column.best(self, key=lambda name: self[name][key]) for key, column in COLUMNS.items()}

    def __repr__(self) -> str:
        if not self:
            return "no recipes"
        rows = [["recipe", *(f"{column.title} " for column in COLUMNS.values())]]
        rows += [[name, *self._cells(name)] for name in self]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        legend = f"* best; ± half the width of a {self.level:.0%} interval" if self.intervals else "* best"
        return "\n".join([*(_line(row, widths) for row in rows), legend])

    def _cells(self, recipe: str) -> list[str]:
        best = self.best
        return [f"{self._cell(recipe, key)}{'*' if best[key] == recipe else ' '}" for key in COLUMNS]

    def _cell(self, recipe: str, key: str, sign: str = "±") -> str:
        value, form = self[recipe][key], COLUMNS[key].form
        if recipe not in self.intervals:
            return format(value, form)
        _, low, high = self.intervals[recipe][key]
        return f"{value:{form}} {sign}{(high - low) / 2:{form}}"

    def to_json(self) -> str:
        """Every measure of every recipe as JSON, with the ends of its interval where it has one."""
        content = {"level": self.level, "best": self.best, "recipes": {name: self._facts(name) for name in self}}
        return json.dumps(content, indent=2)

    def _facts(self, recipe: str) -> dict[str, dict[str, float]]:
        ends = self.intervals.get(recipe, {})
        return {
            key: {"value": value, **({"low": ends[key].low, "high": ends[key].high} if key in ends else {})}
            for key, value in self[recipe].items()
        }

    def to_frame(self) -> Any:
        """A data frame of one row per recipe, and of one column per measure and end of an interval; needs pandas."""
        import pandas

        rows = {
            name: {
                f"{key}{'' if end == 'value' else f'_{end}'}": x
                for key, ends in facts.items()
                for end, x in ends.items()
            }
            for name, facts in ((name, self._facts(name)) for name in self)
        }
        return pandas.DataFrame.from_dict(rows, orient="index").rename_axis("recipe")

    def to_latex(self) -> str:
        """The table in LaTeX, with the rules of booktabs; the best of each column in bold."""
        best = self.best
        head = " & ".join(["recipe", *(column.title for column in COLUMNS.values())])
        rows = []
        for name in self:
            cells = (self._cell(name, key, r"$\pm$").replace("%", r"\%") for key in COLUMNS)
            bold = (rf"\textbf{{{c}}}" if best[key] == name else c for key, c in zip(COLUMNS, cells, strict=True))
            rows.append(" & ".join([name.replace("_", r"\_"), *bold]) + r" \\")
        begin = rf"\begin{{tabular}}{{l{'r' * len(COLUMNS)}}}"
        return "\n".join([begin, r"\toprule", rf"{head} \\", r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"])


def _line(row: list[str], widths: list[int]) -> str:
    name, *cells = row
    return "  ".join([name.ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells, widths[1:], strict=True))]).rstrip()


def compare(
    recipes: Iterable[str],
    cal: Samples,
    test: Samples,
    *,
    level: float = 0.9,
    n_resamples: int = 1000,
    **settings: Any,
) -> Comparison:
    """Fit recipes to the calibration samples (logits, labels) and judge them on the test samples.

    Measures come with intervals of this `level`: what is measured, and as far to both sides as another draw of as many
    test samples may move it, by the bootstrap. A calibration error so measured is too high by what chance adds to every
    bin, and so is its interval. `n_resamples=0` leaves intervals out. `settings` are passed to every `fit`. Equal
    probabilities are ranked by the raw logits.
    """
    check_level(level)
    calibrators = {recipe: fit(recipe, *cal, **settings) for recipe in recipes}
    logits, labels = test
    reports, intervals = {}, {}
    for recipe, made in calibrators.items():
        probs = made(logits)
        reports[recipe] = evaluate(probs, labels, ties=logits)
        if n_resamples:
            intervals[recipe] = _intervals(_measures(probs, labels, logits), len(probs), level, n_resamples)
    return Comparison(reports, calibrators, intervals, level)


# -- measures of samples drawn again -------------------------------------------------------------------------------


def _intervals(measures: Callable[[Ints], Floats], n: int, level: float, n_resamples: int) -> dict[str, Interval]:
    """Intervals around the measures, as wide as the percentiles of the bootstrap are apart. Their own place would be
    wrong: drawing again adds to a calibration error once more what chance has added already."""
    value, low, high = bootstrap(measures, np.arange(n), level=level, n_resamples=n_resamples, method="percentile")
    reach = (high - low) / 2
    ends = np.stack((value, np.maximum(value - reach, 0.0), value + reach), axis=1)
    ends[:, 2] = np.where([key in SHARES for key in COLUMNS], np.minimum(ends[:, 2], 1.0), ends[:, 2])
    return {key: Interval(*row) for key, row in zip(COLUMNS, ends.tolist(), strict=True)}


def _measures(probs: Array, labels: npt.ArrayLike, ties: npt.ArrayLike) -> Callable[[Ints], Floats]:
    """The measures of the table as a function of the rows (n,) that are drawn. What these say by themselves is read
    once; a drawing only counts them."""
    p, y, z, _ = check_samples(probs, labels, ties, None)
    rows = read(kernels.reliability(p, y, None, z), p.shape[1], None)
    edges, classwise = size_edges(N_BINS), _classwise(p, y)

    def measures(drawn: Ints) -> Floats:
        counts = np.bincount(drawn, minlength=len(y)).astype(np.float64)
        some: Rows = rows._replace(weights=counts)
        top1 = float(one_table(*top1_totals(some, edges)).errors()[0])
        return np.array([some.accuracy(), top1, classwise(counts), some.nll(normalised=True), some.brier_top1()])

    return measures


def _classwise(probs: Array, labels: Ints) -> Callable[[Floats], float]:
    """Class-wise calibration error above 1 / K as a function of the counts (n,) of the rows. Only the answers above
    take part, each in the cell of its class and bin."""
    n_classes = probs.shape[1]
    row, of = np.nonzero(probs > 1 / n_classes)
    answers = probs[row, of].astype(np.float64)
    cells = of * N_BINS + np.searchsorted(size_edges(N_BINS), answers, side="right")
    found, cell = np.unique(cells, return_inverse=True)
    excess, class_of = answers - (labels[row] == of), found // N_BINS

    def error(counts: Floats) -> float:
        w = counts[row]
        gaps = np.abs(np.bincount(cell, w * excess, minlength=len(found)))
        kept = np.bincount(of, w, minlength=n_classes)
        errors = np.bincount(class_of, gaps, minlength=n_classes) / np.where(kept > 0, kept, 1.0)
        return float(errors.mean())

    return error
