"""What a fit returns: a frozen map from logits to honest probabilities that can rank, be saved and be read."""

import os
from collections.abc import Iterator
from typing import Any, Protocol, overload

import numpy as np
import numpy.typing as npt

from . import kernels
from .arrays import Array, Floats, Ints, check_count, check_logits, rows_from
from .files import check_format, write_blocks
from .mapped import is_mapped, row_blocks
from .numerics import softmax
from .persist import write_record
from .records import Facts, record

__all__ = ["Calibrator", "Identity", "Method"]

BLOCK = 1 << 20  # elements calibrated at a time where not all are held at once


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

    @overload
    def __call__(self, logits: Iterator[Any], out: None = None) -> Iterator[Array]: ...

    @overload
    def __call__(self, logits: npt.ArrayLike, out: Array | str | os.PathLike[str] | None = None) -> Array: ...

    def __call__(self, logits: Any, out: Array | str | os.PathLike[str] | None = None) -> Array | Iterator[Array]:
        """Calibrated probabilities (n, K).

        They are written to `out` if that is given: an array, which may be memory-mapped, as may the logits; or the name
        of an `.npy` file, which is written whole or not at all, a block of rows at a time, and given back mapped. An
        iterator of blocks of logits gives an iterator of their probabilities.
        """
        if isinstance(logits, Iterator):
            if out is not None:
                raise ValueError("out: expected none beside an iterator of blocks, whose results come one by one")
            return map(self, logits)
        x = check_logits(logits, self.n_classes)
        if out is None and not is_mapped(x):
            return self.method(x)
        if isinstance(out, str | os.PathLike):
            return self._written(x, out)
        probs = np.empty_like(x, subok=False) if out is None else _check_out(out, x)
        for rows in row_blocks(x, probs, size=BLOCK):
            with rows_from(rows.start):
                probs[rows] = self.method(x[rows])
        return probs

    def _written(self, logits: Array, out: str | os.PathLike[str]) -> Array:
        if check_format(out) != ".npy":
            raise ValueError(f"out: expected an array or the name of an .npy file, got {os.fspath(out)!r}")

        def blocks() -> Iterator[Array]:
            for rows in row_blocks(logits, size=BLOCK):
                with rows_from(rows.start):
                    yield self.method(logits[rows])

        write_blocks(out, blocks(), logits.shape, logits.dtype)
        return np.asarray(np.load(out, mmap_mode="r"))

    def rank(self, logits: Any, k: int = 5) -> Ints:
        """The k most probable classes (n, k), best first; equal probabilities are ranked by the raw logits."""
        raw = check_logits(logits, self.n_classes)
        ranked = np.empty((len(raw), check_count("k", k, 1, self.n_classes)), dtype=np.int64)
        for rows in row_blocks(raw):
            with rows_from(rows.start):
                self._rank(raw[rows], ranked[rows])
        return ranked

    def _rank(self, raw: Array, ranked: Ints) -> None:
        def loop(rows: slice) -> None:
            with rows_from(rows.start):
                ranked[rows] = kernels.rank(self.method(raw[rows]), raw[rows], ranked.shape[1])

        kernels.side_by_side(raw, BLOCK, loop)

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


def _check_out(out: Any, logits: Array) -> Array:
    if not isinstance(out, np.ndarray) or out.shape != logits.shape or out.dtype != logits.dtype:
        what = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out: expected an array of {logits.dtype} of shape {logits.shape}, got {what}")
    if not out.flags.writeable:
        raise ValueError('out: expected an array that can be written to; map a file with mode "r+" or "w+"')
    return out
