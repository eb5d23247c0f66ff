"""fig:MI_exp: what binnings keep of the label as I-Max iterates, and at what rate, beside the bottleneck limit.

The kernel densities of the shared log-odds of 1k calibration samples, one for each label, are the truth here: S_kde of
the paper is the density itself, in fine cells, instead of samples of it. I-Max believes the sigmoid of the log-odds,
as ever, so under the densities its information may stop short of the best.
"""

from functools import lru_cache

import numpy as np

from ...arrays import Floats
from ...binning.edges import eq_mass_edges, eq_size_edges
from ...binning.imax import alternate, fit_imax, masses, start
from ...binning.posterior import fit_posterior
from ...information import Density, bottleneck, of_bins, one_vs_rest, rate, smoothed
from ...numerics import bounded
from ..lab import Lab
from ..panels import Curve, Figure, Panel

__all__ = ["convergence", "information_plane", "truth"]

BINS = 15
BETAS = np.geomspace(1.0, 4096.0, 25)
COUNTS = range(2, 17)


@lru_cache(maxsize=8)
def information_plane(lab: Lab) -> Figure:
    """Both panels, on the first split, in nats. Kept, since a claim asks for it again."""
    density = truth(lab, 0)
    curve = bottleneck(density, BETAS)
    steps = convergence(density, lab.solver)
    points = {name: _points(density, name) for name in ("Eq. Mass", "Eq. Size", "I-Max")}
    order = np.argsort(curve.rate)
    reached = [Curve(name, np.arange(len(kept), dtype=float), kept) for name, kept in steps.items()]
    most = max(len(kept) for kept in steps.values()) - 1.0
    bound = Curve("upper bound", np.array([0.0, most]), np.full(2, curve.limit))
    panels = (
        Panel("Information over the iterations", "iteration", "I(y; bin), nats", (*reached, bound)),
        Panel(
            f"{COUNTS[0]} to {COUNTS[-1]} bins and the bottleneck limit",
            "rate I(log-odds; bin), nats",
            "I(y; bin), nats",
            (
                Curve("bottleneck limit", curve.rate[order], curve.information[order]),
                *(Curve(name, *xy, dots=True) for name, xy in points.items()),
            ),
        ),
    )
    facts = {"upper bound": curve.limit}
    facts |= {f"from {name}: share of the bound at the start": kept[0] / curve.limit for name, kept in steps.items()}
    facts |= {f"from {name}: share of the bound at the end": kept[-1] / curve.limit for name, kept in steps.items()}
    facts |= {
        f"{name}: least share of the limit at its rate": _least(curve.ceiling(x), y) for name, (x, y) in points.items()
    }
    return Figure("fig:MI_exp", "Information of binnings", panels, facts)


def truth(lab: Lab, split: int) -> Density:
    """The densities of the shared log-odds of a split's 1k calibration samples."""
    return smoothed(one_vs_rest(*lab.cal(split, 1000))[0])


def convergence(density: Density, solver: str = "alternating") -> dict[str, Floats]:
    """Information (steps,) of the alternating updates from three starts: the edges of either plain binning, whose
    bins' own means are the first representatives, and the paper's k-means++."""
    model = fit_posterior(density, "sigmoid")
    sums = masses(density, model)
    found = {}
    for name, edges in (("Eq. Size", eq_size_edges(BINS)), ("Eq. Mass", eq_mass_edges(density, BINS))):
        hits, misses = sums.of_bins(np.searchsorted(density.logodds, edges))
        middle = bounded(np.concatenate(([edges[0] - 2], (edges[1:] + edges[:-1]) / 2, [edges[-1] + 2])))
        full = (hits > 0) & (misses > 0)
        phi = np.where(full, np.log(np.where(full, hits, 1.0)) - np.log(np.where(full, misses, 1.0)), middle)
        trace = alternate(model, sums, phi)
        found[name] = np.append(of_bins(density, edges), of_bins(density, trace.edges))
    trace = alternate(model, sums, start(density, model, BINS, np.random.default_rng(0)))
    found["k-means++"] = np.asarray(of_bins(density, trace.edges))
    return found


def _points(density: Density, name: str) -> tuple[Floats, Floats]:
    """Rates and information of a binning into 2 to 16 bins."""
    edges = [_edges(density, name, count) for count in COUNTS]
    return np.array([rate(density, e) for e in edges]), np.array([of_bins(density, e) for e in edges])


def _edges(density: Density, name: str, count: int) -> Floats:
    if name == "Eq. Mass":
        return eq_mass_edges(density, count)
    return eq_size_edges(count) if name == "Eq. Size" else fit_imax(density, count).edges


def _least(ceiling: Floats, information: Floats) -> float:
    """Least share of what a code of the same rate could keep."""
    return float((information / ceiling).min())
