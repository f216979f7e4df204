"""The proof of docs/proofs.md, step by step: exact fractions, enumeration, dynamic programming.

Nothing here uses the package's learner but the last tests, which match simulated runs with
exact probabilities; the paths these come from are checked against the naive twin. Names
of tests are those that the page cites.
"""

import fractions
import math
import re
from itertools import product
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import binom

import uli_fast as uli
from tests.naive import betting_elimination as naive
from uli_fast.verify import betting_paths as exact

F = fractions.Fraction
HALF = F(1, 2)


def fraction(rng, low=0, high=1, parts=60):
    """Return a random fraction within [low, high]; the ends are likely."""
    i = min(max(int(rng.integers(-5, parts + 6)), 0), parts)
    return F(low) + (high - low) * F(i, parts)


def two_point(rng, highest_mean=None):
    """Return a law {value: probability} on two points of [0, 1], of mean at most highest_mean."""
    low, high = sorted((fraction(rng), fraction(rng)))
    if highest_mean is not None:
        low, high = low * highest_mean, high
        if high > highest_mean:  # the weight of the upper point is cut so that the mean fits
            most = (highest_mean - low) / (high - low)
            q = fraction(rng, F(0), min(F(1), most))
            return {low: 1 - q, high: q}
    q = fraction(rng)
    return {low: 1 - q, high: q} if low != high else {low: F(1)}


def told_by(table):
    """Return the reward source of a table."""
    return lambda a, i: table[a, i]


def mean(law):
    return sum(x * q for x, q in law.items())


def cap(theta):
    return F(99, 100) / max(theta, 1 - theta)


def factor(xs, ys, theta, share_x, share_y):
    """Return what a sweep multiplies a bet on "x beats y" by; shares are u / r."""
    out = F(1)
    for x in xs:
        out *= 1 + (x - theta) * share_x
    for y in ys:
        out *= 1 - (y - theta) * share_y
    return out


def expectation(law_x, plays_x, law_y, plays_y, value):
    """Return E value(xs, ys) over all outcomes of independent plays."""
    total = F(0)
    for xs in product(law_x, repeat=plays_x):
        for ys in product(law_y, repeat=plays_y):
            q = math.prod(law_x[x] for x in xs) * math.prod(law_y[y] for y in ys)
            total += q * value(xs, ys)
    return total


def mean_factor(law_x, plays_x, law_y, plays_y, theta, u, m=1):
    """Return the mean factor of a block of m sweeps in which the arms are played this often."""
    shares = u * m / plays_x, u * m / plays_y
    return expectation(
        law_x, plays_x, law_y, plays_y, lambda xs, ys: factor(xs, ys, theta, *shares)
    )


# Step 1: a sweep multiplies the first half by a factor of mean at most 1.


@pytest.mark.parametrize("plays", [(1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (2, 2), (3, 2)])
def test_a_sweep_has_mean_factor_at_most_one(plays):
    rng = np.random.default_rng([15, *plays])
    closest = F(0)
    for _ in range(150):
        best = two_point(rng)
        worse = two_point(rng, mean(best))
        theta = fraction(rng, F(1, 100), F(99, 100))
        u = fraction(rng, F(1, 50), F(1)) * min(cap(theta), F(7, 5))
        found = mean_factor(worse, plays[0], best, plays[1], theta, u)
        assert found <= 1, (worse, best, theta, u)
        closest = max(closest, found)
    assert closest > F(98, 100)  # the step is not empty


def test_the_order_of_the_means_is_needed():
    """If the arm that is bet against is worse, the mean factor exceeds 1: what drops it."""
    better, worse = {F(0): F(2, 5), F(1): F(3, 5)}, {F(0): F(3, 5), F(1): F(2, 5)}
    assert mean_factor(better, 1, worse, 1, HALF, F(1, 5)) == F(51, 50) ** 2 > 1


def test_dependent_arms_break_the_independent_form():
    """x_j = 1 - x_a with both means 1/2 and u = 1: 5/4, so races are paired (arms.md)."""
    found = sum(HALF * factor((x,), (1 - x,), HALF, F(1), F(1)) for x in (F(0), F(1)))
    assert found == F(5, 4)


@pytest.mark.parametrize("plays", [(1, 3), (2, 3), (3, 2), (4, 3), (2, 5)])
def test_blocks_of_any_size_have_mean_factor_at_most_one(plays):
    """n_j and n_a plays count as m = min sweeps (or fewer: another arm has m), r = n / m real."""
    rng = np.random.default_rng([16, *plays])
    for _ in range(25):
        m = int(rng.integers(1, min(plays) + 1))
        best = two_point(rng)
        worse = two_point(rng, mean(best))
        theta = fraction(rng, F(1, 100), F(99, 100))
        u = fraction(rng, F(1, 50), F(1)) * min(cap(theta), F(7, 5))
        assert mean_factor(worse, plays[0], best, plays[1], theta, u, m) <= 1


def test_sums_of_a_block_understate_other_rewards():
    """S log(1 + (1-theta) u) + (N-S) log(1 - theta u) is at most the sum over plays."""
    rng = np.random.default_rng(17)
    for _ in range(300):
        x, theta = rng.random(7), rng.uniform(0.02, 0.98)
        u = rng.random() * 0.99 / max(theta, 1 - theta)
        for sign in (1, -1):
            plays = np.log1p(sign * (x - theta) * u).sum()
            ends = np.log1p(sign * (1 - theta) * u), np.log1p(-sign * theta * u)
            assert x.sum() * ends[0] + (7 - x.sum()) * ends[1] <= plays + 1e-12


# Step 2: theta and the leader change; whatever the past, the next sweep is fair.

BETS = [F(7, 5), F(1), F(7, 10), F(1, 4)]


def grown(state, outcomes, r):
    """Return a state {P, Q, S, N, M, leader, theta} of two arms after a sweep; exact."""
    P, Q = [list(row) for row in state["P"]], [list(row) for row in state["Q"]]
    S, N, M = list(state["S"]), list(state["N"]), list(state["M"])
    theta = state["theta"]
    for a, xs in enumerate(outcomes):
        for k, size in enumerate(BETS):
            u = min(size, cap(theta)) / len(xs)
            for x in xs:
                P[a][k] *= 1 + (x - theta) * u
                Q[a][k] *= 1 - (x - theta) * u
        S[a], N[a], M[a] = S[a] + sum(xs), N[a] + len(xs), M[a] + sum(xs) / len(xs)
    leader = 1 if M[1] > M[0] else 0
    theta = (S[leader] + HALF) / (N[leader] + 1)
    return {"P": P, "Q": Q, "S": S, "N": N, "M": M, "leader": leader, "theta": theta}


def begun():
    ones = [[F(1)] * len(BETS) for _ in range(2)]
    nothing = [F(0), F(0)]
    return {"P": ones, "Q": ones, "S": nothing, "N": nothing, "M": nothing} | {
        "leader": None,
        "theta": HALF,
    }


def wealth(state, j, a):
    return sum(p * q for p, q in zip(state["P"][j], state["Q"][a], strict=True)) / len(BETS)


@pytest.mark.parametrize("laws", ["coins", "tie", "fractions"])
def test_wealth_is_a_supermartingale_on_every_path(laws):
    """Three sweeps, r = 2, every path: leaders change, theta follows, E[W next | path] <= W."""
    worse, best = {
        "coins": ({F(0): F(3, 5), F(1): F(2, 5)}, {F(0): HALF, F(1): HALF}),
        "tie": ({F(0): F(1, 10), F(1): F(9, 10)}, {F(0): F(1, 10), F(1): F(9, 10)}),
        "fractions": ({F(1, 5): HALF, F(4, 5): HALF}, {F(0): F(1, 4), F(2, 3): F(3, 4)}),
    }[laws]
    paths, leaders, thetas = [begun()], set(), set()
    for depth in range(3):
        grown_paths = []
        for state in paths:
            plays = [2 if a == state["leader"] else 1 for a in range(2)]
            after = F(0)
            for xs in product(worse, repeat=plays[0]):
                for ys in product(best, repeat=plays[1]):
                    q = math.prod(worse[x] for x in xs) * math.prod(best[y] for y in ys)
                    new = grown(state, (xs, ys), 2)
                    after += q * wealth(new, 0, 1)
                    if depth < 2:
                        grown_paths.append(new)
            assert after <= wealth(state, 0, 1)
            leaders.add(state["leader"])
            thetas.add(state["theta"])
        paths = grown_paths
    assert leaders == {None, 0, 1} and len(thetas) > 5


def test_theta_chosen_after_the_sweep_breaks_the_step():
    """theta must be fixed when a sweep is asked for (docs/errata.md, Ours).

    Two fair coins, u = 1/2: with the better one of theta = 1/2 and 3/5 for what came out, the
    mean factor is 1 + 9 u^2 / 400. A look that takes in missing outcomes which were declared
    after later outcomes were seen lets an adversary choose so.
    """
    coin, u = {F(0): HALF, F(1): HALF}, HALF

    def chosen(xs, ys):
        return max(factor(xs, ys, theta, u, u) for theta in (HALF, F(3, 5)))

    assert expectation(coin, 1, coin, 1, chosen) == 1 + F(9, 400) * u**2
    for theta in (HALF, F(3, 5)):
        assert mean_factor(coin, 1, coin, 1, theta, u) <= 1


# Step 3: the second half.


def hoeffding_excess(law, u):
    """Return an interval of E exp(u (x - mu)) - exp(u^2 / 8)."""
    mu = mean(law)
    total = mp.iv.mpf(0)
    for x, q in law.items():
        d = u * (x - mu)
        total += (
            mp.iv.mpf(q.numerator)
            / q.denominator
            * mp.iv.exp(mp.iv.mpf(d.numerator) / d.denominator)
        )
    square = u * u / 8
    return total - mp.iv.exp(mp.iv.mpf(square.numerator) / square.denominator)


def test_rewards_in_the_unit_interval_are_half_subgaussian():
    """By interval arithmetic: no two-point law exceeds exp(u^2 / 8)."""
    rng = np.random.default_rng(18)
    old, mp.iv.dps = mp.iv.dps, 40
    try:
        for _ in range(400):
            u = fraction(rng, F(-4), F(4))
            excess = hoeffding_excess(two_point(rng), u)
            assert excess.b <= mp.mpf(10) ** -35  # an interval of a few 1e-40 around the truth
    finally:
        mp.iv.dps = old


def exact_mix(D, v, rho):
    """Return the closed form, in the working precision."""
    D, v, rho = (mp.mpf(x) for x in (D, v, rho))
    s = v + rho
    return 2 * mp.sqrt(rho / s) * mp.exp(D * D / (2 * s)) * mp.ncdf(D / mp.sqrt(s))


@pytest.mark.parametrize("D, v", [(0, 0), (3, 7), (-5, 40), (60, 500), (-60, 500)])
def test_the_mixture_is_the_integral(D, v):
    with mp.workdps(30):
        rho = mp.mpf(25)

        def density(u):
            return 2 * mp.sqrt(rho / (2 * mp.pi)) * mp.exp(-rho * u * u / 2 + u * D - u * u * v / 2)

        whole = mp.quad(density, mp.linspace(0, 4, 60))
        assert mp.almosteq(whole, exact_mix(D, v, rho), rel_eps=mp.mpf(10) ** -20)
        assert math.isclose(float(mp.log(whole)), naive.log_mix(D, v, 25.0), abs_tol=1e-10)


@pytest.mark.parametrize("plays", [(1, 1), (2, 1), (1, 2)])
def test_the_mixture_is_a_supermartingale(plays):
    """E Mix(N + dN, v + dv) <= Mix(N, v) for two-point laws, in 40 digits, margin 1e-30."""
    rng = np.random.default_rng([19, *plays])
    for _ in range(60):
        laws = two_point(rng), two_point(rng)
        N, v = float(rng.normal() * 10), float(rng.integers(0, 200)) / 4
        dv = mp.mpf(1) / 4 * (mp.mpf(1) / plays[0] + mp.mpf(1) / plays[1])
        with mp.workdps(40):
            after = mp.mpf(0)
            for xs in product(laws[0], repeat=plays[0]):
                for ys in product(laws[1], repeat=plays[1]):
                    q = math.prod(laws[0][x] for x in xs) * math.prod(laws[1][y] for y in ys)
                    dN = sum(xs) / plays[0] - mean(laws[0]) - (sum(ys) / plays[1] - mean(laws[1]))
                    step = mp.mpf(dN.numerator) / dN.denominator
                    weight = mp.mpf(q.numerator) / q.denominator
                    after += weight * exact_mix(N + step, v + dv, 25)
            assert after <= exact_mix(N, v, 25) * (1 + mp.mpf(10) ** -30)


# Step 4: what a survivor's gap can be.


def test_the_mixture_rises_with_the_lead_and_falls_with_the_variance():
    for v in (0.5, 10.0, 1e4, 1e9):
        scale = math.sqrt(v + 25.0)
        values = [naive.log_mix(D * scale, v, 25.0) for D in np.linspace(-6, 6, 49)]
        assert np.all(np.diff(values) > 0)
        assert all(
            naive.log_mix(D * scale, 1.1 * v, 25.0) < naive.log_mix(D * scale, v, 25.0)
            for D in (-3, 0, 1, 5)
        )


@pytest.mark.parametrize("K, r", [(2, 1), (2, 2), (2, 5), (4, 2), (100, 3)])
@pytest.mark.parametrize("first", [True, False])
def test_the_bound_falls_from_look_to_look(K, r, first):
    """c(n) / n decreases, so F may use the schedule in which nothing is dropped."""
    n, looks = 1, []
    while n < 10**12:
        looks.append(n)
        n = naive.look_after(n)
    bounds = [naive.phase_bound(n, K, 0.05, r, first=first) for n in looks[::7]]
    assert np.all(np.diff(bounds) < 0)
    assert bounds[-1] < 2e-5


@pytest.mark.parametrize("r", [1, 2, 3])
def test_two_arms_have_the_variance_of_their_sweeps(r):
    rng = np.random.default_rng(20)
    table = (rng.random((2, 200)) < 0.5).astype(float)
    race = naive.Race(2, 1e-6, leader=r)
    for n in range(1, 40):
        for a in range(2):
            k = r if a == race.leader else 1
            for _ in range(k):
                race.bets.play(a, table[a, race.bets.N[a]], 1 / k, 1 / k)
        race.bets.n = n
        race.look()
        assert math.isclose(sum(race.bets.V), n * (1 + 1 / r) + 1 - 1 / r)


def test_two_arms_without_a_leader_have_a_larger_variance():
    """Sweeps asked for before the first look have no leader: V is 2 n (Ours)."""
    bets, n, r = naive.Bets(2), 30, 2
    for _ in range(n):
        for a in range(2):
            bets.play(a, 1.0, 1.0, 1.0)
    assert sum(bets.V) == 2 * n > n * (1 + 1 / r) + 1 - 1 / r
    level = math.log(2 / 0.045)
    told = 2 * naive.root(0.25 * sum(bets.V), level, 25.0) / n
    assert naive.phase_bound(n, 2, 0.05, r) < told <= naive.phase_bound(n, 3, 0.1, r)


def test_golden_rounds():
    """The figures of the page: whole delta and r = 1, then 0.9 delta and r = 2."""
    arms = (2, 4, 10, 100)
    whole = [naive.rounds_until(0.1, K, 0.05, leader=1, share=1.0) for K in arms]
    assert whole == [4018, 9968, 29720, 399100]
    assert [naive.rounds_until(0.1, K, 0.05) for K in arms] == [4410, 12705, 33341, 411070]
    for K in (2, 4):
        t = naive.rounds_until(0.1, K, 0.05)
        assert naive.bound(t, K, 0.05) > 0.1 >= naive.bound(t + 1, K, 0.05)


def test_more_arms_or_a_smaller_delta_raise_the_bound():
    for n in (10, 1000, 10**6):
        assert naive.phase_bound(n, 3, 0.05) < naive.phase_bound(n, 4, 0.05)
        assert naive.phase_bound(n, 4, 0.05) < naive.phase_bound(n, 4, 0.01)
        assert naive.phase_bound(n, 4, 0.05, first=False) < naive.phase_bound(n, 4, 0.05)


# Missing outcomes.


def test_missing_outcomes_never_raise_the_wealth():
    """Whatever is missing, on every path: so no mechanism can, even one that knows the outcome."""
    theta, u = F(2, 5), F(3, 2)
    for plays in ((1, 1), (1, 2), (2, 1)):
        shares = u / plays[0], u / plays[1]
        values = (F(0), F(1, 3), F(1))
        for xs in product(values, repeat=plays[0]):
            for ys in product(values, repeat=plays[1]):
                whole = factor(xs, ys, theta, *shares)
                for gone in product((False, True), repeat=sum(plays)):
                    low = [F(0) if g else x for g, x in zip(gone, xs, strict=False)]
                    high = [F(1) if g else y for g, y in zip(gone[plays[0] :], ys, strict=True)]
                    assert factor(low, high, theta, *shares) <= whole
                    assert sum(low) / len(low) - sum(high) / len(high) <= (
                        sum(xs) / len(xs) - sum(ys) / len(ys)
                    )


def test_a_missing_outcome_as_one_half_breaks_the_step():
    """Two fair coins; the worse outcome of each is hidden: the mean factor exceeds 1."""
    coin = {F(0): HALF, F(1): HALF}

    def hidden(xs, ys):
        x = HALF if xs[0] == 0 else xs[0]
        y = HALF if ys[0] == 1 else ys[0]
        return factor((x,), (y,), HALF, HALF, HALF)

    assert expectation(coin, 1, coin, 1, hidden) == F(9, 8) ** 2 > 1


@pytest.mark.parametrize("seed", range(3))
def test_missing_outcomes_widen_the_bound_as_stated(seed):
    """n gap < 2 c(n) + miss_a + largest miss, whatever an adversary hides, wherever E holds."""
    rng = np.random.default_rng([21, seed])
    means = np.array([0.6, 0.5, 0.3])
    table = (rng.random((3, 4000)) < means[:, None]).astype(float)
    hide = rng.random((3, 4000)) < 0.3
    hide &= np.where(np.arange(3)[:, None] == 0, table == 1.0, table == 0.0)
    out = naive.play(lambda a, i: None if hide[a, i] else table[a, i], 3, 1500, 0.3)
    bets = out["race"].bets
    assert 0 in out["race"].active
    miss = [high - low for low, high in zip(bets.low, bets.high, strict=True)]
    c = naive.phase_bound(out["looks"][-1]["n"], 3, 0.3) * out["looks"][-1]["n"] / 2
    for a in out["race"].active:
        worst = max(miss[b] for b in out["race"].active)
        assert out["looks"][-1]["n"] * (0.6 - means[a]) < 2 * c + miss[a] + worst


# Drift.


def test_a_common_effect_of_a_sweep_changes_nothing():
    """Means of all arms move together between sweeps: each factor still has mean at most 1."""
    rng = np.random.default_rng(22)
    for _ in range(100):
        shift = fraction(rng, F(-1, 5), F(1, 5))
        worse, best = F(2, 5) + shift, F(9, 20) + shift
        theta = fraction(rng, F(1, 10), F(9, 10))
        u = fraction(rng, F(1, 50), cap(theta))
        laws = {F(0): 1 - worse, F(1): worse}, {F(0): 1 - best, F(1): best}
        for plays in ((1, 1), (2, 1), (1, 2)):
            assert mean_factor(laws[0], plays[0], laws[1], plays[1], theta, u) <= 1


def test_an_effect_that_keeps_step_with_the_sweep_drops_the_best_arm():
    """Common to all arms, but arm 1 always plays on good days: it is not enough (Ours)."""
    day = [F(-1, 5), F(1, 5)]  # of the first and of the second round of every sweep
    best, worse = HALF + day[0], F(9, 20) + day[1]
    laws = {F(0): 1 - worse, F(1): worse}, {F(0): 1 - best, F(1): best}
    assert mean_factor(laws[0], 1, laws[1], 1, HALF, HALF) > 1
    rng = np.random.default_rng(23)
    table = (rng.random((2, 1200)) < [[float(best)], [float(worse)]]).astype(float)
    out = naive.play(lambda a, i: table[a, i], 2, 600, 0.05)
    assert out["eliminated"][0] > 0  # the best arm


# Intervals.


def test_kt_is_a_martingale_on_coins():
    """KT(S, N) over p^S (1-p)^(N-S) has mean 1 at every N, in exact fractions."""
    for p in (F(1, 2), F(1, 10), F(19, 20)):
        law = {0: F(1)}  # successes: probability
        ratio = {0: F(1)}
        for N in range(12):
            new_law, new_ratio = {}, {}
            for s, q in law.items():
                hit = (s + HALF) / (N + 1)
                for x, chance, bet in ((1, p, hit / p), (0, 1 - p, (1 - hit) / (1 - p))):
                    new_law[s + x] = new_law.get(s + x, F(0)) + q * chance
                    new_ratio[s + x] = ratio[s] * bet
            law, ratio = new_law, new_ratio
            assert sum(law[s] * ratio[s] for s in law) == 1
            for s in ratio:
                logs = math.log(ratio[s]) + s * math.log(p) + (N + 1 - s) * math.log(1 - p)
                assert math.isclose(logs, naive.log_kt(s, N + 1), abs_tol=1e-9)


def test_kt_is_a_supermartingale_on_other_rewards():
    """One more reward of a two-point law of mean p, from any sum: E of the ratio <= 1."""
    rng = np.random.default_rng(24)
    for _ in range(200):
        law = two_point(rng)
        p = float(mean(law))
        if not 0 < p < 1:
            continue
        N = int(rng.integers(0, 30))
        S = float(rng.random() * N)
        gain = 0.0
        for x, q in law.items():
            x = float(x)
            rise = naive.log_kt(S + x, N + 1) - naive.log_kt(S, N)
            gain += float(q) * math.exp(rise - x * math.log(p) - (1 - x) * math.log1p(-p))
        assert gain <= 1 + 1e-9


@pytest.mark.parametrize("p", [0.5, 0.9, 0.02])
def test_kt_misses_no_more_often_than_its_share(p):
    """P(some interval of 400 plays misses), exactly, is below the share and not empty."""
    share, alive = 0.2, np.array([1.0])
    for N in range(1, 401):
        alive = np.append((1 - p) * alive, 0.0) + np.append(0.0, p * alive)
        s = np.arange(N + 1)
        logs = np.array([naive.log_kt(k, N) for k in s])
        alive[logs - s * math.log(p) - (N - s) * math.log1p(-p) > math.log(1 / share)] = 0.0
    assert 0.2 * share < 1 - alive.sum() <= share


def test_the_ends_of_an_interval_rise_with_the_sum():
    """So missing outcomes as 0 below and as 1 above enclose what the whole sums would say."""
    for N in (1, 7, 60):
        ends = np.array([naive.interval(S, S, N, 3, 0.01) for S in np.linspace(0, N, 41)])
        assert np.all(np.diff(ends, axis=0) >= -1e-12)


# Ville, exactly: two arms, every path.


@pytest.mark.parametrize("r", [1, 2])
@pytest.mark.parametrize("means", [(0.5, 0.3), (0.9, 0.8)])
def test_paths_are_those_of_the_naive_twin(r, means):
    """Wealth, theta and drops at every look of random paths: the probabilities are of the rule."""
    rng = np.random.default_rng([25, r])
    for _ in range(40):
        table = (rng.random((2, 40)) < np.array(means)[:, None]).astype(float)
        out = naive.play(told_by(table), 2, exact.rounds_of(10, r), 0.9, r)
        paths, drops = exact.start(), None
        for n, look in enumerate(out["looks"]):
            plays = [r if a == paths.leader[0] else 1 for a in range(2)]
            begin = paths.N[0].astype(int)
            sums = [int(table[a, begin[a] : begin[a] + plays[a]].sum()) for a in range(2)]
            paths = paths.after(n, plays, sums, means)
            falls = paths.look(1 / (0.9 * 0.9))
            (other,) = look["log_wealth"]
            assert (paths.leader[0], paths.theta[0]) == (look["leader"], look["theta"])
            found = math.log(paths.wealth(1 - other, other)[0])
            assert math.isclose(found, look["log_wealth"][other], abs_tol=1e-10)
            if falls[0][0] or falls[1][0]:
                drops = (n + 1, int(falls[1][0]))
        gone = [a for a in range(2) if out["eliminated"][a]]
        assert drops == ((len(out["looks"]), gone[0]) if gone else None)


@pytest.mark.parametrize("delta", [0.95, 0.5, 0.2])
@pytest.mark.parametrize("r, sweeps", [(1, 8), (2, 6)])
def test_the_best_arm_is_dropped_with_probability_at_most_delta(delta, r, sweeps):
    """Of two arms, over all paths; ties are worst and use up a good part of delta."""
    worst = max(
        exact.dropped_by(sweeps, delta, r, means)[-1, 0]
        for means in ((0.5, 0.5), (0.5, 0.49), (0.9, 0.9), (0.1, 0.1), (0.3, 0.1))
    )
    assert worst <= 0.9 * delta
    if delta == 0.95:
        assert worst > 0.35


def test_a_lower_threshold_would_show():
    """With a third of the threshold the best arm is lost more often than delta allows."""
    lost = exact.dropped_by(8, min(3 * 0.31, 0.99), 1, (0.5, 0.5))[-1].sum()
    assert lost > 0.31


# And the package does what was enumerated.


@pytest.mark.parametrize("engine", ["rounds", "skip"])
@pytest.mark.parametrize(
    "delta, r, means", [(0.95, 1, (0.5, 0.5)), (0.95, 2, (0.5, 0.3)), (0.5, 2, (0.8, 0.7))]
)
def test_simulated_drops_are_as_frequent_as_enumerated(delta, r, means, engine):
    """Two-sided, at every look, for both arms: each count within its exact 1e-5 quantiles."""
    sweeps, M = 7, 5_000
    table = exact.dropped_by(sweeps, delta, r, means)
    horizon = exact.rounds_of(sweeps, r)
    learner = uli.BettingElimination(delta=delta, leader=r)
    runs = uli.simulate(learner, uli.BernoulliBandit(list(means)), horizon, M, 26, engine=engine)
    assert table[-1].max() > 0.05
    for n in range(1, sweeps + 1):
        for a in range(2):
            fell = runs.eliminated_at[:, a]
            count = int(((fell > 0) & (fell <= exact.rounds_of(n, r))).sum())
            low, high = binom.ppf([0.5e-5, 1 - 0.5e-5], M, table[n - 1, a])
            assert low <= count <= high, (n, a, count, M * table[n - 1, a])


@pytest.mark.parametrize("K, r", [(2, 1), (2, 2), (4, 2), (10, 3)])
def test_the_guarantee_is_the_naive_table(K, r):
    promise = uli.BettingElimination(delta=0.05, leader=r).guarantee(K)
    for eps in (0.3, 0.1, 0.03):
        assert promise.rounds_until(eps) == naive.rounds_until(eps, K, 0.05, r)
    for t in (1, 5, 40, 1000, 10**5, 10**9):
        assert math.isclose(promise.bound(t), naive.bound(t, K, 0.05, r), rel_tol=1e-9)


def test_the_page_names_tests_that_exist():
    root = Path(__file__).parent.parent.parent
    written = {
        name
        for file in ("test_betting.py", "test_betting_plan.py")
        for name in re.findall(r"^def (test_\w+)", (root / "tests/theory" / file).read_text(), re.M)
    }
    page = (root / "docs/proofs.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 20 and named <= written
