"""The latent Gaussian process: one increasing curve for all classes, the most probable one."""

import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from conftest import SETS, needs_shared, real_logits, reference_split
from infocal.arrays import Array, Floats, Ints
from infocal.numerics import softmax
from infocal.scaling.gp import JITTER, SLOWEST, GaussianProcess, fit_gp
from infocal.scaling.temperature import fit_temperature
from sources import random_samples

LOGITS, LABELS = random_samples()


def prior_of(fitted: GaussianProcess) -> tuple[list[float], float, Floats]:
    """Inducing points, their distance, and the covariance of the slopes between them."""
    m = len(fitted.values)
    knots, width = np.linspace(-fitted.depth, 0, m).tolist(), fitted.depth / (m - 1)
    steps = np.diff(np.eye(m), axis=0) / width
    covariance = steps @ oracles.curve_covariance(knots, fitted.deviation, fitted.length) @ steps.T
    return knots, width, covariance + JITTER * np.eye(m - 1)


def bent(x: Array) -> Floats:
    """A curve on which classes far below the top are more likely than they seem."""
    return np.where(x > -3, x, -3 + (x + 3) / 4)


def straight(x: Array) -> Floats:
    return x


def drawn(n: int, n_classes: int, seed: int, curve: Callable[[Array], Floats] = bent) -> tuple[Floats, Ints]:
    """Logits, and labels drawn from the softmax of a curve of their log-probabilities."""
    rng = np.random.default_rng(seed)
    logits = 3 * rng.normal(size=(n, n_classes))
    reached = np.cumsum(softmax(curve(np.log(softmax(logits)))), axis=1)
    return logits, np.minimum((rng.random((n, 1)) > reached).sum(axis=1), n_classes - 1)


def loss(probs: Array, labels: Ints) -> float:
    return float(-np.log(np.maximum(probs[np.arange(len(probs)), labels].astype(np.float64), 2.2e-16)).mean())


class TestLaws:
    @settings(max_examples=30)
    @given(st.integers(0, 10_000), st.floats(0.01, 30.0))
    def test_rows_sum_to_one_and_keep_their_ranking(self, seed: int, scale: float) -> None:
        logits, labels = random_samples(seed, n=60, n_classes=5, scale=scale)
        probs = fit_gp(logits, labels)(logits)
        assert_allclose(probs.sum(axis=1), 1, rtol=1e-12)
        ranked = np.take_along_axis(probs, np.argsort(logits, axis=1), axis=1)
        assert (np.diff(ranked, axis=1) >= -1e-15).all()
        assert_array_equal(probs.argmax(axis=1), logits.argmax(axis=1))

    @settings(max_examples=20)
    @given(st.integers(0, 10_000))
    def test_neither_shifts_of_rows_nor_the_scale_matter(self, seed: int) -> None:
        logits, labels = random_samples(seed, n=100)
        probs = fit_gp(logits, labels)(logits)
        shifted = logits + 10 * np.random.default_rng(seed).normal(size=(100, 1))
        assert_allclose(fit_gp(shifted, labels)(shifted), probs, atol=1e-7)
        for scale in (1e-8, 0.3, 1e4):
            assert_allclose(fit_gp(scale * logits, labels)(scale * logits), probs, atol=1e-7)

    def test_permuting_samples_or_classes_changes_nothing(self) -> None:
        rng = np.random.default_rng(1)
        rows, classes = rng.permutation(len(LABELS)), rng.permutation(6)
        probs = fit_gp(LOGITS, LABELS)(LOGITS)
        assert_allclose(fit_gp(LOGITS[rows], LABELS[rows])(LOGITS), probs, atol=1e-10)
        moved = fit_gp(LOGITS[:, classes], np.argsort(classes)[LABELS])
        assert_allclose(moved(LOGITS[:, classes]), probs[:, classes], atol=1e-10)

    def test_weighting_equals_repeating(self) -> None:
        times = np.random.default_rng(2).integers(0, 4, size=len(LABELS))
        weighted = fit_gp(LOGITS, LABELS, times.astype(float))
        repeated = fit_gp(np.repeat(LOGITS, times, axis=0), np.repeat(LABELS, times))
        assert_allclose(weighted(LOGITS), repeated(LOGITS), atol=1e-10)
        assert_allclose(weighted.evidence, repeated.evidence, rtol=1e-10)

    def test_single_precision_equals_double(self) -> None:
        single = LOGITS.astype(np.float32)
        one, other = fit_gp(single, LABELS)(single), fit_gp(single.astype(float), LABELS)(single.astype(float))
        assert (one.dtype, other.dtype) == (np.float32, np.float64)
        assert_allclose(one, other, atol=1e-6)

    def test_the_size_of_blocks_does_not_matter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = fit_gp(LOGITS, LABELS)
        monkeypatch.setattr("infocal.scaling.gp.BLOCK", 42)
        parts = fit_gp(LOGITS, LABELS)
        assert_allclose(parts.values, whole.values, rtol=1e-10)
        assert_array_equal(whole(LOGITS)[:7], whole(LOGITS[:7]))

    def test_the_callers_arrays_stay_as_they_are(self) -> None:
        arrays = (LOGITS.copy(), LABELS.copy(), np.ones(len(LABELS)))
        fit_gp(*arrays)(arrays[0])
        assert_array_equal(arrays[0], LOGITS)
        assert_array_equal(arrays[1], LABELS)
        assert (arrays[2] == 1).all()


class TestOptimum:
    @settings(max_examples=30)
    @given(st.integers(0, 10_000), st.integers(2, 12))
    def test_is_the_most_probable_curve(self, seed: int, n_inducing: int) -> None:
        logits, labels = drawn(40, 4, seed)
        rng = np.random.default_rng(seed)
        weights = rng.integers(1, 4, size=40).astype(float)
        fitted = fit_gp(logits, labels, weights, n_inducing=n_inducing)
        knots, width, covariance = prior_of(fitted)
        precision = np.linalg.inv(covariance)

        def badness(slopes: Floats) -> float:
            values = np.append(0, np.cumsum(slopes * width)).tolist()
            f = oracles.curve_of_log_probs(logits, fitted.inverse, knots, values)
            return (
                weights.sum() * oracles.softmax_loss(f, labels, weights)
                + float((slopes - 1) @ precision @ (slopes - 1)) / 2
            )

        best = np.diff(fitted.values) / width
        assert (best >= SLOWEST - 1e-12).all()
        for size in (1e-3, 1e-2, 0.3):
            tried = np.maximum(best + size * rng.normal(size=len(best)), SLOWEST)
            assert badness(best) <= badness(tried) + 1e-9

    @settings(max_examples=30)
    @given(st.integers(0, 10_000), st.integers(2, 64))
    def test_the_gradient_vanishes(self, seed: int, n_inducing: int) -> None:
        assert fit_gp(*drawn(50, 4, seed), n_inducing=n_inducing).gradient < 1e-8

    def test_answers_are_those_of_the_curve(self) -> None:
        logits, labels = drawn(300, 5, 0)
        logits[::7, 2] = -np.inf
        logits[5] *= 100
        fitted = fit_gp(logits, labels, n_inducing=9)
        f = oracles.curve_of_log_probs(logits, fitted.inverse, prior_of(fitted)[0], fitted.values.tolist())
        assert_allclose(fitted(logits), softmax(f), rtol=1e-9, atol=1e-300)
        assert_allclose(fitted.loss, oracles.softmax_loss(f, labels), rtol=1e-9)

    @pytest.mark.parametrize("n_inducing", [2, 3])
    def test_evidence_is_the_integral_over_all_curves(self, n_inducing: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("infocal.scaling.gp.DEVIATIONS", np.array([2.0]))
        logits, labels = drawn(400, 3, 0, straight)
        fitted = fit_gp(logits, labels, n_inducing=n_inducing)
        _, width, covariance = prior_of(fitted)
        x = fitted.inverse * logits
        x -= np.log(np.exp(x).sum(axis=1, keepdims=True))
        parts = [np.clip(x + j * width, -width if j < n_inducing - 2 else None, 0.0) for j in range(n_inducing - 1)]
        axis = np.linspace(0.4, 1.6, 97)
        slopes = np.stack(np.meshgrid(*[axis] * (n_inducing - 1)), axis=-1).reshape(-1, n_inducing - 1)
        curves = (sum(s * part for s, part in zip(row, reversed(parts), strict=True)) for row in slopes)
        losses = 400 * np.array([loss(softmax(f), labels) for f in curves])
        away = ((slopes - 1) @ np.linalg.inv(covariance) * (slopes - 1)).sum(axis=1) / 2
        log_terms = -losses - away - np.linalg.slogdet(2 * np.pi * covariance)[1] / 2
        integral = np.exp(log_terms - log_terms.max()).sum() * (axis[1] - axis[0]) ** (n_inducing - 1)
        assert_allclose(fitted.evidence, np.log(integral) + log_terms.max(), atol=0.02)

    def test_no_kernel_has_more_evidence(self, monkeypatch: pytest.MonkeyPatch) -> None:
        logits, labels = drawn(1000, 8, 0)
        best = fit_gp(logits, labels)
        for deviation in 2.0 ** np.arange(-6, 5):
            monkeypatch.setattr("infocal.scaling.gp.DEVIATIONS", np.array([deviation]))
            other = fit_gp(logits, labels)
            # the exponential prior on the deviation, and what the expansion to second order leaves open
            assert other.evidence - other.deviation <= best.evidence - best.deviation + 0.2


class TestWhatIsLearnt:
    def test_a_calibrated_source_stays_nearly_as_it_is(self) -> None:
        errors = []
        for seed in range(5):
            logits, labels = drawn(4000, 10, seed, straight)
            errors.append(np.abs(fit_gp(logits, labels)(logits) - softmax(logits)).max())
        assert np.median(errors) < 0.03

    def test_a_bent_source_is_straightened(self) -> None:
        (logits, labels), (fresh, truth) = drawn(2000, 10, 0), drawn(5000, 10, 1)
        fitted = fit_gp(logits, labels)
        scaled = loss(softmax(fitted.inverse * fresh), truth)
        best = loss(softmax(bent(np.log(softmax(fresh)))), truth)
        assert loss(fitted(fresh), truth) - best < 0.15 * (scaled - best)

    def test_more_points_hardly_matter(self) -> None:
        logits, labels = drawn(1000, 10, 0)
        few, many = (fit_gp(logits, labels, n_inducing=m)(logits) for m in (24, 64))
        assert np.abs(few - many).max() < 0.03


class TestEdges:
    def test_impossible_classes_stay_impossible(self) -> None:
        masked = np.random.default_rng(3).random(LOGITS.shape) < 0.3
        masked[np.arange(len(LABELS)), LABELS] = False
        logits = np.where(masked, -np.inf, LOGITS)
        probs = fit_gp(logits, LABELS)(logits)
        assert (probs[masked] == 0).all()
        assert (probs[~masked] > 0).all()

    def test_samples_of_impossible_labels_are_left_out(self) -> None:
        logits = LOGITS.copy()
        out = np.arange(0, len(LABELS), 3)
        logits[out, LABELS[out]] = -np.inf
        told = np.arange(len(LABELS)) % 3 > 0
        assert_array_equal(fit_gp(logits, LABELS).values, fit_gp(logits[told], LABELS[told]).values)
        nothing = fit_gp(logits[out], LABELS[out])
        assert_allclose(nothing(LOGITS), softmax(LOGITS), rtol=1e-12)

    def test_rows_of_one_possible_class(self) -> None:
        logits = np.where(np.eye(6, dtype=bool)[LABELS], LOGITS, -np.inf)
        assert_array_equal(fit_gp(logits, LABELS)(logits), np.eye(6)[LABELS])

    def test_far_logits(self) -> None:
        far = 1e4 * np.tanh(LOGITS)
        for fitted in (fit_gp(LOGITS, LABELS), fit_gp(far, LABELS)):
            assert_allclose(fitted(far).sum(axis=1), 1, rtol=1e-12)

    @pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
    def test_separable_classes_have_a_bounded_answer(self, scale: float) -> None:
        logits = scale * np.eye(6)[LABELS]
        fitted = fit_gp(logits, LABELS)
        assert fitted.separable
        n = len(LABELS)
        assert_allclose(fitted(logits).max(axis=1), (n + 1 + 1 / 6) / (n + 2), rtol=1e-4)

    def test_logits_that_say_nothing_or_the_opposite(self) -> None:
        nothing = np.zeros((50, 4))
        assert_allclose(fit_gp(nothing, np.arange(50) % 4)(nothing), 0.25)
        probs = fit_gp(-LOGITS, LABELS)(-LOGITS)
        assert_allclose(probs, 1 / 6, atol=1e-3)
        assert_array_equal(probs.argmax(axis=1), LOGITS.argmin(axis=1))

    def test_one_sample_and_missing_classes(self) -> None:
        assert_allclose(fit_gp(LOGITS[:1], LABELS[:1])(LOGITS).sum(axis=1), 1)
        few = LABELS < 2
        assert_allclose(fit_gp(LOGITS[few], LABELS[few])(LOGITS).sum(axis=1), 1)

    def test_bad_rows_are_named(self) -> None:
        fitted, bad = fit_gp(LOGITS, LABELS), LOGITS.copy()
        for value in (np.nan, np.inf):
            bad[7, 2] = value
            with pytest.raises(ValueError, match="row 7, class 2"):
                fit_gp(bad, LABELS)
            with pytest.raises(ValueError, match="row 7, class 2"):
                fitted(bad)
        bad[7] = -np.inf
        with pytest.raises(ValueError, match="row 7 is -inf in every class"):
            fitted(bad)

    @pytest.mark.parametrize("n_inducing", [1, 129, 3.0])
    def test_the_number_of_points_is_checked(self, n_inducing: int) -> None:
        with pytest.raises(ValueError, match="n_inducing: expected a whole number from 2 to 128"):
            fit_gp(LOGITS, LABELS, n_inducing=n_inducing)

    @pytest.mark.parametrize(
        "wrong",
        [{"inverse": 0.0}, {"depth": np.inf}, {"values": [0.0]}, {"values": [0.0, 0.0]}, {"values": [-np.inf, 0.0]}],
    )
    def test_a_record_is_checked(self, wrong: dict[str, object]) -> None:
        parts = {"inverse": 1.0, "depth": 1.0, "values": [-1.0, 0.0], "deviation": 0.0, "length": 1.0}
        with pytest.raises(ValueError, match="GaussianProcess"):
            GaussianProcess(**(parts | wrong), loss=0.0, evidence=0.0, gradient=0.0, separable=False)


def splits(name: str, labels: Ints) -> list[tuple[Ints, Ints]]:
    """Five times 1,000 samples of classes as balanced as may be, and a half of the set to judge by."""
    if name.startswith("cifar"):
        return [(cal[:1000], rest) for cal, rest in (reference_split(name, seed) for seed in range(5))]
    out = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        orders = [rng.permutation(np.flatnonzero(labels == k)) for k in range(labels.max() + 1)]
        halves = [np.split(order, [len(order) // 2]) for order in orders]
        turns = np.concatenate([np.arange(len(first)) for first, _ in halves])
        cal = np.concatenate([first for first, _ in halves])[np.argsort(turns, kind="stable")]
        out.append((cal[:1000], np.concatenate([second for _, second in halves])))
    return out


@needs_shared
def test_real_logits_are_as_well_served_as_by_a_temperature() -> None:
    below = 0
    for name in SETS:
        logits, labels = real_logits(name)
        scaled, curved = [], []
        for cal, rest in splits(name, labels):
            z, y = logits[rest], labels[rest]
            fitted = fit_gp(logits[cal], labels[cal])
            probs = fitted(z)
            assert fitted.gradient < 1e-9
            assert_array_equal(probs.argmax(axis=1), z.argmax(axis=1))
            scaled.append(loss(fit_temperature(logits[cal], labels[cal])(z), y))
            curved.append(loss(probs, y))
        assert np.mean(curved) <= 1.003 * np.mean(scaled), name
        below += np.mean(curved) < np.mean(scaled)
    assert below >= 3


@needs_shared
def test_a_thousand_classes_take_seconds() -> None:
    logits, labels = real_logits("imagenet5k_efflite0")
    start = time.perf_counter()
    fitted = fit_gp(logits[::5], labels[::5].copy())
    assert time.perf_counter() - start < 20
    start = time.perf_counter()
    fitted(logits)
    assert time.perf_counter() - start < 2
