"""Classifiers whose truth is known: what measures and calibrators are tested against.

A `Source` draws labels from priors and shows one noisy score per class; the posterior given the scores is a softmax,
known exactly. Its classifier answers with the posterior, or with one that is over- or under-confident and biased,
class by class. A `Toy` is the two-class example of Zhang et al. (2020), whose error is an integral.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .arrays import Array, Floats, Ints, check_count
from .numerics import sigmoid, softmax
from .records import Vector, record

__all__ = ["Draw", "Source", "Toy", "Truth", "source", "true_error"]

LARGE = 1 << 17  # samples behind the true errors of a source
CELL = 256  # of them averaged together


class Draw(NamedTuple):
    """Samples: the classifier's logits (n, K), the labels (n,), and the true posterior (n, K)."""

    logits: Floats
    labels: Ints
    posterior: Floats

    @property
    def probs(self) -> Array:
        """What the classifier answers (n, K)."""
        return softmax(self.logits)


class Truth(NamedTuple):
    """Calibration errors of a source, and the accuracy and the negative log-likelihood of its classifier."""

    top1: float
    classwise: float
    accuracy: float
    nll: float


@record
class Source:
    """Labels of these `priors` (K,), scores of distance `signal` between the label's and the others', and logits
    slope * log posterior + shift (K,): a slope above 1 is over-confident, one below 1 under-confident."""

    priors: Vector
    signal: float
    slope: Vector
    shift: Vector

    def draw(self, n: int, rng: int | np.random.Generator = 0) -> Draw:
        """n independent samples."""
        rng, K = np.random.default_rng(rng), len(self.priors)
        labels = rng.choice(K, size=check_count("n", n, 1), p=self.priors)
        scores = rng.standard_normal((n, K))
        scores[np.arange(n), labels] += self.signal
        posterior = np.asarray(softmax(np.log(self.priors) + self.signal * scores))
        log_posterior = np.log(np.maximum(posterior, np.finfo(float).tiny))
        return Draw(self.slope * log_posterior + self.shift, labels, posterior)

    def truth(self, norm: int = 1) -> Truth:
        """What is true of the classifier, from a large sample by its posterior; calibration errors are mean (1) or
        root mean square (2) gaps, and exactly 0 where the classifier is perfect."""
        if norm not in (1, 2):
            raise ValueError(f"norm: expected 1 or 2, got {norm!r}")
        draw = self.draw(LARGE, 0)
        probs, posterior = draw.probs, draw.posterior
        first = probs.argmax(axis=1)[:, None]
        answer, truth = (np.take_along_axis(x, first, axis=1)[:, 0] for x in (probs, posterior))
        surprise = -np.log(np.maximum(probs, np.finfo(float).tiny))
        scores = float(truth.mean()), float((posterior * surprise).sum(axis=1).mean())
        if np.all(self.slope == 1) and np.ptp(self.shift) == 0:
            return Truth(0.0, 0.0, *scores)
        classes = [true_error(p, q, norm) for p, q in zip(probs.T, posterior.T, strict=True)]
        return Truth(true_error(answer, truth, norm), float(np.mean(classes)), *scores)


def source(
    n_classes: int,
    *,
    priors: npt.ArrayLike | None = None,
    signal: float = 2.0,
    slope: npt.ArrayLike = 1.0,
    shift: npt.ArrayLike = 0.0,
) -> Source:
    """A source of K classes; numbers hold for all classes, arrays (K,) class by class.

    >>> source(3).truth().top1
    0.0
    >>> source(3, slope=2.0).truth().top1 > 0.05
    True
    """
    K = check_count("n_classes", n_classes, 2)
    given = {"priors": np.full(K, 1 / K) if priors is None else priors, "slope": slope, "shift": shift}
    arrays = {name: np.asarray(value, dtype=np.float64) for name, value in given.items()}
    for name, array in arrays.items():
        if array.shape not in {(), (K,)} or not np.isfinite(array).all():
            raise ValueError(f"{name}: expected one finite number or one for each of {K} classes, got {given[name]!r}")
    if not (arrays["priors"] > 0).all():
        raise ValueError(f"priors: expected numbers above 0, got {priors!r}")
    shares = np.broadcast_to(arrays["priors"], K) / np.broadcast_to(arrays["priors"], K).sum()
    return Source(shares, float(signal), *(np.broadcast_to(arrays[name], K) for name in ("slope", "shift")))


def true_error(answers: Floats, posterior: Floats, norm: int = 1) -> float:
    """E[|E[answer - posterior | answer]|^norm]^(1 / norm) of many samples: the mean in short runs of equal answers."""
    order = np.argsort(answers)
    gaps = (answers - posterior)[order][: len(order) // CELL * CELL].reshape(-1, CELL)
    mean = gaps.mean(axis=1)
    if norm == 1:
        return float(np.abs(mean).mean())
    return float(np.sqrt(max((mean**2 - gaps.var(axis=1, ddof=1) / CELL).mean(), 0.0)))


@record
class Toy:
    """Two equally likely classes, X | y ~ N(-1, 1) for class 0 and N(1, 1) for class 1; the classifier answers
    sigmoid(b0 + b1 X) for class 0, the truth being sigmoid(-2 X) (Zhang et al., 2020, sec. 4.1)."""

    b0: float
    b1: float

    def draw(self, n: int, rng: int | np.random.Generator = 0) -> Draw:
        """n samples, half of each class."""
        labels = np.arange(check_count("n", n, 2)) % 2
        x = np.random.default_rng(rng).standard_normal(n) + 2.0 * labels - 1.0
        answer, posterior = self.b0 + self.b1 * x, sigmoid(-2 * x)
        return Draw(np.stack((answer, np.zeros(n)), axis=1), labels, np.stack((posterior, 1 - posterior), axis=1))

    def error(self) -> float:
        """True calibration error of either class, by integration on both sides of where answer and truth cross."""
        crossing = np.clip(-self.b0 / (self.b1 + 2.0) if self.b1 != -2.0 else 0.0, -12.0, 12.0)
        nodes, weights = np.polynomial.legendre.leggauss(120)
        total = 0.0
        for low, high in ((-12.0, crossing), (crossing, 12.0)):
            x = low + (high - low) * (nodes + 1) / 2
            density = (np.exp(-((x - 1) ** 2) / 2) + np.exp(-((x + 1) ** 2) / 2)) / np.sqrt(8 * np.pi)
            gap = np.abs(sigmoid(self.b0 + self.b1 * x) - sigmoid(-2 * x))
            total += float(weights @ (gap * density)) * (high - low) / 2
        return total
