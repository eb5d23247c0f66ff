import numpy as np
import pytest

from infocal.metrics import accuracy, brier, brier_top1, nll

PROBS = np.array([[0.2, 0.8], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0]])


def test_ties_go_to_the_lowest_class() -> None:
    assert accuracy(PROBS, [1, 0, 1, 1]) == 0.75
    assert accuracy(PROBS, [1, 0, 1, 1], k=2) == 1.0


def test_ties_go_to_the_larger_tie_value() -> None:
    assert accuracy(PROBS, [1, 1, 1, 1], ties=[[0, 0], [1, 2], [2, 1], [0, 0]]) == 0.75


def test_known_scores() -> None:
    assert nll(PROBS[:2], [1, 0]) == pytest.approx(-np.log([0.8, 0.5]).mean())
    assert brier(PROBS[:1], [1]) == pytest.approx(0.08)
    assert brier_top1(PROBS[:1], [0]) == pytest.approx(0.64)


def test_certainty_is_finite() -> None:
    assert nll(PROBS[3:], [0]) == pytest.approx(-np.log(2.220446049250313e-16))
    assert nll(np.zeros((1, 4)), [2], normalised=True) == pytest.approx(np.log(4))
