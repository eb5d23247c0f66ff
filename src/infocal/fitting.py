"""How the rows of the table of recipes are fitted: a scaling, a binning, or a binning over a scaling.

A scaling is a record that maps logits to probabilities: a softmax of `scores(logits)`, or one-vs-rest of maps that
have `logodds(logodds)`. A binning over a scaling differs from a binning in two ways alone: its representatives average
the scaling's probabilities, and at `stage="scaled"` its edges stand on the scaling's log-odds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from .arrays import Array, Floats, Ints, check_probs
from .binning.edges import edges_at
from .binning.histogram import Sums, fit_histograms, sums_of_sorted
from .binning.imax import Binning, Binnings
from .calibrator import Method
from .mapped import BLOCK, is_mapped
from .numerics import bounded, sigmoid
from .onevsrest import OneVsRest, Staged, Values, sums_of_rows
from .problems import Binary, Stack, are_many, binary, from_stacks, questions
from .summary import Summary, summary_of

__all__ = ["STAGES", "Finder", "Fitted", "Scale", "Task", "fit_binning", "fit_over", "fit_scaling", "one_vs_rest"]

Made = TypeVar("Made")

STAGES = ("raw", "scaled")
FACTS = ("loss", "evidence", "gap", "gradient", "separable")  # of a scaling, where it knows them


@dataclass(frozen=True)
class Task:
    """Checked data and settings of a fit; of a summary, which has no rows, the logits are (0, K)."""

    logits: Array
    labels: Ints
    weights: Floats | None
    groups: Ints
    n_bins: int
    solver: str
    rng: np.random.Generator
    options: dict[str, Any] = field(default_factory=dict)
    summary: Summary | None = None

    @property
    def samples(self) -> tuple[Array, Ints, Floats | None]:
        if self.summary is not None:
            raise ValueError(
                "recipe: expected a binning or a map of log-odds (platt, beta, isotonic, bbq), since summaries and "
                "blocks keep nothing else; for others give logits and labels as arrays, which may be memory-mapped"
            )
        return self.logits, self.labels, self.weights

    @property
    def is_summarised(self) -> bool:
        """Whether the points of the questions are cells, and not the samples themselves."""
        return self.summary is not None or self.is_large or are_many(self.logits, self.groups)

    @property
    def is_large(self) -> bool:
        """Whether the logits are not to be held in memory."""
        return is_mapped(self.logits) and self.logits.size > BLOCK

    def questions(self) -> list[Binary]:
        """The one-vs-rest question of each group."""
        if self.summary is not None:
            return self.summary.questions()
        if self.is_large:
            return summary_of(self.logits, self.labels, self.groups, self.weights).questions()
        return questions(self.logits, self.labels, self.groups, self.weights)

    def from_stacks(self, make: Callable[[Stack], Made]) -> Iterator[Made]:
        """What is made of a few questions at a time, until all are done."""
        return from_stacks(make, self.logits, self.labels, self.groups, self.weights)

    def chosen(self, *names: str) -> dict[str, Any]:
        """Those of the options that were given, by name."""
        return {name: self.options[name] for name in names if name in self.options}


Fitted = tuple[Method, dict[str, Any]]
Scale = Callable[[Task], Any]  # to a scaling


@dataclass(frozen=True)
class Finder:
    """Where the edges of one question are and, where that can be told sooner, those of all at once: it returns None for
    tasks that it does not take."""

    of_one: Callable[[Task, Binary], Binning]
    of_all: Callable[[Task], Binnings | None] = lambda _: None


# -- scalings ------------------------------------------------------------------------------------------------------


def fit_scaling(scale: Scale, task: Task) -> Fitted:
    """A scaling and what it knows of its optimum."""
    method = scale(task)
    return method, _facts(method)


def one_vs_rest(fit_member: Callable[[Binary], Any]) -> Scale:
    """The scaling that answers each group's question by a map of its own."""
    return lambda task: OneVsRest(task.groups, tuple(fit_member(problem) for problem in task.questions()))


def _facts(method: Any) -> dict[str, Any]:
    """What a scaling knows of its optimum; of one-vs-rest the worst of all."""
    members = method.members if isinstance(method, OneVsRest) else (method,)
    known = [name for name in FACTS if hasattr(members[0], name)]
    return {name: max(getattr(member, name) for member in members) for name in known}


# -- binnings ------------------------------------------------------------------------------------------------------


def fit_binning(finder: Finder, task: Task) -> Fitted:
    """Bins whose representatives are frequencies, unless asked otherwise."""
    wanted = task.options.get("representatives", "frequency")
    found = finder.of_all(task) if _is_told(wanted) and not task.is_summarised else None
    if found is None:
        problems = task.questions()
        binnings = [_found(finder, task, problem) for problem in problems]
        return _answering(task, problems, binnings, wanted)
    sums = found.sums if wanted == "frequency" else replace(found.sums, values=found.sums.own)
    return _members(task, found.edges, sums), _information(found)


def fit_over(finder: Finder, scale: Scale, task: Task) -> Fitted:
    """Bins whose representatives are the means of a scaling's probabilities, unless asked otherwise."""
    scaler = scale(task)
    wanted = task.options.get("representatives", "scaled")
    scaled_stage = task.options.get("stage", "raw") == "scaled"
    if scaled_stage and not isinstance(scaler, OneVsRest):
        own = {"representatives": "own" if isinstance(wanted, str) and wanted == "scaled" else wanted}
        scaled = replace(task, logits=scaler.scores(task.logits), options=task.options | own)
        binned, information = fit_binning(finder, scaled)
        assert isinstance(binned, OneVsRest)
        return Staged(scaler, binned), information | _facts(scaler)
    problems = task.questions()
    if scaled_stage:
        found = [_seen_through(m, finder, task, p) for m, p in zip(scaler.members, problems, strict=True)]
    else:
        found = [_found(finder, task, problem) for problem in problems]
    method, information = _answering(task, problems, found, wanted, scaler)
    return method, information | _facts(scaler)


def _found(finder: Finder, task: Task, problem: Binary) -> Binning:
    """The binning of a question; where cells are all there is, its edges stand between them."""
    found = finder.of_one(task, problem)
    return found if task.summary is None else replace(found, edges=problem.aligned(found.edges))


def _seen_through(member: Any, finder: Finder, task: Task, problem: Binary) -> Binning:
    """The binning of a question's log-odds as a map sees them, its edges taken back to the log-odds themselves: no map
    here changes direction, so that bins stay intervals."""
    x = bounded(member.logodds(problem.logodds))
    found = finder.of_one(task, binary(x, problem.hits, problem.weights))
    falls = x[-1] < x[0]
    cuts = np.sort([np.count_nonzero(x >= edge if falls else x < edge) for edge in found.edges])
    gap = found.information_gap if not problem.width else np.inf  # the map stretches cells, whose bound is lost
    return replace(found, edges=edges_at(problem, cuts), information_gap=gap)


def _answering(task: Task, problems: list[Binary], found: list[Binning], wanted: Any, scaler: Any = None) -> Fitted:
    """The binnings found, their bins answering with the means of what is wanted."""
    binnings = Binnings.of(found, _sums(task, problems, found, wanted, scaler))
    hidden = {}
    if any(problem.width for problem in problems):
        mass = [problem.weights.sum() for problem in problems]
        hidden["information_hidden"] = float(np.average([problem.hidden for problem in problems], weights=mass))
    return _members(task, binnings.edges, binnings.sums), _information(binnings) | hidden


def _members(task: Task, edges: Floats, sums: Sums) -> OneVsRest:
    return OneVsRest(task.groups, tuple(fit_histograms(edges, sums, **task.chosen("monotone", "prior_count"))))


def _information(found: Binnings) -> dict[str, Any]:
    """Means over the points of all questions, in nats."""
    names = ("information", "information_limit", "information_gap")
    means = {name: float(np.average(getattr(found, name), weights=found.sums.weights.sum(axis=1))) for name in names}
    return {name: mean for name, mean in means.items() if np.isfinite(mean)}


# -- what representatives average ----------------------------------------------------------------------------------


def _is_told(wanted: Any) -> bool:
    """Whether the points tell what is averaged."""
    return isinstance(wanted, str) and wanted in ("own", "frequency")


def _sums(task: Task, problems: list[Binary], found: list[Binning], wanted: Any, scaler: Any = None) -> list[Sums]:
    """Totals of each question's bins, of what its representatives average."""
    if task.summary is not None:
        return [_sums_of_cells(*part, wanted, scaler) for part in enumerate(zip(problems, found, strict=True))]
    edges = [binning.edges for binning in found]
    pairs = list(zip(problems, edges, strict=True))
    if _is_told(wanted) and all(problem.parted_by(e) for problem, e in pairs):
        own = wanted == "own"
        return [sums_of_sorted(e, p.logodds, p.weights, sigmoid(p.logodds) if own else p.hits) for p, e in pairs]
    values = _values(task, wanted, scaler)
    return sums_of_rows(task.logits, task.weights, task.groups, edges, values)


def _sums_of_cells(g: int, part: tuple[Binary, Binning], wanted: Any, scaler: Any) -> Sums:
    """Totals of the bins of group g where its cells are all there is."""
    problem, found = part
    if not isinstance(wanted, str):
        raise ValueError("representatives: expected a name, since summaries and blocks have no rows to average")
    if wanted == "frequency":
        values = problem.hits
    else:
        values = sigmoid(problem.logodds) if wanted == "own" else scaler.members[g](problem.logodds)
    return sums_of_sorted(found.edges, problem.logodds, problem.weights, values)


def _values(task: Task, wanted: Any, scaler: Any) -> Values:
    """What is averaged, for rows of the samples and their log-odds."""
    if not isinstance(wanted, str):
        averaged = check_probs(wanted, name="representatives")
        if averaged.shape != task.logits.shape:
            raise ValueError(f"representatives: expected the shape of the logits, got {averaged.shape}")
        return lambda rows, _: averaged[rows]
    if wanted == "own":
        return lambda _, logodds: sigmoid(logodds)
    if wanted == "frequency":
        classes = np.arange(task.logits.shape[1])
        return lambda rows, _: np.equal.outer(task.labels[rows], classes)
    if isinstance(scaler, OneVsRest):
        return lambda _, logodds: scaler.from_logodds(logodds)
    return lambda rows, _: scaler(task.logits[rows])
