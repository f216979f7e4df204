"""Live episodes: the simulation's decisions with immediate tells, sound with late ones."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import uli_fast as uli
from tests.support.draws import draws
from tests.support.signing import signed
from uli_fast._support.streams import stream
from uli_fast.errors import (
    ArgumentError,
    ConflictingRewardError,
    NoGuaranteeError,
    SaturationWarning,
    StateError,
    UliError,
    UnknownDecisionError,
)
from uli_fast.guarantees.policy_schedule import PhasePlan

REAL_PLAN = uli.PolicyElimination.plan
SMALL = uli.mdps.random_dense(2, 2, 2, seed=3)
SPARSE = uli.mdps.random_sparse(3, 2, 3, seed=1).restricted()
LEARNER = uli.PolicyElimination(0.1)


def short_plan(self, size, m):
    """Phases of a few episodes, bonuses below saturation; real ones are tested elsewhere."""
    return PhasePlan(20 + 15 * m, (1.0, 0.05, 0.1))


@pytest.fixture(scope="module", autouse=True)
def short_phases():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uli.PolicyElimination, "plan", short_plan)
        yield


@pytest.fixture
def real_phases(monkeypatch):
    monkeypatch.setattr(uli.PolicyElimination, "plan", REAL_PLAN)


class World:
    """Draws episodes in the order of the simulation."""

    def __init__(self, problem, seed):
        self.rng = draws(seed)
        self.law = problem.law(stream(seed, 0))

    def draw(self, cdf):
        return int(np.searchsorted(cdf, self.rng.random(), side="right"))

    def arrive(self):
        return self.draw(self.law.start)

    def walk(self, policy, s):
        states, actions = [s], [int(policy[0, s])]
        for h in range(1, len(policy)):
            states.append(self.draw(self.law.cdf[h - 1, states[-1], actions[-1]]))
            actions.append(int(policy[h, states[-1]]))
        return states, actions


def started(problem, learner=LEARNER):
    return learner.start(
        problem.rewards,
        np.flatnonzero(problem.initial > 0.0),
        low=problem.low,
        high=problem.high,
        decision_points=problem.decision_points,
    )


def drive(player, world, episodes):
    """Ask and tell at once; return the policies."""
    policies = []
    for _ in range(episodes):
        s = world.arrive()
        d = player.ask(state=s)
        player.tell(d.id, *world.walk(d.policy, s))
        policies.append(d.policy)
    return np.array(policies)


def asked(player, world, episodes):
    """Ask ahead; return what will have to be told."""
    found = []
    for _ in range(episodes):
        s = world.arrive()
        d = player.ask(s)
        found.append((d.id, *world.walk(d.policy, s)))
    return found


def through_json(player):
    return uli.restore(json.loads(json.dumps(player.state())))


def stretched(problem, low, high):
    return uli.TabularMDP(
        problem.transitions,
        low + (high - low) * problem.rewards,
        problem.initial,
        low=low,
        high=high,
        decision_points=problem.decision_points,
    )


@pytest.mark.parametrize("method", ["auto", "plain", "trie"])
@pytest.mark.parametrize("problem", [SMALL, SPARSE, stretched(SMALL, -2.0, 6.0)], ids=repr)
def test_immediate_tells_give_the_decisions_of_the_simulation(problem, method):
    T, learner = 450, uli.PolicyElimination(0.1, method=method)
    player = started(problem, learner)
    policies = drive(player, World(problem, 5), T)
    run = learner.begin(learner.on(problem), stream(5, 0), "rounds", T, np.array([T]))
    for t in range(T):
        run.advance(1)
        assert (policies[t] == run.path.pi).all(), t
    runs = uli.simulate(learner, problem, T, seed=5, engine="rounds")
    played, first, plays = np.unique(policies, axis=0, return_index=True, return_counts=True)
    order = first.argsort()
    assert len(played) > 4
    assert (runs.policies[0] == played[order]).all()
    assert (runs.final_plays[0] == plays[order]).all()
    assert len(run.notes) == player.phase > 5
    assert player.active == run.active.count < run.notes[0].policies
    assert (player.policies == run.active.policies).all()
    counts = [*player.closed.N, player._model.N]
    assert (sum(counts) == runs.visits[0]).all()


def test_the_simulation_s_own_schedule_is_followed(real_phases):
    learner = uli.PolicyElimination(0.1, schedule=(3e-6, 1.0))
    player, world = started(SPARSE, learner), World(SPARSE, 1)
    assert player.quota == learner.plan(player._size, 1).episodes < 60
    with pytest.warns(SaturationWarning, match="phase 1 ended saturated"):
        policies = drive(player, world, player.quota)
    run = learner.begin(learner.on(SPARSE), stream(1, 0), "rounds", 10**6, np.array([10**6]))
    for policy in policies:
        run.advance(1)
        assert (policy == run.path.pi).all()
    assert run.complaint and player.phase == 2
    assert through_json(player).learner == learner  # and nothing is warned of again


@pytest.mark.parametrize("seed", range(3))
def test_saving_at_any_moment_changes_nothing(seed):
    whole = drive(started(SPARSE), World(SPARSE, seed), 300)
    player, world, rng = started(SPARSE), World(SPARSE, seed), np.random.default_rng(seed)
    for policy in whole:
        s = world.arrive()
        d = player.ask(s)
        assert (d.policy == policy).all()
        if rng.random() < 0.1:
            again = through_json(player)
            assert again.state() == player.state()
            assert again.pending == (d.id,)
            player = again
        player.tell(d.id, *world.walk(d.policy, s))
        if rng.random() < 0.1:
            player = through_json(player)
    assert player.phase > 4 and player.active < started(SPARSE).active
    again = through_json(player)
    assert (again.recommend() == player.recommend()).all()
    assert (again.estimates() == player.estimates()).all()
    assert again.certificate() == player.certificate()


def test_any_order_of_arrival_gives_the_same_bits():
    states, rng = [], np.random.default_rng(2)
    for order in ("in order", "backwards", "shuffled"):
        player, world = started(SMALL), World(SMALL, 2)
        for _ in range(25):
            told = asked(player, world, 12)
            if order == "backwards":
                told.reverse()
            if order == "shuffled":
                rng.shuffle(told)
            for id, states_seen, actions in told:
                player.tell(int(id), states_seen, actions)
        states.append(player.state())
    assert states[0] == states[1] == states[2]
    assert player.phase > 3 and player.active < 16
    assert len(states[0]["policies"]) > 3


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.floats(0.1, 0.9), st.sampled_from([SMALL, SPARSE]))
def test_asks_late_tells_duplicates_and_restores_against_the_player_in_order(seed, late, problem):
    """The one in order is told the longest run of known episodes before each ask, and no more."""
    rng, world = np.random.default_rng(seed), World(problem, seed)
    player, in_order = started(problem), started(problem)
    told, known, first = [], set(), 0  # told[i] is what decision i + 1 has to be told

    def catch_up():
        nonlocal first
        while first in known:
            in_order.tell(*told[first])
            first += 1

    for _ in range(160):
        choice = rng.random()
        waiting = [i - 1 for i in player.pending]
        assert waiting == [i for i in range(len(told)) if i not in known]
        if choice < 0.04:
            player = through_json(player)
        elif choice < 0.1 and known:
            player.tell(*told[rng.choice(sorted(known))])
        elif waiting and rng.random() > late ** len(waiting):
            i = int(rng.choice(waiting))
            player.tell(*told[i])
            known.add(i)
        else:
            catch_up()
            s = world.arrive()
            d, expected = player.ask(s), in_order.ask(s)
            assert d.id == expected.id
            assert (d.policy == expected.policy).all()
            told.append((d.id, *world.walk(d.policy, s)))
    for i in player.pending[::-1]:
        player.tell(*told[i - 1])
        known.add(i - 1)
    catch_up()
    assert player.state() == in_order.state()
    assert player.pending == ()


def test_a_phase_waits_for_its_whole_quota_and_leaves_out_what_is_asked_beyond_it():
    player, world = started(SMALL), World(SMALL, 4)
    n = player.quota
    told = asked(player, world, n + 7)
    for one in told[1:]:
        player.tell(*one)
    assert player.phase == 1 and player.pending == (1,)
    player.tell(*told[0])
    assert player.phase == 2 and player.pending == ()
    ((N,), (N3,), (starts,)) = player.closed
    assert sum(starts) == n and np.sum(N) == 2 * n and np.sum(N3) == n
    assert not np.any(player.state()["model"]["N"])
    drive(player, world, player.quota - 1)
    assert player.phase == 2
    drive(player, world, 1)
    assert player.phase == 3
    with pytest.raises(NoGuaranteeError, match="awaited"):
        player.certificate()
    with pytest.raises(NoGuaranteeError, match="awaited"):
        through_json(player).certificate()


def test_certificates_speak_of_the_phase():
    problem = stretched(SMALL, 1.0, 4.0)
    player, world, guarantee = started(problem), World(problem, 6), LEARNER.guarantee(problem)
    assert player.certificate()[:6] == (1, 6.0, 6.0, 0.1, player.active, True)
    seen = {}
    for t in range(1, 1500):
        drive(player, world, 1)
        certificate = player.certificate()
        assert certificate.round == t + 1
        assert certificate.active == player.active
        assert certificate.envelope == guarantee.bound(t + 1)
        if player.active > 1:
            seen[player.phase] = certificate.bound
        else:
            assert certificate.bound == 0.0
    assert player.active == 1 and (player.recommend() == player.ask(0).policy).all()
    assert seen[1] == 6.0 and len(seen) > 3
    assert all(seen[m] <= 3.0 * 4.0 * 2.0**-m for m in seen if m > 1)
    assert list(seen.values()) == sorted(seen.values(), reverse=True)
    asked(player, world, 5)  # nothing is left to choose, so nothing can go wrong
    assert player.certificate().bound == 0.0
    with pytest.raises(NoGuaranteeError, match="c1"):
        started(SMALL, uli.PolicyElimination(0.1, schedule=(1.0, 1.0))).certificate()


def test_the_guarantee_counts_the_policies_that_differ(real_phases):
    player, guarantee = started(SPARSE), LEARNER.guarantee(SPARSE)
    full = LEARNER.start(SPARSE.rewards)
    assert player.active == SPARSE.n_policies < full.active == 2**9
    assert player.quota == guarantee.rounds_until(2.5) < full.quota
    some = LEARNER.start(SPARSE.rewards, initial_support=[2])
    assert some.active == 2**7
    assert not some.policies[:, 0, :2].any()
    for one, about in ((player, SPARSE), (full, (3, 2, 3))):
        one.memory.learned[0] = 10**12
        assert one.certificate().envelope == LEARNER.guarantee(about).bound(10**12 + 1) < 1.0


def test_recommendations_are_the_best_of_the_naive_estimates():
    from tests.naive.policy_elimination import values

    problem = stretched(SPARSE, -1.0, 1.0)
    player, world = started(problem), World(problem, 8)
    drive(player, world, player.quota - 1)
    for early in (player.recommend, player.estimates):
        with pytest.raises(UliError, match="first phase"):
            early()
    for episodes in (1, 50, 65, 80):
        before = player.policies
        drive(player, world, episodes)
        N, N3, starts = (counts[-1] for counts in player.closed)
        P = N3 / np.maximum(N, 1)[..., None]
        V = values(before, problem.unit_rewards, P, np.zeros_like(P[..., 0]))
        naive = V @ starts / starts.sum()
        kept = naive.max() - naive <= 2.0 ** -(player.phase - 1)
        assert (player.policies == before[kept]).all()
        assert player.estimates() == pytest.approx(-3.0 + 2.0 * naive[kept])
        assert (player.recommend() == before[int(naive.argmax())]).all()
    assert player.active < problem.n_policies
    with pytest.raises(ValueError, match="read-only"):
        player.recommend()[0, 0] = 1


def test_telling_twice():
    player = started(SMALL)
    d = player.ask(1)
    assert d.probability == 1.0 and d.policy.shape == (2, 2) and d.policy.dtype == np.int8
    with pytest.raises(ValueError, match="read-only"):
        d.policy[0, 0] = 1
    states, actions = [1, 0], [d.policy[0, 1], d.policy[1, 0]]
    player.tell(d.id, np.array(states), np.array(actions))
    before = player.state()
    player.tell(d.id, (*states, 1), actions)  # one state more is not used
    with pytest.raises(ConflictingRewardError, match="states") as refused:
        player.tell(d.id, [1, 1], [d.policy[0, 1], d.policy[1, 1]])
    assert refused.value.argument == "states"
    assert player.state() == before


def test_bad_tells_change_nothing():
    player = started(SMALL)
    d = player.ask(0)
    good = [0, 1], [int(d.policy[0, 0]), int(d.policy[1, 1])]
    before = player.state()
    for unknown in (0, 2, -1, "1", True, None, 1.5):
        with pytest.raises(UnknownDecisionError):
            player.tell(unknown, *good)
    states = [[0], [0, 1, 0, 1], [], [0, 2], [0, -1], [0, 0.5], [0, "1"], [0, True], "01", 0]
    for wrong in [
        *states,
        None,
        [1, 1],
        {0: 1},
        [[0, 1]],
        np.zeros((1, 2)),
        [0, 1, 2],
        [0, math.nan],
    ]:
        with pytest.raises(ArgumentError) as refused:
            player.tell(d.id, wrong, good[1])
        assert refused.value.argument == "states", wrong
    other = [good[1][0], 1 - good[1][1]]
    for wrong in ([0], [*good[1], 0], [9, 9], [-1, 0], other, None, "00", [None, 0], [10**30, 0]):
        with pytest.raises(ArgumentError) as refused:
            player.tell(d.id, good[0], wrong)
        assert refused.value.argument == "actions", wrong
    assert player.state() == before
    player.tell(d.id, *good)
    assert player.pending == ()


def test_bad_starts_and_asks():
    r = SMALL.rewards
    cases = [
        ("rewards", {"rewards": r[0]}),
        ("rewards", {"rewards": r + 1.0}),
        ("rewards", {"rewards": np.zeros((2, 0, 2))}),
        ("rewards", {"rewards": np.zeros((1, 1, 128))}),
        ("rewards", {"rewards": np.zeros((9, 9, 9))}),
        ("rewards", {"rewards": "x"}),
        ("high", {"low": 1.0}),
        ("low", {"low": -math.inf}),
        ("initial_support", {"initial_support": []}),
        ("initial_support", {"initial_support": [2]}),
        ("initial_support", {"initial_support": [True, False]}),
        ("initial_support", {"initial_support": 1}),
        ("decision_points", {"decision_points": np.ones((2, 2))}),
        ("decision_points", {"decision_points": [True, False]}),
        ("seed", {"seed": -1}),
        ("horizon", {"horizon": 0.5}),
    ]
    for argument, wrong in cases:
        with pytest.raises(ArgumentError) as refused:
            LEARNER.start(**({"rewards": r} | wrong))
        assert refused.value.argument == argument, wrong
    with pytest.raises(ArgumentError, match="live"):
        uli.PolicyElimination(method="search").start(r)
    player = LEARNER.start(r, initial_support=(1, 1), seed=3, horizon=10)
    for wrong in (0, 2, -1, 0.5, "1", None, True):
        with pytest.raises(ArgumentError) as refused:
            player.ask(wrong)
        assert refused.value.argument == "state"
    assert player.state() == LEARNER.start(r, [1]).state()


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 3, 2), (3, 1, 2), (2, 2, 1)], ids=str)
def test_smallest_shapes(shape):
    H, S, A = shape
    problem = uli.mdps.random_dense(S, A, H, seed=0)
    player = LEARNER.start(problem.rewards)
    drive(player, World(problem, 0), 60)
    assert player.phase == 2 and player.active <= A ** (S * H)
    assert player.recommend().shape == (H, S)
    assert through_json(player).state() == player.state()
    assert (player.certificate().bound == 0.0) == (player.active == 1)


class Own(uli.PolicyElimination):
    """A learner of one's own."""


def test_learners_of_one_s_own_are_asked_for():
    player = started(SMALL, Own(0.1, schedule=(1.0, 2.0)))
    drive(player, World(SMALL, 0), 50)
    saved = json.loads(json.dumps(player.state()))
    with pytest.raises(StateError, match="learner"):
        uli.restore(saved)
    for other in (LEARNER, Own(0.1), Own(0.1, schedule=(1.0, 3.0)), uli.UCBVI(0.1)):
        with pytest.raises(StateError, match="learner"):
            uli.restore(saved, learner=other)
    again = uli.restore(saved, learner=Own(0.1, schedule=[1.0, 2.0]))
    assert again.state() == player.state() and again.learner == player.learner


def leaves(tree, path=()):
    """Return where the numbers, words and empty places of a nested structure are."""
    if not isinstance(tree, dict | list):
        return [path]
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    return [leaf for key, value in items for leaf in leaves(value, (*path, key))]


def altered(saved, path, change):
    """Return a copy in which one place is changed."""
    copy = json.loads(json.dumps(saved))
    inside = copy
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = change(inside[path[-1]])
    return copy


def saved_in_the_middle():
    player, world = started(SPARSE), World(SPARSE, 9)
    drive(player, world, 120)
    told = asked(player, world, 60)
    for one in told[3:]:
        player.tell(*one)
    player.tell(*told[0])
    player.tell_missing(told[1][0], "lost")
    assert player.active < SPARSE.n_policies and player.phase == 3
    return json.loads(json.dumps(player.state()))


def test_contradictory_truncated_and_foreign_states_are_refused():
    saved = saved_in_the_middle()
    assert uli.restore(saved).state() == saved
    queue, memory = saved["queue"], saved["memory"]
    for key in ("schema", "learner", "range", "own", "start", "hash"):
        with pytest.raises(StateError):
            uli.restore({k: v for k, v in saved.items() if k != key})
    places = [(key,) for key in saved if key not in ("own", "hash")]
    whole = ("queue", "memory", "model", "closed")
    places += [(part, key) for part in whole for key in saved[part]]
    for place in places:
        for nonsense in (None, "x", -1, [], [[]], {}, math.nan, 10**30):
            if place == ("memory", "openings") or nonsense != -1:
                with pytest.raises(StateError):
                    uli.restore(signed(altered(saved, place, lambda _, x=nonsense: x)))
        cut = altered(saved, place, lambda x: x[:-1] if isinstance(x, list) else x)
        if cut != saved and place != ("queue", "missing"):
            with pytest.raises(StateError):
                uli.restore(signed(cut))
    last = len(queue["decisions"]) - 1
    beyond, active = len(saved["policies"]), uli.restore(saved).policies.tolist()
    eliminated = next(i for i, policy in enumerate(saved["policies"]) if policy not in active)
    second = memory["openings"][1]
    early = min({n for n, _ in queue["decisions"]} - {n for n, _ in queue["decisions"][second:]})
    assert queue["outcomes"][121] is None and not SPARSE.decision_points[0, 1]
    every = np.ones((3, 3), int).tolist()
    for wrong in (
        altered(saved, ("queue", "outcomes", 5, 1), lambda s: (s + 1) % 3),
        altered(saved, ("model", "N", 0, 0, 0), lambda n: n + 1),
        altered(saved, ("closed", "N", 0, 0, 0, 0), lambda n: n + 1),
        altered(saved, ("memory", "openings", 1), lambda n: n + 1),
        altered(saved, ("queue", "decisions", last, 0), lambda n: -1),
        altered(saved, ("queue", "decisions", last, 0), lambda n: beyond),
        altered(saved, ("queue", "decisions", 121, 0), lambda n: eliminated),
        altered(saved, ("policies", early, 0, 1), lambda a: 1),
        altered(saved, ("policies", 0, 1, 1), lambda a: 7),
        altered(saved, ("top", 0), lambda x: 4.0),
        altered(saved, ("memory", "overlapped", 0), lambda x: 0),
        altered(saved, ("queue", "seen", 130), lambda n: n - 1),
        saved | {"policies": [*saved["policies"], every]},
        altered(saved, ("policies", 0), lambda policy: every),
        uli.SuccessiveElimination(0.1).start(2).state() | {"learner": saved["learner"]},
        saved | {"learner": uli.SuccessiveElimination(0.1).start(2).state()["learner"]},
    ):
        with pytest.raises(StateError):
            uli.restore(signed(wrong))


def test_an_altered_place_is_refused_or_taken_as_it_is():
    saved, rng = saved_in_the_middle(), np.random.default_rng(0)
    places = leaves(saved)
    changes = [lambda x: None, lambda x: "x", lambda x: -1, lambda x: [x], lambda x: 10**20]
    changes += [lambda x: (x or 0) + 1 if not isinstance(x, str) else x + "x", lambda x: 0.5]
    refused = 0
    for _ in range(250):
        place, change = places[rng.integers(len(places))], changes[rng.integers(len(changes))]
        wrong = signed(altered(saved, place, change))
        try:
            assert uli.restore(wrong).state() == wrong, place
        except StateError:
            refused += 1
    assert refused > 200
