"""Choice among recipes by repeated cross-validation on the calibration samples alone.

Each candidate answers for samples that it was not fitted to, in stratified folds laid out anew each time. What counts
is the negative log-likelihood of the normalised rows, a proper score: no candidate gains by saying anything but what it
believes. Candidates that lose accuracy against the raw logits, beyond what chance allows, are out. Of the rest, those
that cost next to nothing more than the least loss, and no more than its standard error (Breiman et al., 1984), are as
good as each other, and the plainest of them, the first in their order, is chosen. Unless the calibration error of
another that costs next to nothing is lower beyond chance: that is how a binning can win, which gives up a little of the
score for probabilities that hold.

Folds depend on what the samples are, not on their order or on a seed. Samples that agree in everything are one sample
of their summed weight and share a fold, so that no copy of a judged sample is in the fit.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import kernels
from .arrays import Array, Floats, Ints
from .metrics.calibration import reliability
from .metrics.scores import SMALLEST, read
from .numerics import softmax

__all__ = ["Candidate", "Choice", "Part", "choose"]

FOLDS = 5
ROUNDS = 2
NORMAL = 1.6449  # 95 % of the normal distribution: intervals hold 90 %, one-sided tests err in 5 %
STUDENT = 2.1318  # 95 % of Student's t of FOLDS - 1 degrees of freedom, for what is estimated by leaving folds out
HOPELESS = 4.0  # standard errors behind the best after one round: no further round turns that
PRICE = 0.005  # share of the loss that is next to nothing: half of the 1 % by which recipes are told apart in practice
LESS = 0.9  # share of the calibration error that another may have left to be called better calibrated
ENDS = (("", 0), ("_low", -1), ("_high", 1))
BINS = 15  # of the calibration error, which is debiased, so that their number matters little


class Candidate(NamedTuple):
    """A recipe and its options by name."""

    recipe: str
    options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.options)
        return f"{self.recipe} ({settings})" if settings else self.recipe


class Part(NamedTuple):
    """Samples to fit to or to judge by."""

    logits: Array
    labels: Ints
    weights: Floats

    def take(self, rows: Array) -> "Part":
        """Some of the samples."""
        return Part(self.logits[rows], self.labels[rows], self.weights[rows])


Method = Callable[[Array], Array]
Fit = Callable[[Candidate, Part], Method]


class Choice(NamedTuple):
    """The chosen candidate, why, and the measures of all candidates with their 90 % intervals."""

    chosen: Candidate
    reason: str
    measures: dict[str, dict[str, float]]

    @property
    def facts(self) -> dict[str, Any]:
        """What `fit_info` tells of the choice."""
        return {"chosen": str(self.chosen), "reason": self.reason, "table": self.table, "candidates": self.measures}

    @property
    def table(self) -> str:
        """The measures as lines of text, the chosen candidate marked."""
        width = max(map(len, [*self.measures, "candidate"]))
        head = f"  {'candidate':<{width}}  {'NLL':<24}  {'class-wise error':<24}  accuracy"
        return "\n".join([head, *(self._line(name, width) for name in self.measures)])

    def _line(self, name: str, width: int) -> str:
        m = self.measures[name]
        nll, error = (f"{m[k]:.4f} [{m[f'{k}_low']:.4f}, {m[f'{k}_high']:.4f}]" for k in ("nll", "error"))
        return (
            f"{'*' if name == str(self.chosen) else ' '} {name:<{width}}  {nll:<24}  {error:<24}  {m['accuracy']:8.2%}"
        )


def choose(
    fit: Fit,
    part: Part,
    candidates: Sequence[Candidate],
    variants: Callable[[Candidate], Sequence[Candidate]] = lambda _: (),
) -> Choice:
    """The best of the candidates and, in a second stage, of the `variants` of the best of them.

    `fit(candidate, part)` returns the map from logits to probabilities. Parts hold no sample twice. Candidates stand in
    order from the plainest to the freest; variants come after them.
    """
    softmax(part.logits)  # raises for a row that is none, by its number among the caller's
    part = _distinct(part)
    if len(part.labels) < FOLDS:
        return Choice(candidates[0], f"fewer than {FOLDS} distinct samples cannot tell which is best", {})
    court = _Court(fit, part)
    trials = court.tried(candidates)
    best = court.best(trials)
    trials |= court.tried([c for c in variants(best) if c not in trials], trials[best])
    chosen, reason = court.verdict(trials)
    return Choice(chosen, reason, {str(c): court.measures(trial) for c, trial in trials.items()})


# -- samples and their folds ---------------------------------------------------------------------------------------


def _distinct(part: Part) -> Part:
    """Samples of positive weight, those that agree in everything made one; their order says nothing of the caller's.
    Weights are scaled so that they sum to the number of equally heavy samples that would tell as much (Kish, 1965)."""
    part = part.take(part.weights > 0)
    content = np.column_stack((part.labels, part.logits)) + 0.0  # 0.0 and -0.0 are the same logit
    rows = np.ascontiguousarray(content).view(np.dtype((np.void, content.itemsize * content.shape[1])))[:, 0]
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    mass = np.bincount(place, part.weights)
    return Part(part.logits[first], part.labels[first], mass * (mass.sum() / (mass @ mass)))


def _layouts(labels: Ints, loss: Floats) -> Iterable[Ints]:
    """Fold (n,) of each sample for each round, alike in labels and otherwise drawn.

    What is drawn goes to samples in the order of their class and loss, not in the caller's, so that it follows them
    wherever they stand. Folds alike in the loss too would be alike in every accident of the samples, and a fit to
    these accidents would be rewarded.
    """
    count, told = np.bincount(labels), np.bincount(labels, loss)
    place = np.empty(len(count), dtype=np.int64)
    place[np.lexsort((told, count))] = np.arange(len(count))  # classes by what they hold, not by their number
    order = np.lexsort((loss, place[labels]))
    folds = np.empty((ROUNDS, len(labels)), dtype=np.int64)
    for turn in range(ROUNDS):
        drawn = np.random.default_rng(turn).permutation(len(labels))
        folds[turn, order[np.lexsort((drawn, place[labels[order]]))]] = np.arange(len(labels)) % FOLDS
    return list(folds)


# -- trials --------------------------------------------------------------------------------------------------------


class _Trial(NamedTuple):
    """What a candidate said of samples it had not seen. Loss and whether right (n,), means over the rounds; and of
    each round the square of the calibration error of all samples and of all but each fold (rounds, 1 + FOLDS), which
    is as often too low as too high and may be below 0."""

    loss: Floats
    right: Floats
    squares: Floats


Trials = dict[Candidate, _Trial]


class _Court:
    """Judges candidates, all on the same folds."""

    def __init__(self, fit: Fit, part: Part) -> None:
        self.fit, self.part = fit, part
        own = softmax(part.logits)
        self.raw, loss = _scores(own, part)
        self.layouts = list(_layouts(part.labels, loss))

    def tried(self, candidates: Sequence[Candidate], against: _Trial | None = None) -> Trials:
        """Trials of candidates; those that are far behind the best, or behind `against`, get one round."""
        first = {candidate: self._round(candidate, self.layouts[0]) for candidate in candidates}
        rivals = [*first.values(), *([] if against is None else [against])]
        best = min(rivals, key=lambda trial: self.mean(trial.loss)) if rivals else None
        return {
            candidate: trial if best is None or self._hopeless(trial, best) else self._further(candidate, trial)
            for candidate, trial in first.items()
        }

    def _further(self, candidate: Candidate, first: _Trial) -> _Trial:
        rounds = [first, *(self._round(candidate, folds) for folds in self.layouts[1:])]
        loss, right = (np.mean([getattr(r, name) for r in rounds], axis=0) for name in ("loss", "right"))
        return _Trial(loss, right, np.concatenate([r.squares for r in rounds]))

    def _round(self, candidate: Candidate, folds: Ints) -> _Trial:
        probs = np.empty(self.part.logits.shape, dtype=self.part.logits.dtype)
        for fold in range(FOLDS):
            out = folds == fold
            probs[out] = self.fit(candidate, self.part.take(~out))(self.part.logits[out])
        right, loss = _scores(probs, self.part)
        kept = [np.ones(len(folds), dtype=bool), *(folds != fold for fold in range(FOLDS))]
        squares = [_squared_error(probs[rows], self.part.take(rows)) for rows in kept]
        return _Trial(loss, right, np.array([squares]))

    def _hopeless(self, trial: _Trial, best: _Trial) -> bool:
        lead = trial.loss - best.loss
        return self.mean(lead) > HOPELESS * self.deviation(lead)

    # -- the verdict -----------------------------------------------------------------------------------------------

    def best(self, trials: Trials) -> Candidate:
        """The first candidate as good as that of least loss."""
        near = self._near(trials)
        least = trials[min(near, key=lambda c: self.mean(trials[c].loss))].loss
        leads = {c: trials[c].loss - least for c in near}
        return next(c for c, lead in leads.items() if self.mean(lead) <= self.deviation(lead))

    def _near(self, trials: Trials) -> list[Candidate]:
        """Candidates that cost next to nothing more than the least loss, of those that lose no accuracy."""
        able = [c for c in trials if self._able(trials[c])] or list(trials)
        most = (1 + PRICE) * min(self.mean(trials[c].loss) for c in able)
        return [c for c in able if self.mean(trials[c].loss) <= most]

    def verdict(self, trials: Trials) -> tuple[Candidate, str]:
        """The chosen candidate and the reason."""
        best = self.best(trials)
        nll = self.mean(trials[best].loss)
        reason = f"{best} is the first of those as good as the least loss, with {nll:.4f} nats"
        better = [c for c in self._near(trials) if self._better_calibrated(trials[c], trials[best])]
        if not better:
            return best, f"{reason}; none within {PRICE:.1%} of that is better calibrated beyond chance"
        chosen = min(better, key=lambda c: _whole(trials[c].squares))
        price = self.mean(trials[chosen].loss) / nll - 1
        change = " to ".join(f"{_root(_whole(trials[c].squares)):.4f}" for c in (best, chosen))
        return chosen, f"{reason}; {chosen} costs {price:+.2%} and lowers the class-wise error from {change}"

    def measures(self, trial: _Trial) -> dict[str, float]:
        """Loss, calibration error and accuracy of a trial with their intervals, and its rounds."""
        means = {
            name: (self.mean(v), NORMAL * self.deviation(v))
            for name, v in (("nll", trial.loss), ("accuracy", trial.right))
        }
        found = {f"{name}{end}": m + side * reach for name, (m, reach) in means.items() for end, side in ENDS}
        square, reach = _whole(trial.squares), STUDENT * _left_out(trial.squares)
        return (
            found | {f"error{end}": _root(square + side * reach) for end, side in ENDS} | {"rounds": len(trial.squares)}
        )

    def _able(self, trial: _Trial) -> bool:
        gain = trial.right - self.raw
        return self.mean(gain) + NORMAL * self.deviation(gain) >= 0

    def _better_calibrated(self, trial: _Trial, best: _Trial) -> bool:
        """Whether the best is wrong beyond chance, and the other less so, by something and beyond chance."""
        wrong = _whole(best.squares)
        if wrong <= STUDENT * _left_out(best.squares) or _whole(trial.squares) > LESS**2 * wrong:
            return False
        rounds = min(len(trial.squares), len(best.squares))
        change = trial.squares[:rounds] - best.squares[:rounds]
        return _whole(change) + STUDENT * _left_out(change) < 0

    def mean(self, values: Floats) -> float:
        """Weighted mean over the samples."""
        return float(np.average(values, weights=self.part.weights))

    def deviation(self, values: Floats) -> float:
        """Standard error of that mean."""
        w = self.part.weights
        return float(np.sqrt(np.sum((w * (values - self.mean(values))) ** 2)) / w.sum())


# -- measures ------------------------------------------------------------------------------------------------------


def _scores(probs: Array, part: Part) -> tuple[Floats, Floats]:
    """Whether right, equal probabilities being ranked by the logits, and the loss of the normalised row (n,)."""
    rows = read(kernels.reliability(probs, part.labels, None, part.logits), probs.shape[1], None)
    empty = rows.total == 0
    told = np.where(empty, 1 / rows.n_classes, rows.told / np.where(empty, 1.0, rows.total))
    return rows.correct.astype(np.float64), -np.log(np.maximum(told, SMALLEST))


def _squared_error(probs: Array, part: Part) -> float:
    """Mean over classes of the squared calibration errors of the probabilities above 1 / K, less what chance adds to
    them (Kumar et al., 2019)."""
    table = reliability(probs, part.labels, kind="classwise", n_bins=BINS, threshold="1/K", weights=part.weights)
    told = table.weights > 1
    weights, rate = table.weights[told], table.frequency[told]
    squares = (table.excess[told] / weights) ** 2 - rate * (1 - rate) / (weights - 1)
    return float(table.share[told] @ squares / table.questions)


def _whole(squares: Floats) -> float:
    """What is said of all samples, mean over the rounds."""
    return float(squares[:, 0].mean())


def _left_out(squares: Floats) -> float:
    """Standard error of that, by the jackknife that leaves out a fold at a time."""
    parts = squares[:, 1:]
    spread = ((parts - parts.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return float(np.sqrt((FOLDS - 1) / FOLDS * spread.mean()))


def _root(square: float) -> float:
    return float(np.sqrt(max(square, 0.0)))
