"""Temperatures reach their optimum, keep the ranking, and say where there is no optimum to reach."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from conftest import needs_shared, real_logits, reference_metrics, reference_split
from infocal import kernels
from infocal.arrays import Array
from infocal.scaling.temperature import Temperature, fit_bws, fit_ets, fit_temperature
from sources import random_samples

FITS = [fit_temperature, fit_ets, fit_bws]


class TestTemperature:
    @given(st.integers(0, 10_000), st.sampled_from([0.01, 1.0, 300.0]))
    def test_no_other_temperature_is_better(self, seed: int, scale: float) -> None:
        logits, labels = random_samples(seed, 60, 4, scale)
        fit = fit_temperature(logits, labels)
        loss = oracles.softmax_loss(logits * fit.inverse, labels)
        assert fit.loss == pytest.approx(loss, abs=1e-12)
        assert fit.gradient <= 1e-8 * scale
        for factor in (1 - 1e-3, 1 + 1e-3):
            assert oracles.softmax_loss(logits * fit.inverse * factor, labels) >= loss

    @given(st.integers(0, 10_000))
    def test_repeating_equals_weighting_and_order_does_not_matter(self, seed: int) -> None:
        logits, labels = random_samples(seed, 40, 5)
        rng = np.random.default_rng(seed)
        weights = rng.integers(0, 4, size=40)
        rows = rng.permutation(np.repeat(np.arange(40), weights))
        repeated, weighted = fit_temperature(logits[rows], labels[rows]), fit_temperature(logits, labels, weights * 1.0)
        assert repeated.inverse == pytest.approx(weighted.inverse, rel=1e-9)

    def test_follows_the_unit_of_the_logits(self) -> None:
        logits, labels = random_samples(1)
        fit = fit_temperature(logits, labels)
        for unit in (1e-3, 7.0, 1e4):
            assert fit_temperature(unit * logits, labels).inverse * unit == pytest.approx(fit.inverse, rel=1e-9)
        assert fit_temperature(logits + 1e3, labels).inverse == pytest.approx(fit.inverse, rel=1e-9)

    @pytest.mark.parametrize("n", [300, 20_000])
    def test_single_precision_does_not_stall(self, n: int) -> None:
        logits, labels = random_samples(2, n, 12)
        single = logits.astype(np.float32)
        fit, twin = fit_temperature(single, labels), fit_temperature(single.astype(np.float64), labels)
        assert fit.temperature == pytest.approx(twin.temperature, rel=1e-5)
        assert abs(fit.temperature - 1) > 0.1
        assert oracles.softmax_loss(fit.inverse * single.astype(np.float64), labels) <= twin.loss + 1e-12
        assert fit(single).dtype == np.float32
        assert_allclose(fit(single), twin(single.astype(np.float64)), atol=1e-6)

    def test_a_calibrated_source_needs_none(self) -> None:
        rng = np.random.default_rng(0)
        logits = 2 * rng.normal(size=(40_000, 5))
        labels = (logits - np.log(-np.log(rng.random(logits.shape)))).argmax(axis=1)
        assert fit_temperature(logits, labels).temperature == pytest.approx(1, abs=0.03)

    def test_large_and_masked_logits(self) -> None:
        logits, labels = random_samples(3, 200, 6, 1e4)
        plain = fit_temperature(np.delete(logits, 2, axis=1)[labels != 2], (labels - (labels > 2))[labels != 2])
        masked = logits.copy()
        masked[:, 2] = -np.inf  # which leaves the samples of class 2 without a possible label
        fit = fit_temperature(masked, labels)
        assert fit.inverse == pytest.approx(plain.inverse, rel=1e-9)
        assert not fit(masked)[:, 2].any()
        assert np.isfinite(fit(masked)).all()

    def test_separable_labels_have_a_bounded_answer(self) -> None:
        logits, _ = random_samples(4, 100, 4)
        labels = logits.argmax(axis=1)
        fit = fit_temperature(logits, labels)
        assert fit.separable
        assert np.isfinite(fit.inverse)
        assert fit.gradient < 1e-9
        aims = np.full(logits.shape, 1 / 102 / 4) + np.eye(4)[labels] * 101 / 102
        loss = lambda t: -np.mean((aims * np.log([oracles.softmax(z, t) for z in logits.tolist()])).sum(axis=1))  # noqa: E731
        assert fit.loss == pytest.approx(loss(fit.inverse), abs=1e-12)
        assert fit.loss <= min(loss(fit.inverse * 1.01), loss(fit.inverse * 0.99))

    def test_logits_that_say_the_opposite(self) -> None:
        logits, labels = random_samples(5, 100, 4)
        fit = fit_temperature(-logits, labels)
        assert (fit.inverse, fit.temperature, fit.gradient) == (0.0, np.inf, 0.0)
        assert_array_equal(fit(-logits), 0.25)

    def test_nothing_to_learn_from(self) -> None:
        assert fit_temperature(np.zeros((3, 2)), np.array([0, 1, 1])).inverse == 1
        masked = np.array([[0.0, -np.inf]] * 3)
        assert fit_temperature(masked, np.ones(3, dtype=np.int64)).inverse == 1

    def test_thousands_of_rows_of_no_use_before_the_others(self) -> None:
        logits, labels = random_samples(6, 8000, 3)
        weights = np.zeros(8000)
        weights[1:70:2] = 1.0  # none of them among the rows that tell where to start
        fit, few = fit_temperature(logits, labels, weights), fit_temperature(logits[1:70:2], labels[1:70:2].copy())
        assert fit.inverse == pytest.approx(few.inverse, rel=1e-9)


class TestEnsemble:
    @given(st.integers(0, 10_000))
    def test_no_other_weights_are_better(self, seed: int) -> None:
        logits, labels = random_samples(seed, 60, 4, 3.0)
        fit, rng = fit_ets(logits, labels), np.random.default_rng(seed)
        parts = [np.array([oracles.softmax(z, t) for z in logits.tolist()]) for t in (fit.inverse, 1.0, 0.0)]
        loss = lambda w: -np.mean(np.log(sum(w * p for w, p in zip(w, parts, strict=True))[np.arange(60), labels]))  # noqa: E731
        assert fit.loss == pytest.approx(loss(fit.weights), abs=1e-12)
        assert fit.gap < 1e-8
        assert fit.weights.sum() == pytest.approx(1)
        assert fit.loss <= min(loss(w) for w in rng.dirichlet(np.ones(3), 30)) + 1e-9
        assert fit.loss <= fit_temperature(logits, labels).loss + 1e-9

    def test_no_sample_of_a_possible_label(self) -> None:
        logits = np.array([[0.0, -np.inf]] * 3)
        assert fit_ets(logits, np.ones(3, dtype=np.int64)).weights.tolist() == [1.0, 0.0, 0.0]


class TestBinwise:
    def test_each_bin_has_its_own_optimum(self) -> None:
        logits, labels = random_samples(7, 600, 5, 3.0)
        fit = fit_bws(logits, labels, n_bins=4)
        bins = np.searchsorted(fit.edges, kernels.logodds(logits).max(axis=1), side="right")
        assert_array_equal(np.bincount(bins), 150)
        for m in range(4):
            alone = fit_temperature(logits[bins == m], labels[bins == m])
            assert fit.inverses[m] == alone.inverse
            assert_array_equal(fit(logits)[bins == m], alone(logits[bins == m]))

    def test_more_bins_than_samples(self) -> None:
        logits, labels = random_samples(8, 6, 3)
        fit = fit_bws(logits, labels, n_bins=15)
        assert np.isfinite(fit(logits)).all()

    def test_bins_without_weight_take_the_temperature_of_all(self) -> None:
        logits, labels = random_samples(9, 100, 3)
        weights = np.zeros(100)
        weights[0] = 1.0
        fit = fit_bws(logits, labels, weights, n_bins=3)
        assert_array_equal(fit.inverses, fit_temperature(logits, labels, weights).inverse)


@pytest.mark.parametrize("fit", FITS)
class TestAll:
    def test_keep_the_ranking(self, fit: type) -> None:
        logits, labels = random_samples(10, 300, 6)
        probs = fit(logits, labels)(logits)
        assert_array_equal(probs.argsort(axis=1), logits.argsort(axis=1))
        assert_allclose(probs.sum(axis=1), 1)

    def test_keep_the_type_and_the_array(self, fit: type) -> None:
        for dtype in (np.float32, np.float64):
            logits, labels = random_samples(11, 300, 6)
            logits = logits.astype(dtype)
            logits.setflags(write=False)
            probs: Array = fit(logits, labels)(logits)
            assert probs.dtype == dtype
            assert ((probs >= 0) & (probs <= 1)).all()

    def test_repeat_themselves(self, fit: type) -> None:
        logits, labels = random_samples(12)
        state = np.random.get_state()[1].copy()  # noqa: NPY002
        assert_array_equal(fit(logits, labels)(logits), fit(logits, labels)(logits))
        assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@needs_shared
@pytest.mark.parametrize("name", ["cifar10_wrn16-4", "cifar100_wrn16-4"])
def test_equals_the_reference(name: str) -> None:
    logits, labels = real_logits(name)
    for seed in range(5):
        rows = reference_split(name, seed)[0][:1000]
        told = reference_metrics(name, seed)["TS"]
        fit = fit_temperature(logits[rows], labels[rows])
        assert fit.temperature == pytest.approx(told["T"], rel=1e-9)
        assert fit.loss == pytest.approx(told["cal_nll"], abs=1e-12)
        single = fit_temperature(logits[rows].astype(np.float32), labels[rows])
        assert single.temperature == pytest.approx(told["T"], rel=1e-5)


def test_a_temperature_is_what_logits_are_divided_by() -> None:
    assert Temperature(0.5, 0.0, 0.0, False).temperature == 2
