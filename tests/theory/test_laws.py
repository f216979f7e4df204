"""Skipping has the law of playing round by round: Kolmogorov-Smirnov over thousands of seeds."""

import functools

import numpy as np
import pytest
from scipy.stats import ks_2samp

import uli_fast as uli
from tests.support.skipping import skip_at_once

CASES = {
    "SE bernoulli": (uli.SuccessiveElimination(0.1), uli.BernoulliBandit([0.9, 0.6, 0.5]), 4000),
    "SE gaussian": (
        uli.SuccessiveElimination(0.1, R=0.3),
        uli.GaussianBandit([0.3, 0.1, -0.2], sigma=0.3),
        6000,
    ),
    "PE bernoulli": (uli.PhasedElimination(0.9), uli.BernoulliBandit([0.6, 0.5, 0.42]), 20_000),
    "PE gaussian": (
        uli.PhasedElimination(0.9, R=0.5),
        uli.GaussianBandit([0.6, 0.5, 0.4], sigma=0.5),
        20_000,
    ),
    "UCB bernoulli": (uli.UCB(0.1), uli.BernoulliBandit([0.7, 0.5, 0.4]), 8000),
    "UCB gaussian": (uli.UCB(0.1, R=0.5), uli.GaussianBandit([0.2, 0.0, -0.3], sigma=0.5), 8000),
    "KLUCB bernoulli": (uli.KLUCB(), uli.BernoulliBandit([0.7, 0.5, 0.4]), 8000),
    "KLUCB rare": (uli.KLUCB(), uli.BernoulliBandit([0.05, 0.02, 0.01]), 8000),
    "KLUCB gaussian": (uli.KLUCB(R=0.5), uli.GaussianBandit([0.2, 0.0, -0.3], sigma=0.5), 8000),
    "LilUCB bernoulli": (uli.LilUCB(0.1), uli.BernoulliBandit([0.7, 0.5, 0.4]), 8000),
    "LilUCB gaussian": (
        uli.LilUCB(0.1, R=0.5),
        uli.GaussianBandit([0.2, 0.0, -0.3], sigma=0.5),
        8000,
    ),
}


def pvalues_of(one, two):
    """Compare last plays, eliminations and counts arm by arm."""
    pairs = [
        (getattr(one, name)[:, a], getattr(two, name)[:, a])
        for a in range(3)
        for name in ("last_play", "eliminated_at", "final_plays")
    ]
    pairs += [(one.plays[:, 0, a], two.plays[:, 0, a]) for a in range(3)]
    return [ks_2samp(x, y, method="asymp").pvalue for x, y in pairs]


@functools.cache
def by_rounds(learner, means, T, replications, seed):
    """Return runs that are played round by round: however blocks are cut, they are the same."""
    problem = uli.BernoulliBandit(means)
    return uli.simulate(
        learner, problem, T, replications, seed=seed, engine="rounds", rounds=[T // 3, T]
    )


@pytest.fixture
def at_once(monkeypatch):
    """Let optimistic learners skip from the first round on."""
    skip_at_once(monkeypatch)


@pytest.mark.parametrize("case", CASES)
def test_skipping_has_the_law_of_rounds(case, at_once):
    learner, problem, T = CASES[case]
    skip = uli.simulate(learner, problem, T, 3000, seed=21, engine="skip", rounds=[T // 3, T])
    play = uli.simulate(learner, problem, T, 3000, seed=22, engine="rounds", rounds=[T // 3, T])
    pvalues = pvalues_of(skip, play)
    assert min(pvalues) > 0.001 / len(pvalues)
    exact = not isinstance(problem, uli.GaussianBandit) or isinstance(
        learner, uli.PhasedElimination
    )
    assert skip.tv_bound == 0.0 if exact else 0.0 < skip.tv_bound < 1e-10
    assert play.tv_bound == 0.0


@pytest.mark.parametrize("caution", [0.0, 0.1])
@pytest.mark.parametrize(
    "learner", [uli.SuccessiveElimination(0.1), uli.UCB(0.1), uli.LilUCB(0.1), uli.KLUCB()]
)
def test_refused_blocks_keep_the_law(learner, caution, at_once, monkeypatch):
    # Without caution about every second block is refused and revealed one by one.
    means, T = (0.6, 0.5, 0.45), 20_000
    problem = uli.BernoulliBandit(means)
    usual = uli.simulate(learner, problem, T, 100, seed=23, engine="skip")
    careful = uli.BernoulliBandit.law

    def careless(self, rng, engine="rounds"):
        law = careful(self, rng, engine)
        return law._replace(caution=caution) if engine == "skip" else law

    monkeypatch.setattr(uli.BernoulliBandit, "law", careless)
    skip = uli.simulate(learner, problem, T, 2000, seed=23, engine="skip", rounds=[T // 3, T])
    play = by_rounds(learner, means, T, 2000, seed=24)
    assert min(pvalues_of(skip, play)) > 0.0001
    assert (skip.final_plays[:100] != usual.final_plays).any(axis=1).mean() > 0.9


@pytest.mark.parametrize("caution", [1.0, 0.05])
@pytest.mark.parametrize("learner", [uli.UCB(0.1), uli.LilUCB(0.1), uli.KLUCB()])
def test_ties_keep_the_law_over_long_horizons(learner, caution, at_once, monkeypatch):
    """Where leads are long and end by chance; with little caution blocks often end early."""
    means, T = (0.5, 0.5, 0.5), 300_000
    problem = uli.BernoulliBandit(means)
    careful = uli.BernoulliBandit.law

    def careless(self, rng, engine="rounds"):
        law = careful(self, rng, engine)
        return law._replace(caution=caution) if engine == "skip" else law

    monkeypatch.setattr(uli.BernoulliBandit, "law", careless)
    skip = uli.simulate(learner, problem, T, 800, seed=25, engine="skip", rounds=[T // 3, T])
    play = by_rounds(learner, means, T, 800, seed=26)
    assert min(pvalues_of(skip, play)) > 0.0001
    assert skip.tv_bound == 0.0


def test_long_leads_end_when_a_rival_has_grown(at_once):
    """Bad arms come back by their bonus alone, in the midst of blocks as long as all before."""
    problem, T = uli.BernoulliBandit([0.95, 0.2, 0.1]), 100_000
    skip = uli.simulate(uli.UCB(0.1), problem, T, 600, seed=27, engine="skip", rounds=[T // 3, T])
    play = uli.simulate(uli.UCB(0.1), problem, T, 600, seed=28, engine="rounds", rounds=[T // 3, T])
    assert min(pvalues_of(skip, play)) > 0.0001


def test_gaussian_blocks_are_certified_over_long_horizons():
    problem = uli.GaussianBandit([0.5, 0.45], sigma=0.5)
    for kind in (uli.SuccessiveElimination, uli.UCB, uli.LilUCB):
        runs = uli.simulate(kind(0.1, R=0.5), problem, 10**10, seed=3)
        assert 0.0 < runs.tv_bound < 1e-9
        assert runs.final_plays.sum() == 10**10


def test_large_binomial_draws_are_split_without_bias():
    # 3e13 pulls per draw: mean and variance of the sum, from the kernel's own draws.
    import numba

    from uli_fast._support.streams import stream
    from uli_fast.kernels.draws.binomial import LARGEST_DRAW
    from uli_fast.kernels.rewards.laws import BernoulliLaw, total_after

    @numba.njit
    def draw(law, k):
        return total_after(law, 0, 0, k, 0)

    law = BernoulliLaw(np.array([0.3]), stream(4, 0))
    k = 3 * LARGEST_DRAW + 7
    z = np.array([(draw(law, k) - 0.3 * k) / np.sqrt(0.21 * k) for _ in range(2000)])
    assert abs(z.mean()) < 4 / np.sqrt(2000)
    assert abs(z.var() - 1.0) < 0.15
