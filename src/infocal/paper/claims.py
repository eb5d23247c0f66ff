"""What the paper says in words, each as a question of one split that is answered yes or no.

A claim holds on a set of splits when four fifths of them say yes. Numbers that the paper leaves open ("severe",
"close") are in the claim's own words; they were read off the paper's tables, not off our results.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from .figures.densities import TOYS, kde_fit_part, toy_errors
from .figures.errors import SHOWN, by_bins
from .figures.merging import distances
from .figures.plane import convergence, information_plane, truth
from .lab import Lab
from .settings import FULL, Setting
from .tables import EVERYTHING, IMBALANCED

__all__ = ["CLAIMS", "Claim", "Verdict", "judge"]

ENOUGH = 0.8  # of the splits
BASELINE = Setting("identity", FULL)
EQMASS, EQSIZE, IMAX = Setting("eqmass"), Setting("eqsize"), Setting("imax")
TS, GP, IMAX_GP = Setting("temperature"), Setting("gp"), Setting("imax+gp")
IMAX_CW = Setting("imax", FULL, "classwise", representatives="own")


class Claim(NamedTuple):
    """A sentence, where the paper says it, and the question of a split. `once` asks the first split alone: the answer
    takes long or does not depend on the split."""

    name: str
    says: str
    where: str
    asks: Callable[[Lab, int], bool]
    once: bool = False


class Verdict(NamedTuple):
    """Answers to a claim: for each set, how many splits say yes, of how many."""

    claim: Claim
    counts: tuple[tuple[str, int, int], ...]

    @property
    def yes(self) -> int:
        return sum(yes for _, yes, _ in self.counts)

    @property
    def asked(self) -> int:
        return sum(asked for _, _, asked in self.counts)

    @property
    def holds(self) -> bool:
        """Whether enough of all splits say yes."""
        return self.yes >= ENOUGH * self.asked


def judge(claim: Claim, labs: Sequence[Lab]) -> Verdict:
    """Ask a claim of every split of some sets."""
    counts = []
    for lab in labs:
        answers = [claim.asks(lab, split) for split in range(1 if claim.once else lab.splits)]
        counts.append((lab.samples.name, sum(answers), len(answers)))
    return Verdict(claim, tuple(counts))


# -- questions -----------------------------------------------------------------------------------------------------


def _lower(measure: str, better: Setting, worse: Setting) -> Callable[[Lab, int], bool]:
    """Whether one setting's error is below another's."""
    return lambda lab, split: lab.value(better, measure, split) < lab.value(worse, measure, split)


def _near(measure: str, setting: Setting, points: float) -> Callable[[Lab, int], bool]:
    """Whether a setting has the baseline's accuracy, or is at most so many points below."""

    def asks(lab: Lab, split: int) -> bool:
        return lab.value(BASELINE, "accuracy", split) - lab.value(setting, measure, split) <= points / 100 + 1e-12

    return asks


def _ordered(measure: str, *best_first: Setting) -> Callable[[Lab, int], bool]:
    def asks(lab: Lab, split: int) -> bool:
        return bool(np.all(np.diff([lab.value(setting, measure, split) for setting in best_first]) <= 0))

    return asks


def _lowest(measure: str, best: Setting, others: Iterable[Setting]) -> Callable[[Lab, int], bool]:
    rivals = [setting for setting in others if setting != best]

    def asks(lab: Lab, split: int) -> bool:
        return lab.value(best, measure, split) <= min(lab.value(rival, measure, split) for rival in rivals)

    return asks


def _most_information(lab: Lab, split: int) -> bool:
    rivals = (EQSIZE, EQMASS)
    return all(lab.value(IMAX, "information", split) > lab.value(r, "information", split) for r in rivals)


def _equal_mass_fails(lab: Lab, split: int) -> bool:
    return lab.value(BASELINE, "accuracy", split) - lab.value(EQMASS, "accuracy", split) >= 0.01


def _near_the_bound(lab: Lab, split: int) -> bool:
    return lab.value(IMAX, "information", split) >= 0.95 * lab.value(IMAX, "information_limit", split)


def _washed_out(lab: Lab, split: int) -> bool:
    return lab.value(BASELINE, "cw_ece_0", split) < 0.1 * lab.value(BASELINE, "top1_ece", split)


def _sharing_helps(recipe: str) -> Callable[[Lab, int], bool]:
    shared, own = Setting(recipe), Setting(recipe, groups="classwise")

    def asks(lab: Lab, split: int) -> bool:
        as_exact = lab.value(shared, "accuracy", split) >= lab.value(own, "accuracy", split)
        return as_exact and _lower("top1_ece", shared, own)(lab, split)

    return asks


def _best_accuracy(lab: Lab, split: int) -> bool:
    settings = [row.setting for row in EVERYTHING]
    best = max(lab.value(setting, "accuracy", split) for setting in settings)
    return lab.value(Setting("matrix", FULL), "accuracy", split) >= best


def _loses(setting: Setting, points: float) -> Callable[[Lab, int], bool]:
    near = _near("accuracy", setting, points)
    return lambda lab, split: not near(lab, split)


def _unsteady(lab: Lab, split: int) -> bool:
    errors = by_bins(lab, SHOWN["TS"], split)
    return bool(errors.max() > 1.25 * errors.min())


def _agnostic(lab: Lab, split: int) -> bool:
    spread = {}
    for setting in (IMAX, TS):
        errors = [lab.value(setting, f"top1_{scheme}", split) for scheme in ("size", "mass", "kmeans", "imax")]
        spread[setting] = max(errors) / min(errors)
    return spread[IMAX] < spread[TS]


def _converges(lab: Lab, split: int) -> bool:
    density = truth(lab, split)
    whole = lab.value(IMAX, "information_limit", split)
    steps = convergence(density)
    risen = all(steps[name][-1] > steps[name][0] for name in ("Eq. Size", "Eq. Mass"))
    return risen and all(kept[-1] >= 0.95 * whole for kept in steps.values())


def _at_the_limit(lab: Lab, split: int) -> bool:
    facts = information_plane(lab).facts
    shares = {name: facts[f"{name}: least share of the limit at its rate"] for name in ("I-Max", "Eq. Mass")}
    return shares["I-Max"] >= 0.95 and shares["Eq. Mass"] < 0.8


def _shared_is_nearer(lab: Lab, split: int) -> bool:
    shared, own = distances(lab, split, 1000)
    return bool(np.mean(shared < own) > 0.5)


def _fits_better(lab: Lab, split: int) -> bool:
    labels = {"kde": "fig:kde_fit_plot_c100_prob", "kde-logodds": "fig:kde_fit_plot_c100_log"}
    mismatch = {space: next(iter(kde_fit_part(lab, label, space).facts.values())) for space, label in labels.items()}
    return mismatch["kde-logodds"] < mismatch["kde"]


def _toys_are_better(lab: Lab, split: int) -> bool:
    errors = [toy_errors(*toy) for toy in TOYS]
    return all(error["kde-logodds"] < error["kde"] for error in errors)


def _best_imbalanced(measure: str) -> Callable[[Lab, int], bool]:
    """Whether the least is that of I-Max or one of its variants, where classes are imbalanced."""

    def asks(lab: Lab, split: int) -> bool:
        settings = [row.setting for row in IMBALANCED]
        errors = {setting: lab.imbalanced.value(setting, measure, split) for setting in settings}
        return min(settings, key=lambda setting: errors[setting]).binned

    return asks


# -- the claims ----------------------------------------------------------------------------------------------------


def _bins(recipe: str, size: int, count: int) -> Setting:
    return Setting(recipe, size, n_bins=count)


IN_BINNINGS = (
    Claim("accuracy", "I-Max loses at most 0.2 points of accuracy", "4.1", _near("accuracy", IMAX, 0.2)),
    Claim("equal mass", "equal mass binning loses at least 1 point", "4.1", _equal_mass_fails),
    Claim("most information", "I-Max keeps more information than the other binnings", "4.1", _most_information),
    Claim("second most", "... and equal size more than equal mass", "4.1", _ordered("information", EQSIZE, EQMASS)),
    Claim(
        "order of accuracy",
        "accuracies fall from I-Max to equal size to equal mass",
        "4.1",
        _ordered("accuracy", IMAX, EQSIZE, EQMASS),
    ),
    Claim("bound", "I-Max keeps at least 95 % of I(y; log-odds)", "4.1", _near_the_bound),
    Claim(
        "top five",
        "equal size binning is behind I-Max in top-5 accuracy",
        "4.1",
        _ordered("accuracy_top5", IMAX, EQSIZE),
    ),
    Claim(
        "sharing, top-1",
        "shared I-Max on 1k has less top-1 ECE than class-wise on all",
        "4.1",
        _lower("top1_ece", IMAX, IMAX_CW),
    ),
    Claim("sharing, class-wise", "... and less class-wise ECE", "4.1", _lower("cw_ece_1/K", IMAX, IMAX_CW)),
    Claim("sharing, NLL", "... and less NLL", "4.1", _lower("nll_normalised", IMAX, IMAX_CW)),
    Claim("threshold", "without threshold, class-wise ECE hides a top-1 ECE ten times as large", "4.1", _washed_out),
)
AGAINST_SCALINGS = (
    Claim("baseline, top-1", "I-Max has less top-1 ECE than the classifier", "4.2", _lower("top1_ece", IMAX, BASELINE)),
    Claim("baseline, class-wise", "... and less class-wise ECE", "4.2", _lower("cw_ece_1/K", IMAX, BASELINE)),
    Claim("TS, top-1", "I-Max has less top-1 ECE than temperature scaling", "4.2", _lower("top1_ece", IMAX, TS)),
    Claim("TS, class-wise", "... and less class-wise ECE", "4.2", _lower("cw_ece_1/K", IMAX, TS)),
    Claim("TS, NLL", "... and less NLL (on ImageNet)", "tab:app_tab2", _lower("nll_normalised", IMAX, TS)),
    Claim("with GP, top-1", "I-Max w. GP has less top-1 ECE than GP", "4.2", _lower("top1_ece", IMAX_GP, GP)),
    Claim("with GP, alone", "... and less than I-Max alone", "4.2", _lower("top1_ece", IMAX_GP, IMAX)),
    Claim(
        "with GP, accuracy", "I-Max w. GP loses at most 0.2 points of accuracy", "4.2", _near("accuracy", IMAX_GP, 0.2)
    ),
    Claim("matrix", "matrix scaling has the best accuracy", "4.2", _best_accuracy),
    Claim(
        "GP, NLL",
        "GP has the least NLL of all methods",
        "A.10",
        _lowest("nll_normalised", GP, [row.setting for row in EVERYTHING]),
    ),
    Claim("BBQ", "BBQ loses at least 0.2 points of accuracy", "A.6", _loses(Setting("bbq", FULL, "classwise"), 0.2)),
)
OF_SHARING = tuple(
    Claim(
        f"sharing, {name}",
        f"shared {name} on 1k: no less accurate and less top-1 ECE than class-wise",
        "4.3",
        _sharing_helps(recipe),
    )
    for name, recipe in (("beta", "beta"), ("isotonic", "isotonic"), ("Platt", "platt"))
) + tuple(
    Claim(
        f"bins, {name}",
        f"I-Max w. {name} has less class-wise ECE than shared {name}",
        "4.3",
        _lower("cw_ece_prior", Setting(f"imax+{recipe}"), Setting(recipe)),
    )
    for name, recipe in (("beta", "beta"), ("isotonic", "isotonic"), ("Platt", "platt"))
)
OF_IMBALANCE = tuple(
    Claim(
        f"imbalanced, {name}",
        f"with imbalanced classes, I-Max or a variant of it has the least {name}",
        "4.4",
        _best_imbalanced(measure),
    )
    for name, measure in (
        ("top-1 ECE", "top1_ece"),
        ("class-wise ECE", "cw_ece_0"),
        ("class-wise ECE > 1/K", "cw_ece_1/K"),
        ("class-wise ECE > prior", "cw_ece_prior"),
        ("class-wise ECE > 0.5", "cw_ece_0.5"),
    )
)
IN_THE_APPENDIX = (
    Claim(
        "ties, equal mass",
        "ties broken by raw logits restore the accuracy of equal mass",
        "A.4",
        _near("accuracy*", EQMASS, 0.0),
    ),
    Claim("ties, I-Max", "... and that of I-Max to within 0.1 points", "A.4", _near("accuracy*", IMAX, 0.1)),
    Claim(
        "more bins",
        "50 bins have more top-1 ECE on 1k than 15",
        "A.5",
        _lower("top1_ece", _bins("imax", 1000, 15), _bins("imax", 1000, 50)),
    ),
    Claim(
        "more samples",
        "50 bins have less top-1 ECE on 5k than on 1k",
        "A.5",
        _lower("top1_ece", _bins("imax", 5000, 50), _bins("imax", 1000, 50)),
    ),
    Claim(
        "more bins with GP",
        "on 1k, GP lowers the top-1 ECE of 50 bins",
        "A.5",
        _lower("top1_ece", _bins("imax+gp", 1000, 50), _bins("imax", 1000, 50)),
    ),
    Claim("bins of evaluation", "the ECE of TS varies by a quarter or more with the number of bins", "1", _unsteady),
    Claim("schemes", "the ECE of I-Max depends less on the scheme of evaluation than that of TS", "A.6", _agnostic),
    Claim("density", "a density fits the confidences better in log-odds", "A.6", _fits_better, once=True),
    Claim(
        "examples",
        "in both two-class examples the KDE of the ECE errs less in log-odds",
        "A.6",
        _toys_are_better,
        once=True,
    ),
    Claim(
        "iterations",
        "from the edges of either plain binning the updates raise the information to 95 % of the bound or more",
        "3.3",
        _converges,
    ),
    Claim(
        "bottleneck",
        "I-Max keeps 95 % of the limit at its rate, equal mass less than 80 %",
        "3.3",
        _at_the_limit,
        once=True,
    ),
    Claim("nearer", "on 1k, S is nearer than S_k for most classes", "A.2", _shared_is_nearer),
)
CLAIMS = (*IN_BINNINGS, *AGAINST_SCALINGS, *OF_SHARING, *OF_IMBALANCE, *IN_THE_APPENDIX)
