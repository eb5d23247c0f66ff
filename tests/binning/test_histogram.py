"""Representatives: what is averaged inside a bin, and what a bin without points answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from infocal.arrays import Floats
from infocal.binning.histogram import Histogram, Sums, fit_histogram, sums_of, sums_of_sorted
from infocal.numerics import bin_of, sigmoid
from infocal.problems import Binary
from sources import questions

EDGES = np.array([-2.0, 0.0, 0.5])


def sums(problem: Binary) -> Sums:
    return sums_of(EDGES, problem.logodds, problem.weights, problem.hits)


@given(questions)
def test_representatives_are_the_means_of_their_bins(problem: Binary) -> None:
    histogram, bins = fit_histogram(EDGES, sums(problem)), bin_of(problem.logodds, EDGES)
    for m in np.unique(bins):
        of = bins == m
        assert_allclose(histogram.representatives[m], np.average(problem.hits[of], weights=problem.weights[of]))
        assert_allclose(histogram.weights[m], problem.weights[of].sum())
    assert_array_equal(histogram(problem.logodds), histogram.representatives[bins])


@given(questions)
def test_sums_of_parts_add_up(problem: Binary) -> None:
    half = len(problem.logodds) // 2
    parts = [
        sums_of(EDGES, problem.logodds[s], problem.weights[s], problem.hits[s]) for s in (np.s_[:half], np.s_[half:])
    ]
    whole, added = sums(problem), parts[0] + parts[1]
    for name in ("weights", "values", "own"):
        assert_allclose(getattr(added, name), getattr(whole, name), atol=1e-12)


@given(questions, st.lists(st.floats(-40, 40), min_size=1, max_size=9).map(np.sort))
def test_sums_of_sorted_points_are_those_of_points(problem: Binary, edges: Floats) -> None:
    given = (edges, problem.logodds, problem.weights, problem.hits)
    for name in ("weights", "values", "own"):
        assert_allclose(getattr(sums_of_sorted(*given), name), getattr(sums_of(*given), name), rtol=1e-12)


@given(questions, st.floats(0, 100))
def test_prior_count_draws_towards_the_classifier(problem: Binary, count: float) -> None:
    total = sums(problem)
    full = total.weights > 0
    plain, drawn = fit_histogram(EDGES, total), fit_histogram(EDGES, total, prior_count=count)
    own = total.own[full] / total.weights[full]
    expected = (total.values[full] + count * own) / (total.weights[full] + count)
    assert_allclose(drawn.representatives[full], expected, atol=1e-12)
    assert_allclose(drawn.representatives[~full], plain.representatives[~full])


@given(questions)
def test_monotone_never_decreases_and_keeps_the_mean(problem: Binary) -> None:
    total = sums(problem)
    histogram = fit_histogram(EDGES, total, monotone=True)
    assert (np.diff(histogram.representatives) >= 0).all()
    assert_allclose(total.weights @ histogram.representatives, total.values.sum(), atol=1e-9)


def test_an_empty_bin_answers_with_its_middle() -> None:
    nothing = Sums(*np.zeros((3, 4)))
    assert_allclose(fit_histogram(EDGES, nothing).representatives, sigmoid([-3.0, -1.0, 0.25, 1.5]))


def test_a_frequency_of_one_stays_one() -> None:
    certain = Sums(np.full(4, 5.0), np.full(4, 5.0), np.full(4, 4.9))
    assert_array_equal(fit_histogram(EDGES, certain).representatives, np.ones(4))


@pytest.mark.parametrize(
    ("edges", "representatives", "message"),
    [
        ([1.0, 0.0], [0.1, 0.2, 0.3], "never decrease"),
        ([0.0, np.nan], [0.1, 0.2, 0.3], "finite"),
        ([0.0], [0.1, 0.2, 0.3], "one representative and one weight more than edges"),
        ([0.0, 1.0], [0.1, 0.2, 1.3], "probabilities from 0 to 1"),
    ],
)
def test_impossible_histograms_are_refused(edges: list[float], representatives: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Histogram(edges, representatives, np.ones(3))  # type: ignore[arg-type]
