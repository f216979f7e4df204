"""Sets of policies, tries and searches: ties, sizes, and what they may not take."""

import copy
import math

import numpy as np
import pytest

import uli_fast as uli
from tests.support.policies import FAST, Shrunk, trace_of, trace_of_run
from uli_fast._support.streams import stream
from uli_fast.learners._policies import policy_sets, searched_sets

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::uli_fast.errors.{name}")
    for name in ("GuaranteeWarning", "SaturationWarning")
]


def test_ties_go_to_the_smallest_index():
    # Everything alike: all policies tie for ever.
    mdp = uli.TabularMDP(np.full((2, 3, 2, 3), 1 / 3), np.full((2, 3, 2), 0.5), [0.2, 0.3, 0.5])
    expected, _ = Shrunk(0.1, log_iota=0.3).naive(mdp, 200, 1)
    assert len(np.unique(expected, axis=0)) > 1
    for method in ("plain", *FAST):
        trace, _ = trace_of(Shrunk(0.1, method=method, log_iota=0.3), mdp, 200, 1)
        assert (trace == expected).all(), method


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "sizes", [(4, 2, 4), (1, 3, 6), (2, 3, 3), (3, 2, 4), (5, 2, 3), (6, 2, 2), (3, 4, 1)]
)
def test_ties_among_thousands_go_to_the_smallest_index(sizes, seed):
    from uli_fast.kernels.policy_elimination import choose_policy
    from uli_fast.learners._policies.runs import new_model

    (S, A, H), rng = sizes, np.random.default_rng(seed)
    mdp = uli.mdps.random_dense(S, A, H, seed=seed)
    left = policy_sets.PolicySet(mdp.decision_points, A)
    some = rng.random(mdp.n_policies) < 0.3
    if S > 3:  # in states 0 and 3 the smallest policies are not those of the smallest action
        some &= left.policies[:, 0, 0] != left.policies[:, 0, 3]
    left = left.kept(some)
    plain, trie = left.chooser("plain"), left.chooser("trie")
    expected, found = np.zeros((2, H, S), np.int8)
    clipped = 0
    for i in range(25):
        model = new_model(mdp)  # few different values: many ties, and at first nothing else
        model.P[:] = rng.integers(1, 3, model.P.shape) / (2.0 * S) if i else 1.0 / S
        largest = rng.choice([0.5, 1.0, 4.0])
        steps = 1 + rng.integers(1, 4)
        model.c[:] = rng.integers(1, steps, model.c.shape) / steps * largest if i else 0.5
        for s1 in range(S):
            choose_policy(plain, model, s1, expected)
            top = model.top[s1]
            clipped += top == H
            choose_policy(trie, model, s1, found)
            assert (found == expected).all() and model.top[s1] == top
    assert 0 < clipped < 25 * S


def test_a_copy_of_a_trie_chooses_as_it_does():
    from uli_fast.kernels.policy_elimination import choose_policy
    from uli_fast.learners._policies.runs import new_model

    mdp = uli.mdps.random_dense(3, 2, 4, seed=2)
    left = policy_sets.PolicySet(mdp.decision_points, mdp.n_actions)
    trie = left.kept(np.arange(mdp.n_policies) % 3 == 0).chooser("trie")
    twin, rng = copy.deepcopy(trie), np.random.default_rng(1)
    expected, found = np.zeros((2, 4, 3), np.int8)
    for _ in range(20):
        model = new_model(mdp)
        model.P[:], model.c[:] = mdp.transitions, rng.random(model.c.shape)
        choose_policy(trie, model, 0, expected)
        choose_policy(twin, model, 0, found)
        assert (found == expected).all()


def test_actions_off_the_decision_points_are_not_chosen():
    mdp = uli.mdps.combination_lock(length=3, n_actions=2).restricted()
    assert mdp.n_policies < 2**mdp.decision_points.size
    expected, _ = Shrunk(0.1, log_iota=0.05).naive(mdp, 240, 2)
    for method in ("plain", *FAST):
        trace, _ = trace_of(Shrunk(0.1, method=method, log_iota=0.05), mdp, 240, 2)
        assert (trace == expected).all(), method
        assert not trace[:, ~mdp.decision_points].any()


def test_a_search_beyond_its_cap_is_an_error(monkeypatch):
    monkeypatch.setattr(searched_sets, "LISTED", 0)
    mdp = uli.mdps.random_dense(3, 2, 3, seed=2)
    learner = Shrunk(0.1, method="search", node_cap=20, log_iota=0.02)
    with pytest.raises(uli.errors.PolicySearchError, match="node_cap = 20"):
        uli.simulate(learner, mdp, 500, seed=1)


def test_a_billion_policies_are_searched_without_a_list():
    mdp = uli.mdps.river_swim(n_states=6, horizon=5)
    assert mdp.n_policies == 2**30
    with pytest.raises(uli.errors.ArgumentError, match=r"problem.*policies=1\.1e9"):
        uli.simulate(Shrunk(0.1), mdp, 500)
    learner = Shrunk(0.1, method="search", log_iota=0.01, length=400)
    runs = uli.simulate(learner, mdp, 2000, seed=1)
    assert (runs.final_plays > 0).sum() > 1
    assert len(runs.phases[0]) >= 3
    assert runs.phases[0][0].policies == mdp.n_policies


def test_more_policies_than_a_float_can_count_are_searched():
    mdp = uli.mdps.river_swim(6, 250)
    learner = Shrunk(0.1, method="search", log_iota=0.01, length=400)
    runs = uli.simulate(learner, mdp, 20, seed=1)
    assert runs.phases[0][0].policies == math.inf


@pytest.mark.parametrize(("A", "S"), [(2, 150), (3, 100), (4, 64), (16, 24)])
def test_suffixes_are_told_apart_however_many_states_there_are(A, S):
    # A key with a digit for each state would not fit into 64 bits.
    rng = np.random.default_rng(A)
    for _ in range(30):
        actions = rng.integers(0, A, (40, S)).astype(np.int8)[rng.integers(0, 40, 60)]
        flip = rng.integers(0, S, 60)
        actions[range(60), flip] = (actions[range(60), flip] + rng.integers(0, 2, 60)) % A
        suffix = rng.integers(0, 3, 60)
        first, again = policy_sets.distinct(actions, suffix)
        both = np.column_stack([actions, suffix])
        assert (both[first][again] == both).all()
        assert len(first) == len(np.unique(both, axis=0))
        assert all(first[i] == np.flatnonzero(again == i)[0] for i in range(len(first)))


def test_many_states_of_one_stage_are_chosen_as_by_enumeration():
    # Patients of 24 kinds and one of 16 treatments. Sixteen digits of 15 are 2^64 - 1.
    S, A, tied = 25, 16, np.arange(17, 21)
    P, r = np.zeros((2, S, A, S)), np.full((2, S, A), 0.2)
    P[0, 0, :, 1:] = 1.0 / (S - 1)
    P[0, 1:, :, 0] = P[1, :, :, 0] = 1.0
    r[1, :, 15] = 1.0
    r[1, tied, 14] = 0.95
    mdp = uli.TabularMDP(P, r, np.eye(S)[0]).restricted()
    listed = np.where(mdp.decision_points, 15, 0)[None].repeat(16, axis=0).astype(np.int8)
    listed[:, 1, tied] = 14 + (np.arange(16)[:, None] >> np.arange(4)[::-1] & 1)
    traces = []
    for method in ("plain", "trie"):
        learner = Shrunk(0.1, method=method, log_iota=1e-3, length=600)
        run = learner.begin(learner.on(mdp), stream(1, 0), "rounds", 600, np.array([600]))
        run.active = policy_sets.PolicySet(mdp.decision_points, A, listed)
        traces.append(trace_of_run(run)[0])
    assert (traces[0] == traces[1]).all()
    assert len(np.unique(traces[0], axis=0)) == 16


def test_a_trie_has_rows_for_initial_states_alone():
    mdp = uli.mdps.random_dense(4, 2, 3, seed=1)
    left = policy_sets.PolicySet(mdp.decision_points, 2)
    some = np.array([False, True, False, True])
    everywhere, here = left.chooser("trie"), left.chooser("trie", some)
    assert np.diff(here.row_of).tolist() == [[0, 0], [16, 16], [0, 0], [16, 16]]
    assert here.policy.size == everywhere.policy.size // 2
    rows = slice(*everywhere.row_of[1, [0, 2]])
    assert (here.policy[:32] == everywhere.policy[rows]).all()


def test_frozen_lake_prints_its_policies_and_runs_where_they_fit():
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("FrozenLake-v1")
    learner = Shrunk(0.1, log_iota=0.01, length=200)
    assert repr(uli.TabularMDP.from_gymnasium(env, horizon=4)).endswith("policies=262144)")
    far = uli.TabularMDP.from_gymnasium(env, horizon=8)
    with pytest.raises(uli.errors.ArgumentError, match=r"problem: FrozenLake.*policies.*2,097,152"):
        uli.simulate(learner, far, 100)
    near = uli.TabularMDP.from_gymnasium(env, horizon=3)
    runs = uli.simulate(learner, near, 2000, 2, seed=1)
    assert (runs.final_plays.sum(axis=1) == 2000).all()
