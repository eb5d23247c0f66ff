"""Every line whose precision matters, once: sigmoid, its inverse and its logarithm, entropies, the bin of a point."""

import numpy as np
import numpy.typing as npt

from .arrays import Array, Floats, Ints, RowError, bad_row, check_probs

__all__ = [
    "bin_of",
    "bits",
    "bounded",
    "entropy",
    "log_sigmoid",
    "logit",
    "logits_from_probs",
    "sigmoid",
    "sigmoids",
    "softmax",
    "tops",
]


def sigmoid(x: npt.ArrayLike) -> Floats:
    """1 / (1 + e^-x), to full relative precision at both ends."""
    x = np.asarray(x, dtype=np.float64)
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def sigmoids(x: npt.ArrayLike) -> tuple[Floats, Floats]:
    """sigmoid(x) and sigmoid(-x), by one exponential."""
    x = np.asarray(x, dtype=np.float64)
    small = np.exp(-np.abs(x))
    whole = 1.0 + small
    less, more, up = small / whole, 1.0 / whole, x >= 0
    return np.where(up, more, less), np.where(up, less, more)


def log_sigmoid(x: npt.ArrayLike) -> Floats:
    """log sigmoid(x) = -log(1 + e^-x), to full relative precision at both ends."""
    x = np.asarray(x, dtype=np.float64)
    return np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x)))


def logit(p: npt.ArrayLike) -> Floats:
    """log p - log(1 - p); -inf at 0 and inf at 1."""
    p = np.asarray(p, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-p)


def softmax(logits: Array) -> Array:
    """Rows of e^z over their sum, in the type of the logits, taken from the maximum so that nothing overflows."""
    e = np.exp(logits - tops(logits)[:, None])
    e /= e.sum(axis=1, keepdims=True)
    return np.asarray(e)


def tops(logits: Array) -> Array:
    """Largest logit (n,) of each row, in their type."""
    top = logits.max(axis=1)
    bad = ~np.isfinite(top)
    if bad.any():
        raise bad_row(logits, int(bad.argmax()))
    return np.asarray(top)


def entropy(hits: npt.ArrayLike, misses: npt.ArrayLike) -> Floats:
    """Mass times the binary entropy (nats) of cells that hold these masses: W h(P / W); 0 where a side is empty."""
    p, q = np.asarray(hits, dtype=np.float64), np.asarray(misses, dtype=np.float64)
    return _share_term(p, q) + _share_term(q, p)


def _share_term(part: Floats, rest: Floats) -> Floats:
    """part log((part + rest) / part), through log1p where the rest is the smaller."""
    return part * np.log1p(rest / np.where(part > 0, part, np.inf))


def bits(nats: float) -> float:
    """The same information counted in bits."""
    return nats / float(np.log(2.0))


def bounded(logodds: npt.ArrayLike) -> Floats:
    """Log-odds within +-700, where sigmoid and its complement are both ordinary doubles: certainty made finite."""
    return np.clip(np.asarray(logodds, dtype=np.float64), -700.0, 700.0)


def bin_of(logodds: npt.ArrayLike, edges: npt.ArrayLike) -> Ints:
    """Bin of each point: bin m is [edges[m-1], edges[m]), the first and the last one unbounded."""
    return np.searchsorted(np.asarray(edges), np.asarray(logodds), side="right")


def logits_from_probs(probs: npt.ArrayLike) -> Array:
    """Logits of softmax outputs (n, K), for users who kept only those: their logarithms, zeros becoming -inf.

    >>> logits_from_probs([[0.5, 0.5, 0.0]]).round(4).tolist()
    [[-0.6931, -0.6931, -inf]]
    """
    p = check_probs(probs)
    empty = ~p.any(axis=1)
    if empty.any():
        raise RowError("probs: row {row} is 0 in every class; at least one class must be possible", int(empty.argmax()))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p.astype(np.float64)))
