"""The one table of calibrators: what each recipe is called, how it is fitted, and whom to cite for it."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import check_count, check_labels, check_logits, check_probs, check_weights
from .binning.bbq import fit_bbq
from .binning.edges import eq_mass_edges, eq_size_edges, kmeans_edges
from .binning.imax import SOLVERS, Binning, Binnings, fit_imax, fit_imax_stack, measured
from .binning.posterior import POSTERIORS
from .calibrator import Calibrator, Identity, Method
from .chain import Chain, floor_of, told
from .choosing import Candidate, Part, choose
from .fitting import STAGES, Finder, Fitted, Scale, Task, fit_binning, fit_over, fit_scaling, one_vs_rest
from .persist import read_record
from .problems import Binary, group_classes
from .records import Facts
from .scaling.affine import fit_matrix, fit_sms, fit_svs, fit_vector
from .scaling.binary import fit_beta, fit_isotonic, fit_platt
from .scaling.gp import fit_gp
from .scaling.temperature import fit_bws, fit_ets, fit_temperature
from .summary import Summary, summarise

__all__ = ["BINNINGS", "RECIPES", "SCALINGS", "Recipe", "fit", "load", "takes_summary"]

MOST_BINS = 4096
MOST_CLASSES = 1 << 20  # that a file may claim
CLASSWISE = (("groups", "classwise"),)
HITS = 20  # samples per class from which "auto" tries a curve for each class


@dataclass(frozen=True)
class Recipe:
    """A row of the table: `fit` returns the method and what it found out; `options` it takes by name. Where log-odds
    are all that is looked at, a summary of them will do."""

    fit: Callable[[Task], Fitted]
    about: str
    citation: str
    options: tuple[str, ...] = ()
    of_logodds: bool = False


@dataclass(frozen=True)
class Scaling:
    """A scaling, alone or under a binning."""

    scale: Scale
    about: str
    citation: str
    options: tuple[str, ...] = ()
    of_logodds: bool = False


def _map(fit_member: Callable[[Binary], Any], about: str, citation: str) -> Scaling:
    """A scaling by maps of the log-odds, one for each group."""
    return Scaling(one_vs_rest(fit_member), about, citation, of_logodds=True)


@dataclass(frozen=True)
class Bins:
    """A binning, alone or over a scaling."""

    finder: Finder
    about: str
    citation: str
    options: tuple[str, ...] = ()


def fit(
    recipe: str,
    logits: Any,
    labels: npt.ArrayLike | None = None,
    *,
    groups: npt.ArrayLike = "shared",
    n_bins: int = 15,
    solver: str = "exact",
    weights: npt.ArrayLike | None = None,
    rng: int | np.random.Generator = 0,
    **options: Any,
) -> Calibrator:
    """Fit a calibrator to logits (n, K) and labels (n,) that the classifier was not trained on.

    Logits may be memory-mapped. Binnings and maps of log-odds can also be fitted, without `labels`, to an iterable of
    blocks (logits, labels) or (logits, labels, weights), or to a `Summary`, which has its groups.

    - `recipe`: a name of the table, see `infocal.RECIPES`, or a binning over a scaling, such as "imax+gp".
    - `groups`: which classes share one calibrator: "shared" (all), "classwise" (none), "prior" (those of similar
      frequency; `n_groups` of them, or as many as the data ask for), or an array (K,) of group numbers. Recipes that
      treat a row as a whole have no groups.
    - `n_bins`: number of bins of a binning, and of the temperatures of "bws".
    - `solver`: of I-Max: "exact" (the optimum) or "alternating" (the paper's Algorithm 1).
    - `weights`: mass of each sample (n,).
    - `rng`: seed or generator; only the alternating solver's start draws from it.

    Binnings also take `representatives`: "frequency" (how often each bin's class was true), "own" (mean probability
    of the classifier in the bin) or an array (n, K) to be averaged; `monotone`: never let a higher bin answer with
    less; `prior_count`: points to add to each bin that answer as the classifier does; and, of I-Max, `posterior`:
    what is believed of the label while the edges are sought, "sigmoid", "affine", "kde" or "isotonic".

    "auto" chooses by repeated cross-validation on these samples alone (see `infocal.choosing`). Its `fit_info` tells
    what was `chosen`, the `reason`, and the measures of all `candidates`, also as a `table` to print. It takes the
    names of other `candidates`, the plainest first.

    Over a scaling, `representatives` are "scaled" (the mean of its probabilities in the bin) unless asked otherwise,
    and `stage` says which log-odds are binned: "raw", as in the paper, or "scaled".

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(5, size=1000)
    >>> logits = 3.0 * rng.normal(size=(1000, 5)) + 4.0 * np.eye(5)[labels]
    >>> calibrator = fit("imax", logits, labels, n_bins=8)
    >>> calibrator(logits).shape
    (1000, 5)
    """
    row, n_groups = _row(recipe), options.pop("n_groups", None)
    summary = _summary(logits, labels, groups, weights, n_groups)
    if summary is None:
        x = check_logits(logits)
        y, w = check_labels(labels, *x.shape), check_weights(weights, len(x))  # type: ignore[arg-type]
        grouped = group_classes(groups, y, x.shape[1], w, n_groups)
    else:
        x, y, w, grouped = np.empty((0, summary.n_classes)), np.empty(0, dtype=np.int64), None, summary.groups
    _check_options(recipe, row, options, solver)
    bins = check_count("n_bins", n_bins, 2, MOST_BINS)
    method, facts = row.fit(Task(x, y, w, grouped, bins, solver, np.random.default_rng(rng), options, summary))
    n = len(x) if summary is None else summary.n_samples
    return Calibrator(recipe, x.shape[1], method, Facts({"n_samples": n} | facts))


def takes_summary(recipe: str) -> bool:
    """Whether a recipe can be fitted to a `Summary`."""
    return _row(recipe).of_logodds


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


def _summary(logits: Any, labels: Any, groups: Any, weights: Any, n_groups: Any) -> Summary | None:
    """The summary that was given, or that of given blocks; None of arrays."""
    if isinstance(logits, Summary):
        if labels is not None or weights is not None or n_groups is not None or not _is_shared(groups):
            raise ValueError("logits: expected no labels, weights or groups beside a Summary, which has its own")
        return logits
    if labels is None and n_groups is not None:
        raise ValueError('n_groups: only groups="prior" takes a number of groups, and blocks have no such groups')
    return summarise(logits, groups=groups, weights=weights) if labels is None else None


def _is_shared(groups: Any) -> bool:
    return isinstance(groups, str) and groups == "shared"


# -- checks --------------------------------------------------------------------------------------------------------


def _row(recipe: str) -> Recipe:
    """The row of a name; that of a binning over a scaling is made of the two."""
    binning, plus, scaling = recipe.partition("+") if isinstance(recipe, str) else ("", "", "")
    if not plus and binning in RECIPES:
        return RECIPES[recipe]
    if plus and binning in BINNINGS and scaling in SCALINGS:
        return _over(BINNINGS[binning], SCALINGS[scaling])
    names = f"{', '.join(RECIPES)}, or one of {', '.join(BINNINGS)} + one of {', '.join(SCALINGS)}"
    raise ValueError(f"recipe: expected one of {names} (as in 'imax+gp'), got {recipe!r}")


def _check_options(recipe: str, row: Recipe, options: dict[str, Any], solver: str) -> None:
    for name in options:
        if name not in row.options:
            raise ValueError(f"{name}: {recipe!r} takes {', '.join(row.options) or 'no options'}")
    _check_choice("solver", solver, SOLVERS)
    _check_choice("posterior", options.get("posterior", "sigmoid"), tuple(POSTERIORS))
    _check_choice("stage", options.get("stage", "raw"), STAGES)
    wanted = options.get("representatives", "frequency")
    if isinstance(wanted, str):
        _check_choice("representatives", wanted, ("frequency", "own", *(("scaled",) if "stage" in row.options else ())))
    for name in ("prior_count", "off_diagonal", "on_bias"):
        number = options.get(name, 0.0)
        if not isinstance(number, int | float) or not 0 <= number < np.inf:
            raise ValueError(f"{name}: expected a finite number of at least 0, got {number!r}")


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")


# -- rows ----------------------------------------------------------------------------------------------------------


def _alone(part: Scaling | Bins) -> Recipe:
    """The row of a scaling or a binning by itself."""
    if isinstance(part, Scaling):
        return Recipe(partial(fit_scaling, part.scale), part.about, part.citation, part.options, part.of_logodds)
    options = ("representatives", "monotone", "prior_count", *part.options)
    return Recipe(partial(fit_binning, part.finder), part.about, part.citation, options, of_logodds=True)


def _over(bins: Bins, scaling: Scaling) -> Recipe:
    """The row of a binning over a scaling."""
    return Recipe(
        partial(fit_over, bins.finder, scaling.scale),
        f"{bins.about}, which answer with the mean of: {scaling.about}",
        f"{bins.citation}; {scaling.citation}",
        ("stage", *_alone(bins).options, *scaling.options),
        scaling.of_logodds,
    )


def _imax(task: Task, problem: Binary) -> Binning:
    return fit_imax(problem, task.n_bins, solver=task.solver, rng=task.rng, **task.chosen("posterior"))


def _imax_at_once(task: Task) -> Binnings | None:
    if task.solver != "exact" or task.options.get("posterior", "sigmoid") != "sigmoid":
        return None
    return Binnings.joined(task.from_stacks(partial(fit_imax_stack, n_bins=task.n_bins)))


# -- the choice ----------------------------------------------------------------------------------------------------


def _auto(task: Task) -> Fitted:
    """The candidate that cross-validation prefers, fitted to all samples."""
    logits, labels, weights = task.samples
    given = _given(task.options["candidates"]) if "candidates" in task.options else []
    judged = Part(logits, labels, np.ones(len(labels)) if weights is None else weights)
    choice = choose(
        partial(_fit_candidate, task), judged, given or _candidates(task), (lambda _: ()) if given else _binned
    )
    method, facts = _fitted(task, choice.chosen)
    return method, choice.facts | facts


def _given(names: Any) -> list[Candidate]:
    if isinstance(names, str) or not len(names) or not all(isinstance(name, str) and name != "auto" for name in names):
        raise ValueError(f"candidates: expected names of recipes other than auto, got {names!r}")
    try:
        return [Candidate(name) for name in names if _row(name)]
    except ValueError as error:
        raise ValueError(f"candidates: expected names of recipes other than auto ({error})") from None


def _fit_candidate(task: Task, candidate: Candidate, part: Part) -> Method:
    return _fitted(replace(task, **part._asdict()), candidate)[0]


def _fitted(task: Task, candidate: Candidate) -> Fitted:
    """The fit of a recipe; `groups`, and a candidate to go `after`, are options of candidates alone."""
    options = dict(candidate.options)
    classwise, after = options.pop("groups", None) == "classwise", options.pop("after", None)
    if after is None:
        groups = np.arange(task.logits.shape[1]) if classwise else task.groups
        return _row(candidate.recipe).fit(replace(task, groups=groups, options=options))
    first = _fitted(task, after)[0]
    floor = floor_of(first(task.logits))
    straightened = replace(task, logits=told(first, floor, task.logits))
    second, facts = _fitted(straightened, Candidate(candidate.recipe, tuple(options.items())))
    return Chain(first, floor, second), facts


def _after(first: Candidate, recipe: str, **options: Any) -> Candidate:
    return Candidate(recipe, (*options.items(), ("after", first)))


def _candidates(task: Task) -> list[Candidate]:
    """Scalings from the plain to the free; those that need many samples only where there are so many."""
    n, K = task.logits.shape
    rows = ("svs", "sms") if n >= K * K else ("svs",)
    ways = [(), CLASSWISE] if n >= HITS * K and task.groups.max() < K - 1 else [()]
    curves = [Candidate("gp"), *(Candidate(name, way) for name in ("beta", "isotonic") for way in ways)]
    chains = [_after(curve, row) for row in rows for curve in (curves[0], curves[-1])]
    return [*(Candidate(name) for name in ("identity", "temperature", "ets")), *curves, *map(Candidate, rows), *chains]


def _binned(scaling: Candidate) -> list[Candidate]:
    """I-Max alone and over a scaling: on raw or on scaled log-odds, answering with scaled probabilities or with
    frequencies. These are not left to be 0, which no score forgives."""
    alone = Candidate("imax", (("prior_count", 1.0),))
    if scaling.recipe not in SCALINGS:
        return [alone]
    over = [_after(scaling, "imax", representatives="own"), _after(scaling, "imax", prior_count=1.0)]
    raw = Candidate(f"imax+{scaling.recipe}", scaling.options)
    return [alone, *over] if "after" in dict(scaling.options) else [alone, raw, *over]


BINNINGS: dict[str, Bins] = {
    "eqsize": Bins(
        Finder(lambda task, problem: measured(problem, eq_size_edges(task.n_bins))),
        "bins of equal width in probability",
        "Zadrozny & Elkan (2001)",
    ),
    "eqmass": Bins(
        Finder(lambda task, problem: measured(problem, eq_mass_edges(problem, task.n_bins))),
        "bins of equal mass",
        "Zadrozny & Elkan (2001)",
    ),
    "kmeans": Bins(
        Finder(lambda task, problem: measured(problem, kmeans_edges(problem, task.n_bins))),
        "bins of least squared distance in log-odds",
        "Patel et al. (2021), sec. A.9",
    ),
    "imax": Bins(
        Finder(_imax, _imax_at_once),
        "bins that keep the most information about the label",
        "Patel et al. (2021)",
        ("posterior",),
    ),
}

SCALINGS: dict[str, Scaling] = {
    "temperature": Scaling(lambda task: fit_temperature(*task.samples), "one temperature", "Guo et al. (2017)"),
    "vector": Scaling(lambda task: fit_vector(*task.samples), "a scale and a bias for each class", "Guo et al. (2017)"),
    "matrix": Scaling(
        lambda task: fit_matrix(*task.samples, **task.chosen("off_diagonal", "on_bias")),
        "a matrix and a bias, with penalties off the diagonal and on the bias",
        "Guo et al. (2017); Kull et al. (2019)",
        ("off_diagonal", "on_bias"),
    ),
    "svs": Scaling(
        lambda task: fit_svs(*task.samples), "vector scaling that stays near one temperature", "Berta et al. (2025)"
    ),
    "sms": Scaling(
        lambda task: fit_sms(*task.samples), "matrix scaling that stays near one temperature", "Berta et al. (2025)"
    ),
    "ets": Scaling(
        lambda task: fit_ets(*task.samples), "a mixture of the best temperature, 1 and infinity", "Zhang et al. (2020)"
    ),
    "bws": Scaling(
        lambda task: fit_bws(*task.samples, n_bins=task.n_bins),
        "a temperature for each bin of confidence",
        "Ji et al. (2019)",
    ),
    "gp": Scaling(
        lambda task: fit_gp(*task.samples, **task.chosen("n_inducing")),
        "one increasing curve of the log-probabilities, from a Gaussian process",
        "Wenger et al. (2020)",
        ("n_inducing",),
    ),
    "platt": _map(fit_platt, "a line of the log-odds", "Platt (1999)"),
    "beta": _map(fit_beta, "a line of log q and of log (1 - q)", "Kull et al. (2017)"),
    "isotonic": _map(fit_isotonic, "the best map that never decreases", "Zadrozny & Elkan (2002)"),
}

RECIPES: dict[str, Recipe] = {
    "identity": Recipe(lambda task: (Identity(), {}), "the classifier's own softmax", "Bridle (1990)"),
    **{name: _alone(part) for name, part in (BINNINGS | SCALINGS).items()},
    "bbq": _alone(_map(fit_bbq, "the mean of equal-mass binnings of many sizes", "Naeini et al. (2015)")),
    "scaling-binning": _over(BINNINGS["eqmass"], SCALINGS["platt"]),
    "auto": Recipe(_auto, "what cross-validation of these prefers, see `fit_info`", "Stone (1974)", ("candidates",)),
}
