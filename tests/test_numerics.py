"""The precision-sensitive lines, against mathematics at both ends of the line."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import infocal
import oracles
from infocal.numerics import bin_of, bits, bounded, entropy, log_sigmoid, logit, sigmoid, softmax

FINITE = st.floats(-745, 745)


@given(FINITE)
def test_sigmoid_keeps_its_digits_at_both_ends(x: float) -> None:
    assert_allclose(sigmoid(x), oracles.sigmoid(x), rtol=1e-15)
    assert_allclose(sigmoid(x) + sigmoid(-x), 1.0, rtol=1e-15)


@given(FINITE)
def test_log_sigmoid_is_the_logarithm_of_sigmoid(x: float) -> None:
    # beyond +-36 a lost log1p would give 0 or x exactly
    assert_allclose(log_sigmoid(x), -math.log1p(math.exp(-x)) if x > -700 else x, rtol=1e-14)


@given(st.floats(-5, 700))
def test_logit_inverts_sigmoid(x: float) -> None:
    assert_allclose(logit(sigmoid(-x)), -x, rtol=1e-12, atol=1e-12)


def test_logit_of_certainty() -> None:
    assert_array_equal(logit([0.0, 1.0]), [-np.inf, np.inf])


MASSES = st.just(0.0) | st.floats(1e-200, 1e6)


@given(MASSES, MASSES)
def test_entropy_is_mass_times_binary_entropy(hits: float, misses: float) -> None:
    slow = sum(part * math.log1p((hits + misses - part) / part) for part in (hits, misses) if part > 0)
    assert_allclose(entropy(hits, misses), slow, rtol=1e-9, atol=1e-9)


def test_entropy_of_a_rare_label_is_not_lost() -> None:
    assert_allclose(entropy(1e-18, 1.0), 1e-18 * (1 + 18 * math.log(10)), rtol=1e-9)


def test_bits() -> None:
    assert_allclose(bits(math.log(2)), 1.0)


def test_bounded_makes_certainty_finite() -> None:
    assert_array_equal(bounded([-np.inf, 3.0, np.inf]), [-700.0, 3.0, 700.0])
    assert 0 < sigmoid(-700.0) < 1e-300


@given(st.lists(st.integers(-5, 5), max_size=6).map(sorted), st.floats(-6, 6))
def test_bin_of_is_closed_on_the_left(edges: list[int], x: float) -> None:
    assert bin_of(x, edges) == oracles.bin_of(x, edges)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_at_logit_800(dtype: type) -> None:
    probs = softmax(np.array([[800.0, 0.0], [-np.inf, -800.0]], dtype=dtype))
    assert probs.dtype == dtype
    assert_array_equal(probs, [[1.0, 0.0], [0.0, 1.0]])


class TestLogitsFromProbs:
    def test_softmax_takes_them_back(self) -> None:
        probs = np.random.default_rng(0).dirichlet(np.ones(5), size=20)
        assert_allclose(softmax(infocal.logits_from_probs(probs)), probs, rtol=1e-13)

    def test_zeros_become_minus_infinity(self) -> None:
        assert_array_equal(infocal.logits_from_probs([[1.0, 0.0]]), [[0.0, -np.inf]])

    @pytest.mark.parametrize(
        ("probs", "message"),
        [
            ([[0.5, 0.5], [1.5, 0.0]], "probs: expected numbers from 0 to 1, got 1.5 in row 1, class 0"),
            ([[0.5, np.nan]], "got nan in row 0, class 1"),
            ([[0.5, 0.5], [0.0, 0.0]], "probs: row 1 is 0 in every class"),
            ([0.5, 0.5], "probs: expected a matrix"),
        ],
    )
    def test_bad_input(self, probs: list[float], message: str) -> None:
        with pytest.raises(ValueError, match=message):
            infocal.logits_from_probs(probs)
