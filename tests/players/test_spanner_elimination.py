"""Live decisions on arm sets."""

import json
import math

import numpy as np
import pytest

import uli_fast as uli
from uli_fast.learners import spanner_elimination as module

THETA = np.array([0.8, -0.3])
BALL = uli.arm_sets.Ball(2)


@pytest.fixture(autouse=True)
def short_phases(monkeypatch):
    """Phases of a few plays, to see several of them; sizes are tested elsewhere."""
    monkeypatch.setattr(
        module.SpannerElimination, "phase_size", lambda self, m, d, scale: 20.0 * 4.0**m
    )


def noisy(seed, size=20_000):
    noise = 0.01 * np.random.default_rng(seed).standard_normal(size)
    return lambda t, arm: float(np.array(arm) @ THETA + noise[t])


def drive(player, rounds, reward, begin=0):
    history = []
    for t in range(begin, begin + rounds):
        decision = player.ask()
        player.tell(decision.id, reward(t, decision.arm))
        history.append(decision.arm)
    return history


@pytest.mark.parametrize("arms", [BALL, np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])])
def test_live_play_gives_the_blocks_of_the_simulation(arms):
    """Noise-free rewards: the means are the same however they are drawn."""
    learner = uli.SpannerElimination(0.1, R=1.0)
    problem = uli.LinearBandit(THETA, arm_set=arms, sigma=1e-13)
    runs = uli.simulate(learner, problem, 3000, seed=1)
    player = learner.start(arms)
    history = np.array(drive(player, 3000, lambda t, arm: float(np.array(arm) @ THETA)))
    for phase in runs.phases[0]:
        part = history[phase.first_round - 1 : phase.last_round]
        expected = np.repeat(phase.arms, phase.plays, axis=0)
        assert part == pytest.approx(expected, abs=1e-5)
    assert player.phase > 3


def test_a_saved_player_goes_on_as_if_nothing_had_happened():
    learner, reward = uli.SpannerElimination(0.1, R=1.0), noisy(1)
    whole = drive(learner.start(BALL), 2500, reward)
    player = learner.start(BALL)
    first = drive(player, 777, reward)
    player = uli.restore(json.loads(json.dumps(player.state())), arms=BALL)
    assert player.recommend() == learner_best(learner, reward)
    assert first + drive(player, 1723, reward, 777) == whole
    with pytest.raises(uli.errors.StateError, match="arms"):
        uli.restore(player.state())
    with pytest.raises(uli.errors.StateError, match="arms"):
        uli.restore(player.state(), arms=uli.arm_sets.Ball(2, radius=2.0))
    box = uli.SpannerElimination(0.1, R=1.0).start(uli.arm_sets.Box([-0.3, -0.3], [1.0, 0.5]))
    with pytest.raises(uli.errors.StateError, match="extent"):
        uli.restore(box.state(), arms=uli.arm_sets.Box([-0.3, -0.3], [0.1, 0.1]))


def test_altered_states_are_refused():
    player = uli.SpannerElimination(0.1, R=1.0).start(BALL)
    drive(player, 100, noisy(1))
    good = player.state()
    changes = {"theta": "x", "inverse": "x", "best": "x", "n": -1, "asked": -1, "phase": -1}
    for key, value in (*changes.items(), ("arms", []), ("settled", 10**6), ("schema", 9)):
        with pytest.raises(uli.errors.StateError):
            uli.restore(good | {key: value}, arms=BALL)


def test_an_oracle_of_ones_own_is_restored_onto_another_instance():
    class Own:
        dimension = 2

        def maximize(self, u, eq=None, le=None):
            return BALL.maximize(u, eq=eq, le=le)

    learner, reward = uli.SpannerElimination(0.1, R=1.0), noisy(5)
    player = learner.start(Own())
    drive(player, 300, reward)
    again = uli.restore(json.loads(json.dumps(player.state())), arms=Own())
    assert drive(again, 200, reward, 300) == drive(player, 200, reward, 300)


def learner_best(learner, reward):
    player = learner.start(BALL)
    drive(player, 777, reward)
    return player.recommend()


def test_late_rewards_in_any_order_give_the_same_player():
    learner, reward, order = uli.SpannerElimination(0.1, R=1.0), noisy(2), np.random.default_rng(3)
    players = [learner.start(BALL), learner.start(BALL)]
    for batch in range(30):
        for player, shuffled in zip(players, (False, True), strict=True):
            decisions = player.ask(50)
            for i in order.permutation(50) if shuffled else range(50):
                player.tell(decisions[i].id, reward(50 * batch + i, decisions[i].arm))
    assert players[0].state() == players[1].state()
    assert players[0].phase > 2


def test_it_closes_in_on_the_best_arm_and_says_how_close():
    learner = uli.SpannerElimination(0.1, R=1.0)
    player = learner.start(BALL)
    drive(player, 5000, noisy(4))
    best = THETA / np.linalg.norm(THETA)
    assert np.linalg.norm(np.array(player.recommend()) - best) < 0.1
    certificate = player.certificate()
    assert certificate.bound == pytest.approx(4 * 2.0**-player.phase)
    assert certificate.envelope == pytest.approx(learner.guarantee(BALL).bound(5001))
    for arm in player.arms:
        assert np.linalg.norm(THETA) - arm @ THETA <= certificate.bound


def test_what_is_asked_ahead_makes_no_certificate_better():
    learner, reward = uli.SpannerElimination(0.1, R=1.0), noisy(6, 200_000)
    player = learner.start(BALL)
    quota = player.quota * len(player.arms)
    decisions = player.ask(150 * quota)
    for t, decision in enumerate(decisions):
        player.tell(decision.id, reward(t, decision.arm))
    assert player.phase == 2
    assert player.certificate().round == quota + 1
    with pytest.raises(uli.errors.NoGuaranteeError, match="R = 1"):
        learner.start(BALL, low=0.0, high=100.0).certificate()


def test_errors_are_typed():
    player = uli.SpannerElimination(0.1, R=1.0).start(BALL, low=-1.0, high=1.0)
    decision = player.ask()
    for wrong in (2.0, math.nan, "x"):
        with pytest.raises(uli.errors.RewardRangeError):
            player.tell(decision.id, wrong)
    for unknown in (0, 5, "a", True):
        with pytest.raises(uli.errors.UnknownDecisionError):
            player.tell(unknown, 0.5)
    player.tell(decision.id, 0.5)
    player.tell(decision.id, 0.5)
    with pytest.raises(uli.errors.ConflictingRewardError):
        player.tell(decision.id, 0.6)
    assert player.pending == ()
    with pytest.raises(uli.errors.ArgumentError, match="arm_set"):
        uli.SpannerElimination(R=1.0).start(3)
