"""Scores of single samples, and their means: accuracy, negative log-likelihood, Brier.

Every function takes probabilities (n, K), of any row sum, and labels (n,). `ties` (n, K), usually the raw logits, says
which of two equal probabilities comes first: the one of the larger tie value; the lower class where there are none, or
where these are equal too.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .. import kernels
from ..arrays import Array, Floats, Ints, check_count, check_labels, check_logits, check_weights

__all__ = [
    "Samples",
    "accuracy",
    "brier",
    "brier_top1",
    "check_level",
    "check_samples",
    "nll",
    "read",
    "samples_of",
]

SMALLEST = 2.220446049250313e-16  # a label of less probability counts as this much, as in the paper's tables


class Samples(NamedTuple):
    """What each row says of its label (n,): how many classes come before the true one, the largest probability, that
    of the true class, and the sum and the sum of squares of the row."""

    n_classes: int
    weights: Floats | None
    rank: Ints
    confidence: Floats
    told: Floats
    total: Floats
    squares: Floats

    @property
    def correct(self) -> Array:
        """Whether the true class comes first."""
        return self.rank == 0

    def among(self, k: int = 1) -> Array:
        """Whether the true class is among the first k."""
        return self.rank < k

    def surprise(self, normalised: bool = False) -> Floats:
        """-log p of the true class. A row that sums to 0 says nothing: normalised, it is 1 / K each."""
        told = self.told
        if normalised:
            empty = self.total == 0
            told = np.where(empty, 1 / self.n_classes, told / np.where(empty, 1.0, self.total))
        return -np.log(np.maximum(told, SMALLEST))

    def distance(self) -> Floats:
        """Sum over classes of (p - [true class])^2."""
        return np.maximum(self.squares - 2 * self.told + 1, 0.0)

    def distance_top1(self) -> Floats:
        """(confidence - correct)^2."""
        return (self.confidence - self.correct) ** 2

    def accuracy(self, k: int = 1) -> float:
        """Share of samples whose true class is among the first k."""
        return self.mean(self.among(k))

    def nll(self, normalised: bool = False) -> float:
        """Mean surprise."""
        return self.mean(self.surprise(normalised))

    def brier(self) -> float:
        """Mean distance."""
        return self.mean(self.distance())

    def brier_top1(self) -> float:
        """Mean distance of the top class alone."""
        return self.mean(self.distance_top1())

    def mean(self, values: Array) -> float:
        """Weighted mean of one value per sample."""
        return float(np.average(values, weights=self.weights))


def accuracy(
    probs: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    k: int = 1,
    ties: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> float:
    """Share of samples whose true class is among the k most probable.

    >>> accuracy([[0.2, 0.8], [0.5, 0.5], [0.5, 0.5]], [1, 0, 1])
    0.6666666666666666
    """
    wanted = check_count("k", k, 1)
    return samples_of(probs, labels, ties, weights).accuracy(wanted)


def nll(
    probs: npt.ArrayLike, labels: npt.ArrayLike, *, normalised: bool = False, weights: npt.ArrayLike | None = None
) -> float:
    """Negative log-likelihood, in nats per sample, of the rows as they are or divided by their sums first.

    Probabilities below 2.220446049250313e-16 count as that. A row of zeros, normalised, counts as 1 / K each.
    """
    return samples_of(probs, labels, None, weights).nll(normalised)


def brier(probs: npt.ArrayLike, labels: npt.ArrayLike, *, weights: npt.ArrayLike | None = None) -> float:
    """Brier score (1950): squared distance of a row from its label's indicator, from 0 to 2 for rows that sum to 1."""
    return samples_of(probs, labels, None, weights).brier()


def brier_top1(
    probs: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    ties: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> float:
    """Brier score of the top class alone, (confidence - correct)^2: what the paper's tables call Brier."""
    return samples_of(probs, labels, ties, weights).brier_top1()


def check_samples(
    probs: npt.ArrayLike, labels: npt.ArrayLike, ties: npt.ArrayLike | None, weights: npt.ArrayLike | None
) -> tuple[Array, Ints, Array | None, Floats | None]:
    """Everything but the probabilities themselves, which the loop over them checks as it goes."""
    p = check_logits(probs, name="probs")
    y, w = check_labels(labels, *p.shape), check_weights(weights, len(p))
    z = None if ties is None else check_logits(ties, p.shape[1], "ties")
    if z is not None and len(z) != len(p):
        raise ValueError(f"ties: expected one row for each of the {len(p)} samples, got shape {z.shape}")
    return p, y, z, w


def check_level(level: float) -> float:
    """A confidence level as a fraction."""
    if not 0 < level < 1:
        raise ValueError(f"level: expected a fraction between 0 and 1, such as 0.9 for 90 %, got {level!r}")
    return float(level)


def read(reading: kernels.Reading, n_classes: int, weights: Floats | None) -> Samples:
    """The samples of what the loop over the rows found."""
    return Samples(n_classes, weights, reading.rank, *reading.facts.T)


def samples_of(
    probs: npt.ArrayLike,
    labels: npt.ArrayLike,
    ties: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> Samples:
    """The samples of probabilities and labels as a caller gives them."""
    p, y, z, w = check_samples(probs, labels, ties, weights)
    return read(kernels.reliability(p, y, w, z), p.shape[1], w)
