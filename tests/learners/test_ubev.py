"""UBEV against the naive reference; optimism, and what it does not promise."""

import math

import numpy as np
import pytest

import uli_fast as uli
from tests.learners.test_ucbvi import (
    assert_run_equals_naive,
    assert_runs_equal_naive,
    begun,
    optimistic_episodes,
    play_to,
    random_mdp,
    tables,
)
from tests.naive import ubev as naive
from tests.support.draws import draws

RIVER = uli.mdps.river_swim(3, 5)
NAMED = {
    "river": RIVER,
    "long river": uli.mdps.river_swim(5, 3),
    "lock": uli.mdps.combination_lock(2, 3, 5),
    "treatment": uli.mdps.two_stage_treatment(),
    "restricted": uli.mdps.two_stage_treatment().restricted(),
    "idle end": uli.TabularMDP(
        RIVER.transitions, RIVER.rewards * (np.arange(5) < 4)[:, None, None]
    ),
}


def journey(i):
    """Return the i-th of some random MDPs whose rewards are to be had in the last state."""
    rng = np.random.default_rng(i)
    S, A, H = (int(rng.integers(*ends)) for ends in ((2, 6), (2, 4), (2, 6)))
    mdp = (uli.mdps.random_dense, uli.mdps.random_sparse)[i % 2](S, A, H, seed=i)
    rewards = 0.1 * (i % 3) * mdp.rewards
    rewards[:, -1] = 1.0
    mdp = uli.TabularMDP(mdp.transitions, rewards, mdp.initial)
    return mdp.restricted() if i % 4 == 3 else mdp


@pytest.mark.parametrize("instance", range(6, 30))
def test_kernel_equals_naive_on_the_same_draws(instance):
    mdp, T = journey(instance), 600
    H, S, A = mdp.rewards.shape
    runs = uli.simulate(uli.UBEV(0.1), mdp, T, seed=instance)
    log_term = naive.log_term(S, A, H, 0.1)
    told = naive.play(tables(mdp), T, log_term, draws(instance), mdp.decision_points)
    assert_runs_equal_naive(runs, told, mdp)
    assert runs.policies.shape[1] > 1
    assert not runs.policies[0][:, ~mdp.decision_points].any()


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("log_term", [0.02, 0.5, 6.0])
def test_any_width_equals_naive_on_the_same_draws(name, log_term):
    mdp, T = NAMED[name], 500
    run = begun(uli.UBEV(0.1), mdp, T, seed=3)
    run.parameter = log_term
    play_to(run, T, 60)
    told = naive.play(tables(mdp), T, log_term, draws(3), mdp.decision_points)
    assert_run_equals_naive(run, told)
    assert run.policy_log.size[0] > 1


def test_one_stage_is_a_known_reward():
    mdp = uli.mdps.random_dense(3, 3, 1, seed=0)
    runs = uli.simulate(uli.UBEV(), mdp, 100, seed=0)
    assert (runs.policies[0] == mdp.rewards.argmax(axis=2)).all()
    assert runs.final_regret()[0] == 0.0


def test_the_width_is_that_of_the_page():
    mdp, T = uli.mdps.random_dense(2, 2, 4, seed=1), 300
    run = play_to(begun(uli.UBEV(0.2), mdp, T), T)
    assert run.parameter == pytest.approx(math.log(18 * 2 * 2 * 4 / 0.2), rel=1e-14)
    c = run.look.c.reshape(4, 2, 2)
    for h, s, a in np.argwhere(run.visits > 0):
        width = naive.phi(int(run.visits[h, s, a]), math.log(18 * 2 * 2 * 4 / 0.2))
        assert c[h, s, a] == pytest.approx((3 - h) * width, rel=1e-14)
    assert (run.visits > 2).any()
    assert uli.UBEV(1e-300).parameter(mdp, 1) < math.inf


def test_it_knows_no_horizon():
    mdp = uli.mdps.random_dense(3, 2, 3, seed=0)
    short, long = (play_to(begun(uli.UBEV(), mdp, T), 1000) for T in (1000, 5000))
    assert (short.visits == long.visits).all()
    assert (short.look.Q == long.look.Q).all()


@pytest.mark.parametrize("instance", range(12))
def test_values_are_optimistic_while_estimates_do_not_mislead(instance):
    mdp, T = random_mdp(instance), 600
    H, S, A = mdp.rewards.shape
    log_term = naive.log_term(S, A, H, 0.1)
    run = begun(uli.UBEV(0.1), mdp, T, seed=instance)
    widths = np.vectorize(lambda n: naive.phi(n, log_term), otypes=[float])
    excess = optimistic_episodes(run, lambda n, h: (H - 1 - h) * widths(n))
    assert len(excess) == T
    assert (excess >= -1e-12).all()


def test_visits_add_up():
    mdp = uli.mdps.random_sparse(4, 2, 3, seed=1)
    runs = uli.simulate(uli.UBEV(), mdp, 5000, 2, seed=1)
    assert (runs.visits.sum(axis=(2, 3)) == 5000).all()
    assert (runs.final_plays.sum(axis=1) == 5000).all()


def test_the_best_policy_is_played_in_the_end():
    mdp, T = uli.mdps.combination_lock(3, 2), 10**5
    runs = uli.simulate(uli.UBEV(0.1), mdp, T, 2, seed=4, rounds=[T // 2, T])
    early, late = runs.regret[:, 0], runs.regret[:, 1] - runs.regret[:, 0]
    assert (early > 10).all()
    assert (late < 0.1 * early).all()
    best = np.where(runs.gaps == 0.0, runs.last_play, 0).max(axis=1)
    assert (best == T).all()


def test_a_policy_space_too_large_to_list_is_no_matter():
    mdp = uli.mdps.random_dense(10, 3, 10, seed=0)
    runs = uli.simulate(uli.UBEV(), mdp, 5000, 2, seed=0)
    assert mdp.n_policies == 3**100
    assert runs.policies.shape[1] > 1
    assert (runs.visits.sum(axis=(2, 3)) == 5000).all()


def test_it_promises_nothing():
    mdp = uli.mdps.river_swim()
    with pytest.raises(uli.errors.NoGuaranteeError, match="at any time"):
        uli.UBEV().guarantee(mdp)
    runs = uli.simulate(uli.UBEV(), mdp, 100, seed=0)
    assert np.isnan(runs.worst_ratio).all()
    with pytest.raises(uli.errors.NoGuaranteeError):
        _ = runs.holds
    with pytest.raises(uli.errors.UnsupportedError, match="ModelElimination"):
        uli.UBEV().start(rewards=mdp.rewards)


def test_wrong_arguments_are_named():
    with pytest.raises(uli.errors.ArgumentError, match="TabularMDP"):
        uli.simulate(uli.UBEV(), uli.BernoulliBandit([0.5, 0.4]), 100)
    with pytest.raises(uli.errors.EngineError, match="UBEV"):
        uli.simulate(uli.UBEV(), uli.mdps.river_swim(), 100, engine="skip")
    for delta in (0.0, 1.0, math.nan, "0.1"):
        with pytest.raises(uli.errors.ArgumentError, match="delta"):
            uli.UBEV(delta)
