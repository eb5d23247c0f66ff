"""Every number of the report equals the paper's implementation on real logits."""

import numpy as np
import pytest

import infocal
from conftest import SHARED, needs_shared, reference_arrays, reference_metrics, reference_split
from infocal import kernels
from infocal.arrays import Array, Floats, Ints
from infocal.numerics import softmax

METHODS = ("baseline", "eqsize_sCW_fix1", "eqmass_sCW_fix1", "imax_CW", "TS")
NAMES = {
    "accuracy": "acc1",
    "accuracy_top5": "acc5",
    "top1_ece": "top1_dECE100",
    "cw_ece_0": "cw_dECE100_thr_none",
    "cw_ece_1/K": "cw_dECE100_thr_1overK",
    "cw_ece_prior": "cw_dECE100_thr_prior",
    "cw_ece_0.5": "cw_dECE100_thr_0.5",
    "nll": "nll",
    "nll_normalised": "nll_norm",
    "brier_top1": "brier_top1",
    "brier": "brier_sum",
}
WITH_TIES = {"accuracy": "acc1_rawtie", "accuracy_top5": "acc5_rawtie", "top1_ece": "top1_dECE100_rawtie"}


def evaluation(name: str, seed: int) -> tuple[Floats, Ints]:
    """Logits and labels of the evaluation half."""
    rows = reference_split(name, seed)[1]
    with np.load(SHARED / "data" / f"{name}.npz") as file:
        return np.log(np.maximum(file["probs"][rows].astype(np.float64), 1e-300)), file["labels"][rows].astype(int)


def rebuilt(method: str, name: str, seed: int, logits: Floats) -> Array:
    """Probabilities (n, K) of a method, from the reference's edges and representatives or its temperature."""
    arrays = reference_arrays(name, seed)
    if method in {"baseline", "TS"}:
        return softmax(logits / (arrays["T_1k"] if method == "TS" else 1.0))
    stem = method.removesuffix("_fix1")
    edges = arrays[f"{stem}_edges"]
    values = arrays[f"{stem}_repr_prob_{'SB_fixed' if method != stem else 'used'}"]
    groups = np.arange(logits.shape[1]) % len(edges)
    columns = zip(groups, kernels.logodds(logits).T, strict=True)
    return np.stack([values[g][np.searchsorted(edges[g], x, side="right")] for g, x in columns], axis=1)


@needs_shared
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["cifar100_wrn16-4", "cifar10_wrn16-4"])
def test_report_equals_reference(name: str, seed: int) -> None:
    logits, labels = evaluation(name, seed)
    for method in METHODS:
        probs = rebuilt(method, name, seed, logits)
        reference = reference_metrics(name, seed)[method]
        for ties, names in ((None, NAMES), (logits, WITH_TIES)):
            report = infocal.evaluate(probs, labels, ties)
            for ours, theirs in names.items():
                told = probs[np.arange(len(labels)), labels]
                # the reference's clipping shifts a probability near 1e-14 by one part in a thousand (one sample, in
                # two splits of CIFAR-10); where nothing is clipped its own exact figure is the same measure
                if "nll" in ours and 2.3e-16 < told.min() < 1e-13:
                    theirs = "nll_exact_unclipped"
                assert report[ours] == pytest.approx(reference[theirs], abs=1e-9), (method, ours)
