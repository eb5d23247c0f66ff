"""Halves of a set of logits: one to calibrate on, one to judge on, classes balanced alike in both (paper, sec. 4)."""

from typing import NamedTuple

import numpy as np

from ..arrays import Array, Ints
from ..files import Data

__all__ = ["SVHN_GROUPS", "Samples", "Split", "halves", "imbalanced", "read_samples", "similar_groups"]

FLOOR = np.log(1e-300)  # logarithm of a probability of 0
EVEN = 1.5  # classes are balanced when the largest is at most so many times the smallest

# Images of each class in the test set of SVHN, in the order of its labels: 1 to 9, then 0. The paper numbers classes
# from 0 in this order: its groups {0-1}, {2-4}, {5-9} then hold classes of similar prior, 6 % to 20 %.
SVHN_COUNTS = (5099, 4149, 2882, 2523, 2384, 1977, 2019, 1660, 1595, 1744)
SVHN_GROUPS = (0, 0, 1, 1, 1, 2, 2, 2, 2, 2)


class Samples(NamedTuple):
    """Logits (n, K) and labels (n,) under a name."""

    name: str
    logits: Array
    labels: Ints

    @property
    def counts(self) -> Ints:
        """Samples of each class (K,)."""
        return np.bincount(self.labels, minlength=self.logits.shape[1])

    @property
    def balanced(self) -> bool:
        """Whether all classes are about equally frequent."""
        return bool(self.counts.max() <= EVEN * self.counts.min())


class Split(NamedTuple):
    """Rows of the calibration half, in an order of which any beginning is a calibration set, and of the other."""

    cal: Ints
    test: Ints


def read_samples(data: Data, name: str) -> Samples:
    """Samples of a file; of probabilities, the logarithms, those of 0 taken as 1e-300."""
    logits = data.logits if data.probs is None else np.maximum(data.logits, FLOOR)
    return Samples(name, logits, data.require_labels())


def halves(samples: Samples, seed: int) -> Split:
    """Half of every class for calibration, half for evaluation.

    Where classes are balanced the calibration half takes them in turn, so that its beginning is balanced as well;
    where they are not it is shuffled, so that its beginning has the priors of the whole.
    """
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation(np.flatnonzero(samples.labels == k)) for k in range(samples.logits.shape[1])]
    cal = [rows[: len(rows) // 2] for rows in drawn]
    test = np.sort(np.concatenate([rows[len(rows) // 2 :] for rows in drawn]))
    if not samples.balanced:
        return Split(rng.permutation(np.concatenate(cal)), test)
    turn = np.concatenate([np.arange(len(rows)) for rows in cal])
    return Split(np.concatenate(cal)[np.argsort(turn, kind="stable")], test)


def imbalanced(samples: Samples, seed: int = 0) -> Samples:
    """As many of the samples as have the priors of SVHN; all of them where classes are imbalanced already.

    The priors are those of ten classes; of K classes, each tenth has one of them.
    """
    if not samples.balanced:
        return samples
    shares = np.array(SVHN_COUNTS)[_tenths(samples)] / max(SVHN_COUNTS)
    wanted = np.floor((samples.counts / shares).min() * shares).astype(int)
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(np.flatnonzero(samples.labels == k))[:count] for k, count in enumerate(wanted)]
    kept = np.sort(np.concatenate(rows))
    return Samples(f"{samples.name}, SVHN priors", samples.logits[kept], samples.labels[kept])


def similar_groups(samples: Samples, drawn: bool) -> str | Ints:
    """Groups of classes of similar prior: the paper's three where the priors are those `drawn` after SVHN, else those
    that the labels ask for."""
    return np.array(SVHN_GROUPS)[_tenths(samples)] if drawn else "prior"


def _tenths(samples: Samples) -> Ints:
    """Which of the ten SVHN classes stands for each class (K,)."""
    K = samples.logits.shape[1]
    return np.arange(K) * len(SVHN_COUNTS) // K
