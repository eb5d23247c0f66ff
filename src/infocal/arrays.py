"""The checks at the door: what a caller may hand in, and what to say when it is something else.

Every check returns the array to work with and never changes the one it was given. Values inside logits (NaN, +inf, a
row of nothing but -inf) are found by the native loops in the pass they make anyway; `bad_row` words the error.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "Array",
    "Floats",
    "Ints",
    "RowError",
    "bad_probs_row",
    "bad_row",
    "check_count",
    "check_groups",
    "check_labels",
    "check_logits",
    "check_matrix",
    "check_probs",
    "check_weights",
    "rows_from",
]

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def check_logits(logits: npt.ArrayLike, n_classes: int | None = None, name: str = "logits") -> Array:
    """Raw class scores (n, K) as float32 or float64, without a copy where they already are."""
    x = np.asarray(logits)
    wanted = check_matrix(x.shape, x.dtype, n_classes, name)
    return x.astype(wanted, copy=not x.flags.aligned)


def check_matrix(
    shape: tuple[int, ...], dtype: np.dtype, n_classes: int | None = None, name: str = "logits"
) -> np.dtype:
    """The type that a matrix of scores of this shape and type is read as: float32 or float64."""
    if len(shape) != 2:
        raise ValueError(f"{name}: expected a matrix of shape (samples, classes), got shape {shape}")
    if dtype.kind not in "fiu":
        raise ValueError(f"{name}: expected real numbers, got dtype {dtype}; convert them to floats first")
    if shape[0] == 0 or shape[1] < 2:
        raise ValueError(f"{name}: expected at least 1 sample and 2 classes, got shape {shape}")
    if n_classes is not None and shape[1] != n_classes:
        raise ValueError(f"{name}: expected {n_classes} classes (columns), as in the fit, got {shape[1]}")
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def check_labels(labels: npt.ArrayLike, n: int, n_classes: int) -> Ints:
    """True classes (n,) as integers in 0..K-1."""
    y = np.asarray(labels)
    if y.shape != (n,):
        raise ValueError(f"labels: expected one label for each of the {n} samples, got shape {y.shape}")
    if y.dtype.kind not in "iub":
        raise ValueError(
            f"labels: expected integers from 0 to {n_classes - 1}, got dtype {y.dtype}; "
            "number the classes in the order of the columns of the logits"
        )
    outside = (y < 0) | (y >= n_classes)
    if outside.any():
        row = int(outside.argmax())
        raise ValueError(f"labels: expected integers from 0 to {n_classes - 1}, got {y[row]} in row {row}")
    return y.astype(np.int64)


def check_weights(weights: npt.ArrayLike | None, n: int) -> Floats | None:
    """Mass of each sample (n,), finite and not negative, with a positive sum; None means one each."""
    if weights is None:
        return None
    w = np.asarray(weights)
    if w.shape != (n,) or w.dtype.kind not in "fiub":
        raise ValueError(f"weights: expected one number for each of the {n} samples, got {w.dtype} of shape {w.shape}")
    w = w.astype(np.float64)
    wrong = ~(np.isfinite(w) & (w >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(f"weights: expected finite numbers of at least 0, got {w[row]} in row {row}")
    if not w.any():
        raise ValueError("weights: expected a positive sum, got 0 in all rows; give at least one sample some weight")
    return w


def check_groups(groups: npt.ArrayLike, n_classes: int) -> Ints:
    """Group of each class (K,), renumbered 0..G-1 in increasing order."""
    g = np.asarray(groups)
    if g.shape != (n_classes,):
        raise ValueError(f"groups: expected one group for each of the {n_classes} classes, got shape {g.shape}")
    if g.dtype.kind not in "iu":
        raise ValueError(f"groups: expected integers (the group of each class), got dtype {g.dtype}")
    return np.unique(g, return_inverse=True)[1].astype(np.int64)


def check_count(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number of at least `least` and, where it is given, at most `most`."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name}: expected a whole number {wanted}, got {value!r}")
    return int(value)


def check_probs(probs: npt.ArrayLike, name: str = "probs") -> Array:
    """Probabilities (n, K) as float32 or float64, each in [0, 1]; rows need not sum to 1."""
    p = check_logits(probs, name=name)
    outside = ~((p >= 0) & (p <= 1))
    if outside.any():
        row, k = (int(i) for i in np.unravel_index(outside.argmax(), p.shape))
        raise RowError(f"{name}: expected numbers from 0 to 1, got {p[row, k]} in row {{row}}, class {k}", row)
    return p


class RowError(ValueError):
    """A `ValueError` about a row, whose number stands for `{row}` in the text."""

    def __init__(self, text: str, row: int) -> None:
        super().__init__(text.replace("{row}", str(row)))
        self.text, self.row = text, row


@contextmanager
def rows_from(start: int) -> Iterator[None]:
    """Errors about rows of a block that begins at this row of the whole give their numbers in the whole."""
    try:
        yield
    except RowError as error:
        raise RowError(error.text, start + error.row) from None


def bad_row(logits: Array, row: int) -> RowError:
    """The error for a row of logits that no softmax can be taken of."""
    values = logits[row]
    wrong = np.isnan(values) | (values == np.inf)
    if not wrong.any():
        return RowError("logits: row {row} is -inf in every class; at least one class must be possible", row)
    k = int(wrong.argmax())
    text = f"logits: expected finite numbers (or -inf for a masked class), got {values[k]} in row {{row}}, class {k}"
    return RowError(text, row)


def bad_probs_row(probs: Array, ties: Array | None, row: int) -> RowError:
    """The error for a row that holds something other than probabilities, or a tie value that decides nothing."""
    outside = ~((probs[row] >= 0) & (probs[row] <= 1))
    if outside.any():
        k = int(outside.argmax())
        return RowError(f"probs: expected numbers from 0 to 1, got {probs[row, k]} in row {{row}}, class {k}", row)
    assert ties is not None
    k = int(np.isnan(ties[row]).argmax())
    return RowError(f"ties: expected numbers that can be compared, got nan in row {{row}}, class {k}", row)
