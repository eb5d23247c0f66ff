"""`infocal fit`: a calibrator from labelled logits."""

import argparse

from ..binning.imax import SOLVERS
from ..binning.posterior import POSTERIORS
from ..calibrator import Calibrator
from ..recipes import RECIPES, fit
from .common import DATA, Commands, read, working

__all__ = ["add"]


def add(commands: Commands) -> None:
    """Enter the command."""
    parser = commands.add_parser("fit", help="fit a calibrator and save it")
    parser.add_argument("data", metavar="VAL", help=DATA)
    parser.add_argument("-o", "--output", metavar="CAL.json", required=True, help="where to save the calibrator")
    parser.add_argument("--recipe", default="imax", help=f"{', '.join(RECIPES)} (default: imax)")
    parser.add_argument("--bins", type=int, default=15, help="number of bins (default: 15)")
    parser.add_argument(
        "--groups",
        default="shared",
        help="shared, classwise, prior or a group per class as 0,0,1,... (default: shared)",
    )
    parser.add_argument("--solver", choices=SOLVERS, help="of imax (default: exact)")
    parser.add_argument("--posterior", choices=tuple(POSTERIORS), help="of imax (default: sigmoid)")
    parser.add_argument("--representatives", choices=("frequency", "own"), help="of bins (default: frequency)")
    parser.add_argument("--monotone", action="store_true", default=None, help="never let a higher bin answer with less")
    parser.add_argument("--prior-count", type=float, help="points added to each bin that answer as the classifier does")
    parser.add_argument("--seed", type=int, default=0, help="of what is random in the recipe (default: 0)")
    parser.set_defaults(run=_fit)


def _fit(options: argparse.Namespace) -> None:
    data = read(options.data)
    names = ("solver", "posterior", "representatives", "monotone", "prior_count")
    chosen = {name: value for name in names if (value := getattr(options, name)) is not None}
    with working(f"fitting {options.recipe}"):
        calibrator = fit(
            options.recipe,
            data.logits,
            data.require_labels(),
            groups=_groups(options.groups),
            n_bins=options.bins,
            rng=options.seed,
            **chosen,
        )
    calibrator.save(options.output)
    print(f"{_summary(calibrator)}\nsaved to {options.output}; next: infocal apply {options.output} DATA -o OUT")


def _groups(text: str) -> str | list[int]:
    parts = text.split(",")
    if len(parts) == 1:
        return text
    if not all(part.strip().isdigit() for part in parts):
        raise ValueError(f"--groups: expected shared, classwise, prior or numbers as in 0,0,1, got {text!r}")
    return [int(part) for part in parts]


def _summary(calibrator: Calibrator) -> str:
    facts = calibrator.fit_info
    text = f"{calibrator.recipe} on {facts['n_samples']:,} samples of {calibrator.n_classes} classes"
    if "information" not in facts:
        return text
    share = facts["information"] / facts["information_limit"] if facts["information_limit"] > 0 else 1.0
    return f"{text}: the bins keep {share:.2%} of the information about the label"
