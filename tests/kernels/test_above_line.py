"""Blocks above a line: the ceiling is one, and every end has its exact probability."""

from math import exp, floor, lgamma

import numba
import numpy as np
import pytest
from scipy.stats import binom, chisquare

import uli_fast as uli
from tests.support.draws import draws
from uli_fast._support.streams import stream
from uli_fast.kernels.arms.optimism import Indices, line_of, restore_indices
from uli_fast.kernels.rewards.above_line import longest_block, play_above, tilt, walk_fresh
from uli_fast.learners._arms import empty_state
from uli_fast.problems.arms import bernoulli_law


def law(p, seed=0, caution=1.0):
    return bernoulli_law(np.array([p]), stream(seed, 0), "skip")._replace(caution=caution)


@numba.njit
def block(law, k, x, m):
    return play_above(law, 0, 1000, k, x, m)


@numba.njit
def many_blocks(law, k, x, m, counts):
    """Count the ends: plays made, and successes among them and in the urn."""
    for _ in range(counts[0, 0, 0]):
        played, wins = play_above(law, 0, 1000, k, x, m)
        counts[played, wins, law.urn[1, 0]] += 1
        law.urn[:] = 0


def first_touches(k, wins, x, m):
    """Yield (successes, failures) wherever an arrangement can touch first, before its end."""
    for lost in range(1, k - wins + 1):
        for won in range(wins + 1):
            i = won + lost
            if i < k and x + won - m * i <= 0 < x + won - m * (i - 1):
                yield won, lost


def log_ratio(n, taken, shift):
    """Return the log of n (n - 1) ... over the same with n + shift, ``taken`` factors each."""
    return (
        lgamma(n + 1)
        - lgamma(n - taken + 1)
        - lgamma(n + shift + 1)
        + lgamma(n + shift - taken + 1)
    )


def test_no_first_touch_is_likelier_than_the_ceiling_allows():
    rng, places, closest = np.random.default_rng(0), 0, -np.inf
    for _ in range(6000):
        k, m = int(rng.integers(2, 90)), float(rng.uniform(0.01, 0.99))
        wins = int(rng.integers(0, k + 1))
        losses = k - wins
        x = m * losses * float(rng.uniform(0.0, 1.0))
        D, safety = tilt(k, wins, x, m)
        if D == 0:
            continue
        assert D <= wins
        for won, lost in first_touches(k, wins, x, m):
            assert wins - won >= D  # else Q could not come here
            L = log_ratio(wins, won, -D) + log_ratio(losses, lost, D)
            assert L <= -safety + 1e-9
            places, closest = places + 1, max(closest, L + safety)
    assert places > 10_000
    assert closest > -0.05  # and there is little to gain


def exact_ends(k, p, x, m):
    """Return the probability of each (plays, successes, successes in the urn)."""
    ends, alive = {}, {0: 1.0}
    for i in range(1, k + 1):
        reached = {}
        for won, weight in alive.items():
            reached[won] = reached.get(won, 0.0) + weight * (1 - p)
            reached[won + 1] = reached.get(won + 1, 0.0) + weight * p
        alive = {}
        for won, weight in reached.items():
            if i < k and x + won - m * i <= 0:
                for rest in range(k - i + 1):
                    ends[i, won, rest] = weight * binom.pmf(rest, k - i, p)
            else:
                alive[won] = weight
    for won, weight in alive.items():
        ends[k, won, 0] = weight
    return ends


@pytest.mark.parametrize(
    ("k", "p", "x", "m"),
    [
        (12, 0.5, 1.3, 0.5),
        (16, 0.5, 2.0, 0.5),  # touches exactly
        (30, 0.3, 2.5, 0.31),
        (30, 0.7, 3.0, 0.66),
        (40, 0.5, 6.5, 0.52),  # the ceiling is mostly small
        (20, 0.9, 1.1, 0.8),
        (25, 0.4, 0.7, 1.2),  # a line steeper than all successes
        (25, 0.4, 0.1, -0.1),  # one that is never touched
    ],
)
def test_blocks_end_as_single_rewards_do(k, p, x, m):
    counts, draws = np.zeros((k + 1,) * 3, np.int64), 400_000
    counts[0, 0, 0] = draws
    many_blocks(law(p, seed=k), k, x, m, counts)
    counts[0, 0, 0] -= draws
    ends = exact_ends(k, p, x, m)
    order = sorted(ends, key=ends.__getitem__)
    rare = 1 + int((np.cumsum([ends[end] for end in order]) * draws < 10).sum())  # to one bin
    bins = [order[:rare], *([end] for end in order[rare:])]
    expected = np.array([sum(ends[end] for end in group) for group in bins]) * draws
    seen = np.array([sum(counts[end] for end in group) for group in bins])
    assert seen.sum() == draws
    assert chisquare(seen, expected).pvalue > 1e-4


def test_blocks_are_revealed_as_often_as_the_ceiling_says():
    """Given the sum, the share of touching arrangements is below exp(-safety), not far."""
    k, x, m = 40, 5.2, 0.5
    for wins in (18, 20, 22):
        _, safety = tilt(k, wins, x, m)
        touching, alive = 0.0, {0: 1.0}
        for i in range(1, k):
            reached = {}
            for won, weight in alive.items():
                up = (wins - won) / (k - i + 1)
                reached[won] = reached.get(won, 0.0) + weight * (1 - up)
                reached[won + 1] = reached.get(won + 1, 0.0) + weight * up
            touching += sum(w for won, w in reached.items() if x + won - m * i <= 0)
            alive = {won: w for won, w in reached.items() if x + won - m * i > 0}
        assert 0.1 * exp(-safety) < touching <= exp(-safety)


def test_what_is_left_of_a_block_is_in_the_urn():
    touched = 0
    for seed in range(300):
        rewards = law(0.5, seed)
        k, wins = block(rewards, 60, 2.2, 0.5)
        assert rewards.urn[0, 0] == (60 - k)
        assert 0 <= rewards.urn[1, 0] <= 60 - k
        if k < 60:
            touched += 1
            assert 2.2 + wins - 0.5 * k <= 0.0
            assert 2.2 + wins - 0.5 * (k - 1) > 0.0
    assert 100 < touched < 290


def test_long_blocks_are_seldom_revealed():
    block_of = numba.njit(lambda law, n, x, drift: longest_block(law, 0, n, x, drift))
    for p in (0.5, 0.1, 0.97):
        for x, drift in ((30.0, 0.0), (30.0, -0.01), (1000.0, 0.001), (50.0, 0.5)):
            rewards = law(p)
            k = block_of(rewards, 10**6, x, drift)
            assert k >= min(10**6, 0.2 * x * x / (p * (1 - p)) / 30)
            ends = [block(rewards, k, x, p - drift)[0] for _ in range(300)]
            rewards.urn[:] = 0
            assert sum(end < k for end in ends) <= 8


def test_single_rewards_end_at_the_first_round_outside():
    walk = numba.njit(lambda law, k, low, high, m: walk_fresh(law, 0, k, low, high, m))
    for seed in range(200):
        k, wins = walk(law(0.5, seed), 50, -1.71, 2.413, 0.52)
        rewards = draws(seed).random(50) < 0.5
        heights = np.cumsum(rewards) - 0.52 * np.arange(1, 51)
        outside = np.flatnonzero((heights <= -1.71) | (heights >= 2.413))
        assert k == (outside[0] + 1 if outside.size else 50)
        assert wins == rewards[:k].sum()


@pytest.mark.parametrize(
    "learner", [uli.UCB(0.1, R=0.5), uli.LilUCB(0.1, R=0.5), uli.LilUCB(0.9, R=0.1)]
)
def test_above_its_line_an_arm_leads(learner):
    """With the smallest sums above the line, round by round, and the indices as written."""
    rule, rng, checked = learner.rule(learner.R), np.random.default_rng(1), 0
    line = numba.njit(lambda indices, A, rival, k: line_of(indices, A, rival, k))

    def radius(t, n):
        inside = 2 * np.log(t) + np.log(2 / learner.delta)
        if isinstance(learner, uli.LilUCB):
            inside = np.log(np.log(max(n, np.e))) + np.log(6 / learner.delta)
        return 2 * learner.R * np.sqrt(inside / n)

    for _ in range(1500):
        state = empty_state(3, np.int64)
        state.n[:] = rng.integers(4, 10 ** rng.integers(1, 7, 3) + 5)
        state.total[:] = rng.binomial(state.n, rng.uniform(0.2, 0.8))
        t = state.clock[0] = state.n.sum()
        bonus = np.array([radius(t + 1, n) for n in state.n])
        values = state.total / state.n + bonus
        if rng.random() < 0.5:  # a close lead of the arm played most, whose rivals gain on it
            behind = values[state.n.argmax()] - bonus
            state.total[:] = np.where(state.n < state.n.max(), state.n * behind - 0.1, state.total)
            values = state.total / state.n + bonus
        A, second = int(values.argmax()), float(np.sort(values)[-2])
        n, k = int(state.n[A]), int(rng.integers(2, min(state.n[A], 3000) + 1))
        indices = Indices(*np.zeros((3, 3)))
        restore_indices(rule, state, indices)
        indices.value[:] = values
        if isinstance(learner, uli.UCB):  # those of the last round
            rivals = [a for a in range(3) if a != A]
            second = max(state.total[a] / state.n[a] + radius(t + k, state.n[a]) for a in rivals)
        start, m = line(indices, A, second, k)
        x = state.total[A] - start
        for i in np.unique(rng.integers(1, k, 8)):
            wins = max(0, floor(m * i - x) + 1)  # the fewest above the line
            if wins > i:
                continue
            own = (state.total[A] + wins) / (n + i) + radius(t + i + 1, n + i)
            others = [state.total[a] / state.n[a] + radius(t + i + 1, state.n[a]) for a in range(3)]
            assert own > max(index for a, index in enumerate(others) if a != A)
            checked += 1
    assert checked > 2000
