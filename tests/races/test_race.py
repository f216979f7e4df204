"""Races: paired betting, its proof step by step, and what the caller sees.

The steps of docs/proofs_race.md are named in the tests that check them.
"""

import io
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import uli_fast as uli
from tests.naive import race as naive
from uli_fast.errors import ArgumentError, RewardRangeError
from uli_fast.formulas.mixture import log_mix, outer_boundary
from uli_fast.kernels import race as kernel
from uli_fast.kernels.betting.mean_intervals import log_evidence, mean_interval
from uli_fast.races.running import shuffled
from uli_fast.races.verdict import levels

F = Fraction
ABILITIES = np.array([1.2, 0.9, 0.8, 0.6, 0.5, 0.3, 0.0, -0.5])


def table_of(rng, abilities, n, spread):
    """Scores 0 and 1 of candidates on items whose difficulty is common to all."""
    items = rng.normal(0.0, spread, n)
    chance = 1.0 / (1.0 + np.exp(items[:, None] - abilities[None]))
    return (rng.random(chance.shape) < chance).astype(float)


def played(scores, N, delta, batch=1, eps=-1.0):
    dropped = np.zeros(scores.shape[1], np.int64)
    level = levels(scores.shape[1], delta)[0]
    return kernel.settle(scores, N, batch, level, eps, dropped), dropped


def state_after(scores, N):
    state = kernel.new_race(scores.shape[1])
    kernel.feed(state, scores, scores, N)
    return state


# The proof, by exact enumeration.


def laws_on_pairs(rng):
    """Yield random joint laws of (x_j, x_a), in fractions, with E x_j <= E x_a."""
    points = F(0), F(1, 3), F(1)
    pairs = list(itertools.product(points, points))
    while True:
        raw = [F(int(rng.integers(0, 20))) for _ in pairs]
        if sum(raw) == 0:
            continue
        law = [(p / sum(raw), x, y) for p, (x, y) in zip(raw, pairs, strict=True)]
        mean = sum(p * (x - y) for p, x, y in law)
        yield law if mean <= 0 else [(p, y, x) for p, x, y in law]


def test_step_1_a_factor_has_mean_at_most_1_whatever_the_dependence():
    rng = np.random.default_rng(1)
    laws = list(itertools.islice(laws_on_pairs(rng), 300))
    laws += [[(F(1, 2), F(0), F(1)), (F(1, 2), F(1), F(0))]]  # x_j = 1 - x_a
    for law in laws:
        for u in (F(1, 1000), F(1, 2), F(99, 100)):
            assert sum(p * naive.factor(u, x, y, [], 0) for p, x, y in law) <= 1


def test_the_independent_form_is_invalid_on_dependent_scores():
    """x_j = 1 - x_a, u = 1: its factor (1 + (x_j - 1/2) u)(1 - (x_a - 1/2) u) and its mixture."""
    law = [(F(1, 2), F(0), F(1)), (F(1, 2), F(1), F(0))]
    half = F(1, 2)
    product = sum(p * (1 + (x - half)) * (1 - (y - half)) for p, x, y in law)
    assert product == F(5, 4)
    # The variance proxy of independent scores, 1/4 + 1/4, instead of 1.
    mean = sum(float(p) * math.exp(float(x - y) - 0.5 * 0.5) for p, x, y in law)
    assert mean == pytest.approx(1.2018, abs=1e-4)
    assert sum(float(p) * math.exp(float(x - y) - 0.5) for p, x, y in law) < 1.0


@pytest.mark.parametrize("N", [2, 3, 4, 5])
def test_step_2_what_is_left_of_a_list_has_its_mean_bounded(N):
    """Every prefix of every order: mean of the factor over what may come next is at most 1."""
    rng = np.random.default_rng(N)
    lists = [[F(-1), *[F(1, N - 1)] * (N - 1)], [F(-1), F(1), *[F(0)] * (N - 2)]]
    for _ in range(20):
        d = [F(int(rng.integers(-4, 5)), 4) for _ in range(N)]
        lists.append(d if sum(d) <= 0 else [-x for x in d])
    for d in lists:
        for n in range(N):
            for drawn in itertools.permutations(range(N), n):
                past, rest = [d[i] for i in drawn], [d[i] for i in range(N) if i not in drawn]
                for u in (F(1, 10), F(99, 100)):
                    factors = [naive.factor(u, x, 0, past, N) for x in rest]
                    assert min(factors) > 0
                    assert sum(factors) <= len(rest)


def test_without_the_correction_a_list_would_cheat():
    """Two instances, differences 1 and -1: stop after a win, go on after a loss."""
    u = F(1, 2)
    stopped = F(1, 2) * (1 + u) + F(1, 2) * (1 - u) * (1 + u)
    assert stopped == F(9, 8)
    corrected = F(1, 2) * naive.factor(u, 1, 0, [], 2)
    corrected += F(1, 2) * naive.factor(u, 0, 1, [], 2) * naive.factor(u, 1, 0, [-1], 2)
    assert corrected <= 1


@pytest.mark.parametrize("N", [3, 5])
def test_step_3_the_kernels_wealth_is_a_supermartingale_on_a_list(N):
    """Its mean over what may come next is at most what it is, after every prefix of every order."""
    rng = np.random.default_rng(10 + N)
    tables = [np.array([[0, 1], *[[1, 1 - 1 / (N - 1)]] * (N - 1)])]
    for _ in range(6):
        X = rng.integers(0, 3, (N, 2)) / 2.0
        tables.append(X if X[:, 0].sum() <= X[:, 1].sum() else X[:, ::-1].copy())
    for X in tables:
        for n in range(N - 1):
            for drawn in itertools.permutations(range(N), n):
                now = math.exp(kernel.log_wealth(state_after(X[list(drawn)], N), 0, 1, N))
                later = [
                    math.exp(kernel.log_wealth(state_after(X[[*drawn, i]], N), 0, 1, N))
                    for i in range(N)
                    if i not in drawn
                ]
                assert np.mean(later) <= now * (1 + 1e-12)


def test_step_3_and_in_a_population():
    laws = list(itertools.islice(laws_on_pairs(np.random.default_rng(3)), 20))
    laws += [[(F(1, 2), F(0), F(1)), (F(1, 2), F(1), F(0))]]  # x_j = 1 - x_a
    for law in laws:
        for past in itertools.product([(0.0, 1.0), (1.0, 0.0), (0.5, 0.5)], repeat=3):
            X = np.array(past)
            now = math.exp(kernel.log_wealth(state_after(X, 0), 0, 1, 0))
            later = sum(
                float(p)
                * math.exp(
                    kernel.log_wealth(state_after(np.vstack([X, [float(x), float(y)]]), 0), 0, 1, 0)
                )
                for p, x, y in law
                if p
            )
            assert later <= now * (1 + 1e-12)


def test_step_4_scaled_sums_of_a_list_are_a_martingale():
    rng = np.random.default_rng(4)
    for N in (3, 5):
        d = [F(int(rng.integers(-4, 5)), 4) for _ in range(N)]
        gap = sum(d) / N
        for n in range(N - 1):
            for drawn in itertools.permutations(range(N), n):
                S, rest = sum(d[i] for i in drawn), [i for i in range(N) if i not in drawn]
                now = (S - n * gap) / (N - n)
                later = [(S + d[i] - (n + 1) * gap) / (N - n - 1) for i in rest]
                assert sum(later) == now * len(rest)


def test_step_5_on_every_order_of_a_list_the_best_is_lost_at_most_as_often_as_allowed():
    """All 8! / (a! b! c!) orders of near-tied lists, exactly."""
    N, delta = 8, 0.9
    worst = F(0)
    for plus, minus in ((1, 1), (2, 2), (2, 3), (3, 3), (3, 4)):
        kinds = [(1.0, 0.0)] * plus + [(0.0, 1.0)] * minus + [(1.0, 1.0)] * (N - plus - minus)
        lost = orders = 0
        for order in set(itertools.permutations(kinds)):
            orders += 1
            state, _ = played(np.array(order), N, delta)
            lost += not state.active[1]  # it is a best one, ties included
        worst = max(worst, F(lost, orders))
    assert F(1, 10) < worst <= F(9, 10) * F(9, 10)


def test_a_tie_on_the_list_keeps_both():
    X = np.array([[1.0, 0.0], [0.0, 1.0]] * 10)
    state, _ = played(X, 20, 0.05)
    assert state.active.all()


# Against the naive twin.


@pytest.mark.parametrize("about", ["list", "population"])
@pytest.mark.parametrize("seed", range(6))
def test_equals_naive_decision_by_decision(about, seed):
    rng = np.random.default_rng(seed)
    K, n = int(rng.integers(2, 5)), int(rng.integers(30, 90))
    X = table_of(rng, np.linspace(1.5, -2.5, K), n, 1.0)
    if seed % 2:
        X = np.clip(X * 0.8 + 0.2 * rng.random(X.shape), 0.0, 1.0)
    N, batch = (n if about == "list" else 0), int(rng.integers(1, 6))
    lost = rng.random(X.shape) < 0.05 * (seed % 3)
    lo, hi = np.where(lost, 0.0, X), np.where(lost, 1.0, X)
    expected, left = naive.race(lo.tolist(), hi.tolist(), 0.2, N, batch)

    def evaluate(a, i):
        if lost[i, a]:
            raise ValueError("gone")
        return X[i, a]

    order = shuffled(n, 7)
    X, lost = X[np.argsort(order)], lost[np.argsort(order)]  # so that row i comes as number i
    names = [f"c{a}" for a in range(K)]
    race = uli.race(
        list(zip(names, range(K), strict=True)),
        evaluate,
        range(n),
        0.2,
        batch=batch,
        about=about,
        seed=7,
    )
    found = {names.index(x.name): x.dropped_at for x in race.ranking if x.dropped_at is not None}
    assert found == expected
    assert {names.index(x) for x in race.active} == set(left)


@pytest.mark.parametrize("N", [0, 50])
def test_gap_bound_equals_naive(N):
    X = table_of(np.random.default_rng(8), np.array([0.5, 0.3, 0.1]), 50, 1.0)
    for n in (1, 10, 49, 50):
        state = state_after(X[:n], N)
        found = kernel.gap_bound(state, levels(3, 0.1)[0], N)
        expected = naive.gap_bound(X[:n].tolist(), X[:n].tolist(), [0, 1, 2], 0.1, 3, N)
        assert found == pytest.approx(expected, rel=1e-8)


# What is promised.


def failures(N, delta, runs, abilities, spread, n=300):
    """Count races that lose the best, or leave somebody beyond the bound at a look."""
    lost = beyond = 0
    means = population_means(abilities, spread)
    for seed in range(runs):
        rng = np.random.default_rng([seed, 5])
        X = table_of(rng, abilities, n, spread)
        means = X.mean(axis=0) if N else means
        gaps = means.max() - means
        state, _ = played(X, N, delta, eps=0.15)
        lost += not state.active[gaps == 0.0].any()
        bound = kernel.gap_bound(state, levels(X.shape[1], delta)[0], N)
        beyond += bool((gaps[state.active] > bound + 1e-12).any())
    return lost, beyond


def population_means(abilities, spread):
    from scipy.special import expit

    x, w = np.polynomial.hermite_e.hermegauss(60)
    return (w[None] * expit(abilities[:, None] - spread * x[None])).sum(1) / w.sum()


@pytest.mark.parametrize("spread", [0.0, 3.0])
@pytest.mark.parametrize("N", [0, 300])
def test_failures_stay_within_delta(N, spread):
    from scipy.stats import binom

    runs, delta = 1500, 0.3
    lost, beyond = failures(N, delta, runs, np.array([0.5, 0.45, 0.4]), spread)
    most = binom.ppf(0.999, runs, delta)
    assert lost <= most and beyond <= most


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 1.5, 3.0])
@pytest.mark.parametrize("N", [0, 600])
def test_failures_stay_within_delta_over_thousands_of_races(N, spread):
    from scipy.stats import binom

    runs, delta = 5000, 0.3
    abilities = np.array([0.5, 0.48, 0.46, 0.0])
    lost, beyond = failures(N, delta, runs, abilities, spread, n=600)
    most = binom.ppf(0.999, runs, delta)
    assert lost <= most and beyond <= most


def test_losing_the_best_is_not_rare_enough_to_hide_a_mistake():
    """A near-tie in a population: some races do lose the best, as delta allows."""
    lost, _ = failures(0, 0.5, 400, np.array([0.0, -0.02]), 0.0, n=1500)
    assert 0.02 * 400 <= lost <= 0.5 * 400


@pytest.mark.parametrize("N", [0, 60])
def test_intervals_miss_the_mean_at_most_as_often_as_allowed(N):
    """At every look of a sequence, at a share so large that a mistake would show."""
    share, missed, runs = 0.3, 0, 1000
    for seed in range(runs):
        rng = np.random.default_rng([seed, 6])
        x = (rng.random(60) < 0.3).astype(float)
        if seed % 2:
            x = 0.5 * x + 0.5 * rng.random(60) * (1 - x)
        p = x.mean() if N else (0.3 if seed % 2 == 0 else 0.3 * 0.5 + 0.7 * 0.25)
        level = -math.log(share)
        missed += any(log_evidence(x[:n], p, N) >= level for n in range(1, 60))
    assert 0.02 * runs <= missed <= share * runs


def test_an_interval_is_what_the_evidence_leaves():
    rng = np.random.default_rng(0)
    for N in (0, 80):
        for x in ((rng.random(40) < 0.8).astype(float), rng.random(40), np.zeros(40)):
            low, high = mean_interval(x, 3.0, N)
            least, most = (x.sum() / N, (x.sum() + N - 40) / N) if N else (0.0, 1.0)
            grid = np.linspace(least, most, 2001)[1:-1]
            inside = [log_evidence(x, p, N) < 3.0 for p in grid]
            assert [low <= p <= high for p in grid] == inside or sum(
                (low <= p <= high) != q for p, q in zip(grid, inside, strict=True)
            ) <= 1
    low, high = mean_interval(np.ones(10), 3.0, 10)
    assert low == pytest.approx(1.0, abs=1e-14) and high == 1.0


def test_binary_scores_of_a_list_give_the_hypergeometric_beta_binomial_interval():
    """KT against T(T-1).. (N-T).. / N(N-1)..: the martingale of Waudby-Smith and Ramdas."""
    from math import lgamma

    x, N, T = np.array([1.0, 0, 1, 1, 0, 1]), 12, 7
    s, n = int(x.sum()), x.size
    kt = lgamma(s + 0.5) + lgamma(n - s + 0.5) - lgamma(n + 1.0) - 2 * lgamma(0.5)
    falling = sum(math.log(T - i) for i in range(s)) + sum(math.log(N - T - i) for i in range(2))
    falling -= sum(math.log(N - i) for i in range(n))
    assert log_evidence(x, T / N, N) == pytest.approx(kt - falling, abs=1e-12)


def test_everything_on_the_list_makes_the_verdict_exact():
    X = table_of(np.random.default_rng(3), np.array([0.2, 0.19, 0.18]), 40, 1.0)
    race = uli.race({"a": 0, "b": 1, "c": 2}, lambda a, i: X[i, a], range(40), 1e-6, seed=1)
    best = X.mean(axis=0).max()
    assert {"abc".index(x) for x in race.active} == set(np.flatnonzero(X.mean(axis=0) == best))
    assert race.certificate.bound == 0.0
    for x in race.ranking:
        if x.evaluations == 40:
            assert x.low == pytest.approx(x.mean) == x.high


def test_at_the_end_of_a_list_what_is_said_of_exact_means_allows_for_rounding():
    scores = {"a": 0.5, "b": 0.5 + 4e-10, "c": 0.1}
    race = uli.race(scores, lambda x, i: x, range(50), seed=1)
    assert set(race.active) == {"a", "b"} and race.instances == 50
    gap = F(scores["b"]) - F(scores["a"])
    assert gap <= F(race.certificate.envelope) <= F(2, 10**9)
    assert gap <= F(race.certificate.bound) <= F(race.certificate.envelope)
    rng = np.random.default_rng(7)
    for size in (3, 50, 1000):
        x = rng.random(size)
        mean = sum(map(F, x.tolist())) / size
        ends = mean_interval(x, 3.0, size)
        assert F(ends[0]) <= mean <= F(ends[1]) and ends[1] - ends[0] < 1e-12
    several = uli.race(["a", "b"], lambda c, i: 0.1, range(60), seed=1)
    assert several["a"].low < several["a"].mean < several["a"].high


def test_constants_are_those_of_betting_elimination():
    dropping, single = levels(5, 0.05)
    assert dropping == pytest.approx(math.log(4 / (0.9 * 0.05)), abs=1e-13)
    assert single == pytest.approx(math.log(2 * 5 / (0.1 * 0.05)), abs=1e-13)
    assert all(map(math.isfinite, levels(1000, 5e-324)))


def test_how_far_sums_may_drift_is_the_root_of_the_mixture_from_above():
    for v in (0.0, 1.0, 50.0, 1e6, 1e15):
        for level in (1e-3, 1.0, 6.0, 50.0, 750.0):
            for rho in (25.0, 100.0):
                found = outer_boundary(v, level, rho)
                assert log_mix(found, v, rho) >= level
                assert log_mix(found * (1.0 - 1e-9), v, rho) < level


def test_rounding_of_long_lists_is_more_than_a_billionth():
    n = 10**8
    assert kernel.tied(50) == 50 * 1e-9
    assert kernel.tied(n) >= 2 * n * n * 2.0**-53


def test_probabilities_are_not_rounded_to_certainty(tmp_path):
    race = uli.race(["a", "b"], lambda c, i: float(c == "a"), range(200), 1e-20, seed=1)
    race.report(tmp_path / "race.html")
    page = (tmp_path / "race.html").read_text(encoding="utf-8")
    for said in (repr(race), race.table().caption.plain, page):
        assert "with probability 1 - 1e-20" in said


def test_one_that_is_left_is_the_best_and_nobody_is_within_nothing():
    race = uli.race(["a", "b"], lambda c, i: float(c == "a"), range(200), seed=1)
    caption = race.table().caption.plain
    assert "with probability 0.95 a is the best" in caption and "within" not in caption
    even = uli.race(["a", "b"], lambda c, i: 0.5, range(20), seed=1).table().caption.plain
    assert "a leads; it and 1 more are equal" in even


def test_evaluate_that_returns_none_is_told_what_to_return():
    with pytest.raises(ArgumentError, match=r"evaluate: returned None,.* must return a number"):
        uli.race(["a", "b"], lambda c, i: None, range(200), seed=1)


def test_eps_is_certified():
    X = table_of(np.random.default_rng(4), np.array([1.0, 0.98, -1.0]), 3000, 0.0)
    full = uli.race(["a", "b", "c"], lambda c, i: X[i, "abc".index(c)], range(3000), seed=2)
    race = uli.race(
        ["a", "b", "c"], lambda c, i: X[i, "abc".index(c)], range(3000), eps=0.2, seed=2
    )
    assert race.stopped == "all left within eps" and 0.0 < race.certificate.bound <= 0.2
    assert race.instances < full.instances and set(race.active) == {"a", "b"}
    assert race.certificate.bound <= race.certificate.envelope


def test_paired_is_sharper_than_unpaired_where_items_differ():
    """The same kernel on common items, and on items of everybody's own."""
    made = {True: 0, False: 0}
    for seed in range(12):
        for paired in made:
            rng = np.random.default_rng([seed, 9])
            items = rng.normal(0.0, 3.0, (4000, 8 if not paired else 1))
            chance = 1.0 / (1.0 + np.exp(items - ABILITIES[None]))
            X = (rng.random(chance.shape) < chance).astype(float)
            state, dropped = played(X, 0, 0.05)
            made[paired] += int(np.where(dropped > 0, dropped, state.n[0]).sum())
    assert made[True] < 0.8 * made[False]


# Scores that do not come.


def test_missing_scores_never_lose_the_best():
    """The adversary takes away the scores that speak for the best, as many as it likes."""
    for seed in range(100):
        rng = np.random.default_rng([seed, 2])
        X = table_of(rng, np.array([0.0, 0.4]), 200, 1.0)
        taken = (X[:, 1] > X[:, 0]) & (rng.random(200) < 0.7)
        lo, hi = X.copy(), X.copy()
        lo[taken, 1], hi[taken, 1] = 0.0, 1.0
        state = kernel.new_race(2)
        for i in range(200):
            kernel.feed(state, lo[i : i + 1], hi[i : i + 1], 200)
            kernel.look(state, levels(2, 0.05)[0], 200)
            gap = abs(X[:, 1].mean() - X[:, 0].mean())
            bound = kernel.gap_bound(state, levels(2, 0.05)[0], 200)
            if state.active.all():
                assert gap <= bound + 1e-12
        assert state.active[X.mean(axis=0).argmax()]


@pytest.mark.parametrize("N", [0, 40])
def test_whatever_is_missing_the_wealth_is_at_most_that_of_the_true_scores(N):
    """Row by row and however it is chosen, by what comes later too: at its worst it loses."""
    rng = np.random.default_rng(N)
    for _ in range(60):
        X = rng.choice([0.0, 0.3, 1.0], (40, 2), p=rng.dirichlet(np.ones(3)))
        share = rng.random(2)  # of what speaks for each of them
        gone = rng.random(X.shape) < np.where(X > X[:, ::-1], share, 0.1)
        lo, hi = np.where(gone, 0.0, X), np.where(gone, 1.0, X)
        true, worst = kernel.new_race(2), kernel.new_race(2)
        for i in range(40):
            kernel.feed(true, X[i : i + 1], X[i : i + 1], N)
            kernel.feed(worst, lo[i : i + 1], hi[i : i + 1], N)
            for j, a in itertools.permutations(range(2)):
                best = kernel.log_wealth(true, j, a, N)
                assert kernel.log_wealth(worst, j, a, N) <= best + 1e-12 * abs(best)


def test_reasons_are_kept_and_intervals_widen():
    def evaluate(c, i):
        if i % 7 == 3 and c == "b":
            raise TimeoutError("too slow")
        return None if i == 5 and c == "a" else 0.5

    race = uli.race(["a", "b"], evaluate, range(50), seed=0)
    assert {x.reason for x in race.missing if x.candidate == "b"} == {"TimeoutError: too slow"}
    assert {x.instance for x in race.missing if x.candidate == "b"} == {3, 10, 17, 24, 31, 38, 45}
    assert next(x for x in race.missing if x.candidate == "a").reason == "evaluate returned None"
    assert race["b"].missing == 7 and race["b"].low <= 0.5 * 43 / 50
    assert race["b"].high >= (0.5 * 43 + 7) / 50
    assert math.isinf(race.certificate.envelope)
    assert any("missing" in x for x in race.certificate.assumes)
    # At their worst, b has (25.5 - 21.5) / 50 less than a, or a has (28.5 - 24.5) / 50 less.
    assert race.certificate.bound == pytest.approx(4 / 50)


def text(table):
    from rich.console import Console

    console = Console(width=160, record=True, file=io.StringIO())
    console.print(table)
    return console.export_text()


def test_whatever_says_what_came_out_says_how_many_scores_are_missing(tmp_path):
    def evaluate(c, i):
        return None if c == "b" and i % 3 == 0 else 0.5

    race = uli.race(["a", "b", "c"], evaluate, range(30), seed=1)
    page = race.report(tmp_path / "race.html").read_text(encoding="utf-8")
    for said in (repr(race), race.verdict(), text(race.table()), race._repr_html_(), page):
        assert "(10 of 90 scores missing)" in said
    assert "90 evaluations of 90, 10 of them without a score: 0 % saved" in text(race.table())
    whole = uli.race(["a", "b", "c"], lambda c, i: 0.5, range(30), seed=1)
    assert "missing" not in repr(whole) + text(whole.table())


def test_those_left_at_the_end_of_a_list_are_equal():
    race = uli.race(["a", "b", "c"], lambda c, i: 0.1 * i, range(3), seed=1)
    assert 0.0 < race.certificate.bound < 1e-15
    said = "a leads; it and 2 more are equal on this list, up to rounding"
    assert race.verdict() == said and said in text(race.table())
    early = uli.race(["a", "b"], lambda c, i: 0.5, range(300), eps=0.5, seed=1)
    assert early.instances < 300 and "more are within 0." in early.verdict()


def test_an_evaluate_that_never_works_is_an_error():
    with pytest.raises(ArgumentError, match="ZeroDivisionError") as problem:
        uli.race(["a", "b"], lambda c, i: 1 / 0, range(100))
    assert problem.value.argument == "evaluate"


# What the caller sees.


def test_n_jobs_batched_and_single_calls_agree():
    X = table_of(np.random.default_rng(11), ABILITIES[:4], 400, 1.0)
    names = list("abcd")

    def one(c, i):
        return X[i, names.index(c)]

    def many(c, items):
        return [one(c, i) for i in items]

    base = uli.race(names, one, range(400), seed=5, batch=10)
    for other in (
        uli.race(names, one, range(400), seed=5, batch=10, n_jobs=3),
        uli.race(names, many, range(400), seed=5, batch=10, batched=True),
        uli.race(names, many, range(400), seed=5, batch=10, batched=True, n_jobs=2),
    ):
        assert other.ranking == base.ranking and other.certificate == base.certificate
        assert np.array_equal(other.order, base.order)
        assert np.array_equal(other.scores, base.scores, equal_nan=True)


def test_scores_in_other_units():
    X = table_of(np.random.default_rng(12), ABILITIES[:3], 300, 1.0)
    unit = uli.race(["a", "b", "c"], lambda c, i: X[i, "abc".index(c)], range(300), seed=5)
    ten = uli.race(
        ["a", "b", "c"],
        lambda c, i: 20.0 * X[i, "abc".index(c)] - 10.0,
        range(300),
        seed=5,
        low=-10,
        high=10,
    )
    for x, y in zip(unit.ranking, ten.ranking, strict=True):
        assert (x.name, x.dropped_at) == (y.name, y.dropped_at)
        assert y.low == pytest.approx(20.0 * x.low - 10.0)
    assert ten.certificate.bound == pytest.approx(20.0 * unit.certificate.bound)


def test_counts_and_words(tmp_path):
    X = table_of(np.random.default_rng(13), ABILITIES[[0, 4, 7]], 500, 1.0)
    race = uli.race({"x": 0, "y <b>": 1, "z": 2}, lambda a, i: X[i, a], range(500), seed=1)
    assert race.best == "x" and race.active == ("x",) and race.stopped == "one left"
    assert race.full == 1500 == race.evaluations + race.saved
    assert race.evaluations == sum(x.evaluations for x in race.ranking)
    assert race.evaluations == int(np.isfinite(race.scores).sum())
    dropped = race.ranking[1:]
    assert [x.dropped_at for x in dropped] == sorted((x.dropped_at for x in dropped), reverse=True)
    assert dropped[0].dropped_after == race.evaluations
    assert "x is the best" in repr(race) and "1500" in repr(race)
    assert race.to_pandas()["name"].tolist() == [x.name for x in race.ranking]
    assert race.to_pandas()["dropped_at"].isna().tolist() == [True, False, False]
    from rich.console import Console

    console = Console(width=100, record=True, file=(tmp_path / "t").open("w"))
    console.print(race.table())
    console.file.close()
    assert "% saved" in console.export_text()
    race.plot(tmp_path / "race.png")
    race.report(tmp_path / "race.html")
    page = (tmp_path / "race.html").read_text(encoding="utf-8")
    assert "x is the best" in page and "<b>" not in page and "y &lt;b&gt;" in page
    assert "<script" not in page and "http://" not in page.replace("http://www.w3.org", "")
    assert all(x in page.replace("&#39;", "'") for x in race.certificate.assumes[:2])


def test_assumptions_are_those_of_what_is_compared():
    scores = {"a": 1.0, "b": 0.0}
    of_list = uli.race(scores, lambda c, i: c, range(60))
    of_all = uli.race(scores, lambda c, i: c, range(60), about="population")
    assert any("these 60 instances" in x for x in of_list.certificate.assumes)
    assert any("independent draws" in x for x in of_all.certificate.assumes)
    assert not any("independent draws" in x for x in of_list.certificate.assumes)


def good(c, i):
    return 0.5


def frame():
    import pandas as pd

    return pd.DataFrame({"question": ["x", "y"]})


CASES = {
    "one candidate": (lambda: uli.race(["a"], good, range(9)), "candidates"),
    "no candidates": (lambda: uli.race({}, good, range(9)), "candidates"),
    "same names": (lambda: uli.race(["a", "b", "a"], good, range(9)), "candidates"),
    "same names of pairs": (lambda: uli.race([("a", 1), ("a", 2)], good, [1]), "candidates"),
    "blank name": (lambda: uli.race(["a", " "], good, range(9)), "candidates"),
    "names that are numbers": (lambda: uli.race({1: 2, 3: 4}, good, range(9)), "candidates"),
    "unnamed candidates": (lambda: uli.race([1, 2], good, range(9)), "candidates"),
    "text": (lambda: uli.race("ab", good, range(9)), "candidates"),
    "no instances": (lambda: uli.race(["a", "b"], good, []), "instances"),
    "instances a number": (lambda: uli.race(["a", "b"], good, 9), "instances"),
    "instances a text": (lambda: uli.race(["a", "b"], good, "xyz"), "instances"),
    "a set of names": (lambda: uli.race({"a", "b"}, good, range(9)), "candidates"),
    "a data frame": (lambda: uli.race(["a", "b"], good, frame()), "instances"),
    "delta 0": (lambda: uli.race(["a", "b"], good, range(9), 0.0), "delta"),
    "delta 1": (lambda: uli.race(["a", "b"], good, range(9), 1.0), "delta"),
    "eps 0": (lambda: uli.race(["a", "b"], good, range(9), eps=0.0), "eps"),
    "eps below 0": (lambda: uli.race(["a", "b"], good, range(9), eps=-0.1), "eps"),
    "eps NaN": (lambda: uli.race(["a", "b"], good, range(9), eps=math.nan), "eps"),
    "eps of the range": (lambda: uli.race(["a", "b"], good, range(9), eps=1.0), "eps"),
    "eps of another range": (
        lambda: uli.race(["a", "b"], good, range(9), eps=20.0, low=-10.0, high=10.0),
        "eps",
    ),
    "one instance as an array": (lambda: uli.race(["a", "b"], good, np.array(5)), "instances"),
    "too many scores": (
        lambda: uli.race([str(i) for i in range(100)], good, range(2 * 10**6 + 1)),
        "instances",
    ),
    "batched a text": (lambda: uli.race(["a", "b"], good, range(9), batched="yes"), "batched"),
    "batched a number": (lambda: uli.race(["a", "b"], good, range(9), batched=1), "batched"),
    "batch 0": (lambda: uli.race(["a", "b"], good, range(9), batch=0), "batch"),
    "n_jobs 0": (lambda: uli.race(["a", "b"], good, range(9), n_jobs=0), "n_jobs"),
    "about": (lambda: uli.race(["a", "b"], good, range(9), about="all"), "about"),
    "low above high": (lambda: uli.race(["a", "b"], good, range(9), low=2), "high"),
    "seed": (lambda: uli.race(["a", "b"], good, range(9), seed=-1), "seed"),
    "not a function": (lambda: uli.race(["a", "b"], 3, range(9)), "evaluate"),
    "NaN": (lambda: uli.race(["a", "b"], lambda c, i: math.nan, range(9)), "evaluate"),
    "out of range": (lambda: uli.race(["a", "b"], lambda c, i: 1.5, range(9)), "evaluate"),
    "text score": (lambda: uli.race(["a", "b"], lambda c, i: "1", range(9)), "evaluate"),
    "too few scores": (
        lambda: uli.race(["a", "b"], lambda c, i: [], range(9), batched=True),
        "evaluate",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_names_the_argument(case):
    call, argument = CASES[case]
    with pytest.raises(ArgumentError) as problem:
        call()
    assert problem.value.argument == argument


def test_a_score_out_of_range_has_its_own_error():
    with pytest.raises(RewardRangeError):
        uli.race(["a", "b"], lambda c, i: 2.0, range(9), n_jobs=2)


def test_the_order_depends_on_the_seed_alone():
    assert sorted(shuffled(100, 3)) == list(range(100))
    assert shuffled(8, 3).tolist() == shuffled(8, 3).tolist() != shuffled(8, 4).tolist()


def test_the_module_does_not_hide_the_function():
    import uli_fast.races
    import uli_fast.races.running

    assert callable(uli.race) and uli_fast.race is uli.race


def test_a_mistake_in_evaluate_can_be_found():
    def broken(candidate, item):
        return missing_name  # noqa: F821

    with pytest.raises(ArgumentError, match="NameError") as found:
        uli.race({"a": 1, "b": 2}, broken, range(50))
    assert isinstance(found.value.__cause__, NameError)
    assert found.value.__cause__.__traceback__ is not None


def test_a_score_that_is_none_says_whose_it_is():
    def wrong(candidate, item):
        return float("nan") if (candidate, item) == (2, 7) else 0.5

    with pytest.raises(ArgumentError, match=r"evaluate: must lie in .* of long on instance 7"):
        uli.race({"short": 1, "long": 2}, wrong, range(50), seed=1)
