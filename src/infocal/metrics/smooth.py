"""Calibration gaps without bins: densities of the answers of either label (Zhang et al., 2020; paper, sec. A.8)."""

import numpy as np

from ..arrays import Floats
from ..density import bandwidth, kde
from ..numerics import logit

__all__ = ["SPACES", "smooth_gaps"]

SPACES = ("kde", "kde-logodds")
REACH = 64.0  # log-odds beyond are taken to lie here


def smooth_gaps(probs: Floats, hits: Floats, weights: Floats, space: str) -> Floats:
    """|mean answer - rate of hits| around each answer, both under one kernel of the bandwidth of all answers.

    Comparing the rate with the mean answer under the kernel, as a bin does, instead of with the answer itself takes
    away the kernel's own bias, which is larger than many calibration errors where answers crowd at 0 or 1.
    """
    x = probs if space == "kde" else np.clip(logit(probs), -REACH, REACH)
    half = 3 * bandwidth(x, weights, robust=space != "kde")
    answers, of_hits, mass = (_density(x, part, half, space) for part in (weights * probs, weights * hits, weights))
    return np.minimum(np.abs(answers - of_hits) / mass, 1.0)


def _density(x: Floats, mass: Floats, half: float, space: str) -> Floats:
    """Mass density at each point; in probability space what would leave [0, 1] is reflected back into it."""
    total = mass.sum()
    if total == 0:
        return np.zeros(len(x))
    if space == "kde-logodds":
        return total * kde(x, mass, x, half)
    return 3 * total * kde(np.concatenate((x, -x, 2 - x)), np.tile(mass, 3), x, half)
