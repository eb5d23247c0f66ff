"""fig:kde_fit_plot: how well a kernel density fits the confidences, in probability and in log-odds; and the two-class
example with a known error on which the paper compares the two (sec. A.6.2)."""

import numpy as np

from ...arrays import Floats
from ...density import bandwidth, kde
from ...metrics.calibration import ece
from ...numerics import logit
from ...simulate import Toy
from ..lab import Lab
from ..panels import Bars, Curve, Figure, Panel
from ..settings import Setting
from .errors import confidences
from .logodds import FAR

__all__ = ["TOYS", "kde_fit", "kde_fit_part", "toy_errors"]

CELLS = 50
PLACES = 500
NAMES = {"kde": "probability", "kde-logodds": "log-odds"}
TOYS = ((0.5, -1.5), (0.2, -1.9))  # (b0, b1) of the paper's two examples
DRAWS, DRAWN = 40, 1024  # runs and samples of each: Zhang et al. go from 64 to 1,024 samples


def kde_fit(lab: Lab) -> Figure:
    """Both spaces side by side, and the errors on the two-class examples."""
    panels, facts = [], {}
    for space in NAMES:
        panel, mismatch = _panel(lab, space)
        panels.append(panel)
        facts[f"mismatch of mass in {NAMES[space]}"] = mismatch
    for toy in TOYS:
        for space, error in toy_errors(*toy).items():
            facts[f"|true - KDE| error of ({toy[0]}, {toy[1]}) in {NAMES[space]}"] = error
    return Figure("fig:kde_fit_plot", "Densities of the confidences", tuple(panels), facts)


def kde_fit_part(lab: Lab, label: str, space: str) -> Figure:
    """One panel under its own label."""
    panel, mismatch = _panel(lab, space)
    facts = {f"mismatch of mass in {NAMES[space]}": mismatch}
    return Figure(label, f"Density of the confidences in {NAMES[space]}", (panel,), facts)


def toy_errors(b0: float, b1: float) -> dict[str, float]:
    """Distance of the mean kernel estimate of a class's error from the true one, in either space."""
    toy = Toy(b0, b1)
    draws = [toy.draw(DRAWN, seed) for seed in range(DRAWS)]
    found = {space: [ece(draw.probs, draw.labels, kind="classwise", scheme=space) for draw in draws] for space in NAMES}
    return {space: abs(float(np.mean(errors)) - toy.error()) for space, errors in found.items()}


def _panel(lab: Lab, space: str) -> tuple[Panel, float]:
    """Histogram and density of the classifier's own confidences, and half the sum of |share - mass| over the bars."""
    confidence = confidences(lab, Setting("identity", None))[0][:, 0].astype(float)
    x = confidence if space == "kde" else np.clip(logit(confidence), -FAR, FAR)
    edges = np.linspace(0.0 if space == "kde" else x.min(), 1.0 if space == "kde" else x.max(), CELLS + 1)
    share = np.histogram(x, edges)[0] / len(x)
    at = np.linspace(edges[0], edges[-1], PLACES)
    fine = np.linspace(edges[0], edges[-1], CELLS * 20 + 1)
    middle = (fine[1:] + fine[:-1]) / 2
    mass = (_density(x, middle, space) * np.diff(fine)).reshape(CELLS, 20).sum(axis=1)
    panel = Panel(
        f"Confidences in {NAMES[space]}",
        "confidence" if space == "kde" else "log-odds of the confidence",
        "density",
        (Curve("kernel density", at, _density(x, at, space)),),
        (Bars("histogram", edges, share / np.diff(edges)),),
    )
    return panel, float(np.abs(share - mass).sum() / 2)


def _density(x: Floats, at: Floats, space: str) -> Floats:
    """Kernel density; in probability what would leave [0, 1] is reflected back into it."""
    w = np.ones(len(x))
    if space != "kde":
        return kde(x, w, at)
    return 3 * kde(np.concatenate((x, -x, 2 - x)), np.tile(w, 3), at, 3 * bandwidth(x, w))
