"""Calibration during training against calibration after it, and both: the paper's table on the packaged logits.

    python -m experiments.table --samples 1000 --splits 5 > experiments/table.md

Each cell is the mean and the standard deviation over draws of as many calibration samples of each class from the
validation half; all of the test half judges. Prints Markdown.
"""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import infocal
from infocal.datasets import TRAININGS, Dataset, load_fashion

__all__ = ["MEASURES", "RECIPES", "Cell", "draws", "main", "measure", "to_markdown"]

RECIPES = {  # by what the paper's table calls them
    "identity": "Baseline",
    "matrix": "Mtx Scal. w. L2",
    "ets": "ETS-MnM",
    "temperature": "TS",
    "gp": "GP",
    "imax": "I-Max",
    "imax+temperature": "I-Max w. TS",
    "imax+gp": "I-Max w. GP",
}
MEASURES = {
    "accuracy": "Accuracy",
    "cw_ece_prior": "Class-wise ECE above the prior",
    "top1_ece": "Top-1 ECE",
    "nll_normalised": "NLL of rows over their sum",
}


@dataclass(frozen=True)
class Cell:
    """Mean and standard deviation over the draws."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.4f} ± {self.deviation:.4f}"


Table = Mapping[tuple[str, str, str], Cell]  # by measure, recipe and training


def measure(samples: int, splits: int, recipes: Mapping[str, str] = RECIPES, seed: int = 0) -> Table:
    """Every measure of every recipe on the logits of every training."""
    cells = {}
    for training in TRAININGS:
        data = load_fashion(training)
        tables = [infocal.compare(recipes, cal, data.test) for cal in draws(data, samples, splits, seed)]
        for name in MEASURES:
            for recipe in recipes:
                values = [table[recipe][name] for table in tables]
                cells[name, recipe, training] = Cell(float(np.mean(values)), float(np.std(values)))
    return cells


def draws(data: Dataset, samples: int, splits: int, seed: int = 0) -> Iterator[tuple[npt.NDArray, npt.NDArray]]:
    """Calibration samples (logits, labels), as many of each class; the same rows for every training."""
    logits, labels = data.cal
    n_classes, rng = logits.shape[1], np.random.default_rng(seed)
    most = n_classes * int(np.bincount(labels, minlength=n_classes).min())
    if samples % n_classes or not 0 < samples <= most:
        raise ValueError(f"samples: expected a multiple of {n_classes} up to {most}, got {samples}")
    for _ in range(splits):
        order = rng.permutation(len(labels))
        rows = np.concatenate([order[labels[order] == k][: samples // n_classes] for k in range(n_classes)])
        yield logits[rows], labels[rows]


def to_markdown(table: Table) -> str:
    """One table for each measure: recipes down, trainings across."""
    measures, recipes, trainings = (dict.fromkeys(names) for names in zip(*table, strict=True))
    lines = []
    for name in measures:
        lines += [f"**{MEASURES[name]}**", "", f"| recipe | in the paper | {' | '.join(trainings)} |"]
        lines += ["|---" * (len(trainings) + 2) + "|"]
        for recipe in recipes:
            cells = " | ".join(str(table[name, recipe, training]) for training in trainings)
            lines += [f"| {recipe} | {RECIPES.get(recipe, '')} | {cells} |"]
        lines += [""]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m experiments.table", description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    print(to_markdown(measure(options.samples, options.splits, seed=options.seed)), end="")


if __name__ == "__main__":
    main()
