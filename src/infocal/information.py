"""What log-odds tell about the label, what bins keep of it, and at what rate (paper, sec. 3.3 and A.3.1).

A question is a `Binary` or a tuple (logodds, hits) or (logodds, hits, weights) of arrays (n,); `one_vs_rest` makes the
questions of a classifier. Sums are taken over its points as they are (`densities="counts"`) or over the kernel
densities of the log-odds of either label (`"kde"`), as in the paper's figures. Counts are right for bins that hold many
points; they say nothing of the log-odds themselves, of which hardly any two are equal.

Everything is in nats, or in bits with `unit="bits"`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import kernels
from .arrays import Array, Floats, check_labels, check_logits, check_weights
from .binning.imax import Masses, kept
from .density import bandwidth, kde
from .numerics import entropy
from .problems import Binary, binary, group_classes, questions
from .records import Vector, record

__all__ = [
    "Bottleneck",
    "Density",
    "Divergences",
    "Question",
    "bottleneck",
    "class_divergences",
    "divergence",
    "label_entropy",
    "limit",
    "of_bins",
    "one_vs_rest",
    "rate",
    "smoothed",
]

Question = Binary | tuple[npt.ArrayLike, ...]
UNITS = {"nats": 1.0, "bits": 1 / float(np.log(2.0))}
REACH = 64.0  # log-odds beyond are taken to lie here
WIDTH = 1 / 64  # of the cells of a density: in one, the odds of a label vary by 1.6 %
CELLS = 512  # that the bottleneck sees the log-odds in
CODES = 96  # of the bottleneck's code
PROBES = 1024  # posteriors at which its optimality is checked
STEPS = 4000  # at most, of Blahut-Arimoto
CHECKED = 50  # steps between checks
CLOSE = 2e-5  # of I(y; logodds): an optimum known this well is found
TINY = 1e-9  # nats: where there is nothing to keep, rounding
NEGLIGIBLE = 1e-15  # share of a code that nothing would miss
BETAS = np.geomspace(1.0, 4096.0, 37)


@record
class Density(Binary):
    """The densities of the log-odds of hits and of misses as a question of its own: what a large sample would be if
    they were the truth. Its points are cells of the line, its hits the posterior there."""


@record
class Bottleneck:
    """The information-bottleneck curve: no code of the log-odds, random or not, that takes `rate` keeps more than
    `information` of the label, both (B,), by the slope 1 / beta (B,) at which a nat of rate still pays.

    The points are attained; their objective, information - rate / beta, is within `gap` (B,) of the best there is.
    `limit` is I(y; logodds), where the curve ends.
    """

    betas: Vector
    rate: Vector
    information: Vector
    gap: Vector
    limit: float
    unit: str = "nats"

    def ceiling(self, rate: npt.ArrayLike) -> Floats:
        """What no code of these rates can exceed: the lowest of the lines of slope 1 / beta above the curve."""
        r = np.asarray(rate, dtype=np.float64)[..., None]
        lines = self.information + self.gap + (r - self.rate) / self.betas
        return np.minimum(lines.min(axis=-1), self.limit)


@record
class Divergences:
    """Jensen-Shannon divergence (K,) of the log-odds of each class where it is true, in new samples, from the same in
    a baseline: of the class's `own` samples, and of the samples of all classes `merged`; nan where a class has none."""

    own: Vector
    merged: Vector


# -- questions ------------------------------------------------------------------------------------------------------


def one_vs_rest(
    logits: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    groups: npt.ArrayLike = "shared",
    weights: npt.ArrayLike | None = None,
) -> list[Binary]:
    """The questions of logits (n, K) and labels (n,), one for each group of classes, as `infocal.fit` groups them."""
    z = check_logits(logits)
    n, n_classes = z.shape
    y, w = check_labels(labels, n, n_classes), check_weights(weights, n)
    return questions(z, y, group_classes(groups, y, n_classes, w), w)


def smoothed(question: Question) -> Density:
    """The kernel densities of a question, one for each label, with a bandwidth of its own."""
    asked = _ask(question)
    x = np.clip(asked.logodds, -REACH, REACH)
    sides = [(x[mass > 0], mass[mass > 0]) for mass in (asked.weights * asked.hits, asked.weights * (1 - asked.hits))]
    # a kernel narrower than a cell could miss all of them
    halves = [max(3 * bandwidth(*side), WIDTH) if len(side[0]) else 0.0 for side in sides]
    first, last = np.floor((x.min() - max(halves)) / WIDTH), np.ceil((x.max() + max(halves)) / WIDTH)
    at = (np.arange(first, last + 1) + 0.5) * WIDTH
    hits, misses = (_spread(*side, at, half) for side, half in zip(sides, halves, strict=True))
    full = hits + misses > 0
    hits, misses = hits[full], misses[full]
    return Density(at[full], hits / (hits + misses), hits + misses, WIDTH)


def _spread(x: Floats, mass: Floats, at: Floats, half: float) -> Floats:
    """The mass of points, spread by the kernel over cells around `at`."""
    if not len(x):
        return np.zeros(len(at))
    density = kde(x, mass, at, half)
    return np.asarray(mass.sum() * (density / density.sum()))


# -- measures -------------------------------------------------------------------------------------------------------


def label_entropy(question: Question, *, unit: str = "nats") -> float:
    """H(y): what there is to know of the label.

    >>> label_entropy(([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1]), unit="bits")
    1.0
    """
    scale, asked = _scale(unit), _ask(question)
    rate_of_hits = np.average(asked.hits, weights=asked.weights)
    return scale * float(entropy(rate_of_hits, np.average(1 - asked.hits, weights=asked.weights)))


def of_bins(question: Question, edges: npt.ArrayLike, *, densities: str = "counts", unit: str = "nats") -> Any:
    """I(y; bin): what bins with these edges (M-1,) keep of the label. Edges (S, M-1), such as the steps of a fit, give
    an array (S,).

    >>> of_bins(([-1.0, -2.0, 1.0, 2.0], [0, 0, 1, 1]), [0.0], unit="bits")
    1.0
    """
    scale, asked = _scale(unit), _ask(question, densities)
    sums = _masses(asked)
    return _row_by_row(lambda row: scale * max(kept(sums, np.searchsorted(asked.logodds, row))[0], 0.0), edges)


def limit(question: Question, *, densities: str = "kde", unit: str = "nats") -> float:
    """I(y; logodds): what no bins can exceed under the same densities."""
    scale, asked = _scale(unit), _ask(question, densities)
    return scale * max(kept(_masses(asked), np.empty(0, dtype=np.int64))[1], 0.0)


def rate(question: Question, edges: npt.ArrayLike, *, densities: str = "counts", unit: str = "nats") -> Any:
    """I(logodds; bin) = H(bin): what it takes to name the bin, since the log-odds leave no doubt about it. Edges
    (S, M-1) give an array (S,).

    >>> rate(([-1.0, -2.0, 1.0, 2.0], [0, 1, 0, 1]), [-1.5, 0.0, 1.5], unit="bits")
    2.0
    """
    scale, asked = _scale(unit), _ask(question, densities)
    reached = np.append(0.0, np.cumsum(asked.weights))

    def of_edges(row: Floats) -> float:
        ends = np.concatenate(([0], np.searchsorted(asked.logodds, row), [len(asked.logodds)]))
        return scale * _entropy(np.diff(reached[ends]) / reached[-1])

    return _row_by_row(of_edges, edges)


def _entropy(shares: Floats) -> float:
    full = shares[shares > 0]
    return max(float(-(full @ np.log(full))), 0.0)


def _row_by_row(measure: Callable[[Floats], float], edges: npt.ArrayLike) -> Any:
    e = np.asarray(edges, dtype=np.float64)
    if e.ndim not in {1, 2} or np.isnan(e).any() or not (e[..., 1:] >= e[..., :-1]).all():
        raise ValueError(
            f"edges: expected numbers that never decrease, (M - 1,) or (steps, M - 1), got shape {e.shape}"
        )
    return measure(e) if e.ndim == 1 else np.array([measure(row) for row in e])


def _masses(asked: Binary) -> Masses:
    """Running sums of hits and of misses, each from its small end."""
    hits, misses = asked.weights * asked.hits, asked.weights * (1 - asked.hits)
    return Masses.of(hits, misses)


def _ask(question: Question, densities: str = "counts") -> Binary:
    if densities not in {"counts", "kde"}:
        raise ValueError(f'densities: expected "counts" or "kde", got {densities!r}')
    if not isinstance(question, Binary | tuple) or (isinstance(question, tuple) and len(question) not in {2, 3}):
        raise ValueError("question: expected a Binary or a tuple (logodds, hits) or (logodds, hits, weights)")
    asked = question if isinstance(question, Binary) else _checked(*question)
    return smoothed(asked) if densities == "kde" and not isinstance(asked, Density) else asked


def _checked(logodds: npt.ArrayLike, hits: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Binary:
    x, h = np.asarray(logodds), np.asarray(hits)
    if x.ndim != 1 or x.dtype.kind not in "fiu" or not len(x):
        raise ValueError(f"logodds: expected real numbers of shape (n,), got {x.dtype} of shape {x.shape}")
    if h.shape != x.shape or h.dtype.kind not in "fiub":
        raise ValueError(f"hits: expected one number for each of {len(x)} log-odds, got {h.dtype} of shape {h.shape}")
    x, h, w = x.astype(np.float64), h.astype(np.float64), check_weights(weights, len(x))
    for name, values, wrong in (("logodds", x, np.isnan(x)), ("hits", h, ~((h >= 0) & (h <= 1)))):
        if wrong.any():
            row = int(wrong.argmax())
            wanted = "numbers other than nan" if name == "logodds" else "numbers from 0 to 1"
            raise ValueError(f"{name}: expected {wanted}, got {values[row]} in row {row}")
    return binary(x, h, w)


def _scale(unit: str) -> float:
    if unit not in UNITS:
        raise ValueError(f'unit: expected "nats" or "bits", got {unit!r}')
    return UNITS[unit]


# -- the bottleneck -------------------------------------------------------------------------------------------------


def bottleneck(
    question: Question, betas: npt.ArrayLike = BETAS, *, densities: str = "kde", unit: str = "nats"
) -> Bottleneck:
    """The most information about the label at each rate, by codes p(m | logodds) that maximise
    I(y; m) - I(logodds; m) / beta (Tishby et al., 1999): the limit of all binnings, which are codes without chance.

    For each beta the updates of Blahut (1972) and Arimoto (1972) alternate: the chances of the codes m, their share of
    the samples, and their posteriors. From the largest beta down each starts from the one before. With the codes'
    posteriors held to [0, 1] the problem is convex, so the optimum is known by its dual, which `gap` reports.
    """
    scale, asked = _scale(unit), _ask(question, densities)
    b = np.asarray(betas, dtype=np.float64)
    if b.ndim != 1 or not len(b) or not (np.isfinite(b) & (b > 0)).all():
        raise ValueError(f"betas: expected finite numbers above 0 of shape (B,), got {betas!r}")
    most = kept(_masses(asked), np.empty(0, dtype=np.int64))[1]
    posterior, share = _cells(asked)
    code, points = _first_code(posterior), np.empty((len(b), 3))
    for i in np.argsort(-b):
        code, points[i] = _best_code(posterior, share, code, float(b[i]), most)
    taken, information, gap = scale * points.T
    return Bottleneck(b, taken, information, gap, scale * most, unit)


def _cells(asked: Binary) -> tuple[Floats, Floats]:
    """Posterior and share of the points, put into the `CELLS` that keep the most information: only the posterior at a
    point matters to what a code of it is worth."""
    order = np.argsort(asked.hits, kind="stable")
    ordered = Binary(asked.logodds[order], asked.hits[order], asked.weights[order])
    sums = _masses(ordered)
    cuts = np.arange(1, len(order))
    if len(order) > CELLS:
        cuts = kernels.solve_edges("information", sums.hits, sums.misses, CELLS)[0]
    hits, misses = sums.of_bins(cuts)
    full = hits + misses > 0
    mass = (hits + misses)[full]
    return hits[full] / mass, mass / mass.sum()


def _first_code(posterior: Floats) -> tuple[Floats, Floats]:
    """Shares and posteriors of codes equally far apart by the label they tell of (Jeffreys' prior)."""
    return np.full(CODES, 1 / CODES), _even(posterior, np.arange(CODES, dtype=np.float64) + 0.5, CODES)


def _even(posterior: Floats, place: Floats, count: int) -> Floats:
    low, high = np.arcsin(np.sqrt(np.clip((posterior.min(), posterior.max()), 0.0, 1.0)))
    return np.asarray(np.sin(low + (high - low) * place / count) ** 2)


def _best_code(
    posterior: Floats, share: Floats, code: tuple[Floats, Floats], beta: float, most: float
) -> tuple[tuple[Floats, Floats], tuple[float, float, float]]:
    """The code of the best objective, and its rate, information and gap, from another code's shares and posteriors."""
    of_code, told = code
    probes = _even(posterior, np.arange(PROBES + 1.0), PROBES)
    base = float(share @ posterior)
    for _ in range(STEPS // CHECKED):
        for _ in range(CHECKED):
            chance, log_sum = _assign(posterior, of_code, told, beta)
            joint = share[:, None] * chance
            of_code = joint.sum(axis=0)
            used = of_code > NEGLIGIBLE
            joint, of_code = joint[:, used], of_code[used]
            told = np.clip(joint.T @ posterior / of_code, 0.0, 1.0)
        information = float(entropy(base, 1 - base) - of_code @ entropy(told, 1 - told))
        taken = _entropy(share) + _entropy(of_code) - _entropy(joint.ravel())
        best = most + (share @ log_sum + _slack(posterior, share, log_sum, beta, probes)) / beta
        gap = float(best - (information - taken / beta))
        if gap <= CLOSE * most + TINY:
            break
    return (of_code, told), (max(taken, 0.0), max(information, 0.0), max(gap, 0.0))


def _slack(posterior: Floats, share: Floats, log_sum: Floats, beta: float, probes: Floats) -> float:
    """How much more, at most, any codes bring than those of these sums: Blahut's dual bound (1972), the maximum over
    all posteriors a code might tell of, of which the probes are a fine grid."""
    pull = np.log(share)[:, None] - beta * _surprise(posterior, probes) - log_sum[:, None]
    top = pull.max(axis=0)
    return max(float((top + np.log(np.exp(pull - top).sum(axis=0))).max()), 0.0)


def _assign(posterior: Floats, of_code: Floats, told: Floats, beta: float) -> tuple[Floats, Floats]:
    """Chance of each code at each point (N, C), and the logarithm of what it was divided by."""
    score = np.log(of_code) - beta * _surprise(posterior, told)
    top = score.max(axis=1, keepdims=True)
    chance = np.exp(score - top)
    total = chance.sum(axis=1, keepdims=True)
    return chance / total, (top + np.log(total))[:, 0]


def _surprise(posterior: Floats, told: Floats) -> Floats:
    """Divergence (N, C) of the label at each point from what each code tells of it."""
    points, codes = (np.stack((p, 1 - p)) for p in (posterior, told))
    cross = points.T @ np.log(np.maximum(codes, np.finfo(float).tiny))
    return -(cross + entropy(*points)[:, None])


# -- divergences ----------------------------------------------------------------------------------------------------


def divergence(first: npt.ArrayLike, second: npt.ArrayLike, *, unit: str = "nats") -> float:
    """Jensen-Shannon divergence of two histograms over the same cells: masses (C,) each, of any sum.

    >>> divergence([2, 0], [0, 5], unit="bits")
    1.0
    """
    scale = _scale(unit)
    masses = [np.asarray(x, dtype=np.float64) for x in (first, second)]
    for name, mass in zip(("first", "second"), masses, strict=True):
        if mass.ndim != 1 or mass.shape != masses[0].shape or not (mass >= 0).all() or not 0 < mass.sum() < np.inf:
            raise ValueError(f"{name}: expected masses (C,) of at least 0 and a positive sum, as many as of the other")
    p, q = (mass / mass.sum() for mass in masses)
    return scale * max(_entropy((p + q) / 2) - (_entropy(p) + _entropy(q)) / 2, 0.0)


def class_divergences(
    baseline: tuple[npt.ArrayLike, npt.ArrayLike], samples: tuple[npt.ArrayLike, npt.ArrayLike], *, unit: str = "nats"
) -> Divergences:
    """How far the log-odds of true classes in some samples, class by class or merged, are from those in a baseline;
    each is (logits, labels). The paper plots the square roots (sec. A.2).

    Histograms of a class have the cells that the Sturges and the Freedman-Diaconis rule find for its baseline, the
    more of the two, and two open ones for what lies beyond.
    """
    _scale(unit)
    (base, base_labels), (new, labels) = _of_labels(*baseline), _of_labels(*samples)
    n_classes = np.shape(baseline[0])[1]
    if np.shape(samples[0])[1] != n_classes:
        raise ValueError(f"samples: expected {n_classes} classes, as in the baseline, got {np.shape(samples[0])[1]}")
    pairs = np.full((2, n_classes), np.nan)
    for k in range(n_classes):
        truth, own = base[base_labels == k], new[labels == k]
        for row, other in enumerate((own, new)):
            if len(truth) and len(other):
                edges = _histogram_edges(truth)
                pairs[row, k] = divergence(*(_histogram(x, edges) for x in (truth, other)), unit=unit)
    return Divergences(*pairs)


def _of_labels(logits: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[Floats, Array]:
    z = check_logits(logits)
    y = check_labels(labels, *z.shape)
    return np.clip(kernels.logodds(z)[np.arange(len(y)), y], -REACH, REACH), y


def _histogram_edges(x: Floats) -> Floats:
    """Equally wide cells between the least and the largest, no more than samples."""
    quarter, three = np.quantile(x, (0.25, 0.75))
    width, span = 2 * (three - quarter) / np.cbrt(len(x)), np.ptp(x)
    cells = max(np.log2(len(x)) + 1, span / width if width > 0 else 0.0)
    return np.linspace(x.min(), x.max(), int(min(np.ceil(cells), len(x))) + 1)


def _histogram(x: Floats, edges: Floats) -> Floats:
    # the largest of the baseline belongs to the last cell, as in numpy.histogram
    place = np.where(x == edges[-1], len(edges) - 1, np.searchsorted(edges, x, side="right"))
    return np.bincount(place, minlength=len(edges) + 1).astype(np.float64)
