"""The report: its numbers are those of the metrics, in one pass and little memory; and the forms it takes."""

import builtins
import json
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import infocal
from infocal import metrics
from infocal.arrays import Array, Floats, Ints
from infocal.metrics import bootstrap, reliability

KEYS = "accuracy accuracy_top5 top1_ece cw_ece_0 cw_ece_1/K cw_ece_prior cw_ece_0.5 nll nll_normalised brier_top1 brier"


def samples(n_classes: int = 6, n: int = 200, seed: int = 0) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n_classes), n), rng.integers(0, n_classes, n)


def report(n_classes: int = 6, **options) -> infocal.Report:
    return infocal.evaluate(*samples(n_classes), **options)


def awkward(seed: int, n: int = 60, n_classes: int = 6) -> tuple[Array, Ints, Array, Floats]:
    """Ties, exact 0 and 1, numbers on edges of bins, a row of zeros, a class that never comes and one that is never
    predicted; ties that tie, and weights with some 0."""
    rng = np.random.default_rng(seed)
    probs = np.where(
        rng.random((n, n_classes)) < 0.5, rng.integers(0, 101, (n, n_classes)) / 100, rng.random(n)[:, None]
    )
    probs[0], probs[1, 0], probs[:, 1] = 0.0, 1.0, 0.0
    weights = rng.integers(0, 3, n) + 0.0
    weights[:2] = 1.0
    return probs, rng.integers(0, n_classes - 1, n), rng.integers(0, 3, probs.shape) + 0.0, weights


def expected(probs: Array, labels: Ints, ties: Array | None, weights: Floats | None) -> dict[str, float]:
    """The contract, measure by measure."""
    tied, weighted = {"ties": ties, "weights": weights}, {"weights": weights}
    classwise = {"kind": "classwise", "weights": weights}
    return {
        "accuracy": metrics.accuracy(probs, labels, **tied),
        "accuracy_top5": metrics.accuracy(probs, labels, k=5, **tied),
        "top1_ece": metrics.ece(probs, labels, **tied),
        "cw_ece_0": metrics.ece(probs, labels, **classwise),
        "cw_ece_1/K": metrics.ece(probs, labels, threshold="1/K", **classwise),
        "cw_ece_prior": metrics.ece(probs, labels, threshold="prior", **classwise),
        "cw_ece_0.5": metrics.ece(probs, labels, threshold=0.5, **classwise),
        "nll": metrics.nll(probs, labels, **weighted),
        "nll_normalised": metrics.nll(probs, labels, normalised=True, **weighted),
        "brier_top1": metrics.brier_top1(probs, labels, **tied),
        "brier": metrics.brier(probs, labels, **weighted),
    }


# -- numbers --------------------------------------------------------------------------------------------------------


def test_holds_the_contract() -> None:
    assert list(report()) == KEYS.split()
    assert list(report(4)) == [key for key in KEYS.split() if key != "accuracy_top5"]
    assert all(np.isfinite(list(report().values())))
    assert "accuracy" in report()
    assert "ece" not in report()


@given(st.integers(0, 1000), st.booleans(), st.booleans(), st.booleans())
def test_equals_the_metrics(seed: int, tied: bool, weighted: bool, per_class: bool) -> None:
    probs, labels, ties, weights = awkward(seed)
    ties, weights = ties if tied else None, weights if weighted else None
    found = infocal.evaluate(probs, labels, ties, weights, per_class=per_class)
    for name, value in expected(probs, labels, ties, weights).items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


@given(st.integers(0, 1000))
def test_laws(seed: int) -> None:
    """Order, names of the classes, and whether samples are repeated or weighted change nothing."""
    probs, labels, _, weights = awkward(seed)
    rng = np.random.default_rng(seed)
    ties = rng.random(probs.shape)
    found = infocal.evaluate(probs, labels, ties, weights)
    rows, names, times = rng.permutation(len(labels)), rng.permutation(6), weights.astype(int)
    shuffled = infocal.evaluate(probs[rows], labels[rows], ties[rows], weights[rows])
    renamed = infocal.evaluate(probs[:, names], np.argsort(names)[labels], ties[:, names], weights)
    repeated = infocal.evaluate(*(np.repeat(x, times, axis=0) for x in (probs, labels, ties)))
    for other in (shuffled, renamed, repeated):
        assert_allclose(list(other.values()), list(found.values()), atol=1e-12)


def test_precision_and_layout_of_the_input_do_not_matter() -> None:
    probs, labels = samples(20)
    single = probs.astype(np.float32)
    found = infocal.evaluate(single, labels)
    assert dict(infocal.evaluate(single.astype(np.float64), labels)) == dict(found)
    assert dict(infocal.evaluate(np.asfortranarray(single), labels)) == dict(found)
    assert dict(infocal.evaluate(np.repeat(single, 2, axis=0)[::2], labels)) == dict(found)
    scores = [name for name in found if "ece" not in name]
    double = infocal.evaluate(probs, labels)
    assert_allclose([double[s] for s in scores], [found[s] for s in scores], rtol=1e-6)


@pytest.mark.parametrize(
    ("probs", "labels"),
    [
        ([[0.3, 0.7]], [0]),
        ([[0.0, 0.0]], [1]),
        ([[1.0, 0.0], [1.0, 0.0]], [1, 1]),
        ([[1.0, 1.0, 1.0]], [2]),
        (np.zeros((3, 8)), [0, 0, 0]),
        (np.full((4, 5), 1e-300), [0, 1, 2, 3]),
    ],
    ids=["one sample", "all-zero row", "surely wrong", "all one", "all zero", "tiny"],
)
def test_ends_are_finite(probs: Array, labels: list) -> None:
    found = infocal.evaluate(probs, labels, per_class=True)
    assert np.isfinite(list(found.values())).all()
    assert found.to_json()
    assert str(found)


def test_extra_memory_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below 5 % of ten thousand rows of a thousand classes, on one thread."""
    monkeypatch.setenv("INFOCAL_NUM_THREADS", "1")
    rng = np.random.default_rng(0)
    probs, labels = rng.random((10_000, 1000), dtype=np.float32) ** 8, rng.integers(0, 1000, 10_000)
    tracemalloc.start()
    infocal.evaluate(probs, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.05 * probs.nbytes


def test_the_input_is_not_changed() -> None:
    probs, labels, ties, weights = awkward(0)
    copies = [x.copy() for x in (probs, labels, ties, weights)]
    infocal.evaluate(probs, labels, ties, weights, per_class=True, level=0.5, n_resamples=3)
    assert all(np.array_equal(x, copy) for x, copy in zip((probs, labels, ties, weights), copies, strict=True))


# -- tables and intervals -------------------------------------------------------------------------------------------


def test_carries_reliability_tables() -> None:
    probs, labels, ties, weights = awkward(3)
    found = infocal.evaluate(probs, labels, ties, weights, per_class=True)
    top1 = reliability(probs, labels, ties=ties, weights=weights)
    for name in ("excess", "weights", "hits"):
        assert_allclose(getattr(found.top1, name), getattr(top1, name), atol=1e-12)
        each = reliability(probs, labels, kind="classwise", weights=weights)
        assert_allclose(getattr(found.per_class, name), getattr(each, name), atol=1e-12)
    assert found.top1.errors()[0] == pytest.approx(found["top1_ece"])
    assert found.per_class.errors().mean() == pytest.approx(found["cw_ece_0"])
    above = probs > 1 / 6
    assert_allclose(found.classwise.weights.sum(), weights @ above.sum(axis=1))
    assert_allclose(found.classwise.hits.sum(), weights @ above[np.arange(60), labels])
    pooled = infocal.evaluate(probs, labels, ties, weights)
    assert pooled.per_class is None
    assert_allclose(pooled.classwise.excess, found.classwise.excess, atol=1e-12)


@pytest.mark.parametrize("method", ["bca", "percentile", "basic"])
def test_intervals_on_request(method: str) -> None:
    assert report().intervals == {}
    found = report(level=0.8, n_resamples=60, method=method)
    assert list(found.intervals) == list(found)
    for name, (estimate, low, high) in found.intervals.items():
        assert estimate == found[name]
        assert 0 <= low <= high
    alone = bootstrap(metrics.nll, *samples(), level=0.8, n_resamples=60, method=method)
    assert_allclose(found.intervals["nll"], alone)
    assert dict(found) == dict(report())
    assert dict(report(level=0.8, n_resamples=60, method=method).intervals) == found.intervals


@pytest.mark.parametrize(
    ("options", "wrong"), [({"level": 90}, "level: "), ({"level": 0.9, "method": "t"}, "method: ")]
)
def test_settings_of_intervals_are_checked(options: dict, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        report(**options)


@pytest.mark.parametrize("bad", [np.nan, -1e-9, 1.0000001])
def test_bad_probabilities_are_named_with_their_row(bad: float) -> None:
    probs, labels = samples()
    probs[150, 2] = probs[170, 1] = bad
    with pytest.raises(ValueError, match=r"probs: expected numbers from 0 to 1, got .* in row 150, class 2"):
        infocal.evaluate(probs, labels)


def test_logits_are_not_taken_for_probabilities() -> None:
    with pytest.raises(ValueError, match="probs: expected numbers from 0 to 1"):
        infocal.evaluate([[2.0, -1.0], [0.5, 0.25]], [0, 1])


# -- forms ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [None, 0.9])
def test_prints_as_an_aligned_table(level: float | None) -> None:
    found = report(level=level, n_resamples=10)
    title, *lines = str(found).splitlines()
    assert title == "200 samples, 6 classes" + (", 90 % confidence intervals" if level else "")
    assert len({len(line) for line in lines}) == 1
    assert [line.split()[0] for line in lines] == list(found)


def test_json() -> None:
    assert json.loads(report().to_json()) == dict(report())
    found = report(level=0.9, n_resamples=10)
    read = json.loads(found.to_json())
    assert read.pop("level") == 0.9
    assert {name: tuple(ends) for name, ends in read.pop("intervals").items()} == {
        name: (low, high) for name, (_, low, high) in found.intervals.items()
    }
    assert read == dict(found)


@pytest.mark.parametrize("level", [None, 0.9])
def test_latex_is_valid(level: float | None) -> None:
    head, top, *rows, bottom, end = report(level=level, n_resamples=10).to_latex().splitlines()
    columns = 4 if level else 2
    assert (head, top) == (rf"\begin{{tabular}}{{l{'r' * (columns - 1)}}}", r"\toprule")
    assert (bottom, end) == (r"\bottomrule", r"\end{tabular}")
    for row, name in zip(rows, report(), strict=True):
        assert row.endswith(r" \\")
        cells = row.removesuffix(r" \\").split(" & ")
        assert len(cells) == columns
        assert cells[0].replace(r"\_", "_") == name
        assert not re.search(r"(?<!\\)[_%#$&{}~^]", cells[0])


@pytest.mark.parametrize("level", [None, 0.9])
def test_frame(level: float | None) -> None:
    pandas = pytest.importorskip("pandas", reason="data frames need pandas")
    found = report(level=level, n_resamples=10)
    frame = found.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 1
    assert frame.iloc[0][list(found)].to_dict() == dict(found)
    if level:
        assert frame["nll_low"][0] == found.intervals["nll"].low


def test_frame_without_pandas_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_pandas(name: str, *rest: object) -> object:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(ImportError, match="to_frame needs pandas"):
        report().to_frame()
