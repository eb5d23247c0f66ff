"""The command line: `infocal fit | apply | evaluate | demo`. Bad usage and bad input end in one line and status 2."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, TypeAlias

from . import __version__
from .binning.imax import SOLVERS
from .binning.posterior import POSTERIORS
from .calibrator import Calibrator
from .comparison import compare
from .files import Data, read_data, write_arrays
from .numerics import softmax
from .recipes import RECIPES, fit, load
from .report import evaluate

__all__ = ["main"]

DATA = "an .npz file with the arrays logits (n, K) (or probs) and labels (n,)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 on success, 2 on bad usage or bad input."""
    try:
        options = _parser().parse_args(arguments)
        options.run(options)
    except (ValueError, OSError) as error:
        print(f"infocal: {_one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("infocal: stopped", file=sys.stderr)
        return 130
    return 0


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror.lower()}" if error.filename else error.strerror
    return " ".join(str(error).split())


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="infocal", description="Turn a classifier's logits into probabilities that mean what they say."
    )
    parser.add_argument("--version", action="version", version=f"infocal {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for add in (_add_demo, _add_fit, _add_apply, _add_evaluate):
        add(commands)
    return parser


Commands: TypeAlias = "argparse._SubParsersAction[_Parser]"


# -- demo ----------------------------------------------------------------------------------------------------------


def _add_demo(commands: Commands) -> None:
    demo = commands.add_parser("demo", help="calibrate the packaged logits with several recipes and compare them")
    demo.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> None:
    from .datasets import load_quickdraw

    data = load_quickdraw()
    with _working("fitting and judging"):
        table = compare(["identity", "eqsize", "eqmass", "imax"], data.cal, data.test)
    before, after = table["identity"], table["imax"]
    print(f"{data.about}.")
    print(f"{len(data.cal[1]):,} samples to fit each recipe, {len(data.test[1]):,} others to judge it.\n\n{table}\n")
    print(
        f"imax keeps the accuracy ({before['accuracy']:.1%} before, {after['accuracy']:.1%} after) and cuts the error "
        f"of the confidence\n(top-1 ECE) from {before['top1_ece']:.1%} to {after['top1_ece']:.1%}.\n{_NEXT}"
    )


_NEXT = """
Your own classifier: save logits and labels that it was not trained on, then fit, apply and judge.
  python -c 'import numpy; numpy.savez("val.npz", logits=..., labels=...)'
  infocal fit val.npz -o cal.json
  infocal apply cal.json test.npz -o probs.npz
  infocal evaluate probs.npz"""


# -- fit -----------------------------------------------------------------------------------------------------------


def _add_fit(commands: Commands) -> None:
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
    data = _read(options.data)
    names = ("solver", "posterior", "representatives", "monotone", "prior_count")
    chosen = {name: value for name in names if (value := getattr(options, name)) is not None}
    with _working(f"fitting {options.recipe}"):
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


# -- apply and evaluate --------------------------------------------------------------------------------------------


def _add_apply(commands: Commands) -> None:
    parser = commands.add_parser("apply", help="calibrate logits with a saved calibrator")
    parser.add_argument("calibrator", metavar="CAL.json", help="a calibrator saved by fit")
    parser.add_argument("data", metavar="DATA", help=f"{DATA}; labels may be missing")
    parser.add_argument(
        "-o", "--output", metavar="OUT", required=True, help="the .npz file to write: probs, and labels"
    )
    parser.set_defaults(run=_apply)


def _apply(options: argparse.Namespace) -> None:
    calibrator, data = load(options.calibrator), _read(options.data)
    with _working("calibrating"):
        arrays = {"probs": calibrator(data.logits)} | ({} if data.labels is None else {"labels": data.labels})
        write_arrays(options.output, **arrays)
    print(f"{len(data.logits):,} samples of {calibrator.n_classes} classes written to {options.output}")


def _add_evaluate(commands: Commands) -> None:
    parser = commands.add_parser("evaluate", help="measure accuracy and calibration of probabilities or logits")
    parser.add_argument("data", metavar="DATA", help=DATA)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_evaluate)


def _evaluate(options: argparse.Namespace) -> None:
    data = _read(options.data)
    with _working("evaluating"):
        probs = softmax(data.logits) if data.probs is None else data.probs
        report = evaluate(probs, data.require_labels())
    print(report.to_json() if options.json else report)


def _read(path: str) -> Data:
    with _working(f"reading {path}"):
        return read_data(path)


@contextmanager
def _working(on: str) -> Iterator[None]:
    """Tells a person at a terminal what takes so long; nothing where the output is read by a program."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(on):
        yield
