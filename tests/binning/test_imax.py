"""I-Max keeps the most information that any bins can, and the alternating solver climbs towards it."""

import time
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from infocal import kernels
from infocal.arrays import Floats
from infocal.binning.edges import eq_mass_edges, eq_size_edges, kmeans_edges
from infocal.binning.histogram import sums_of_sorted
from infocal.binning.imax import (
    Binnings,
    alternate,
    fit_imax,
    fit_imax_stack,
    kept,
    masses,
    measured,
    start,
)
from infocal.binning.posterior import POSTERIORS, fit_posterior
from infocal.numerics import bin_of, bounded, sigmoid
from infocal.problems import Binary, binary, compress, from_stacks, split
from sources import questions, random_question, random_samples

BINS = st.integers(2, 6)


def information(problem: Binary, edges: Floats) -> float:
    """I(y; bin) under the sigmoid, bin by bin."""
    p, q = problem.weights * sigmoid(problem.logodds), problem.weights * sigmoid(-problem.logodds)
    bins = bin_of(problem.logodds, edges)
    left = sum(oracles.information_cost(p[bins == m], q[bins == m]) for m in range(len(edges) + 1))
    return (oracles.information_cost(p, q) - left) / problem.weights.sum()


class TestExact:
    @given(st.integers(0, 100_000), st.integers(1, 12), BINS)
    def test_is_the_best_of_all_partitions(self, seed: int, n: int, n_bins: int) -> None:
        problem = random_question(seed, n)
        p, q = problem.weights * sigmoid(problem.logodds), problem.weights * sigmoid(-problem.logodds)
        n = len(p)
        costs = {(i, j): oracles.information_cost(p[i:j], q[i:j]) for i in range(n + 1) for j in range(i, n + 1)}
        best = (oracles.information_cost(p, q) - oracles.best_partition(costs, n, n_bins)) / problem.weights.sum()
        binning = fit_imax(problem, n_bins)
        assert_allclose(binning.information, best, rtol=1e-9, atol=1e-12)
        assert_allclose(information(problem, binning.edges), best, rtol=1e-9, atol=1e-12)

    @given(questions, BINS)
    def test_keeps_no_less_than_any_other_binning(self, problem: Binary, n_bins: int) -> None:
        best = fit_imax(problem, n_bins).information
        others = (eq_size_edges(n_bins), eq_mass_edges(problem, n_bins), kmeans_edges(problem, n_bins))
        for edges in others:
            assert measured(problem, edges).information <= best + 1e-12
        assert fit_imax(problem, n_bins, solver="alternating").information <= best + 1e-12

    @given(questions, BINS)
    def test_more_bins_keep_more_and_none_exceeds_the_limit(self, problem: Binary, n_bins: int) -> None:
        few, more = (fit_imax(problem, m) for m in (n_bins, n_bins + 1))
        assert few.information <= more.information + 1e-12
        assert more.information <= more.information_limit + 1e-12

    @given(questions, BINS)
    def test_as_many_bins_as_points_keep_everything(self, problem: Binary, n_bins: int) -> None:
        binning = fit_imax(problem, len(problem.logodds) + n_bins)
        assert_allclose(binning.information, binning.information_limit, rtol=1e-9, atol=1e-12)

    @given(st.integers(0, 10_000), BINS)
    def test_turning_the_question_round_turns_the_edges_round(self, seed: int, n_bins: int) -> None:
        problem = random_question(seed)
        turned = binary(-problem.logodds, 1 - problem.hits, problem.weights)
        assert_allclose(fit_imax(turned, n_bins).information, fit_imax(problem, n_bins).information, rtol=1e-10)

    @given(questions, BINS)
    def test_weighting_all_alike_changes_nothing(self, problem: Binary, n_bins: int) -> None:
        heavier = binary(problem.logodds, problem.hits, 8 * problem.weights)
        assert_allclose(fit_imax(heavier, n_bins).information, fit_imax(problem, n_bins).information, rtol=1e-10)

    def test_is_deterministic(self) -> None:
        problem = random_question(3, 5000, digits=9)
        assert_array_equal(fit_imax(problem, 15).edges, fit_imax(problem, 15).edges)

    @pytest.mark.parametrize("seed", range(5))
    def test_many_points_leave_no_gap(self, seed: int) -> None:
        # a class of a thousand: nearly all points are certain misses, and those that are not stand far apart
        rng = np.random.default_rng(seed)
        x = np.append(2 * rng.normal(size=10_000) - 9, 3 * rng.normal(size=12) + 1)
        problem = binary(x, np.zeros(len(x)))
        sums = masses(problem, fit_posterior(problem, "sigmoid"))
        best = kernels.solve_edges("information", sums.hits, sums.misses, 15)[0]
        binning = fit_imax(problem, 15)
        assert_allclose(binning.information, kept(sums, best)[0], rtol=1e-12)
        assert binning.information_gap == 0

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("held", [1, 30_000, 1 << 23])
    def test_all_questions_at_once(self, held: int, weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("infocal.problems.HELD", held)
        logits, labels = random_samples(0, 3000, 70)
        logits[5, :3] = -np.inf
        labels[5] = 7
        groups = np.arange(70) // 2
        weights = np.random.default_rng(0).integers(0, 3, 3000).astype(float) if weighted else None
        found = Binnings.joined(from_stacks(partial(fit_imax_stack, n_bins=9), logits, labels, groups, weights))
        for g, problem in enumerate(split(logits, labels, groups, weights)):
            alone = fit_imax(problem, 9)
            assert_array_equal(found.edges[g], alone.edges)
            for name in ("information", "information_limit"):
                assert_allclose(getattr(found, name)[g], getattr(alone, name), rtol=1e-12)
            sums = sums_of_sorted(alone.edges, problem.logodds, problem.weights, problem.hits)
            for name in ("weights", "values", "own"):
                assert_allclose(getattr(found.sums, name)[g], getattr(sums, name), rtol=1e-10, atol=1e-14)

    def test_all_questions_are_answered_alike_by_any_number_of_threads(self) -> None:
        logits, labels = random_samples(2, 700, 200)
        found = []
        for count in (1, 2, 7):
            with kernels.threads(count):
                made = from_stacks(partial(fit_imax_stack, n_bins=5), logits, labels, np.arange(200))
                found.append(Binnings.joined(made))
        for other in found[1:]:
            assert_array_equal(other.edges, found[0].edges)
            assert_array_equal(other.sums.values, found[0].sums.values)

    @pytest.mark.parametrize("n", [1, 2, 500])
    @pytest.mark.parametrize("scale", [1.0, 200.0, 1e4])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_totals_are_of_the_bins_that_answer(self, weighted: bool, scale: float, n: int) -> None:
        logits, labels = random_samples(1, 500, 12, scale)
        logits, labels = logits[:n], labels[:n]
        logits[0, 3:6] = -np.inf
        weights = np.random.default_rng(0).choice([1e-9, 1.0, 1e6], n) if weighted else np.ones(n)
        found = Binnings.joined(
            from_stacks(partial(fit_imax_stack, n_bins=7), logits, labels, np.arange(12), weights if weighted else None)
        )
        for k, x in enumerate(kernels.logodds(logits).T):
            bins = bin_of(x, found.edges[k])
            for mass, total in ((weights, found.sums.weights), (weights * (labels == k), found.sums.values)):
                assert_allclose(np.bincount(bins, mass, minlength=7), total[k], rtol=1e-12)
            own = np.bincount(bins, weights * sigmoid(bounded(x)), minlength=7)
            assert_allclose(own, found.sums.own[k], rtol=1e-10, atol=1e-14)

    def test_rare_hits_far_out_keep_their_mass(self) -> None:
        # one running sum over both labels would lose the 6.5e-18 of misses among a million
        x = np.append(np.linspace(-10.0, -9.0, 1_000_000), np.linspace(45.0, 46.0, 50))
        problem = binary(x, (x > 0) * 1.0)
        sums = masses(problem, fit_posterior(problem, "sigmoid"))
        misses = sums.of_bins(np.array([1_000_000]))[1][-1]
        assert_allclose(misses, np.exp(-x[-50:]).sum(), rtol=1e-12)
        assert 0 < misses < 1e-17
        assert 0 < fit_imax(problem, 2).edges[0] < 45


class TestAlternating:
    @given(questions, BINS)
    def test_never_falls(self, problem: Binary, n_bins: int) -> None:
        model = fit_posterior(problem, "sigmoid")
        sums = masses(problem, model)
        trace = alternate(model, sums, start(problem, model, n_bins, np.random.default_rng(0)))
        # as the distortion that it descends on: the mean divergence of points from their bin's representative
        cuts = [np.searchsorted(model.logodds, edges, side="left") for edges in trace.edges]
        values = [kept(sums, c)[0] for c in cuts]
        assert (np.diff(values) >= -1e-12).all()

    @given(questions, BINS)
    def test_start_is_points_of_the_question(self, problem: Binary, n_bins: int) -> None:
        model = fit_posterior(problem, "sigmoid")
        phi = start(problem, model, n_bins, np.random.default_rng(1))
        assert phi.shape == (n_bins,)
        assert np.isin(phi, model.logodds).all()
        assert (np.diff(phi) >= 0).all()

    def test_edges_are_precise_far_out(self) -> None:
        # without log1p both sides of eq. 5 round to the same number beyond 36
        problem = binary(np.array([38.0, 38.1, 44.0, 44.1]), np.ones(4))
        model = fit_posterior(problem, "sigmoid")
        trace = alternate(model, masses(problem, model), np.array([38.0, 44.0]))
        assert 38.1 < trace.edges[-1][0] < 44.0

    def test_empty_bins_keep_their_centre(self) -> None:
        problem = binary(np.array([-1.0, 1.0]), np.array([0.0, 1.0]))
        model = fit_posterior(problem, "sigmoid")
        trace = alternate(model, masses(problem, model), np.array([-1.0, 1.0, 30.0]))
        assert trace.phi[-1][2] == 30.0
        assert np.isfinite(trace.edges).all()

    def test_seed_decides(self) -> None:
        problem = random_question(5, 500, digits=9)
        fits = [fit_imax(problem, 8, solver="alternating", rng=np.random.default_rng(seed)).edges for seed in (0, 0, 1)]
        assert_array_equal(fits[0], fits[1])
        assert not np.array_equal(fits[0], fits[2])


@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize("solver", ["exact", "alternating"])
class TestPosteriors:
    @pytest.mark.parametrize("width", [0, 1])
    def test_edges_serve_the_question(self, posterior: str, solver: str, width: int) -> None:
        problem = random_question(0, 2000, digits=6)
        binning = fit_imax(compress(problem) if width else problem, 8, solver=solver, posterior=posterior)
        assert (np.diff(binning.edges) > 0).all()
        assert len(np.unique(bin_of(problem.logodds, binning.edges))) == 8
        assert 0.9 * binning.information_limit < binning.information <= binning.information_limit

    @pytest.mark.parametrize("hits", [0.0, 1.0])
    @pytest.mark.parametrize("x", [[0.0], [-np.inf, 0.0, np.inf], [1.0, 2.0]])
    def test_hits_of_one_kind(self, posterior: str, solver: str, x: list[float], hits: float) -> None:
        binning = fit_imax(binary(np.array(x), np.full(len(x), hits)), 4, solver=solver, posterior=posterior)
        assert np.isfinite(binning.edges).all()
        assert np.isfinite(binning.information)


def test_affine_posterior_is_the_truth_of_an_overconfident_source() -> None:
    rng = np.random.default_rng(0)
    x = 4 * rng.normal(size=100_000)
    problem = binary(x, (rng.random(len(x)) < sigmoid(0.5 * x + 1)) * 1.0)
    model = fit_posterior(problem, "affine")
    assert_allclose([model.slope, model.shift], [0.5, 1.0], atol=0.03)
    for name in ("kde", "isotonic"):
        found = sigmoid(fit_posterior(problem, name).logodds)
        assert np.average(np.abs(found - sigmoid(0.5 * problem.logodds + 1)), weights=problem.weights) < 0.02


def test_a_line_that_falls_is_not_trusted() -> None:
    x = np.linspace(-3, 3, 50)
    assert fit_posterior(binary(x, (x + np.sin(7 * x) < 0) * 1.0), "affine").slope == 1.0


def test_a_million_points_in_a_fraction_of_the_alternating_time() -> None:
    rng = np.random.default_rng(0)
    x = 4 * rng.normal(size=1_000_000) - 6
    hits = (rng.random(len(x)) < sigmoid(x)) * 1.0
    began = time.perf_counter()
    exact = fit_imax(compress(binary(x, hits)), 15)
    middle = time.perf_counter()
    slow = fit_imax(binary(x, hits), 15, solver="alternating")
    assert exact.information_gap < 1e-6 * exact.information
    assert exact.information >= slow.information - exact.information_gap
    assert (middle - began) * 4 < time.perf_counter() - middle
