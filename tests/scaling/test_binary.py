"""Platt's line, beta calibration and isotonic regression reach their optimum for one question, in every sharing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import infocal
from conftest import REFERENCE_NAMES, needs_shared, real_logits, reference_arrays, reference_metrics, reference_split
from infocal.arrays import Floats
from infocal.numerics import log_sigmoid, sigmoid
from infocal.onevsrest import OneVsRest
from infocal.problems import Binary, binary, compress, split
from infocal.scaling.binary import Beta, fit_beta, fit_isotonic, fit_platt
from sources import questions, random_question

FITS = [fit_platt, fit_beta, fit_isotonic]


def loss(problem: Binary, probs: Floats) -> float:
    p = np.clip(probs, 1e-300, 1 - 1e-16)
    return float(np.average(-problem.hits * np.log(p) - (1 - problem.hits) * np.log1p(-p), weights=problem.weights))


def likely(problem: Binary, a: float, b: float, c: float) -> float:
    return loss(problem, Beta(a, b, c, 0.0, False)(problem.logodds))


class TestPlatt:
    @given(questions)
    def test_no_other_line_is_better(self, problem: Binary) -> None:
        fit = fit_platt(problem)
        if fit.line.separable:
            return
        best = loss(problem, fit(problem.logodds))
        for slope, shift in ((1.01, 0.0), (0.99, 0.0), (1.0, 0.01), (1.0, -0.01)):
            other = sigmoid(slope * fit.line.slope * problem.logodds + fit.line.shift + shift)
            assert loss(problem, other) >= best - 1e-12


class TestBeta:
    @pytest.mark.parametrize("seed", range(8))
    def test_equals_a_general_minimiser(self, seed: int) -> None:
        problem = random_question(seed, 200, 3)
        fit = fit_beta(problem)
        start, bounds = [1.0, 1.0, 0.0], [(0, None), (0, None), (None, None)]
        best = minimize(lambda t: likely(problem, *t), start, bounds=bounds, method="L-BFGS-B", tol=1e-14)
        assert likely(problem, fit.a, fit.b, fit.c) <= best.fun + 1e-12
        assert_allclose([fit.a, fit.b, fit.c], best.x, atol=2e-3)
        assert fit.gradient < 1e-9

    @given(st.integers(0, 10_000), st.sampled_from([-2.0, -0.5, 0.5]))
    def test_stays_on_its_side_of_zero(self, seed: int, slope: float) -> None:
        rng = np.random.default_rng(seed)
        x = 3 * rng.normal(size=40)
        problem = binary(x, (rng.random(40) < sigmoid(slope * np.maximum(x, -1))).astype(float))
        fit = fit_beta(problem)
        assert fit.a >= 0
        assert fit.b >= 0
        assert fit.gradient < 1e-8
        if not fit.separable:
            best = likely(problem, fit.a, fit.b, fit.c)
            for a, b, c in 1e-3 * rng.normal(size=(20, 3)):
                assert likely(problem, max(fit.a + a, 0), max(fit.b + b, 0), fit.c + c) >= best - 1e-12

    def test_is_precise_at_both_ends(self) -> None:
        x = np.array([-700.0, -40.0, 40.0, 700.0])
        beta = Beta(2.0, 0.5, 0.1, 0.0, False)
        assert_allclose(beta.logodds(x), [-1399.9, -79.9, 20.1, 350.1], rtol=1e-12)
        assert_allclose(log_sigmoid(beta.logodds(x))[:2], [-1399.9, -79.9], rtol=1e-12)

    def test_identity_of_a_calibrated_source(self) -> None:
        rng = np.random.default_rng(1)
        x = 2 * rng.normal(size=50_000)
        fit = fit_beta(binary(x, (rng.random(50_000) < sigmoid(x)).astype(float)))
        assert_allclose(fit(np.linspace(-8, 8)), sigmoid(np.linspace(-8, 8)), atol=0.01)


class TestIsotonic:
    @given(questions)
    def test_never_decreases_and_pools_blocks(self, problem: Binary) -> None:
        fit = fit_isotonic(problem)
        probs = fit(problem.logodds)
        assert (np.diff(probs) >= -1e-15).all()
        for level in np.unique(probs.round(12)):
            of = probs.round(12) == level
            frequency = np.average(problem.hits[of], weights=problem.weights[of])
            assert frequency == pytest.approx(level, abs=1e-9)

    def test_lines_between_points_are_straight_in_probability(self) -> None:
        fit = fit_isotonic(binary(np.array([-40.0, 36.0, 38.0]), np.array([0.0, 0.5, 1.0])))
        q = (np.exp(-36) - np.exp(-37)) / (np.exp(-36) - np.exp(-38))
        assert_allclose(fit(np.array([-50.0, 0.0, 36.0, 37.0, 50.0])), [0, 0.25, 0.5, 0.5 + q / 2, 1], rtol=1e-12)

    def test_one_point(self) -> None:
        fit = fit_isotonic(binary(np.array([1.0, 1.0]), np.array([0.0, 1.0])))
        assert_array_equal(fit(np.array([-3.0, 1.0, 2.0])), 0.5)


@pytest.mark.parametrize("fit", FITS)
class TestAll:
    @given(st.integers(0, 10_000))
    def test_repeating_equals_weighting_and_order_does_not_matter(self, fit: type, seed: int) -> None:
        rng = np.random.default_rng(seed)
        x, hits = rng.normal(size=30).round(1), rng.integers(0, 2, size=30).astype(float)
        weights = rng.integers(0, 4, size=30)
        weights[0] = 1
        rows = rng.permutation(np.repeat(np.arange(30), weights))
        at = np.linspace(-3, 3, 7)
        repeated, weighted = fit(binary(x[rows], hits[rows])), fit(binary(x, hits, weights * 1.0))
        assert_allclose(repeated(at), weighted(at), rtol=1e-6, atol=1e-9)

    @pytest.mark.parametrize("hits", [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    def test_separable_questions_have_a_bounded_answer(self, fit: type, hits: list[float]) -> None:
        method = fit(binary(np.array([-2.0, -1.0, 1.0, 3.0]), np.array(hits)))
        probs = method(np.array([-9.0, 0.0, 9.0]))
        assert ((probs >= 0) & (probs <= 1)).all()
        assert (np.diff(probs) >= 0).all()
        if fit is not fit_isotonic:
            assert getattr(method, "line", method).separable
            assert (probs > 0).all()
            assert (probs < 1).all()

    def test_certainty_stays_and_teaches_nothing(self, fit: type) -> None:
        x, hits = np.array([-1.0, 0.0, 0.5, 2.0]), np.array([0.0, 1.0, 0.0, 1.0])
        plain = fit(binary(x, hits))
        certain = fit(binary(np.append(x, [-np.inf, -np.inf, np.inf]), np.append(hits, [0.0, 1.0, 1.0])))
        assert_array_equal(plain(x), certain(x))
        assert_array_equal(certain(np.array([-np.inf, np.inf])), [0.0, 1.0])
        nothing = fit(binary(np.array([-np.inf, np.inf]), np.array([0.0, 1.0])))
        assert_array_equal(nothing(np.array([-np.inf, 0.0, np.inf])), [0.0, 0.5, 1.0])

    def test_cells_of_the_line_change_little(self, fit: type) -> None:
        problem = random_question(3, 4000, 4)
        at = np.linspace(-6, 6, 50)
        assert_allclose(fit(problem)(at), fit(compress(problem))(at), atol=0.1 if fit is fit_isotonic else 2e-3)

    def test_log_odds_of_any_shape(self, fit: type) -> None:
        method, x = fit(random_question(0)), np.linspace(-5, 5, 12).reshape(3, 4)
        assert_array_equal(method(x), method(x.ravel()).reshape(3, 4))


def differences(probs: Floats, labels: Floats, reference: dict[str, float]) -> dict[str, float]:
    report = infocal.evaluate(probs, labels)
    # what a row of nothing but zeros is divided by is left open by the reference
    names = {
        ours: theirs
        for ours, theirs in REFERENCE_NAMES.items()
        if not (ours == "nll_normalised" and (probs == 0).all(1).any())
    }
    return {ours: abs(report[ours] - reference[theirs]) for ours, theirs in names.items()}


@needs_shared
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["cifar10_wrn16-4", "cifar100_wrn16-4"])
class TestReference:
    @pytest.mark.parametrize(("sharing", "rows"), [("sCW", 1000), ("CW", 1000), ("CW_5k", 5000)])
    @pytest.mark.parametrize(("key", "fit"), [("platt", fit_platt), ("beta", fit_beta)])
    def test_lines_and_beta(self, name: str, seed: int, sharing: str, rows: int, key: str, fit: type) -> None:
        logits, labels = real_logits(name)
        fitted, held = reference_split(name, seed)
        n_classes = logits.shape[1]
        groups = np.zeros(n_classes, dtype=np.int64) if sharing == "sCW" else np.arange(n_classes)
        members = [fit(p) for p in split(logits[fitted[:rows]], labels[fitted[:rows]], groups)]
        if any(getattr(member, "line", member).separable for member in members):
            # the reference stops somewhere on the way to infinity; of the other classes it has the optimum
            told = reference_arrays(name, seed)[f"{key}_{sharing}_{'ab' if key == 'platt' else 'abc'}"]
            for member, theirs in zip(members, told, strict=True):
                if key == "platt" and not member.line.separable:
                    assert_allclose([member.line.slope, member.line.shift], theirs, rtol=1e-5, atol=1e-5)
                if key == "beta" and not member.separable:
                    assert_allclose([member.a, member.b, member.c], theirs, atol=2e-3, rtol=2e-3)
            return
        probs = OneVsRest(groups, tuple(members))(logits[held])
        found = differences(probs, labels[held], reference_metrics(name, seed)[f"{key}_{sharing}"])
        assert max(found.values()) < 1e-6, found

    @pytest.mark.parametrize("sharing", ["sCW", "CW"])
    def test_isotonic(self, name: str, seed: int, sharing: str) -> None:
        logits, labels = real_logits(name)
        fitted, held = reference_split(name, seed)
        n_classes = logits.shape[1]
        groups = np.zeros(n_classes, dtype=np.int64) if sharing == "sCW" else np.arange(n_classes)
        members = [fit_isotonic(p) for p in split(logits[fitted[:1000]], labels[fitted[:1000]], groups)]
        probs = OneVsRest(groups, tuple(members))(logits[held])
        if sharing == "sCW":
            x, y = (reference_arrays(name, seed)[f"iso_sCW_{axis}"] for axis in "Xy")
            q = sigmoid(infocal.kernels.logodds(logits[held]))
            apart = q > 1e-12  # the reference takes probabilities that agree to 1e-15 for equal
            assert_allclose(probs[apart], np.interp(q, x, y)[apart], atol=1e-9)
        told = reference_metrics(name, seed)[f"iso_{sharing}"]
        if max(differences(probs, labels[held], told).values()) < 1e-6:
            return
        # a level of exactly k / 100 stands on the border of two bins of the measures, and the reference's arithmetic
        # has put one of them a rounding below it
        levels = [level for level in np.unique(probs) if 0 < level < 1 and round(100 * level) / 100 == level]
        lowered = (np.where(probs == level, level - 1e-13, probs) for level in levels)
        assert any(max(differences(p, labels[held], told).values()) < 1e-6 for p in lowered)
