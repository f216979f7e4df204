"""The rounds engine equals the naive reference; skipping equals the rounds engine."""

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import kl_ucb, lil_ucb, phased_elimination, successive_elimination, ucb
from tests.support.coupling import (
    assert_equals_naive,
    assert_same_runs,
    random_problem,
    random_table,
    totals,
)
from uli_fast.kernels.arms import optimistic_lanes, successive_lanes

ALGORITHMS = {
    "successive_elimination": (uli.SuccessiveElimination, successive_elimination.play),
    "phased_elimination": (uli.PhasedElimination, phased_elimination.play),
    "ucb": (uli.UCB, ucb.play),
    "lil_ucb": (uli.LilUCB, lil_ucb.play),
    "kl_ucb": (uli.KLUCB, kl_ucb.play),  # of coins without R, else of Gaussians
}


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
@pytest.mark.parametrize("name", ALGORITHMS)
def test_rounds_equals_naive_on_the_same_draws(name):
    learner, naive = ALGORITHMS[name]
    rng = np.random.default_rng(11)
    for seed in range(300):
        T = int(rng.integers(1, 900))
        problem = random_problem(rng, T)
        delta, R = float(rng.uniform(0.01, 0.9)), float(rng.choice([0.5, 0.5, 0.2, 1.0]))
        runs = uli.simulate(
            learner(delta, R), problem, T, seed=seed, engine="rounds", rounds=range(1, T + 1)
        )
        assert_equals_naive(runs, naive(totals(problem, seed), problem.n_arms, T, delta, R))


@pytest.mark.parametrize("means", [[0.6, 0.5, 0.45], [0.5, 0.5], [0.9] + [0.3] * 9])
@pytest.mark.parametrize("learner", [uli.UCB(0.1), uli.LilUCB(0.1), uli.KLUCB(0.1, R=0.5)])
def test_rounds_side_by_side_equal_rounds_one_by_one(learner, means, monkeypatch):
    """However many of the first rounds are played so, and in more than one block of lanes."""
    problem, early = uli.BernoulliBandit(means), optimistic_lanes.EARLY
    T, M = early + 2000, optimistic_lanes.LANES + 6
    whole = uli.simulate(learner, problem, T, M, seed=3, engine="rounds")
    for rounds in (0, 1, len(means), 777):
        monkeypatch.setattr(optimistic_lanes, "EARLY", rounds)
        assert_same_runs(whole, uli.simulate(learner, problem, T, M, seed=3, engine="rounds"))


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
@pytest.mark.parametrize("engine", ["rounds", "skip"])
@pytest.mark.parametrize("means", [[0.6, 0.5, 0.45], [0.9] + [0.3] * 9])
def test_sweeps_side_by_side_equal_sweeps_one_by_one(means, engine, monkeypatch):
    """In more than one block of lanes, whether or not arms fall in between."""
    problem, M, fell = uli.BernoulliBandit(means), successive_lanes.LANES + 6, 0
    for T, R in ((7, 0.5), (900, 0.5), (3000, 0.15), (20_000, 0.3)):
        learner = uli.SuccessiveElimination(0.1, R)
        whole = uli.simulate(learner, problem, T, M, seed=3, engine=engine)
        with monkeypatch.context() as patch:
            patch.setattr(successive_lanes, "FEWEST", M + 1)
            alone = uli.simulate(learner, problem, T, M, seed=3, engine=engine)
        assert_same_runs(whole, alone)
        assert (whole.event_held == alone.event_held).all()
        fell += int((whole.eliminated_at > 0).sum())
    assert fell > M


@pytest.mark.parametrize("name", ALGORITHMS)
def test_skipping_equals_rounds_on_a_thousand_reward_tables(name):
    learner, _ = ALGORITHMS[name]
    rng = np.random.default_rng(12)
    eliminations = 0
    for seed in range(1000):
        T = int(rng.integers(500, 12_000))
        problem = random_table(rng, int(rng.integers(2, 6)), T)
        delta = float(rng.uniform(0.01, 0.9))
        one = uli.simulate(learner(delta), problem, T, seed=seed, engine="rounds")
        two = uli.simulate(learner(delta), problem, T, seed=seed, engine="skip")
        assert_same_runs(one, two)
        eliminations += int((one.eliminated_at > 0).sum())
    assert name in ("ucb", "lil_ucb", "kl_ucb") or eliminations > 1000


@pytest.mark.parametrize("name", ALGORITHMS)
def test_skipping_equals_rounds_on_long_tables(name):
    learner, _ = ALGORITHMS[name]
    rng = np.random.default_rng(13)
    for seed in range(12):
        T = 400_000
        means = np.array([0.5, 0.5 - 0.02 * seed / 12, 0.46])
        table = rng.random((3, T)) < means[:, None]
        problem = uli.TableBandit(table.astype(float), means=means)
        one = uli.simulate(learner(0.1), problem, T, seed=seed, engine="rounds")
        two = uli.simulate(learner(0.1), problem, T, seed=seed, engine="skip")
        assert_same_runs(one, two)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_skipping_equals_rounds_without_noise(name):
    learner, _ = ALGORITHMS[name]
    rng = np.random.default_rng(14)
    for seed in range(100):
        problem = uli.DeterministicBandit(rng.uniform(0, 1, int(rng.integers(1, 6))).round(2))
        T = int(rng.integers(1, 60_000))
        one = uli.simulate(learner(0.1), problem, T, seed=seed, engine="rounds")
        two = uli.simulate(learner(0.1), problem, T, seed=seed, engine="skip")
        assert_same_runs(one, two)


def test_skipping_really_skips():
    # 10^12 rounds one by one would take hours.
    for learner, _ in ALGORITHMS.values():
        runs = uli.simulate(learner(0.1), uli.BernoulliBandit([0.6, 0.4]), 10**12, seed=0)
        assert runs.engine == "skip"
        assert runs.final_plays.sum() == 10**12
