"""Shared data and settings of the tests."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from infocal.arrays import Array, Ints
from infocal.paper.lab import Lab
from infocal.paper.splits import Samples
from infocal.simulate import source

SHARED = Path(__file__).resolve().parents[2] / "shared"
SETS = (
    "cifar100_wrn16-4",
    "cifar10_wrn16-4",
    "imagenet5k_efflite0",
    "quickdraw345_cnn",
    "langid176_django",
    "fashion_mnist_cnn",
    "shuttle_mlp",
)

# measures of a report, and what the reference calls them
REFERENCE_NAMES = {
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

settings.register_profile("infocal", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("infocal")

needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="needs the folder of real logits beside the checkout")


def real_logits(name: str) -> tuple[Array, Ints]:
    """Logits and labels of one of the real sets; of probabilities, their logarithms as the reference takes them."""
    with np.load(SHARED / "data" / f"{name}.npz") as file:
        labels = file["labels"].astype(np.int64)
        if "logits" in file:
            return file["logits"], labels
        return np.log(np.maximum(file["probs"].astype(np.float64), 1e-300)), labels


def reference_split(name: str, seed: int) -> tuple[Ints, Ints]:
    """Calibration and evaluation indices of a reference split."""
    stem = SHARED / "oracle" / "splits" / f"{name.split('_')[0]}_seed{seed}"
    return np.load(f"{stem}_cal.npy"), np.load(f"{stem}_eval.npy")


def reference_arrays(name: str, seed: int) -> dict[str, Array]:
    """Edges and representatives of the reference on a split."""
    with np.load(SHARED / "oracle" / f"{name}_seed{seed}.npz") as file:
        return dict(file)


def reference_metrics(name: str, seed: int) -> dict[str, dict[str, float]]:
    """Metrics of the reference on a split, by method."""
    metrics: dict[str, dict[str, float]] = json.loads((SHARED / "oracle" / f"{name}.json").read_text())["splits"][
        str(seed)
    ]
    return metrics


@pytest.fixture(scope="session")
def samples() -> Samples:
    """A small set of an over-confident classifier of ten classes of equal size."""
    draw = source(10, slope=1.6).draw(1200)
    return Samples("small", draw.logits, draw.labels)


@pytest.fixture(scope="session")
def lab(samples: Samples) -> Lab:
    """The protocol on the small set."""
    return Lab(samples, splits=2)
