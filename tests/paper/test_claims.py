"""Claims are asked of every split, and one that fails is shown as failing."""

import pytest

from infocal.paper.claims import CLAIMS, Claim, judge
from infocal.paper.document import document
from infocal.paper.lab import Lab
from infocal.paper.run import Findings

SLOW = {"bottleneck", "examples"}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_claims_are_answered(claim: Claim, lab: Lab) -> None:
    if claim.name in SLOW:
        pytest.skip("its figure is tested by itself")
    verdict = judge(claim, [lab])
    assert verdict.counts[0][0] == "small"
    assert 0 <= verdict.yes <= verdict.asked == (1 if claim.once else lab.splits)


def test_names_are_unique() -> None:
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize(("answers", "holds"), [((True, True), True), ((True, False), False), ((False, False), False)])
def test_four_fifths_hold(answers: tuple[bool, bool], holds: bool, lab: Lab) -> None:
    verdict = judge(Claim("made", "made up", "0", lambda _, split: answers[split]), [lab])
    assert verdict.holds == holds
    text = document(Findings(verdicts=[verdict]), [lab], "text", "infocal reproduce claims")
    assert ("FAILS" in text) != holds
    assert f"{sum(answers)}/2" in text


def test_known_truths(lab: Lab) -> None:
    """Of a classifier that is over-confident by one factor, these follow by construction."""
    by_name = {claim.name: claim for claim in CLAIMS}
    for name in ("bound", "baseline, top-1", "ties, equal mass", "density"):
        assert judge(by_name[name], [lab]).holds, name
