"""Every measure that the paper's implementation has equals it on real logits: no case needed the excuse of a
probability within an ulp of a bin's edge."""

import numpy as np
import pytest

import infocal
from conftest import REFERENCE_NAMES, SHARED, needs_shared, reference_arrays, reference_metrics, reference_split
from infocal import kernels, metrics
from infocal.arrays import Array, Floats, Ints
from infocal.numerics import softmax

METHODS = ("baseline", "eqsize_sCW_fix1", "eqmass_sCW_fix1", "imax_CW", "TS")
WITH_TIES = {"accuracy": "acc1_rawtie", "accuracy_top5": "acc5_rawtie", "top1_ece": "top1_dECE100_rawtie"}


def evaluation(name: str, seed: int) -> tuple[Floats, Ints]:
    """Logits and labels of the evaluation half."""
    rows = reference_split(name, seed)[1]
    with np.load(SHARED / "data" / f"{name}.npz") as file:
        return np.log(np.maximum(file["probs"][rows].astype(np.float64), 1e-300)), file["labels"][rows].astype(int)


def answers_of(method: str, name: str, seed: int) -> Array:
    """Representatives of a binning (G, M)."""
    stem = method.removesuffix("_fix1")
    return reference_arrays(name, seed)[f"{stem}_repr_prob_{'SB_fixed' if method != stem else 'used'}"]


def rebuilt(method: str, name: str, seed: int, logits: Floats) -> Array:
    """Probabilities (n, K) of a method, from the reference's edges and representatives or its temperature."""
    arrays = reference_arrays(name, seed)
    if method == "TS":
        return softmax(logits / arrays["T_1k"])
    if method == "baseline":
        # the reference's sigmoid is (1 + tanh(x / 2)) / 2: a multiple of 2^-54, and 0 below 3.1e-17
        probs = softmax(logits)
        return np.where(probs > 3.1e-17, (probs - 0.5) + 0.5, 0.0)
    edges, values = arrays[f"{method.removesuffix('_fix1')}_edges"], answers_of(method, name, seed)
    groups = np.arange(logits.shape[1]) % len(edges)
    columns = zip(groups, kernels.logodds(logits).T, strict=True)
    return np.stack([values[g][np.searchsorted(edges[g], x, side="right")] for g, x in columns], axis=1)


def others(probs: Array, labels: Ints) -> dict[str, float]:
    """Measures beyond the report, by their name in the reference."""
    K = probs.shape[1]
    return {
        "top1_dECE15": metrics.ece(probs, labels, n_bins=15),
        "cw_dECE100_thr_0": metrics.ece(probs, labels, kind="classwise", threshold=np.zeros(K)),
        "brier_half": metrics.brier(probs, labels) / 2,
        "brier_cw_mean": metrics.brier(probs, labels) / K,
    }


@needs_shared
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["cifar100_wrn16-4", "cifar10_wrn16-4"])
def test_equals_reference(name: str, seed: int) -> None:
    logits, labels = evaluation(name, seed)
    for method in METHODS:
        probs = rebuilt(method, name, seed, logits)
        reference = reference_metrics(name, seed)[method]
        for ties, names in ((None, REFERENCE_NAMES), (logits, WITH_TIES)):
            report = infocal.evaluate(probs, labels, ties)
            for ours, theirs in names.items():
                exactly = 0.0 if ours.startswith("accuracy") else 1e-9
                assert report[ours] == pytest.approx(reference[theirs], rel=0, abs=exactly), (method, ours)
        for theirs, value in others(probs, labels).items():
            assert value == pytest.approx(reference[theirs], rel=0, abs=1e-9), (method, theirs)


@needs_shared
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["cifar100_wrn16-4", "cifar10_wrn16-4"])
def test_own_bins_equal_reference(name: str, seed: int) -> None:
    """Bins that answer the same are one bin of `own`, two of the reference's: then its error is at least ours."""
    logits, labels = evaluation(name, seed)
    for method in METHODS[1:-1]:
        probs, reference = rebuilt(method, name, seed, logits), reference_metrics(name, seed)[method]
        answers = answers_of(method, name, seed)
        one_answer_one_bin = all(len(np.unique(row)) == len(row) for row in answers)
        for threshold, theirs in ((0, "cw_binECE_thr_none"), ("1/K", "cw_binECE_thr_1overK")):
            value = metrics.ece(probs, labels, kind="classwise", scheme="own", threshold=threshold)
            if one_answer_one_bin:
                assert value == pytest.approx(reference[theirs], rel=0, abs=1e-9), (method, theirs)
            else:
                assert value <= reference[theirs] + 1e-9, (method, theirs)
