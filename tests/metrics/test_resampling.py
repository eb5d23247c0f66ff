"""Intervals cover what they claim to, and resample what they claim to."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

from infocal import simulate
from infocal.metrics import Interval, accuracy, bootstrap, brier, brier_top1, ece, nll
from infocal.metrics.resampling import check_resampling, weighted_interval

SOURCE = simulate.source(5, priors=[0.3, 0.25, 0.2, 0.15, 0.1], signal=1.5, slope=2.0, shift=[0.2, 0, 0, 0, -0.2])
RUNS = 400
OPTIONS = {"norm": 2, "debiased": True, "n_bins": 40}


@cache
def draws() -> list[tuple]:
    return [(draw.probs, draw.labels) for draw in (SOURCE.draw(600, seed) for seed in range(RUNS))]


@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize("measure", ["accuracy", "nll", "debiased"])
def test_intervals_cover_the_truth(measure: str, method: str) -> None:
    metric, options, truth = {
        "accuracy": (accuracy, {}, SOURCE.truth().accuracy),
        "nll": (nll, {}, SOURCE.truth().nll),
        "debiased": (ece, OPTIONS, SOURCE.truth(norm=2).top1),
    }[measure]
    covered = 0
    for seed, samples in enumerate(draws()):
        found = bootstrap(metric, *samples, level=0.9, n_resamples=200, method=method, rng=seed, **options)
        covered += found.low <= truth <= found.high
    assert 0.85 <= covered / RUNS <= 0.95


def test_basic_is_the_percentile_interval_reflected() -> None:
    samples = draws()[0]
    percentile, basic = (bootstrap(nll, *samples, n_resamples=50, method=m) for m in ("percentile", "basic"))
    assert_allclose(basic.low, 2 * basic.estimate - percentile.high)
    assert_allclose(basic.high, 2 * basic.estimate - percentile.low)


def weighted() -> tuple:
    """Samples, ties and weights, a quarter of them 0."""
    probs, labels = (x[:200] for x in draws()[1])
    rng = np.random.default_rng(0)
    return probs.round(1), labels, rng.random(probs.shape), rng.integers(0, 4, len(labels)) / 3


@pytest.mark.parametrize("method", ["bca", "percentile", "basic"])
@pytest.mark.parametrize(
    ("metric", "options"),
    [
        (accuracy, {"k": 2, "ties": True}),
        (nll, {"normalised": True}),
        (brier, {}),
        (brier_top1, {"ties": True}),
        (ece, {"ties": True, "n_bins": 7}),
        (ece, {"scheme": "own", "norm": "max"}),
        (ece, {"threshold": 0.4, "norm": 2}),
    ],
)
def test_sums_give_what_weights_give(metric, options: dict, method: str) -> None:
    """The fast way draws the same rows, and measures the same of them."""
    probs, labels, ties, weights = weighted()
    given = options | ({"ties": ties} if "ties" in options else {})
    settings = {"level": 0.8, "n_resamples": 40, "method": method, "rng": 3}
    fast = bootstrap(metric, probs, labels, weights=weights, **given, **settings)
    slow = weighted_interval(
        lambda w: metric(probs, labels, weights=w, **given), len(labels), weights, check_resampling(0.8, 40, method, 3)
    )
    assert_allclose(fast, slow, atol=1e-12)
    assert fast.estimate == pytest.approx(metric(probs, labels, weights=weights, **given))


@pytest.mark.parametrize("kind", ["top1", "classwise"])
def test_debiased_measures_of_resamples_are_not_inflated(kind: str) -> None:
    """Resamples hold the chance of their labels twice; their middle is the estimate all the same."""
    probs, labels = draws()[2]
    found = bootstrap(
        ece, probs, labels, kind=kind, norm=2, debiased=True, n_bins=15, n_resamples=200, method="percentile", level=0.1
    )
    assert found.low < 1.1 * found.estimate
    assert found.high > 0.9 * found.estimate


@pytest.mark.parametrize("options", [{"kind": "classwise"}, {"scheme": "mass"}, {"scheme": "kde-logodds"}])
def test_any_error_has_an_interval(options: dict) -> None:
    probs, labels = (x[:100] for x in draws()[3])
    found = bootstrap(ece, probs, labels, n_resamples=20, **options)
    assert found.estimate == ece(probs, labels, **options)
    assert 0 <= found.low <= found.high


def test_any_function_has_an_interval() -> None:
    x = np.random.default_rng(0).normal(size=300)
    found = bootstrap(lambda x: np.array([x.mean(), x.std()]), x, method="percentile", level=0.95)
    assert isinstance(found, Interval)
    assert np.all((found.low < found.estimate) & (found.estimate < found.high))
    # the interval of a mean is known: 1.96 standard errors, not 19.6 nor 0.196
    assert_allclose(found.high[0] - found.low[0], 2 * 1.96 * x.std() / np.sqrt(300), rtol=0.1)


def test_many_samples_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    samples = draws()[4]
    whole = bootstrap(nll, *samples, n_resamples=30)
    monkeypatch.setattr("infocal.metrics.resampling.BLOCK", 1500)
    assert_allclose(bootstrap(nll, *samples, n_resamples=30), whole)


def test_seeds_are_kept_apart_from_the_global_one() -> None:
    samples = draws()[0]
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = (bootstrap(nll, *samples, n_resamples=30, rng=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_one_sample_and_constant_measures() -> None:
    for metric in (accuracy, lambda probs, labels: 0.5):
        found = bootstrap(metric, [[0.9, 0.1]], [0], n_resamples=5)
        assert found.low == found.estimate == found.high


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"level": 90}, "level: expected a fraction .* 90"),
        ({"level": 0.0}, "level: "),
        ({"method": "normal"}, "method: "),
        ({"n_resamples": 1}, "n_resamples: "),
        ({"weights": [1.0]}, "weights: "),
        ({"k": 0}, "k: "),
    ],
)
def test_errors_name_the_argument(options: dict, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        bootstrap(accuracy, [[0.9, 0.1], [0.2, 0.8]], [0, 1], **options)


def test_samples_must_match() -> None:
    with pytest.raises(ValueError, match=r"samples: .* \[1, 2\]"):
        bootstrap(accuracy, [[0.9, 0.1], [0.2, 0.8]], [0])
    with pytest.raises(ValueError, match="samples: "):
        bootstrap(accuracy)
    with pytest.raises(TypeError):
        bootstrap(nll, [[0.9, 0.1]], [0], ties=[[0.0, 1.0]])
