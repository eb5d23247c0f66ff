"""Bayesian binning equals the definition, bin by bin and binning by binning."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import oracles
from infocal.binning.bbq import fit_bbq
from infocal.binning.edges import eq_mass_edges
from infocal.numerics import sigmoid
from infocal.problems import Binary, binary
from sources import questions, random_question


def log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def slow_bbq(problem: Binary, at: list[float]) -> list[float]:
    n = math.fsum(problem.weights)
    root = n ** (1 / 3)
    models = []
    for size in range(max(2, int(root / 10)), max(2, math.ceil(10 * root)) + 1):
        if size > max(2, len(problem.logodds)):
            break
        edges = sorted(set(eq_mass_edges(problem, size).tolist()))
        evidence, answers = 0.0, []
        for m, (low, high) in enumerate(zip([-math.inf, *edges], [*edges, math.inf], strict=True)):
            of = [oracles.bin_of(x, edges) == m for x in problem.logodds.tolist()]
            hits = math.fsum((problem.weights * problem.hits)[of])
            misses = math.fsum(problem.weights[of]) - hits
            middle = (float(sigmoid(low)) + float(sigmoid(high))) / 2
            a, b = 2 / size * middle, 2 / size * (1 - middle)
            evidence += log_beta(a + hits, b + misses) - log_beta(a, b)
            answers.append((a + hits) / (a + b + hits + misses))
        models.append((evidence, [answers[oracles.bin_of(x, edges)] for x in at]))
    best = max(evidence for evidence, _ in models)
    shares = [math.exp(evidence - best) for evidence, _ in models]
    return [sum(s * a[i] for s, (_, a) in zip(shares, models, strict=True)) / sum(shares) for i in range(len(at))]


@given(st.integers(0, 10_000))
def test_equals_the_definition(seed: int) -> None:
    problem, at = random_question(seed, 25), [-9.0, -2.0, -0.3, 0.0, 1.1, 9.0]
    assert_allclose(fit_bbq(problem)(np.array(at)), slow_bbq(problem, at), atol=1e-4)


@given(questions)
def test_answers_are_probabilities(problem: Binary) -> None:
    fit = fit_bbq(problem)
    probs = fit(np.linspace(-20, 20, 100).reshape(10, 10))
    assert probs.shape == (10, 10)
    assert ((probs > 0) & (probs < 1)).all()
    assert fit.weights.sum() == pytest.approx(1)


def test_finds_a_step() -> None:
    x = np.linspace(-4, 4, 4000)
    hits = (np.random.default_rng(0).random(4000) < np.where(x < 0, 0.1, 0.7)).astype(float)
    fit = fit_bbq(binary(x, hits))
    assert_allclose(fit(np.array([-3.0, -1.0, 1.0, 3.0])), [0.1, 0.1, 0.7, 0.7], atol=0.03)
    assert fit.sizes[fit.weights.argmax()] <= 4
