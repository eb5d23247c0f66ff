"""Vector and matrix scaling and their structured kin reach the optimum of what their module says they minimise."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import oracles
from conftest import needs_shared, real_logits
from infocal.arrays import Floats, Ints
from infocal.scaling.affine import Diagonal, Full, fit_matrix, fit_sms, fit_svs, fit_vector
from infocal.scaling.temperature import fit_temperature
from sources import random_samples

FITS = [fit_vector, fit_svs, fit_sms, fit_matrix]


def fit_odir(logits: Floats, labels: Ints, weights: Floats | None = None) -> object:
    return fit_matrix(logits, labels, weights, off_diagonal=0.02, on_bias=0.01)


def log_softmax(logits: Floats) -> Floats:
    return np.log([oracles.softmax(row) for row in logits.tolist()])


def noisy_samples(seed: int, n: int = 300, n_classes: int = 4) -> tuple[Floats, Ints]:
    """Logits with a bias and mistakes, so that no class can be told without error."""
    logits, labels = random_samples(seed, n, n_classes, 1.0)
    rng = np.random.default_rng(seed)
    flipped = rng.random(n) < 0.2
    return logits + np.linspace(-1, 1, n_classes), np.where(flipped, rng.integers(n_classes, size=n), labels)


def penalties(K: int, n: float) -> dict[Callable[..., object], Floats]:
    """Strength of the penalty on each entry of (M, b)."""
    svs = np.full((K, K + 1), np.inf)
    svs[np.arange(K), np.arange(K)] = svs[:, -1] = K / n
    vector = np.where(np.isinf(svs), np.inf, 0.0)
    sms = np.where(np.isinf(svs), K * (K - 1) / n, svs)
    odir = np.full((K, K + 1), 0.02)
    odir[np.arange(K), np.arange(K)], odir[:, -1] = 0.0, 0.01
    return {fit_vector: vector, fit_svs: svs, fit_sms: sms, fit_odir: odir}


def theta_of(fit: object) -> Floats:
    matrix = getattr(fit, "matrix", None)
    matrix = np.diag(fit.scale) if matrix is None else matrix
    return np.column_stack((matrix - np.eye(len(matrix)), fit.bias))


@pytest.mark.parametrize("fit", [fit_vector, fit_svs, fit_sms, fit_odir])
@pytest.mark.parametrize("seed", range(3))
def test_equals_a_general_minimiser(fit: Callable[..., object], seed: int) -> None:
    logits, labels = noisy_samples(seed, 150)
    strength, inverse = penalties(4, 150)[fit], fit_temperature(logits, labels).inverse
    u = log_softmax(inverse * logits)
    free = np.isfinite(strength)

    def loss(flat: Floats) -> float:
        theta = np.zeros((4, 5))
        theta[free] = flat
        scores = u + u @ theta[:, :-1].T + theta[:, -1]
        top = scores.max(axis=1)
        total = np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top
        return float(np.mean(total - scores[np.arange(150), labels]) + (strength[free] * flat**2).sum())

    method = fit(logits, labels)
    best = minimize(loss, np.zeros(free.sum()), tol=1e-12)
    assert method.loss == pytest.approx(loss(theta_of(method)[free]), abs=1e-12)
    assert method.loss <= best.fun + 1e-12
    assert method.gradient < 1e-8
    assert not method.separable
    scores = u + u @ theta_of(method)[:, :-1].T + theta_of(method)[:, -1]
    assert_allclose(method(logits), [oracles.softmax(row) for row in scores.tolist()], atol=1e-9)


@pytest.mark.parametrize("scores", [Diagonal, Full])
def test_hessian_and_adjoint_equal_differences(scores: type) -> None:
    rng = np.random.default_rng(0)
    u, weights, aims = rng.normal(size=(30, 4)), rng.dirichlet(np.ones(30)), rng.dirichlet(np.ones(4), 30)
    linear = scores(u)
    shape = (2, 4) if scores is Diagonal else (4, 5)
    theta, step = rng.normal(size=(2, *shape))

    def probs(at: Floats) -> Floats:
        return np.array([oracles.softmax(row) for row in (u + linear(at)).tolist()])

    def gradient(at: Floats) -> Floats:
        return linear.adjoint(weights[:, None] * (probs(at) - aims))

    change = (gradient(theta + 1e-6 * step) - gradient(theta - 1e-6 * step)) / 2e-6
    assert_allclose(linear.hessian(probs(theta), weights)(step), change, rtol=1e-6, atol=1e-9)
    solver = linear.preconditioner(probs(theta), weights, np.full(shape, 0.1))
    other = rng.normal(size=shape)
    assert np.vdot(other, solver(step)) == pytest.approx(np.vdot(step, solver(other)), rel=1e-9)
    assert np.vdot(step, solver(step)) > 0


@pytest.mark.parametrize("fit", [fit_vector, fit_svs, fit_sms, fit_odir])
class TestLaws:
    @settings(max_examples=10)
    @given(st.integers(0, 10_000))
    def test_repeating_equals_weighting_and_order_does_not_matter(self, fit: Callable[..., object], seed: int) -> None:
        logits, labels = noisy_samples(seed, 80, 3)
        rng = np.random.default_rng(seed)
        weights = rng.integers(0, 4, size=80)
        rows = rng.permutation(np.repeat(np.arange(80), weights))
        assert_allclose(fit(logits[rows], labels[rows])(logits), fit(logits, labels, weights * 1.0)(logits), atol=1e-6)

    def test_neither_unit_nor_offset_of_the_logits_matters(self, fit: Callable[..., object]) -> None:
        logits, labels = noisy_samples(1)
        probs = fit(logits, labels)(logits)
        other = 1e3 * logits + np.arange(300.0)[:, None]
        assert_allclose(fit(other, labels)(other), probs, atol=1e-6)

    def test_single_precision_equals_double(self, fit: Callable[..., object]) -> None:
        logits, labels = noisy_samples(2)
        single = logits.astype(np.float32)
        probs = fit(single, labels)(single)
        assert probs.dtype == np.float32
        assert_allclose(probs, fit(single.astype(np.float64), labels)(logits), atol=1e-5)

    def test_relabelling_the_classes_changes_nothing(self, fit: Callable[..., object]) -> None:
        logits, labels = noisy_samples(3)
        order = np.array([2, 0, 3, 1])
        moved = fit(logits[:, order], np.argsort(order)[labels])
        assert_allclose(moved(logits[:, order]), fit(logits, labels)(logits)[:, order], atol=1e-6)

    def test_masked_classes_stay_out(self, fit: Callable[..., object]) -> None:
        logits, labels = noisy_samples(4)
        masked = np.insert(logits, 2, -np.inf, axis=1)
        moved = labels + (labels >= 2)
        probs = fit(masked, moved)(masked)
        assert_array_equal(probs[:, 2], 0)
        assert_allclose(probs.sum(axis=1), 1)
        if fit in (fit_vector, fit_odir):  # the strengths of the others depend on the number of classes
            return
        assert np.abs(np.delete(probs, 2, axis=1) - fit(logits, labels)(logits)).max() < 0.05

    def test_large_logits(self, fit: Callable[..., object]) -> None:
        logits, labels = noisy_samples(5)
        method = fit(1e4 * logits, labels)
        assert method.gradient < 1e-6
        assert np.isfinite(method(1e4 * logits)).all()

    def test_absent_classes_and_separable_labels_have_a_bounded_answer(self, fit: Callable[..., object]) -> None:
        logits, labels = noisy_samples(6)
        there = labels != 1
        absent = fit(logits[there], labels[there])
        clear = fit(logits, logits.argmax(axis=1))
        for method in (absent, clear):
            probs = method(logits)
            assert np.isfinite(probs).all()
            assert method.gradient < 1e-6
            assert method.separable == (fit in (fit_vector, fit_odir))
        assert absent(logits)[:, 1].max() > 1e-6

    def test_a_class_that_its_own_score_tells_is_separable(self, fit: Callable[..., object]) -> None:
        logits, labels = noisy_samples(7)
        logits[:, 0] = np.where(labels == 0, 6.0, -6.0) + 0.1 * logits[:, 0]
        method = fit(logits, labels)
        assert method.separable == (fit is fit_vector)  # the penalty on the bias keeps the others finite
        assert np.isfinite(method(logits)).all()

    def test_nothing_to_learn_from(self, fit: Callable[..., object]) -> None:
        masked = np.array([[0.0, -np.inf, 1.0]] * 3)
        method = fit(masked, np.ones(3, dtype=np.int64))
        assert_allclose(method(masked), [oracles.softmax([0.0, -np.inf, 1.0])] * 3)
        backward = np.array([[3.0, 0.0], [0.0, 3.0], [2.0, 0.0], [0.0, 1.0]])
        assert np.isfinite(fit(backward, np.array([1, 0, 1, 0]))(backward)).all()

    def test_a_calibrated_source_needs_none(self, fit: Callable[..., object]) -> None:
        rng = np.random.default_rng(0)
        logits = rng.normal(size=(20_000, 4))
        labels = (logits - np.log(-np.log(rng.random(logits.shape)))).argmax(axis=1)
        assert np.abs(fit(logits, labels)(logits) - log_softmax_exp(logits)).mean() < 0.01


def log_softmax_exp(logits: Floats) -> Floats:
    e = np.exp(logits)
    return e / e.sum(axis=1, keepdims=True)


class TestCrossValidation:
    def test_picks_strong_penalties_for_pure_noise_and_weak_ones_for_a_clear_mixture(self) -> None:
        logits, labels = noisy_samples(8, 400)
        noise = fit_matrix(logits, labels)
        mixed = log_softmax(logits) @ (np.eye(4) + 0.5 * np.roll(np.eye(4), 1, axis=1))
        clear = fit_matrix(mixed, labels)
        assert clear.off_diagonal < noise.off_diagonal

    def test_keeps_what_is_given(self) -> None:
        logits, labels = noisy_samples(9, 200)
        fit = fit_matrix(logits, labels, on_bias=0.5)
        assert fit.on_bias == 0.5
        assert fit.off_diagonal in [multiple * 4 * 3 / 200 for multiple in (10.0, 1.0, 0.1, 0.01)]

    def test_does_not_depend_on_the_order_of_the_samples(self) -> None:
        logits, labels = noisy_samples(10, 200)
        rows = np.random.default_rng(0).permutation(200)
        one, two = fit_matrix(logits, labels), fit_matrix(logits[rows], labels[rows])
        assert one.off_diagonal == two.off_diagonal
        assert_allclose(one.matrix, two.matrix, atol=1e-5)

    def test_masked_and_weighted_samples(self) -> None:
        logits, labels = noisy_samples(11, 200)
        logits[::5, 3] = -np.inf
        fit = fit_matrix(logits, labels, np.linspace(0, 2, 200))
        assert fit.gradient < 1e-8
        assert not fit(logits)[::5, 3].any()


@needs_shared
def test_structured_scaling_on_real_logits() -> None:
    """What another implementation of the method reaches on these samples: NLL 0.2138 and 0.2156."""
    logits, labels = real_logits("fashion_mnist_cnn")
    order = np.random.default_rng(0).permutation(len(labels))
    rows, held = order[:1000], order[1000:]
    for fit, theirs in ((fit_svs, 0.2138), (fit_sms, 0.2156)):
        probs = fit(logits[rows], labels[rows])(logits[held])
        assert -np.log(probs[np.arange(len(held)), labels[held]]).mean() <= 1.005 * theirs
