"""Everything that was found, as one document: text, Markdown, LaTeX or JSON."""

import json
from collections.abc import Sequence
from typing import Any

from .claims import Verdict
from .lab import Lab
from .layout import FORMATS, Grid, grid_of, json_of
from .panels import Figure, figure_json
from .run import Findings

__all__ = ["DEVIATIONS", "document", "picture_name"]

DEVIATIONS = (
    "Every table runs on the logits that are given, and says which; they are of other networks than the paper's. "
    "Accuracies differ by the network, and NLL and Brier with them. What carries over is the order of the rows and the "
    "size of the gaps between them.",
    "Standard deviations divide by one less than the number of splits; by what the paper's divide it does not say.",
    "Representatives stay probabilities. The paper's published code keeps them as log-odds and turns a bin that was "
    "always right into the probability 2e-16.",
    "An empty bin answers with the sigmoid of its middle; in the paper's published code, with the mean over all "
    "points. It shows in class-wise equal size binning, whose bins are often empty.",
    "Scalings are fitted to their optimum by Newton's method; the paper trains them with Adam. Bins average "
    "probabilities of scalings that were fitted so.",
    "Matrix scaling has penalties off the diagonal and on the bias. Their strengths are cross-validated on the first "
    "split and used on all; the paper does not print its own.",
    "The ECE of binned calibrators is estimated with the same 100 bins of equal size as that of scalings. The paper "
    "counts answer by answer; the two agree where no two answers share a bin.",
    "The kernel estimate of the ECE compares the mean answer with the rate of hits, both under the kernel. The "
    "paper's, after Zhang et al. (2020), compares the rate with the answer itself, and so measures the width of the "
    "kernel too.",
    "The information of a binning is taken under kernel densities of the calibration samples, in nats.",
    "`tab:during_training_calibration` needs networks trained in three ways: files named ..._plain, ..._entropy and "
    "..._mixup, or else the packaged logits of small networks for Fashion-MNIST.",
    "The imbalanced set is drawn from balanced logits with the class counts of the SVHN test set; of more than ten "
    "classes, each tenth has one of the ten priors. Its calibration samples are drawn at random, not class by class. "
    "Sets that are imbalanced by themselves are taken as they are, with groups chosen by prior.",
    "`table:cw_vs_scw_scaling` prints 0.0489 as the class-wise ECE of the ImageNet baseline; the other tables print "
    "0.0486.",
)
INTRODUCTION = """# The paper, reproduced

What Patel et al., *Multi-Class Uncertainty Calibration via Mutual Information Maximization-based Binning* (ICLR 2021),
print, beside what this library computes by the same protocol. This page was written by `{command}`.

Every set is split in two halves, class by class; calibrators are fitted on the first 1,000 samples of one half, or on
all of it where the paper says so, and judged on the other half. Numbers are means and standard deviations over {splits}
splits. I-Max is fitted by {solver}. Three lines belong together: ours, the paper's, and their difference.
"""
SOLVERS = {"alternating": "the paper's alternating updates from a k-means++ start", "exact": "the exact programme"}


def document(found: Findings, labs: Sequence[Lab], form: str, command: str, pictures: str = "") -> str:
    """The document in a format; `pictures` is the folder of the drawings as links should name it."""
    if form == "json":
        return json.dumps(_json(found, labs), indent=1, allow_nan=False) + "\n"
    set_grid = FORMATS[form]
    parts = [set_grid(_sets(labs))]
    if found.verdicts:
        parts.append(set_grid(_claims(found.verdicts)))
    parts += [set_grid(grid_of(result)) for result in found.tables]
    for name, figure in found.figures:
        parts.append(set_grid(_facts(name, figure)))
        if form == "markdown" and pictures:
            parts.append(f"![{figure.title}]({pictures}/{picture_name(figure.label)})\n")
    if form != "markdown":
        return "\n".join(parts)
    start = INTRODUCTION.format(command=command, splits=labs[0].splits, solver=SOLVERS[labs[0].solver])
    deviations = "\n".join(["## Deviations", "", *(f"- {text}" for text in DEVIATIONS), ""])
    return "\n".join([start, deviations, *parts])


def picture_name(label: str) -> str:
    """File of a figure's drawing."""
    return label.replace(":", "_") + ".png"


def _sets(labs: Sequence[Lab]) -> Grid:
    rows = []
    for lab in labs:
        counts = lab.samples.counts / len(lab.samples.labels)
        shape = f"{len(lab.samples.labels):,}", f"{lab.samples.logits.shape[1]:,}"
        right = (lab.samples.logits.argmax(axis=1) == lab.samples.labels).mean()
        rows.append((lab.samples.name, "", *shape, f"{100 * right:.2f}", f"{counts.min():.4f} to {counts.max():.4f}"))
    headings = ("set", "", "samples", "classes", "accuracy", "priors")
    return Grid("sets", "What ours are computed on", headings, tuple(rows))


def _claims(verdicts: Sequence[Verdict]) -> Grid:
    names = list(dict.fromkeys(name for verdict in verdicts for name, _, _ in verdict.counts))
    rows = []
    for verdict in verdicts:
        counts = {name: f"{yes}/{asked}" for name, yes, asked in verdict.counts}
        head = (verdict.claim.says, verdict.claim.where, "holds" if verdict.holds else "FAILS")
        rows.append((*head, f"{verdict.yes}/{verdict.asked}", *(counts.get(name, "") for name in names)))
    headings = ("claim", "section", "", "splits", *names)
    return Grid("claims", "What the paper says in words: splits that agree", headings, tuple(rows))


def _facts(name: str, figure: Figure) -> Grid:
    rows = tuple((fact, "", f"{value:.4f}") for fact, value in figure.facts.items())
    return Grid(figure.label, figure.title, ("read off the figure", "", "value"), rows, f"Computed on {name}.")


def _json(found: Findings, labs: Sequence[Lab]) -> dict[str, Any]:
    return {
        "sets": [lab.samples.name for lab in labs],
        "splits": labs[0].splits,
        "solver": labs[0].solver,
        "tables": [json_of(result) for result in found.tables],
        "figures": [{"ran_on": name} | figure_json(figure) for name, figure in found.figures],
        "claims": [
            {"name": v.claim.name, "says": v.claim.says, "where": v.claim.where, "holds": v.holds, "counts": v.counts}
            for v in found.verdicts
        ],
    }
