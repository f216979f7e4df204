"""Policies as SMPyBandits drives them, deep copies included."""

import copy
import math
import pickle

import numpy as np
import pytest

import uli_fast as uli
from tests.compat.cases import DETERMINISTIC, DRAWING, IN_SWEEPS, SMALL, live_path, table
from uli_fast.compat import smpybandits
from uli_fast.compat.smpybandits import policy
from uli_fast.errors import (
    ArgumentError,
    NoGuaranteeError,
    RewardRangeError,
    UliError,
    UnsupportedError,
)


def play(game, rewards, T):
    """One repetition as the Evaluator's: choice, reward of (arm, t), getReward."""
    game.startGame()
    arms = []
    for t in range(T):
        arm = game.choice()
        game.getReward(arm, rewards[arm, t])
        arms.append(arm)
    return arms


def repetitions(original, T=300, n=3):
    """What the Evaluator does: a deep copy for every repetition, the same rewards for all."""
    rewards = table(T)
    return [play(copy.deepcopy(original), rewards, T) for _ in range(n)]


@pytest.mark.parametrize("name", smpybandits.NAMED)
def test_the_contract(name):
    game = getattr(smpybandits, name)(3, lower=-1.0, amplitude=4.0, horizon=1000)
    assert (game.t, game.nbArms, game.lower, game.amplitude) == (-1, 3, -1.0, 4.0)
    game.startGame()
    assert game.t == 0
    for r in (-1.0, 3.0, 0.0, 1.0):
        arm = game.choice()
        assert isinstance(arm, int) and 0 <= arm < 3
        assert game.choice() == arm
        game.getReward(arm, r)
    assert game.t == game.pulls.sum() == 4
    assert game.rewards.sum() == pytest.approx(0.0 + 1.0 + 0.25 + 0.5)  # on the unit scale
    assert name in str(game) and "0.05" in str(game)
    assert sorted(game.estimatedOrder()) == [0, 1, 2]
    assert game.estimatedBestArms(2).tolist() == game.estimatedOrder()[1:].tolist()
    game.startGame()
    assert game.t == game.pulls.sum() == game.rewards.sum() == 0


@pytest.mark.parametrize("learner", DETERMINISTIC + IN_SWEEPS, ids=str)
def test_decisions_are_the_live_player_s(learner):
    T, rewards = 1500, table(1500)
    expected, player = live_path(learner, rewards, T)
    game, counts, arms = policy(learner)(3), np.zeros(3, int), []
    game.startGame()
    for _ in range(T):
        arm = game.choice()
        game.getReward(arm, rewards[arm, counts[arm]])
        counts[arm] += 1
        arms.append(arm)
    assert arms == expected
    assert game.pulls.tolist() == counts.tolist()
    if not learner.baseline:
        assert game.certificate() == player.certificate()


def test_draws_are_the_live_player_s_for_the_seed_of_the_game(monkeypatch):
    monkeypatch.setattr(smpybandits, "fresh_seed", lambda: 77)
    rewards = table(300)
    expected, _ = live_path(SMALL, rewards, 300, seed=77)
    game, counts, arms = policy(SMALL)(3), np.zeros(3, int), []
    game.startGame()
    for _ in range(300):
        arm = game.choice()
        game.getReward(arm, rewards[arm, counts[arm]])
        counts[arm] += 1
        arms.append(arm)
    assert arms == expected


@pytest.mark.parametrize("learner", DRAWING, ids=str)
def test_deep_copies_play_independent_games(learner):
    np.random.seed(5)  # noqa: NPY002
    original = policy(learner)(3, horizon=300)
    first = repetitions(original)
    assert len({tuple(arms) for arms in first}) == 3
    assert repetitions(original) != first
    np.random.seed(5)  # noqa: NPY002
    assert repetitions(original) == first
    original.startGame()  # a started policy may be copied too
    assert len({tuple(arms) for arms in repetitions(original)}) == 3


@pytest.mark.parametrize("learner", DETERMINISTIC, ids=str)
def test_policies_that_do_not_draw_leave_the_global_stream_alone(learner):
    np.random.seed(1)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    games = repetitions(policy(learner)(3))
    assert games[0] == games[1]
    assert np.random.random() == expected  # noqa: NPY002


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("learner", DETERMINISTIC + DRAWING, ids=str)
def test_a_copy_in_mid_game_goes_on_alike(learner, again):
    rewards = table(400)
    game = policy(learner)(3, horizon=500)
    game.startGame()
    for t in range(200):
        game.getReward(game.choice(), rewards[0, t])
    game.choice()  # a decision is open
    other = again(game)
    assert type(other) is type(game)
    for t in range(200, 400):
        arm = game.choice()
        assert other.choice() == arm
        game.getReward(arm, rewards[arm, t])
        other.getReward(arm, rewards[arm, t])
    assert other.pulls.tolist() == game.pulls.tolist()


def test_configuration_dictionaries():
    for entry in (
        {"archtype": smpybandits.SuccessiveElimination, "params": {"delta": 0.01}},
        {"archtype": policy(uli.SuccessiveElimination(0.01)), "params": {}},
        {"archtype": policy(uli.SuccessiveElimination()), "params": {"delta": 0.01}},
        {"archtype": smpybandits.MetaElimination, "params": {"base": uli.Exp3P(), "delta": 0.01}},
    ):
        assert entry["archtype"](4, **entry["params"]).learner.delta == 0.01


def test_rewards_of_another_s_arms():
    """An aggregator plays its own arms and tells every policy."""
    rewards = table(400)
    se, ucb, drawing = (policy(x)(3) for x in (DETERMINISTIC[0], DETERMINISTIC[2], SMALL))
    for game in (se, ucb, drawing):
        game.startGame()
    for t in range(400):
        for game in (se, ucb):
            game.getReward(t % 2, rewards[t % 2, t])
    assert se.certificate().envelope == math.inf
    # Arm 2 is unknown: it may be 1 above the lower ends of others, and their upper ends above 0.
    lower, upper = se._playing().player.tally.known[:, :2]
    assert se.certificate().bound == max(1.0 - lower.min(), upper.max()) < 1.0
    with pytest.raises(NoGuaranteeError):
        ucb.certificate()
    with pytest.raises(ArgumentError, match="drew no arm"):
        drawing.getReward(0, 1.0)
    other = (drawing.choice() + 1) % 3
    with pytest.raises(ArgumentError, match="not number"):
        drawing.getReward(other, 1.0)
    assert drawing.t == drawing.pulls.sum() == 0


def test_a_user_s_rule_plays_too():
    rule = uli.EliminationFramework(lambda n, x, active, t: active, lambda d, t: 1.0, 1.0, 0.1)
    game = policy(rule)(3)
    assert play(game, table(30), 30) == [0, 1, 2] * 10
    assert copy.deepcopy(game).pulls.tolist() == [10, 10, 10]


def test_what_cannot_be_kept_is_refused():
    game = smpybandits.UCB(2)
    with pytest.raises(UliError, match="startGame"):
        game.choice()
    game.startGame()
    for wrong in (1.5, -0.1, math.nan, "x"):
        with pytest.raises(RewardRangeError):
            game.getReward(0, wrong)
    for arm in (-1, 2, 10**30, 0.5, "0", None, True):
        with pytest.raises(ArgumentError) as caught:
            game.getReward(arm, 1.0)
        assert caught.value.argument == "arm"
    assert game.t == game.pulls.sum() == game.rewards.sum() == 0
    assert game.choiceWithRank(1) == game.choiceFromSubSet("all") == game.choice()
    assert game.choiceMultiple(1).tolist() == game.choiceIMP(1).tolist() == [game.choice()]
    for call in (
        lambda: game.choiceWithRank(2),
        lambda: game.choiceFromSubSet([0]),
        lambda: game.choiceMultiple(2),
    ):
        with pytest.raises(UnsupportedError):
            call()
    with pytest.raises(ArgumentError, match="gamma"):
        smpybandits.UCB(2, gamma=1.0)
    with pytest.raises(ArgumentError, match="amplitude"):
        smpybandits.UCB(2, amplitude=0.0)
    with pytest.raises(ArgumentError, match="horizon"):
        smpybandits.Exp3P(2).startGame()
    with pytest.raises(ArgumentError, match="learner"):
        policy(uli.UCBVI())
    with pytest.raises(UliError):
        smpybandits.Policy(2)


def test_unbounded_rewards():
    game = smpybandits.SuccessiveElimination(2, lower=-math.inf, amplitude=math.inf, R=1.0)
    game.startGame()
    game.getReward(game.choice(), -3.5)
    game.getReward(game.choice(), 8.0)
    assert game.rewards.tolist() == [-3.5, 8.0]
