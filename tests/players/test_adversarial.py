"""Live decisions of Exp3P, GeometricHedge and the meta-algorithm."""

import contextlib
import math

import numpy as np
import pytest

import uli_fast as uli
from tests.learners.test_meta_elimination import Uniform
from tests.naive import exp3p, geometric_hedge, meta_elimination
from tests.support.signing import signed
from uli_fast.geometry import designs
from uli_fast.learners.geometric_hedge import RHO

ARMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.6], [-0.5, 0.2]])
LEARNERS = {
    "exp3p": (uli.Exp3P(), 3, 3000),
    "geometric_hedge": (uli.GeometricHedge(), ARMS, 3000),
    "meta": (uli.MetaElimination(uli.Exp3P(constant=0.001)), ["a", "b", "c"], None),
    "meta_linear": (uli.MetaElimination(uli.GeometricHedge(constant=0.001)), ARMS, None),
    "meta_scrible": (uli.MetaElimination(uli.Scrible(constant=0.0001)), ARMS, None),
}


def rewards(seed):
    """Return reward(t, arm) of a fixed table of 0s and 1s in which arm 0 is the best."""
    table = np.random.default_rng(seed).random((2000, 4)) < [0.9, 0.2, 0.5, 0.1]
    return lambda t, a: float(table[t, a])


def drive(player, rounds, reward, begin=0):
    """Ask and tell in turn; return the arms and their probabilities."""
    history = []
    for t in range(begin, begin + rounds):
        decision = player.ask()
        a = player.labels.index(decision.arm)
        player.tell(decision.id, reward(t, a))
        history.append((a, decision.probability))
    return history


@pytest.mark.parametrize("linear", [False, True])
def test_decisions_follow_the_naive_meta_algorithm(linear):
    K, T, delta, seed = 4, 800, 0.1, 3
    base = uli.GeometricHedge(constant=0.001) if linear else uli.Exp3P(constant=0.001)
    learner = uli.MetaElimination(base, delta)
    player = learner.start(ARMS if linear else K, seed=seed, intercept=0.5)
    reward = rewards(1)
    history = drive(player, T, reward)
    rng, t = np.random.Generator(np.random.PCG64(seed)), iter(range(T))

    def draw(p, left):
        i, _ = exp3p.pick(p, rng.random())
        x = reward(next(t), left[i])
        return i, 0.5 - x if linear else 1.0 - x

    def phase(left, T_m, delta_m, rounds):
        if not linear:
            return exp3p.phase(left, T_m, delta_m, draw, rounds)
        nu = designs.d_optimal(ARMS[left], RHO).weights
        x = designs.span_coordinates(ARMS[left])
        return geometric_hedge.phase(x, nu, left, T_m, delta_m, draw, rounds)

    def g(x):
        return geometric_hedge.g(K, 2, x, 0.001) if linear else exp3p.g(K, x, 0.001)

    expected = meta_elimination.play(phase, g, K, T, delta)
    assert [a for a, _ in history] == expected["arms"]
    assert len(player.active) < K


@pytest.mark.parametrize("name", ["exp3p", "geometric_hedge", "meta", "meta_linear"])
def test_what_was_asked_ahead_certifies_nothing(name):
    learner, arms, horizon = LEARNERS[name]
    player = learner.start(arms, seed=5, horizon=horizon)
    for decision in player.ask(15):
        player.tell(decision.id, 0.5)
    with pytest.raises(uli.errors.NoGuaranteeError):
        player.certificate()


@pytest.mark.parametrize("name", ["exp3p", "geometric_hedge"])
def test_late_losses_are_weighted_with_the_probabilities_of_their_draw(name):
    learner, arms, horizon = LEARNERS[name]
    player = learner.start(arms, seed=6, horizon=horizon, intercept=0.5)
    drive(player, 40, rewards(1))
    before = player._base.estimates.copy()
    first, second = player.ask(2)
    p = player._base.p.copy()
    player.tell(first.id, 0.0)
    player.ask()  # draws from other probabilities than the second one's
    assert (player._base.p != p).any()
    player.tell(second.id, 0.0)
    change = player._base.estimates - before
    expected = np.zeros(len(p))
    for decision in (first, second):
        if name == "exp3p":
            expected[decision.arm] += 1.0 / decision.probability
        else:
            Sigma = (p[:, None] * ARMS).T @ ARMS
            expected += 0.5 * ARMS @ np.linalg.solve(Sigma, ARMS[decision.arm])
    assert change == pytest.approx(expected)


def test_decisions_beyond_a_phase_do_not_count_for_the_next():
    learner = uli.MetaElimination(uli.Exp3P(constant=0.001))
    player = learner.start(3, seed=9)
    first = learner.schedule(np.zeros((3, 0)), None)(1).rounds
    decisions = player.ask(first + 20)
    for decision in decisions:
        player.tell(decision.id, 1.0 if decision.arm == 0 else 0.0)
    assert player.phase == 2
    assert player.memory.settled[0] == 0
    assert not player.pending


def test_a_base_without_snapshots_draws_only_when_told():
    player = uli.MetaElimination(uli.Scrible(constant=0.0001)).start(ARMS, seed=1)
    with pytest.raises(uli.errors.ArgumentError, match="before its next draw"):
        player.ask(3)
    assert player.pending == ()
    first = player.ask()
    with pytest.raises(uli.errors.ArgumentError, match="before its next draw"):
        player.ask()
    player.tell(first.id, 1.0)
    player.ask()


def test_the_certificate_is_that_of_the_guarantee():
    learner = uli.MetaElimination(delta=0.1)
    player = learner.start(["a", "b"], seed=1, low=-1.0, high=1.0)
    drive(player, 50, lambda t, a: float(a))
    certificate = player.certificate()
    assert certificate.round == 51
    assert certificate.bound == 2.0  # the range: F is still above it
    assert certificate.envelope == pytest.approx(2.0 * learner.guarantee(2).bound(51))
    assert player.recommend() == "b"
    assert player.intervals()["a"] == (-1.0, 1.0)
    small = uli.MetaElimination(uli.Exp3P(constant=5)).start(2, seed=1)
    with pytest.raises(uli.errors.NoGuaranteeError, match="62"):
        small.certificate()
    with pytest.raises(uli.errors.NoGuaranteeError, match="explores"):
        uli.Exp3P().start(2, horizon=1000).certificate()


def test_the_certificate_after_a_phase_is_the_phase_bound():
    """Proved constants with the first phase cut short, to look at what it says next."""
    learner = uli.MetaElimination(uli.GeometricHedge(), 0.1)
    player = learner.start(ARMS, seed=1, low=0.0, high=1.0, intercept=0.5)
    player._plan = player._plan._replace(rounds=20, threshold=math.inf)
    drive(player, 30, rewards(1))
    assert player.phase == 2
    assert player._unit_gap_bound() == pytest.approx(2**-0.5)
    assert player.certificate().bound == pytest.approx(2**-0.5)


def test_the_phase_bound_is_in_reward_units():
    """Rewards in [0, 4] around 5: losses (5 - X) / 5, so a gap of 2^-1/2 in losses is 5 times."""
    player = uli.MetaElimination(uli.GeometricHedge()).start(ARMS, low=0, high=4, intercept=5.0)
    player.arm_state.clock[1] = 2
    assert player._unit_gap_bound() * 4.0 == pytest.approx(5.0 * 2**-0.5)
    scaled = uli.MetaElimination(uli.GeometricHedge(), sigma=1.0)
    player = scaled.start(ARMS, low=-math.inf, high=math.inf)
    player.arm_state.clock[1] = 2
    B = scaled.schedule(ARMS, None)(1).scale
    assert player._unit_gap_bound() == pytest.approx(B * 2**-0.5)


def test_a_base_may_make_a_new_array_of_probabilities():
    class Fresh:
        def __init__(self, k):
            self.estimates, self.p, self.k = np.zeros(k), np.full(k, 0.1), k

        def choose(self, rng):
            self.p = np.full(self.k, 1.0 / self.k)
            return int(rng.integers(self.k)), 1.0 / self.k

        def update(self, arm, loss):
            self.estimates[arm] += loss / self.p[arm]

    base = Uniform(1.0)
    base.start_phase = lambda arms, rounds, delta: Fresh(len(arms))
    player = uli.MetaElimination(base).start(3, seed=1)
    player.tell(player.ask().id, 0.0)
    assert player._base.estimates.sum() == pytest.approx(3.0)


def test_rewards_outside_the_range_are_refused():
    player = uli.Exp3P().start(2, seed=1, horizon=1000)
    decision = player.ask()
    for wrong in (1.5, -0.1, math.nan, "1"):
        with pytest.raises(uli.errors.RewardRangeError, match="reward"):
            player.tell(decision.id, wrong)
    player.tell(decision.id, 1.0)


def test_a_tuned_player_stops_at_its_horizon():
    player = uli.Exp3P().start(2, seed=1, horizon=100)
    with pytest.raises(uli.errors.ArgumentError, match="n: 100 of the 100 rounds"):
        player.ask(101)
    assert player.pending == ()  # a refused batch leaves nothing behind
    drive(player, 100, rewards(1))
    with pytest.raises(uli.errors.ArgumentError, match="0 of the 100 rounds"):
        player.ask()


def test_the_seed_decides():
    def arms(seed):
        player = uli.MetaElimination().start(4, seed=seed)
        return [a for a, _ in drive(player, 60, rewards(1))]

    assert arms(1) == arms(1)
    assert arms(1) != arms(2)


def test_play_drives_them():
    truth = [0.8, 0.3]
    rng = np.random.default_rng(1)
    runs = uli.play(
        uli.Exp3P(), lambda a: float(rng.random() < truth[a]), 3000, 2, seed=2, means=truth
    )
    assert runs.final_plays[0, 0] > 2 * runs.final_plays[0, 1]
    assert runs.phases is None


@pytest.mark.filterwarnings("ignore::uli_fast.errors.GuaranteeWarning")
def test_play_reports_phases():
    learner = uli.MetaElimination(uli.Exp3P(constant=0.001))
    runs = uli.play(learner, lambda a: float(a), 500, 2, seed=2, means=[0.0, 1.0])
    assert runs.phases[0][-1].last_round == 500
    assert runs.eliminated_at[0].tolist()[1] == 0 < runs.eliminated_at[0].tolist()[0]


def test_a_users_base_is_played_live_and_says_that_it_cannot_be_saved():
    learner = uli.MetaElimination(Uniform(0.001))
    player = learner.start(3, seed=1)
    drive(player, 300, lambda t, a: float(a == 1))
    assert player.active == (1,)
    assert uli.MetaElimination(Uniform(1.0)).start(3, seed=1).certificate().proved is False
    fresh = learner.start(3, seed=1)
    with pytest.raises(uli.errors.UliError, match="save"):
        fresh.state()
    with pytest.raises(uli.errors.StateError, match="Uniform"):
        uli.restore(player.state())
    assert uli.restore(player.state(), learner=learner).active == (1,)


def test_true_means_can_void_a_claim_of_linearity():
    learner = uli.MetaElimination(uli.GeometricHedge())
    inner = ARMS @ [0.3, 0.2]
    linear = uli.play(learner, lambda a: 0.5, 50, ARMS, seed=1, intercept=0.5, means=0.5 + inner)
    assert linear.guarantee is not None
    with pytest.warns(uli.errors.GuaranteeWarning, match="not linear"):
        curved = uli.play(learner, lambda a: 0.5, 50, ARMS, seed=1, means=[0.1, 0.9, 0.2, 0.9])
    assert curved.guarantee is None
    scaled = uli.MetaElimination(uli.GeometricHedge(), sigma=1.0)
    wide = {"low": -math.inf, "high": math.inf}
    with pytest.warns(uli.errors.GuaranteeWarning, match="more than 1"):
        uli.play(scaled, lambda a: 0.5, 50, ARMS, seed=1, means=10 * inner, **wide)
    with pytest.raises(uli.errors.ArgumentError, match="intercept"):
        uli.play(uli.UCB(), lambda a: 0.5, 50, 2, intercept=0.5)


def test_unbounded_noise_is_said_twice():
    scaled = uli.MetaElimination(uli.GeometricHedge(), sigma=1.0)
    with pytest.raises(uli.errors.ArgumentError, match="sigma"):
        scaled.start(ARMS)
    player = scaled.start(ARMS, seed=1, low=-math.inf, high=math.inf)
    assert player.certificate().bound == 2.0  # |<a, theta>| <= 1 leaves no larger gap


def test_altered_states_are_refused():
    player = uli.MetaElimination(uli.Exp3P(constant=0.001)).start(3, seed=1)
    drive(player, 10, rewards(1))
    good = player.state()
    for change in (
        {"learner": good["learner"] | {"type": "Unknown"}},
        {"learner": good["learner"] | {"base": {"type": "Unknown"}}},
        {"memory": {}},
        {"base": {"lw": [0.0]}},
        {"base": good["base"] | {"lw": [1.0, 0.0, 0.0]}},
        {"memory": good["memory"] | {"rng": {}}},
        {"memory": good["memory"] | {"tags": []}},
        {"memory": good["memory"] | {"overlapped": None}},
        {"memory": good["memory"] | {"overlapped": [1]}},
        {"memory": good["memory"] | {"drawn": [[0, 0.5, 0.5, 0.0]]}},
        {"memory": good["memory"] | {"settled": [10**9]}},
    ):
        with pytest.raises(uli.errors.StateError):
            uli.restore(signed(good | change))


def test_after_an_update_that_failed_losses_belong_to_their_own_draws(monkeypatch):
    player = uli.MetaElimination(uli.Exp3P(), 0.1).start(3, seed=1)
    for i in range(6):
        decision = player.ask()
        with monkeypatch.context() as patch:
            if i == 2:
                patch.setattr(player._base, "update", interrupted)
            with contextlib.suppress(KeyboardInterrupt):
                player.tell(decision.id, 1.0)
        assert player.memory.drawn == []


def interrupted(*_):
    raise KeyboardInterrupt
