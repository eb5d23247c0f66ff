"""Sources tell the truth about themselves."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from conftest import SHARED, needs_shared
from infocal.metrics import accuracy, ece, nll
from infocal.numerics import softmax
from infocal.simulate import Toy, source, true_error


def test_posterior_is_what_labels_follow() -> None:
    """Among samples of similar posterior, that share has the label; and the posterior is a distribution."""
    draw = source(4, priors=[4, 3, 2, 1], slope=3.0, shift=[0, 1, 0, 0]).draw(50_000, 0)
    assert_allclose(draw.posterior.sum(axis=1), 1.0)
    assert_allclose(np.bincount(draw.labels) / 50_000, [0.4, 0.3, 0.2, 0.1], atol=0.01)
    assert ece(draw.posterior, draw.labels, kind="classwise", n_bins=20) < 0.006
    assert ece(draw.probs, draw.labels, kind="classwise", n_bins=20) > 0.03


def test_a_perfect_source_answers_with_its_posterior() -> None:
    perfect = source(3, shift=0.7)
    draw = perfect.draw(100, 0)
    assert_allclose(draw.probs, draw.posterior, atol=1e-12)
    assert perfect.truth()[:2] == perfect.truth(norm=2)[:2] == (0.0, 0.0)


def test_truth_is_what_large_samples_show() -> None:
    distorted = source(5, priors=[5, 4, 3, 2, 1], signal=1.5, slope=[2, 2, 1, 0.5, 2], shift=[0, 0.3, 0, 0, -0.5])
    truth, draw = distorted.truth(), distorted.draw(100_000, 7)
    assert accuracy(draw.probs, draw.labels) == pytest.approx(truth.accuracy, abs=0.006)
    assert nll(draw.probs, draw.labels) == pytest.approx(truth.nll, abs=0.015)
    assert ece(draw.probs, draw.labels) == pytest.approx(truth.top1, abs=0.006)
    assert ece(draw.probs, draw.labels, kind="classwise") == pytest.approx(truth.classwise, abs=0.006)
    squares = ece(draw.probs, draw.labels, norm=2, debiased=True)
    assert squares == pytest.approx(distorted.truth(norm=2).top1, abs=0.006)


def test_confidence_goes_with_the_slope() -> None:
    for slope, sign in ((2.0, 1), (0.5, -1)):
        draw = source(3, slope=slope).draw(5000, 1)
        excess = draw.probs.max(axis=1).mean() - accuracy(draw.probs, draw.labels)
        assert sign * excess > 0.02


def test_true_error_of_a_known_gap() -> None:
    x = np.random.default_rng(0).random(1 << 16)
    assert true_error(x, 0.8 * x) == pytest.approx(0.1, abs=1e-3)
    assert true_error(x, 0.8 * x, norm=2) == pytest.approx(0.2 / np.sqrt(3), abs=1e-3)


def test_draws_are_seeded() -> None:
    three = source(3)
    assert np.array_equal(three.draw(5, 1).logits, three.draw(5, np.random.default_rng(1)).logits)
    assert not np.array_equal(three.draw(5, 1).logits, three.draw(5, 2).logits)


def test_logits_are_finite_where_the_posterior_is_certain() -> None:
    draw = source(3, signal=80.0).draw(200, 0)
    assert np.isfinite(draw.logits).all()
    assert np.isfinite(source(3, signal=80.0, slope=2.0).truth()).all()


@needs_shared
def test_toy_has_the_known_error() -> None:
    for name, known in json.loads((SHARED / "oracle" / "kde_toy.json").read_text()).items():
        if "," in name:
            toy = Toy(*map(float, name.split(",")))
            assert toy.error() == pytest.approx(known["ECE_gt_one_class"], abs=1e-9)


@pytest.mark.parametrize(("b0", "b1"), [(0.5, -1.5), (1.0, -2.0), (0.0, -2.0), (-3.0, 1.0)])
def test_toy_error_is_what_large_samples_show(b0: float, b1: float) -> None:
    toy = Toy(b0, b1)
    draw = toy.draw(200_000, 0)
    assert np.bincount(draw.labels).tolist() == [100_000, 100_000]
    assert np.abs(draw.probs - draw.posterior).mean() == pytest.approx(toy.error(), abs=2e-3)
    assert_allclose(draw.probs, softmax(draw.logits))


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (lambda: source(1), "n_classes: "),
        (lambda: source(3, priors=[1, 2]), "priors: .* each of 3 classes"),
        (lambda: source(3, priors=[1, 2, 0]), "priors: .* above 0"),
        (lambda: source(3, slope=np.inf), "slope: "),
        (lambda: source(3, shift=[0, 1]), "shift: "),
        (lambda: source(3).draw(0), "n: "),
        (lambda: source(3).truth(norm=3), "norm: "),
        (lambda: Toy(0.0, -1.0).draw(1), "n: "),
    ],
)
def test_errors_name_the_argument(make, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        make()
