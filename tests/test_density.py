"""A kernel density is a density, wherever its points are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from infocal.density import bandwidth, kde


def slow(x: np.ndarray, weights: np.ndarray, at: np.ndarray, half: float) -> np.ndarray:
    """The definition, point by point."""
    u = (at[:, None] - x) / half
    return (35 / 32 * np.where(np.abs(u) < 1, (1 - u**2) ** 3, 0.0) / half) @ weights / weights.sum()


@pytest.mark.parametrize("half", [0.3, 2.0])
def test_equals_the_definition(half: float) -> None:
    rng = np.random.default_rng(0)
    x, weights, at = rng.normal(size=200), rng.random(200), np.linspace(-4, 4, 101)
    assert_allclose(kde(x, weights, at, half), slow(x, weights, at, half), atol=3e-3 / half)


def test_mass_is_one() -> None:
    x = np.random.default_rng(0).standard_t(2, size=500)
    at = np.linspace(x.min() - 5, x.max() + 5, 100_001)
    assert_allclose(np.trapezoid(kde(x, np.ones(500), at), at), 1.0, rtol=1e-3)


def test_weighting_equals_repeating() -> None:
    rng = np.random.default_rng(1)
    x, times = rng.normal(size=100), rng.integers(1, 4, size=100)
    repeated = np.repeat(x, times)
    assert_allclose(bandwidth(x, times.astype(float)), bandwidth(repeated, np.ones(len(repeated))), rtol=1e-12)
    assert_allclose(kde(x, times.astype(float), x), kde(repeated, np.ones(len(repeated)), x), rtol=1e-9)


def test_order_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    x, weights = rng.normal(size=50), rng.random(50)
    order = rng.permutation(50)
    assert_allclose(kde(x[order], weights[order], x), kde(x, weights, x), rtol=1e-9)


def test_error_falls_with_the_sample() -> None:
    at = np.linspace(-2, 2, 41)
    truth = np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi)
    rng = np.random.default_rng(3)
    errors = [np.abs(kde(x, np.ones(len(x)), at) - truth).max() for x in (rng.normal(size=n) for n in (10**2, 10**5))]
    assert errors[1] < 0.01 < errors[0]


def test_equal_points_and_distant_ones() -> None:
    assert bandwidth(np.full(3, -6.6), np.array([3.0, 0.7, 0.1])) == pytest.approx(0.9 * 3.8**-0.2)
    assert kde(np.zeros(5), np.ones(5), np.zeros(1))[0] > 0
    far = np.array([0.0, 1e6])
    assert np.isfinite(kde(far, np.ones(2), far, 0.1)).all()
