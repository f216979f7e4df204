"""The live player of LinUCB: the kernel's decisions, delays, missing outcomes, intervals."""

import json
import math

import numpy as np
import pytest

import uli_fast as uli
from tests.learners.test_linear_elimination import drawer
from tests.support.signing import signed
from uli_fast.errors import ArgumentError, NoGuaranteeError, StateError, UliError
from uli_fast.kernels.lin_ucb import REFRESH

THETA = np.array([0.5, -0.3, 0.2])
# More than the plays after which the kernel inverts its matrix again.
LONG = 1100


def some_arms(seed, K=6, d=3):
    arms = np.random.default_rng(seed).standard_normal((K, d))
    return 2.0 * arms / np.linalg.norm(arms, axis=1).max()


def told(player, arms, rounds, seed=0, sigma=0.3):
    """Ask and tell at once; return the rows asked for."""
    rng, rows = np.random.default_rng(seed), []
    for _ in range(rounds):
        decision = player.ask()
        rows.append(decision.arm)
        player.tell(decision.id, float(arms[decision.arm] @ THETA + sigma * rng.standard_normal()))
    return rows


class TwinRegression:
    """Straight from the page: V of what was asked for, theta_hat of what came."""

    def __init__(self, arms, delta, R):
        self.x = arms / np.linalg.norm(arms, axis=1).max()
        self.scale = np.linalg.norm(arms, axis=1).max()
        self.delta, self.R = delta, R / self.scale
        d = arms.shape[1]
        self.asked, self.came, self.b, self.t = np.eye(d), np.eye(d), np.zeros(d), 0

    def choose(self):
        self.t += 1
        d = len(self.b)
        radius = self.R * math.sqrt(d * math.log(1 + self.t / d) + 2 * math.log(1 / self.delta))
        theta, inverse = np.linalg.solve(self.came, self.b), np.linalg.inv(self.asked)
        index = [a @ theta + (radius + 1) * math.sqrt(a @ inverse @ a) for a in self.x]
        a = int(np.argmax(index))
        self.asked += np.outer(self.x[a], self.x[a])
        return a

    def take(self, a, reward):
        self.came += np.outer(self.x[a], self.x[a])
        self.b += self.x[a] * reward / self.scale


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
def test_immediate_rewards_give_the_kernel_s_decisions(seed, noise):
    arms = some_arms(seed) / 4.0
    problem = uli.LinearBandit(THETA, arms, sigma=0.3, noise=noise)
    learner = uli.LinUCB(0.1, R=0.5)
    runs = uli.simulate(learner, problem, LONG, 1, seed, rounds=range(1, LONG + 1))
    played = np.diff(runs.plays[0], axis=0, prepend=0).argmax(axis=1)
    bounded = {} if problem.low is None else {"low": 0.0, "high": 1.0}
    player = learner.start(arms, intercept=problem.intercept, **bounded)
    reward = drawer(problem, seed)
    for a in played:
        decision = player.ask()
        assert decision.arm == a
        player.tell(decision.id, float(reward(a) + problem.intercept))


@pytest.mark.parametrize("seed", range(4))
def test_delays_are_those_of_the_page(seed):
    arms, rng = some_arms(seed), np.random.default_rng(seed)
    learner = uli.LinUCB(0.1, R=0.5)
    player, twin = learner.start(arms), TwinRegression(arms, 0.1, 0.5)
    waiting = []
    for _ in range(300):
        decision = player.ask()
        assert decision.arm == twin.choose()
        waiting.append(decision)
        while len(waiting) > rng.integers(1, 12):
            first = waiting.pop(0)
            reward = float(arms[first.arm] @ THETA + 0.5 * rng.standard_normal())
            player.tell(first.id, reward)
            twin.take(first.arm, reward)
    assert (player.tally.asked > 0).sum() > 1


def test_matrices_are_inverted_again_as_often_as_in_the_kernel():
    arms = some_arms(7)
    player = uli.LinUCB(0.1, R=0.5).start(arms)
    told(player, arms, REFRESH)
    for ridge in player._ridges.values():
        assert (ridge.inverse == np.linalg.inv(ridge.V)).all()
    told(player, arms, 1)
    for ridge in player._ridges.values():
        assert (ridge.inverse != np.linalg.inv(ridge.V)).any()


def test_asking_ahead_spreads_over_the_arms():
    arms = np.eye(3)
    player = uli.LinUCB(0.1, R=1.0).start(arms)
    assert sorted(d.arm for d in player.ask(9)) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("bounds", [{}, {"low": -9.0, "high": 9.0}], ids=["free", "bounded"])
def test_a_missing_outcome_is_asked_for_but_not_learned_from(bounds):
    arms = some_arms(1)
    player, twin = uli.LinUCB(0.1, R=0.5).start(arms, **bounds), TwinRegression(arms, 0.1, 0.5)
    rng = np.random.default_rng(5)
    for i in range(200):
        decision = player.ask()
        assert decision.arm == twin.choose()
        if i % 4 == 1:
            player.tell_missing(decision.id, "lost")
            continue
        reward = float(arms[decision.arm] @ THETA + 0.5 * rng.standard_normal())
        player.tell(decision.id, reward)
        twin.take(decision.arm, reward)
    theta = np.linalg.solve(twin.came, twin.b)
    assert player.recommend() == int((twin.x @ theta).argmax())
    # Without a range one estimate serves no arm; on this one R = .5 would be too little.
    assert set(player.intervals().values()) == {(player.low, player.high)}


def test_intervals_are_the_ellipsoid():
    arms = some_arms(2)
    player = uli.LinUCB(0.1, R=0.3).start(arms)
    assert all(low == -high < 0.0 for low, high in player.intervals().values())
    rows = told(player, arms, 400)
    x = arms / 2.0
    V = np.eye(3) + sum(np.outer(x[a], x[a]) for a in rows)
    rewards = np.array([r for r in player.queue.outcomes]) / 2.0
    theta = np.linalg.solve(V, sum(x[a] * r for a, r in zip(rows, rewards, strict=True)))
    width = 0.15 * math.sqrt(3 * math.log(1 + 401 / 3) + 2 * math.log(10.0)) + 1.0
    for a, (low, high) in player.intervals().items():
        half = width * math.sqrt(x[a] @ np.linalg.solve(V, x[a]))
        assert low == pytest.approx(2.0 * (x[a] @ theta - half))
        assert high == pytest.approx(2.0 * (x[a] @ theta + half))
        assert low <= arms[a] @ THETA <= high


def test_intervals_allow_for_what_is_missing_on_a_range():
    """Whatever the missing outcomes were, an interval holds the one that they would have given."""
    arms, rng = some_arms(3) / 2.0, np.random.default_rng(8)
    player = uli.LinUCB(0.1).start(arms, low=-1.0, high=1.0)
    full = [uli.LinUCB(0.1).start(arms, low=-1.0, high=1.0) for _ in range(3)]
    for i in range(300):
        decision = player.ask()
        reward = float(np.clip(arms[decision.arm] @ THETA + 0.3 * rng.standard_normal(), -1, 1))
        lost = i % 5 == 0
        if lost:
            player.tell_missing(decision.id, "lost")
        else:
            player.tell(decision.id, reward)
        for other, instead in zip(full, (-1.0, 1.0, reward), strict=True):
            other.tally.asked[decision.arm] += 1
            other.queue.add(decision.arm)
            other.tell(decision.id, instead if lost else reward)
    low, high = player._unit_intervals()
    for other in full:
        inner = other._unit_intervals()
        assert (low <= inner[0] + 1e-12).all() and (inner[1] <= high + 1e-12).all()
    plain = full[2]._unit_intervals()
    assert (high - low < (plain[1] - plain[0]) + 0.5).all()


@pytest.mark.parametrize("bounds", [{}, {"low": -3.0, "high": 3.0}])
def test_a_restored_player_goes_on_bit_for_bit_beyond_a_fresh_inverse(bounds):
    arms = some_arms(4)
    learner = uli.LinUCB(0.1, R=3.0)
    whole, player = learner.start(arms, **bounds), learner.start(arms, **bounds)
    rows = told(whole, arms, LONG, sigma=0.1)
    assert told(player, arms, 900, sigma=0.1) == rows[:900]
    again = uli.restore(json.loads(json.dumps(player.state(), allow_nan=False)))
    assert again.state() == player.state()
    for decision in whole.queue.decisions[900:]:
        mine = again.ask()
        assert mine.arm == decision
        again.tell(mine.id, whole.queue.outcomes[mine.id - 1])
    assert again.state() == whole.state()


def test_an_altered_state_is_refused():
    arms = some_arms(5)
    player = uli.LinUCB(0.1, R=1.0).start(arms)
    told(player, arms, 30)
    player.ask()
    for name, part in (("came", "mean"), ("came", "b"), ("asked", "square"), ("asked", "V")):
        state = json.loads(json.dumps(player.state()))
        value = np.array(state["memory"][name][part])
        value.flat[0] += 0.01
        state["memory"][name][part] = value.tolist()
        with pytest.raises(StateError, match="contradicts itself"):
            uli.restore(signed(state))
        state["memory"][name][part] = [0.0]
        with pytest.raises(StateError):
            uli.restore(state)


def test_it_recommends_an_arm_that_it_may_not_have_played():
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.9]])
    player = uli.LinUCB(0.1, R=0.01).start(arms)
    with pytest.raises(UliError, match="nothing to recommend"):
        player.recommend()
    told(player, np.column_stack([arms, np.zeros(3)]), 50, sigma=0.0)
    assert player.recommend() == 0  # theta is (.5, -.3): the third arm has .18
    assert player.active == (0, 1, 2)


def test_it_certifies_nothing():
    player = uli.LinUCB(0.1, R=1.0).start(np.eye(2))
    told(player, np.column_stack([np.eye(2), np.zeros(2)]), 10)
    with pytest.raises(NoGuaranteeError, match="for ever"):
        player.certificate()


def test_bad_beginnings_are_refused():
    learner = uli.LinUCB(0.1, R=1.0)
    for argument, call in (
        ("arms", lambda: learner.start(3)),
        ("arms", lambda: learner.start([[1.0], [1.0, 2.0]])),
        ("intercept", lambda: learner.start(np.eye(2), intercept=math.nan)),
        ("high", lambda: learner.start(np.eye(2), low=1.0, high=0.0)),
        ("R", lambda: uli.LinUCB(0.1).start(np.eye(2))),
    ):
        with pytest.raises(ArgumentError) as caught:
            call()
        assert caught.value.argument == argument


def test_a_study_drives_it(tmp_path):
    arms = some_arms(6)
    path = tmp_path / "rival.db"
    with uli.Study.open(path, uli.LinUCB(0.1, R=1.0), arms=arms) as study:
        for _ in range(20):
            decision = study.ask()
            study.tell(decision.id, float(arms[decision.arm] @ THETA))
        best = study.recommend()
    with uli.Study.open(path) as study:
        assert study.recommend() == best and len(study.history()) == 20
