import json

import numpy as np
import pytest

import infocal

KEYS = "accuracy accuracy_top5 top1_ece cw_ece_0 cw_ece_1/K cw_ece_prior cw_ece_0.5 nll nll_normalised brier_top1 brier"


def report(n_classes: int = 6) -> infocal.Report:
    rng = np.random.default_rng(0)
    return infocal.evaluate(rng.dirichlet(np.ones(n_classes), 200), rng.integers(0, n_classes, 200))


def test_holds_the_contract() -> None:
    assert list(report()) == KEYS.split()
    assert list(report(4)) == [key for key in KEYS.split() if key != "accuracy_top5"]
    assert all(np.isfinite(list(report().values())))


def test_prints_as_an_aligned_table() -> None:
    lines = str(report()).splitlines()[1:]
    assert len({len(line) for line in lines}) == 1
    assert json.loads(report().to_json()) == dict(report())
    assert report().to_latex().count("&") == len(report())


def test_frame() -> None:
    pandas = pytest.importorskip("pandas")
    assert isinstance(report().to_frame(), pandas.DataFrame)
