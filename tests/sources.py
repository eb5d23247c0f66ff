"""Random questions and logits for the tests."""

import numpy as np
from hypothesis import strategies as st

from infocal.arrays import Floats, Ints
from infocal.numerics import sigmoid
from infocal.problems import Binary, binary


def random_question(seed: int, n: int = 50, digits: int = 1) -> Binary:
    """Points with ties, hits drawn from a distorted sigmoid, and whole weights."""
    rng = np.random.default_rng(seed)
    x = (4 * rng.normal(size=n) - 2).round(digits)
    hits = (rng.random(n) < sigmoid(0.6 * x)).astype(float)
    return binary(x, hits, rng.integers(1, 4, size=n).astype(float))


questions = st.builds(random_question, st.integers(0, 10_000), st.integers(1, 60))


def random_samples(seed: int = 0, n: int = 400, n_classes: int = 6, scale: float = 2.0) -> tuple[Floats, Ints]:
    """Logits of a noisy, overconfident classifier, and labels of every class."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate((np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)))
    return scale * (rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[labels]), labels
