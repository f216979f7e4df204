"""Ours: elimination by betting, docs/proofs.md. Rows of this theme are not the paper's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

import uli_fast as uli
from uli_fast.verify import VerifyOutcome, betting_paths, check, exact
from uli_fast.verify.common import simulate, uli_outcome

CODE = (
    "learners/betting_elimination.py",
    "kernels/betting_elimination.py",
    "kernels/betting/book.py",
)
LOOKS = ("guarantees/betting_looks.py", "formulas/mixture.py", "guarantees/betting_elimination.py")
TESTS = "tests/theory/test_betting.py"
# Counts further from an exact probability than this, once in 10^5 if all is well, fail.
FAR = 0.5e-5
Law = Mapping[Fraction, Fraction]


def mean_factor(
    worse: Law, best: Law, plays: tuple[int, int], theta: Fraction, u: Fraction, m: int = 1
) -> Fraction:
    """Return E of what m sweeps multiply a bet on "worse beats best" by, over all outcomes."""
    total = Fraction(0)
    for xs in product(worse, repeat=plays[0]):
        for ys in product(best, repeat=plays[1]):
            value = Fraction(1)
            for x in xs:
                value *= worse[x] * (1 + (x - theta) * u * m / plays[0])
            for y in ys:
                value *= best[y] * (1 - (y - theta) * u * m / plays[1])
            total += value
    return total


def random_laws(rng: np.random.Generator) -> tuple[Law, Law]:
    """Return two laws on two points of [0, 1] each, the first one of smaller mean or equal."""
    i, j, q, p = (Fraction(int(x), 30) for x in rng.integers(0, 31, 4))
    low, high = min(i, j), max(i, j) + Fraction(1, 1000)
    scale = Fraction(int(rng.integers(20, 31)), 30)  # the worse arm's points, moved down
    best = {low / 2: 1 - q, high / 2: q}
    if p < Fraction(1, 2):
        return {x * scale: w for x, w in best.items()}, best
    mean = sum((x * w for x, w in best.items()), Fraction(0)) * scale
    return {Fraction(0): 1 - mean, Fraction(1): mean}, best


@check(
    "betting-factor",
    (*CODE, "verify/betting.py::mean_factor"),
    (
        f"{TESTS}::test_a_sweep_has_mean_factor_at_most_one",
        f"{TESTS}::test_wealth_is_a_supermartingale_on_every_path",
        f"{TESTS}::test_theta_chosen_after_the_sweep_breaks_the_step",
    ),
)
def factor(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs.md, steps 1 and "Blocks of sums": a sweep has mean factor at most 1.

    Whatever theta, bet and numbers of plays, if the arm bet on is not the better one.
    """
    rng, largest, cases = np.random.default_rng(31), Fraction(0), 100 if quick else 2000
    for _ in range(cases):
        worse, best = random_laws(rng)
        theta = Fraction(int(rng.integers(1, 60)), 60)
        cap = Fraction(99, 100) / max(theta, 1 - theta)
        u = cap * Fraction(int(rng.integers(1, 31)), 30)
        plays = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        m = int(rng.integers(1, min(plays) + 1))
        largest = max(largest, mean_factor(worse, best, plays, theta, u, m))
    coin = {Fraction(0): Fraction(1, 2), Fraction(1): Fraction(1, 2)}
    biased = {Fraction(0): Fraction(2, 5), Fraction(1): Fraction(3, 5)}
    against = mean_factor(biased, coin, (1, 1), Fraction(1, 2), Fraction(1))
    return VerifyOutcome(
        f"{cases} pairs of two-point laws, all outcomes, exact fractions",
        f"largest mean factor 1 - {float(1 - largest):.1e}; {float(against):.2f} where the arm bet "
        "on is better",
        Fraction(99, 100) < largest <= 1 < against,
    )


@check(
    "betting-ville",
    (*CODE, "verify/betting_paths.py::dropped_by"),
    (
        f"{TESTS}::test_the_best_arm_is_dropped_with_probability_at_most_delta",
        f"{TESTS}::test_paths_are_those_of_the_naive_twin",
        f"{TESTS}::test_simulated_drops_are_as_frequent_as_enumerated",
    ),
)
def ville(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs.md, steps 3 and 4: the best arm is lost with probability 0.9 delta at most.

    Of two arms, over all paths of a few sweeps; and runs lose either arm just as often.
    """
    from scipy.stats import binom

    M, n, off, worst = 2000 if quick else 50_000, 6 if quick else 7, [], 0.0
    for delta, r, means in ((0.95, 1, (0.5, 0.5)), (0.95, 2, (0.5, 0.5)), (0.5, 2, (0.7, 0.5))):
        rates = betting_paths.dropped_by(n, delta, r, means)[-1]
        worst = max(worst, float(rates[0] / delta))
        learner, T = uli.BettingElimination(delta, r), betting_paths.rounds_of(n, r)
        runs: Any = uli.simulate(learner, uli.BernoulliBandit(list(means)), T, M, seed=32)
        for a, rate in enumerate(rates):
            count = int((runs.eliminated_at[:, a] > 0).sum())
            low, high = binom.ppf([FAR, 1.0 - FAR], M, rate)
            off.append((exact.sigmas(count, M, float(rate)), bool(low <= count <= high)))
    far = max((z for z, _ in off), key=abs)
    return VerifyOutcome(
        f"all paths of {n} sweeps of two coins, delta .95 and .5, r = 1 and 2; {M} runs of each",
        f"best lost with probability up to {worst:.3f} delta; drops in runs at most {far:+.2f} "
        "sigma from that",
        worst <= betting_paths.SHARE and all(near for _, near in off),
    )


@check("betting-ULI", (*CODE, *LOOKS), (f"{TESTS}::test_the_guarantee_is_the_naive_table",))
def coverage(quick: bool) -> VerifyOutcome:
    """Ours, the theorem of docs/proofs.md: elimination by betting is ULI."""
    M, T = 500 if quick else 5000, 10**8
    problem = uli.BernoulliBandit([0.5, 0.495, 0.45])
    runs = simulate(uli.BettingElimination(0.3), problem, T, M, seed=36)
    return uli_outcome(runs, "means .5, .495, .45", runs.guarantee)


@check(
    "betting-F",
    LOOKS,
    (f"{TESTS}::test_golden_rounds", f"{TESTS}::test_the_bound_falls_from_look_to_look"),
)
def table(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs.md, steps 5 to 7: F = 2 c(n) / n, which falls from look to look.

    Its c(n) is the root of the mixture, that is, of an integral computed without its formula.
    """
    from scipy.integrate import quad

    arms, off = (2, 4, 10, 100), 0.0
    known = [uli.BettingElimination(0.05).guarantee(K) for K in arms]
    rounds = [f.rounds_until(0.1) for f in known]
    for f, K, t in zip(known, arms, rounds, strict=True):
        n = t // (K + 1)  # the look that brings F below .1
        c = 0.5 * n * float(f.bound(t + 1))
        v = 0.25 * (1.5 * n + 0.5 if K == 2 else 2.0 * n)

        def density(u: float, c: float = c, v: float = v) -> float:
            return 10.0 / math.sqrt(2.0 * math.pi) * math.exp(u * c - u * u * (v + 25.0) / 2.0)

        off = max(off, abs(quad(density, 0.0, 2.0, epsabs=0.0)[0] * 0.045 / (2.0 * (K - 1)) - 1.0))
    slow = [uli.SuccessiveElimination(0.05).guarantee(K).rounds_until(0.1) for K in arms]
    times = min(s / b for s, b in zip(slow, rounds, strict=True))
    falls = all((np.diff(f.bound(np.geomspace(1, 1e12, 400).round())) <= 0.0).all() for f in known)
    return VerifyOutcome(
        "rounds until F <= .1 at K = 2, 4, 10, 100, delta .05; the mixture by quadrature",
        f"{', '.join(map(str, rounds))}, SE-MAB's F {times:.1f} times as late "
        f"or later; the mixture is 2 (K - 1) / (0.9 delta) to {off:.0e}",
        rounds == [4410, 12705, 33341, 411070] and off < 1e-6 and falls,
    )


def best_lost(effect: float, in_step: bool, M: int, sweeps: int, delta: float) -> int:
    """Count runs that lose the better of two arms under an effect common to both.

    It changes every seventh sweep, or, in step, with every round: the second arm has good days.
    """
    rng, lost = np.random.default_rng(34), 0
    means = np.array([0.5, 0.495])[:, None] + np.zeros(sweeps)
    if in_step:
        means += np.array([[-effect], [effect]])
    else:
        means += effect * np.sin(np.arange(sweeps) // 7)
    for _ in range(M):
        rewards = (rng.random((2, sweeps)) < means).astype(float)
        problem = uli.TableBandit(rewards, means=[0.5, 0.495])
        fell = uli.simulate(uli.BettingElimination(delta, 1), problem, sweeps).eliminated_at
        lost += int(fell is not None and fell[0, 0] > 0)
    return lost


@check(
    "betting-drift",
    CODE,
    (
        f"{TESTS}::test_a_common_effect_of_a_sweep_changes_nothing",
        f"{TESTS}::test_an_effect_that_keeps_step_with_the_sweep_drops_the_best_arm",
    ),
)
def drift(quick: bool) -> VerifyOutcome:
    """Ours, docs/proofs.md, "Drift": effects common to all arms of a sweep do no harm.

    An effect that keeps step with the sweep does: each arm has its own good days.
    """
    M, delta = 150 if quick else 2000, 0.3
    common = best_lost(0.2, False, M, 1500, delta)
    p, in_step = exact.surprise(common, M, delta), best_lost(0.2, True, 20, 1500, delta)
    return VerifyOutcome(
        f"{M} runs of 1500 rounds, means .5 and .495 moved by up to .2, delta {delta}; 20 in step",
        f"best arm lost {common} times (p = {p:.2g}); in step {in_step} of 20 times",
        p >= exact.LEAST_P and in_step == 20,
    )
