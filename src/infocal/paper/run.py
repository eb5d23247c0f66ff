"""The whole of a reproduction: which labels are asked for, on which set each runs, and everything that was found."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .claims import CLAIMS, Claim, Verdict, judge
from .figures import FIGURES
from .lab import Lab
from .panels import Figure
from .results import TableResult, plan, run_table
from .tables import TABLES, Table

__all__ = ["Findings", "Targets", "reproduce", "targets"]

Told = Callable[[int, int, str], None]  # (steps done, steps in all, what comes next)
FAMILIES = ("CIFAR100", "CIFAR10", "ImageNet")
SUMS = {"all", "tables", "figures", "claims"}


@dataclass(frozen=True)
class Targets:
    """What to reproduce: labels of tables and figures in the paper's order, and whether to judge its claims."""

    tables: tuple[str, ...]
    figures: tuple[str, ...]
    claims: bool


@dataclass
class Findings:
    """Results in the order of the paper: tables, figures with the set each is of, verdicts on claims."""

    tables: list[TableResult] = field(default_factory=list)
    figures: list[tuple[str, Figure]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)


def targets(names: Sequence[str]) -> Targets:
    """The targets of names: labels, whole or from the colon on; "tables", "figures", "claims"; "all".

    >>> targets(["bigcomparison", "claims"])
    Targets(tables=('table:bigcomparison',), figures=(), claims=True)
    """
    known = {name: label for label in (*TABLES, *FIGURES) for name in (label, label.split(":")[1])}
    for name in names:
        if name not in known and name not in SUMS:
            raise ValueError(f"LABEL: expected all, tables, figures, claims or a label of --list, got {name!r}")
    wanted = {known[name] for name in names if name in known}
    asked = set(names)
    return Targets(
        tuple(label for label in TABLES if label in wanted or asked & {"all", "tables"}),
        tuple(label for label in FIGURES if label in wanted or asked & {"all", "figures"}),
        bool(asked & {"all", "claims"}),
    )


def reproduce(wanted: Targets, labs: Sequence[Lab], tell: Told) -> Findings:
    """Everything that is wanted, on these sets. Cells come first, each once for all tables; `tell` hears of each."""
    pairs = [(TABLES[label], lab) for label in wanted.tables for lab in _labs_of(TABLES[label], labs)]
    found = Findings()
    steps = list(_steps(wanted, pairs, labs, found))
    for done, (name, step) in enumerate(steps):
        tell(done, len(steps), name)
        step()
    tell(len(steps), len(steps), "done")
    found.tables = [run_table(table, lab) for table, lab in pairs]
    return found


def _steps(
    wanted: Targets, pairs: list[tuple[Table, Lab]], labs: Sequence[Lab], found: Findings
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names of steps and what each does, in order."""
    for lab in dict.fromkeys(lab for _, lab in pairs):
        for at, cell in plan([table for table, of in pairs if of is lab], lab):
            yield f"{at.samples.name}: {cell.setting.recipe}, split {cell.split + 1}", partial(at.compute, cell)
    for label in wanted.figures:
        lab = _lab_of(label, labs)
        yield f"{lab.samples.name}: {label}", partial(_show, found, label, lab)
    for claim in CLAIMS if wanted.claims else ():
        on = labs if claim.name.startswith("imbalanced") else _balanced(labs)
        yield f"claim: {claim.name}", partial(_judge, found, claim, on)


def _show(found: Findings, label: str, lab: Lab) -> None:
    found.figures.append((lab.samples.name, FIGURES[label].compute(lab)))


def _judge(found: Findings, claim: Claim, labs: Sequence[Lab]) -> None:
    found.verdicts.append(judge(claim, labs))


def _labs_of(table: Table, labs: Sequence[Lab]) -> Sequence[Lab]:
    """Of several sets, those that a table runs on: the ones named like the set it was printed for, else the first; a
    table of imbalanced classes runs on all."""
    if table.imbalanced or len(labs) == 1:
        return labs
    return [lab for lab in labs if _family(lab) == _printed(table.printed_for)] or labs[:1]


def _lab_of(label: str, labs: Sequence[Lab]) -> Lab:
    """Of several sets, the one named like the set that a figure is of; else the first."""
    return next((lab for lab in labs if _family(lab) == _printed(FIGURES[label].printed_for)), labs[0])


def _printed(classifier: str) -> str:
    return next((name for name in FAMILIES if classifier.startswith(name)), "")


def _family(lab: Lab) -> str:
    name = lab.samples.name.lower()
    return next((family for family in FAMILIES if name.startswith(family.lower())), "")


def _balanced(labs: Sequence[Lab]) -> Sequence[Lab]:
    """The sets of balanced classes, for which the paper's claims are made; all where there are none."""
    return [lab for lab in labs if lab.samples.balanced] or labs
