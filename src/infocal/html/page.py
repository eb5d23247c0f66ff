"""What the page says: every number and sentence of it; the template beside this file says where they stand."""

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from math import floor, log10
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array, Ints, check_labels, check_logits
from ..calibrator import Calibrator
from ..comparison import Comparison
from ..files import replaced
from ..metrics import Interval, Reliability, reliability
from ..metrics.calibration import size_edges
from ..numerics import softmax
from ..recipes import RECIPES
from ..report import Report, evaluate
from ..tally import N_BINS
from .carried import carried
from .diagram import Diagram, diagram
from .tables import bin_table, class_table

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
except ModuleNotFoundError as error:
    message = "infocal.html writes its page with jinja2: pip install 'infocal[html]'"
    raise ModuleNotFoundError(message, name=error.name) from error

__all__ = ["to_html", "write_report"]

Samples = tuple[npt.ArrayLike, npt.ArrayLike]
SHOWN_BINS = 20  # of a diagram
LEVEL = 0.9  # of the intervals of bins and points
LONGEST_NAME = 80
MOST_DIGITS = 9
PERCENT = "\u00a0%"
WORDS = {"n_bins": "bins", "rng": "seed"}  # of settings, in a reader's words
SAID = ("reason", "table", "candidates")  # of a fit's facts, what the page says elsewhere or is too long for it


class Measure(NamedTuple):
    """A column of the table of recipes."""

    key: str
    title: str
    percent: bool
    best: Any
    about: str

    def written(self, value: float) -> str:
        return _percent(value, 2) if self.percent else f"{value:.4f}"

    def range(self, low: float, high: float) -> str:
        """Two values, the unit written once."""
        return f"{self.written(low).removesuffix(PERCENT)} to {self.written(high)}"


MEASURES = (
    Measure("top1_ece", "top-1 ECE", True, min, "how far the confidence is from how often it is right, on average"),
    Measure(
        "cw_ece_1/K",
        "class-wise ECE",
        True,
        min,
        "the same of each class's probabilities above 1/K, averaged over the classes",
    ),
    Measure("nll_normalised", "NLL", False, min, "negative log-likelihood (nats), rows brought to sum 1"),
    Measure("brier_top1", "Brier", False, min, "mean squared distance of the confidence from being right (1) or not"),
    Measure("accuracy", "accuracy", True, max, "how often the most probable class is the true one"),
    Measure("accuracy_top5", "top-5 accuracy", True, max, "how often the true class is among the five most probable"),
)


class Subject(NamedTuple):
    """What the page is about: checked test samples, and the chosen recipe beside the classifier as it was."""

    logits: Array
    labels: Ints
    classes: Sequence[str]
    recipe: str
    calibrator: Calibrator
    before: Array
    after: Array


def write_report(
    comparison: Comparison,
    path: str | os.PathLike[str],
    test: Samples,
    *,
    chosen: str | None = None,
    classes: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    title: str = "Calibration report",
) -> None:
    """Write the page of `to_html`, whose options these are, to a file, whole or not at all."""
    page = to_html(comparison, test, chosen=chosen, classes=classes, settings=settings, title=title)
    with replaced(path) as file:
        file.write(page.encode())


def to_html(
    comparison: Comparison,
    test: Samples,
    *,
    chosen: str | None = None,
    classes: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    title: str = "Calibration report",
) -> str:
    """A page on a comparison, complete in itself; `test` is the (logits, labels) that it was judged on.

    - `chosen`: the recipe the page recommends and shows in detail; without it "auto", which chooses on calibration
      samples alone, or where that was not compared the one of least NLL among those that keep the accuracy within a
      standard error.
    - `classes`: names of the K classes; without them their numbers.
    - `settings`: facts to put on record, such as the settings of `compare` and the names of the files.
    """
    if not comparison:
        raise ValueError("comparison: expected at least one recipe, got none")
    subject = _subject(comparison, test, chosen, classes)
    own = comparison.get("identity") or evaluate(subject.before, subject.labels, ties=subject.logits)
    context = {
        "title": title,
        "chosen": subject.recipe,
        "sizes": {"n": len(subject.labels), "n_classes": len(subject.classes)} | dict(subject.calibrator.fit_info),
        "verdict": _verdict(subject, own, comparison[subject.recipe]),
        "why": _why(subject, asked=chosen is not None),
        "measures": [measure for measure in MEASURES if measure.key in own],
        "recipes": _recipe_rows(comparison, own, subject.recipe),
        "diagrams": _diagrams(subject),
        "level": _percent(LEVEL, 0),
        "probability": probability,
        "by_class": class_table(subject.before, subject.after, subject.logits, subject.labels, subject.classes),
        "bins": bin_table(subject.calibrator, subject.after, subject.logits, subject.labels, LEVEL),
        "choice": subject.calibrator.fit_info.get("table"),
        "carried": carried(subject.calibrator),
        "facts": _facts(subject, settings or {}),
        "about": {name: RECIPES[name] for name in comparison if name in RECIPES},
    }
    loader = PackageLoader("infocal.html", ".")
    page = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return page.get_template("report.html").render(context)


def _subject(comparison: Comparison, test: Samples, chosen: str | None, classes: Sequence[str] | None) -> Subject:
    if chosen is not None and chosen not in comparison:
        raise ValueError(f"chosen: expected one of {', '.join(comparison)}, got {chosen!r}")
    recipe = _choice(comparison) if chosen is None else chosen
    calibrator = comparison.calibrators[recipe]
    x = check_logits(test[0], calibrator.n_classes)
    y = check_labels(test[1], *x.shape)
    if len(y) != comparison[recipe].n:
        raise ValueError(
            f"test: expected the {comparison[recipe].n} samples that the recipes were judged on, got {len(y)}"
        )
    names = [str(k) for k in range(x.shape[1])] if classes is None else [str(name) for name in classes]
    if len(names) != x.shape[1]:
        raise ValueError(f"classes: expected one name for each of the {x.shape[1]} classes, got {len(names)}")
    shown = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in names]
    return Subject(x, y, shown, recipe, calibrator, softmax(x), calibrator(x))


def _choice(comparison: Comparison) -> str:
    """The recipe of least NLL among those within a standard error of the best accuracy, unless cross-validation chose
    one."""
    if "auto" in comparison:
        return "auto"
    best = max(report["accuracy"] for report in comparison.values())
    slack = max(np.sqrt(best * (1 - best) / report.n) for report in comparison.values())
    keeping = [name for name, report in comparison.items() if report["accuracy"] >= best - slack]
    return min(keeping, key=lambda name: comparison[name]["nll_normalised"])


# -- sentences -----------------------------------------------------------------------------------------------------


def _verdict(subject: Subject, before: Report, after: Report) -> str:
    recipe = subject.calibrator.fit_info.get("chosen", subject.recipe)
    if recipe == "identity":
        return (
            "The classifier's own probabilities need no calibration that these recipes could give: the error of its "
            f"confidence is {_percent(before['top1_ece'])}."
        )
    errors = (before["top1_ece"], after["top1_ece"])
    verb = "cuts" if errors[1] < errors[0] else "does not lower"
    return (
        f"{recipe} {verb} the error of the confidence, from {_percent(errors[0])} to {_percent(errors[1])}, "
        f"and {_accuracies(before['accuracy'], after['accuracy'])}."
    )


def _why(subject: Subject, asked: bool) -> str:
    facts = subject.calibrator.fit_info
    if "reason" in facts:
        return f"which stands for {facts['chosen']}: {facts['reason']}"
    if asked:
        return "as asked for"
    return "for its NLL, the least of those that keep the accuracy on these test samples"


def _accuracies(before: float, after: float) -> str:
    old, new = _percent(before), _percent(after)
    if old == new:
        return f"keeps the accuracy at {old}"
    return f"{'raises' if after > before else 'lowers'} the accuracy from {old} to {new}"


def _percent(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f}{PERCENT}"


def probability(p: float) -> str:
    """Three digits that tell it apart from 0 or from 1, whichever is nearer."""
    if not 0.9 < p < 1:
        return f"{p:.3g}"
    return f"{p:.{min(2 - floor(log10(1 - p)), MOST_DIGITS)}f}"


# -- the parts of the page -----------------------------------------------------------------------------------------


def _recipe_rows(comparison: Comparison, own: Report, chosen: str) -> list[dict[str, Any]]:
    measures = [measure for measure in MEASURES if measure.key in own]
    best = {m.key: _best([report[m.key] for report in comparison.values()], m.best) for m in measures}
    level, intervals = _percent(comparison.level, 0) if comparison.intervals else None, comparison.intervals
    return [
        {
            "name": name,
            "chosen": name == chosen,
            "level": level,
            "cells": [_cell(m, report[m.key], best[m.key], intervals.get(name, {}).get(m.key)) for m in measures],
        }
        for name, report in comparison.items()
    ]


def _best(values: list[float], best: Any) -> float | None:
    """The best of several values; none where all are the same."""
    return float(best(values)) if min(values) < max(values) else None


def _cell(measure: Measure, value: float, best: float | None, interval: Interval | None) -> dict[str, Any]:
    ends = None if interval is None else measure.range(interval.low, interval.high)
    return {"value": value, "text": measure.written(value), "ends": ends, "best": value == best}


def _diagrams(subject: Subject) -> list[Diagram]:
    both = {"before": subject.before} | ({subject.recipe: subject.after} if subject.recipe != "identity" else {})
    kinds = {
        "top1": ("Confidence", "the probability of the most probable class", 0),
        "classwise": ("Every class", "each class's probability wherever it is above 1/K, all classes together", "1/K"),
    }
    return [
        diagram(kind, title, about, {name: _shown(subject, probs, kind, least) for name, probs in both.items()}, LEVEL)
        for kind, (title, about, least) in kinds.items()
    ]


def _shown(subject: Subject, probs: Array, kind: str, threshold: Any) -> Reliability:
    table = reliability(probs, subject.labels, kind=kind, threshold=threshold, n_bins=N_BINS, ties=subject.logits)
    return table.merged(size_edges(SHOWN_BINS))


def _facts(subject: Subject, settings: Mapping[str, Any]) -> dict[str, str]:
    """What it takes to make this page again."""
    found = {name: value for name, value in subject.calibrator.fit_info.items() if name not in SAID}
    fitted = {f"fit: {name.replace('_', ' ')}": _written(value) for name, value in found.items()}
    packages = {name: version(name) for name in ("infocal", "numpy", "scipy")}
    given = {WORDS.get(name, str(name).replace("_", " ")): _written(value) for name, value in settings.items()}
    return given | fitted | packages | {"Python": platform.python_version()}


def _written(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else f"{value}"
