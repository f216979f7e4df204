"""Sums of linear rewards have the law that SciPy gives them, on finitely many arms and on sets."""

import math

import numpy as np
import pytest
from scipy import stats

import uli_fast as uli
from uli_fast._support.streams import stream
from uli_fast.problems import linear
from uli_fast.problems.linear import draw_mean

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, -0.6]])
THETA, SIGMA, DRAWS = [0.5, -0.3], 0.7, 4000


def problem_of(noise, finite):
    about = {"arms": ARMS} if finite else {"arm_set": uli.arm_sets.Ball(2)}
    return uli.LinearBandit(THETA, sigma=SIGMA, noise=noise, **about)


def irwin_hall(x, n):
    """Return the distribution function of a sum of n uniforms on [0, 1]."""
    terms = [(-1) ** j * math.comb(n, j) * np.maximum(x - j, 0.0) ** n for j in range(n + 1)]
    return np.clip(np.sum(terms, axis=0) / math.factorial(n), 0.0, 1.0)


def ranks(noise, inner, means, n, rng):
    """Return where means of n rewards, less the intercept, lie in their law: uniform on [0, 1]."""
    if noise == "gaussian":
        return stats.norm.cdf(means, inner, SIGMA / math.sqrt(n))
    if noise == "bernoulli":
        wins, p = np.rint((means + 0.5) * n), (1.0 + inner) / 2.0
        assert means == pytest.approx(wins / n - 0.5, abs=1e-12)
        below, at = stats.binom.cdf(wins - 1, n, p), stats.binom.pmf(wins, n, p)
        return below + rng.random(means.size) * at
    half = math.sqrt(3.0) * SIGMA
    return irwin_hall(n * ((means - inner) / half + 1.0) / 2.0, n)


@pytest.mark.parametrize("finite", [True, False], ids=["arms", "set"])
@pytest.mark.parametrize(
    ("noise", "engine", "n"),
    [
        ("gaussian", "skip", 1),
        ("gaussian", "skip", 10**12),
        ("gaussian", "rounds", 1),
        ("gaussian", "rounds", 50),
        ("bernoulli", "skip", 1),
        ("bernoulli", "skip", 40),
        ("bernoulli", "skip", 10**9),
        ("bernoulli", "rounds", 40),
        ("uniform", "rounds", 1),
        ("uniform", "rounds", 5),
    ],
)
def test_sums_have_their_law(noise, engine, n, finite):
    problem, rng = problem_of(noise, finite), np.random.default_rng(1)
    law = problem.law(stream(2, 0), engine)
    for a, arm in enumerate(ARMS):
        drawn = [draw_mean(problem, law, arm, a, n, engine) for _ in range(DRAWS)]
        found = ranks(noise, float(arm @ problem.theta), np.array(drawn), n, rng)
        assert stats.kstest(found, "uniform").pvalue > 1e-3 / 60


@pytest.mark.parametrize("noise", linear.NOISES)
def test_rewards_drawn_in_parts_are_as_many(monkeypatch, noise):
    """The same draws make the same sum, however few are drawn at a time."""
    problem = problem_of(noise, finite=False)

    def drawn():
        law = problem.law(stream(3, 0), "rounds")
        return draw_mean(problem, law, ARMS[0], -1, 100, "rounds")

    whole = drawn()
    monkeypatch.setattr(linear, "AT_ONCE", 7)
    assert drawn() == pytest.approx(whole, rel=1e-12)


def test_a_law_keeps_no_mean_of_another_arm():
    problem = uli.LinearBandit([0.5, 0.1], sigma=1e-9, arm_set=uli.arm_sets.Ball(2))
    law = problem.law(stream(4, 0), "skip")
    for arm in (*ARMS[:2], ARMS[0]):
        assert draw_mean(problem, law, arm, -1, 10, "skip") == pytest.approx(
            arm @ problem.theta, abs=1e-7
        )
