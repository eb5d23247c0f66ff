"""One calibration after another: what the first answers, as log-probabilities, is what the second is fitted to.

A curve of the log-odds straightens what a classifier says of each class by itself; a scaling of whole rows after it
mends what classes say of each other.
"""

import numpy as np

from .arrays import Array
from .calibrator import Method
from .records import record

__all__ = ["Chain", "floor_of", "told"]


@record
class Chain:
    """The map `second` of the logarithms of what `first` answers.

    Answers below `floor` count as that, so that a 0 of the first, which it has from samples, can be revised. A class
    whose logit is -inf stays impossible.
    """

    first: Method
    floor: float
    second: Method

    def check(self) -> None:
        if not 0 < self.floor < 1:
            raise ValueError(f"Chain.floor: expected a probability between 0 and 1, got {self.floor}")

    def __call__(self, logits: Array) -> Array:
        return self.second(told(self.first, self.floor, logits))


def told(first: Method, floor: float, logits: Array) -> Array:
    """Logits of what a method answers."""
    probs = first(logits)
    logs = np.log(np.maximum(probs, floor, dtype=np.float64))  # the floor may be less than single precision holds
    return np.where(np.isneginf(logits), -np.inf, logs).astype(probs.dtype, copy=False)


def floor_of(probs: Array) -> float:
    """What a 0 among answers counts as: half the smallest of the others."""
    smallest = float(probs[probs > 0].min(initial=1.0))
    return max(smallest / 2, float(np.finfo(probs.dtype).tiny))
