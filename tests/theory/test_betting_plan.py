"""Planning with a stated best mean: docs/proofs.md, "Planning", step by step."""

import math
from itertools import product

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import betting_elimination as naive
from tests.naive import betting_plan as plan


def law(rng, mean):
    """Return a law on two points of [0, 1] with this mean, as (points, probabilities)."""
    low, high = mean * rng.random(), mean + (1 - mean) * rng.random()
    q = 0.5 if high == low else (mean - low) / (high - low)
    return np.array([low, high]), np.array([1 - q, q])


def expected(value, laws, plays):
    """Return E value(rewards of each arm) over all outcomes."""
    total = 0.0
    for at in product(*(product((0, 1), repeat=k) for k in plays)):
        q = math.prod(laws[b][1][i] for b, row in enumerate(at) for i in row)
        total += q * value(*([laws[b][0][i] for i in row] for b, row in enumerate(at)))
    return total


def log_bet(rewards, theta, bets, sign):
    r = len(rewards)
    return sum(c * math.log1p(sign * (x - theta) * u / r) for x in rewards for u, c in bets)


@pytest.mark.parametrize("plays", [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2)])
def test_a_sweep_is_at_most_its_worst_case(plays):
    """Any laws, theta within its band, any leader: the mean is at most what is reckoned with."""
    rng = np.random.default_rng([41, *plays])
    closest = 0.0
    for _ in range(150):
        p, g = rng.uniform(0.3, 0.97), rng.uniform(0.01, 0.25)
        s, lam = rng.uniform(0.1, 2), rng.uniform(0, 1.5)
        bets = [(u, c) for u, c in zip(rng.uniform(0.02, 0.7, 3), (0.5, 0.3, 0.2), strict=True)]
        ends = np.sort(rng.random(2))
        theta = rng.uniform(*ends)
        known = [[(np.full(1, u), c) for u, c in bets], s, lam, p, g]
        means = p * rng.random() if rng.random() < 0.5 else p, p, (p - g) * rng.uniform(0.7, 1)
        laws = [law(rng, mean) for mean in means]

        def other(j, best, a, theta=theta, bets=bets, s=s, lam=lam):
            L = log_bet(j, theta, bets, 1) + log_bet(a, theta, bets, -1)
            return math.exp(lam * (np.mean(j) - np.mean(best)) - s * L)

        def same(j, best, a, theta=theta, bets=bets, s=s):
            return math.exp(-s * (log_bet(best, theta, bets, 1) + log_bet(a, theta, bets, -1)))

        found = [expected(f, laws, plays) for f in (other, same)]
        for leader, allowed in ((True, found), (False, found[1:])):
            worst = max(plan.exponents(np.full(1, end), *known, leader)[0] for end in ends)
            assert math.log(max(allowed)) <= worst + 1e-12
        closest = max(closest, math.exp(math.log(found[1]) - worst))
    assert closest > 0.9


@pytest.mark.parametrize("r", [1, 2])
def test_theta_stays_in_its_band(r):
    """Over whole runs, outside no more often than its share of delta; the band is not all."""
    p, delta, M, rounds = 0.8, 0.9, 150, 150
    rng = np.random.default_rng([42, r])
    looks = [0]
    while looks[-1] < rounds:
        looks.append(naive.look_after(looks[-1]))
    low, high = plan.band(looks, p, 3, delta, r)
    assert 0.05 < (high - low)[-1] < 0.8
    outside = 0
    for _ in range(M):
        table = (rng.random((3, 2 * rounds)) < [[p], [p], [p - 0.1]]).astype(float)
        out = naive.play(lambda a, i, table=table: table[a, i], 3, rounds, delta, r)
        # the (n)th look is at sweep n while sweeps are few
        outside += any(
            not low[m] <= look["theta"] <= high[m] for m, look in enumerate(out["looks"], 1)
        )
    assert outside <= 3 + plan.BAND * delta * M


def test_larger_gaps_are_dropped_sooner():
    looks = [0]
    while looks[-1] < 600:
        looks.append(naive.look_after(looks[-1]))
    edges = plan.band(looks, 0.9, 4, 0.05, 2)
    for s, lam in ((0.5, 0.2), (1.0, 0.4)):
        logs = [
            plan.log_staying(looks, edges, [4, 5, 6], s, lam, 0.9, g, 4, 0.05)
            for g in (0.02, 0.05, 0.1, 0.2, 0.4)
        ]
        assert np.all(np.diff(logs) < 0)


@pytest.mark.parametrize("means", [(0.99, 0.95), (0.92, 0.87, 0.87, 0.8)], ids=["K2", "K4"])
def test_no_more_than_delta_of_the_runs_break_the_plan(means):
    """After the round that was planned no arm of such a gap is left, but for delta."""
    delta, M, K = 0.3, 1000, len(means)
    gap = means[0] - means[1]
    t = plan.rounds_until(gap * 0.999, means[0], K, delta, largest=10**5)
    runs = uli.simulate(
        uli.BettingElimination(delta), uli.BernoulliBandit(list(means)), 2 * t, M, seed=43
    )
    fell = runs.eliminated_at
    late = ((fell[:, 1:] == 0) | (fell[:, 1:] > t)).any(axis=1)
    failed = late | (fell[:, 0] > 0)
    assert failed.sum() <= delta * M
    assert late.sum() <= (plan.BAND + plan.TAIL) * delta * M + 3 * math.sqrt(0.03 * M)
    assert t < naive.rounds_until(gap * 0.999, K, delta)  # what needs no mean says less


def test_golden_plan():
    """A small variance is worth as much as the page says."""
    assert plan.rounds_until(0.1, 0.99, 2, 0.05, largest=10**5) <= 2718
    assert naive.rounds_until(0.1, 2, 0.05) == 4410
