"""Live elimination by betting: the kernel's decisions, sweeps, and states."""

import json
import math

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import betting_elimination as naive
from tests.support.betting import FREE, restored
from tests.support.signing import signed
from uli_fast.errors import StateError


def random_table(rng, T):
    """Return rewards of K arms, 0/1 or fractions without ties, near-ties among them."""
    K = int(rng.integers(2, 6))
    means = rng.uniform(0.0, 1.0, K)
    if rng.random() < 0.4:
        means = 0.5 + 0.1 * (means - 0.5)
    rewards = (rng.random((K, T)) < means[:, None]).astype(float)
    if rng.random() < 0.4:
        rewards = 0.5 * rewards + 0.5 * rng.random((K, T))
    return rewards


def driven(player, rewards, T):
    counts, arms = [0] * len(rewards), []
    for _ in range(T):
        d = player.ask()
        player.tell(d.id, rewards[d.arm, counts[d.arm]])
        counts[d.arm] += 1
        arms.append(d.arm)
    return arms


def check_kernel_and_twin(instances, seed):
    rng, T = np.random.default_rng(seed), 900
    for _ in range(instances):
        rewards, r = random_table(rng, T), int(rng.integers(1, 5))
        learner, K = uli.BettingElimination(0.3, leader=r), len(rewards)
        player = learner.start(K)
        arms = driven(player, rewards, T)
        problem = uli.TableBandit(rewards, means=rewards.mean(axis=1))
        runs = uli.simulate(learner, problem, T, engine="rounds", rounds=range(1, T + 1))
        assert arms == np.diff(runs.plays[0], axis=0, prepend=0).argmax(axis=1).tolist()
        assert player.arm_state.eliminated.tolist() == runs.eliminated_at[0].tolist()
        if r == 3:  # thirds, added one by one, are rounded in other ways: ties are no ties
            continue
        twin = naive.play(lambda a, i, x=rewards: float(x[a, i]), K, T, 0.3, r)
        assert arms == twin["arms"] and player.arm_state.eliminated.tolist() == twin["eliminated"]


def test_immediate_rewards_give_the_decisions_of_kernel_and_twin():
    check_kernel_and_twin(10, seed=1)


@pytest.mark.slow
def test_immediate_rewards_give_the_decisions_of_kernel_and_twin_on_500_instances():
    check_kernel_and_twin(500, seed=2)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_unbounded_rewards_give_the_kernel_s_decisions(r):
    rng = np.random.default_rng(r)
    rewards = np.array([[5.0], [4.0], [3.0]]) + rng.normal(0.0, 2.0, (3, 1500))
    learner = uli.BettingElimination(0.3, leader=r, R=2.0)
    player = learner.start(3, **FREE)
    arms = driven(player, rewards, 1500)
    twin = naive.play(lambda a, i: float(rewards[a, i]), 3, 1500, 0.3, leader=r, R=2.0, first=False)
    assert arms == twin["arms"] and len(player.active) < 3
    c = player.certificate()
    assert c.bound >= rewards.mean(axis=1).max() - rewards.mean(axis=1)[list(c.active)].min() - 0.2


def test_a_sweep_keeps_what_it_was_begun_with():
    player = uli.BettingElimination(0.1, leader=3).start(["a", "b", "c"])
    ahead = [d.arm for d in player.ask(7)]
    assert ahead == ["a", "b", "c", "a", "b", "c", "a"]  # no look, no leader
    for id, reward in enumerate([0, 1, 0], start=1):
        player.tell(id, reward)  # the first look: b leads
    assert [d.arm for d in player.ask(9)] == ["b", "c", "a", "b", "b", "b", "c", "a", "b"]
    assert player.sweeps.epochs[-1] == (1, 0.75)
    assert player.memory.sweeps.begun == [0] * 9 + [1] * 7


def test_outcomes_are_bet_on_with_the_theta_of_their_asking():
    rng = np.random.default_rng(2)
    player = uli.BettingElimination(0.01).start(2)
    outcomes = [float(rng.random() < 0.9) for _ in range(80)]
    for d in player.ask(80):
        player.tell(d.id, outcomes[d.id - 1])  # forty looks come, and none before the asking
    assert player.memory.book.mark[0] == 40 and player.sweeps.epochs[-1].theta > 0.8
    for a in (0, 1):
        won = sum(outcomes[a::2])
        for g in range(int(player.memory.book.mark[2]), 8):
            u = naive.SIZES[g]
            good = won * math.log1p(0.5 * u) + (40 - won) * math.log1p(-0.5 * u)
            assert player.memory.book.P[a, g] == pytest.approx(good, rel=1e-9)


def test_a_sweep_that_lost_its_old_leader_can_be_restored():
    """Arm 0 was asked for once of its two plays when it was dropped: the other never came."""
    player = uli.BettingElimination(0.1).start(2)
    for d, reward in zip(player.ask(2), (1.0, 0.0), strict=True):
        player.tell(d.id, reward)
    for d in player.ask(181):
        player.tell(d.id, float(d.arm == 1))
        if player.active == (1,):
            break
    assert player.queue.decisions[-3:] == [0, 1, 0] and player.sweeps.rest == [1]
    again = restored(player)
    assert again.state() == player.state() and again.ask(4) == player.ask(4)
    for play in (5, 179):  # only the sweep that was being asked for may lack one of its plays
        state = json.loads(json.dumps(player.state()))
        queue, sweeps = state["queue"], state["memory"]["sweeps"]
        assert queue["decisions"][play] == 0
        for rows in (queue["decisions"], queue["outcomes"], sweeps["begun"], sweeps["ends"]):
            del rows[play]
        del queue["seen"][-1]
        queue["settled"] -= 1
        state["tally"]["asked"][0] -= 1
        with pytest.raises(StateError, match="contradicts itself"):
            uli.restore(signed(state))


def test_states_that_outcomes_do_not_lead_to_are_refused():
    rng = np.random.default_rng(1)
    player = uli.BettingElimination(0.3).start(3)
    for d in player.ask(20):
        player.tell(d.id, float(rng.random() < 0.5))
    while player.sweeps.rest:
        player.tell(player.ask().id, 1.0)
    player.tell_block({0: (5, 3.0), 1: (4, 1.0), 2: (4, 2.0, 1)}, "x")
    for d in player.ask(8):
        player.tell(d.id, rng.random())
    waiting = player.ask(2)
    good = json.loads(json.dumps(player.state()))
    again = uli.restore(good)
    for d in waiting:
        for p in (again, player):
            p.tell(d.id, 0.25)
    assert again.state() == player.state() and again.ask(5) == player.ask(5)

    def changed(change):
        state = json.loads(json.dumps(good))
        change(state["memory"])
        return signed(state)

    for change in (
        lambda x: x["book"]["M"].__setitem__(0, 99.0),
        lambda x: x["book"]["P"][0].__setitem__(2, 9.0),
        lambda x: x["book"]["mark"].__setitem__(0, 500),
        lambda x: x["gaps"].__setitem__(1, 1e-3),
        lambda x: x["gaps"].__setitem__(0, "nan"),
        lambda x: x["whole"].__setitem__(0, 7),
        lambda x: x["sweeps"]["epochs"][-1].__setitem__(1, 0.9),
        lambda x: x["sweeps"]["epochs"][-1].__setitem__(0, 1 - x["sweeps"]["epochs"][-1][0]),
        lambda x: x["sweeps"]["begun"].__setitem__(-1, 0),
        lambda x: x["sweeps"]["ends"].__setitem__(1, 1),
        lambda x: x["sweeps"]["ends"].pop(),
        lambda x: x["blocks"][0][2][0].__setitem__(2, 4.0),
        lambda x: x["blocks"].append(x["blocks"][0]),
        lambda x: x["blocks"].clear(),
        lambda x: x["sweeps"]["rest"].append(0),
        lambda x: x["new"][0].__setitem__(0, 3.0),
    ):
        with pytest.raises(StateError):
            uli.restore(changed(change))
