"""A density from points on a line: one grid, one short convolution."""

import numpy as np

from .arrays import Floats

__all__ = ["bandwidth", "kde"]

STEPS = 32  # grid cells per half-width of the kernel
LONGEST = 1 << 20  # cells of the grid


def kde(x: Floats, weights: Floats, at: Floats, half_width: float | None = None) -> Floats:
    """Density of weighted points x (n,) at the places `at`, with the triweight kernel 35/32 (1 - u^2)^3.

    The kernel ends at `half_width`, so a place farther than that from every point has density exactly 0; the default
    is three times `bandwidth`, since the kernel's standard deviation is a third of its half-width.

    >>> kde(np.array([0.0]), np.array([5.0]), np.array([0.0, 0.5, 2.0]), half_width=1.0).round(3).tolist()
    [1.094, 0.461, 0.0]
    """
    half = 3 * bandwidth(x, weights) if half_width is None else half_width
    low, high = min(x.min(), at.min()) - half, max(x.max(), at.max()) + half
    half = max(half, (high - low) * STEPS / LONGEST)
    step = half / STEPS
    cells = int(np.ceil((high - low) / step)) + 2
    place = (x - low) / step
    cell = place.astype(np.int64)
    right = weights * (place - cell)  # a point's mass is shared by the two grid places around it
    mass = np.bincount(cell, weights - right, minlength=cells) + np.bincount(cell + 1, right, minlength=cells)
    u = np.arange(-STEPS, STEPS + 1) / STEPS
    kernel = (1 - u * u) ** 3
    density = np.convolve(mass / mass.sum(), kernel / (kernel.sum() * step), mode="same")
    return np.interp(at, low + step * np.arange(cells), density)


def bandwidth(x: Floats, weights: Floats, robust: bool = True) -> float:
    """Silverman's rule (1986, eq. 3.31): 0.9 min(std, IQR / 1.34) n^(-1/5), where weights count samples.

    The quartiles guard against long tails. Where there are none, as on [0, 1], they mistake a crowd at one end for the
    whole; the standard deviation alone, not `robust`, does not.
    """
    mean = np.average(x, weights=weights)
    scale = float(np.sqrt(np.average((x - mean) ** 2, weights=weights)))
    if robust:
        order = np.argsort(x)
        reached = np.cumsum(weights[order])
        quarter, three = x[order][np.searchsorted(reached, np.array([0.25, 0.75]) * reached[-1])]
        between = float(three - quarter) / 1.34
        scale = min(scale, between) if between > 0 else scale
    equal = scale <= 1e-12 * np.abs(x).max()  # up to the rounding of their mean
    return 0.9 * (1.0 if equal else scale) * float(weights.sum()) ** -0.2
