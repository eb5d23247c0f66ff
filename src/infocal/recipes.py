"""The one table of calibrators: what each recipe is called, how it is fitted, and whom to cite for it."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Array, Floats, Ints, check_count, check_labels, check_logits, check_probs, check_weights
from .binning.edges import eq_mass_edges, eq_size_edges, kmeans_edges
from .binning.histogram import Sums, fit_histogram, sums_of
from .binning.imax import SOLVERS, Binning, fit_imax, measured
from .binning.posterior import POSTERIORS
from .calibrator import Calibrator, Identity, Method
from .numerics import sigmoid
from .onevsrest import OneVsRest, Values, sums_of_rows
from .persist import read_record
from .problems import Binary, group_classes, questions
from .records import Facts

__all__ = ["RECIPES", "Recipe", "Task", "fit", "load"]

MOST_BINS = 4096
MOST_CLASSES = 1 << 20  # that a file may claim


@dataclass(frozen=True)
class Task:
    """Checked data and settings of a fit."""

    logits: Array
    labels: Ints
    weights: Floats | None
    groups: Ints
    n_bins: int
    solver: str
    rng: np.random.Generator
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recipe:
    """A row of the table: `fit` returns the method and what it found out; `options` it takes by name."""

    fit: Callable[[Task], tuple[Method, dict[str, Any]]]
    about: str
    citation: str
    options: tuple[str, ...] = ()


def fit(
    recipe: str,
    logits: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    groups: npt.ArrayLike = "shared",
    n_bins: int = 15,
    solver: str = "exact",
    weights: npt.ArrayLike | None = None,
    rng: int | np.random.Generator = 0,
    **options: Any,
) -> Calibrator:
    """Fit a calibrator to logits (n, K) and labels (n,) that the classifier was not trained on.

    - `recipe`: a name of the table, see `infocal.RECIPES`.
    - `groups`: which classes share one calibrator: "shared" (all), "classwise" (none), "prior" (those of similar
      frequency; `n_groups` of them, or as many as the data ask for), or an array (K,) of group numbers. Recipes that
      treat a row as a whole have no groups.
    - `n_bins`: number of bins of a binning.
    - `solver`: of I-Max: "exact" (the optimum) or "alternating" (the paper's Algorithm 1).
    - `weights`: mass of each sample (n,).
    - `rng`: seed or generator; only the alternating solver's start draws from it.

    Binnings also take `representatives`: "frequency" (how often each bin's class was true), "own" (mean probability
    of the classifier in the bin) or an array (n, K) to be averaged; `monotone`: never let a higher bin answer with
    less; `prior_count`: points to add to each bin that answer as the classifier does; and, of I-Max, `posterior`:
    what is believed of the label while the edges are sought, "sigmoid", "affine", "kde" or "isotonic".

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(5, size=1000)
    >>> logits = 3.0 * rng.normal(size=(1000, 5)) + 4.0 * np.eye(5)[labels]
    >>> calibrator = fit("imax", logits, labels, n_bins=8)
    >>> calibrator(logits).shape
    (1000, 5)
    """
    row = _row(recipe)
    x = check_logits(logits)
    n, n_classes = x.shape
    y, w = check_labels(labels, n, n_classes), check_weights(weights, n)
    grouped = group_classes(groups, y, n_classes, w, options.pop("n_groups", None))
    _check_options(recipe, row, options, solver)
    bins = check_count("n_bins", n_bins, 2, MOST_BINS)
    method, facts = row.fit(Task(x, y, w, grouped, bins, solver, np.random.default_rng(rng), options))
    return Calibrator(recipe, n_classes, method, Facts({"n_samples": n} | facts))


def load(path: str | os.PathLike[str]) -> Calibrator:
    """The calibrator in a file that `Calibrator.save` wrote, the same to the last bit.

    Nothing in the file is run: one from an untrusted source can at worst be refused, with a `ValueError`.
    """
    calibrator = read_record(path)
    if not isinstance(calibrator, Calibrator):
        raise ValueError(f"{path}: expected a Calibrator, got a {type(calibrator).__name__}")
    try:  # parts that do not fit together show on the first row
        n_classes = check_count("n_classes", calibrator.n_classes, 2, MOST_CLASSES)
        probs = check_probs(calibrator(np.zeros((1, n_classes))))
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"{path}: the parts of this calibrator do not fit together ({error})") from None
    if probs.shape != (1, n_classes):
        raise ValueError(f"{path}: the parts of this calibrator do not fit together")
    return calibrator


def _row(recipe: str) -> Recipe:
    if recipe not in RECIPES:
        raise ValueError(f"recipe: expected one of {', '.join(RECIPES)}, got {recipe!r}")
    return RECIPES[recipe]


def _check_options(recipe: str, row: Recipe, options: dict[str, Any], solver: str) -> None:
    for name in options:
        if name not in row.options:
            raise ValueError(f"{name}: {recipe!r} takes {', '.join(row.options) or 'no options'}")
    _check_choice("solver", solver, SOLVERS)
    _check_choice("posterior", options.get("posterior", "sigmoid"), tuple(POSTERIORS))
    count = options.get("prior_count", 0.0)
    if not isinstance(count, int | float) or not 0 <= count < np.inf:
        raise ValueError(f"prior_count: expected a number of points of at least 0, got {count!r}")


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")


# -- the softmax itself --------------------------------------------------------------------------------------------


def _identity(task: Task) -> tuple[Method, dict[str, Any]]:
    return Identity(), {}


# -- binnings ------------------------------------------------------------------------------------------------------

Find = Callable[[Task, Binary], Binning]


def _binned(find: Find, about: str, citation: str, *more: str) -> Recipe:
    """The row of a binning: `find` puts the edges of one question."""

    def row_fit(task: Task) -> tuple[Method, dict[str, Any]]:
        problems = questions(task.logits, task.labels, task.groups, task.weights)
        found = [find(task, problem) for problem in problems]
        sums = _sums(task, problems, [binning.edges for binning in found])
        settings = {name: task.options[name] for name in ("monotone", "prior_count") if name in task.options}
        members = [fit_histogram(b.edges, s, **settings) for b, s in zip(found, sums, strict=True)]
        return OneVsRest(task.groups, tuple(members)), _information(problems, found)

    return Recipe(row_fit, about, citation, ("representatives", "monotone", "prior_count", *more))


def _imax(task: Task, problem: Binary) -> Binning:
    posterior = task.options.get("posterior", "sigmoid")
    return fit_imax(problem, task.n_bins, solver=task.solver, posterior=posterior, rng=task.rng)


def _information(problems: list[Binary], found: list[Binning]) -> dict[str, Any]:
    """Means over the points of all questions, in nats."""
    mass = [problem.weights.sum() for problem in problems]
    names = ("information", "information_limit", "information_gap")
    means = {name: float(np.average([getattr(b, name) for b in found], weights=mass)) for name in names}
    return {name: mean for name, mean in means.items() if np.isfinite(mean)}


def _sums(task: Task, problems: list[Binary], edges: list[Floats]) -> list[Sums]:
    """Totals of each question's bins, of what its representatives average."""
    wanted = task.options.get("representatives", "frequency")
    if not isinstance(wanted, str):
        averaged = check_probs(wanted, name="representatives")
        if averaged.shape != task.logits.shape:
            raise ValueError(f"representatives: expected the shape of the logits, got {averaged.shape}")
        return _sums_of_rows(task, edges, lambda rows, _: averaged[rows])
    _check_choice("representatives", wanted, ("frequency", "own"))
    own, pairs = wanted == "own", list(zip(problems, edges, strict=True))
    if all(problem.parted_by(e) for problem, e in pairs):
        return [sums_of(e, p.logodds, p.weights, sigmoid(p.logodds) if own else p.hits) for p, e in pairs]
    classes = np.arange(task.logits.shape[1])
    hits = lambda rows, _: np.equal.outer(task.labels[rows], classes)  # noqa: E731
    return _sums_of_rows(task, edges, (lambda _, logodds: sigmoid(logodds)) if own else hits)


def _sums_of_rows(task: Task, edges: list[Floats], values: Values) -> list[Sums]:
    return sums_of_rows(task.logits, task.weights, task.groups, edges, values)


RECIPES: dict[str, Recipe] = {
    "identity": Recipe(_identity, "the classifier's own softmax", "Bridle (1990)"),
    "eqsize": _binned(
        lambda task, problem: measured(problem, eq_size_edges(task.n_bins)),
        "bins of equal width in probability",
        "Zadrozny & Elkan (2001)",
    ),
    "eqmass": _binned(
        lambda task, problem: measured(problem, eq_mass_edges(problem, task.n_bins)),
        "bins of equal mass",
        "Zadrozny & Elkan (2001)",
    ),
    "kmeans": _binned(
        lambda task, problem: measured(problem, kmeans_edges(problem, task.n_bins)),
        "bins of least squared distance in log-odds",
        "Patel et al. (2021), sec. A.9",
    ),
    "imax": _binned(_imax, "bins that keep the most information about the label", "Patel et al. (2021)", "posterior"),
}
