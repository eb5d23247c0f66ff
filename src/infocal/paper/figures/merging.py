"""fig:s_vs_s_k_JSD: whether the shared samples S or the class's own S_k tell more of a class's log-odds.

Of each class, the log-odds of its own samples in the evaluation half stand for the truth; S_k holds those of its
samples among the first n of the calibration half, S those of all classes' samples there. The distance is the square
root of the Jensen-Shannon divergence of histograms, in nats.
"""

import numpy as np

from ...arrays import Floats
from ...information import class_divergences
from ..lab import Lab
from ..panels import Bars, Figure, Panel

__all__ = ["distances", "divergences"]

SIZES = (500, 1000, 2000, 5000)
SHOWN = 10  # classes
WIDE = 0.4  # of a bar


def divergences(lab: Lab) -> Figure:
    """A panel for each size: distances of S and of S_k by class, means over splits."""
    most = len(lab.cal(0, None).labels)
    panels, facts = [], {}
    for size in [size for size in SIZES if size <= most] or [most]:
        found = np.array([distances(lab, split, size) for split in range(lab.splits)])
        shared, own = found.mean(axis=0)
        bars = _beside("S (shared)", shared[:SHOWN], -WIDE), _beside("S_k (of the class)", own[:SHOWN], 0.0)
        panels.append(Panel(f"{size:,} calibration samples", "class", "square root of JSD", bars=bars))
        facts[f"{size} samples: share of classes that S is nearer to"] = float(np.mean(shared < own))
    return Figure("fig:s_vs_s_k_JSD", "Distance of S and S_k from the truth", tuple(panels), facts)


def _beside(name: str, heights: Floats, shift: float) -> Bars:
    """A bar for each class, from so far beside its number on, and nothing between them."""
    left = np.arange(len(heights)) + shift
    edges = np.stack((left, left + WIDE), axis=1).ravel()
    return Bars(name, edges, np.stack((heights, np.zeros(len(heights))), axis=1).ravel()[:-1])


def distances(lab: Lab, split: int, size: int) -> Floats:
    """Distances (2, K) of S and of S_k from the evaluation half's log-odds of each class; the largest there is where
    a class has no samples."""
    found = class_divergences(lab.test(split), lab.cal(split, size))
    return np.sqrt(np.nan_to_num(np.stack((found.merged, found.own)), nan=np.log(2.0)))
