"""Scores of samples: definitions, laws, and the ends of the scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import oracles
from infocal.arrays import Array, Floats, Ints
from infocal.metrics import accuracy, brier, brier_top1, nll

PROBS = np.array([[0.2, 0.8], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0]])


def awkward(seed: int, n: int = 30, n_classes: int = 6) -> tuple[Array, Ints, Floats, Floats]:
    """Probabilities with ties, exact 0 and 1, and a row of zeros; labels, whole weights, and ties that tie."""
    rng = np.random.default_rng(seed)
    probs = rng.integers(0, 5, (n, n_classes)) / 4
    probs[0] = 0.0
    return probs, rng.integers(0, n_classes, n), rng.integers(0, 3, n) + 0.0, rng.integers(0, 3, probs.shape) + 0.0


def test_ties_go_to_the_lowest_class() -> None:
    assert accuracy(PROBS, [1, 0, 1, 1]) == 0.75
    assert accuracy(PROBS, [1, 0, 1, 1], k=2) == 1.0


def test_ties_go_to_the_larger_tie_value() -> None:
    assert accuracy(PROBS, [1, 1, 1, 1], ties=[[0, 0], [1, 2], [2, 1], [0, 0]]) == 0.75


def test_known_scores() -> None:
    assert nll(PROBS[:2], [1, 0]) == pytest.approx(-np.log([0.8, 0.5]).mean())
    assert brier(PROBS[:1], [1]) == pytest.approx(0.08)
    assert brier_top1(PROBS[:1], [0]) == pytest.approx(0.64)


def test_certainty_is_finite() -> None:
    assert nll(PROBS[3:], [0]) == pytest.approx(-np.log(2.220446049250313e-16))
    assert nll(np.zeros((1, 4)), [2], normalised=True) == pytest.approx(np.log(4))


@given(st.integers(0, 1000), st.sampled_from([np.float32, np.float64]))
def test_equal_the_definitions(seed: int, dtype: type) -> None:
    probs, labels, weights, ties = awkward(seed)
    p, weights[0] = probs.astype(dtype), 1.0
    for k in (1, 2, 5, 9):
        for z in (None, ties):
            value = accuracy(p, labels, k=k, ties=z, weights=weights)
            assert_allclose(value, oracles.accuracy(probs, labels, weights, k, z), rtol=1e-12)
    for normalised in (False, True):
        value = nll(p, labels, normalised=normalised, weights=weights)
        assert_allclose(value, oracles.nll(probs, labels, weights, normalised), rtol=1e-12)
    assert_allclose(brier(p, labels, weights=weights), oracles.brier(probs, labels, weights), rtol=1e-12)
    confidence, correct = oracles.top1(probs, labels, ties)
    wanted = np.average((confidence - correct) ** 2, weights=weights)
    assert_allclose(brier_top1(p, labels, ties=ties, weights=weights), wanted, rtol=1e-12)


@given(st.integers(0, 1000))
def test_laws(seed: int) -> None:
    """Order, names of the classes, and whether samples are repeated or weighted change nothing."""
    probs, labels, weights, _ = awkward(seed)
    rng = np.random.default_rng(seed)
    weights[0] = 1.0
    rows, names, times = rng.permutation(len(labels)), rng.permutation(6), weights.astype(int)
    renamed = np.argsort(names)[labels]
    for score in (lambda *a, **o: nll(*a, normalised=True, **o), nll, brier):
        value = score(probs, labels, weights=weights)
        assert_allclose(score(probs[rows], labels[rows], weights=weights[rows]), value, rtol=1e-12)
        assert_allclose(score(probs[:, names], renamed, weights=weights), value, rtol=1e-12)
        assert_allclose(score(np.repeat(probs, times, axis=0), np.repeat(labels, times)), value, rtol=1e-12)


@pytest.mark.parametrize("score", [accuracy, nll, brier, brier_top1])
def test_errors_name_the_argument(score) -> None:
    for bad in (np.nan, -0.1, 1.5):
        with pytest.raises(ValueError, match=r"probs: .* row 1, class 0"):
            score([[0.2, 0.8], [bad, 0.5]], [0, 1])
    with pytest.raises(ValueError, match=r"labels: .* got 2 in row 1"):
        score(PROBS[:2], [0, 2])
    with pytest.raises(ValueError, match="weights: "):
        score(PROBS[:2], [0, 1], weights=[0.0, 0.0])
