"""The nice events fail exactly as often as they should, and within delta."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact

import uli_fast as uli
from tests.theory.exact import duel_failure, pe_failure, pe_rounds, se_failure


def failures(learner, problem, T, replications, engine="auto", seed=5):
    runs = uli.simulate(
        learner, problem, T, replications, seed, engine=engine, rounds=[T], keep_plays=False
    )
    return int((~runs.event_held).sum())


def assert_matches(count, runs, rate):
    """Two-sided: the count lies within the central 99.9 % of its exact law."""
    low, high = binom.ppf([0.0005, 0.9995], runs, rate)
    assert low <= count <= high, f"{count} failures, expected {rate * runs:.1f} ({low}..{high})"


def test_successive_elimination_fails_as_often_as_computed():
    # K = 2, delta .3, means .5, 2,000 pulls: about 9 failures in 200,000 runs.
    runs, T = 200_000, 2000
    count = failures(
        uli.SuccessiveElimination(0.3), uli.BernoulliBandit([0.5, 0.5]), T, runs, "rounds"
    )
    assert_matches(count, runs, se_failure(2, 0.5, 0.3, T // 2))


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
@pytest.mark.parametrize("R", [0.25, 0.35])
@pytest.mark.parametrize("engine", ["rounds", "skip"])
def test_successive_elimination_with_narrow_widths_fails_as_often_as_computed(R, engine):
    # A smaller R makes failures frequent, so that a wrong width cannot hide.
    runs, T = 20_000, 2000
    learner = uli.SuccessiveElimination(0.3, R=R)
    count = failures(learner, uli.BernoulliBandit([0.5, 0.5]), T, runs, engine)
    assert_matches(count, runs, se_failure(2, 0.5, 0.3, T // 2, R))


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
@pytest.mark.parametrize(
    ("means", "R", "T"),
    [
        ((0.5,), 0.22, 20_000),  # one in sixty of those that fail does so after 1,024 plays
        ((0.6, 0.5), 0.25, 601),
        ((0.3, 0.8), 0.3, 500),
        ((0.97, 0.9), 0.12, 450),
    ],
)
@pytest.mark.parametrize("engine", ["rounds", "skip"])
def test_an_arm_that_is_left_alone_fails_as_often_as_computed(means, R, T, engine):
    runs, learner = 30_000, uli.SuccessiveElimination(0.3, R=R)
    count = failures(learner, uli.BernoulliBandit(means), T, runs, engine)
    rate = duel_failure(means, 0.3, T, R) if len(means) == 2 else se_failure(1, 0.5, 0.3, T, R)
    assert_matches(count, runs, rate)


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
@pytest.mark.parametrize(
    ("problem", "R", "T", "runs"),
    [
        (uli.BernoulliBandit([0.5, 0.4, 0.3]), 0.2, 4000, 20_000),
        (uli.BernoulliBandit([0.5, 0.5, 0.45, 0.2]), 0.3, 5001, 5000),
        (uli.BernoulliBandit([0.02, 0.01, 0.03]), 0.1, 6000, 5000),
        (uli.GaussianBandit([0.5, 0.4, 0.3], sigma=0.5), 0.3, 4000, 5000),
        (uli.GaussianBandit([3.0], sigma=2.0), 1.2, 4000, 5000),
    ],
    ids=str,
)
def test_the_event_has_one_law_in_both_engines(problem, R, T, runs):
    learner = uli.SuccessiveElimination(0.3, R=R)
    rounds = failures(learner, problem, T, runs, "rounds", seed=1)
    skip = failures(learner, problem, T, runs, "skip", seed=2)
    table = [[rounds, runs - rounds], [skip, runs - skip]]
    assert fisher_exact(table).pvalue > 1e-3, table
    assert 0.05 * runs < rounds < 0.99 * runs


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
def test_the_event_of_a_longer_run_has_not_held_where_that_of_a_shorter_one_has_not():
    held, problem = [], uli.BernoulliBandit([0.6, 0.5, 0.45])
    for T in (300, 2000, 10**6, 10**18):
        learner = uli.SuccessiveElimination(0.3, R=0.3)
        held.append(uli.simulate(learner, problem, T, 600, seed=5, rounds=[T]).event_held)
    assert all(not (longer & ~shorter).any() for shorter, longer in itertools.pairwise(held))
    assert held[0].sum() > held[1].sum() > held[3].sum() > 0


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
def test_events_are_the_same_in_both_engines_on_shared_rewards():
    rng, kept, lost = np.random.default_rng(15), 0, 0
    for seed in range(300):
        T, K = int(rng.integers(200, 6000)), int(rng.integers(1, 5))
        means = rng.uniform(0.3, 0.7) + 0.2 * rng.uniform(-1.0, 1.0, K)
        rewards = (rng.random((K, T)) < means[:, None]).astype(float)
        rewards[:, :40] = means[:, None]  # what is missed is missed in blocks
        problem = uli.TableBandit(rewards, means=means)
        learner = uli.SuccessiveElimination(0.3, R=float(rng.uniform(0.12, 0.3)))
        one = uli.simulate(learner, problem, T, seed=seed, engine="rounds")
        two = uli.simulate(learner, problem, T, seed=seed, engine="skip")
        assert one.event_held == two.event_held
        kept, lost = kept + int(one.event_held[0]), lost + int(not one.event_held[0])
    assert min(kept, lost) > 50


@pytest.mark.parametrize(("delta", "mean"), [(0.3, 0.5), (0.9, 0.5), (0.9, 0.3)])
def test_phased_elimination_fails_as_often_as_computed(delta, mean):
    runs, phases = 60_000, 4
    T = pe_rounds(2, delta, phases)
    problem = uli.BernoulliBandit([mean, mean])
    count = failures(uli.PhasedElimination(delta), problem, T, runs)
    assert_matches(count, runs, pe_failure(2, mean, delta, phases))


CELLS = {
    "ties": [0.7, 0.7, 0.5, 0.5],
    "ten arms": [0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1],
    "all equal": [0.5] * 5,
}


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("learner", [uli.SuccessiveElimination, uli.PhasedElimination])
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_failures_stay_within_delta(cell, learner, delta):
    runs = uli.simulate(
        learner(delta), uli.BernoulliBandit(CELLS[cell]), 10**7, 2000, seed=6, rounds=[10**7]
    )
    allowed = binom.ppf(0.999, 2000, delta)
    assert (~runs.event_held).sum() <= allowed
    assert (~runs.holds).sum() <= allowed
    assert runs.coverage().failures == (~runs.holds).sum()
    # On the event the best arm stays and the bound holds at every round.
    best = runs.gaps == 0.0
    assert (runs.eliminated_at[runs.event_held][:, best] == 0).all()
    assert runs.holds[runs.event_held].all()


def test_phase_bound_holds_on_the_event():
    runs = uli.simulate(
        uli.PhasedElimination(0.3), uli.BernoulliBandit([0.8, 0.6, 0.5, 0.1]), 10**6, 300, seed=7
    )
    for held, phases in zip(runs.event_held, runs.phases, strict=True):
        for phase in phases:
            if held:
                assert runs.gaps[phase.active].max() <= 4.0 * 2.0**-phase.number
