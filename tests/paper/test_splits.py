"""Halves keep every class, their beginnings keep the balance, and priors are drawn as asked."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from conftest import needs_shared, real_logits, reference_split
from infocal.paper.splits import SVHN_COUNTS, SVHN_GROUPS, Samples, halves, imbalanced, similar_groups


def labelled(*counts: int) -> Samples:
    labels = np.repeat(np.arange(len(counts)), counts)
    return Samples("made", np.arange(len(labels) * len(counts), dtype=float).reshape(len(labels), -1), labels)


def test_halves_part_every_class() -> None:
    samples = labelled(*[21] * 7)
    split = halves(samples, 3)
    assert_array_equal(np.sort(np.concatenate(split)), np.arange(len(samples.labels)))
    assert_array_equal(np.bincount(samples.labels[split.cal]), np.full(7, 10))


def test_beginnings_are_balanced() -> None:
    samples = labelled(*[40] * 5)
    cal = samples.labels[halves(samples, 0).cal]
    for size in (5, 25, 100):
        assert_array_equal(np.bincount(cal[:size]), np.full(5, size // 5))


def test_beginnings_of_imbalanced_sets_have_their_priors() -> None:
    samples = labelled(4000, 400)
    cal = samples.labels[halves(samples, 0).cal]
    assert abs((cal[:500] == 1).mean() - 1 / 11) < 0.04


def test_splits_differ_by_seed_alone() -> None:
    samples = labelled(*[30] * 4)
    assert_array_equal(halves(samples, 1).cal, halves(samples, 1).cal)
    assert (halves(samples, 1).cal != halves(samples, 2).cal).any()


@pytest.mark.parametrize("classes", [10, 20])
def test_drawn_priors_are_those_of_svhn(classes: int) -> None:
    drawn = imbalanced(labelled(*[1000] * classes))
    shares = drawn.counts / drawn.counts.sum()
    wanted = np.repeat(SVHN_COUNTS, classes // 10) / sum(SVHN_COUNTS) / (classes // 10)
    assert_allclose(shares, wanted, atol=5e-4)
    assert 0.06 < 10 / classes * wanted.min() * classes / 10 * (classes // 10) < 0.2
    groups = similar_groups(drawn, drawn=True)
    assert_array_equal(groups, np.repeat(SVHN_GROUPS, classes // 10))


def test_imbalanced_sets_are_taken_as_they_are() -> None:
    samples = labelled(100, 20, 60)
    assert imbalanced(samples) is samples
    assert similar_groups(samples, drawn=False) == "prior"


@needs_shared
@pytest.mark.parametrize("name", ["cifar100_wrn16-4", "cifar10_wrn16-4"])
def test_halves_are_the_reference_splits(name: str) -> None:
    logits, labels = real_logits(name)
    for seed in range(5):
        cal, test = reference_split(name, seed)
        ours = halves(Samples(name, logits, labels), seed)
        assert_array_equal(ours.cal, cal)
        assert_array_equal(ours.test, np.sort(test))
