"""Calibration error: how far probabilities are from the frequencies they promise (paper, sec. 3.1 and A.8)."""

import numpy as np

from ..arrays import Array, Floats, Ints
from .scores import Samples

__all__ = ["class_errors", "size_edges", "top1_error"]


def size_edges(n_bins: int) -> Floats:
    """Interior edges k / M of equal-size bins [k / M, (k + 1) / M); the last one is closed."""
    return np.arange(1, n_bins) / n_bins


def top1_error(samples: Samples, edges: Floats) -> float:
    """Top-1 calibration error: share-weighted mean over bins of |mean confidence - frequency of being correct|."""
    w = np.ones(len(samples.rank)) if samples.weights is None else samples.weights
    excess = np.bincount(
        np.searchsorted(edges, samples.confidence, side="right"), w * (samples.confidence - samples.correct)
    )
    return float(np.abs(excess).sum() / w.sum())


def class_errors(probs: Array, labels: Ints, weights: Floats | None, edges: Floats, threshold: Floats | None) -> Floats:
    """Calibration error of each class (K,) among the samples that give it more than its threshold (K,)."""
    n, K = probs.shape
    kept = np.ones((n, K), bool) if threshold is None else probs > threshold
    w = np.broadcast_to(np.ones((n, 1)) if weights is None else weights[:, None], (n, K))[kept]
    cell = (np.searchsorted(edges, probs, side="right") + np.arange(K) * (len(edges) + 1))[kept]
    hits = (np.arange(K) == labels[:, None])[kept]
    excess = np.bincount(cell, w * (probs[kept] - hits.astype(np.float64)), minlength=K * (len(edges) + 1))
    mass = np.bincount(cell, w, minlength=K * (len(edges) + 1)).reshape(K, -1).sum(axis=1)
    return np.abs(excess).reshape(K, -1).sum(axis=1) / np.where(mass > 0, mass, 1.0)
