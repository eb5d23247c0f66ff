"""Edges of the binnings that I-Max is compared with."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from infocal.binning.edges import edges_at, eq_mass_edges, eq_size_edges, kmeans_edges
from infocal.numerics import bin_of, sigmoid
from infocal.problems import Binary, binary, compress
from sources import questions


@pytest.mark.parametrize("n_bins", [2, 7, 15])
def test_equal_size_bins_are_equally_wide_in_probability(n_bins: int) -> None:
    edges = sigmoid(eq_size_edges(n_bins))
    assert len(edges) == n_bins - 1
    assert_allclose(np.diff(edges), 1 / n_bins, rtol=1e-12)


@given(questions, st.integers(2, 20))
def test_edges_are_finite_sorted_and_as_many_as_asked(problem: Binary, n_bins: int) -> None:
    for question in (problem, compress(problem)):
        for edges in (eq_mass_edges(question, n_bins), kmeans_edges(question, n_bins)):
            assert edges.shape == (n_bins - 1,)
            assert np.isfinite(edges).all()
            assert (np.diff(edges) >= 0).all()


@pytest.mark.parametrize("n", [15, 100, 1000])
def test_equal_mass_bins_hold_equal_mass(n: int) -> None:
    x = np.random.default_rng(n).normal(size=n)  # in any order: trap of bins cut before sorting
    counts = np.bincount(bin_of(x, eq_mass_edges(binary(x, np.zeros(n)), 15)), minlength=15)
    assert len(counts) == 15
    assert np.abs(counts - n / 15).max() < 2


def test_equal_mass_edges_are_the_lower_quantiles() -> None:
    x = np.random.default_rng(0).normal(size=1234).round(2)
    expected = np.percentile(x, 100 * np.linspace(1 / 15, 14 / 15, 14), method="lower")
    assert_array_equal(eq_mass_edges(binary(x, np.zeros(len(x))), 15), expected)


def test_equal_mass_of_cells_is_that_of_points_to_a_cell() -> None:
    x = np.random.default_rng(0).normal(size=5000)
    problem = binary(x, np.zeros(len(x)))
    assert_allclose(eq_mass_edges(compress(problem), 10), eq_mass_edges(problem, 10), atol=1 / 128)


@given(st.integers(0, 10_000), st.integers(1, 10), st.integers(2, 5))
def test_kmeans_is_the_best_of_all_partitions(seed: int, n: int, n_bins: int) -> None:
    rng = np.random.default_rng(seed)
    problem = binary(rng.normal(size=n).round(1), np.zeros(n), rng.integers(1, 4, size=n) * 1.0)
    x, w = problem.logodds, problem.weights
    costs = {(i, j): oracles.squares_cost(x[i:j], w[i:j]) for i in range(len(x) + 1) for j in range(i, len(x) + 1)}
    bins = bin_of(x, kmeans_edges(problem, n_bins))
    cost = sum(oracles.squares_cost(x[bins == m], w[bins == m]) for m in range(n_bins))
    assert_allclose(cost, oracles.best_partition(costs, len(x), n_bins), rtol=1e-9, atol=1e-12)


@given(questions, st.data())
def test_edges_at_start_a_bin_at_each_point(problem: Binary, data: st.DataObject) -> None:
    n = len(problem.logodds)
    cuts = np.sort(data.draw(st.lists(st.integers(1, max(n - 1, 1)), min_size=1, max_size=5)))
    edges = edges_at(problem, cuts)
    if n > 1:
        assert_array_equal(np.searchsorted(problem.logodds, edges, side="left"), cuts)
