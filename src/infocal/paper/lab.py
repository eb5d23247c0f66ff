"""The protocol on one set of logits: every setting fitted on the calibration half of every split, and measured on the
other half. A cell (set, setting, split) is computed once for all the tables, figures and claims that ask for it.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, Floats, Ints
from ..binning.histogram import fit_histogram
from ..calibrator import Calibrator
from ..information import limit, of_bins, one_vs_rest
from ..metrics.calibration import ece
from ..onevsrest import OneVsRest, sums_of_rows
from ..recipes import fit
from ..report import evaluate
from .settings import Setting
from .splits import Samples, Split, halves, imbalanced, similar_groups
from .store import Store, fingerprint
from .tables import Table

__all__ = ["Cell", "Half", "Lab"]

SCHEMES = ("size", "mass", "kmeans", "imax", "kde-logodds")
TIED = ("accuracy", "accuracy_top5", "top1_ece")


class Half(NamedTuple):
    """Logits (n, K) and labels (n,) of one half of a split."""

    logits: Array
    labels: Ints


class Cell(NamedTuple):
    """Something to compute: one of the groups of measures, of one setting on one split."""

    setting: Setting
    split: int
    group: str


class Lab:
    """A set of logits under the protocol, in `splits` splits.

    `solver` is that of I-Max: the paper's own algorithm unless the optimum is asked for.
    """

    def __init__(self, samples: Samples, splits: int = 5, solver: str = "alternating", store: Store | None = None):
        self.samples, self.splits, self.solver = samples, splits, solver
        self.store = Store(None) if store is None else store
        self.parts: dict[str, Lab] = {}
        self._drawn = False
        self._fitted: dict[tuple[str, int], Calibrator] = {}
        self._split: dict[int, Split] = {}

    @cached_property
    def imbalanced(self) -> "Lab":
        """The lab of the same logits with the priors of SVHN; of the same ones where they are imbalanced already."""
        drawn = imbalanced(self.samples)
        if drawn is self.samples:
            return self
        lab = Lab(drawn, self.splits, self.solver, self.store)
        lab._drawn = True
        return lab

    def of(self, table: Table, part: str) -> "Lab":
        """The lab that a part of a table runs in: one of `parts` where it has its own logits, else this one, with the
        priors the table asks for."""
        if part in self.parts:
            return self.parts[part]
        return self.imbalanced if table.imbalanced else self

    @cached_property
    def stem(self) -> str:
        """First part of the names of this set's cells."""
        return fingerprint(self.samples, self.solver)

    def cal(self, split: int, size: int | None) -> Half:
        """The beginning of the calibration half of a split."""
        return self._rows(self._halves(split).cal[:size])

    def test(self, split: int) -> Half:
        """The half that is judged on."""
        return self._rows(self._halves(split).test)

    def fitted(self, setting: Setting, split: int) -> Calibrator:
        """The calibrator of a setting on a split. Where bins average a scaler's probabilities, the scaler is fitted
        once for all the binnings that do."""
        key = (setting.key, split)
        if key not in self._fitted:
            self._fitted[key] = self._fit(setting, split)
        return self._fitted[key]

    def values(self, setting: Setting, measure: str) -> Floats:
        """A measure of a setting (splits,); NaN where the set has none (no top five of four classes)."""
        cells = (self.compute(Cell(setting, split, _group(measure))) for split in range(self.splits))
        return np.array([cell.get(measure, np.nan) for cell in cells])

    def value(self, setting: Setting, measure: str, split: int) -> float:
        """A measure of a setting on one split."""
        return float(self.compute(Cell(setting, split, _group(measure))).get(measure, np.nan))

    def plan(self, needs: Iterable[tuple[Setting, str]]) -> list[Cell]:
        """The cells that these settings and measures need, each once, split by split."""
        asked = dict.fromkeys((setting, _group(measure)) for setting, measure in needs)
        return [Cell(setting, split, group) for split in range(self.splits) for setting, group in asked]

    def compute(self, cell: Cell) -> dict[str, float]:
        """The measures of a cell by name."""
        name = f"{self.stem}/{cell.setting.key}-{cell.group}-{cell.split}"
        known = self.store.get(name)
        if known is None:
            known = GROUPS[cell.group](self, cell.setting, cell.split)
            self.store.put(name, known)
        return known

    def _halves(self, split: int) -> Split:
        if split not in self._split:
            self._split[split] = halves(self.samples, split)
        return self._split[split]

    def _rows(self, rows: Ints) -> Half:
        return Half(self.samples.logits[rows], self.samples.labels[rows])

    def _fit(self, setting: Setting, split: int) -> Calibrator:
        if setting.scaler is not None:
            return self._over(setting, setting.scaler, split)
        half = self.cal(split, setting.size)
        options: dict[str, Any] = {"representatives": setting.representatives} if setting.binned else {}
        if setting.recipe == "matrix":
            options = self._strengths(setting, split)
        groups = similar_groups(self.samples, self._drawn) if setting.groups == "similar" else setting.groups
        return fit(
            setting.recipe, *half, groups=groups, n_bins=setting.n_bins, solver=self.solver, rng=split, **options
        )

    def _over(self, setting: Setting, scaler: Setting, split: int) -> Calibrator:
        """A binning over a scaling, as `fit` makes of "imax+gp", of edges and probabilities that are there already."""
        plain = self.fitted(replace(setting, recipe=setting.binning), split)
        logits = self.cal(split, setting.size).logits
        probs = self.fitted(scaler, split)(logits)
        sums = sums_of_rows(logits, None, plain.groups, plain.edges, lambda rows, _: probs[rows])
        members = tuple(fit_histogram(e, s) for e, s in zip(plain.edges, sums, strict=True))
        return Calibrator(setting.recipe, plain.n_classes, OneVsRest(plain.groups, members), plain.fit_info)

    def _strengths(self, setting: Setting, split: int) -> dict[str, Any]:
        """Penalties of matrix scaling: cross-validated on the first split, which costs twelve times a fit, and the same
        on all others."""
        name = f"{self.stem}/{setting.key}-strengths"
        known = self.store.get(name)
        if known is None and split == 0:
            return {}
        if known is None:
            method: Any = self.fitted(setting, 0).method
            known = {"off_diagonal": method.off_diagonal, "on_bias": method.on_bias}
            self.store.put(name, known)
        return known


# -- measures ------------------------------------------------------------------------------------------------------


def _report(lab: Lab, setting: Setting, split: int) -> dict[str, float]:
    """Everything that `evaluate` tells, and with a star what changes when the raw logits break ties."""
    half = lab.test(split)
    probs = lab.fitted(setting, split)(half.logits)
    untied = evaluate(probs, half.labels, ties=half.logits)
    return dict(evaluate(probs, half.labels)) | {f"{name}*": untied[name] for name in TIED if name in untied}


def _schemes(lab: Lab, setting: Setting, split: int) -> dict[str, float]:
    """Calibration errors by scheme, classes above 1 / K and confidences, and the mean over the schemes."""
    half = lab.test(split)
    probs = lab.fitted(setting, split)(half.logits)
    found: dict[str, float] = {}
    for kind, name, threshold in (("classwise", "cw", "1/K"), ("top1", "top1", 0)):
        errors = [ece(probs, half.labels, kind=kind, scheme=scheme, threshold=threshold) for scheme in SCHEMES]
        found |= {f"{name}_{scheme}": error for scheme, error in zip(SCHEMES, errors, strict=True)}
        found[f"{name}_mean"] = float(np.mean(errors))
    return found


def _information(lab: Lab, setting: Setting, split: int) -> dict[str, float]:
    """I(y; bin) and I(y; log-odds), in nats, under kernel densities of the calibration samples; class by class, means
    over the classes. Nothing of a calibrator without bins."""
    if not setting.binned:
        return {}
    calibrator = lab.fitted(setting, split)
    questions = one_vs_rest(*lab.cal(split, setting.size), groups=calibrator.groups)
    kept = [of_bins(q, edges, densities="kde") for q, edges in zip(questions, calibrator.edges, strict=True)]
    most = [limit(q) for q in questions]
    return {"information": float(np.mean(kept)), "information_limit": float(np.mean(most))}


GROUPS = {"report": _report, "schemes": _schemes, "information": _information}
SCHEMED = {f"{kind}_{scheme}" for kind in ("cw", "top1") for scheme in (*SCHEMES, "mean")}


def _group(measure: str) -> str:
    """The group that a measure is computed with."""
    if measure.startswith("information"):
        return "information"
    return "schemes" if measure in SCHEMED else "report"
