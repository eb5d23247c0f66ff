"""`python -m benchmarks.structured`: structured scaling beside probmetrics, in NLL and in time, in one run.

Each set of a folder is split at random into 1,000 samples to fit on and the rest to judge by; figures are means.
"""

import argparse
import contextlib
import io
import time
from pathlib import Path
from typing import Any

import numpy as np

import infocal
from infocal.arrays import Array
from infocal.files import read_data

SETS = ("fashion_mnist_cnn", "cifar100_wrn16-4")


def theirs(method: str, logits: Array, labels: Array, test: Array) -> tuple[Array, float]:
    """Probabilities of the test logits by probmetrics, and the seconds its fit took."""
    import probmetrics.calibrators as peer
    import torch
    from probmetrics.distributions import CategoricalLogits

    calibrator: Any = {"svs": peer.SVSCalibrator, "sms": peer.SMSCalibrator}[method]()
    given = CategoricalLogits(torch.from_numpy(logits))
    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        calibrator.fit_torch(given, torch.from_numpy(labels))
    seconds = time.perf_counter() - start
    return calibrator.predict_proba_torch(CategoricalLogits(torch.from_numpy(test))).get_probs().numpy(), seconds


def ours(method: str, logits: Array, labels: Array, test: Array) -> tuple[Array, float]:
    start = time.perf_counter()
    calibrator = infocal.fit(method, logits, labels)
    seconds = time.perf_counter() - start
    return calibrator(test), seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.structured", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--splits", type=int, default=5)
    options = parser.parse_args()
    print(f"{'set':<20} {'method':<7} {'NLL':>8} {'theirs':>8} {'seconds':>8} {'theirs':>8}")
    for name in SETS:
        data = read_data(options.data / f"{name}.npz")
        z, y = np.maximum(data.logits, -700.0).astype(np.float32), data.labels  # theirs takes no -inf
        for method in ("svs", "sms"):
            found = np.zeros((options.splits, 2, 2))
            for seed in range(options.splits):
                order = np.random.default_rng(seed).permutation(len(y))
                fitted, held = order[:1000], order[1000:]
                for i, fit in enumerate((ours, theirs)):
                    probs, seconds = fit(method, z[fitted], y[fitted], z[held])
                    found[seed, i] = infocal.evaluate(np.clip(probs, 0, 1), y[held])["nll_normalised"], seconds
            (nll, our_seconds), (their_nll, their_seconds) = found.mean(axis=0)
            print(
                f"{name:<20} {method:<7} {nll:8.5f} {their_nll:8.5f} {our_seconds:8.3f} {their_seconds:8.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
