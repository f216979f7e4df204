"""UCB-VI against the naive reference; optimism, and what it does not promise."""

import math

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import ucbvi as naive
from tests.support.draws import draws
from uli_fast._support.streams import stream


def random_mdp(i):
    """Return the i-th of a mixed bag of MDPs, every fourth of them restricted."""
    rng = np.random.default_rng(i)
    S, A, H = (int(rng.integers(*ends)) for ends in ((1, 5), (2, 4), (1, 5)))
    mdp = (
        lambda: uli.mdps.random_dense(S, A, H, seed=i),
        lambda: uli.mdps.random_sparse(S + 1, A, H + 1, seed=i),
        lambda: uli.mdps.random_sparse(S, A, H, seed=i, support=1),
        lambda: uli.mdps.river_swim(S + 1, H + 1),
        lambda: uli.mdps.combination_lock(2, A, 1 + H),
        uli.mdps.two_stage_treatment,
    )[i % 6]()
    return mdp.restricted() if i % 4 == 3 else mdp


def tables(mdp):
    """Return what the naive references play on."""
    return mdp.transitions, mdp.unit_rewards, mdp.initial


def tally(trace):
    """Return the policies of a trace in the order of their first play, their plays and last."""
    policies = list({policy.tobytes(): policy for policy in trace}.values())
    where = [np.flatnonzero((trace == policy).all(axis=(1, 2))) for policy in policies]
    return np.array(policies), [w.size for w in where], [int(w[-1]) + 1 for w in where]


def begun(learner, mdp, T, seed=0, rounds=None):
    """Return the run that simulate would play."""
    return learner.begin(learner.on(mdp), stream(seed, 0), "rounds", T, np.array(rounds or [T]))


def play_to(run, t, budget=10**9):
    """Play to episode t; a run stops when its policy_log is full."""
    while run.t < t:
        run.advance(min(budget, t - run.t))
    return run


def assert_run_equals_naive(run, told):
    """Compare the policies played, their counts and last plays, the visits and Q, to the bit."""
    policies, plays, last = tally(told["trace"])
    D = int(run.policy_log.size[0])
    assert D == len(policies)
    assert (run.policy_log.policy[:D] == policies).all()
    assert run.policy_log.plays[:D].tolist() == plays
    assert run.policy_log.last[:D].tolist() == last
    assert (run.visits == told["visits"]).all()
    assert (run.look.Q.reshape(told["Q"].shape) == told["Q"]).all()


def assert_runs_equal_naive(runs, told, mdp):
    """Compare what simulate returns; the regret at the recorded episodes, too."""
    policies, plays, last = tally(told["trace"])
    assert (runs.policies[0] == policies).all()
    assert runs.final_plays[0].tolist() == plays
    assert runs.last_play[0].tolist() == last
    assert (runs.visits[0] == told["visits"]).all()
    gaps = np.cumsum([mdp.gap(policy) for policy in told["trace"]])
    assert runs.regret[0] == pytest.approx(gaps[runs.rounds - 1], rel=1e-9, abs=1e-9)


def best_q(mdp):
    """Return Q* on the unit scale, (H, S, A), and V*, (H + 1, S); off decision points a = 0."""
    V = np.zeros((mdp.horizon + 1, mdp.n_states))
    Q = np.zeros(mdp.rewards.shape)
    for h in reversed(range(mdp.horizon)):
        Q[h] = mdp.unit_rewards[h] + mdp.transitions[h] @ V[h + 1]
        V[h] = np.where(mdp.decision_points[h], Q[h].max(axis=1), Q[h][:, 0])
    return Q, V


def optimistic_episodes(run, bonus):
    """Play to the horizon; return Q - Q* of the episodes up to the first misleading estimate.

    An estimate misleads where P_hat V* + bonus(n, h) falls short of P V*.
    """
    mdp, excess = run.problem, []
    Q, V = best_q(mdp)
    H, S, A = Q.shape
    short = np.zeros((H, S, A))
    while run.t < run.horizon:
        n, P_hat = run.model.N.copy(), run.model.P.copy()
        play_to(run, run.t + 1)
        for h in range(H):
            seen = n[h] > 0
            doubt = mdp.transitions[h] @ V[h + 1] - P_hat[h] @ V[h + 1]
            short[h][seen] = doubt[seen] - bonus(n[h][seen], h)
        if (short[:-1] > 1e-12).any():  # after the last stage there is nothing to estimate
            break
        excess.append(run.look.Q.reshape(H, S, A) - Q)
    return np.array(excess)


@pytest.mark.parametrize("instance", range(36))
def test_kernel_equals_naive_on_the_same_draws(instance):
    # With smaller bonuses than its own, so that there is something to choose.
    mdp, T = random_mdp(instance), 400
    b = (0.05, 0.3, 1.0, 3.0)[instance // 6 % 4]
    run = begun(uli.UCBVI(0.1), mdp, T, seed=instance)
    run.parameter = b
    play_to(run, T, 1 + instance)
    told = naive.play(tables(mdp), T, b, draws(instance), mdp.decision_points)
    assert_run_equals_naive(run, told)
    assert run.policy_log.size[0] > 1
    assert (run.look.Q < mdp.horizon).any()
    assert not run.policy_log.policy[: run.policy_log.size[0], ~mdp.decision_points].any()


def test_its_own_bonus_equals_naive_on_the_same_draws():
    mdp, T = uli.mdps.random_dense(2, 2, 2, seed=5), 30_000
    runs = uli.simulate(uli.UCBVI(0.5), mdp, T, seed=4)
    told = naive.play(tables(mdp), T, naive.bonus(2, 2, 2, T, 0.5), draws(4))
    assert_runs_equal_naive(runs, told, mdp)
    assert runs.policies.shape[1] > 1


@pytest.mark.parametrize(("S", "A", "H", "T"), [(2, 3, 4, 1000), (5, 2, 3, 10**18)])
def test_the_bonus_is_that_of_the_page(S, A, H, T):
    mdp = uli.mdps.random_dense(S, A, H, seed=0)
    run = begun(uli.UCBVI(0.2), mdp, T)
    assert run.parameter == pytest.approx(naive.bonus(S, A, H, T, 0.2), rel=1e-14)
    assert run.parameter == pytest.approx(7 * H * math.log(25 * S * A * H * T), rel=1e-14)
    run.advance(1)
    s, a = run.path.state[0], run.path.action[0]
    c = run.look.c.reshape(H, S, A)[0, s, a]
    assert c == mdp.unit_rewards[0, s, a] + run.parameter
    assert uli.UCBVI(1e-300).parameter(mdp, T) < math.inf


@pytest.mark.parametrize("instance", range(12))
def test_values_are_optimistic_while_estimates_do_not_mislead(instance):
    mdp, T = random_mdp(instance), 600
    run = begun(uli.UCBVI(0.1), mdp, T, seed=instance)
    run.parameter = 1.5 * mdp.horizon
    excess = optimistic_episodes(run, lambda n, h: run.parameter / np.sqrt(n))
    assert len(excess) == T
    assert (excess >= -1e-12).all()
    assert (np.diff(excess, axis=0) <= 0.0).all()  # Q never grows
    assert (excess[-1] < excess[0]).any()


def test_visits_add_up():
    mdp = uli.mdps.random_sparse(4, 2, 3, seed=1)
    runs = uli.simulate(uli.UCBVI(), mdp, 5000, 2, seed=1)
    assert (runs.visits.sum(axis=(2, 3)) == 5000).all()
    assert (runs.final_plays.sum(axis=1) == 5000).all()


def test_chunks_do_not_matter():
    mdp = uli.mdps.random_dense(3, 3, 3, seed=2)
    found = []
    for budget in (1, 97, 10**6):
        run = begun(uli.UCBVI(0.1), mdp, 3000, seed=2, rounds=[10, 1500, 3000])
        run.parameter = 1.0
        found.append(play_to(run, 3000, budget))
    D = int(found[0].policy_log.size[0])
    assert D > 64  # the policy_log has grown
    for run in found[1:]:
        assert (run.policy_log.policy[:D] == found[0].policy_log.policy[:D]).all()
        assert (run.policy_log.last[:D] == found[0].policy_log.last[:D]).all()
        assert (run.policy_log.regret == found[0].policy_log.regret).all()
        assert (run.look.Q == found[0].look.Q).all()


def test_the_best_policy_is_played_in_the_end():
    mdp, T = uli.mdps.combination_lock(2, 2), 4 * 10**6
    runs = uli.simulate(uli.UCBVI(0.1), mdp, T, seed=4, rounds=[T // 2, T])
    early, late = runs.regret[0, 0], runs.regret[0, 1] - runs.regret[0, 0]
    assert 0.0 < late < 0.25 * early  # it comes back, ever more rarely
    assert late < 0.05 * T / 2  # a wrong policy costs 1
    assert runs.final_plays[0][runs.gaps[0] == 0.0].sum() > 0.9 * T


def test_a_policy_space_too_large_to_list_is_no_matter():
    mdp = uli.mdps.random_dense(10, 3, 10, seed=0)
    runs = uli.simulate(uli.UCBVI(), mdp, 2000, 2, seed=0)
    assert mdp.n_policies == 3**100
    assert runs.visits.shape == (2, 10, 10, 3)
    assert (runs.visits.sum(axis=(2, 3)) == 2000).all()


def test_it_promises_nothing():
    mdp = uli.mdps.river_swim()
    with pytest.raises(uli.errors.NoGuaranteeError, match="comes back"):
        uli.UCBVI().guarantee(mdp)
    runs = uli.simulate(uli.UCBVI(), mdp, 100, seed=0)
    assert np.isnan(runs.worst_ratio).all()
    with pytest.raises(uli.errors.NoGuaranteeError):
        _ = runs.holds
    with pytest.raises(uli.errors.UnsupportedError, match="ModelElimination"):
        uli.UCBVI().start(rewards=mdp.rewards)


def test_wrong_arguments_are_named():
    mdp = uli.mdps.river_swim()
    with pytest.raises(uli.errors.ArgumentError, match="TabularMDP"):
        uli.simulate(uli.UCBVI(), uli.BernoulliBandit([0.5, 0.4]), 100)
    with pytest.raises(uli.errors.EngineError, match="UCBVI"):
        uli.simulate(uli.UCBVI(), mdp, 100, engine="skip")
    for delta in (0.0, 1.0, math.nan, "0.1"):
        with pytest.raises(uli.errors.ArgumentError, match="delta"):
            uli.UCBVI(delta)
