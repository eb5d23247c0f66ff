"""The binnings equal the reference implementation on real logits, and the optimum is no worse than its own."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import infocal
from conftest import SHARED, needs_shared, real_logits, reference_arrays, reference_split
from infocal.arrays import Array, Ints
from infocal.binning.imax import alternate, fit_imax, masses
from infocal.binning.posterior import fit_posterior
from infocal.numerics import entropy
from infocal.problems import Binary, split

CIFAR = ["cifar100_wrn16-4", "cifar10_wrn16-4"]

pytestmark = [needs_shared, pytest.mark.parametrize("name", CIFAR)]
every_split = pytest.mark.parametrize("seed", range(5))


def calibration(name: str, seed: int, n: int | None = 1000) -> tuple[Array, Ints]:
    logits, labels = real_logits(name)
    rows = reference_split(name, seed)[0][:n]
    return logits[rows], labels[rows]


def merged(name: str, seed: int) -> Binary:
    logits, labels = calibration(name, seed)
    return split(logits, labels, np.zeros(logits.shape[1], dtype=np.int64))[0]


@every_split
@pytest.mark.parametrize("recipe", ["eqsize", "eqmass"])
def test_shared_binning(recipe: str, name: str, seed: int) -> None:
    calibrator, reference = infocal.fit(recipe, *calibration(name, seed)), reference_arrays(name, seed)
    histogram = calibrator.method.members[0]  # type: ignore[attr-defined]
    assert_allclose(histogram.edges, reference[f"{recipe}_sCW_edges"][0], rtol=1e-9)
    assert_array_equal(histogram.weights, reference[f"{recipe}_sCW_counts"][0])
    full = histogram.weights > 0
    expected = reference[f"{recipe}_sCW_repr_prob_SB_fixed"][0]
    assert_allclose(histogram.representatives[full], expected[full], rtol=1e-9, atol=1e-15)


@every_split
@pytest.mark.parametrize("recipe", ["eqsize", "eqmass"])
def test_classwise_binning(recipe: str, name: str, seed: int) -> None:
    samples, reference = calibration(name, seed, None), reference_arrays(name, seed)
    calibrator = infocal.fit(recipe, *samples, groups="classwise", representatives="own")
    assert_allclose(calibrator.edges, reference[f"{recipe}_CW_edges"], rtol=1e-9)
    full = reference[f"{recipe}_CW_counts"] > 0
    expected = reference[f"{recipe}_CW_repr_prob_used"]
    assert_allclose(np.array(calibrator.representatives)[full], expected[full], rtol=1e-9, atol=1e-15)


@every_split
def test_exact_is_never_below_the_reference(name: str, seed: int) -> None:
    problem, reference = merged(name, seed), reference_arrays(name, seed)
    model = fit_posterior(problem, "sigmoid")
    sums, best = masses(problem, model), fit_imax(problem, 15)
    theirs = np.searchsorted(problem.logodds, reference["imax_sCW_edges"][0], side="left")
    hits, misses = sums.of_bins(theirs)
    whole = entropy(sums.hits[-1], sums.misses[0])
    kept = (whole - entropy(hits, misses).sum()) / problem.weights.sum()
    assert best.information >= kept
    for rng in range(3):
        local = fit_imax(problem, 15, solver="alternating", rng=np.random.default_rng(rng))
        assert best.information >= local.information


def test_alternating_reproduces_the_trace(name: str) -> None:
    with np.load(SHARED / "oracle" / f"trace_{name}_seed0.npz") as trace:
        edges, phi = trace["edges"], trace["phi"]
    problem = merged(name, 0)
    model = fit_posterior(problem, "sigmoid")
    found = alternate(model, masses(problem, model), phi[0], steps=200)
    steps = len(found.edges)  # ours stops where nothing moves any more
    assert_allclose(found.edges, edges[:steps], rtol=1e-9, atol=1e-9)
    assert_allclose(found.phi, phi[: steps + 1], rtol=1e-9, atol=1e-9)
    assert_allclose(
        np.broadcast_to(found.edges[-1], edges[steps - 1 :].shape), edges[steps - 1 :], rtol=1e-9, atol=1e-9
    )


def test_exact_reaches_the_optimum(name: str) -> None:
    optima = json.loads((SHARED / "oracle" / "dp_full.json").read_text())[name.replace("wrn", "wideresnet-")]
    problem = merged(name, 0)
    for n_bins, optimum in ((int(m), v) for m, v in optima.items() if m.isdigit()):
        binning = fit_imax(problem, n_bins)
        distortion = binning.information_limit - binning.information
        assert_allclose(distortion, optimum["D_opt"], rtol=1e-6)
        assert distortion <= optimum["D_official200"]
