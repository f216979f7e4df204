"""Phases of policies that are settled are drawn at once, with the law of episodes."""

import numpy as np
import pytest

import uli_fast as uli
from tests.support.policies import Shrunk, trace_of, wide_gaps
from uli_fast._support.streams import stream
from uli_fast.learners._policies import policy_sets

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::uli_fast.errors.{name}")
    for name in ("GuaranteeWarning", "SaturationWarning")
]


def test_a_settled_phase_is_drawn_at_once_with_the_same_law():
    mdp = wide_gaps(2, 2, 3, seed=4)
    learner, T, M = Shrunk(0.1, log_iota=0.01, length=100), 3000, 200
    slow = uli.simulate(learner, mdp, T, M, seed=1, engine="rounds")
    fast = uli.simulate(learner, mdp, T, M, seed=1, engine="skip")
    settled = np.array([phases[-1].policies == 1 for phases in fast.phases])
    assert settled.mean() > 0.5
    # Decisions do not depend on the engine, visits have the same law.
    assert (fast.last_play == slow.last_play).all()
    assert (fast.final_plays == slow.final_plays).all()
    assert (fast.visits.sum(axis=(2, 3)) == T).all()
    difference = fast.visits[settled].mean(axis=0) - slow.visits[settled].mean(axis=0)
    spread = np.sqrt(
        (fast.visits[settled].var(axis=0) + slow.visits[settled].var(axis=0)) / settled.sum()
    )
    assert (np.abs(difference) <= 4.5 * spread + 1e-9).all()
    assert (fast.visits != slow.visits).any()


def test_policies_that_differ_only_where_they_never_get_to_are_one():
    mdp = uli.mdps.combination_lock().restricted()  # two optimal policies, equal on their way
    learner = Shrunk(0.1, log_iota=0.01, length=200)
    runs = uli.simulate(learner, mdp, 10**12, seed=1)
    assert runs.phases[0][-1].policies == 2
    assert runs.final_plays.sum() == 10**12
    _, slow = trace_of(learner, mdp, 3000, 1)
    _, fast = trace_of(learner, mdp, 3000, 1, engine="skip")
    n = slow.policy_log.size[0]
    assert (slow.policy_log.last[:n] == fast.policy_log.last[:n]).all()
    assert (slow.policy_log.plays[:n] == fast.policy_log.plays[:n]).all()


def test_a_set_is_settled_where_its_policies_agree_on_their_way():
    mdp = uli.TabularMDP(np.full((2, 2, 2, 2), 0.5), np.zeros((2, 2, 2)), [1.0, 0.0])
    leads, here = mdp.transitions > 0.0, mdp.initial > 0.0
    first, other = np.zeros((2, 2), np.int8), np.zeros((2, 2), np.int8)
    for h, s, initial, settled in ((0, 1, here, True), (0, 1, ~here, False), (1, 1, here, False)):
        other[:] = 0
        other[h, s] = 1
        chosen = policy_sets.PolicySet(mdp.decision_points, 2, np.stack([first, other]))
        assert (chosen.settled(initial, leads) is not None) == settled
    leads = leads.copy()
    leads[0, 0, :, 1] = False  # now state 1 is out of reach
    assert (chosen.settled(here, leads) == first).all()


def test_a_block_of_episodes_adds_to_the_recorded_regret():
    from uli_fast.kernels.mdp.policy_log import enter_block
    from uli_fast.learners._policies.runs import new_policy_log

    mdp = wide_gaps(2, 2, 2, seed=1)
    bad, best = np.ones((2, 2), np.int8), np.array(mdp.optimal_policy)
    policy_log = new_policy_log(mdp, np.array([3, 10, 12, 30]))
    for pi, t, n in ((bad, 0, 10), (best, 10, 5), (bad, 15, 5), (best, 20, 20)):
        enter_block(policy_log, pi, t, n)
    assert policy_log.regret == pytest.approx(mdp.gap(bad) * np.array([3, 10, 10, 15]))
    assert policy_log.last[:2].tolist() == [20, 40] and policy_log.plays[:2].tolist() == [15, 25]


def test_a_full_ledger_makes_room_for_a_settled_policy():
    mdp = uli.TabularMDP(np.ones((1, 1, 1, 1)), np.ones((1, 1, 1)))
    learner = uli.PolicyElimination(0.1)
    run = learner.begin(learner.on(mdp), stream(1, 0), "skip", 1000, np.array([1000]))
    run.policy_log.size[0] = full = len(run.policy_log.policy)
    run.policy_log.policy[:, 0, 0] = np.arange(1, full + 1)  # others that were played before
    assert run.advance(1)
    assert len(run.policy_log.policy) > full and run.policy_log.plays[full] == 1000


def test_episodes_drawn_at_once_have_the_moments_of_episodes():
    from uli_fast.kernels.mdp.episodes import draw_episodes
    from uli_fast.learners._policies.runs import new_model

    mdp = uli.mdps.random_dense(3, 2, 3, seed=8)
    pi = np.array(mdp.optimal_policy)
    n, M = 50, 4000
    law = mdp.law(stream(3, 0))
    starts, moves = np.zeros((M, 3)), np.zeros((M, 3, 3, 3))
    for i in range(M):
        model = new_model(mdp)
        draw_episodes(law, model, pi, n)
        assert model.N.sum() == 3 * n and model.N3[:2].sum() == 2 * n
        starts[i] = model.starts
        moves[i] = model.N3[np.arange(3)[:, None], np.arange(3), pi]
    occupancy = [mdp.initial]
    for h in range(2):
        here = mdp.transitions[h, np.arange(3), pi[h]]
        joint = occupancy[-1][:, None] * here
        occupancy.append(joint.sum(axis=0))
        error = np.abs(moves[:, h].mean(axis=0) - n * joint)
        assert (error <= 4.5 * np.sqrt(n * joint * (1 - joint) / M) + 1e-9).all()
        assert moves[:, h].var(axis=0) == pytest.approx(n * joint * (1 - joint), rel=0.15, abs=0.05)
    assert starts.mean(axis=0) == pytest.approx(n * mdp.initial, abs=0.3)


def test_a_settled_learner_plays_a_quadrillion_episodes():
    mdp = wide_gaps(2, 2, 1, seed=1)
    runs = uli.simulate(uli.PolicyElimination(0.1), mdp, 10**15, replications=3, seed=1)
    assert runs.holds.all()
    assert (runs.final_plays.sum(axis=1) == 10**15).all()
    assert (runs.visits.sum(axis=(2, 3)) == 10**15).all()
    assert (runs.last_mistake() < 10**7).all()
    assert len(runs.phases[0]) > 10
    assert all(phase.error <= 2.0 ** (-phase.number - 1) for phase in runs.phases[0][:-1])
    assert runs.event_held.all()
