"""What a fit returns: a frozen map from logits to honest probabilities that can rank, be saved and be read."""

import os
from typing import Any, Protocol

import numpy as np

from . import kernels
from .arrays import Array, Floats, Ints, check_count, check_logits
from .numerics import softmax
from .persist import write_record
from .records import Facts, record

__all__ = ["Calibrator", "Identity", "Method"]


class Method(Protocol):
    """Any record that maps logits (n, K) to probabilities (n, K) of the same type."""

    def __call__(self, logits: Array, /) -> Array: ...


@record
class Identity:
    """The classifier's own softmax: what every calibrator is compared with."""

    def __call__(self, logits: Array) -> Array:
        return softmax(logits)


@record
class Calibrator:
    """Maps raw logits (n, K) to calibrated probabilities (n, K); see `fit`.

    Float32 logits give float32 probabilities, all others float64. Rows of a one-vs-rest calibrator (every binning)
    need not sum to 1: each number answers for its class alone. `fit_info` tells what the fit found out.
    """

    recipe: str
    n_classes: int
    method: Method
    fit_info: Facts

    def __call__(self, logits: Any) -> Array:
        """Calibrated probabilities (n, K)."""
        return self.method(check_logits(logits, self.n_classes))

    def rank(self, logits: Any, k: int = 5) -> Ints:
        """The k most probable classes (n, k), best first; equal probabilities are ranked by the raw logits."""
        raw = check_logits(logits, self.n_classes)
        return kernels.rank(self.method(raw), raw, check_count("k", k, 1, self.n_classes))

    def predict(self, logits: Any) -> Ints:
        """The most probable class (n,); equal probabilities are decided by the raw logits."""
        return self.rank(logits, 1)[:, 0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this calibrator to a JSON file; `infocal.load` gives back the same one, to the last bit."""
        write_record(self, path)

    @property
    def edges(self) -> list[Floats]:
        """Interior bin edges (M-1,) in log-odds of each group; only binned calibrators have them."""
        return list(self._of_method("edges"))

    @property
    def representatives(self) -> list[Floats]:
        """Probability (M,) that each bin answers with, of each group; only binned calibrators have them."""
        return list(self._of_method("representatives"))

    @property
    def groups(self) -> Ints:
        """Group of each class (K,); only one-vs-rest calibrators have it."""
        return np.asarray(self._of_method("groups"))

    @property
    def temperature(self) -> float:
        """The number that logits are divided by; only `temperature` has it."""
        return float(self._of_method("temperature"))

    def _of_method(self, name: str) -> Any:
        if not hasattr(self.method, name):
            raise AttributeError(f"a calibrator fitted by {self.recipe!r} has no {name}")
        return getattr(self.method, name)
