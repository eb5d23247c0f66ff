"""Time against samples, classes and bins, as a picture: straight lines of slope one are time linear in size."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from .measure import best_time
from .paths import OURS, Inputs

__all__ = ["draw_curves", "slope", "times"]

DRAWN = ("fit, temperature", "fit, shared bins", "evaluate", "apply, temperature", "apply, shared bins")
COPY = "copy"
N, K, M = 10_000, 1000, 15  # where the other axes stand
AXES: dict[str, tuple[int, ...]] = {
    "samples n": (1000, 2000, 5000, 10_000, 20_000, 50_000),
    "classes K": (10, 30, 100, 300, 1000, 3000),
    "bins M": (5, 10, 15, 30, 60, 120),
}


def times(axis: str, values: tuple[int, ...], seconds: float = 0.2) -> dict[str, list[float]]:
    """Milliseconds of every operation that is drawn, and of the copy, at each value."""
    found: dict[str, list[float]] = {name: [] for name in (*DRAWN, COPY)}
    os.environ["INFOCAL_NUM_THREADS"] = "1"
    for value in values:
        n, n_classes, n_bins = (
            value if axis.endswith(word) else size for word, size in zip("nKM", (N, K, M), strict=True)
        )
        data = Inputs(n, n_classes, n_bins)
        target = np.zeros_like(data.logits)
        found[COPY].append(
            1e3 * best_time(lambda d=data, t=target: np.copyto(t, d.logits), seconds, clock=time.process_time)
        )
        for name in DRAWN:
            found[name].append(1e3 * best_time(OURS[name](data), seconds, clock=time.process_time))
    return found


def slope(sizes: tuple[int, ...], milliseconds: list[float]) -> float:
    """Power of the size that the time grows by."""
    return float(np.polyfit(np.log(sizes), np.log(milliseconds), 1)[0])


def draw_curves(path: Path, seconds: float = 0.2) -> None:
    """Measure and draw all three panels."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(12, 4.6), sharey=True, layout="constrained")
    for panel, (axis, values) in zip(panels, AXES.items(), strict=True):
        _draw(panel, axis, values, times(axis, values, seconds))
    panels[0].set_ylabel("milliseconds of processor time, one thread")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _draw(panel: Any, axis: str, values: tuple[int, ...], found: dict[str, list[float]]) -> None:
    fixed = {"n": f"n = {N:,}", "K": f"K = {K:,}", "M": f"M = {M}"}
    panel.set(xscale="log", yscale="log", xlabel=axis)
    panel.set_title(", ".join(text for word, text in fixed.items() if not axis.endswith(word)), fontsize=10)
    for name, line in found.items():
        style = {"color": "0.5", "linestyle": "--"} if name == COPY else {"marker": "o", "markersize": 4}
        panel.plot(values, line, label="np.copyto of the logits" if name == COPY else name, **style)
    panel.set_xticks(values, [f"{value:,}" for value in values], fontsize=8)
    panel.minorticks_off()
    panel.grid(alpha=0.3)
