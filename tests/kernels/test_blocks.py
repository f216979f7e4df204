"""What a block lets pass, checked on the draws themselves."""

import numba
import numpy as np

from uli_fast._support.streams import stream
from uli_fast.kernels.rewards.blocks import draw_sweeps, plan_sweeps
from uli_fast.kernels.rewards.laws import play_one
from uli_fast.problems.arms import bernoulli_law


def law(means, caution=1.0, seed=0):
    coins = bernoulli_law(np.array(means), stream(seed, 0), "skip")
    return coins._replace(caution=caution)


@numba.njit
def draw(law, active, n, total, k, room):
    return draw_sweeps(law, active, n, total, k, room)


@numba.njit
def plan(law, active, n, room):
    return plan_sweeps(law, active, n, room)


@numba.njit
def one(law, a, n, total):
    return play_one(law, a, n, total)


def test_no_arrangement_of_accepted_sweeps_spreads_beyond_the_room():
    rng, accepted, refused = np.random.default_rng(5), 0, 0
    for seed in range(400):
        means = rng.uniform(0, 1, 3)
        k, room = int(rng.integers(4, 60)), float(rng.uniform(1, 40))
        rewards = law(means, seed=seed)
        total = np.zeros(3, np.int64)
        kept = draw(rewards, np.ones(3, np.bool_), 100, total, k, room)
        wins = total if kept else rewards.urn[1]
        # The worst arrangement of a pair: one arm wins first, the other loses first.
        worst = 0
        for winner in range(3):
            for loser in range(3):
                i = np.arange(k + 1)
                gain = np.minimum(i, wins[winner]) - np.maximum(0, i - (k - wins[loser]))
                worst = max(worst, int(gain.max()) if winner != loser else 0)
        if kept:
            accepted += 1
            assert worst <= room
            assert (rewards.urn == 0).all()
        else:
            assert min(wins.max(), k - wins.min()) > room
            refused += 1
            assert (rewards.urn[0] == k).all()
    assert min(accepted, refused) > 50


def test_planned_sweeps_are_seldom_refused():
    active, refused = np.ones(10, np.bool_), 0
    for seed in range(2000):
        rewards = law([0.5] * 10, seed=seed)
        k = plan(rewards, active, 10**6, 5000.0)
        assert 8000 < k < 10_000  # nearly twice the room: half of the rewards are failures
        refused += not draw(rewards, active, 10**6, np.zeros(10, np.int64), k, 5000.0)
    assert refused == 0


def test_an_urn_gives_back_exactly_what_was_drawn():
    rewards = law([0.5])
    rewards.urn[:, 0] = 500, 123
    total = 0
    for n in range(500):
        total = one(rewards, 0, n, total)
    assert total == 123
    assert (rewards.urn == 0).all()
