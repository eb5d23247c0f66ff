"""Calibration errors: slow twins, laws, and what must not go wrong at the ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import oracles
from infocal import simulate
from infocal.arrays import Array, Floats, Ints
from infocal.binning.edges import kmeans_edges
from infocal.binning.imax import fit_imax
from infocal.density import bandwidth
from infocal.metrics import ece, reliability
from infocal.numerics import logit
from infocal.problems import binary

KINDS = ("top1", "classwise")
NORMS = (1, 2, "max")
BINNED = ("size", "mass", "own", "kmeans", "imax")
SMOOTH = ("kde", "kde-logodds")


def awkward(seed: int, n: int = 40, n_classes: int = 4, dtype: type = np.float64) -> tuple[Array, Ints, Floats]:
    """Probabilities on a coarse grid, so with ties and on edges, exact 0 and 1, rows of any sum and one of zeros;
    labels of which one class never comes; and whole weights with some 0."""
    rng = np.random.default_rng(seed)
    probs = rng.integers(0, 21, (n, n_classes)) / 20
    probs[0], probs[1, 0] = 0.0, 1.0
    return probs.astype(dtype), rng.integers(0, n_classes - 1, n), rng.integers(0, 3, n).astype(float)


def asked(probs: Array, labels: Ints, weights: Floats, kind: str, least: Array) -> list[tuple[Floats, ...]]:
    """Answers, hits and weights of each question, of what lies above the thresholds."""
    p = probs.astype(np.float64)
    columns = [oracles.top1(p, labels)]
    if kind == "classwise":
        columns = [(p[:, k], (labels == k).astype(float)) for k in range(p.shape[1])]
    kept = [x > bound for (x, _), bound in zip(columns, np.broadcast_to(least, len(columns)), strict=True)]
    return [(x[keep], hits[keep], weights[keep]) for (x, hits), keep in zip(columns, kept, strict=True)]


def bins_of(scheme: str, x: Floats, hits: Floats, weights: Floats, n_bins: int) -> list[int]:
    """The bin of each answer, by definition."""
    if scheme == "size":
        return oracles.size_bins(x, n_bins)
    if scheme == "mass":
        return oracles.mass_bins(x, weights, n_bins)
    if scheme == "own":
        return [sorted(set(x)).index(v) for v in x]
    question = binary(logit(x), hits, weights)
    edges = kmeans_edges(question, n_bins) if scheme == "kmeans" else fit_imax(question, n_bins).edges
    return [oracles.bin_of(at, edges) for at in logit(x)]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("scheme", BINNED)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_definition(kind: str, scheme: str, norm: int | str) -> None:
    for seed in range(3):
        for dtype in (np.float64, np.float32):
            probs, labels, weights = awkward(seed, dtype=dtype)
            prior = np.bincount(labels, weights, 4) / weights.sum()
            several = [("prior", prior), ([0.0, 0.5, 0.2, 1.0], [0.0, 0.5, 0.2, 1.0])] if kind == "classwise" else []
            for threshold, least in [(0, -1.0), (0.3, 0.3), ("1/K", 0.25), (1.0, 1.0), *several]:
                options = {"kind": kind, "scheme": scheme, "norm": norm, "n_bins": 5, "threshold": threshold}
                value = ece(probs, labels, weights=weights, **options)
                errors = [
                    oracles.binned_error(x, hits, w, bins_of(scheme, x, hits, w, 5), norm) if w.any() else 0.0
                    for x, hits, w in asked(probs, labels, weights, kind, np.asarray(least))
                ]
                assert_allclose(value, np.mean(errors), atol=1e-12, err_msg=str((seed, dtype, threshold)))


@pytest.mark.parametrize("scheme", BINNED)
@pytest.mark.parametrize("kind", KINDS)
def test_debiased_equals_the_definition(kind: str, scheme: str) -> None:
    for seed in range(3):
        probs, labels, weights = awkward(seed)
        value = ece(probs, labels, kind=kind, scheme=scheme, norm=2, n_bins=5, debiased=True, weights=weights)
        errors = [
            oracles.binned_error(x, hits, w, bins_of(scheme, x, hits, w, 5), 2, debiased=True)
            for x, hits, w in asked(probs, labels, weights, kind, np.array(-1.0))
        ]
        assert_allclose(value, np.mean(errors), atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("scheme", SMOOTH)
@pytest.mark.parametrize("kind", KINDS)
def test_smooth_equals_the_definition(kind: str, scheme: str, norm: int | str) -> None:
    """The grid and the lines between its places leave a thousandth or two."""
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(3), 80), rng.integers(0, 3, 80)
    weights = rng.integers(1, 3, 80).astype(float)
    value = ece(probs, labels, kind=kind, scheme=scheme, norm=norm, weights=weights)
    errors = []
    for p, hits, w in asked(probs, labels, weights, kind, np.array(-1.0)):
        folded = scheme == "kde"
        x = p if folded else logit(p)
        half = 3 * bandwidth(x, w, robust=not folded)
        errors.append(oracles.smooth_error(x, p, hits, w, half, norm, folded))
    assert_allclose(value, np.mean(errors), atol=3e-3)


def test_named_schemes_of_distinct_answers() -> None:
    """Where no two answers are equal, equal-mass bins hold the same number of samples, sorted first."""
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(2), 1000), rng.integers(0, 2, 1000)
    assert_allclose(reliability(probs, labels, scheme="mass", n_bins=10).weights, 100.0)
    assert len(reliability(probs, labels, scheme="own").weights) == 1000
    for n_bins in (1, 2, 7, 15):
        for scheme in ("size", "mass", "kmeans", "imax"):
            table = reliability(probs, labels, kind="classwise", scheme=scheme, n_bins=n_bins)
            assert np.bincount(table.question).tolist() == [n_bins, n_bins]


def test_the_ends_are_in_the_outer_bins() -> None:
    table = reliability([[1.0, 0.0], [0.0, 1.0], [0.995, 0.005]], [0, 0, 1], kind="classwise", n_bins=100)
    assert table.question.tolist() == [0, 0, 1, 1]
    assert table.weights.tolist() == [1, 2, 2, 1]
    assert_allclose(table.mean, [0.0, 0.9975, 0.0025, 1.0])
    assert_allclose(table.frequency, [1.0, 0.5, 0.5, 0.0])


# -- laws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", [*BINNED, *SMOOTH])
@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 1000), norm=st.sampled_from(NORMS), threshold=st.sampled_from([0, 0.3, "1/K"]))
def test_laws(kind: str, scheme: str, seed: int, norm: int | str, threshold: float | str) -> None:
    """Order, names of the classes, and whether samples are repeated or weighted change nothing."""
    rng = np.random.default_rng(seed)
    probs, labels, weights = awkward(seed, n=25)
    weights[0] = 1.0
    options = {"kind": kind, "scheme": scheme, "norm": norm, "threshold": threshold, "n_bins": 6}
    ties = rng.random(probs.shape)  # so that relabelling does not change which of equal classes comes first
    value = ece(probs, labels, ties=ties, weights=weights, **options)
    assert 0 <= value <= 1
    rows, names = rng.permutation(len(labels)), rng.permutation(4)
    same = ece(probs[rows], labels[rows], ties=ties[rows], weights=weights[rows], **options)
    assert_allclose(same, value, atol=1e-9)
    renamed = np.argsort(names)[labels]
    assert_allclose(ece(probs[:, names], renamed, ties=ties[:, names], weights=weights, **options), value, atol=1e-9)
    times = weights.astype(int)
    repeated = [np.repeat(x, times, axis=0) for x in (probs, labels, ties)]
    assert_allclose(ece(*repeated[:2], ties=repeated[2], **options), value, atol=1e-9)


@pytest.mark.parametrize("scheme", [*BINNED, *SMOOTH])
@pytest.mark.parametrize("kind", KINDS)
def test_precision_of_the_input_does_not_matter(kind: str, scheme: str) -> None:
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.full(5, 0.3), 500).astype(np.float32), rng.integers(0, 5, 500)
    values = [ece(x, labels, kind=kind, scheme=scheme, threshold="1/K") for x in (probs, probs.astype(np.float64))]
    assert values[0] == values[1]


@pytest.mark.parametrize("scheme", ["size", "mass", "kmeans", "imax"])
@pytest.mark.parametrize("kind", KINDS)
def test_error_of_perfect_probabilities_falls_as_the_root_of_samples(kind: str, scheme: str) -> None:
    """With n samples a bin's frequency is off by its standard deviation, so 16 times as many leave a quarter."""
    source = simulate.source(4, priors=[0.4, 0.3, 0.2, 0.1])
    sizes, options = (500, 8000), {"kind": kind, "scheme": scheme, "n_bins": 10}
    few, many = (
        np.mean([ece(draw.probs, draw.labels, **options) for draw in (source.draw(n, seed) for seed in range(8))])
        for n in sizes
    )
    assert many == pytest.approx(few / 4, rel=0.35)
    assert many < 0.02


@pytest.mark.parametrize("scheme", ["size", "mass", *SMOOTH])
@pytest.mark.parametrize("kind", KINDS)
def test_finds_the_true_error(kind: str, scheme: str) -> None:
    source = simulate.source(4, priors=[0.4, 0.3, 0.2, 0.1], slope=[2.0, 1.5, 2.5, 2.0], shift=[0.0, 0.5, 0.0, 0.0])
    draw, truth = source.draw(40_000, 1), source.truth()
    value = ece(draw.probs, draw.labels, kind=kind, scheme=scheme, n_bins=30)
    # one width for all of [0, 1] blurs the end where answers crowd: the paper prefers log-odds for it
    close = 0.01 if scheme == "kde" else 0.006
    assert value == pytest.approx(truth.top1 if kind == "top1" else truth.classwise, abs=close)


@pytest.mark.parametrize("scheme", SMOOTH)
def test_densities_find_the_true_error_where_answers_crowd_at_zero(scheme: str) -> None:
    source = simulate.source(20, signal=3.0, slope=1.5)
    draw = source.draw(5000, 0)
    value = ece(draw.probs, draw.labels, kind="classwise", scheme=scheme)
    assert value == pytest.approx(source.truth().classwise, abs=0.001)


@pytest.mark.parametrize("kind", KINDS)
def test_debiased_error_is_not_inflated(kind: str) -> None:
    """Of perfect probabilities the squared error is 0 on average, where the plain one stands at bins / samples."""
    source = simulate.source(4)
    draws = [source.draw(400, seed) for seed in range(60)]
    tables = [reliability(draw.probs, draw.labels, kind=kind, n_bins=20) for draw in draws]
    plain = np.mean([table.errors(2) ** 2 for table in tables])
    signed = np.mean([table.errors(2) ** 2 - table.noise() for table in tables])
    assert plain > 0.001
    assert abs(signed) < 0.15 * plain
    assert np.mean([table.errors(2, debiased=True) for table in tables]) < np.mean([t.errors(2) for t in tables]) / 2


# -- the toy of Zhang et al. (2020) ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SMOOTH)
@pytest.mark.parametrize(("b0", "b1"), [(0.5, -1.5), (0.2, -1.9)])
def test_densities_find_the_error_of_the_toy(scheme: str, b0: float, b1: float) -> None:
    toy = simulate.Toy(b0, b1)
    draws = [toy.draw(4096, seed) for seed in range(20)]
    found = np.array([ece(draw.probs, draw.labels, kind="classwise", scheme=scheme) for draw in draws])
    assert np.abs(found - toy.error()).mean() < 0.004


# -- ends -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("scheme", [*BINNED, *SMOOTH])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("probs", "labels"),
    [
        ([[0.3, 0.7]], [1]),
        ([[1.0, 0.0]], [0]),
        ([[0.0, 0.0]], [1]),
        ([[1.0, 1.0], [1.0, 1.0]], [0, 1]),
        ([[0.5, 0.5, 0.5]] * 5, [2] * 5),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] * 10, [0, 1] * 10),
    ],
    ids=["one sample", "certain", "all-zero row", "all one", "one class", "right and sure"],
)
def test_ends_are_finite(probs: list, labels: list, kind: str, scheme: str, norm: int | str) -> None:
    value = ece(probs, labels, kind=kind, scheme=scheme, norm=norm)
    assert 0 <= value <= 1
    if probs == [[1.0, 0.0]] or probs[:2] == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]:
        assert value == pytest.approx(0, abs=1e-12)
    if scheme in BINNED and probs == [[0.3, 0.7]]:
        assert value == pytest.approx(0.3)
    assert ece(probs, labels, kind=kind, scheme=scheme, norm=norm, threshold=1.0) == 0


def test_the_input_is_not_changed() -> None:
    probs, labels, weights = awkward(0)
    kept = probs.copy()
    for scheme in (*BINNED, *SMOOTH):
        ece(probs, labels, kind="classwise", scheme=scheme, weights=weights, threshold="prior")
    assert np.array_equal(probs, kept)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"kind": "top-1"}, 'kind: expected "top1" or "classwise"'),
        ({"scheme": "equal"}, "scheme: expected one of size, mass"),
        ({"norm": 3}, "norm: "),
        ({"n_bins": 0}, "n_bins: "),
        ({"n_bins": 0, "scheme": "kde"}, "n_bins: "),
        ({"threshold": "1/k"}, "threshold: "),
        ({"threshold": 1.5}, "threshold: .* from 0 to 1"),
        ({"threshold": np.nan}, "threshold: .* from 0 to 1"),
        ({"threshold": [0.1, 0.2, 0.3], "kind": "classwise"}, "threshold: .* each of 2 classes"),
        ({"threshold": [0.1, 0.2]}, 'threshold: .* kind="top1"'),
        ({"threshold": "prior"}, 'threshold: .* kind="top1"'),
        ({"debiased": True}, "debiased: expected norm=2"),
        ({"debiased": True, "norm": 2, "scheme": "kde"}, "debiased: expected norm=2"),
        ({"weights": [1.0, -1.0]}, "weights: .* row 1"),
        ({"ties": [[1.0, 2.0]]}, "ties: expected one row for each"),
        ({"ties": [[1.0, 2.0], [np.nan, 0.0]]}, "ties: .* row 1"),
    ],
)
def test_errors_name_the_argument(options: dict, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        ece([[0.2, 0.8], [0.5, 0.5]], [0, 1], **options)


@pytest.mark.parametrize("scheme", [*BINNED, *SMOOTH])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [np.nan, -0.1, 1.5, np.inf])
def test_bad_probabilities_are_named_with_their_row(kind: str, scheme: str, bad: float) -> None:
    probs = np.full((5, 3), 0.2)
    probs[3, 1] = bad
    with pytest.raises(ValueError, match=r"probs: expected numbers from 0 to 1, got .* in row 3, class 1"):
        ece(probs, [0, 1, 2, 0, 1], kind=kind, scheme=scheme)
