"""fig:verifiable_ece: the top-1 ECE by the number of evaluation bins, and as evaluation samples grow in number."""

import numpy as np

from ...arrays import Array, Floats, Ints
from ...metrics.calibration import ece
from ..lab import Lab
from ..panels import Curve, Figure, Panel
from ..settings import Setting

__all__ = ["SHOWN", "by_bins", "confidences", "verifiable_ece"]

SHOWN = {
    "Baseline": Setting("identity", None),
    "TS": Setting("temperature"),
    "Eq. Size (sCW)": Setting("eqsize"),
    "I-Max (sCW)": Setting("imax"),
}
COUNTS = (5, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)  # of evaluation bins
BOOTSTRAPS = 100  # as in the paper


def verifiable_ece(lab: Lab) -> Figure:
    """Both panels, on the first split. A binned calibrator is evaluated answer by answer: its error needs no bins."""
    found = {name: by_bins(lab, setting) for name, setting in SHOWN.items()}
    n = len(lab.test(0).labels)
    sizes = np.unique(np.geomspace(min(100, n), n, 12).astype(int))
    by_samples = [_by_samples(lab, name, sizes) for name in SHOWN]
    panels = (
        Panel(
            f"Top-1 ECE of {n:,} evaluation samples",
            "number of evaluation bins",
            "ECE",
            tuple(Curve(name, np.array(COUNTS, dtype=float), errors) for name, errors in found.items()),
            log_x=True,
        ),
        Panel(
            f"Convergence over {BOOTSTRAPS} bootstraps",
            "number of evaluation samples",
            "ECE",
            tuple(by_samples),
            log_x=True,
        ),
    )
    facts = {f"{name}: least, over numbers of bins": errors.min() for name, errors in found.items()}
    facts |= {f"{name}: most": errors.max() for name, errors in found.items()}
    return Figure("fig:verifiable_ece", "ECE of scalings depends on how it is evaluated", panels, facts)


def confidences(lab: Lab, setting: Setting, split: int = 0) -> tuple[Array, Ints]:
    """The question of the confidences as two columns (n, 2), and the one that came true: 0 where correct."""
    logits, labels = lab.test(split)
    probs = lab.fitted(setting, split)(logits)
    top = probs.argmax(axis=1)
    confidence = probs[np.arange(len(top)), top]
    return np.stack((confidence, np.zeros(len(top))), axis=1), (top != labels).astype(np.int64)


def by_bins(lab: Lab, setting: Setting, split: int = 0) -> Floats:
    """Top-1 ECE by the number of evaluation bins, `COUNTS`."""
    answers, labels = confidences(lab, setting, split)
    return np.array([ece(answers, labels, scheme=_scheme(setting), n_bins=count) for count in COUNTS])


def _by_samples(lab: Lab, name: str, sizes: Ints) -> Curve:
    answers, labels = confidences(lab, SHOWN[name])
    rng = np.random.default_rng(0)
    errors = np.empty((len(sizes), BOOTSTRAPS))
    for i, size in enumerate(sizes):
        for b in range(BOOTSTRAPS):
            rows = rng.integers(len(labels), size=size)
            errors[i, b] = ece(answers[rows], labels[rows], scheme=_scheme(SHOWN[name]))
    return Curve(name, sizes.astype(float), errors.mean(axis=1), errors.std(axis=1))


def _scheme(setting: Setting) -> str:
    return "own" if setting.binned else "size"
