"""`make quality`: every recipe on every set of logits in a folder, written to one file of tables.

Each set is split at random into 1,000 samples to fit on and the rest to judge by, five times over; figures are means.
Equal probabilities are ranked by the raw logits.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import infocal
from infocal.arrays import Array, Ints
from infocal.calibrator import Method
from infocal.files import read_data, replaced
from infocal.fitting import Task, fit_over
from infocal.recipes import BINNINGS, RECIPES, SCALINGS

FITTED = 1000  # samples that are fitted to
COLUMNS = {
    "accuracy": "accuracy",
    "top1_ece": "top-1 ECE",
    "cw_ece_1/K": "class-wise ECE",
    "nll_normalised": "NLL",
    "brier_top1": "Brier",
}
STAGES: dict[str, dict[str, Any]] = {
    "": {},
    ", scaled edges": {"stage": "scaled"},
    ", scaled edges, frequencies": {"stage": "scaled", "representatives": "frequency"},
}


def methods(task: Task) -> Iterator[tuple[str, Method]]:
    """Every recipe fitted, each scaling but once for all that stands over it."""
    for name in ("identity", *BINNINGS, "bbq", "scaling-binning"):
        yield name, RECIPES[name].fit(task)[0]
    for name, scaling in SCALINGS.items():
        scaler = scaling.scale(task)
        yield name, scaler
        for binning, bins in BINNINGS.items():
            for stage, options in STAGES.items():
                over = replace(task, options=options)
                yield f"{binning}+{name}{stage}", fit_over(bins.find, lambda _, s=scaler: s, over)[0]


def judged(logits: Array, labels: Ints, seed: int) -> dict[str, list[float]]:
    """Measures of every recipe on one split."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(labels))
    fitted, held = order[:FITTED], order[FITTED:]
    groups = np.zeros(logits.shape[1], dtype=np.int64)
    task = Task(logits[fitted], labels[fitted], None, groups, 15, "exact", rng)
    test = logits[held]
    found = {}
    for name, method in methods(task):
        report = infocal.evaluate(method(test), labels[held], ties=test)
        found[name] = [report[column] for column in COLUMNS]
    return found


def measured(path: Path, splits: int) -> dict[str, Array]:
    """Mean measures of every recipe on the set of a file."""
    data = read_data(path)
    runs = []
    for seed in range(splits):
        print(f"{path.stem}: split {seed + 1} of {splits}", file=sys.stderr, flush=True)
        runs.append(judged(data.logits, data.labels, seed))
    return {name: np.mean([run[name] for run in runs], axis=0) for name in runs[0]}


def table(rows: dict[str, Array]) -> str:
    """Rows of figures; the best of each column in bold."""
    figures = np.array(list(rows.values()))
    signs = np.where(np.arange(len(COLUMNS)) == 0, 1.0, -1.0)
    best = (figures * signs).max(axis=0)
    lines = [f"| recipe | {' | '.join(COLUMNS.values())} |", "|---|" + "---:|" * len(COLUMNS)]
    for name, row in rows.items():
        cells = [f"**{x:.4f}**" if x * s == b else f"{x:.4f}" for x, s, b in zip(row, signs, best, strict=True)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def overall(sets: dict[str, dict[str, Array]]) -> dict[str, Array]:
    """Geometric means over the sets of each measure as a multiple of the classifier's own."""
    names = next(iter(sets.values()))
    ratios = {name: np.array([rows[name] / rows["identity"] for rows in sets.values()]) for name in names}
    return {name: np.exp(np.log(ratio).mean(axis=0)) for name, ratio in ratios.items()}


def page(sets: dict[str, dict[str, Array]], splits: int) -> str:
    """The whole file."""
    parts = [
        "# Every recipe on every set",
        f"Written by `make quality`: {FITTED:,} samples to fit on, the rest to judge by, means of {splits} splits at"
        " random. Errors use 100 bins of equal size, class-wise ones the threshold 1/K; NLL is taken of rows divided by"
        " their sum; Brier is that of the top class; equal probabilities are ranked by the raw logits. A binning over a"
        " scaling has raw edges and scaled representatives unless it says otherwise. The best of a column is in bold.",
        "## All sets",
        "Geometric means over the sets, as multiples of the classifier's own figures.",
        table(overall(sets)),
    ]
    for name, rows in sets.items():
        parts += [f"## {name}", table(rows)]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("docs/quality.md"))
    options = parser.parse_args()
    sets = {path.stem: measured(path, options.splits) for path in sorted(options.data.glob("*.npz"))}
    if not sets:
        parser.error(f"no .npz file in {options.data}")
    options.out.parent.mkdir(exist_ok=True)
    with replaced(options.out) as file:
        file.write(page(sets, options.splits).encode())


if __name__ == "__main__":
    main()
