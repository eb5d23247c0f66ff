"""`infocal fit`: a calibrator from labelled logits."""

import argparse
import dataclasses
import json
import textwrap
from collections.abc import Mapping
from typing import Any

from ..arrays import rows_from
from ..binning.imax import SOLVERS
from ..binning.posterior import POSTERIORS
from ..calibrator import Calibrator
from ..files import Data, check_output, told_of
from ..fitting import STAGES
from ..problems import group_classes
from ..recipes import BINNINGS, RECIPES, SCALINGS, fit, takes_summary
from ..records import Facts
from ..summary import summary_of
from .common import Commands, add_command, add_reading, add_running, add_settings, answer, read, settings, working

__all__ = ["add"]

EXAMPLES = (
    "infocal fit val.npz -o cal.json",
    "infocal fit val.csv --label animal -o cal.json --groups classwise",
    "infocal fit val.npz -o cal.json --recipe imax+gp --bins 20 --stage scaled",
)
WIDTH = 80
INDENT = " " * 30  # to the last column of the candidates
OPTIONS = ("solver", "posterior", "representatives", "monotone", "prior_count", "stage")


def add(commands: Commands) -> None:
    """Enter the command."""
    parser = add_command(commands, "fit", "Fit a calibrator to labelled logits and save it.", *EXAMPLES)
    add_reading(parser, "VAL", weights=True)
    parser.add_argument(
        "-o", "--output", metavar="CAL.json", required=True, help="the calibrator to write; - prints it"
    )
    parser.add_argument(
        "--recipe",
        default="imax",
        metavar="NAME",
        help=f"{', '.join(RECIPES)}; or one of {', '.join(BINNINGS)} + one of {', '.join(SCALINGS)}, as imax+gp "
        "(default: imax)",
    )
    add_settings(parser)
    group = parser.add_argument_group("options of binnings")
    group.add_argument("--representatives", choices=("frequency", "own", "scaled"), help="what bins average")
    group.add_argument("--monotone", action="store_true", default=None, help="never let a higher bin answer with less")
    group.add_argument(
        "--prior-count", type=float, metavar="X", help="points added to each bin that answer as the classifier does"
    )
    group.add_argument("--solver", choices=SOLVERS, help="of imax (default: exact)")
    group.add_argument("--posterior", choices=tuple(POSTERIORS), help="of imax (default: sigmoid)")
    group.add_argument("--stage", choices=STAGES, help="log-odds to bin over a scaling (default: raw)")
    group.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="an option that one recipe alone takes"
    )
    add_running(parser)
    parser.set_defaults(run=_fit)


def _fit(options: argparse.Namespace) -> None:
    check_output(options.output, options.val)
    chosen = {name: value for name in OPTIONS if (value := getattr(options, name)) is not None}
    chosen |= dict(_setting(text) for text in options.set)
    data = read(options.val, options)
    with working(f"fitting {options.recipe}"), told_of(data.path):
        calibrator = _fitted(options.recipe, data, settings(options) | chosen)
    _named(calibrator, data).save(options.output)
    facts = {"recipe": calibrator.recipe, "n_classes": calibrator.n_classes, "fit_info": dict(calibrator.fit_info)}
    text = f"{_summary(calibrator)}\nsaved to {options.output}; next: infocal apply {options.output} DATA -o OUT"
    answer(options, text, facts | {"output": options.output})


def _fitted(recipe: str, data: Data, chosen: dict[str, Any]) -> Calibrator:
    """The calibrator of a file, whose rows are not held where the recipe can do without them."""
    labels, w = data.require_labels(), data.weights
    if data.rows.array is not None or data.held or not takes_summary(recipe):
        return fit(recipe, data.logits, labels, weights=w, **chosen)
    K = data.rows.shape[1]
    groups = group_classes(chosen.pop("groups"), labels, K, w, chosen.pop("n_groups", None))
    summary = None
    for rows, x in data.rows:
        with rows_from(rows.start):
            part = summary_of(x, labels[rows], groups, None if w is None else w[rows])
        summary = part if summary is None else summary + part
    return fit(recipe, summary, **chosen)


def _setting(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ValueError(f"--set: expected NAME=VALUE, as n_inducing=20, got {text!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _named(calibrator: Calibrator, data: Data) -> Calibrator:
    """The calibrator with the names of the classes it was fitted to, where the data have them."""
    if data.classes is None:
        return calibrator
    return dataclasses.replace(calibrator, fit_info=Facts({**calibrator.fit_info, "classes": data.classes}))


def _summary(calibrator: Calibrator) -> str:
    facts = calibrator.fit_info
    lines = [f"{calibrator.recipe} on {facts['n_samples']:,} samples of {calibrator.n_classes} classes"]
    if "chosen" in facts:
        lines += [f"chose {facts['chosen']}: {facts['reason']}", *_candidates(facts["candidates"])]
    if "information" in facts:
        share = facts["information"] / facts["information_limit"] if facts["information_limit"] > 0 else 1.0
        lines += [f"the bins keep {share:.2%} of the information about the label"]
    return "\n".join(
        textwrap.fill(text, WIDTH, subsequent_indent=INDENT if text.startswith(" ") else "") for text in lines
    )


def _candidates(measures: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What the choice was made from, in columns that fit a terminal."""
    rows = [f"{m['nll']:8.4f}  {m['error']:8.4f}  {m['accuracy']:8.2%}  {name}" for name, m in measures.items()]
    return [f"{'NLL':>8}  {'error':>8}  {'accuracy':>8}  candidate", *rows]
