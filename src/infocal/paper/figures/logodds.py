"""Figures of log-odds: where bins lie (fig:distributions_bins), what sharing adds (fig:SkvsSmerge), and what the ranks
of the classes are (fig:post-ha)."""

import numpy as np

from ... import kernels
from ...arrays import Array, Floats
from ...density import kde
from ..lab import Lab
from ..panels import Bars, Curve, Figure, Panel, Rules
from ..settings import Setting

__all__ = ["BINNINGS", "bins", "histogram", "merged", "ranks", "reach", "stacked"]

BINNINGS = {"Eq. Mass": Setting("eqmass"), "Eq. Size": Setting("eqsize"), "I-Max": Setting("imax")}
CELLS = 80  # bars of a histogram
PLACES = 400  # points of a density
FAR = 64.0  # log-odds beyond are drawn here
EXAMPLE = 0.394  # the paper shows class 394 of 1,000
AXIS = "log-odds"


def bins(lab: Lab) -> Figure:
    """Histograms and densities of the shared log-odds by label, 1k samples, and the edges of three binnings."""
    x, hits = stacked(lab, 0, 1000)
    parts = {"y = 0": x[~hits], "y = 1": x[hits]}
    edges = reach(*parts.values())
    bars = tuple(histogram(name, part, edges) for name, part in parts.items())
    curves = tuple(density(f"density, {name}", part, edges) for name, part in parts.items())
    panels = tuple(
        Panel(f"{name}: edges", AXIS, "density", curves, bars, (Rules("edges", lab.fitted(setting, 0).edges[0]),))
        for name, setting in BINNINGS.items()
    )
    facts = {f"{name}: information kept, share": _kept(lab, setting) for name, setting in BINNINGS.items()}
    facts |= {
        f"{name}: edges between the medians of the labels": _central(lab, s, parts) for name, s in BINNINGS.items()
    }
    return Figure("fig:distributions_bins", "Where the bins lie", panels, facts)


def merged(lab: Lab) -> Figure:
    """Counts of one class's log-odds, and of all classes' shared ones, by label, of the whole calibration half."""
    half = lab.cal(0, None)
    k = int(EXAMPLE * half.logits.shape[1])
    logodds = np.clip(kernels.logodds(half.logits), -FAR, FAR)
    x, hits = stacked(lab, 0, None)
    edges = reach(x[~hits], x[hits])
    sides = {"class": (logodds[:, k], half.labels == k), "shared": (x, hits)}
    titles = {"class": f"class {k} alone", "shared": "all classes, shared"}
    panels = tuple(
        Panel(titles[name], AXIS, "points", bars=_by_label(*sides[name], edges), log_y=True) for name in sides
    )
    facts = {f"{titles[name]}: points of y = 1": float(hit.sum()) for name, (_, hit) in sides.items()}
    return Figure("fig:SkvsSmerge", "What sharing adds", panels, facts)


def ranks(lab: Lab) -> Figure:
    """Histograms of the shared log-odds by rank, the density of the true classes', and the edges of three binnings."""
    half = lab.cal(0, 1000)
    logodds = np.clip(kernels.logodds(half.logits), -FAR, FAR)
    order = np.argsort(-half.logits, axis=1, kind="stable")
    ranked = np.take_along_axis(logodds, order, axis=1)
    truth = logodds[np.arange(len(half.labels)), half.labels]
    parts = {"top 1": ranked[:, :1], "top 2 to 5": ranked[:, 1:5], "rest": ranked[:, 5:]}
    edges = reach(*parts.values())
    bars = tuple(histogram(name, part.ravel(), edges) for name, part in parts.items() if part.size)
    curve = density("true class", truth, edges)
    panels = tuple(
        Panel(f"{name}: edges", AXIS, "density", (curve,), bars, (Rules("edges", lab.fitted(setting, 0).edges[0]),))
        for name, setting in BINNINGS.items()
    )
    low, high = np.quantile(truth, [0.05, 0.95])
    facts = {
        f"{name}: edges among the middle 90 % of the true classes": float(((e > low) & (e < high)).sum())
        for name, e in ((name, lab.fitted(setting, 0).edges[0]) for name, setting in BINNINGS.items())
    }
    return Figure("fig:post-ha", "Log-odds by rank", panels, facts)


def stacked(lab: Lab, split: int, size: int | None) -> tuple[Floats, Array]:
    """Log-odds of all classes behind one another, and whether each is the true class's."""
    half = lab.cal(split, size)
    hits = half.labels[:, None] == np.arange(half.logits.shape[1])
    return np.clip(kernels.logodds(half.logits), -FAR, FAR).ravel(), hits.ravel()


def reach(*parts: Floats) -> Floats:
    """Edges of bars over all points of each part but its outermost hundredths."""
    ends = [np.quantile(part, [0.01, 0.99]) for part in parts if part.size]
    return np.linspace(min(low for low, _ in ends) - 1.0, max(high for _, high in ends) + 1.0, CELLS + 1)


def histogram(name: str, x: Floats, edges: Floats) -> Bars:
    """Density of points, as bars; those beyond the edges are in the outer bars."""
    counts = np.histogram(np.clip(x, edges[0], edges[-1]), edges)[0]
    return Bars(name, edges, counts / max(len(x), 1) / np.diff(edges))


def density(name: str, x: Floats, edges: Floats) -> Curve:
    """Kernel density of points."""
    at = np.linspace(edges[0], edges[-1], PLACES)
    return Curve(name, at, kde(x, np.ones(len(x)), at) if len(x) else np.zeros(PLACES))


def _by_label(x: Floats, hits: Array, edges: Floats) -> tuple[Bars, ...]:
    parts = {"y = 0": x[~hits], "y = 1": x[hits]}
    return tuple(
        Bars(name, edges, np.histogram(np.clip(part, edges[0], edges[-1]), edges)[0].astype(float))
        for name, part in parts.items()
    )


def _kept(lab: Lab, setting: Setting) -> float:
    facts = lab.fitted(setting, 0).fit_info
    return float(facts["information"] / facts["information_limit"])


def _central(lab: Lab, setting: Setting, parts: dict[str, Floats]) -> float:
    low, high = (float(np.median(part)) for part in parts.values())
    edges = lab.fitted(setting, 0).edges[0]
    return float(((edges > low) & (edges < high)).sum())
