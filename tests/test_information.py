"""Information: its laws, its slow twins, and the paper's figures of it on real logits."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.distance import jensenshannon

import infocal
import oracles
from conftest import SHARED, needs_shared, real_logits, reference_arrays, reference_metrics, reference_split
from infocal import information
from infocal.arrays import Floats
from infocal.binning.edges import eq_mass_edges, eq_size_edges
from infocal.binning.imax import fit_imax
from infocal.numerics import sigmoid
from infocal.simulate import Toy
from sources import questions, random_question, random_samples

EDGES = st.lists(st.floats(-8, 8), max_size=6).map(lambda edges: np.sort(np.array(edges)))


def samples(seed: int = 0, n: int = 300) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    x = 2 * rng.normal(size=n) - 1
    return x, (rng.random(n) < sigmoid(x)).astype(float), rng.integers(1, 4, n).astype(float)


@given(questions, EDGES)
def test_equals_the_definition(question: information.Binary, edges: Floats) -> None:
    kept, taken = oracles.bin_information(question.logodds, question.hits, question.weights, edges)
    assert_allclose(information.of_bins(question, edges), kept, atol=1e-12)
    assert_allclose(information.rate(question, edges), taken, atol=1e-12)


@given(questions, EDGES)
def test_inequalities(question: information.Binary, edges: Floats) -> None:
    kept, taken = information.of_bins(question, edges), information.rate(question, edges)
    assert -1e-12 <= kept <= information.limit(question, densities="counts") + 1e-12
    assert kept <= min(taken, information.label_entropy(question)) + 1e-12
    assert taken <= np.log(len(edges) + 1) + 1e-12
    smooth = information.of_bins(question, edges, densities="kde")
    assert -1e-12 <= smooth <= information.limit(question) + 1e-12 <= information.label_entropy(question) + 1e-9


@given(questions, EDGES, st.floats(-8, 8))
def test_never_falls_when_a_bin_is_parted(question: information.Binary, edges: Floats, another: float) -> None:
    finer = np.sort(np.append(edges, another))
    for measure in (information.of_bins, information.rate):
        assert measure(question, finer) >= measure(question, edges) - 1e-12


def test_order_does_not_matter_and_weights_count_samples() -> None:
    x, hits, weights = samples()
    order = np.random.default_rng(0).permutation(len(x))
    times = weights.astype(int)
    edges = np.array([-1.0, 0.5])
    for measure in (information.of_bins, information.rate):
        value = measure((x, hits, weights), edges)
        assert_allclose(measure((x[order], hits[order], weights[order]), edges), value, rtol=1e-12)
        assert_allclose(measure((np.repeat(x, times), np.repeat(hits, times)), edges), value, rtol=1e-12)
    value = information.limit((x, hits, weights))
    assert_allclose(information.limit((np.repeat(x, times), np.repeat(hits, times))), value, rtol=1e-9)


def test_units() -> None:
    x, hits, _ = samples()
    edges = np.array([-1.0, 0.5])
    for measure in (information.of_bins, information.rate):
        assert_allclose(measure((x, hits), edges, unit="bits") * np.log(2), measure((x, hits), edges))
    for whole in (information.label_entropy, information.limit):
        assert_allclose(whole((x, hits), unit="bits") * np.log(2), whole((x, hits)))
    nats, bits = (information.bottleneck((x, hits), [2.0, 20.0], unit=unit) for unit in ("nats", "bits"))
    for name in ("rate", "information", "gap", "limit"):
        assert_allclose(getattr(bits, name) * np.log(2), getattr(nats, name))


def test_steps_of_a_fit_at_once() -> None:
    question = random_question(0, 400, digits=3)
    trace = fit_imax(question, 6, solver="alternating").trace
    kept = information.of_bins(question, trace.edges, densities="kde")
    assert kept.shape == (len(trace.edges),)
    assert kept[-1] == information.of_bins(question, trace.edges[-1], densities="kde")
    assert information.rate(question, trace.edges).shape == kept.shape


def test_densities_keep_the_mass_and_find_the_truth() -> None:
    """Log-odds 2 X of the toy, N(-2, 4) and N(2, 4): the information is an integral."""
    draw = Toy(0.0, -2.0).draw(100_000, 0)
    x, hits = draw.logits[:, 0], (draw.labels == 0).astype(float)
    density = information.smoothed((x, hits))
    assert_allclose(density.weights.sum(), len(x))
    assert_allclose(density.weights @ density.hits, hits.sum())
    at = np.linspace(-25, 25, 200_001)
    mass = sum(np.exp(-((at - mean) ** 2) / 8) for mean in (-2, 2)) / np.sqrt(8 * np.pi) / 2
    p = sigmoid(at)
    inner = -(p * np.log(p) + (1 - p) * np.log1p(-p))
    truth = np.log(2) - np.trapezoid(mass * inner, at)
    assert_allclose(information.limit(density), truth, atol=6e-3)  # the kernel widens both densities
    assert information.limit(density) == information.limit((x, hits))
    assert information.limit((x, hits), densities="counts") == pytest.approx(np.log(2), abs=1e-4)


@pytest.mark.parametrize("hits", [0.0, 1.0])
def test_one_label_tells_nothing(hits: float) -> None:
    question = ([-np.inf, 0.0, 3.0, np.inf], np.full(4, hits))
    assert information.label_entropy(question) == 0
    assert information.limit(question) == 0
    assert information.of_bins(question, [0.0]) == 0
    assert information.bottleneck(question, [5.0]).rate[0] == 0


# -- the bottleneck -------------------------------------------------------------------------------------------------


def test_no_binning_beats_the_bottleneck() -> None:
    for seed in range(2):
        density = information.smoothed(random_question(seed, 300, digits=4))
        curve = information.bottleneck(density, np.geomspace(4, 1000, 5))
        for M in range(2, 17):
            best = fit_imax(density, M, posterior="isotonic").edges
            for edges in (best, eq_mass_edges(density, M), eq_size_edges(M)):
                taken = information.rate(density, edges)
                assert information.of_bins(density, edges) <= curve.ceiling(taken) + 1e-9
        # I-Max comes near the limit (paper, fig. 4b)
        assert information.of_bins(density, best) > 0.985 * curve.ceiling(information.rate(density, best))


def test_bottleneck_is_a_concave_curve_to_the_limit() -> None:
    betas = np.geomspace(1.0, 1000.0, 7)
    curve = information.bottleneck(random_question(1, 500, digits=4), betas)
    paid = curve.rate > 1e-6
    slopes = np.diff(curve.information[paid]) / np.diff(curve.rate[paid])
    assert not paid[0]
    assert np.all(np.diff(curve.rate[paid]) > 0)
    assert np.all(slopes[1:] <= slopes[:-1])
    assert np.all((slopes >= 1 / betas[paid][1:] - 1e-4) & (slopes <= 1 / betas[paid][:-1] + 1e-4))
    assert 0.995 * curve.limit < curve.information[-1] < curve.limit
    assert np.all(curve.gap < 1e-5)
    assert np.all(curve.ceiling(curve.rate) >= curve.information)
    assert curve.ceiling(np.log(1e6)) == curve.limit


@pytest.mark.parametrize("beta", [1.5, 4.0, 30.0])
def test_bottleneck_equals_the_convex_programme(beta: float) -> None:
    question = random_question(2, 40)
    posterior = sigmoid(question.logodds)
    modelled = information.Binary(question.logodds, posterior, question.weights)
    curve = information.bottleneck(modelled, [beta], densities="counts")
    found, bound = oracles.best_objective(posterior, question.weights / question.weights.sum(), beta)
    assert bound - found < 1e-3
    assert found - 1e-6 <= curve.information[0] - curve.rate[0] / beta <= bound + 1e-6


# -- divergences ----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=20))
def test_divergence(cells: list[tuple[int, int]]) -> None:
    p, q = (np.array([*side, 1]) for side in zip(*cells, strict=True))
    value = information.divergence(p, q)
    assert_allclose(value, jensenshannon(p, q) ** 2, atol=1e-9)
    assert value == information.divergence(q, p)
    assert 0 <= value <= np.log(2) + 1e-12
    assert information.divergence(p, 7 * p) < 1e-12


def test_class_divergences_equal_the_definition() -> None:
    base, new = random_samples(0, 900), random_samples(1, 500)
    found = information.class_divergences(base, new, unit="bits")
    truths = [oracles.logodds(z)[np.arange(len(y)), y] for z, y in (base, new)]
    for k in range(6):
        of_base, own = (x[y == k] for x, (_, y) in zip(truths, (base, new), strict=True))
        cells = np.histogram_bin_edges(of_base, "auto")
        open_cells = np.concatenate(([-np.inf], cells, [np.inf]))
        open_cells[-2] = np.nextafter(open_cells[-2], np.inf)
        for value, other in ((found.own[k], own), (found.merged[k], truths[1])):
            p, q = (np.histogram(x, open_cells)[0] for x in (of_base, other))
            assert_allclose(value, jensenshannon(p, q, base=2) ** 2, atol=1e-9)


def test_merging_similar_classes_is_nearer_the_truth() -> None:
    source = infocal.simulate.source(10, slope=2.0)
    base, new = source.draw(20_000, 0), source.draw(200, 1)
    found = information.class_divergences((base.logits, base.labels), (new.logits, new.labels))
    assert found.merged.mean() < 0.5 * found.own.mean()


def test_class_divergences_of_odd_samples() -> None:
    base = (np.array([[0.0, 1.0, -np.inf]] * 4), [1, 1, 1, 0])
    found = information.class_divergences(base, (np.zeros((2, 3)), [1, 1]))
    assert np.isnan(found.own).tolist() == [True, False, True]
    assert np.isnan(found.merged).tolist() == [False, False, True]


# -- the door -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (lambda: information.label_entropy(([0.0, np.nan], [0, 1])), "logodds: .* nan in row 1"),
        (lambda: information.label_entropy(([0.0, 1.0], [0, 2])), "hits: .* 2.0 in row 1"),
        (lambda: information.label_entropy(([0.0, 1.0], [0, 1, 1])), "hits: .* shape"),
        (lambda: information.label_entropy(([[0.0, 1.0]], [0, 1])), "logodds: .* shape"),
        (lambda: information.label_entropy(([0.0, 1.0], [0, 1], [1, -1])), "weights: .* row 1"),
        (lambda: information.label_entropy(([0.0, 1.0],)), "question: "),
        (lambda: information.label_entropy(np.zeros((2, 2))), "question: "),
        (lambda: information.label_entropy(([0.0, 1.0], [0, 1]), unit="bit"), "unit: .*'bit'"),
        (lambda: information.limit(([0.0, 1.0], [0, 1]), densities="none"), "densities: .*'none'"),
        (lambda: information.of_bins(([0.0, 1.0], [0, 1]), [1.0, 0.0]), "edges: "),
        (lambda: information.rate(([0.0, 1.0], [0, 1]), [np.nan]), "edges: "),
        (lambda: information.bottleneck(([0.0, 1.0], [0, 1]), [0.0]), "betas: "),
        (lambda: information.divergence([1, 2], [0, 0]), "second: "),
        (lambda: information.divergence([1, 2], [1, 2, 3]), "second: "),
        (lambda: information.one_vs_rest([[0.0, 1.0]], [2]), "labels: .* row 0"),
        (
            lambda: information.class_divergences((np.zeros((1, 3)), [0]), (np.zeros((1, 2)), [0])),
            "samples: expected 3 classes",
        ),
    ],
)
def test_errors_name_the_argument(call, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        call()


# -- real logits ----------------------------------------------------------------------------------------------------


@needs_shared
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["cifar100_wrn16-4", "cifar10_wrn16-4"])
def test_counts_equal_the_reference(name: str, seed: int) -> None:
    logits, labels = real_logits(name)
    cal, held = reference_split(name, seed)
    arrays, metrics = reference_arrays(name, seed), reference_metrics(name, seed)
    for method in ("imax_CW", "eqsize_CW", "eqmass_CW", "imax_sCW", "eqsize_sCW", "eqmass_sCW"):
        edges = arrays[f"{method}_edges"]
        groups = "shared" if len(edges) == 1 else "classwise"
        # equal-mass edges are calibration points themselves, on either side of which rounding may put them
        for which, rows in (("cal", cal[:1000] if len(edges) == 1 else cal), ("eval", held)):
            if (which, method[:6]) != ("cal", "eqmass"):
                asked = information.one_vs_rest(logits[rows], labels[rows], groups=groups)
                kept = np.mean([information.of_bins(q, e) for q, e in zip(asked, edges, strict=True)])
                assert kept == pytest.approx(metrics[method][f"MI_plugin_nats_{which}"], abs=1e-9), (method, which)


@needs_shared
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["cifar100_wrn16-4", "cifar10_wrn16-4"])
def test_densities_agree_with_the_reference(name: str, seed: int) -> None:
    """Another kernel and grid, so the same only to a percent."""
    logits, labels = real_logits(name)
    fitted = reference_split(name, seed)[0][:1000]
    density = information.smoothed(information.one_vs_rest(logits[fitted], labels[fitted])[0])
    arrays, metrics = reference_arrays(name, seed), reference_metrics(name, seed)
    for method in ("imax_sCW", "eqmass_sCW", "eqsize_sCW"):
        edges, known = arrays[f"{method}_edges"][0], metrics[method]
        assert information.of_bins(density, edges, unit="bits") == pytest.approx(known["MI_kde_bits"], rel=0.01)
        assert information.rate(density, edges, unit="bits") == pytest.approx(known["R_kde_bits"], rel=0.01)
    if seed == 0:
        known = json.loads((SHARED / "oracle" / f"{name}.json").read_text())["kde_upper_bound_seed0"]
        assert information.label_entropy(density, unit="bits") == pytest.approx(known["H_y_bits"], rel=1e-6)
        assert information.limit(density, unit="bits") == pytest.approx(known["MI_y_lambda_bits"], rel=0.005)
