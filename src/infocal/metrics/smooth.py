"""Calibration gaps without bins: densities of the answers of either label (Zhang et al., 2020; paper, sec. A.8)."""

import numpy as np

from ..arrays import Floats
from ..density import bandwidth, kde
from ..numerics import bounded, logit

__all__ = ["SPACES", "smooth_gaps"]

SPACES = ("kde", "kde-logodds")
REACH = 64.0  # log-odds beyond are taken to lie here


def smooth_gaps(probs: Floats, hits: Floats, weights: Floats, space: str) -> tuple[Floats, Floats]:
    """|p - P(hit | p)| at each answer, and the weights to average them with.

    P(hit | p) is the density of the hits over that of all, both with the bandwidth of all answers.
    """
    if not len(probs):
        return probs, weights
    x = probs if space == "kde" else np.clip(bounded(logit(probs)), -REACH, REACH)
    half = 3 * bandwidth(x, weights)
    everywhere, of_hits = (_density(x, mass, half, space) for mass in (weights, weights * hits))
    rate = np.clip(of_hits / everywhere, 0.0, 1.0)
    return np.abs(probs - rate), weights


def _density(x: Floats, mass: Floats, half: float, space: str) -> Floats:
    """Mass density at each point; in probability space what would leave [0, 1] is reflected back into it."""
    if not mass.any():
        return np.zeros(len(x))
    total = mass.sum()
    if space == "kde-logodds":
        return total * kde(x, mass, x, half)
    mirrored = np.concatenate((x, -x, 2 - x))
    return 3 * total * kde(mirrored, np.tile(mass, 3), x, half)
