"""The native loops equal their slow twins, on every instruction set, for any layout of the caller's array."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from infocal import kernels
from infocal.arrays import Array, Floats, Ints
from infocal.kernels import _native
from infocal.numerics import entropy, log_sigmoid, sigmoid
from infocal.problems import Binary, binary

INSTRUCTION_SETS = _native.instruction_sets()


@pytest.fixture(params=INSTRUCTION_SETS)
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    before = _native.instruction_set()
    _native.use_instruction_set(request.param)
    yield request.param
    _native.use_instruction_set(before)


def random_logits(seed: int, n: int = 7, n_classes: int = 5, scale: float = 5.0) -> Floats:
    rng = np.random.default_rng(seed)
    logits = scale * rng.normal(size=(n, n_classes))
    logits[rng.random(logits.shape) < 0.1] = -np.inf
    logits[np.isneginf(logits).all(axis=1)] = 0.0
    return logits


def lookup(edges: Floats, values: Floats) -> tuple[Floats, Floats, Floats]:
    return edges, log_sigmoid(edges), values


TOLD = 1e-5  # how exactly single precision tells log-odds up to 32
SHAPES = [(1, 2), (3, 3), (5, 63), (4, 64), (4, 65), (2, 1000)]


@pytest.mark.usefixtures("instruction_set")
class TestLogodds:
    @pytest.mark.parametrize(("n", "K"), SHAPES)
    @pytest.mark.parametrize("scale", [0.1, 5.0, 200.0, 1e4])
    def test_equals_the_definition(self, n: int, K: int, scale: float) -> None:
        logits = random_logits(K, n, K, scale)
        assert_allclose(kernels.logodds(logits), oracles.logodds(logits), rtol=1e-13, atol=1e-13)

    def test_wide_rows(self) -> None:
        logits = random_logits(0, 1, 10_000, 3.0)
        expected = logits[0, :50] - np.array([oracles.logsumexp(np.delete(logits[0], k).tolist()) for k in range(50)])
        assert_allclose(kernels.logodds(logits)[0, :50], expected, rtol=1e-12)

    def test_single_precision_equals_double(self) -> None:
        logits = random_logits(1, 20, 30).astype(np.float32)
        assert_array_equal(kernels.logodds(logits), kernels.logodds(logits.astype(np.float64)))

    @pytest.mark.parametrize("K", [2, 5, 65, 1000])
    def test_single_columns_equal_those_of_all(self, K: int) -> None:
        logits = random_logits(K, 50, K)
        wanted = np.random.default_rng(0).permutation(K)[:70]
        found = kernels.columns(logits, kernels.row_facts(logits), wanted)
        assert_array_equal(found, kernels.logodds(logits)[:, wanted].T)

    def test_no_cancellation_at_the_top(self) -> None:
        assert_allclose(kernels.logodds(np.array([[60.0, 0.0, 1.0]]))[0, 0], 60 - np.log(1 + np.e), rtol=1e-15)
        assert_allclose(kernels.logodds(np.array([[1e4, 0.0]]))[0], [1e4, -1e4], rtol=1e-15)

    def test_masked_classes(self) -> None:
        assert_array_equal(kernels.logodds(np.array([[-np.inf, 0.0, 0.0]])), [[-np.inf, 0.0, 0.0]])
        assert_array_equal(kernels.logodds(np.array([[-np.inf, 3.0]])), [[-np.inf, np.inf]])


@pytest.mark.usefixtures("instruction_set")
class TestApply:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize(("n", "K"), SHAPES)
    @pytest.mark.parametrize("n_groups", [1, 2])
    def test_equals_the_definition(self, n: int, K: int, n_groups: int, dtype: type) -> None:
        rng = np.random.default_rng(K)
        logits = random_logits(K, n, K).astype(dtype)
        edges, values = np.sort(6 * rng.normal(size=(n_groups, 9))), rng.random((n_groups, 10))
        groups = rng.integers(n_groups, size=K)
        expected = oracles.apply(logits, list(edges), list(values), groups).astype(dtype)
        assert_array_equal(kernels.apply(logits, *lookup(edges, values), groups), expected)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_points_on_an_edge_are_in_the_bin_above(self, dtype: type) -> None:
        logits = random_logits(3, 40, 6).astype(dtype)
        logodds = kernels.logodds(logits)
        edges = np.unique(logodds[np.isfinite(logodds)])[::5].copy()[None]
        values = np.linspace(0, 1, edges.shape[1] + 1)[None]
        expected = values[0][np.searchsorted(edges[0], logodds, side="right")].astype(dtype)
        assert_array_equal(kernels.apply(logits, *lookup(edges, values), np.zeros(6, dtype=np.int64)), expected)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("n_edges", [1, 7, 15, 16, 39])
    def test_points_on_edges_of_their_own(self, n_edges: int, dtype: type) -> None:
        logits = random_logits(3, 40, 70).astype(dtype)
        logodds = kernels.logodds(logits)
        edges = np.sort(np.where(np.isfinite(logodds), logodds, 0.0)[:n_edges], axis=0).T.copy()
        values = np.random.default_rng(0).random((70, n_edges + 1))
        expected = [v[np.searchsorted(e, x, side="right")] for e, v, x in zip(edges, values, logodds.T, strict=True)]
        got = kernels.apply(logits, *lookup(edges, values), np.arange(70))
        assert_array_equal(got, np.transpose(expected).astype(dtype))

    def test_extreme_logits(self) -> None:
        logits = np.array([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4], [800.0, 799.0, -np.inf]])
        edges, values = np.array([[-20.0, 0.0, 20.0]]), np.array([[0.1, 0.2, 0.3, 0.4]])
        expected = oracles.apply(logits, [edges[0]], [values[0]], np.zeros(3, dtype=np.int64))
        assert_array_equal(kernels.apply(logits, *lookup(edges, values), np.zeros(3, dtype=np.int64)), expected)


@pytest.mark.usefixtures("instruction_set")
class TestSummarise:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_equals_the_definition(self, weighted: bool) -> None:
        rng = np.random.default_rng(0)
        logits, labels = random_logits(5, 30, 7), rng.integers(7, size=30)
        weights, groups = rng.random(30) if weighted else None, rng.integers(3, size=7)
        got = kernels.summarise(logits, labels, weights, groups, 8.0, 4.0)
        expected = oracles.summarise(logits, labels, np.ones(30) if weights is None else weights, groups, 8.0, 4.0)
        for mine, slow in zip(got, expected, strict=True):
            assert_allclose(mine, slow, rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize(("n", "K"), [(400, 2), (400, 3), (60, 64), (60, 65), (2, 500)])
    @pytest.mark.parametrize("scale", [0.1, 4.0, 100.0])
    def test_single_precision_is_within_rounding(self, n: int, K: int, scale: float, weighted: bool) -> None:
        rng = np.random.default_rng(K)
        logits, labels = random_logits(K, n, K, scale).astype(np.float32), rng.integers(K, size=n)
        weights, groups = rng.random(n) if weighted else None, np.arange(K) % 2
        got = kernels.summarise(logits, labels, weights, groups, 32.0, 256.0)
        slow = [oracles.reached(logits, labels, weights, groups, shift) for shift in (-TOLD, TOLD)]
        mass = n * K * 1e-12
        for mine, least, most in zip(np.cumsum(got, axis=2), *slow, strict=True):
            assert (least * (1 - TOLD) - mass <= mine).all()
            assert (mine <= most * (1 + TOLD) + mass).all()

    def test_groups_that_are_many(self) -> None:
        rng = np.random.default_rng(0)
        logits, labels = random_logits(1, 50, 20).astype(np.float32), rng.integers(20, size=50)
        each = kernels.summarise(logits, labels, None, np.arange(20), 32.0, 16.0)
        together = kernels.summarise(logits, labels, None, np.zeros(20, dtype=np.int64), 32.0, 16.0)
        for mine, whole in zip(each, together, strict=True):
            assert_allclose(mine.sum(axis=0), whole[0], rtol=1e-13, atol=1e-15)


class TestRank:
    @given(seed=st.integers(0, 1000), k=st.integers(1, 6))
    def test_equals_the_definition(self, seed: int, k: int) -> None:
        rng = np.random.default_rng(seed)
        probs, ties = rng.integers(3, size=(2, 4, 6)) / 2
        assert kernels.rank(probs, ties, k).tolist() == oracles.rank(probs, ties, k)

    @pytest.mark.parametrize("k", [1, 5, 16, 17, 70])
    @pytest.mark.parametrize("values", [2, 50])
    def test_wide_rows(self, values: int, k: int) -> None:
        rng = np.random.default_rng(k)
        probs, ties = rng.integers(values, size=(8, 70)) / values, rng.integers(9, size=(8, 70)) / 9
        assert kernels.rank(probs, ties, k).tolist() == oracles.rank(probs, ties, k)


class TestSolveEdges:
    """The programme finds the least cost that trying every partition finds, ties and weights included."""

    @given(seed=st.integers(0, 100_000), n=st.integers(1, 12), n_bins=st.integers(2, 6))
    def test_information(self, seed: int, n: int, n_bins: int) -> None:
        rng = np.random.default_rng(seed)
        eta = np.sort(np.round(rng.random(n), rng.integers(1, 4)))
        weights = rng.integers(1, 4, size=n) * rng.choice([1.0, 0.37])
        hits, misses = weights * eta, weights * (1 - eta)
        low, high = np.append(0.0, np.cumsum(hits)), np.append(np.cumsum(misses[::-1])[::-1], 0.0)
        costs = {
            (i, j): oracles.information_cost(hits[i:j], misses[i:j]) for i in range(n + 1) for j in range(i, n + 1)
        }
        _, total = kernels.solve_edges("information", low, high, n_bins)
        assert_allclose(total, oracles.best_partition(costs, n, n_bins), rtol=1e-10, atol=1e-13)

    @given(seed=st.integers(0, 100_000), n=st.integers(1, 12), n_bins=st.integers(2, 6))
    def test_squares(self, seed: int, n: int, n_bins: int) -> None:
        rng = np.random.default_rng(seed)
        x, weights = np.sort(rng.normal(size=n).round(1)), rng.integers(1, 4, size=n).astype(float)
        moment, mass = np.append(0.0, np.cumsum(weights * x)), np.append(np.cumsum(weights[::-1])[::-1], 0.0)
        costs = {(i, j): oracles.squares_cost(x[i:j], weights[i:j]) for i in range(n + 1) for j in range(i, n + 1)}
        _, total = kernels.solve_edges("squares", moment, mass, n_bins)
        least = oracles.best_partition(costs, n, n_bins)
        assert_allclose(total + (weights * x**2).sum(), least, rtol=1e-9, atol=1e-9)

    @given(seed=st.integers(0, 100_000), n=st.integers(1, 50))
    def test_running_sums(self, seed: int, n: int) -> None:
        low, high = np.random.default_rng(seed).normal(size=(2, n))
        before, after = kernels.running(low, high)
        assert_array_equal(before, np.append(0.0, np.cumsum(low)))
        assert_array_equal(after, np.append(np.cumsum(high[::-1])[::-1], 0.0))

    def test_cuts_cost_what_is_reported(self) -> None:
        rng = np.random.default_rng(0)
        hits, misses = np.sort(rng.random(500)), np.sort(rng.random(500))[::-1]
        low, high = np.append(0.0, np.cumsum(hits)), np.append(np.cumsum(misses[::-1])[::-1], 0.0)
        cuts, total = kernels.solve_edges("information", low, high, 9)
        bins = zip(np.split(hits, cuts), np.split(misses, cuts), strict=True)
        assert_allclose(sum(oracles.information_cost(h, m) for h, m in bins), total, rtol=1e-12)

    def test_windows_hold_the_cuts(self) -> None:
        rng = np.random.default_rng(1)
        hits, misses = np.sort(rng.random(300)), np.sort(rng.random(300))[::-1]
        low, high = np.append(0.0, np.cumsum(hits)), np.append(np.cumsum(misses[::-1])[::-1], 0.0)
        cuts, least = kernels.solve_edges("information", low, high, 6)
        near = np.stack((cuts - 3, cuts + 5))
        assert_array_equal(kernels.solve_edges("information", low, high, 6, near)[0], cuts)
        away, more = kernels.solve_edges("information", low, high, 6, np.stack((cuts + 2, cuts + 9)))
        assert ((cuts + 2 <= away) & (away <= cuts + 9)).all()
        assert more > least

    def test_same_bits_on_every_instruction_set(self) -> None:
        rng = np.random.default_rng(2)
        hits, misses = np.sort(rng.random(700)) ** 3, np.sort(rng.random(700))[::-1]
        low, high = np.append(0.0, np.cumsum(hits)), np.append(np.cumsum(misses[::-1])[::-1], 0.0)
        before, found = _native.instruction_set(), []
        for instruction_set in INSTRUCTION_SETS:
            _native.use_instruction_set(instruction_set)
            for cost in ("information", "squares"):
                cuts, total = kernels.solve_edges(cost, low, high, 15)  # type: ignore[arg-type]
                found.append((cuts.tolist(), total))
        _native.use_instruction_set(before)
        assert all(result == found[i % 2] for i, result in enumerate(found))


def points_of(seed: int, n: int) -> Binary:
    """Few, many, equal or far-apart points, some of which count more than others."""
    rng = np.random.default_rng(seed)
    shapes = (
        4 * rng.normal(size=n) - 2,
        rng.standard_t(1.5, size=n) * 3,
        np.concatenate((rng.normal(-9, 2, n - n // 50), rng.normal(1, 3, n // 50))),
        np.repeat(rng.normal(-4, 0.01), n) + (rng.random(n) < 0.1) * rng.exponential(9, n),
    )
    x = shapes[seed % 4].round(rng.integers(1, 9))
    weights = (np.ones(n), 0.37 * rng.integers(1, 4, n), rng.choice([1e-9, 1.0, 2.5, 1e6], n))
    return binary(x, np.zeros(n), weights[seed % 3])


def cost_of(cuts: Ints, hits: Floats, misses: Floats) -> float:
    ends = np.concatenate(([0], cuts, [len(hits) - 1]))
    return float(entropy(np.diff(hits[ends]), -np.diff(misses[ends])).sum())


@pytest.mark.usefixtures("instruction_set")
class TestBestBins:
    """Blocks of the line leave nothing to be found by the programme over all points."""

    @pytest.mark.parametrize("seed", range(12))
    @pytest.mark.parametrize("n_bins", [2, 3, 15, 40])
    @pytest.mark.parametrize("n", [1, 30, 700, 3000])
    def test_cost_no_more_than_those_of_all_points(self, n: int, n_bins: int, seed: int) -> None:
        points = points_of(seed, n)
        told = kernels.expect(np.clip(points.logodds, -700, 700), points.weights)
        cuts = kernels.cut_points(points.logodds, points.weights, *told, n_bins)
        least = kernels.solve_edges("information", *told[:2], n_bins)[1]
        assert (np.diff(cuts) >= 0).all()
        assert_allclose(cost_of(cuts, *told[:2]), least, rtol=1e-12, atol=1e-13 * points.weights.sum())

    @pytest.mark.parametrize("seed", range(4))
    def test_what_points_expect(self, seed: int) -> None:
        points = points_of(seed, 500)
        p, q = points.weights * sigmoid(points.logodds), points.weights * sigmoid(-points.logodds)
        hits, misses, limit = kernels.expect(points.logodds, points.weights)
        assert_allclose(hits, np.append(0, np.cumsum(p)), rtol=1e-13)
        assert_allclose(misses, np.append(np.cumsum(q[::-1])[::-1], 0), rtol=1e-13)
        assert_allclose(limit, sum(oracles.information_cost(p[[i]], q[[i]]) for i in range(len(p))), rtol=1e-12)

    def test_certain_points(self) -> None:
        hits, misses, limit = kernels.expect(np.array([-700.0, 0.0, 700.0]), np.ones(3))
        assert_allclose(np.diff(hits), [np.exp(-700), 0.5, 1.0])
        assert_allclose(-np.diff(misses), [1.0, 0.5, np.exp(-700)])
        assert_allclose(limit, np.log(2))

    @pytest.mark.parametrize("weighted", [False, True])
    def test_questions_one_behind_the_other(self, weighted: bool) -> None:
        rng = np.random.default_rng(0)
        sizes = [1, 2, 800, 37]
        x = [np.sort((3 * rng.normal(size=n)).round(2)) for n in sizes]
        x[2][:2], x[2][-1] = -np.inf, np.inf
        w = [rng.integers(1, 4, n).astype(float) for n in sizes] if weighted else None
        told = [rng.choice(values, 9) for values in x]
        starts = np.cumsum([0, *sizes])
        points = kernels.Points(np.concatenate(x), None if w is None else np.concatenate(w), starts)
        own = rng.random(36) if weighted else None
        found = kernels.bin_questions(points, kernels.Points(np.concatenate(told), own, np.arange(5) * 9), 6)
        for g, values in enumerate(x):
            problem = binary(values, np.zeros(len(values)), None if w is None else w[g])
            sums = kernels.expect(np.clip(problem.logodds, -700, 700), problem.weights)
            left, right = found.sides[g]
            masses = found.masses[g]
            bins = (right <= problem.logodds[:, None]).sum(axis=1)
            assert_array_equal(np.bincount(bins, problem.weights, minlength=6), masses[2])
            assert_allclose(entropy(*masses[:2]).sum(), kernels.solve_edges("information", *sums[:2], 6)[1], rtol=1e-12)
            assert_allclose(masses[:2].sum(axis=1), [sums[0][-1], sums[1][0]])
            assert found.limits[g] == sums[2]
            hits = (right <= told[g][:, None]).sum(axis=1)
            mass = None if own is None else own[9 * g : 9 * g + 9]
            assert_allclose(np.bincount(hits, mass, minlength=6), masses[3])
            assert len(values) == 1 or (left < right).all()


def test_best_bins_have_the_same_bits_on_every_instruction_set() -> None:
    before, found = _native.instruction_set(), []
    for instruction_set in INSTRUCTION_SETS:
        _native.use_instruction_set(instruction_set)
        points = [points_of(seed, 2500).logodds for seed in range(4)]
        together = kernels.Points(np.concatenate(points), None, np.cumsum([0, *map(len, points)]))
        nothing = kernels.Points(np.empty(0), None, np.zeros(5, dtype=np.int64))
        found.append(np.concatenate([part.ravel() for part in kernels.bin_questions(together, nothing, 9)]))
    _native.use_instruction_set(before)
    for other in found[1:]:
        assert_array_equal(other, found[0])


def call(name: str, logits: Array) -> Array:
    rng = np.random.default_rng(0)
    K = logits.shape[1]
    groups = np.arange(K) % 2
    if name == "logodds":
        return kernels.logodds(logits)
    if name == "columns":
        return kernels.columns(logits, kernels.row_facts(logits), np.arange(K)[::-2].copy())
    if name == "apply":
        return kernels.apply(logits, *lookup(np.sort(3 * rng.normal(size=(2, 14))), rng.random((2, 15))), groups)
    labels = rng.integers(K, size=len(logits))
    return np.stack(kernels.summarise(logits, labels, rng.random(len(logits)), groups, 32.0, 16.0))


NAMES = ["logodds", "columns", "apply", "summarise"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
class TestSameBits:
    def test_for_any_number_of_threads(self, name: str, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
        logits = random_logits(2, 3001, 701).astype(dtype)
        monkeypatch.setenv("INFOCAL_NUM_THREADS", "1")
        expected = call(name, logits)
        for threads in ("2", "7"):
            monkeypatch.setenv("INFOCAL_NUM_THREADS", threads)
            assert_array_equal(call(name, logits), expected)

    def test_for_any_block_size(self, name: str, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
        logits = random_logits(2, 97, 101).astype(dtype)
        expected = call(name, logits)
        for size in (1, 10, 96):
            monkeypatch.setattr(kernels, "_block_size", lambda logits, size=size: size)
            assert_array_equal(call(name, logits), expected)

    def test_on_every_instruction_set(self, name: str, dtype: type) -> None:
        before, logits = _native.instruction_set(), random_logits(4, 50, 130).astype(dtype)
        expected = call(name, logits)
        for instruction_set in INSTRUCTION_SETS:
            _native.use_instruction_set(instruction_set)
            assert_array_equal(call(name, logits), expected)
        _native.use_instruction_set(before)

    def test_for_any_stride(self, name: str, dtype: type) -> None:
        wide = random_logits(6, 60, 90).astype(dtype)
        for view in (wide[::2], wide[:, ::3], wide[::-1, ::-1], wide.T, np.asfortranarray(wide)):
            assert_array_equal(call(name, view), call(name, np.ascontiguousarray(view)))


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "K"), [(1, 2), (3, 5), (37, 3), (9, 64), (41, 101), (17, 1000)])
class TestPastTheCaches:
    """Large results are written past the caches; here all are."""

    @pytest.mark.parametrize("n_groups", [1, 2])
    def test_apply(self, n: int, K: int, n_groups: int, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
        rng, logits = np.random.default_rng(0), random_logits(n, n, K).astype(dtype)
        binnings = lookup(np.sort(3 * rng.normal(size=(n_groups, 9))), rng.random((n_groups, 10)))
        expected = kernels.apply(logits, *binnings, np.arange(K) % n_groups)
        monkeypatch.setattr(kernels, "PAST_CACHES", 0)
        monkeypatch.setattr(kernels, "_block_size", lambda logits: 5)
        assert_array_equal(kernels.apply(logits, *binnings, np.arange(K) % n_groups), expected)

    def test_softmax(self, n: int, K: int, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
        logits = random_logits(n, n, K).astype(dtype)
        expected = kernels.softmax(logits, 0.7)
        monkeypatch.setattr(kernels, "PAST_CACHES", 0)
        monkeypatch.setattr(kernels, "_block_size", lambda logits: 5)
        assert_array_equal(kernels.softmax(logits, 0.7), expected)


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize(("n", "size"), [(1, 1000), (97, 1), (97, 1000), (97, 10**6), (700, 10**4)])
def test_side_by_side_meets_every_row_once(n: int, size: int, threads: int) -> None:
    met, inside = np.zeros(n, dtype=int), set[int]()

    def loop(rows: slice) -> None:
        met[rows] += 1
        inside.add(kernels.n_threads())

    with kernels.threads(threads):
        kernels.side_by_side(np.empty((n, 101)), size, loop)
    assert (met == 1).all()
    assert inside == {1}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 499, 999])
def test_bad_rows_are_named(name: str, value: float, row: int) -> None:
    logits = random_logits(0, 1000, 200)
    logits[row, 3 if value != -np.inf else slice(None)] = value
    logits[999, 5] = np.nan  # the first one is named, whichever thread meets it
    with pytest.raises(ValueError, match=f"row {row}[, ]"):
        call(name, logits)


def test_threads_are_chosen_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFOCAL_NUM_THREADS", "3")
    assert kernels.n_threads() == 3
    monkeypatch.setenv("INFOCAL_NUM_THREADS", "none")
    with pytest.raises(ValueError, match="INFOCAL_NUM_THREADS: expected a whole number"):
        kernels.n_threads()
    monkeypatch.delenv("INFOCAL_NUM_THREADS")
    assert kernels.n_threads() >= 1


def test_threads_are_chosen_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFOCAL_NUM_THREADS", "3")
    logits = random_logits(2, 301, 701)
    expected = kernels.logodds(logits)
    with kernels.threads(2):
        assert kernels.n_threads() == 2
        with kernels.threads(7):
            assert_array_equal(kernels.logodds(logits), expected)
        with ThreadPoolExecutor() as pool:  # another thread of the caller keeps its number
            assert pool.submit(kernels.n_threads).result() == 3
    assert kernels.n_threads() == 3
    with pytest.raises(ValueError, match="n: expected a whole number of at least 1, got 0"), kernels.threads(0):
        pass


def test_many_callers_share_the_cores() -> None:
    logits = random_logits(2, 301, 701).astype(np.float32)
    expected = kernels.softmax(logits)
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(lambda _: kernels.softmax(logits), range(64)))
    assert all(np.array_equal(result, expected) for result in results)
    assert sum(thread.name.startswith("infocal") for thread in threading.enumerate()) <= len(os.sched_getaffinity(0))


def test_large_results_are_their_owners_own() -> None:
    logits = np.random.default_rng(0).normal(size=(1200, 1000)).astype(np.float32)
    first = kernels.softmax(logits)
    kept, view = first.copy(), first[5:]
    del first  # the view holds on to the pages
    second = kernels.softmax(-logits)
    assert_array_equal(view, kept[5:])
    del view, second
    assert_array_equal(kernels.softmax(logits), kept)


@pytest.mark.parametrize("name", INSTRUCTION_SETS)
def test_instruction_set_of_the_environment(name: str) -> None:
    code = "from infocal.kernels import _native; print(_native.instruction_set())"
    call = [sys.executable, "-c", code]
    env = {**os.environ, "INFOCAL_ISA": name}
    assert subprocess.run(call, env=env, capture_output=True, text=True, check=True).stdout.strip() == name


def test_unknown_instruction_set() -> None:
    with pytest.raises(ValueError, match="not available on this machine"):
        _native.use_instruction_set("abacus")


@given(
    seed=st.integers(0, 10**6),
    n_bins=st.integers(2, 33),
    middle=st.floats(-20, 2),
    spread=st.floats(0.01, 10),
    dtype=st.sampled_from([np.float32, np.float64]),
    n_groups=st.sampled_from([1, 3, 70]),
    offset=st.sampled_from([0, 0, 300, -50_000]),
    instruction_set=st.sampled_from(INSTRUCTION_SETS),
)
def test_apply_finds_the_bins_that_the_logodds_are_in(
    seed: int, n_bins: int, middle: float, spread: float, dtype: type, n_groups: int, offset: int, instruction_set: str
) -> None:
    rng = np.random.default_rng(seed)
    logits = (offset + random_logits(seed, 40, 70, 4.0)).astype(dtype)
    edges, values = np.sort(middle + spread * rng.normal(size=(n_groups, n_bins - 1))), rng.random((n_groups, n_bins))
    groups = np.arange(70) % n_groups
    logodds = kernels.logodds(logits).T
    expected = [values[g][np.searchsorted(edges[g], x, side="right")] for g, x in zip(groups, logodds, strict=True)]
    before = _native.instruction_set()
    _native.use_instruction_set(instruction_set)
    got = kernels.apply(logits, *lookup(edges, values), groups)
    _native.use_instruction_set(before)
    assert_array_equal(got, np.transpose(expected).astype(dtype))
