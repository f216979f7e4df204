"""Tabular MDPs: values against enumeration, free choices, units, and Gymnasium's own tables."""

import math
from itertools import product
from types import SimpleNamespace

import gymnasium
import numba
import numpy as np
import pytest

import uli_fast as uli
from uli_fast._support.streams import stream
from uli_fast.errors import ArgumentError
from uli_fast.kernels.mdp.episodes import drawn

TabularMDP = uli.TabularMDP


def worth(mdp, policy):
    """Return the value of a policy forwards: the states' distribution, stage by stage."""
    here, total = mdp.initial.copy(), 0.0
    for h in range(mdp.horizon):
        there = np.zeros(mdp.n_states)
        for s in range(mdp.n_states):
            total += here[s] * mdp.rewards[h, s, policy[h][s]]
            there += here[s] * mdp.transitions[h, s, policy[h][s]]
        here = there
    return total


def policies(mdp):
    """Enumerate the policies that differ at decision points and take action 0 elsewhere."""
    for actions in product(range(mdp.n_actions), repeat=int(mdp.decision_points.sum())):
        policy = np.zeros((mdp.horizon, mdp.n_states), int)
        policy[mdp.decision_points] = actions
        yield policy


def in_units(mdp, low, high):
    """Return the MDP with rewards stretched from [0, 1] to [low, high]."""
    rewards = low + (high - low) * mdp.rewards
    return TabularMDP(mdp.transitions, rewards, mdp.initial, low=low, high=high)


SMALL = {
    "dense": uli.mdps.random_dense(2, 2, 3, seed=0),
    "wide": uli.mdps.random_dense(2, 3, 2, seed=1),
    "sparse": uli.mdps.random_sparse(3, 2, 2, seed=2),
    "units": in_units(uli.mdps.random_sparse(2, 2, 3, seed=3, support=1), -7.0, 5.0),
    "lock": uli.mdps.combination_lock(2, 2, 3),
    "treatment": uli.mdps.two_stage_treatment().restricted(),
}


@pytest.mark.parametrize("case", SMALL)
def test_the_optimal_value_is_the_largest_of_all_policies(case):
    mdp = SMALL[case]
    values = [worth(mdp, policy) for policy in policies(mdp)]
    assert len(values) == mdp.n_policies
    assert mdp.optimal_value == pytest.approx(max(values), abs=1e-12)
    assert mdp.unit_optimal == pytest.approx((max(values) - mdp.horizon * mdp.low) / mdp.scale)
    assert worth(mdp, mdp.optimal_policy) == pytest.approx(max(values), abs=1e-12)
    assert mdp.gap(mdp.optimal_policy) == 0.0


@pytest.mark.parametrize("case", SMALL)
def test_values_and_gaps_of_all_policies(case):
    mdp = SMALL[case]
    for policy in policies(mdp):
        value = worth(mdp, policy)
        assert mdp.value(policy) == pytest.approx(value, abs=1e-12)
        assert mdp.gap(policy) == pytest.approx(mdp.optimal_value - value, abs=1e-11)
        assert mdp.gap(policy) == 0.0 or mdp.gap(policy) > 1e-9


def test_a_policy_that_draws_is_worth_the_mean_of_the_tables_it_draws():
    mdp, rng = in_units(uli.mdps.river_swim(2, 2).restricted(), -3.0, 5.0), np.random.default_rng(1)
    for _ in range(5):
        laws = rng.dirichlet(np.ones(2), (2, 2))
        # Rows of no decision point are not looked at: nothing is decided there.
        given = np.where(mdp.decision_points[:, :, None], laws, 7.0)
        mean = sum(
            worth(mdp, policy) * laws[*np.nonzero(mdp.decision_points), policy[points]].prod()
            for policy in policies(mdp)
            for points in [mdp.decision_points]
        )
        assert mdp.value(given) == pytest.approx(mean, abs=1e-12)
        assert mdp.gap(given.tolist()) == pytest.approx(mdp.optimal_value - mean, abs=1e-11)


@pytest.mark.parametrize("case", SMALL)
def test_a_law_that_takes_one_action_is_that_table(case):
    mdp = SMALL[case]
    for policy in policies(mdp):
        drawn_for_sure = np.eye(mdp.n_actions)[policy]
        assert mdp.value(drawn_for_sure) == pytest.approx(mdp.value(policy), abs=1e-12)
        assert mdp.gap(drawn_for_sure) == pytest.approx(mdp.gap(policy), abs=1e-12)


def test_the_smallest_of_the_best_actions_is_taken():
    alike = TabularMDP(np.full((2, 3, 2), 0.5), [[0.3, 0.7, 0.7]] * 2, horizon=3)
    assert (alike.optimal_policy == 1).all()
    # 0.1 + 0.2 exceeds 0.3 by rounding alone: the detour, action 1, is no better.
    detour = TabularMDP(
        np.broadcast_to(np.eye(3)[[2, 1]], (2, 3, 2, 3)),
        [[[0.3, 0.1], [0, 0], [0, 0]], [[0, 0], [0.2, 0.2], [0, 0]]],
    )
    assert detour.optimal_policy[0, 0] == 0
    assert detour.gap([[1, 0, 0]] * 2) == detour.gap([[0, 0, 0]] * 2) == 0.0
    lock = uli.mdps.combination_lock(3, 3).restricted()
    assert lock.optimal_policy.tolist() == [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 0, 0]]


def test_rounding_makes_no_optimal_policy_look_worse():
    mdp = in_units(uli.mdps.random_dense(40, 5, 50, seed=4), 1e6, 1e6 + 1.0)
    assert mdp.gap(mdp.optimal_policy) == 0.0
    doubled = TabularMDP(
        np.concatenate([mdp.transitions] * 2, axis=2),
        np.concatenate([mdp.rewards] * 2, axis=2),
        mdp.initial,
        low=mdp.low,
        high=mdp.high,
    )
    twin = mdp.optimal_policy + 5 * np.random.default_rng(5).integers(0, 2, (50, 40))
    assert doubled.gap(twin) == 0.0
    assert (doubled.optimal_policy < 5).all()


def test_short_forms_equal_long_ones():
    rng = np.random.default_rng(6)
    P, r, H = rng.dirichlet(np.ones(3), (3, 2)), rng.random((3, 2)), 4
    P_long, r_long = np.stack([P] * H), np.stack([r] * H)
    long = TabularMDP(P_long, r_long)
    shorts = (
        TabularMDP(P, r, horizon=H),
        TabularMDP(P_long, r),
        TabularMDP(P, r_long),
        TabularMDP(P, r_long, horizon=H),
        TabularMDP(P_long, r_long, horizon=H),
        TabularMDP(P.tolist(), r.tolist(), [1, 0, 0], 4.0),
        TabularMDP(np.asfortranarray(P_long), np.asfortranarray(r_long)),
    )
    for short in shorts:
        for name in ("transitions", "rewards", "unit_rewards", "initial", "decision_points"):
            assert (getattr(short, name) == getattr(long, name)).all()
            assert getattr(short, name).flags.c_contiguous
    assert (long.horizon, long.n_states, long.n_actions, long.n_policies) == (4, 3, 2, 2**12)
    assert long.initial.tolist() == [1.0, 0.0, 0.0]
    stationary = [1, 0, 1]
    assert long.value(stationary) == long.value([stationary] * H)


def test_rows_are_made_to_sum_to_one():
    off = np.full((3, 1, 3), [1 / 3 + 9e-10, 1 / 3, 1 / 3])
    mdp = TabularMDP(off, np.ones((3, 1)), [0.1, 0.2, 0.7 + 5e-10], horizon=100)
    assert np.abs(mdp.transitions.sum(axis=-1) - 1.0).max() < 1e-15
    assert mdp.optimal_value == pytest.approx(100.0, abs=1e-11)


def test_the_tables_are_copies_that_cannot_be_changed():
    P, r = np.full((1, 2, 2, 2), 0.5), np.ones((1, 2, 2))
    points = np.ones((1, 2), bool)
    mdp = TabularMDP(P, r, decision_points=points)
    P[:] = r[:] = points[:] = 0
    for table in (mdp.transitions, mdp.rewards, mdp.unit_rewards, mdp.decision_points):
        assert table.any()
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 0
    for table in (mdp.initial, mdp.restricted().decision_points, mdp.optimal_policy):
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 0
    assert mdp.optimal_policy.dtype == np.int8


def reachable(mdp):
    """Return the (stage, state) pairs that some policy reaches, by walking every path."""
    found, frontier = set(), {(0, s) for s in range(mdp.n_states) if mdp.initial[s] > 0}
    while frontier:
        h, s = frontier.pop()
        found.add((h, s))
        if h + 1 < mdp.horizon:
            after = {(h + 1, k) for k in range(mdp.n_states) if mdp.transitions[h, s, :, k].any()}
            frontier |= after - found
    return found


@pytest.mark.parametrize("seed", range(8))
def test_a_restriction_changes_no_value_and_leaves_fewer_policies(seed):
    rng = np.random.default_rng(seed)
    mdp = uli.mdps.random_sparse(3, 2, 3, seed, support=1)
    P, r = mdp.transitions.copy(), mdp.rewards.copy()
    P[0, :, 1], r[0, :, 1] = P[0, :, 0], r[0, :, 0]  # actions alike at the first stage
    r[1, :, 1] = r[1, :, 0]  # alike in one respect only
    r[2, 0] = 0.5  # alike where nothing follows
    mdp = TabularMDP(P, r, np.eye(3)[rng.integers(3)])
    small = mdp.restricted()
    assert small.optimal_value == mdp.optimal_value
    assert small.n_policies < mdp.n_policies
    assert mdp.decision_points.all()
    assert small.restricted().n_policies == small.n_policies
    best = max(worth(mdp, policy) for policy in policies(small))
    assert best == pytest.approx(mdp.optimal_value, abs=1e-12)
    assert (small.optimal_policy[~small.decision_points] == 0).all()
    for h, s in product(range(3), range(3)):
        alike = (r[h, s] == r[h, s, 0]).all() and (h == 2 or (P[h, s] == P[h, s, 0]).all())
        assert small.decision_points[h, s] == ((h, s) in reachable(mdp) and not alike)
    for policy in policies(mdp):  # whatever is done at the other points
        assert mdp.value(policy) == pytest.approx(
            mdp.value(np.where(small.decision_points, policy, 0)), abs=1e-12
        )


def test_a_restriction_that_costs_something_is_refused():
    mdp = uli.mdps.river_swim()
    small = mdp.restricted()

    def again(points):
        return TabularMDP(mdp.transitions, mdp.rewards, decision_points=points)

    assert again(small.decision_points).n_policies == small.n_policies == 2**8
    assert again(np.ones((4, 3), bool)).n_policies == mdp.n_policies == 2**12
    for h, s in np.argwhere(small.decision_points):
        points = small.decision_points.copy()
        points[h, s] = False
        with pytest.raises(ArgumentError, match=f"stage {h}, state {s}") as caught:
            again(points)
        assert caught.value.argument == "decision_points"


@numba.njit
def draws(cdf, u):
    out = np.empty(u.size, np.int64)
    for i in range(u.size):
        out[i] = drawn(cdf, u[i])
    return out


def test_states_are_drawn_as_often_as_they_should_and_never_if_impossible():
    rows = np.array(
        [[0, 0.3, 0, 0.7, 0], [0.1, 0.2, 0.3, 0.4, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0], [0.2] * 5]
    )
    mdp = TabularMDP(rows[:, None], np.zeros((5, 1)), rows[0], horizon=2)
    rng, words = np.random.default_rng(7), stream(7, 0)
    law = mdp.law(words)
    assert law.words is words
    u = np.append(rng.random(40_000), [0.0, 0.3, 0.7, 1.0 - 2.0**-53])
    for p, cdf in [(rows[0], law.start), *zip(rows, law.cdf[1, :, 0], strict=True)]:
        share = np.bincount(draws(cdf, u), minlength=5) / u.size
        assert share == pytest.approx(p, abs=0.01)
        assert (share[p == 0.0] == 0.0).all()
    # Sums that fall short of 1 by rounding must not reach the states beyond.
    short = np.append(np.full(10, 0.1), [0.0, 0.0])
    law = TabularMDP(np.tile(short, (12, 1, 1)), np.zeros((12, 1)), short, horizon=1).law(words)
    assert np.cumsum(short)[-1] < 1.0
    assert law.start[9:].tolist() == [1.0, 1.0, 1.0]
    assert draws(law.cdf[0, 3, 0], u).max() == 9


def roll(env, policy, horizon):
    """Return the expected sum of rewards in the env's own table; done ends an episode."""
    P, total = env.unwrapped.P, 0.0
    alive = {s: p for s, p in enumerate(env.unwrapped.initial_state_distrib) if p > 0}
    for h in range(horizon):
        later = {}
        for s, mass in alive.items():
            for p, to, reward, done in P[s][int(policy[h][s])]:
                total += mass * p * reward
                if not done:
                    later[to] = later.get(to, 0.0) + mass * p
        alive = later
    return total


def best_roll(env, horizon):
    """Return the largest expected sum of rewards in the env's own table."""
    P = env.unwrapped.P
    V = dict.fromkeys(P, 0.0)
    for _ in range(horizon):
        V = {
            s: max(
                sum(p * (reward + (0.0 if done else V[to])) for p, to, reward, done in outcomes)
                for outcomes in P[s].values()
            )
            for s in P
        }
    return sum(p * V[s] for s, p in enumerate(env.unwrapped.initial_state_distrib))


# Name, options, horizon, number of states: one more than the env has only where it is needed.
ENVS = {
    "lake": ("FrozenLake-v1", {}, 20, 16),
    "firm lake": ("FrozenLake-v1", {"is_slippery": False}, 7, 16),
    "pond": ("FrozenLake-v1", {"desc": ["SF", "HG"]}, 4, 4),
    "cliff": ("CliffWalking-v1", {}, 16, 49),
    "slippery cliff": ("CliffWalking-v1", {"is_slippery": True}, 16, 49),
    "taxi": ("Taxi-v4", {}, 8, 501),
}


@pytest.mark.parametrize("case", ENVS)
def test_values_are_those_of_the_environment(case):
    name, options, horizon, n_states = ENVS[case]
    env = gymnasium.make(name, **options)
    mdp = TabularMDP.from_gymnasium(env, horizon)
    assert (mdp.n_states, mdp.horizon) == (n_states, horizon)
    assert mdp.low <= 0.0 <= mdp.high
    assert mdp.optimal_value == pytest.approx(best_roll(env, horizon), abs=1e-10)
    assert roll(env, mdp.optimal_policy, horizon) == pytest.approx(mdp.optimal_value, abs=1e-10)
    rng = np.random.default_rng(8)
    for _ in range(5):
        policy = rng.integers(0, mdp.n_actions, (horizon, n_states))
        assert mdp.value(policy) == pytest.approx(roll(env, policy, horizon), abs=1e-10)
    stationary = rng.integers(0, mdp.n_actions, n_states)
    expected = roll(env, [stationary] * horizon, horizon)
    assert mdp.value(stationary) == pytest.approx(expected, abs=1e-10)


def test_all_policies_of_a_small_lake():
    env = gymnasium.make("FrozenLake-v1", desc=["SF", "HG"])
    mdp = TabularMDP.from_gymnasium(env, 3)
    assert mdp.decision_points.tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 0, 0]]
    values = {tuple(p.ravel()): roll(env, p, 3) for p in policies(mdp)}
    assert len(values) == mdp.n_policies == 4**4
    assert mdp.optimal_value == pytest.approx(max(values.values()), abs=1e-12)
    assert mdp.optimal_value > 0.0
    whole = TabularMDP.from_gymnasium(env, 3, restricted=False)
    assert (whole.optimal_value, whole.n_policies) == (mdp.optimal_value, 4**12)


@pytest.mark.parametrize("case", ["firm lake", "cliff", "taxi"])
def test_stepping_through_the_environment_earns_the_value(case):
    name, options, horizon, _ = ENVS[case]
    env = gymnasium.make(name, **options)
    mdp = TabularMDP.from_gymnasium(env, horizon)
    for seed in range(3):
        state, _ = env.reset(seed=seed)
        start = TabularMDP(
            mdp.transitions, mdp.rewards, np.eye(mdp.n_states)[state], low=mdp.low, high=mdp.high
        )
        total = 0.0
        for h in range(horizon):
            state, reward, done, _, _ = env.step(int(mdp.optimal_policy[h, state]))
            total += reward
            if done:
                break
        assert start.optimal_value == pytest.approx(total, abs=1e-10)


def toy(P, initial=(1.0, 0.0), **more):
    return SimpleNamespace(P=P, initial_state_distrib=np.array(initial), **more)


def test_done_ends_an_episode_wherever_it_leads():
    # State 1 goes on earning; it is also where some episodes end.
    again = toy(
        {0: {0: [(0.5, 1, 2.0, True), (0.5, 1, 4.0, False)]}, 1: {0: [(1.0, 1, 1.0, False)]}}
    )
    assert TabularMDP.from_gymnasium(again, 3).optimal_value == pytest.approx(3.0 + 0.5 * 2.0)
    # An absorbing state without reward ends an episode as well as another would.
    still = toy({0: {0: [(1.0, 1, -2.0, True)]}, 1: {0: [(1.0, 1, 0, True), (0.0, 0, 5.0, False)]}})
    mdp = TabularMDP.from_gymnasium(still, 3)
    assert (mdp.n_states, mdp.optimal_value, mdp.low, mdp.high) == (2, -2.0, -2.0, 0.0)
    steady = toy({s: {0: [(1.0, 1, 3.0, False)]} for s in range(2)})
    mdp = TabularMDP.from_gymnasium(steady, 2)
    assert (mdp.n_states, mdp.optimal_value, mdp.low, mdp.high) == (2, 6.0, 0.0, 3.0)
    nothing = toy({s: {0: [(1.0, 0, 0.0, False)]} for s in range(2)})
    assert TabularMDP.from_gymnasium(nothing, 3).optimal_value == 0.0


def test_named_instances():
    river = uli.mdps.river_swim(6, 20)
    assert river.optimal_policy[0].tolist() == [1] * 6
    assert river.gap(np.zeros(6)) == pytest.approx(river.optimal_value - 20 * 0.005)
    assert np.allclose(river.transitions.sum(axis=-1), 1.0)
    for length, A, H in ((3, 2, None), (2, 4, 5), (1, 2, 1)):
        lock = uli.mdps.combination_lock(length, A, H)
        assert lock.optimal_value == 1.0
        assert lock.gap(np.zeros(length + 1)) == 1.0
    # Once a wrong action was taken, all of them are to be entered anew.
    assert uli.mdps.combination_lock(2, 2, 3).gap([[1, 0, 0], [0, 1, 0], [1, 0, 0]]) == 1.0
    treatment = uli.mdps.two_stage_treatment()
    assert treatment.restricted().n_policies == 3**6
    assert treatment.optimal_policy.tolist() == [[1, 2, 0, 0], [2, 2, 1, 0], [0, 0, 0, 0]]


def test_random_instances_are_those_of_their_seed():
    for make in (uli.mdps.random_dense, uli.mdps.random_sparse):
        one, two, other = make(4, 3, 2, seed=1), make(4, 3, 2, seed=1), make(4, 3, 2, seed=2)
        assert (one.transitions == two.transitions).all() and (one.rewards == two.rewards).all()
        assert (one.initial == two.initial).all() and (one.initial != other.initial).any()
        assert one.transitions.shape == (2, 4, 3, 4)
    sparse = uli.mdps.random_sparse(9, 3, 2, seed=3, support=4)
    assert ((sparse.transitions > 0).sum(axis=-1) == 4).all()
    assert (sparse.initial > 0).sum() == 4
    assert (sparse.transitions > 0).any(axis=(0, 1, 2)).all()
    assert (uli.mdps.random_dense(9, 3, 2, seed=3).transitions > 0).all()


def test_printing():
    assert repr(uli.mdps.river_swim()) == "RiverSwim(S=3, A=2, H=4, policies=4096)"
    P, r = np.ones((1, 10, 1)), np.zeros((1, 10))
    r[0, 0] = 1.0
    assert repr(TabularMDP(P, r, horizon=6)) == "TabularMDP(S=1, A=10, H=6, policies=1000000)"
    assert repr(TabularMDP(P, r, horizon=7)) == "TabularMDP(S=1, A=10, H=7, policies=1.0e7)"
    assert repr(TabularMDP(P, r, horizon=9000)).endswith("policies=1.0e9000)")
    assert repr(TabularMDP(P, r, horizon=1, label="One")) == "One(S=1, A=10, H=1, policies=10)"
    lake = TabularMDP.from_gymnasium(gymnasium.make("FrozenLake-v1"), 2)
    assert repr(lake) == "FrozenLake-v1(S=16, A=4, H=2, policies=4)"


P, R = np.full((2, 2, 3, 2), 0.5), np.full((2, 2, 3), 0.5)
MDP = TabularMDP(P, R)
LAKE = gymnasium.make("FrozenLake-v1")


def altered(table, index, value):
    table = table.copy()
    table[index] = value
    return table


def gym(P, **more):
    return lambda: TabularMDP.from_gymnasium(toy(P, **more), 2)


BAD = {
    "transitions flat": (lambda: TabularMDP(P[0, 0], R), "transitions"),
    "transitions ragged": (lambda: TabularMDP([[[[1.0]], [[0.5, 0.5]]]], R), "transitions"),
    "transitions text": (lambda: TabularMDP("P", R), "transitions"),
    "transitions empty": (lambda: TabularMDP(np.zeros((0, 2, 3, 2)), R), "transitions"),
    "no actions": (lambda: TabularMDP(np.zeros((2, 2, 0, 2)), np.zeros((2, 2, 0))), "transitions"),
    "transitions elsewhere": (lambda: TabularMDP(np.full((2, 2, 3, 4), 0.25), R), "transitions"),
    "transitions NaN": (lambda: TabularMDP(P * math.nan, R), "transitions"),
    "transitions negative": (
        lambda: TabularMDP(altered(P, (1, 0, 2), [1.5, -0.5]), R),
        "transitions",
    ),
    "transitions short of 1": (lambda: TabularMDP(altered(P, (1, 0, 2), 0.499), R), "transitions"),
    "transitions beyond 1": (
        lambda: TabularMDP(altered(P, (1, 0, 2), 0.500000001), R),
        "transitions",
    ),
    "too many actions": (
        lambda: TabularMDP(np.ones((1, 128, 1)), np.ones((1, 128)), horizon=1),
        "transitions",
    ),
    "rewards flat": (lambda: TabularMDP(P, R[0, 0]), "rewards"),
    "rewards actions": (lambda: TabularMDP(P, R[:, :, :2]), "rewards"),
    "rewards states": (lambda: TabularMDP(P, R[:, :1]), "rewards"),
    "rewards stages": (lambda: TabularMDP(P, R[:1]), "rewards"),
    "rewards empty": (lambda: TabularMDP(P, R[:0]), "rewards"),
    "rewards NaN": (lambda: TabularMDP(P, altered(R, (1, 1, 1), math.nan)), "rewards"),
    "rewards above": (lambda: TabularMDP(P, altered(R, (1, 1, 1), 1.1)), "rewards"),
    "rewards below": (lambda: TabularMDP(P, R, low=0.6), "rewards"),
    "low above high": (lambda: TabularMDP(P, R, low=1.0, high=0.0), "high"),
    "initial length": (lambda: TabularMDP(P, R, [1.0]), "initial"),
    "initial matrix": (lambda: TabularMDP(P, R, [[0.5, 0.5]]), "initial"),
    "initial sum": (lambda: TabularMDP(P, R, [0.5, 0.4]), "initial"),
    "initial negative": (lambda: TabularMDP(P, R, [1.5, -0.5]), "initial"),
    "initial NaN": (lambda: TabularMDP(P, R, [1.0, math.nan]), "initial"),
    "initial state": (lambda: TabularMDP(P, R, 1), "initial"),
    "horizon 0": (lambda: TabularMDP(P[0], R[0], horizon=0), "horizon"),
    "horizon 1.5": (lambda: TabularMDP(P[0], R[0], horizon=1.5), "horizon"),
    "horizon text": (lambda: TabularMDP(P[0], R[0], horizon="2"), "horizon"),
    "horizon missing": (lambda: TabularMDP(P[0], R[0]), "horizon"),
    "horizon other": (lambda: TabularMDP(P, R[0], horizon=3), "horizon"),
    "horizon absurd": (lambda: TabularMDP(P[0], R[0], horizon=10**18), "horizon"),
    "label": (lambda: TabularMDP(P, R, label=3), "label"),
    "points flat": (lambda: TabularMDP(P, R, decision_points=[True, True]), "decision_points"),
    "points numbers": (
        lambda: TabularMDP(P, R, decision_points=np.ones((2, 2))),
        "decision_points",
    ),
    "points ragged": (lambda: TabularMDP(P, R, decision_points=[[True], []]), "decision_points"),
    "points that matter": (
        lambda: TabularMDP(P, altered(R, (0, 0, 2), 0.6), decision_points=np.zeros((2, 2), bool)),
        "decision_points",
    ),
    "policy shape": (lambda: MDP.value([[0, 1]]), "policy"),
    "policy length": (lambda: MDP.value([0, 1, 0]), "policy"),
    "policy number": (lambda: MDP.gap(0), "policy"),
    "policy action": (lambda: MDP.gap([0, 3]), "policy"),
    "policy below 0": (lambda: MDP.value([0, -1]), "policy"),
    "policy 0.5": (lambda: MDP.value([0, 0.5]), "policy"),
    "policy NaN": (lambda: MDP.value([0, math.nan]), "policy"),
    "policy text": (lambda: MDP.value(["0", "1"]), "policy"),
    "policy None": (lambda: MDP.value(None), "policy"),
    "laws shape": (lambda: MDP.value(np.full((2, 2, 2), 0.5)), "policy"),
    "laws of fewer stages": (lambda: MDP.gap(np.full((1, 2, 3), 1 / 3)), "policy"),
    "laws below 0": (lambda: MDP.gap(np.full((2, 2, 3), [1.5, -0.5, 0.0])), "policy"),
    "laws above 1": (lambda: MDP.value(np.full((2, 2, 3), 0.5)), "policy"),
    "laws of nothing": (lambda: MDP.value(np.zeros((2, 2, 3))), "policy"),
    "laws NaN": (lambda: MDP.value(np.full((2, 2, 3), math.nan)), "policy"),
    "Blackjack": (
        lambda: TabularMDP.from_gymnasium(gymnasium.make("Blackjack-v1"), 5),
        "env",
    ),
    "no env": (lambda: TabularMDP.from_gymnasium("FrozenLake-v1", 5), "env"),
    "fickle passenger": (
        lambda: TabularMDP.from_gymnasium(gymnasium.make("Taxi-v4", fickle_passenger=True), 2),
        "env",
    ),
    "env horizon": (lambda: TabularMDP.from_gymnasium(LAKE, 0), "horizon"),
    "P empty": (gym({}, initial=()), "env"),
    "P of states": (gym({0: {0: [(1.0, 0, 0.0, False)]}, 2: {}}), "env"),
    "P of actions": (
        gym({0: {0: [(1.0, 0, 0.0, False)]}, 1: {a: [(1.0, 0, 0.0, False)] for a in range(2)}}),
        "env",
    ),
    "P of triples": (gym({s: {0: [(1.0, 0, 0.0)]} for s in range(2)}), "env"),
    "P beyond": (gym({s: {0: [(1.0, 2, 0.0, False)]} for s in range(2)}), "env"),
    "P not stochastic": (gym({s: {0: [(0.9, 0, 0.0, False)]} for s in range(2)}), "env"),
    "P and initial": (gym({0: {0: [(1.0, 0, 0.0, False)]}}), "env"),
    "river": (lambda: uli.mdps.river_swim(1), "n_states"),
    "lock": (lambda: uli.mdps.combination_lock(3, horizon=2), "horizon"),
    "support": (lambda: uli.mdps.random_sparse(2, 2, 2, 0, support=3), "support"),
    "concentration": (lambda: uli.mdps.random_dense(2, 2, 2, 0, concentration=0), "concentration"),
    "S": (lambda: uli.mdps.random_dense(0, 2, 2, 0), "S"),
    "S absurd": (lambda: uli.mdps.random_dense(10**5, 2, 10**5, 0), "S"),
    "S sparse and absurd": (lambda: uli.mdps.random_sparse(10**5, 2, 10**5, 0), "S"),
    "S beyond text": (lambda: uli.mdps.random_dense(10**5000, 2, 2, 0), "S"),
    "river absurd": (lambda: uli.mdps.river_swim(10**6, 3), "n_states"),
    "lock absurd": (lambda: uli.mdps.combination_lock(10**6), "length"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_names_the_argument(case):
    call, argument = BAD[case]
    with pytest.raises(ArgumentError) as caught:
        call()
    assert caught.value.argument == argument


def test_the_error_tells_the_row():
    with pytest.raises(ArgumentError, match=r"row \[1, 0, 2\] must sum to 1"):
        TabularMDP(altered(P, (1, 0, 2), 0.499), R)
    with pytest.raises(ArgumentError, match=r"row \[1, 2\] must not be negative"):
        TabularMDP(altered(P[0], (1, 2), [1.5, -0.5]), R)
