"""Recipes beside each other: each fitted on one set of samples and judged on another."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy.typing as npt

from .calibrator import Calibrator
from .recipes import fit
from .report import Report, evaluate

__all__ = ["Comparison", "compare"]

Samples = tuple[npt.ArrayLike, npt.ArrayLike]
COLUMNS = {
    "accuracy": ("accuracy", ".2%"),
    "top1_ece": ("top-1 ECE", ".4f"),
    "cw_ece_1/K": ("class-wise ECE", ".4f"),
    "nll_normalised": ("NLL", ".4f"),
    "brier_top1": ("Brier", ".4f"),
}


class Comparison(Mapping[str, Report]):
    """Report of each recipe by name; prints as a table. `calibrators` holds what was fitted."""

    def __init__(self, reports: Mapping[str, Report], calibrators: Mapping[str, Calibrator]) -> None:
        self._reports = MappingProxyType(dict(reports))
        self.calibrators = MappingProxyType(dict(calibrators))

    def __getitem__(self, recipe: str) -> Report:
        return self._reports[recipe]

    def __iter__(self) -> Iterator[str]:
        return iter(self._reports)

    def __len__(self) -> int:
        return len(self._reports)

    def __repr__(self) -> str:
        rows = [["recipe", *(title for title, _ in COLUMNS.values())]]
        rows += [[name, *_cells(report)] for name, report in self.items()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(_line(row, widths) for row in rows)


def _cells(report: Report) -> list[str]:
    return [format(report[key], form) for key, (_, form) in COLUMNS.items()]


def _line(row: list[str], widths: list[int]) -> str:
    name, *cells = row
    return "  ".join([name.ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells, widths[1:], strict=True))])


def compare(recipes: Iterable[str], cal: Samples, test: Samples, **settings: Any) -> Comparison:
    """Fit recipes to the calibration samples (logits, labels) and judge them on the test samples.

    `settings` are passed to every `fit`. Equal probabilities are ranked by the raw logits.
    """
    calibrators = {recipe: fit(recipe, *cal, **settings) for recipe in recipes}
    logits, labels = test
    reports = {recipe: evaluate(made(logits), labels, ties=logits) for recipe, made in calibrators.items()}
    return Comparison(reports, calibrators)
