"""The exact band of a binned calibrator covers all its bins at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binomtest

from infocal.metrics import band, ece

ANSWERS = np.array([0.05, 0.3, 0.5, 0.9])


def binned(rates: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two classes; class 1 is answered with one of few values and comes true at that bin's rate."""
    bins = rng.integers(0, len(ANSWERS), n)
    return np.stack((1 - ANSWERS[bins], ANSWERS[bins]), axis=1), (rng.random(n) < rates[bins]).astype(int)


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("rates", [(0.02, 0.3, 0.6, 0.99), (0.05, 0.3, 0.5, 0.9), (0.0, 0.5, 0.5, 1.0)])
def test_covers_all_bins_of_both_classes_and_the_true_error(rates: tuple, level: float) -> None:
    rng, covered, bounded = np.random.default_rng(0), 0, 0
    truth = np.concatenate((1 - np.array(rates)[::-1], rates))
    for _ in range(400):
        found = band(*binned(np.array(rates), 300, rng), kind="classwise", level=level)
        assert np.all((found.low <= found.frequency) & (found.frequency <= found.high))
        inside = np.all((found.low <= truth) & (truth <= found.high))
        covered += inside
        share = found.weights / 300
        true_error = share @ np.abs(found.answers - truth) / 2
        bounded += true_error <= found.upper
        assert not inside or true_error <= found.upper + 1e-12
    assert covered >= level * 400
    assert bounded >= level * 400


def test_bounds_are_those_of_clopper_and_pearson() -> None:
    probs, labels = binned(np.array([0.0, 0.3, 0.6, 1.0]), 200, np.random.default_rng(1))
    found = band(probs, labels, kind="classwise", level=0.9)
    each = (1 - 0.1 / 2) ** (1 / 4)  # four bins of one class; half of the 10 % for either class
    for i in range(8):
        hits, trials = round(found.frequency[i] * found.weights[i]), round(found.weights[i])
        exact = binomtest(hits, trials).proportion_ci(each, "exact")
        assert_allclose((found.low[i], found.high[i]), exact, atol=1e-9)


def test_upper_bound_closes_in_on_the_error() -> None:
    rates = np.array([0.1, 0.3, 0.4, 0.9])
    few, many = (band(*binned(rates, n, np.random.default_rng(2))) for n in (200, 20_000))
    assert few.error <= few.upper
    assert many.error <= many.upper < many.error + 0.05 < few.upper
    assert many.error == ece(*binned(rates, 20_000, np.random.default_rng(2)), scheme="own")


def test_level_is_a_fraction() -> None:
    with pytest.raises(ValueError, match="level: expected a fraction"):
        band([[0.5, 0.5]], [0], level=95)
