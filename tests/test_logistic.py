"""Logistic regression on the line reaches its optimum, and says so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from infocal.arrays import Floats
from infocal.logistic import fit_line
from infocal.numerics import sigmoid


def noisy(seed: int, n: int = 200) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    x = 3 * rng.normal(size=n)
    return x, (rng.random(n) < sigmoid(0.7 * x - 1)).astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_equals_a_general_minimiser(seed: int) -> None:
    x, hits = noisy(seed)
    loss = lambda t: np.mean(np.logaddexp(0, t[0] * x + t[1]) - hits * (t[0] * x + t[1]))  # noqa: E731
    best = minimize(loss, [0.0, 0.0], tol=1e-12)
    line = fit_line(x, hits, np.ones(len(x)))
    assert_allclose([line.slope, line.shift], best.x, rtol=1e-4)
    assert loss([line.slope, line.shift]) <= best.fun + 1e-14
    assert line.gradient < 1e-10
    assert not line.separable


@given(st.integers(0, 100))
def test_weighting_equals_repeating(seed: int) -> None:
    x, hits = noisy(seed, 60)
    times = np.random.default_rng(seed).integers(1, 4, size=60)
    weighted = fit_line(x, hits, times.astype(float))
    repeated = fit_line(np.repeat(x, times), np.repeat(hits, times), np.ones(times.sum()))
    assert_allclose([weighted.slope, weighted.shift], [repeated.slope, repeated.shift], rtol=1e-6)


def test_recovers_the_truth() -> None:
    x, hits = noisy(0, 200_000)
    line = fit_line(x, hits, np.ones(len(x)))
    assert_allclose([line.slope, line.shift], [0.7, -1.0], atol=0.03)


@pytest.mark.parametrize("hits", [[0, 0, 0, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
@pytest.mark.parametrize("x", [[-2.0, -1.0, 0.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0, 0.0], [-700.0, 0.0, 0.0, 1.0, 700.0]])
def test_separable_points_have_a_bounded_answer(x: list[float], hits: list[float]) -> None:
    line = fit_line(np.array(x), np.array(hits, dtype=float), np.ones(5))
    assert line.separable or x[0] == 0
    assert np.isfinite([line.slope, line.shift]).all()
    p = sigmoid(line(np.array(x)))
    assert ((p > 0) & (p < 1)).all() or x[0] == -700
