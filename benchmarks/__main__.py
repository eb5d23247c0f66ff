"""`python -m benchmarks`: every hot path beside the copy of the same matrix."""

import argparse
import os

import numpy as np

import infocal
from infocal.binning.imax import fit_imax
from infocal.kernels import n_threads
from infocal.problems import binary, compress

from .measure import best_time, extra_memory, times_copy


def overconfident(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Float32 logits of a classifier that is right three times out of four, and labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(n_classes, size=n)
    logits = 3 * rng.standard_normal((n, n_classes), dtype=np.float32)
    logits[np.arange(n), labels] += 12
    return logits, labels


def hot_paths(n: int, n_classes: int) -> None:
    """Time and memory of fit, apply and evaluate."""
    logits, labels = overconfident(n, n_classes)
    shared = infocal.fit("imax", logits[:1000], labels[:1000])
    classwise = infocal.fit("imax", logits[:1000], labels[:1000], groups="classwise")
    probs = shared(logits)
    calls = {
        "apply, shared": lambda: shared(logits),
        "apply, classwise": lambda: classwise(logits),
        "rank 5": lambda: shared.rank(logits),
        "fit, shared": lambda: infocal.fit("imax", logits, labels),
        "evaluate": lambda: infocal.evaluate(probs, labels),
    }
    print(f"\n{n:,} x {n_classes:,} float32, {n_threads()} thread(s): time / copy, extra memory / input")
    for name, call in calls.items():
        result = probs.nbytes if name.startswith("apply") else 0
        memory = (extra_memory(call) - result) / logits.nbytes
        print(f"  {name:<18} {times_copy(call, logits):8.2f} {max(memory, 0):10.1%}", flush=True)


def solvers(n: int) -> None:
    """The exact programme on the compressed line against the alternating updates on all points."""
    rng = np.random.default_rng(0)
    x = 4 * rng.normal(size=n) - 6
    hits = (rng.random(n) < 1 / (1 + np.exp(-x))) * 1.0
    problem = binary(x, hits)
    exact = fit_imax(compress(problem), 15)
    fast = best_time(lambda: fit_imax(compress(problem), 15))
    slow = best_time(lambda: fit_imax(problem, 15, solver="alternating"), least=1)
    print(f"\n{n:,} points, 15 bins: alternating / exact = {slow / fast:.1f}")
    print(f"  exact keeps {exact.information:.9f} nats; no other keeps {exact.information_gap:.1e} more")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=1000)
    options = parser.parse_args()
    os.environ["INFOCAL_NUM_THREADS"] = str(options.threads)
    hot_paths(options.rows, options.classes)
    solvers(1_000_000)


if __name__ == "__main__":
    main()
